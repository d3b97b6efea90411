"""The seam between deciding and remembering: what every engine offers, without any domain word.

The story. An operation is a plain function ``fn(tx)``. ``store.run(fn)`` calls it inside one serialisable
transaction and keeps everything it put, deleted and appended, or nothing. An engine may call ``fn`` again (a
conflict, an aborted commit, a clock that went stale while the process was paused), so ``fn`` has no side effect
but through ``tx``, and time, ids and the number of the commit come from ``tx`` alone.

Keys are text without control characters other than TAB and sort by code point. Values are plain JSON values; the
engine encodes them, so what is read never shares memory with what was put. The log is append-only and chained: the
engine numbers an event and links it to its predecessor, the operation only says what happened.

Reads. A transaction reads one state of the store, with its own writes on top: after a ``put`` or a ``delete``, every
read sees that write, whatever was read before. ``tx.prefetch`` reads keys and ranges in one round trip; ``tx.get``,
``tx.get_many`` and ``tx.fetch`` of what it covered cost no further trip. A prefetch changes what a read costs, never
what it answers; an optimistic engine checks it at the commit like every other read. Each read returns a new value. The
caller may change it: the change counts when it is put, and no other read sees it before.

An answered commit is kept, unless the engine uses a server that may lose it. Such an engine notices the loss at its
next command and raises ``Unsettled`` from ``run`` and ``look`` until a caller has given up, by ``store.settle(fn)``,
what rests on the lost commits.

The commit's number is unknown until the commit (an optimistic engine learns it last), so operations write the
placeholder ``COMMIT`` where it belongs and the engine fills it in: in values that are put, in index entries (there with
leading zeros, so that entries sort by it) and in the result of ``run``. The body of an event keeps the placeholder as
it is, because its digest is taken before the number is known; a reader of the log fills it in from the event's own
commit column.

This file holds what all engines share. What differs is in the engine's own files and nowhere else: nothing above asks
which engine it talks to. The only place above that names one is the one that opens a store by its URL.
"""

from __future__ import annotations

from dibs import jsontext

try:  # the C modules directly: hashlib costs 3 ms to import, and this file is on the hook path
    from _sha1 import sha1
except ImportError:  # pragma: no cover - an interpreter built without it
    from hashlib import sha1
try:
    from _sha256 import sha256  # Python 3.11
except ImportError:
    try:
        from _sha2 import sha256  # Python 3.12 and later
    except ImportError:  # pragma: no cover - an interpreter built without either
        from hashlib import sha256

COMMIT = "\x1a"  # U+001A SUBSTITUTE: refused in everything that people and agents may write (jsontext.clean)
COMMIT_TEXT = '"\\u001a"'  # how it stands in encoded text; no other string encodes to this

COMMIT_DIGITS = 16  # of the number in an index entry: a number has 53 bits

KEYS_PER_FETCH = 256  # keys in one round trip: a statement has room for some thousands of values
FETCH_LIMIT = 512  # rows of ranges in one round trip: more than a claim ever meets, small enough to hold in memory
MAX_CLOCK_AGE_MS = 2_000  # a commit decided by an older clock is run again: the process was paused inside it
MAX_GROUP_MS = 250  # a group that has run for this long is committed, the rest apart: other processes wait for it
MAX_RUNS = 32  # a transaction that could not commit in this many runs gives up as `busy`
MAX_STALE_RUNS = 3  # one whose clock was stale after each of these is too slow itself, and gives up, too
FOLLOW_POLL_S = 0.2  # between two looks at the end of the log; people do not read faster
GENESIS = "0" * 40  # the link before the first event

