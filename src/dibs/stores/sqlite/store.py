"""The SQLite engine: one file, many processes, every answered commit on the disk.

WAL with synchronous=FULL: a commit returns after its fsync. BEGIN IMMEDIATE inside the gate: one writer at a time, in
the kernel's order. `now` is the monotonic clock since boot plus a base kept in the head record. At the first commit
after a reboot the base moves so that the store's clock continues from where it stood: a deadline keeps its remaining
life, and changes of the wall clock have no effect.

What is not here: any word of what dibs is for.
"""

from __future__ import annotations

import os
from fcntl import LOCK_UN, flock

import apsw

from dibs import jsontext
from dibs.errors import Busy, DibsError, Invalid, Unavailable
from dibs.machine import clock, processes
from dibs.stores.seam import (
    AFTER_KEY,
    COMMIT_TEXT,
    FETCH_LIMIT,
    MAX_CLOCK_AGE_MS,
    MAX_STALE_RUNS,
    BaseStore,
    BaseTransaction,
    Event,
    Fetched,
    Head,
    Scanned,
    Seal,
    digest_of,
    fill,
    filled_entry,
    link_of,
    prefix_range,
    too_slow,
    unknown_outcome,
)
from dibs.stores.sqlite import database_file
from dibs.stores.sqlite.gate import CLOSED, MENDING, Gate
from dibs.stores.turns import Turns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from dibs.stores.opening import Opening
    from dibs.stores.seam import Check, Description, Json, Outcome, Page, Range, Row, T, Transaction
    from dibs.stores.sqlite.reader import Reader
    from dibs.stores.sqlite.wakes import Wakes
    from dibs.stores.turns import A

# A short-lived process leaves its connection open and exits, so no process checkpoints at close, and the next process
# that opens the file alone reads the whole WAL (6 µs a frame): keep it short. A checkpoint has to truncate the WAL: a
# lone opener cannot know which frames are checkpointed, so it would read them again and its commit would write their
# pages again. A long-lived process checkpoints rarely.
SHORT_LIVED_WAL_PAGES, LONG_LIVED_WAL_PAGES = 64, 1000  # pages of WAL before a commit checkpoints
_LEFT_OPEN: list[Any] = []  # connections of short-lived processes: without a reference they would close themselves

HEAD = "SELECT commits, seq, link, now, boot, base, id, moved FROM head"
MOVE_HEAD = "UPDATE head SET commits = ?, seq = ?, link = ?, now = ?, boot = ?, base = ?"
PUT = (
    "INSERT INTO kv VALUES (?, ?, ?, ?, ?) ON CONFLICT (k) DO UPDATE "
    "SET v = excluded.v, n = excluded.n, i1 = excluded.i1, i2 = excluded.i2"
)
DELETE = "DELETE FROM kv WHERE k = ?"
APPEND = "INSERT INTO log VALUES (?, ?, ?, ?, ?, ?)"
WALL_SET_MS = 1_000  # a wall clock that is off by more was set; a smaller difference comes from reading two clocks
MOVE_POLL_S = 0.05  # between two attempts while the workspace is being moved
ANSWERED_FILE = "answered"  # the second copy of the last answered commit, below git's directory
EVENTS_PER_STATEMENT = 4  # most commits have no more, and a statement is prepared for each number of events


def open_store(opening: Opening) -> SqliteStore:
    """Open the database; one that is not pinned is made, unless it answered here before."""
    path = path_of(opening.local, opening.url)
    kept = opening.second_copy(ANSWERED_FILE)
    if not opening.is_pinned and not os.path.exists(path):
        _refuse_lost(path, kept)
        try:
            create(path)
        except Unavailable:
            if not os.path.exists(path):  # else another process made it at the same moment
                raise
    return SqliteStore(path, timeout=opening.timeout, short_lived=opening.short_lived, kept=kept)


def path_of(local: str, url: str) -> str:
    """Where the file of a `sqlite:` URL lies."""
    return url.partition(":")[2] or f"{local}/dibs.db"


def _refuse_lost(path: str, kept: str) -> None:
    """Refuse if a database that answered here before is missing: an empty one would have lost all claims."""
    if kept and Gate(f"{path}.gate", 0, kept).remembered()[1]:
        raise database_file.cannot_open(path)


