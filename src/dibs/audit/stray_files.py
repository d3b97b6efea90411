"""Removes files next to the store that no record names any more.

A result that is too long for the store is a file under its digest (client/json_input.py). It is kept as long
as any record contains the digest; a recent file may belong to a call that is not answered yet, or to an unread event.
"""

from __future__ import annotations

import os

from dibs.machine import clock
from dibs.operations.upkeep.store_reads import NAMED_FILES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.client.session import Session

FOLDER = "results"
DIGITS = frozenset("0123456789abcdef")
DIGEST_DIGITS = 64  # of a file name
MIN_AGE_S = 7 * 86_400  # as long as a message lasts


def stray_files(session: Session) -> set[str]:
    """Their names."""
    strays = _old(os.path.join(session.place.local, FOLDER))
    low, more = "", bool(strays)
    while strays and more:  # one snapshot a page: writers do not wait, and no record newly names an old file
        asked = {"names": sorted(strays), "folder": FOLDER, "low": low}
        found = session.run(NAMED_FILES, session.identify(None), asked)
        strays.difference_update(found["mentioned"])
        low = found["low"]
        more = bool(low)
    return strays


def remove_stray_files(session: Session) -> list[str]:
    """Remove them; returns their names. A file that cannot be removed stays."""
    folder = os.path.join(session.place.local, FOLDER)
    gone = []
    for name in sorted(stray_files(session) & _old(folder)):  # a file that was kept again meanwhile is recent
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