AFTER_KEY = "\x01"  # sorts below everything a key may contain, so [key, key + AFTER_KEY) holds that key alone

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any, Final, Literal, Protocol, TypedDict, TypeVar

    from dibs.errors import DibsError

    T = TypeVar("T")
    Json = Any
    Key = str
    Range = tuple[str, str]  # from the first, included, to the second, excluded
    Row = tuple[str, Any]  # key, value
    Page = tuple[Sequence[Range], list[tuple[str, str]], bool]  # ranges, keys with their JSON texts, are there more?
    Outcome = tuple[Any, "Exception | None"]  # what a function returned, and None; or None, and what it raised

    class LogEvent(TypedDict):
        """An event for people and programs: its body opened, with its place in the log."""

        kind: str
        agent: str
        subject: str
        data: Json  # the `events.py` of each room of operations/ has its type, by kind
        seq: int
        commit: int
        now: int  # ms, of the store's clock
        wall: int  # ms, of the wall clock
        link: str

    class Transaction(Protocol):
        """What an operation may do. All reads see the transaction's own writes."""

        @property
        def now(self) -> int:
            """The store's clock in milliseconds. It never runs backwards and ignores jumps of the wall clock."""

        @property
        def wall(self) -> int:
            """The wall clock in milliseconds since 1970 at `now`. For people to read; nothing is decided by it."""

        @property
        def since(self) -> int:
            """The first commit after which no answered commit can be missing; 0 where none ever can."""

        @property
        def touched(self) -> bool:
            """Has it written anything so far?"""

        def id(self) -> str:
            """A new identifier; the same one when this transaction is run again."""

        def get(self, key: Key) -> Json:
            """The value of a key; None if the key is absent."""

        def get_many(self, keys: Sequence[Key]) -> dict[Key, Json]:
            """The values of any number of keys, in their order; None for absent keys."""

        def fetch(self, ranges: Sequence[Range], limit: int = FETCH_LIMIT) -> Fetched:
            """The rows of many ranges in one round trip.

            Ranges are disjoint and sorted; `limit` bounds their rows.
            """

        def prefetch(self, keys: Sequence[Key], ranges: Sequence[Range] = (), limit: int = FETCH_LIMIT) -> None:
            """Read keys and ranges in one round trip, for the calls of `get`, `get_many` and `fetch` that follow."""

        def scan(self, index: int, prefix: str, limit: int, after: str = "", before: str = "") -> Scanned:
            """Rows by a declared index (1 or 2) whose entry starts with `prefix`, in the order of the entries.

            `after` starts after that entry, `before` ends before that one.
            """

        def put(self, key: Key, value: Json, i1: str | None = None, i2: str | None = None) -> None:
            """Set a key, with its entries in the two indexes."""

        def delete(self, key: Key) -> None:
            """Remove a key; removing an absent key does nothing."""

        def append(self, kind: str, agent: str, subject: str, data: Json) -> None:
            """Say what happened."""

        def tail(self) -> Head:
            """Where the log ended before this transaction."""

        def seal(self, body: str) -> None:
            """Leave a seal at the event before this transaction's own."""

        def prune(self, seal: int, through: int) -> None:
            """Drop the events up to and including `through`, and the seals before the one that is at event `seal`.

            `through` is at most `seal`: events between them stay for a later transaction.
            """

        def certify(self) -> None:
            """Raise Unavailable if another server may have taken over since this transaction's reads.

            For a look whose answer is a decision. What can be promised depends on the server's settings.
            """

        def wake(self, name: str) -> None:
            """After the commit, wake the waiters of `name`."""

    class Store(Protocol):
        """An engine, opened."""

        def run(self, fn: Callable[[Transaction], T]) -> T:
            """Run `fn` in one serialisable transaction; durable when this returns."""

        def run_many(self, fns: Sequence[Callable[[Transaction], Any]]) -> list[Outcome]:
            """Run several transactions that arrived together, with one durable commit for all; one outcome for each.

            It has the effect of `run` for one after the other, in this order, with nothing between them:

            - Each has its own commit number, events, ids and wakes, and its result is filled with its own number. It
              sees what those before it wrote. One that wrote nothing uses up no number.
            - What one raises is its outcome and undoes its own writes alone. `NeedsFacts` is no exception to that: the
              caller looks, and puts it into a later group.
            - Nobody is woken and nothing is returned before the commit is durable. If the commit fails, none of them is
              done, and the error is the outcome of each; with `unknown` in it, all of them may have been done. The
              same holds for what `run` would raise before it calls `fn` (`Busy`, `Unavailable` with `moved` or
              `replaced`, `Unsettled`): no error but an interrupt is raised. After an interrupt it is not known which
              were done, as with `run`.
            - Each may run again, also because of another one: a conflict or a stale clock concerns the whole group.
            - An engine may divide a group that takes long into several commits, in order. Then each outcome tells of
              its own commit.
            """

        def is_free(self) -> bool:
            """Could a transaction begin right now, without a wait for another process, another thread or a network?

            A guess, for a caller that must not stand still: the next moment may be different.
            """

        def look(self, fn: Callable[[Transaction], T]) -> T:
            """Run `fn` on one consistent snapshot; it may not write, and it never waits for a writer."""

        def settle(self, fn: Callable[[], bool]) -> None:
            """Answered commits were lost (`Unsettled`): call `fn` until it returns that nothing is left to give up.

            `fn` gives up, in its own transactions (`run`), what rests on commits before `tx.since`, and returns whether
            more is left. When this returns, `run` and `look` work again for all callers. If nothing was lost, or
            another caller has settled it already, nothing is changed.
            """

        def watch(self, name: str) -> None:
            """Start to listen for `name`: a wake from now on is kept until `wait`. One before may be missed."""

        def wait(self, name: str, timeout: float) -> bool:
            """Wait until `name` is woken, at most `timeout` seconds. After False the caller must look for itself."""

        def unwatch(self, name: str) -> None:
            """Stop listening for `name`."""

        def tidy(self) -> int:
            """Remove leftovers of processes of this machine that ended without `unwatch`; returns how many."""

        def spare(self) -> int:
            """Bytes that the store keeps for what was dropped, and that `compact` would give back."""

        def compact(self) -> int:
            """Give them back; returns how many bytes. Others wait meanwhile: a second for some hundred megabytes."""

        def head(self) -> Head:
            """Where the log ends. Works also while the store is unsettled: nothing is decided by it."""

        def events(self, after: int = 0, limit: int = 1000) -> list[Event]:
            """Events with a number above `after`, in order."""

        def follow(self, after: int, timeout: float) -> bool:
            """Wait until the log has an event with a number above `after`, at most `timeout` seconds."""

        def seals(self) -> list[Seal]:
            """The seals, in order."""

        @property
        def address(self) -> str:
            """The store's URL or path; two stores with one address are one. May hold a password: see `urls.hidden`."""

        def wall_ahead(self) -> int:
            """How far the store's time of day is ahead of this machine's clock since boot, in ms; never too little.

            A deadline of an answer, minus this, is a deadline on the caller's own monotonic clock.
            """

        def describe(self) -> Description:
            """What people should know about this store. Quick: `status` shows the warnings each time."""

        def check(self) -> Iterator[Check]:
            """Examine the store itself, one check after the other. May read all of it: for `dibs doctor`."""

        @property
        def queued(self) -> int:
            """How many transactions of this store had to wait for another process; 0 where nobody ever does."""

        def close(self) -> None:
            """Close files and connections."""

    class Description(TypedDict):
        """A store in plain values."""

        engine: str  # a word for people; nothing is decided by it
        address: str  # without a password
        persistence: str  # which answered commits a crash can lose, in one sentence
        warnings: list[str]  # what a person should change
        figures: dict[str, int]  # sizes and counts, as far as the engine has them

    Check = tuple[
        str, bool, str, Literal["error", "warning"]
    ]  # name, whether it passes, what it found, ERROR or WARNING if it does not pass


