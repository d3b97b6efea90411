"""The SQLite file itself: how it is made and opened, its schema versions, and its errors in plain words.

A database is only ever made by `create`; opening one that is not there, is not ours, is newer than this dibs or is
damaged is an error and never an empty store. Pages carry checksums (SQLite's own checksum VFS, shipped with apsw), so a
flipped bit is found when the page is read.
"""

from __future__ import annotations

import os

import apsw

from dibs import jsontext
from dibs.errors import Busy, DibsError, Unavailable
from dibs.machine import clock
from dibs.stores.seam import GENESIS, prefix_range

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

APPLICATION_ID = 0x64696273  # "dibs": tells our file from any other SQLite file
SHM_GROWTH_BYTES = 65_536  # bytes: two steps in which SQLite's shared memory grows
CHECKSUM_BYTES = 8  # of each page's end, used by the checksum VFS

SCHEMA_1 = """
CREATE TABLE kv (k TEXT PRIMARY KEY, v TEXT NOT NULL, n INTEGER NOT NULL, i1 TEXT, i2 TEXT) WITHOUT ROWID;
CREATE INDEX kv_i1 ON kv (i1) WHERE i1 IS NOT NULL;
CREATE INDEX kv_i2 ON kv (i2) WHERE i2 IS NOT NULL;
CREATE TABLE log (seq INTEGER PRIMARY KEY, commits INTEGER NOT NULL, now INTEGER NOT NULL, wall INTEGER NOT NULL,
                  body TEXT NOT NULL, link TEXT NOT NULL);
CREATE TABLE seals (seq INTEGER PRIMARY KEY, link TEXT NOT NULL, body TEXT NOT NULL);
CREATE TABLE head (one INTEGER PRIMARY KEY CHECK (one = 1), id TEXT NOT NULL, schema INTEGER NOT NULL,
                   commits INTEGER NOT NULL, seq INTEGER NOT NULL, link TEXT NOT NULL, now INTEGER NOT NULL,
                   boot TEXT NOT NULL, base INTEGER NOT NULL);
"""

# `moved`: whether this store is still in charge (moved_mark.py); `origin`: the id of the move that filled it, if one
# did.
SCHEMA_2 = """
ALTER TABLE head ADD COLUMN moved TEXT NOT NULL DEFAULT '';
ALTER TABLE head ADD COLUMN origin TEXT NOT NULL DEFAULT '';
"""

# From version N to N+1 by the statements at place N. Never edit one that was released: append.
MIGRATIONS: list[str] = [SCHEMA_1, SCHEMA_2]


def create(path: str, commit: int = 0) -> str:
    """Make the database, in one transaction, with tokens starting above `commit`; returns the id it was given."""
    from dibs.machine import filesystems

    filesystems.refuse_network(os.path.dirname(path) or ".")
    if os.path.exists(path):
        raise Unavailable(f"{path} exists already; it was not touched.", path=path)
    identifier = clock.random_id()
    try:
        load_checksums()
        # A temporary name until it is complete: a crash leaves no half-made database.
        making = f"{path}.making-{os.getpid()}"
        connection = apsw.Connection(making, flags=apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE)
        try:
            if checksums_loaded():
                connection.reserve_bytes(reserve=CHECKSUM_BYTES)
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute("PRAGMA journal_mode = DELETE")
            with connection:
                for statements in MIGRATIONS:
                    connection.execute(statements)
                connection.execute(
                    "INSERT INTO head (one, id, schema, commits, seq, link, now, boot, base) "
                    "VALUES (1, ?, ?, ?, 0, ?, 0, ?, 0)",
                    (identifier, len(MIGRATIONS), commit, GENESIS, "never"),
                )
            connection.execute("PRAGMA journal_mode = WAL")
        finally:
            connection.close()
        os.chmod(making, 0o600)
        try:
            os.link(making, path)  # unlike rename, link does not replace a file that another process has made
        except FileExistsError:
            pass
        finally:
            os.unlink(making)
        folder = os.open(os.path.dirname(path) or ".", os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except (apsw.Error, OSError) as error:
        raise plain(error, path) from error
    return identifier


def connect(path: str, timeout: float = 5.0) -> apsw.Connection:
    """Open an existing database. Nothing is read yet; `check_schema` looks when the first read fails."""
    try:
        load_checksums()
        connection = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READWRITE)
    except apsw.Error as error:
        raise plain(error, path) from error
    connection.set_busy_timeout(int(timeout * 1000))  # first: the next statement may meet a busy file
    return connection


