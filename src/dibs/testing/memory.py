"""The memory engine: the reference for what the seam means, and the simulator's engine.

It keeps everything in dicts and sorted lists of one process; nothing survives the process. A test can
inject two faults (``faults``), which an optimistic engine causes in every operation too: ``abort`` decides after each
run of a transaction whether to discard it and run it again; ``between`` is called in that gap, where another
transaction may commit.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from marshal import dumps, loads

from dibs import jsontext
from dibs.errors import Busy
from dibs.machine import clock
from dibs.stores.seam import (
    COMMIT_TEXT,
    ERROR,
    FETCH_LIMIT,
    GENESIS,
    MAX_CLOCK_AGE_MS,
    MAX_RUNS,
    MAX_STALE_RUNS,
    BaseStore,
    BaseTransaction,
    Event,
    Fetched,
    Head,
    Scanned,
    Seal,
    chained,
    fill,
    filled_entry,
    too_slow,
)
from dibs.stores.turns import Turns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from dibs.stores.seam import Check, Description, Json, Outcome, Range, Row, T, Transaction

TIMEOUT_S = 5.0  # to wait for another thread
MARSHAL_VERSION = 2  # the format without references, which is read fastest


def _value(row: tuple[bytes, str | None, str | None]) -> Json:
    return loads(row[0])  # noqa: S302 - what `put` wrote, in this process


class Faults:
    """Faults injected into transactions; a test may change them at any time."""

    __slots__ = ("abort", "between")

    def __init__(self, abort: Callable[[], bool] | None, between: Callable[[], None] | None) -> None:
        self.abort, self.between = abort, between


class MemoryStore(BaseStore):
    """A store in this process. Thread-safe; one transaction at a time."""

    def __init__(
        self,
        now: Callable[[], int] | None = None,
        wall: Callable[[], int] | None = None,
        new_id: Callable[[], str] | None = None,
        abort: Callable[[], bool] | None = None,
        between: Callable[[], None] | None = None,
    ) -> None:
        # Looked up at each call, so that a test can replace the clock later.
        self._now = now or (lambda: clock.since_boot())  # noqa: PLW0108 - see above
        self._wall = wall or (lambda: clock.wall())  # noqa: PLW0108 - see above
        self._new_id = new_id or (lambda: clock.random_id())  # noqa: PLW0108 - see above
        self.faults = Faults(abort, between)
        self._turns = Turns(self._repair, "memory:", nested=True)  # `between` runs other transactions
        self._open: MemoryTransaction | _Group | None = None  # what to roll back, unless it committed
        # Values are kept as `marshal` bytes: several times as fast to read as JSON text, and each read makes a new
        # object that the caller may change.
        self._rows: dict[str, tuple[bytes, str | None, str | None]] = {}
        self._keys: list[str] = []
        self._torn = False  # a change was interrupted: keys and entries may not fit the rows
        self._entries: tuple[list[tuple[str, str]], list[tuple[str, str]]] = ([], [])
        self._events: list[Event] = []
        self._seals: list[Seal] = []
        self._head = Head(0, 0, GENESIS, 0)
        self.woken: set[str] = set()  # names with a wake that no waiter took yet
        self._wakes = 0

    # --- the verbs of the store

    def run(self, fn: Callable[[Transaction], T]) -> T:
        """Run `fn` in one serialisable transaction."""
        return self._turns.call(self._run, fn, TIMEOUT_S)

    def _run(self, fn: Callable[[Transaction], T]) -> T:
        identifier = self._new_id()
        stale = 0
        for _ in range(MAX_RUNS):
            tx = MemoryTransaction(self, max(self._now(), self._head.now), self._wall(), identifier, writes=True)
            self._open = tx
            try:
                result = fn(tx)
                if self.faults.abort is not None and self.faults.abort():
                    self._repair()
                    if self.faults.between is not None:
                        self.faults.between()
                    continue
                if self._now() - tx.now > MAX_CLOCK_AGE_MS:
                    stale += 1
                    if stale == MAX_STALE_RUNS:
                        raise too_slow()
                    continue
                self._commit(tx)
            finally:
                if self._open is tx:
                    self._repair()
            filled: T = fill(result, tx.number)
            return filled
        raise Busy(tried=MAX_RUNS)

    def is_free(self) -> bool:
        """Unless another thread uses it."""
        return not self._turns.is_another()

    def run_many(self, fns: Sequence[Callable[[Transaction], Any]]) -> list[Outcome]:
        """Run several transactions with one commit for all."""
        try:
            return self._turns.call(self._run_many, fns, TIMEOUT_S)
        except Exception as error:  # noqa: BLE001 - it is the outcome of each
            return [(None, error)] * len(fns)

    def _run_many(self, fns: Sequence[Callable[[Transaction], Any]]) -> list[Outcome]:
        identifiers = [self._new_id() for _ in fns]
        for _ in range(MAX_RUNS):
            group = self._open = _Group(self)
            try:
                done = [self._member(group, fn, identifier) for fn, identifier in zip(fns, identifiers, strict=True)]
                if self.faults.abort is not None and self.faults.abort():
                    self._repair()
                    if self.faults.between is not None:
                        self.faults.between()
                    continue
                if group.members and self._now() - group.members[0].now > MAX_CLOCK_AGE_MS:
                    continue
                self._open = None  # the commit point
            finally:
                if self._open is group:
                    self._repair()
            for tx, _, error in done:
                if error is None and tx.touched:
                    self.woken.update(tx.names)
            return [(None if error else fill(value, tx.number), error) for tx, value, error in done]
        raise Busy(tried=MAX_RUNS)

    def _member(
        self, group: _Group, fn: Callable[[Transaction], Any], identifier: str
    ) -> tuple[MemoryTransaction, Any, Exception | None]:
        """One function of a group. The head moves with it, and back if the group does not commit."""
        tx = MemoryTransaction(self, max(self._now(), self._head.now), self._wall(), identifier, writes=True)
        group.members.append(tx)
        try:
            value = fn(tx)
        except Exception as error:  # noqa: BLE001 - it is the outcome of this one
            tx.undo()
            return tx, None, error
        if tx.touched:
            self._write_head(tx)
        return tx, value, None

    def look(self, fn: Callable[[Transaction], T]) -> T:
        """Run `fn` on one consistent snapshot."""
        return self._turns.call(self._look, fn, TIMEOUT_S)

    def _look(self, fn: Callable[[Transaction], T]) -> T:
        return fn(MemoryTransaction(self, max(self._now(), self._head.now), self._wall(), "", writes=False))

    def watch(self, name: str) -> None:
        """Nothing to prepare: `wait` looks at what was woken since."""

    def unwatch(self, name: str) -> None:
        """Drop a wake that has no waiter any more."""
        self.woken.discard(name)

    def wait(self, name: str, timeout: float) -> bool:
        """Wait for a wake from another thread, in short steps."""
        end = clock.since_boot() + int(timeout * 1000)
        while True:
            if name in self.woken:
                self.woken.discard(name)
                return True
            if clock.since_boot() >= end:
                return False
            clock.sleep(0.001)

    def head(self) -> Head:
        """Where the log ends."""
        return self.look(lambda tx: tx.tail())

    def events(self, after: int = 0, limit: int = 1000) -> list[Event]:
        """Events with a number above `after`, in order."""
        return self.look(lambda _: self._events_after(after, limit))

    def _events_after(self, after: int, limit: int) -> list[Event]:
        first = self._events[0].seq if self._events else 1
        start = max(0, after + 1 - first)
        return self._events[start : start + limit]

    def seals(self) -> list[Seal]:
        """The seals of pruned stretches."""
        return self.look(lambda _: list(self._seals))

    def close(self) -> None:
        """Nothing to close."""

    @property
    def address(self) -> str:
        """This very object."""
        return f"memory:{id(self)}"

    def describe(self) -> Description:
        """What people should know about this store."""
        return {
            "engine": "memory", "address": self.address, "persistence": "it ends with its process", "warnings": [],
            "figures": {"rows": len(self._rows), "events": len(self._events)},
        }  # fmt: skip

    def check(self) -> Iterator[Check]:
        """Do keys, rows and index entries fit together?"""
        fits = self._keys == sorted(self._rows)
        yield "rows", fits, f"{len(self._rows)} rows" if fits else "keys and rows differ", ERROR

    # --- what a commit does

    def _commit(self, tx: MemoryTransaction) -> None:
        """Commit. The write of the head is the commit point: nothing else done here counts before it."""
        if not tx.touched:
            return
        self._write_head(tx)
        self._open = None
        self.woken.update(tx.names)

    def _write_head(self, tx: MemoryTransaction) -> None:
        seq, link = self._head.seq, self._head.link
        for event in chained(seq, link, tx.number, tx.now, tx.wall, tx.bodies):
            seq, link = event.seq, event.link
            self._events.append(event)
        self._head = Head(tx.number, seq, link, tx.now)

    def _repair(self) -> None:
        """Roll back a transaction that did not commit. Safe to interrupt and repeat."""
        tx = self._open
        if tx is not None:
            if isinstance(tx, _Group) or tx.number > self._head.commit:
                tx.undo()
            self._open = None

    # --- rows, shared with the transaction

    def _set(self, key: str, row: tuple[bytes, str | None, str | None] | None) -> None:
        self._torn = True
        old = self._rows.pop(key, None)
        if old is not None:
            if row is None:
                del self._keys[bisect_left(self._keys, key)]
            for entries, entry in zip(self._entries, old[1:], strict=True):
                if entry is not None:
                    del entries[bisect_left(entries, (entry, key))]
        elif row is not None:
            insort(self._keys, key)
        if row is not None:
            self._rows[key] = row
            for entries, entry in zip(self._entries, row[1:], strict=True):
                if entry is not None:
                    insort(entries, (entry, key))
        self._torn = False

    def _index(self) -> None:
        """Rebuild keys and index entries from the rows."""
        self._keys = sorted(self._rows)
        found: tuple[list[tuple[str, str]], list[tuple[str, str]]] = ([], [])
        for key, row in self._rows.items():
            for entries, entry in zip(found, row[1:], strict=True):
                if entry is not None:
                    entries.append((entry, key))
        for entries in found:
            entries.sort()
        self._entries = found
        self._torn = False


class _Group:
    """Transactions that commit together, and where the log ended before them."""

    def __init__(self, store: MemoryStore) -> None:
        self._store, self._head = store, store._head
        self.members: list[MemoryTransaction] = []

    def undo(self) -> None:
        """Roll back all of them. Safe to interrupt and repeat."""
        self._store._head = self._head
        for tx in reversed(self.members):
            tx.undo()


class MemoryTransaction(BaseTransaction):
    """One run of one transaction: it writes in place and keeps an undo log."""

    def __init__(self, store: MemoryStore, now: int, wall: int, identifier: str, *, writes: bool) -> None:
        super().__init__(identifier, writes=writes)
        self._store = store
        self.now, self.wall = now, wall
        self.number = store._head.commit + 1
        self._undo: list[tuple[str, tuple[bytes, str | None, str | None] | None]] = []
        self._events, self._seals = store._events, store._seals

    def get(self, key: str) -> Json:
        row = self._store._rows.get(key)
        return None if row is None else _value(row)

    def get_many(self, keys: Sequence[str]) -> dict[str, Json]:
        return {key: self.get(key) for key in keys}

    def prefetch(self, keys: Sequence[str], ranges: Sequence[Range] = (), limit: int = FETCH_LIMIT) -> None:
        """Nothing to do: everything is in this process."""

    def fetch(self, ranges: Sequence[Range], limit: int = FETCH_LIMIT) -> Fetched:
        store, truncated = self._store, False
        rows: list[Row] = []
        for low, high in ranges:
            place = bisect_left(store._keys, low)
            while place < len(store._keys) and store._keys[place] < high:
                if len(rows) == limit:
                    truncated = True
                    break
                key = store._keys[place]
                rows.append((key, _value(store._rows[key])))
                place += 1
            if truncated:
                break
        return Fetched(rows, truncated)

    def scan(self, index: int, prefix: str, limit: int, after: str = "", before: str = "") -> Scanned:
        store = self._store
        rows: list[tuple[str, str, Any]] = []
        entries = store._entries[index - 1]
        place = bisect_left(entries, (max(prefix, after), ""))
        while place < len(entries):
            entry, key = entries[place]
            if not entry.startswith(prefix) or (before and entry >= before):
                break
            if entry > after:
                if len(rows) == limit:
                    return Scanned(rows, True)
                rows.append((entry, key, _value(store._rows[key])))
            place += 1
        return Scanned(rows, False)

    def put(self, key: str, value: Json, i1: str | None = None, i2: str | None = None) -> None:
        text = jsontext.encode(value).replace(COMMIT_TEXT, str(self.number))
        entries = filled_entry(i1, self.number), filled_entry(i2, self.number)
        self._change(key, (dumps(jsontext.decode(text), MARSHAL_VERSION), *entries))

    def delete(self, key: str) -> None:
        self._may_write()
        if key in self._store._rows:
            self._change(key, None)

    def tail(self) -> Head:
        return self._store._head

    def seal(self, body: str) -> None:
        self._may_write()
        head = self._store._head
        self._store._seals = [*self._store._seals, Seal(head.seq, head.link, body)]

    def prune(self, seal: int, through: int) -> None:
        self._may_write()
        store = self._store
        if through > seal or all(one.seq != seal for one in store._seals):
            message = f"no seal stands at event {seal}, or it is before event {through}"
            raise ValueError(message)
        store._events = [event for event in store._events if event.seq > through]
        store._seals = [one for one in store._seals if one.seq >= seal]

    def undo(self) -> None:
        """Roll back everything this run wrote, wherever it stopped, by restoring the first values."""
        store = self._store
        if store._torn:
            for key, row in reversed(self._undo):
                if row is None:
                    store._rows.pop(key, None)
                else:
                    store._rows[key] = row
            store._index()
        for key, row in reversed(self._undo):
            store._set(key, row)
        store._events, store._seals = self._events, self._seals
        while store._events and store._events[-1].seq > store._head.seq:
            store._events.pop()

    def _change(self, key: str, row: tuple[bytes, str | None, str | None] | None) -> None:
        self._may_write()
        self._undo.append((key, self._store._rows.get(key)))
        self._store._set(key, row)