ERROR: Final = "error"  # of a check that fails: dibs cannot work
WARNING: Final = "warning"  # a person should change something


class Unsettled(Exception):
    """The engine lost answered commits. What rests on them has to be given up (`store.settle`) before anything else."""


class Event:
    """One line of the log as it is stored; ``body`` still holds the placeholder."""

    __slots__ = ("body", "commit", "link", "now", "seq", "wall")

    def __init__(self, seq: int, commit: int, now: int, wall: int, body: str, link: str) -> None:
        self.seq = seq
        self.commit = commit
        self.now = now
        self.wall = wall
        self.body = body
        self.link = link


class Head:
    """Where the log ends, kept apart from it so that a log cut short is noticed."""

    __slots__ = ("commit", "link", "now", "seq")

    def __init__(self, commit: int, seq: int, link: str, now: int) -> None:
        self.commit = commit
        self.seq = seq
        self.link = link
        self.now = now


class Seal:
    """What was true right after event ``seq``; it stands in for the events before when they are pruned."""

    __slots__ = ("body", "link", "seq")

    def __init__(self, seq: int, link: str, body: str) -> None:
        self.seq = seq
        self.link = link
        self.body = body


class Fetched:
    """What a fetch found; ``truncated`` says that the limit cut the ranges short."""

    __slots__ = ("rows", "truncated")

    def __init__(self, rows: list[Row], truncated: bool) -> None:
        self.rows = rows
        self.truncated = truncated


class Scanned:
    """What a scan found, as (index entry, key, value); ``truncated`` says that there is more."""

    __slots__ = ("rows", "truncated")

    def __init__(self, rows: list[tuple[str, str, Any]], truncated: bool) -> None:
        self.rows = rows
        self.truncated = truncated


