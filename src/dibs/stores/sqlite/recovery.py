"""The database as a file: where it lies, and a new one in its place. The old files are set aside, never deleted.

For `dibs doctor --recover` and for SQLite as a fallback (client/sqlite_fallback.py).
"""

from __future__ import annotations

import os

from dibs.machine import clock
from dibs.stores.sqlite import database_file
from dibs.stores.sqlite.gate import Gate
from dibs.stores.sqlite.store import ANSWERED_FILE, path_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.stores.opening import Opening
    from dibs.stores.seam import Row

__all__ = ("begin", "path_of", "refuse_missing", "replace")

GATE_TIMEOUT_S = 5.0
HIDDEN_COMMITS = 2**32  # more commits than a damaged end can hide


def refuse_missing(path: str) -> None:
    """Raise if the file no longer exists."""
    if not os.path.exists(path):
        raise database_file.cannot_open(path)


def replace(opening: Opening, prefix: str) -> tuple[int, str, list[Row]]:
    """A new database in the place of a damaged or missing one, its tokens above every one that was answered.

    Returns the token that it begins above, the folder with the old files, and the rows of the old database below
    `prefix` that could still be read.
    """
    path = path_of(opening.local, opening.url)
    gate = Gate(f"{path}.gate", GATE_TIMEOUT_S, opening.second_copy(ANSWERED_FILE))
    remembered, _ = gate.enter()
    try:
        known = max(remembered, database_file.readable_commit(path))
        start = max(known + HIDDEN_COMMITS, clock.wall() // 1000 << 20)
        rows = database_file.readable_rows(path, prefix)
        aside = database_file.set_aside(path) if os.path.exists(path) else ""
        gate.leave(start, database_file.create(path, start))  # from now on the gate remembers this database
    except BaseException:
        gate.leave()
        raise
    return start, aside, rows


def begin(opening: Opening, commit: int) -> int:
    """An empty database above that commit and all that one here has answered; returns where it begins."""
    path = path_of(opening.local, opening.url)
    gate = Gate(f"{path}.gate", max(opening.timeout, 1.0), opening.second_copy(ANSWERED_FILE))
    answered, _ = gate.enter()
    try:
        start = max(commit, answered + 1)
        if os.path.exists(path):
            database_file.set_aside(path, "former")
        gate.leave(start, database_file.create(path, start))
    except BaseException:
        gate.leave()
        raise
    finally:
        gate.close()
    return start
