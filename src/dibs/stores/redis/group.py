"""Several transactions, one script: `run_many` of the Redis engine.

All of them decide on one snapshot, in order: each sees the rows that those before it wrote, with the numbers that their
commits will have. The script applies all of them if no commit came since the snapshot (then the numbers are right), or
none.

Reads are gathered: a function that lacks a read stops there, the others run on and stop at theirs, and one trip brings
all these reads. So a group takes as many trips as its functions read one after the other (two or three), not as many as
it has functions. One that has to know the end of the log, or reads page after page, runs alone, in its place.

What is not here: who gathers a group, and who waits for it.
"""

from __future__ import annotations

from dibs.errors import Busy
from dibs.machine import clock
from dibs.stores.redis.store import MAX_RUNS_AND_WAITS, TURN_TIMEOUT_S, WORDS_BEFORE_LINK, _CommitAttempt
from dibs.stores.redis.transaction import RedisTransaction, bytes_of, event_words, row_words
from dibs.stores.seam import COMMIT_TEXT, MAX_CLOCK_AGE_MS, MAX_GROUP_MS, MAX_STALE_RUNS, fill, filled_entry, too_slow

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from dibs.stores.redis.store import RedisStore
    from dibs.stores.redis.transaction import Read, Snapshot
    from dibs.stores.seam import Head, Json, Outcome, Transaction

    Function = Callable[[Transaction], Any]
    Rows = dict[str, tuple[str | None, str | None, str | None]]

MAX_TRIPS = 8  # to read for one group; a function that needs more runs alone
SPARE_ROWS = 256  # the limits of reads grow in such steps, so that a read stays the same when more rows were written


def run(store: RedisStore, fns: Sequence[Function]) -> list[Outcome]:
    """Run all of them; see the seam."""
    outcomes: list[Outcome] = []
    while len(outcomes) < len(fns):
        left = fns[len(outcomes) :]
        try:
            outcomes += store._turns.call(lambda fns: _committed(store, fns), left, TURN_TIMEOUT_S)
        except Exception as error:  # noqa: BLE001 - it is the outcome of all that are left
            outcomes += [(None, error)] * len(left)
    return outcomes


def _alone(store: RedisStore, fn: Function) -> list[Outcome]:
    try:
        return [(store._run(fn), None)]
    except Exception as error:  # noqa: BLE001 - it is its outcome
        return [(None, error)]


def _committed(store: RedisStore, fns: Sequence[Function]) -> list[Outcome]:
    """The outcomes of as many of them as one commit takes, at least one.

    Any run that was sent may be the committed one: its answer may have been lost.
    """
    if len(fns) == 1:
        return _alone(store, fns[0])
    attempt = _CommitAttempt(store.timeout)
    group = Group(store, fns)
    sent: list[list[_Member]] = []
    stale = 0
    try:
        for _ in range(MAX_RUNS_AND_WAITS):
            started = clock.since_boot()
            group.decide()
            if not group.members:
                return _alone(store, fns[0])
            if not group.commits:
                store.read([])  # checks for missing parts of the workspace, as APPLY would
                return [member.outcome() for member in group.members]
            if clock.since_boot() - started > MAX_CLOCK_AGE_MS:
                group.given, stale = None, stale + 1
                if stale == MAX_STALE_RUNS and not sent:
                    raise too_slow()
                continue
            sent.append(group.members)
            answer = store._apply(group, attempt, len(sent) - 1)
            if answer is not None and answer[0] == b"done":
                attempt.alone = False
                members = sent[int(answer[2])]
                _learn(store, members, answer)
                return [member.outcome() for member in members]
            group.given = None if answer is None else store._next_try(group, attempt, answer)
    finally:
        if attempt.alone:
            store._open_gate(attempt.id)
    raise Busy(tried=attempt.lost)


def _learn(store: RedisStore, members: list[_Member], answer: Any) -> None:
    """Cache what was written, and remember the last commit."""
    number = int(answer[1])
    store.remembered.rise(number)
    if len(answer) <= WORDS_BEFORE_LINK:  # its first answer was lost: what came since is not known
        store._cache.clear()
        return
    store.remembered.saw(number, int(answer[4]), answer[5])
    for member in members:
        if member.wrote:
            rows = [(bytes_of(key), texts) for key, texts in member.mine.items()]
            store._cache.wrote(member.number, member.now, int(answer[3]), rows)


class _MissingError(Exception):
    """A function lacks a read; None: it lacks the clock alone."""

    def __init__(self, read: Read | None) -> None:
        super().__init__("to be read")
        self.read = read


class _AloneError(Exception):
    """A function cannot run in a group."""