def spare(connection: apsw.Connection) -> int:
    """The free pages, in bytes."""
    free: int = connection.execute("PRAGMA freelist_count").get
    size: int = connection.execute("PRAGMA page_size").get
    return free * size


def compact(connection: apsw.Connection, path: str) -> int:
    """Write the database anew without its free pages; returns by how many bytes the file is shorter."""
    before = os.path.getsize(path)
    connection.execute("VACUUM")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    return max(0, before - os.path.getsize(path))


def check_schema(connection: apsw.Connection, path: str) -> None:
    """Bring an older schema up to date; refuse a newer one and a file that is not ours."""
    try:
        ours = connection.execute("PRAGMA application_id").get == APPLICATION_ID
        if not ours:
            what = "an SQLite database, but not one of dibs" if os.path.getsize(path) else "empty: it was cut off"
            raise Unavailable(f"{path} is {what}. It was not touched. {RECOVER}", path=path, damaged=True)
        connection.execute("BEGIN IMMEDIATE")  # of two processes that find it old, one migrates and the other sees that
        found = connection.execute("SELECT schema FROM head").get
        if found > len(MIGRATIONS):
            message = (
                f"{path} has schema {found}, this dibs knows up to {len(MIGRATIONS)}: a newer dibs made it. "
                "Upgrade dibs here; nothing was changed."
            )
            raise Unavailable(message, path=path, schema=found)
        for statements in MIGRATIONS[found:]:
            connection.execute(statements)
        connection.execute("UPDATE head SET schema = ?", (len(MIGRATIONS),))
        connection.execute("COMMIT")
    except apsw.Error as error:
        raise plain(error, path) from error
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def load_checksums() -> None:
    """Register SQLite's checksum VFS, once a process (0.5 ms)."""
    if checksums_loaded():
        return
    binary = f"{os.path.dirname(apsw.__file__)}/sqlite_extra_binaries/cksumvfs"
    binary += ".dylib" if os.path.exists(binary + ".dylib") else ".so"
    if not os.path.exists(binary):  # an apsw built from source; a database with checksums then refuses to open
        return
    loader = apsw.Connection(":memory:")
    loader.enable_load_extension(True)
    loader.load_extension(binary)
    loader.close()


def checksums_loaded() -> bool:
    """Is the checksum VFS there?"""
    return "cksmvfs" in apsw.vfs_names()


def refuse_without_checksums(connection: apsw.Connection, path: str) -> None:
    """Writing pages without their checksums would make every other process see a damaged file."""
    if not checksums_loaded() and connection.reserve_bytes() == CHECKSUM_BYTES:
        message = f"{path} carries page checksums, and this apsw was built without them. Install apsw's own wheel."
        raise Unavailable(message, path=path)


def refuse_partial(connection: apsw.Connection, path: str) -> None:
    """Check the whole file for a truncated last page: SQLite reads it as zeros and does not check its checksum.

    A crash in the middle of a checkpoint leaves such a page too; then the page is whole in the WAL, and nothing is
    found.
    """
    if os.stat(path).st_size % 4096 and (found := integrity(connection)):
        message = f"{path} is damaged: it was cut short ({found[0]}). Nothing was changed. {RECOVER}"
        raise Unavailable(message, path=path, damaged=True)


def integrity(connection: apsw.Connection, progress: Callable[[], None] | None = None) -> list[str]:
    """The faults that SQLite's own check finds; empty when there are none."""
    if progress is not None:
        connection.set_progress_handler(lambda: progress() is not None, 100_000)
    try:
        found = [row[0] for row in connection.execute("PRAGMA integrity_check(20)")]
    except apsw.Error as error:
        return [str(error)]
    finally:
        connection.set_progress_handler(None)
    return [] if found == ["ok"] else found


