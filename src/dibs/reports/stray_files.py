"""Files beside the store that nothing in it names any more, taken away.

A result that is too long for the store is a file under its digest (session/json_input.py). It is still wanted as long
as any record mentions the digest, wherever; a young one may belong to a call that has not been answered yet, or to an
event that somebody is still to read.
"""

from __future__ import annotations

import os

from dibs import jsontext
from dibs.facts import clock
from dibs.stores.seam import AFTER_KEY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.session.session import Session
    from dibs.stores.seam import Transaction

FOLDER = "results"
DIGITS = frozenset("0123456789abcdef")
LONG = 64  # digits of a digest
YOUNG = 7 * 86_400  # seconds: as long as a message lasts
PAGE = 512  # records in one look
LAST = "\U0010ffff"  # behind every key


def take_away(session: Session) -> list[str]:
    """Take them away; gives their names. What cannot be taken away stays."""
    folder = os.path.join(session.place.local, FOLDER)
    strays = _old(folder)
    low = AFTER_KEY
    while strays and low:  # one look a page: whoever writes is not kept waiting, and nothing old is named anew
        low = session.store.look(lambda tx, low=low: _drop_named(tx, low, strays))  # type: ignore[misc]
    gone = []
    for name in sorted(strays & _old(folder)):  # one that was kept again meanwhile is young
        try:
            os.unlink(os.path.join(folder, name))
        except OSError:
            continue
        gone.append(name)
    return gone


def _old(folder: str) -> set[str]:
    """The kept files that are old enough."""
    now = clock.wall() / 1000
    try:
        with os.scandir(folder) as entries:
            found = [(entry.name, entry.stat().st_mtime) for entry in entries if entry.is_file(follow_symlinks=False)]
    except OSError:
        return set()
    return {name for name, time in found if len(name) == LONG and DIGITS.issuperset(name) and now - time > YOUNG}


def _drop_named(tx: Transaction, low: str, strays: set[str]) -> str:
    """Strike out what one page of records names; gives where the next page begins, or ""."""
    page = tx.fetch((), [(low, LAST)], PAGE)
    for _, value in page.rows:
        text = jsontext.encode(value)
        if FOLDER in text:
            strays.difference_update([name for name in strays if name in text])
    return page.rows[-1][0] + AFTER_KEY if page.truncated else ""