class Group:
    """The functions, the reads that they need, and their last run. The store applies it like one transaction."""

    is_guess = False
    is_exact = True  # the numbers that the functions saw are right only if no commit came between

    def __init__(self, store: RedisStore, fns: Sequence[Function]) -> None:
        self._store, self._fns = store, fns
        self._identifiers = [clock.random_id() for _ in fns]
        self.reads: list[Read] = []
        self.given: Snapshot | None = None  # a snapshot with all these reads, to begin with
        self.members: list[_Member] = []

    @property
    def snapshot(self) -> Snapshot:
        """Where the store stood when they decided."""
        assert self.given is not None
        return self.given

    @property
    def now(self) -> int:
        """The clock by which they decided."""
        return self.snapshot.now

    @property
    def commits(self) -> int:
        """How many of them wrote."""
        return sum(member.wrote for member in self.members)

    def decide(self) -> None:
        """Run the functions on one snapshot, as many from the first on as can run together."""
        if self.given is None and self.reads:
            self.given = self._store.read(self.reads, looks=False)
        began = clock.since_boot()
        rows: Rows = {}
        self.members, end = [], len(self._fns)
        for _ in range(MAX_TRIPS):
            wanted, end = self._pass(rows, end, began)
            if not wanted:
                return
            before = self.given
            self.reads += [read for read in wanted.values() if read is not None]
            fresh = self._store.read(self.reads, looks=False)
            if before is not None and (fresh.commit, fresh.since) == (before.commit, before.since):
                fresh.now, fresh.wall = before.now, before.wall  # what has been decided stays so
            else:
                self.members, rows = [], {}
            self.given = fresh

    def _pass(self, rows: Rows, end: int, began: int) -> tuple[dict[Any, Read | None], int]:
        """Continue after those that are through. Returns the reads that others lack, and where the group ends.

        After the first that lacks one, the others run only to learn what they will read.
        """
        wanted: dict[Any, Read | None] = {} if self.given is not None else {None: None}  # their numbers, at least
        for place in range(len(self.members), end):
            if self.members and clock.since_boot() - began > MAX_GROUP_MS:
                return wanted, place
            number = self.given.commit + self.commits + 1 if self.given is not None else 0
            member = _Member(self._store, self._identifiers[place], self.given, rows, number)
            try:
                member.result = self._fns[place](member)
            except _MissingError as missing:
                wanted[missing.read and missing.read.key] = missing.read
                continue
            except _AloneError:
                return wanted, place
            except Exception as error:  # noqa: BLE001 - it is the outcome of this one
                member.error = error
            if not wanted:
                self.members.append(member)
                if member.wrote:
                    rows.update(member.filled())
        return wanted, end

    def writes(self) -> list[Any]:
        """All writes, in the form that the script takes."""
        writers = [member for member in self.members if member.wrote]
        words = [word for member in writers for word in event_words(member.bodies)]
        words += [word for member in writers for word in row_words(member.mine)]
        names = [name for member in writers for name in member.names]
        return [*words, 0, "", "", len(names), *names]


class _Member(RedisTransaction):
    """One run of one transaction of a group. `written` holds the rows of those before it, too; `mine` its own."""

    def __init__(self, store: RedisStore, identifier: str, snapshot: Snapshot | None, rows: Rows, number: int) -> None:
        super().__init__(store, identifier, snapshot, writes=True)
        self.written = dict(rows)
        self.mine: Rows = {}
        self.number = number
        self.result: Any = None
        self.error: Exception | None = None

    @property
    def wrote(self) -> bool:
        """Does it get a commit of its own?"""
        return self.touched and self.error is None

    def outcome(self) -> Outcome:
        """What it returned, filled with its number, or what it raised."""
        return (fill(self.result, self.number), None) if self.error is None else (None, self.error)

    def filled(self) -> Rows:
        """Its rows as those after it will find them."""
        number = self.number
        return {
            key: (text and text.replace(COMMIT_TEXT, str(number)), filled_entry(one, number), filled_entry(two, number))
            for key, (text, one, two) in self.mine.items()
        }

    @property
    def snapshot(self) -> Snapshot:
        """Where the store stood."""
        if self._snapshot is None:
            raise _MissingError(None)
        return self._snapshot

    def _lookup(self, read: Read) -> Any:
        found = None if self._snapshot is None else self._snapshot.found.get(read.key)
        if found is None:
            raise _MissingError(read)
        return found

    def _spare(self) -> int:
        return (len(self.written) // SPARE_ROWS + 1) * SPARE_ROWS

    def put(self, key: str, value: Json, i1: str | None = None, i2: str | None = None) -> None:
        super().put(key, value, i1, i2)
        self.mine[key] = self.written[key]

    def delete(self, key: str) -> None:
        super().delete(key)
        self.mine[key] = self.written[key]

    def tail(self) -> Head:
        raise _AloneError

    def certify(self) -> None:
        raise _AloneError

    def seal(self, body: str) -> None:  # noqa: ARG002 - the seam's verb
        raise _AloneError

    def prune(self, seal: int, through: int) -> None:  # noqa: ARG002 - the seam's verb
        raise _AloneError