RECOVER = "Look with `dibs doctor`; `dibs doctor --recover` sets the damaged file aside and starts above its tokens."


def plain(error: Exception, path: str) -> DibsError:
    """Dibs's error for an error of SQLite or of the system."""
    if isinstance(error, (apsw.BusyError, apsw.LockedError)):
        return Busy("the database is busy: another program has it open for writing. Try again.", path=path)
    extended = getattr(error, "extendedresult", 0)
    checksum = extended == apsw.SQLITE_IOERR_DATA
    if checksum or isinstance(error, (apsw.CorruptError, apsw.NotADBError, apsw.FormatError)):
        return Unavailable(f"{path} is damaged ({error}). Nothing was changed. {RECOVER}", path=path, damaged=True)
    no_room = isinstance(error, apsw.IOError) and _disk_is_full(path)
    if no_room or isinstance(error, apsw.FullError) or getattr(error, "errno", None) in {28, 122}:  # ENOSPC, EDQUOT
        return Unavailable(f"the disk that holds {path} is full. Nothing was changed.", path=path, full=True)
    if isinstance(error, (apsw.ReadOnlyError, apsw.PermissionsError, PermissionError)):
        return Unavailable(f"{path} cannot be written: read-only or no permission. Nothing was changed.", path=path)
    if isinstance(error, apsw.CantOpenError):
        return cannot_open(path)
    if isinstance(error, apsw.SQLError) and "no such table" in str(error):
        return Unavailable(
            f"{path} is not a database of dibs ({error}). It was not touched. {RECOVER}", path=path, damaged=True
        )
    return Unavailable(f"{path}: {error}. Nothing was changed.", path=path)


def _disk_is_full(path: str) -> bool:
    """Is the disk full? SQLite says only "I/O error" when its shared memory (32 KB) does not fit."""
    try:
        found = os.statvfs(os.path.dirname(path) or ".")
    except OSError:
        return False
    return found.f_bavail * found.f_frsize < SHM_GROWTH_BYTES


def cannot_open(path: str) -> DibsError:
    """Why a file could not be opened: it is missing, or not readable."""
    if not os.path.exists(path):
        message = (
            f"{path} is gone, and this workspace coordinated through it. An empty one in its place would forget who "
            "holds what. Put it back (`git stash pop` after a `git stash -a`, a backup); or begin a new one with "
            "`dibs doctor --recover`: above every token that was given, all claims void. To continue without dibs: "
            "`dibs init --uninstall --yes`."
        )
        return Unavailable(message, path=path, missing=True)
    return Unavailable(f"{path} cannot be opened: no permission, or not a file.", path=path)


def readable_commit(path: str) -> int:
    """The highest commit that can still be read from a damaged database, 0 if none."""
    highest = 0
    for statement in ("SELECT commits FROM head", "SELECT max(commits) FROM log", "SELECT max(n) FROM kv"):
        try:
            connection = connect(path)
            found = connection.execute(statement).get
            highest = max(highest, found if isinstance(found, int) else 0)
            connection.close()
        except (apsw.Error, DibsError):
            continue
    return highest


def readable_rows(path: str, prefix: str) -> list[Any]:
    """The values under a prefix that can still be read from a damaged database."""
    found = []
    try:
        connection = connect(path)
        try:
            for (text,) in connection.execute("SELECT v FROM kv WHERE k >= ? AND k < ?", prefix_range(prefix)):
                found.append(jsontext.decode(text))
        finally:
            connection.close()
    except (apsw.Error, DibsError, ValueError):
        pass
    return found


def set_aside(path: str, why: str = "damaged") -> str:
    """Move a database and its companions into a folder of its own; nothing is deleted."""
    folder = f"{os.path.dirname(path)}/{why}-{clock.wall()}"
    os.mkdir(folder, 0o700)
    for name in (path, f"{path}-wal", f"{path}-shm"):
        if os.path.exists(name):
            os.rename(name, f"{folder}/{os.path.basename(name)}")
    return folder