def _replaced(path: str, what: str) -> DibsError:
    """The refusal to use files that other processes do not use."""
    from dibs.error_subtypes import Replaced

    return Replaced(f"{path}{what}. Nothing was changed; open it again.", path=path)


def create(path: str, commit: int = 0) -> str:
    """Make a new database, whose first token is above `commit`; returns its id."""
    return database_file.create(path, commit)


class SqliteStore(BaseStore):
    """An open database of dibs. Threads may share it; those that write take turns, and so do those that look."""

    def __init__(self, path: str, *, timeout: float = 5.0, short_lived: bool = False, kept: str = "") -> None:
        """Open it; `kept` is the path of the gate's second copy."""
        self.path = path
        try:
            found = os.stat(path)
        except OSError:
            raise database_file.cannot_open(path) from None
        self._file = found.st_dev, found.st_ino
        self._beside: list[tuple[int, int]] = []  # the same of the files next to it, once SQLite has opened them
        if not os.major(found.st_dev):  # no block device: a network, or one of several local kinds
            from dibs.machine import filesystems

            filesystems.refuse_network(os.path.dirname(path) or ".")
        self._connection = database_file.connect(path, timeout)
        self._gate, self._timeout = Gate(f"{path}.gate", timeout, kept), timeout
        self._pipes: Wakes | None = None
        self._boot = processes.boot()
        self._checked = False
        self._has_waited = False  # for another process that makes page checksums anew
        self._is_short_lived = short_lived
        if short_lived:
            _LEFT_OPEN.append(self._connection)
        self._fetches: dict[tuple[int, int, int], str] = {}
        self._scans: dict[tuple[int, int], str] = {}
        self._is_closed = False  # changes only in a turn
        self._turns = Turns(self._abandon, path)  # one connection, one transaction at a time, for all threads
        self._reader: Reader | None = None  # opened when a thread wants to look while another one writes
        self._offset: int | None = None  # from the store's clock to the wall clock, as the log has it
        self._ahead: int | None = None  # the last `wall` of a transaction minus the clock since boot

    # --- the verbs of the store

    def run(self, fn: Callable[[Transaction], T]) -> T:
        """Run `fn` in one serialisable transaction; durable when this returns."""
        return self._in_turn(self._run, fn)

    def run_many(self, fns: Sequence[Callable[[Transaction], Any]]) -> list[Outcome]:
        """Run several transactions with one fsync for all (group.py)."""
        from dibs.stores.sqlite import group

        return group.run(self, fns)

    def is_free(self) -> bool:
        """Is no other thread at work here, and no other process inside the gate?"""
        return not self._turns.is_another() and self._turns.call(Gate.is_free, self._gate, self._timeout)

    def _in_turn(self, body: Callable[[A], T], argument: A) -> T:
        """Call `body` when it is this thread's turn, again while the workspace is being moved."""
        end = 0
        while True:
            try:
                return self._turns.call(body, argument, self._timeout)
            except Busy as error:
                from dibs.error_subtypes import Moving

                if not isinstance(error, Moving):
                    raise
                end = end or clock.since_boot() + int(self._timeout * 1000)
                if clock.since_boot() >= end:
                    raise
            clock.sleep(MOVE_POLL_S)

    def _run(self, fn: Callable[[Transaction], T]) -> T:
        identifier = clock.random_id()
        try:
            for _ in range(MAX_STALE_RUNS):
                tx, result = self._attempt(fn, identifier)
                if tx is None:
                    continue
                for name in tx.names:
                    self._wakes().wake(name)
                filled: T = fill(result, tx.number)
                return filled
        except BaseException:
            self._repair()  # in case an interrupt hit the lines below that release
            raise
        raise too_slow()

    def _attempt(self, fn: Callable[[Transaction], T], identifier: str) -> tuple[_Transaction | None, Any]:
        """Run it once; returns no transaction if it took too long and has to be run again.

        Each `finally` releases by a C function that it calls directly: a second Ctrl-C is handled after that.
        """
        gate, connection = self._gate, self._connection
        try:
            remembered = gate.enter()
            try:
                tx = _Transaction(self, self._begin(remembered), identifier, writes=True)
                result = fn(tx)
                if tx.touched:
                    self._move_head(tx, *self._append(tx))
                if clock.since_boot() + tx.base - tx.now > MAX_CLOCK_AGE_MS:  # right before the commit
                    return None, None
                if tx.names:
                    self._wakes().mark(tx.names)
                self._end(commits=tx.touched)
            except (apsw.Error, OSError, UnicodeError, DamagedError) as error:
                raise self._plain(error) from error
            finally:
                try:
                    if connection.in_transaction:
                        connection.execute("ROLLBACK")
                except apsw.Error:
                    pass  # the failed statement has rolled back already, or the file cannot
            if tx.touched:
                gate.leave(tx.number, tx.store_id)
            return tx, result
        finally:
            if gate.file is not None:
                flock(gate.file, LOCK_UN)

    def _end(self, *, commits: bool) -> None:
        """End the transaction.

        A commit whose fsync fails is complete in the WAL, and the next process that opens the database alone finds it
        there; while another one has it open, the next commit overwrites it.
        """
        try:
            self._sql("COMMIT" if commits else "ROLLBACK")
        except apsw.IOError as error:
            raise unknown_outcome(self._plain(error)) from error

    def _repair(self) -> None:
        """End what an interrupted call may have left: an open transaction, the gate's lock."""
        self._abandon()
        if self._gate.file is not None:
            flock(self._gate.file, LOCK_UN)

    def look(self, fn: Callable[[Transaction], T]) -> T:
        """Run `fn` on one consistent snapshot. It never waits for a writer, not even a paused one."""
        self._turns.refuse_forked()
        try:
            return self._looked(fn)
        except Unavailable as error:
            from dibs.stores.sqlite import foreign_close

            if self._has_waited or not foreign_close.may_explain(error):
                raise
            self._has_waited = True
            self._turns.call(foreign_close.wait, self, self._timeout)
        return self._looked(fn)

    def _looked(self, fn: Callable[[Transaction], T]) -> T:
        reader = self._reader
        if reader is None and self._turns.is_another() and not self._is_short_lived:
            from dibs.stores.sqlite.reader import Reader

            reader = self._reader = Reader(self.path, self._timeout)
        if reader is not None:  # from now on a look waits for no commit, and no commit for a look
            return reader.turns.call(lambda fn: self._look(fn, reader), fn, self._timeout)
        return self._turns.call(self._look, fn, self._timeout)

    def _look(self, fn: Callable[[Transaction], T], reader: Reader | None = None) -> T:
        connection, sql = (self._connection, self._sql) if reader is None else (reader.connection, reader.sql)
        try:
            self._refuse_replaced()
            if reader is None:
                self._check(inside=False)
            else:
                reader.check()
            remembered = self._gate.remembered()  # before the snapshot: a commit in between is not a loss
            try:
                sql("BEGIN")
                head = self._head(sql)
                self._refuse_other(head, remembered)
                return fn(_Transaction(self, head, "", writes=False, sql=sql))
            finally:
                try:
                    if connection.in_transaction:
                        connection.execute("ROLLBACK")
                except apsw.Error:
                    pass
        except (apsw.Error, UnicodeError, DamagedError) as error:
            raise self._plain(error, connection) from error
        except BaseException:
            if reader is None:
                self._abandon()
            else:
                reader.abandon()
            raise

    def watch(self, name: str) -> None:
        """Listen for `name` from now on."""
        try:
            self._wakes().watch(name)
        except OSError as error:
            raise self._plain(error) from error

    def unwatch(self, name: str) -> None:
        """Stop listening for `name`."""
        self._wakes().unwatch(name)

    def wait(self, name: str, timeout: float) -> bool:
        """Wait until `name` is woken, at most `timeout` seconds."""
        return self._wakes().wait(name, timeout)

    def head(self) -> Head:
        """Where the log ends."""
        return self.look(lambda tx: tx.tail())

    def events(self, after: int = 0, limit: int = 1000) -> list[Event]:
        """Events with a number above `after`, in order."""
        statement = "SELECT seq, commits, now, wall, body, link FROM log WHERE seq > ? ORDER BY seq LIMIT ?"
        return [Event(*row) for row in self._rows(statement, (after, limit))]

    def seals(self) -> list[Seal]:
        """The seals, in order."""
        return [Seal(*row) for row in self._rows("SELECT seq, link, body FROM seals ORDER BY seq")]

    def _rows(self, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        def rows(tx: Transaction) -> list[Any]:
            assert isinstance(tx, _Transaction)
            found: list[Any] = tx.sql(statement, values).fetchall()
            return found

        return self.look(rows)

    def close(self) -> None:
        """Close, after the turns of other threads; the last process to close folds the WAL into the database."""
        self._turns.refuse_forked()
        if self._pipes is not None:
            self._pipes.close()
        try:
            self._turns.call(SqliteStore._close, self, self._timeout)
        except Unavailable:
            if not self._is_closed:  # by another thread
                raise

    def _close(self) -> None:
        reader = self._reader
        if reader is not None and not reader.is_closed:
            reader.turns.call(type(reader).close, reader, self._timeout)
        self._is_closed = True
        self._gate.close()
        self._connection.close()
        if self._checked and not os.path.exists(f"{self.path}-wal"):
            self._gate.note(CLOSED)

    def wall_ahead(self) -> int:
        """As in the last transaction that told the time of day."""
        return super().wall_ahead() if self._ahead is None else self._ahead

    # --- for checks of the engine itself

    @property
    def address(self) -> str:
        """The path of the file."""
        return self.path

    @property
    def queued(self) -> int:  # type: ignore[override] # the engines without a gate have a constant
        """How many transactions had to wait at the gate."""
        return self._gate.queued

    def describe(self) -> Description:
        """What people should know about this store."""
        persistence = "every answered commit is on the disk"
        return {
            "engine": "sqlite", "address": self.path, "persistence": persistence, "warnings": [], "figures": {},
        }  # fmt: skip

    def check(self) -> Iterator[Check]:
        """The checks of `dibs doctor` on the file."""
        from dibs.stores.sqlite import health

        return health.check(self)

    def tidy(self) -> int:
        """Remove the pipes of dead processes."""
        return self._wakes().sweep()

    def spare(self) -> int:
        """The free pages of the file, in bytes."""
        return self._turns.call(database_file.spare, self._connection, self._timeout)

    def compact(self) -> int:
        """Write the file anew without its free pages, behind the gate."""

        def through(gate: Gate) -> int:
            gate.enter()
            try:
                return database_file.compact(self._connection, self.path)
            except apsw.Error as error:
                raise self._plain(error) from error
            finally:
                gate.leave()

        return self._turns.call(through, self._gate, self._timeout)

    def listeners(self) -> int:
        """How many processes listen for a wake."""
        return self._wakes().listeners()

    def journal_mode(self) -> str:
        """How SQLite keeps its journal; `wal`, or something is wrong."""
        mode: str = self._turns.call(lambda statement: self._sql(statement).get, "PRAGMA journal_mode", self._timeout)
        return mode

    def integrity(self) -> list[str]:
        """The faults that SQLite's check of every page finds; empty when there are none."""
        return self._turns.call(database_file.integrity, self._connection, self._timeout)

    def try_gate(self) -> None:
        """Enter the gate and leave it. Raises Busy, as a writer's call would, when another process is inside."""

        def through(gate: Gate) -> None:
            try:
                gate.enter()
            finally:
                gate.leave()

        self._turns.call(through, self._gate, self._timeout)

    # --- the parts

    def _wakes(self) -> Wakes:
        """The pipes, loaded at the first wait: most calls never wait."""
        self._turns.refuse_forked()
        if self._pipes is None:
            from dibs.stores.sqlite.wakes import Wakes

            self._pipes = Wakes(f"{os.path.dirname(self.path)}/wakes")
        return self._pipes

    # --- one run of one transaction

    def _begin(self, remembered: tuple[int, str]) -> tuple[Any, ...]:
        """Begin to write; returns the head record."""
        self._refuse_replaced()
        self._check(inside=True)
        self._sql("BEGIN IMMEDIATE")
        head = self._head(self._sql)
        self._refuse_other(head, remembered)
        if head[7]:
            from dibs.stores.move import moved_mark

            moved_mark.refuse_write(head[7], self.path, _Transaction(self, head, "", writes=False).now)
        return head

    def _append(self, tx: _Transaction) -> tuple[int, str]:
        """Write the transaction's events; returns the number and the link of the last one."""
        seq, link = tx.seq, tx.link
        number, now, wall = tx.number, tx.now, tx.wall
        if len(tx.bodies) == 1:  # as most have
            body, seq = tx.bodies[0], seq + 1
            link = link_of(link, seq, number, now, wall, digest_of(body))
            self._sql(APPEND, (seq, number, now, wall, body, link))
            return seq, link
        for start in range(0, len(tx.bodies), EVENTS_PER_STATEMENT):
            rows: list[Any] = []
            for body in tx.bodies[start : start + EVENTS_PER_STATEMENT]:
                seq += 1
                link = link_of(link, seq, number, now, wall, digest_of(body))
                rows += (seq, number, now, wall, body, link)
            self._sql(APPEND + ", (?, ?, ?, ?, ?, ?)" * (len(rows) // 6 - 1), rows)
        return seq, link

    def _move_head(self, tx: _Transaction, seq: int, link: str) -> None:
        self._sql(MOVE_HEAD, (tx.number, seq, link, tx.now, self._boot, tx.base))

    def _head(self, sql: Callable[..., Any]) -> tuple[Any, ...]:
        row: tuple[Any, ...] | None = sql(HEAD).fetchone()
        if row is None:
            message = "its head record is missing"
            raise DamagedError(message)
        return row

    def _check(self, *, inside: bool) -> None:
        """Once, before the first transaction: is the file ours, of this schema, and can its pages be written?

        `inside`: the gate was entered.
        """
        if not self._checked:
            # SQLite makes the WAL at the first statement
            if not os.path.exists(f"{self.path}-wal") or (inside and self._gate.mark == MENDING):
                from dibs.stores.sqlite import foreign_close

                foreign_close.mend(self, inside=inside)
            if self._sql("SELECT schema FROM head").get != len(database_file.MIGRATIONS):
                database_file.check_schema(self._connection, self.path)
            database_file.refuse_without_checksums(self._connection, self.path)
            database_file.refuse_partial(self._connection, self.path)
            self._sql("PRAGMA synchronous = FULL")
            if self._is_short_lived:
                self._connection.set_wal_hook(self._empty_wal)
            else:
                self._sql(f"PRAGMA wal_autocheckpoint = {LONG_LIVED_WAL_PAGES}")
            self._beside = self._found_beside()
            self._checked = True

    def _empty_wal(self, connection: apsw.Connection, _: str, pages: int) -> int:
        """After a commit: fold a long WAL into the database. If another process reads it, a later commit will."""
        if pages >= SHORT_LIVED_WAL_PAGES:
            connection.set_busy_timeout(0)
            try:
                connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
            except apsw.Error:
                pass  # the commit is done, even if this fails
            finally:
                connection.set_busy_timeout(int(self._timeout * 1000))
        return apsw.SQLITE_OK

    def _refuse_replaced(self) -> None:
        """Refuse a file that other processes no longer find: its claims would bind nobody else (`git clean -fdx`)."""
        try:
            found = os.stat(self.path)
        except OSError:
            raise database_file.cannot_open(self.path) from None
        if (found.st_dev, found.st_ino) != self._file:
            raise _replaced(self.path, " was replaced while this process had it open")
        if self._beside and self._found_beside() != self._beside:
            raise _replaced(self.path, "-wal or -shm was removed or replaced while this process had the database open")

    def _found_beside(self) -> list[tuple[int, int]]:
        """The files next to the database now. SQLite keeps using the ones it opened, even after they are deleted."""
        found = []
        for name in (f"{self.path}-wal", f"{self.path}-shm"):
            try:
                status = os.stat(name)
            except OSError:
                continue
            found.append((status.st_dev, status.st_ino))
        return found

    def _refuse_other(self, head: tuple[Any, ...], remembered: tuple[int, str]) -> None:
        """Refuse a database that is older than the last answered commit, or a different one: tokens never fall."""
        answered, store_id = remembered
        if head[7]:
            from dibs.stores.move import moved_mark

            moved_mark.refuse(head[7], self.path)
        if store_id and head[6] != store_id:
            message = (
                f"{self.path} belongs to another workspace: it is not the database that answered here before. "
                f"Nothing was changed. {database_file.RECOVER}"
            )
            raise Unavailable(message, path=self.path, damaged=True)
        if head[0] < answered:
            message = (
                f"{self.path} stands at commit {head[0]}, but commit {answered} was answered: its end was cut off or "
                f"an older copy was put in its place. Nothing was changed. {database_file.RECOVER}"
            )
            raise Unavailable(message, path=self.path, damaged=True, commit=head[0], answered=answered)

    def _sql(self, statement: str, values: Sequence[Any] = ()) -> Any:
        """Every statement goes through here, so that a test can stop the process before and after each."""
        return self._connection.execute(statement, values)

    def _abandon(self) -> None:
        """At the start of a turn: end what an interrupted one has left."""
        if self._is_closed:
            from dibs.stores.sqlite.reader import CLOSED_MEANWHILE

            raise Unavailable(CLOSED_MEANWHILE.format(self.path), path=self.path)
        if self._connection.in_transaction:
            try:
                self._sql("ROLLBACK")
            except apsw.Error:
                pass  # the failed statement has rolled back already, or the file cannot

    def _plain(self, error: Exception, connection: apsw.Connection | None = None) -> DibsError:
        if isinstance(error, UnicodeEncodeError):
            return Invalid("this text is not valid Unicode: it contains half of a character. Nothing was changed.")
        if isinstance(error, (UnicodeError, DamagedError)):  # dibs did not write this row's text
            message = f"{self.path} is damaged ({error}). Nothing was changed. {database_file.RECOVER}"
            return Unavailable(message, path=self.path, damaged=True)
        if isinstance(error, apsw.SQLError):
            try:
                database_file.check_schema(connection or self._connection, self.path)
            except DibsError as better:
                return better
        return database_file.plain(error, self.path)

    def _wall_offset(self, measured: int, sql: Callable[..., Any]) -> int:
        """From the store's clock to the wall clock: as in the last event, unless the wall clock was set since.

        A new measurement each time would differ by a millisecond from call to call, and so would every time shown.
        """
        if self._offset is None or abs(measured - self._offset) > WALL_SET_MS:
            row = next(iter(sql("SELECT wall - now FROM log ORDER BY seq DESC LIMIT 1")), None)
            self._offset = None if row is None or abs(measured - row[0]) > WALL_SET_MS else int(row[0])
        return measured if self._offset is None else self._offset


class DamagedError(Exception):
    """dibs did not write this record of the database.

    An operation's own errors do not mean that the file is damaged.
    """


class _Transaction(BaseTransaction):
    """One run of one transaction on an open connection."""

    def __init__(
        self,
        store: SqliteStore,
        head: tuple[Any, ...],
        identifier: str,
        *,
        writes: bool,
        sql: Callable[..., Any] | None = None,
    ) -> None:
        commit, self.seq, self.link, self.last, boot, base, self.store_id, _ = head
        super().__init__(identifier, writes=writes)
        self._store = store
        self.sql = store._sql if sql is None else sql
        self.number = commit + 1
        since_boot = clock.since_boot()
        # After a reboot (or in a database just made) the store's clock continues from its last commit.
        self.base = base if boot == store._boot else self.last + 1 - since_boot
        self.now = max(since_boot + self.base, self.last)
        self._wall = 0

    @property
    def wall(self) -> int:
        """The wall clock at `now`."""
        if not self._wall:
            offset = self._store._wall_offset(clock.ahead() - self.base, self.sql)
            self._wall, self._store._ahead = self.now + offset, self.base + offset
        return self._wall

    def fetch(self, ranges: Sequence[Range], limit: int = FETCH_LIMIT) -> Fetched:
        if not ranges:
            return Fetched([], False)
        _, found, cut = self._page_of(ranges, limit) or self._select((), ranges, limit)[1]
        texts = found[:limit]
        values = self._decode([text for _, text in texts])
        rows: list[Row] = [(key, value) for (key, _), value in zip(texts, values, strict=True)]
        return Fetched(rows, cut or len(found) > limit)

    def _read(self, keys: Sequence[str], ranges: Sequence[Range], limit: int) -> Page:
        texts, page = self._select(keys, ranges, limit)
        self._texts.update(texts)
        self._texts.update(page[1])
        if ranges:
            self._pages.append(page)
        return page

    def _select(self, keys: Sequence[str], ranges: Sequence[Range], limit: int) -> tuple[dict[str, str | None], Page]:
        """The texts of the keys, and the rows of the ranges, in one statement."""
        bounds: list[str] = []
        for key in keys:
            bounds += (key, key + AFTER_KEY)
        for low, high in ranges:
            bounds += (low, high)
        texts: dict[str, str | None] = dict.fromkeys(keys)
        rows: list[tuple[str, str]] = []
        for of_range, key, text in self.sql(self._fetch_statement(len(keys), len(ranges), limit), bounds).fetchall():
            if of_range:
                rows.append((key, text))
            else:
                texts[key] = text
        return texts, (ranges, rows[:limit], len(rows) > limit)

    def _wrote(self, key: str, text: str | None) -> None:
        """Keep what was written; the ranges around it have to be read again."""
        self._texts[key] = text
        for page in self._pages[:]:
            for low, high in page[0]:
                if low <= key < high:
                    self._pages.remove(page)
                    break

    def _decode(self, texts: list[str]) -> list[Json]:
        try:
            return jsontext.decode_all(texts)
        except ValueError as error:
            raise DamagedError(str(error)) from error

    def _fetch_statement(self, keys: int, ranges: int, limit: int) -> str:
        """One statement for all keys and ranges.

        The LIMIT is a literal: a bound one would be prepared again each time.
        """
        known = self._store._fetches
        statement = known.get((keys, ranges, limit))
        if statement is None:
            values = ",".join(["(0,?,?)"] * keys + ["(1,?,?)"] * ranges)
            statement = known[keys, ranges, limit] = (
                f"WITH r(o, lo, hi) AS (VALUES {values}) SELECT o, k, v FROM r CROSS JOIN kv "  # noqa: S608 - no data in it
                f"WHERE k >= lo AND k < hi LIMIT {keys + limit + 1}"
            )
        return statement

    def scan(self, index: int, prefix: str, limit: int, after: str = "", before: str = "") -> Scanned:
        low, high = prefix_range(prefix)
        if after:
            low = after + AFTER_KEY
        if before:
            high = before
        statement = self._store._scans.get((index, limit))
        if statement is None:
            column = "i1" if index == 1 else "i2"
            statement = self._store._scans[index, limit] = (
                f"SELECT {column}, k, v FROM kv WHERE {column} >= ? AND {column} < ? "  # noqa: S608 - no data in it
                f"ORDER BY {column}, k LIMIT {limit + 1}"
            )
        found = self.sql(statement, (low, high)).fetchall()
        if not found:
            return Scanned([], False)
        decoded = self._decode([text for _, _, text in found[:limit]])
        rows = [(entry, key, value) for (entry, key, _), value in zip(found[:limit], decoded, strict=True)]
        return Scanned(rows, len(found) > limit)

    def put(self, key: str, value: Json, i1: str | None = None, i2: str | None = None) -> None:
        self._may_write()
        text = jsontext.encode(value).replace(COMMIT_TEXT, str(self.number))
        self.sql(PUT, (key, text, self.number, filled_entry(i1, self.number), filled_entry(i2, self.number)))
        self._wrote(key, text)

    def delete(self, key: str) -> None:
        self._may_write()
        self.sql(DELETE, (key,))
        self._wrote(key, None)

    def tail(self) -> Head:
        return Head(self.number - 1, self.seq, self.link, self.last)

    def seal(self, body: str) -> None:
        self._may_write()
        self.sql("INSERT INTO seals VALUES (?, ?, ?)", (self.seq, self.link, body))

    def prune(self, seal: int, through: int) -> None:
        self._may_write()
        if through > seal or self.sql("SELECT 1 FROM seals WHERE seq = ?", (seal,)).fetchone() is None:
            message = f"no seal stands at event {seal}, or it is before event {through}"
            raise ValueError(message)
        self.sql("DELETE FROM log WHERE seq <= ?", (through,))
        self.sql("DELETE FROM seals WHERE seq < ?", (seal,))
