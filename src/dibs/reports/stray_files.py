"""Removes files next to the store that no record names any more.

A result that is too long for the store is a file under its digest (session/json_input.py). It is kept as long
as any record contains the digest; a recent file may belong to a call that is not answered yet, or to an unread event.
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
DIGEST_DIGITS = 64  # of a file name
MIN_AGE_S = 7 * 86_400  # as long as a message lasts
PAGE_RECORDS = 512  # read at a time
AFTER_ALL_KEYS = "\U0010ffff"  # sorts after every key


def remove_stray_files(session: Session) -> list[str]:
    """Remove them; returns their names. A file that cannot be removed stays."""
    folder = os.path.join(session.place.local, FOLDER)
    strays = _old(folder)
    low = AFTER_KEY
    while strays and low:  # one snapshot a page: writers do not wait, and no record newly names an old file
        low = session.store.look(lambda tx, low=low: _drop_named(tx, low, strays))  # type: ignore[misc]
    gone = []
    for name in sorted(strays & _old(folder)):  # a file that was kept again meanwhile is recent
        try:
            os.unlink(os.path.join(folder, name))
        except OSError:
            continue
        gone.append(name)
    return gone


def _old(folder: str) -> set[str]:
    """The files that are old enough."""
    now = clock.wall() / 1000
    try:
        with os.scandir(folder) as entries:
            found = [(entry.name, entry.stat().st_mtime) for entry in entries if entry.is_file(follow_symlinks=False)]
    except OSError:
        return set()
    return {
        name
        for name, time in found
        if len(name) == DIGEST_DIGITS and DIGITS.issuperset(name) and now - time > MIN_AGE_S
    }


def _drop_named(tx: Transaction, low: str, strays: set[str]) -> str:
    """Remove from the list what one page of records names; returns where the next page begins, or ""."""
    page = tx.fetch((), [(low, AFTER_ALL_KEYS)], PAGE_RECORDS)
    for _, value in page.rows:
        text = jsontext.encode(value)
        if FOLDER in text:
            strays.difference_update([name for name in strays if name in text])
    return page.rows[-1][0] + AFTER_KEY if page.truncated else ""