class BaseStore:
    """Default implementations that engines share."""

    queued = 0  # nobody waits for another process

    if TYPE_CHECKING:

        def head(self) -> Head: ...

    def is_free(self) -> bool:
        """Unknown: a network may take its time."""
        return False

    def wall_ahead(self) -> int:
        """This machine's own time of day."""
        from dibs.machine import clock

        return clock.ahead()

    def settle(self, fn: Callable[[], bool]) -> None:
        """No answered commit is ever missing here: there is nothing to give up."""

    def tidy(self) -> int:
        """This engine leaves nothing behind."""
        return 0

    def spare(self) -> int:
        """This engine gives back by itself what it does not need."""
        return 0

    def compact(self) -> int:
        """The same."""
        return 0

    def follow(self, after: int, timeout: float) -> bool:
        """Poll until the log has an event after number `after`."""
        from dibs.machine import clock

        end = clock.since_boot() + int(timeout * 1000)
        while self.head().seq <= after:
            left = end - clock.since_boot()
            if left <= 0:
                return False
            clock.sleep(min(FOLLOW_POLL_S, left / 1000))
        return True


class BaseTransaction:
    """What the engines' transactions have in common: ids, known rows, events to be appended, names to be woken."""

    since = 0  # no answered commit is ever missing

    def __init__(self, identifier: str, *, writes: bool) -> None:
        self._identifier, self._writes = identifier, writes
        self._ids = 0
        self.bodies: list[str] = []
        self.names: list[str] = []
        self.touched = False  # it wrote something
        self._texts: dict[str, str | None] = {}  # the JSON texts of the keys read so far
        self._pages: list[Page] = []  # the ranges read so far

    if TYPE_CHECKING:

        def _read(self, keys: Sequence[Key], ranges: Sequence[Range], limit: int) -> Page:
            """Read in one round trip; the result is in `_texts` and `_pages` afterwards."""

    def get(self, key: Key) -> Json:
        try:
            text = self._text(key)
        except KeyError:
            self._read((key,), (), FETCH_LIMIT)
            text = self._text(key)
        return None if text is None else self._decode([text])[0]

    def get_many(self, keys: Sequence[Key]) -> dict[Key, Json]:
        for start in range(0, len(keys), KEYS_PER_FETCH):
            self.prefetch(keys[start : start + KEYS_PER_FETCH])
        values: dict[Key, Json] = dict.fromkeys(keys)
        texts = {key: text for key in values if (text := self._text(key)) is not None}
        values.update(zip(texts, self._decode(list(texts.values())), strict=True))
        return values

    def prefetch(self, keys: Sequence[Key], ranges: Sequence[Range] = (), limit: int = FETCH_LIMIT) -> None:
        if not self._knows(keys) or (ranges and self._page_of(ranges, limit) is None):
            self._read(keys, ranges, limit)

    def _knows(self, keys: Sequence[Key]) -> bool:
        """Are all these keys in `_texts`?"""
        return all(key in self._texts for key in keys)

    def _text(self, key: Key) -> str | None:
        """What a key holds, with this transaction's own writes; None if it is absent. KeyError: it was not read."""
        return self._texts[key]

    def _page_of(self, ranges: Sequence[Range], limit: int) -> Page | None:
        """The rows of these ranges, if an earlier read has them: all of them, or at least the first `limit`."""
        for known, rows, cut in self._pages:
            if known == ranges:
                inside = rows
            elif _covers(known, ranges):
                inside = [row for row in rows if any(low <= row[0] < high for low, high in ranges)]
            else:
                continue
            more = cut and ranges[-1][1] > rows[-1][0]  # what is before the last row was read completely
            if not more or len(inside) >= limit:
                return ranges, inside, more
        return None

    def _decode(self, texts: list[str]) -> list[Json]:
        return jsontext.decode_all(texts)

    def id(self) -> str:
        self._ids += 1
        return self._identifier if self._ids == 1 else f"{self._identifier}{self._ids}"

    def append(self, kind: str, agent: str, subject: str, data: Json) -> None:
        self._may_write()
        self.bodies.append(body_of(kind, agent, subject, data))

    def certify(self) -> None:
        """One machine, one file: nothing can take over."""

    def wake(self, name: str) -> None:
        self.names.append(name)

    def _may_write(self) -> None:
        if not self._writes:
            message = "a look may not write"
            raise TypeError(message)
        self.touched = True


def body_of(kind: str, agent: str, subject: str, data: Json) -> str:
    """The text of an event, the same on every engine."""
    return jsontext.encode({"kind": kind, "agent": agent, "subject": subject, "data": data})


