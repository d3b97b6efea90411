"""Pages of a listing: its rows, whether there are more, and the cursor after which the next page begins.

One rule for all listings: `--limit N --after CURSOR`, answered with `more` and `cursor` (null at the end). A listing is
a sequence of sections, the live records in the first; a section is a range of keys or of the first index, filtered by
`keep`. Filtered rows do not count towards the limit. A page that has read MAX_ROWS_READ rows ends there and says that
there are more, however few it has found.

A cursor is a place, not a record: added or removed records shift nothing. It is opaque text; any other text is
`invalid`.
"""

from __future__ import annotations

from binascii import Error, a2b_base64, b2a_base64

from dibs import jsontext
from dibs.errors import Invalid
from dibs.stores.seam import AFTER_KEY, prefix_range

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from dibs.operations.core.answers import Page as PageView
    from dibs.stores.seam import Transaction

    Row = tuple[str, Any]  # the place in the section, the record
    Section = tuple[int, str, Callable[[list[Row]], list[Row]] | None]  # index (0: keys), prefix, filter

MAX_PAGE_ROWS = 1_000  # in one page
MAX_DIGITS = 3  # of a section's number
ROWS_PER_TRIP = 512
MAX_ROWS_READ = 5_000  # for one page
KEYS, INDEX = 0, 1


class Page:
    """The rows of one page."""

    __slots__ = ("cursor", "more", "records")

    def __init__(self, records: list[Any], cursor: str) -> None:
        self.records = records
        self.more = bool(cursor)
        self.cursor = cursor or None

    def answer(self) -> PageView:
        """The part of the answer that all listings share."""
        return {"more": self.more, "cursor": self.cursor}


def check_limit(limit: int, default: int = MAX_PAGE_ROWS) -> int:
    """The number of rows to return."""
    if not 0 <= limit <= MAX_PAGE_ROWS:
        raise Invalid(f"limit: from 1 to {MAX_PAGE_ROWS}, not {limit}", field="limit")
    return limit or default


def read(tx: Transaction, sections: Sequence[Section], limit: int, after: str) -> Page:
    """Up to `limit` records of these sections, after a cursor."""
    number, entry = _place(after, len(sections)) if after else (0, "")
    found: list[Any] = []
    last, looked = "", 0
    for place in range(number, len(sections)):
        index, prefix, keep = sections[place]
        while True:
            rows, truncated = _chunk(tx, index, prefix, entry, min(ROWS_PER_TRIP, limit + 1))
            for where, record in rows if keep is None else keep(rows):
                if len(found) == limit:
                    return Page(found, last)
                found.append(record)
                last = _cursor(place, where)
            looked += len(rows)
            if not truncated:
                break
            entry = rows[-1][0]
            if looked >= MAX_ROWS_READ:
                return Page(found, _cursor(place, entry))
        entry = ""
    return Page(found, "")


def every(tx: Transaction, prefix: str) -> Iterator[Row]:
    """All records whose keys begin with this, with their keys: for what must miss none, however many there are."""
    entry = ""
    while True:
        rows, truncated = _chunk(tx, KEYS, prefix, entry, ROWS_PER_TRIP)
        yield from rows
        if not truncated:
            return
        entry = rows[-1][0]


def listed(values: Sequence[Any], key: Callable[[Any], str], limit: int, after: str) -> Page:
    """A page of values at hand, in the order of their keys."""
    name = _place(after, 1)[1] if after else ""
    left = [value for value in values if key(value) > name]
    return Page(left[:limit], _cursor(0, key(left[limit - 1])) if len(left) > limit else "")


def several(after: str, names: Sequence[str]) -> dict[str, str | None]:
    """The cursors of several listings in one; None for a listing that is at its end."""
    if not after:
        return dict.fromkeys(names, "")
    try:
        known = jsontext.decode(_open(after))
    except ValueError:
        known = None
    if not isinstance(known, dict) or any(not isinstance(value, str) for value in known.values()):
        raise _no_cursor()
    return {name: known.get(name) for name in names}


def together(pages: dict[str, Page | None]) -> dict[str, Any]:
    """The part of an answer with several listings: `more` if any has more, one cursor that continues all."""
    left = {name: page.cursor for name, page in pages.items() if page is not None and page.cursor}
    return {"more": bool(left), "cursor": _close(jsontext.encode(left)) if left else None}


def _chunk(tx: Transaction, index: int, prefix: str, entry: str, size: int) -> tuple[list[Row], bool]:
    if index:
        scanned = tx.scan(index, prefix, size, entry)
        return [(where, record) for where, _, record in scanned.rows], scanned.truncated
    low, high = prefix_range(prefix)
    fetched = tx.fetch([(entry + AFTER_KEY if entry else low, high)], size)
    return fetched.rows, fetched.truncated


# --- the text of a cursor


def _cursor(place: int, entry: str) -> str:
    return _close(f"{place}\t{entry}")


def _place(cursor: str, sections: int) -> tuple[int, str]:
    number, tab, entry = _open(cursor).partition("\t")
    if not tab or not number.isdecimal() or len(number) > MAX_DIGITS or int(number) >= sections:
        raise _no_cursor()
    return int(number), entry


def _close(text: str) -> str:
    return b2a_base64(text.encode(), newline=False).decode().translate({43: "-", 47: "_"}).rstrip("=")


def _open(cursor: str) -> str:
    try:
        padded = cursor.translate({45: "+", 95: "/"}) + "=" * (-len(cursor) % 4)
        text = a2b_base64(padded.encode("ascii"), strict_mode=True).decode()
    except (Error, ValueError):
        raise _no_cursor() from None
    if any(letter < " " and letter != "\t" for letter in text):
        raise _no_cursor()
    return text


def _no_cursor() -> Invalid:
    return Invalid("after: not a cursor of this listing; use the `cursor` of the page before", field="after")
