"""Checks of the SQLite store: the library, the file, every page, the gate.

For `dibs doctor`; nothing else loads this.
"""

from __future__ import annotations

import apsw

from dibs.errors import DibsError
from dibs.stores.seam import ERROR
from dibs.stores.sqlite import database_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dibs.stores.seam import Check
    from dibs.stores.sqlite.store import SqliteStore

SHOWN_FAULTS = 3  # of those that SQLite's own check finds


def check(store: SqliteStore) -> Iterator[Check]:
    """Run each check; a failed one does not stop the next."""
    for name, look in (("sqlite", _library), ("database", _database), ("pages", _pages), ("gate", _gate)):
        try:
            ok, message = look(store)
        except DibsError as error:
            ok, message = False, error.message
        yield name, ok, message, ERROR


def _library(_: SqliteStore) -> tuple[bool, str]:
    database_file.load_checksums()
    text = f"SQLite {apsw.sqlite_lib_version()} (apsw {apsw.apsw_version()})"
    if not database_file.checksums_loaded():
        return False, f"{text} without page checksums: a flipped bit may go unnoticed. Install apsw's own wheel"
    return True, f"{text} with page checksums"


def _database(store: SqliteStore) -> tuple[bool, str]:
    head = store.head()
    mode = store.journal_mode()
    if mode != "wal":
        return False, f"journal mode is {mode}, not wal"
    return True, f"{store.path}: commit {head.commit}, event {head.seq}"


def _pages(store: SqliteStore) -> tuple[bool, str]:
    found = store.integrity()
    lines = " ".join(found).replace("*** in database main ***", "").split("\n")
    text = "; ".join(lines[1 : SHOWN_FAULTS + 1])
    return not found, "every page and index is sound" if not found else text or found[0]


def _gate(store: SqliteStore) -> tuple[bool, str]:
    store.try_gate()
    listeners = store.listeners()
    return True, f"free; {listeners} waiting" if listeners else "free"