def digest_of(text: str) -> str:
    """SHA-256 of a text. The caller takes it, because Redis has SHA-1 only."""
    digest: str = sha256(text.encode()).hexdigest()
    return digest


def sha1_of(data: bytes) -> str:
    """SHA-1, which Redis has too."""
    digest: str = sha1(data, usedforsecurity=False).hexdigest()
    return digest


def link_of(previous: str, seq: int, commit: int, now: int, wall: int, digest: str) -> str:
    """The chain: a digest over the predecessor's link and all that the engine adds to the body's digest."""
    text = f"{previous}|{seq}|{commit}|{now}|{wall}|{digest}"
    return sha1_of(text.encode())


def chained(seq: int, link: str, commit: int, now: int, wall: int, bodies: Sequence[str]) -> list[Event]:
    """The events of one commit, numbered and linked after the one with this number and link."""
    events = []
    for body in bodies:
        seq += 1
        link = link_of(link, seq, commit, now, wall, digest_of(body))
        events.append(Event(seq, commit, now, wall, body, link))
    return events


class Envelope:
    """The result of a transaction that is more than JSON: the engine fills in what it holds."""

    __slots__ = ("answer",)

    def __init__(self, answer: Json) -> None:
        self.answer = answer


def fill(result: Json, commit: int) -> Json:
    """Put the commit's number where a result still holds the placeholder. Changes dicts and lists in place."""
    if result == COMMIT:
        return commit
    if isinstance(result, dict):
        for key, value in result.items():
            if value == COMMIT:
                result[key] = commit
            elif isinstance(value, (dict, list)):
                fill(value, commit)
    elif isinstance(result, list):
        for place, value in enumerate(result):
            if value == COMMIT:
                result[place] = commit
            elif isinstance(value, (dict, list)):
                fill(value, commit)
    elif isinstance(result, Envelope):
        fill(result.answer, commit)
    return result


def unknown_outcome(error: DibsError) -> DibsError:
    """The error for a commit that failed on its way, after its last word: it may have been applied."""
    from dibs.errors import Unavailable, from_parts

    message = f"{error.message} Whether it was done is not known: ask again with the same request id, or look."
    text = message.replace(" Nothing was changed.", "")
    return from_parts([Unavailable.code, text, {**error.fields, "unknown": True}])


def too_slow() -> Exception:
    """The refusal of a transaction that is too slow to be decided by one clock: it would never be committed."""
    from dibs.errors import Busy

    took = f"over {MAX_CLOCK_AGE_MS // 1000} s in each of {MAX_STALE_RUNS} attempts"
    return Busy(f"this request took {took}, too long for the other agents. Nothing was changed.", tried=MAX_STALE_RUNS)


def filled_entry(entry: str | None, commit: int) -> str | None:
    """An index entry with the commit's number in place of the placeholder."""
    return entry.replace(COMMIT, f"{commit:0{COMMIT_DIGITS}d}") if entry is not None and COMMIT in entry else entry


def prefix_range(prefix: str) -> Range:
    """All keys that start with `prefix`."""
    return prefix, prefix[:-1] + chr(ord(prefix[-1]) + 1)


def _covers(known: Sequence[Range], ranges: Sequence[Range]) -> bool:
    """Is each of these ranges inside one of the known ones? Both are disjoint and sorted."""
    if len(ranges) == 1 and ranges[0] in known:  # the usual case, quickly
        return True
    place = 0
    for low, high in ranges:
        while place < len(known) and known[place][1] < high:
            place += 1
        if place == len(known) or low < known[place][0]:
            return False
    return True


def walk(tx: Transaction, prefix: str, page: int = FETCH_LIMIT) -> Iterator[Row]:
    """Every row whose key starts with `prefix`, in order, `page` rows in one round trip.

    Rows may be written on the way.
    """
    low, high = prefix_range(prefix)
    while True:
        fetched = tx.fetch([(low, high)], page)
        yield from fetched.rows
        if not fetched.truncated:
            return
        low = fetched.rows[-1][0] + AFTER_KEY


def read_event(event: Event) -> LogEvent:
    """An event for people and programs: the body opened and the placeholder filled in."""
    opened: LogEvent = jsontext.decode(event.body.replace(COMMIT_TEXT, str(event.commit)))
    opened.update({"seq": event.seq, "commit": event.commit, "now": event.now, "wall": event.wall, "link": event.link})
    return opened
