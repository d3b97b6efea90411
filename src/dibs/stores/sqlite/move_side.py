"""An SQLite store as a move sees it: see carry.py for the verbs.

The copy is a separate file next to the database until it takes the database's name.
"""

from __future__ import annotations

import os

import apsw

from dibs.errors import Unavailable
from dibs.machine import clock, processes
from dibs.stores.move import moved_mark
from dibs.stores.move.carry import PAGE_ROWS, Frozen
from dibs.stores.seam import AFTER_KEY, Event, Seal
from dibs.stores.sqlite import database_file
from dibs.stores.sqlite.gate import Gate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from dibs.stores.move.carry import Row

FREEZE_MS = 30_000  # a freeze expires by itself after this: far longer than the next page takes


class SqliteSide:
    """One database, by its path."""

    def __init__(self, path: str, timeout: float) -> None:
        self.where, self.path = "sqlite:", path
        self._timeout = timeout
        self._open: dict[str, apsw.Connection] = {}

    # --- the old side

    def freeze(self, identifier: str, where: str) -> Frozen:
        """Block writers from this commit on, for a limited time."""

        def mark(head: dict[str, Any], now: int) -> str:
            if head["moved"] and not moved_mark.is_of(head["moved"], identifier):
                moved_mark.refuse(head["moved"], self.path)
                moved_mark.refuse_write(head["moved"], self.path, now)
            return moved_mark.moving(identifier, now + FREEZE_MS, where)

        head, now, ticks = self._mark(mark)
        return Frozen(head["commits"], head["seq"], head["link"], head["now"], now, 0, ticks)

    def position(self) -> Frozen:
        """Where it stands."""
        head = self._head()
        now, ticks = _clock(head)
        return Frozen(head["commits"], head["seq"], head["link"], head["now"], now, 0, ticks)

    def thaw(self, identifier: str) -> None:
        """Let writers in again."""
        self._mark(lambda head, _: "" if moved_mark.is_of(head["moved"], identifier) else head["moved"])

    def give_up(self, identifier: str, where: str, commit: int) -> bool:
        """Give up being in charge, if nothing was written since."""

        def mark(head: dict[str, Any], _: int) -> str:
            ours = moved_mark.is_of(head["moved"], identifier) and head["commits"] == commit
            return moved_mark.gone(identifier, where) if ours else head["moved"]

        head, _, _ = self._mark(mark)
        return bool(head["moved"].startswith(f"{moved_mark.MOVED} {identifier} "))

    def mark(self) -> str:
        """The store's mark."""
        return str(self._head()["moved"]) if os.path.exists(self.path) else ""

    def origin(self) -> str:
        """The move that filled it."""
        return str(self._head()["origin"]) if os.path.exists(self.path) else ""

    def retire(self) -> None:
        """The file stays: it says where the workspace went."""

    def _mark(self, decide: Any) -> tuple[dict[str, Any], int, int]:
        """Change the mark in the head record, as a writer does: through the gate."""
        gate = Gate(f"{self.path}.gate", self._timeout)
        gate.enter()
        try:
            connection = self._connection()
            connection.execute("PRAGMA synchronous = FULL")
            with connection:
                connection.execute("UPDATE head SET one = 1")  # takes SQLite's write lock before it reads
                head = self._head()
                now, ticks = _clock(head)
                head["moved"] = decide(head, now)
                connection.execute("UPDATE head SET moved = ?", (head["moved"],))
        except apsw.Error as error:
            raise database_file.plain(error, self.path) from error
        else:
            return head, now, ticks
        finally:
            gate.leave()
            gate.close()

    # --- the new side

    def in_use(self) -> str:
        """A database that is in charge is not overwritten."""
        if not os.path.exists(self.path):
            return ""
        head = self._head()
        if head["moved"].startswith(moved_mark.MOVED) or not head["seq"]:
            return ""
        return f"{self.path} holds a workspace already (event {head['seq']})"

    def stage(self, identifier: str, frozen: Frozen) -> None:
        """Make a new file whose clock continues from the old store's."""
        self.drop(identifier)
        database_file.create(self._place(identifier), frozen.commit)
        self._sql(
            identifier,
            "UPDATE head SET seq = ?, link = ?, now = ?, boot = ?, base = ?",
            (frozen.seq, frozen.link, frozen.last, processes.boot(), frozen.now - frozen.since_boot),
        )

    def fill(self, identifier: str, rows: list[Row], events: list[Event], seals: list[Seal]) -> None:
        """In one transaction."""
        connection = self._connection(identifier)
        try:
            with connection:
                values = [(key, text, number, one or None, two or None) for key, number, one, two, text in rows]
                connection.executemany("INSERT INTO kv VALUES (?, ?, ?, ?, ?)", values)
                logged = [(e.seq, e.commit, e.now, e.wall, e.body, e.link) for e in events]
                connection.executemany("INSERT INTO log VALUES (?, ?, ?, ?, ?, ?)", logged)
                connection.executemany("INSERT INTO seals VALUES (?, ?, ?)", [(s.seq, s.link, s.body) for s in seals])
        except apsw.Error as error:
            raise database_file.plain(error, self._place(identifier)) from error
        except UnicodeEncodeError as error:
            raise Unavailable(f"SQLite cannot store a key as text ({error}). Nothing was changed.") from None

    def staged(self, identifier: str) -> bool:
        """Is the file there and marked as complete?"""
        return os.path.exists(self._place(identifier)) and self._head(identifier)["origin"] == identifier

    def complete(self, identifier: str) -> None:
        """Mark it complete and fold its WAL into the file: only the file is renamed."""
        self._sql(identifier, "UPDATE head SET origin = ?", (identifier,))
        self._sql(identifier, "PRAGMA wal_checkpoint(TRUNCATE)")

    def drop(self, identifier: str) -> None:
        """Remove the file and its companions."""
        self.close()
        place = self._place(identifier)
        for name in (place, f"{place}-wal", f"{place}-shm"):
            if identifier and os.path.exists(name):
                os.unlink(name)

    def publish(self, identifier: str) -> str:
        """Rename it to the database's name; a file that has this name is set aside."""
        if self.origin() == identifier:
            return ""
        head = self._head(identifier)
        self.close()  # folds the rest of the WAL into the file
        gate = Gate(f"{self.path}.gate", self._timeout)
        gate.enter()
        done = False
        try:
            aside = database_file.set_aside(self.path, "moved") if os.path.exists(self.path) else ""
            os.rename(self._place(identifier), self.path)
            folder = os.open(os.path.dirname(self.path) or ".", os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
            done = True
        except OSError as error:
            raise database_file.plain(error, self.path) from error
        finally:
            gate.leave(*((head["commits"], head["id"]) if done else ()))
            gate.close()
        return aside

    # --- reading

    def rows(self, identifier: str = "") -> Iterator[Row]:
        """All rows."""
        last = ""
        while True:
            statement = f"SELECT k, n, i1, i2, v FROM kv WHERE k >= ? ORDER BY k LIMIT {PAGE_ROWS}"  # noqa: S608 - no data
            page = self._sql(identifier, statement, (last,))
            for key, number, one, two, text in page:
                yield key, number, one or "", two or "", text
            if len(page) < PAGE_ROWS:
                return
            last = page[-1][0] + AFTER_KEY

    def entries(self, identifier: str = "") -> Iterator[tuple[int, str, str]]:
        """The index entries, read through the indexes themselves."""
        for index in (1, 2):
            column = f"i{index}"
            statement = f"SELECT {column}, k FROM kv INDEXED BY kv_{column} WHERE {column} IS NOT NULL"  # noqa: S608 - no data
            for entry, key in self._connection(identifier).execute(statement):
                yield index, entry, key

    def events(self, identifier: str = "") -> Iterator[Event]:
        """The log."""
        last = 0
        while True:
            columns = "seq, commits, now, wall, body, link"
            statement = f"SELECT {columns} FROM log WHERE seq > ? ORDER BY seq LIMIT {PAGE_ROWS}"  # noqa: S608 - no data
            page = self._sql(identifier, statement, (last,))
            for row in page:
                yield Event(*row)
            if len(page) < PAGE_ROWS:
                return
            last = page[-1][0]

    def seals(self, identifier: str = "") -> list[Seal]:
        """The seals."""
        return [Seal(*row) for row in self._sql(identifier, "SELECT seq, link, body FROM seals ORDER BY seq")]

    def close(self) -> None:
        """Close what was opened."""
        for connection in self._open.values():
            connection.close()
        self._open.clear()

    def _place(self, identifier: str) -> str:
        return f"{self.path}.move-{identifier}" if identifier else self.path

    def _head(self, identifier: str = "") -> dict[str, Any]:
        names = ("id", "commits", "seq", "link", "now", "boot", "base", "moved", "origin")
        found = self._sql(identifier, f"SELECT {', '.join(names)} FROM head")  # noqa: S608 - no data
        return dict(zip(names, found[0], strict=True))

    def _sql(self, identifier: str, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        try:
            return list(self._connection(identifier).execute(statement, values))
        except apsw.Error as error:
            raise database_file.plain(error, self._place(identifier)) from error

    def _connection(self, identifier: str = "") -> apsw.Connection:
        if identifier not in self._open:
            place = self._place(identifier)
            if not os.path.exists(place):
                raise database_file.cannot_open(place)
            connection = database_file.connect(place, self._timeout)
            database_file.check_schema(connection, place)
            database_file.refuse_without_checksums(connection, place)
            self._open[identifier] = connection
        return self._open[identifier]


def _clock(head: dict[str, Any]) -> tuple[int, int]:
    """The store's clock and the machine's, at this moment.

    After a reboot the store's continues from its last commit.
    """
    ticks = clock.since_boot()
    base = head["base"] if head["boot"] == processes.boot() else head["now"] + 1 - ticks
    return max(ticks + base, head["now"]), ticks
