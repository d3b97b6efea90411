"""A second connection of one process, for looks alone.

A long-lived process with several threads (a server) looks while it writes. On one connection a look would wait for the
fsync of the commit that is under way; in WAL mode a second connection reads the state before that commit, at once.
"""

from __future__ import annotations

import apsw

from dibs.errors import Unavailable
from dibs.stores.sqlite import database_file
from dibs.stores.turns import Turns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

CLOSED_MEANWHILE = "{} was closed by another thread. Nothing was changed; the next call opens it again."


class Reader:
    """The connection and the line of the threads that look."""

    def __init__(self, path: str, timeout: float) -> None:
        self.path = path
        self.connection = database_file.connect(path, timeout)
        self.turns = Turns(self.abandon, path)
        self.is_closed = False
        self._checked = False

    def close(self) -> None:
        """Close the connection; in a turn."""
        self.is_closed = True
        self.connection.close()

    def sql(self, statement: str, values: Sequence[Any] = ()) -> Any:
        """Every statement of a look goes through here."""
        return self.connection.execute(statement, values)

    def check(self) -> None:
        """Once, before the first look: the checks of the writing connection, which may not have made them yet."""
        if not self._checked:
            if self.sql("SELECT schema FROM head").get != len(database_file.MIGRATIONS):
                database_file.check_schema(self.connection, self.path)
            database_file.refuse_without_checksums(self.connection, self.path)
            database_file.refuse_partial(self.connection, self.path)
            self.sql("PRAGMA query_only = ON")
            self._checked = True

    def abandon(self) -> None:
        """At the start of a turn: end what an interrupted look has left."""
        if self.is_closed:
            raise Unavailable(CLOSED_MEANWHILE.format(self.path), path=self.path)
        if self.connection.in_transaction:
            try:
                self.sql("ROLLBACK")
            except apsw.Error:
                pass  # nothing was written
