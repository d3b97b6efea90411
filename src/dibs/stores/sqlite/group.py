"""Several transactions, one fsync: `run_many` of the SQLite engine.

The gate, BEGIN IMMEDIATE, the head record and COMMIT once for all. Between them each function runs as in a transaction
of its own, with the number, the time and the log's end that the one before it left. A savepoint undoes one that fails;
it is set at the first write, because many only read. The head record moves once, to the last one that wrote.

What is not here: who gathers a group, and who waits for it.
"""

from __future__ import annotations

from fcntl import LOCK_UN, flock

import apsw

from dibs.machine import clock
from dibs.stores.seam import MAX_CLOCK_AGE_MS, MAX_GROUP_MS, MAX_STALE_RUNS, fill, too_slow
from dibs.stores.sqlite import database_file
from dibs.stores.sqlite.store import DamagedError, SqliteStore, _Transaction

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from dibs.stores.seam import Outcome, Transaction

    Function = Callable[[Transaction], Any]


def run(store: SqliteStore, fns: Sequence[Function]) -> list[Outcome]:
    """Run all of them; see the seam."""
    outcomes: list[Outcome] = []
    while len(outcomes) < len(fns):
        left = fns[len(outcomes) :]
        try:
            outcomes += store._in_turn(lambda fns: _committed(store, fns), left)
        except Exception as error:  # noqa: BLE001 - it is the outcome of all that are left
            outcomes += [(None, error)] * len(left)
    return outcomes


def _committed(store: SqliteStore, fns: Sequence[Function]) -> list[Outcome]:
    """The outcomes of as many of them as one commit takes, at least one."""
    identifiers = [clock.random_id() for _ in fns]
    try:
        for _ in range(MAX_STALE_RUNS):
            done = _attempt(store, fns, identifiers)
            if done is None:
                continue
            outcomes: list[Outcome] = []
            for tx, value, error in done:
                if error is None:
                    for name in tx.names:
                        store._wakes().wake(name)
                    value = fill(value, tx.number)  # noqa: PLW2901 - the same value, filled in
                outcomes.append((value, error))
            return outcomes
    except BaseException:
        store._repair()  # in case an interrupt hit the lines that release
        raise
    raise too_slow()


def _attempt(
    store: SqliteStore, fns: Sequence[Function], identifiers: list[str]
) -> list[tuple[_Member, Any, Exception | None]] | None:
    """Run them once and commit; None if it took too long and all have to be run again.

    Each `finally` releases by a C function that it calls directly, as in `SqliteStore._attempt`.
    """
    gate, connection = store._gate, store._connection
    try:
        remembered = gate.enter()
        try:
            done, last = _decided(store, fns, identifiers, store._begin(remembered))
            first = done[0][0]  # its clock is the oldest
            if clock.since_boot() + first.base - first.now > MAX_CLOCK_AGE_MS:
                return None
            for tx, _, error in done:
                if error is None and tx.names:
                    store._wakes().mark(tx.names)
            store._end(commits=last is not None)
        except (apsw.Error, OSError, UnicodeError, DamagedError) as error:
            raise store._plain(error) from error
        finally:
            try:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
            except apsw.Error:
                pass  # the failed statement has rolled back already, or the file cannot
        if last is not None:
            gate.leave(last.number, last.store_id)
        return done
    finally:
        if gate.file is not None:
            flock(gate.file, LOCK_UN)


def _decided(
    store: SqliteStore, fns: Sequence[Function], identifiers: list[str], head: tuple[Any, ...]
) -> tuple[list[tuple[_Member, Any, Exception | None]], _Member | None]:
    """Each function with its transaction and its result; and the last transaction that wrote."""
    done: list[tuple[_Member, Any, Exception | None]] = []
    last: _Member | None = None
    first: _Member | None = None
    for fn, identifier in zip(fns, identifiers, strict=True):
        tx = _Member(store, head, identifier, writes=True)
        if first is None:
            first = tx
        elif tx.now - first.now > MAX_GROUP_MS:
            break
        tx.first = first
        try:
            value = fn(tx)
            if tx.touched:
                head, last = tx.keep(), tx
        except Exception as error:  # noqa: BLE001 - it is the outcome of this one
            tx.drop(error)
            done.append((tx, None, _plain(store, error)))
        else:
            done.append((tx, value, None))
    if last is not None:
        store._move_head(last, head[1], head[2])
    return done, last


def _plain(store: SqliteStore, error: Exception) -> Exception:
    """The error of one function as its caller sees it; the same as from `run`."""
    if isinstance(error, (UnicodeError, DamagedError)):
        plain: Exception = store._plain(error)
    elif isinstance(error, (apsw.Error, OSError)):
        plain = database_file.plain(error, store.path)  # without a look at the schema, which would end the transaction
    else:
        return error
    plain.__cause__ = error
    return plain


class _Member(_Transaction):
    """One transaction of a group: inside a savepoint from its first write on."""

    first: _Member

    @property
    def wall(self) -> int:
        """The wall clock at `now`: as far from it as for the first of the group, which alone looks at that clock."""
        if not self._wall:
            first = self.first
            self._wall = super().wall if first is self else self.now + first.wall - first.now
        return self._wall

    def _may_write(self) -> None:
        if not self.touched:
            self._refuse_outside()
            self.sql("SAVEPOINT one")
            self.touched = True

    def keep(self) -> tuple[Any, ...]:
        """Write its events. Returns the head record for the next one."""
        self._refuse_outside()
        seq, link = self._store._append(self)
        self.sql("RELEASE one")
        return (self.number, seq, link, self.now, self._store._boot, self.base, self.store_id, None)

    def drop(self, error: Exception) -> None:
        """Undo what it wrote, and nothing else. Raises if SQLite has rolled back the whole group."""
        if isinstance(error, apsw.Error) and not self._store._connection.in_transaction:
            raise error
        self._refuse_outside()
        if self.touched:
            self.sql("ROLLBACK TO one")
            self.sql("RELEASE one")

    def _refuse_outside(self) -> None:
        """Outside a transaction a savepoint would commit on its own: a function has hidden that SQLite rolled back."""
        if not self._store._connection.in_transaction:
            message = "an error of SQLite rolled back the whole group"
            raise apsw.AbortError(message)
