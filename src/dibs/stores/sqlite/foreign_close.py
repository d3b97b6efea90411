"""After another program has closed the database: new page checksums, if all else is as dibs left it.

Whoever closes the database last folds the WAL into it. `sqlite3 dibs.db` or a script that only wants to look does that,
too, and knows nothing of page checksums: the pages that it writes keep those of their former contents, and to dibs they
look damaged. Nothing is: SQLite finds no fault, the log's chain is whole, and it ends where the gate says.

When dibs itself has closed it, the gate says so, and a page whose checksum is wrong is damaged.

The process that makes the checksums anew has entered the gate. One that only looks, and meets a wrong checksum
meanwhile, waits for it there. If the first one is killed, the gate's mark says so, and the next one begins again.
"""

from __future__ import annotations

from fcntl import LOCK_UN, flock

import apsw

from dibs.stores.seam import GENESIS, digest_of, link_of
from dibs.stores.sqlite import database_file
from dibs.stores.sqlite.gate import CLOSED, MENDING, NO_MARK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.stores.sqlite.store import SqliteStore

CHECKSUM_ERROR = f"error code={apsw.SQLITE_IOERR_DATA}"  # as SQLite's check says it


def mend(store: SqliteStore, *, inside: bool, begun_only: bool = False) -> None:
    """Called when there is no WAL, or when another process has begun it and was killed (`begun_only`: only then).

    `inside`: the caller has entered the gate, and leaves it.
    """
    gate = store._gate
    if not inside:
        gate.enter()
    try:
        if not begun_only or gate.mark == MENDING:
            _mend(store)
    finally:
        if not inside and gate.file is not None:
            flock(gate.file, LOCK_UN)


def may_explain(error: Exception) -> bool:
    """Is this error of a look one that comes while another process makes checksums anew?"""
    return getattr(error.__cause__, "extendedresult", 0) == apsw.SQLITE_IOERR_DATA


def wait(store: SqliteStore) -> None:
    """Wait until nobody makes checksums anew; if a process was killed while it did, do it."""
    mend(store, inside=False, begun_only=True)


def _mend(store: SqliteStore) -> None:
    gate, connection = store._gate, store._connection
    if gate.mark == CLOSED or not gate._commit or not database_file.checksums_loaded():
        return
    if not _has_wrong_checksum(connection):
        if gate.mark == MENDING:
            gate.note(NO_MARK)
        return
    gate.note(MENDING)
    connection.execute("PRAGMA checksum_verification = OFF").fetchall()
    try:
        if not database_file.integrity(connection) and _is_whole(connection, gate._commit, gate._id):
            database_file.compact(connection, store.path)  # every page is written anew, with its checksum
    except (apsw.Error, ValueError, TypeError):  # also rows that dibs did not write
        pass  # it stays as it is, and is refused as damaged
    finally:
        connection.execute("PRAGMA checksum_verification = ON").fetchall()
        connection.execute("PRAGMA shrink_memory").fetchall()  # pages that were read without a look at their checksums
        gate.note(NO_MARK)


def _has_wrong_checksum(connection: apsw.Connection) -> bool:
    """Is there a page whose checksum is wrong? SQLite's own check reads them all."""
    try:
        return any(CHECKSUM_ERROR in line for (line,) in connection.execute("PRAGMA integrity_check(20)"))
    except apsw.Error as error:
        return getattr(error, "extendedresult", 0) == apsw.SQLITE_IOERR_DATA


def _is_whole(connection: apsw.Connection, answered: int, identifier: str) -> bool:
    """Is it the database that answered last, with that commit, and is its log the one that was written?"""
    commits, seq, link, store_id = connection.execute("SELECT commits, seq, link, id FROM head").get
    if commits < answered or (identifier and store_id != identifier):
        return False
    first = connection.execute("SELECT min(seq) FROM log").get
    before = seq if first is None else 0
    if before == 0 and first != 1:  # after the oldest seal: what is still before it is about to be dropped
        before = connection.execute("SELECT min(seq) FROM seals").get or 0
    chain = GENESIS if before == 0 else connection.execute("SELECT link FROM seals WHERE seq = ?", (before,)).get
    for number, commit, now, wall, body, said in connection.execute(
        "SELECT seq, commits, now, wall, body, link FROM log WHERE seq > ? ORDER BY seq", (before,)
    ):
        before += 1
        chain = link_of(chain, number, commit, now, wall, digest_of(body))
        if number != before or said != chain:
            return False
    return (before, chain) == (seq, link)
