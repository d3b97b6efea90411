"""The Redis engine: the same seam on a server that several machines share.

Optimistic: reads are buffered with a signature of what they saw; one script checks that every read still holds and then
applies all writes and events at once, or applies nothing and gives the reads anew (redis_scripts.py). `now` is the
server's clock. A connection that breaks is opened again and the same question asked again, for as long as the timeout
allows; a transaction that was sent has an id, so sending it twice does it once. What happens when the server itself
lost something is in redis_epoch.py.

What is not here: any word of what dibs is for.
"""

from __future__ import annotations

import _thread

from dibs import jsontext
from dibs.errors import Busy, Unavailable
from dibs.facts import clock
from dibs.stores import redis_epoch, redis_scripts
from dibs.stores.redis_wire import Lost, Said, hidden, plain
from dibs.stores.seam import (
    FETCH_LIMIT,
    MAX_RUNS,
    STALE_NOW,
    Event,
    Fetched,
    Head,
    Scanned,
    Seal,
    Unsettled,
    body_of,
    digest_of,
    fill,
    prefix_range,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from dibs.stores.redis_wire import Wire
    from dibs.stores.seam import Json, Range, Row, T, Transaction

PAUSE = 0.001  # seconds before a transaction that lost a race is run again, grown with each loss
BREATH = 0.02  # seconds before a broken connection is opened again, doubled each time
PARTS = 4  # of a stored value: number, two entries, text
ENTRIES = 3  # words of one row of a scan
SOON = ("LOADING", "BUSY", "TRYAGAIN", "MASTERDOWN")  # errors that pass by themselves


class RedisStore:
    """One workspace on a server, opened. Threads may share it; they take turns."""

    follow = 5.0  # seconds that one who follows the log waits for the next event; it is woken by it

    def __init__(self, wire: Wire, workspace: str, *, timeout: float = 5.0, memory: str = "") -> None:
        self.wire = wire
        self.timeout = timeout
        self.tag = f"{{dibs:{workspace}}}:"
        self.keys = [self.tag + name for name in ("v", "k", "i1", "i2", "head", "log")]
        self.remembered = redis_epoch.Remembered(memory)
        self._mutex = _thread.RLock()
        self._digests: dict[str, str] = {}
        self._settling = False
        self._followed = "$"  # the log's last entry that was seen by one who follows it

    # --- the verbs of the store

    def run(self, fn: Callable[[Transaction], T]) -> T:
        """Run `fn` in one serialisable transaction; durable as far as the server's settings say."""
        with self._mutex:
            return self._run(fn)

    def _run(self, fn: Callable[[Transaction], T]) -> T:
        identifier = clock.random_id()
        known: _Known | None = None
        lost = 0
        end = clock.since_boot() + int(self.timeout * 1000)
        for attempt in range(MAX_RUNS * 8):
            tx = _Transaction(self, identifier, known, writes=True)
            started = clock.since_boot()
            try:
                result = fn(tx)
            except _MovedError as moved:
                known = moved.known
                continue
            if not tx.touched:
                return result
            if clock.since_boot() - started > STALE_NOW:
                known = None
                continue
            answer = self._apply(tx, f"{identifier}{attempt}", lost)
            if answer is None:
                known = None
                continue
            if answer[0] == b"done":
                number = int(answer[1])
                self.remembered.rise(number)
                filled: T = fill(result, number)
                return filled
            if clock.since_boot() > end and lost >= MAX_RUNS:
                break
            if answer[0] == b"gated":
                clock.sleep(max(PAUSE, min(int(answer[1]), 50) / 1000))
                known = None
                continue
            lost += 1
            known = _Known(answer, tx.reads)
            clock.sleep(PAUSE * min(lost, 8) * (1 + int(clock.random_id()[:2], 16) / 256))
        raise Busy(tried=lost)

    def look(self, fn: Callable[[Transaction], T]) -> T:
        """Run `fn` on one consistent snapshot."""
        with self._mutex:
            known: _Known | None = None
            for _ in range(MAX_RUNS):
                tx = _Transaction(self, "", known, writes=False)
                try:
                    return fn(tx)
                except _MovedError as moved:
                    known = moved.known
            raise Busy(tried=MAX_RUNS)

    def watch(self, name: str) -> None:
        """Nothing to prepare: a wake is kept for a minute until somebody takes it."""

    def unwatch(self, name: str) -> None:
        """Drop a wake that nobody will wait for."""
        self.ask("DEL", f"{self.tag}w:{name}")

    def wait(self, name: str, timeout: float) -> bool:
        """Wait until `name` is woken, at most `timeout` seconds. The name `log` stands for the next event."""
        try:
            if name != "log":
                return self.wire.wait(f"{self.tag}w:{name}", timeout)
            return self._wait_for_event(timeout)
        except (Lost, Said):
            clock.sleep(min(timeout, 0.2))
            return False

    def _wait_for_event(self, timeout: float) -> bool:
        found = self.wire.block("XREAD", timeout, "STREAMS", self.keys[5], self._followed)
        if not found:
            return False
        entries = found[0][1] if isinstance(found, list) else next(iter(found.values()))[0]
        self._followed = entries[-1][0]
        return True

    def head(self) -> Head:
        """Where the log ends."""
        return self.look(lambda tx: tx.tail())

    def events(self, after: int = 0, limit: int = 1000) -> list[Event]:
        """Events with a number above `after`, in order."""
        self.look(lambda tx: tx.tail())  # refuses what is not to be gone on with
        found = self.ask("XRANGE", self.keys[5], f"{after + 1}-1", "+", "COUNT", limit)
        events = []
        for entry, fields in found:
            said = dict(zip(fields[::2], fields[1::2], strict=True))
            now, seq = int(said[b"n"]), int(entry.partition(b"-")[0])
            events.append(Event(seq, int(said[b"c"]), now, now, said[b"b"].decode(), said[b"l"].decode()))
        return events

    def seals(self) -> list[Seal]:
        """The seals, in order."""
        flat = self.ask("HGETALL", f"{self.tag}seals")
        pairs = list(flat.items()) if isinstance(flat, dict) else list(zip(flat[::2], flat[1::2], strict=True))
        found = []
        for seq, text in pairs:
            link, _, body = text.decode().partition("\n")
            found.append(Seal(int(seq), link, body))
        return sorted(found, key=lambda seal: seal.seq)

    def close(self) -> None:
        """Close the connections."""
        self.wire.close()

    # --- after a loss

    def settle(self, fn: Callable[[], bool]) -> None:
        """Let `fn` give up what rests on lost commits: it runs transactions, and says whether there is more to do."""
        since = self.ask("HGET", self.keys[4], "since")
        self._settling = True
        try:
            while fn():
                pass
        finally:
            self._settling = False
        self.script(redis_scripts.SETTLED, [self.keys[4]], lambda: [since])

    # --- asking the server

    def ask(self, *words: Any) -> Any:
        """One command, asked again when the connection broke; only for those that may be asked twice."""
        return self._patiently(lambda: self.wire.call(*words))

    def script(self, text: str, keys: Sequence[str], words: Callable[[], list[Any]]) -> Any:
        """Run a script, named by its digest once it was sent. `words` are asked for after the connection stands."""

        def once() -> Any:
            if not self.wire.run_id:
                self.wire.call("PING")  # connects
            digest = self._digests.get(text)
            if digest is None:
                loaded = self.wire.call("SCRIPT", "LOAD", text)
                digest = self._digests[text] = loaded.decode() if isinstance(loaded, bytes) else str(loaded)
            try:
                return self.wire.call("EVALSHA", digest, len(keys), *keys, *words())
            except Said as error:
                if not str(error).startswith("NOSCRIPT"):
                    raise
                del self._digests[text]
                return self.wire.call("EVAL", text, len(keys), *keys, *words())

        return self._patiently(once)

    def _patiently(self, once: Callable[[], Any]) -> Any:
        """Again after a broken connection, with growing pauses, for as long as the timeout allows."""
        end = clock.since_boot() + int(self.timeout * 1000)
        breath = BREATH
        while True:
            try:
                return once()
            except Said as error:
                if not str(error).startswith(SOON) or clock.since_boot() >= end:
                    raise plain(error, self.wire.url) from None
            except Lost as error:
                self._digests.clear()  # another server may stand there by now
                if clock.since_boot() >= end:
                    raise plain(error, self.wire.url) from None
            clock.sleep(breath * (1 + int(clock.random_id()[:2], 16) / 256))
            breath = min(breath * 2, 0.5)

    def read(self, reads: list[_Read]) -> _Known:
        """All these reads at one moment."""

        def words() -> list[Any]:
            found: list[Any] = [self.wire.run_id, int(self._settling), len(reads)]
            for read in reads:
                found += read.words
            return found

        for _ in range(MAX_RUNS):
            answer = self.script(redis_scripts.READ, self.keys, words)
            if self._accepted(answer):
                known = _Known(answer, reads)
                if known.commit >= self.remembered.number:
                    return known
                redis_epoch.fell(self, known.commit)  # an older state was put in its place
        raise Busy(tried=MAX_RUNS)

    def _apply(self, tx: _Transaction, identifier: str, lost: int) -> Any:
        """Check and apply; None where that has to be done on another footing, from the start."""
        rest = self._writes_of(tx)
        reads: list[Any] = []
        for read in tx.reads:
            reads += read.words
        reads += [tx.known.signature(read) for read in tx.reads]

        def words() -> list[Any]:
            found: list[Any] = [
                self.wire.run_id, int(self._settling), identifier, str(tx.known.commit), str(tx.now), lost,
                len(tx.reads), 0,
            ]  # fmt: skip
            found[-1] = len(found) + len(reads) + 1
            return found + reads + rest

        answer = self.script(redis_scripts.APPLY, self.keys, words)
        return answer if answer[0] in {b"done", b"again", b"gated"} or self._accepted(answer) else None

    def _writes_of(self, tx: _Transaction) -> list[Any]:
        words: list[Any] = [len(tx.written)]
        for key, (text, one, two) in tx.written.items():
            words += (_bytes(key), text or "", _bytes(one or ""), _bytes(two or ""))
        words.append(len(tx.bodies))
        for body in tx.bodies:
            words += (body, digest_of(body))
        words += (len(tx.sealed), *tx.sealed, "" if tx.pruned is None else str(tx.pruned), len(tx.names), *tx.names)
        return words

    def _accepted(self, answer: Any) -> bool:
        """May this answer be gone on with? What can be put right is, and then it is to be asked again."""
        status, where = answer[0], hidden(self.wire.url)
        if status == b"void":
            raise Unsettled
        if status == b"run":
            redis_epoch.another_server(self, answer[1].decode(), int(answer[2]))
            return False
        if status == b"empty":
            redis_epoch.empty(self, leftovers=answer[1] != b"0")
            return False
        if status == b"schema":
            message = f"the workspace on {where} was written by another version of dibs. Nothing was changed."
            raise Unavailable(message, store=where, schema=answer[1].decode())
        return True


class _MovedError(Exception):
    """Something was committed between two reads of one transaction: all of them were read anew, at one moment."""

    def __init__(self, known: _Known) -> None:
        super().__init__("read anew")
        self.known = known


class _Read:
    """One read as the scripts take it; two with the same words are the same."""

    __slots__ = ("key", "words")

    def __init__(self, words: list[Any]) -> None:
        self.words = words
        self.key = tuple(words)


class _Known:
    """What reads found at one moment, by their words."""

    def __init__(self, answer: Any, reads: Sequence[_Read]) -> None:
        _, commit, seq, link, last, now, _, since, found = answer
        self.commit, self.seq, self.link, self.last = int(commit), int(seq), link.decode(), int(last)
        self.now, self.since = max(int(now), self.last), int(since)
        self.found = {read.key: one for read, one in zip(reads, found, strict=True)}

    def signature(self, read: _Read) -> Any:
        """What the server makes of all that a read saw."""
        return self.found[read.key][-1]


class _Transaction:
    """One run of one transaction: reads through `known`, writes kept until the end."""

    def __init__(self, store: RedisStore, identifier: str, known: _Known | None, *, writes: bool) -> None:
        self._store, self._identifier, self._writes = store, identifier, writes
        self._known = known
        self.reads: list[_Read] = []
        self._asked: set[Any] = set()
        self._texts: dict[str, str | None] = {}  # what single keys and whole ranges held when they were first read
        self._rows: dict[Range, list[tuple[str, str]]] = {}
        self.written: dict[str, tuple[str | None, str | None, str | None]] = {}
        self.bodies: list[str] = []
        self.names: list[str] = []
        self.sealed: list[str] = []
        self.pruned: int | None = None
        self.touched = False
        self._ids = 0

    @property
    def known(self) -> _Known:
        """Where the store stood at the first read."""
        if self._known is None:
            self._known = self._store.read([])
        return self._known

    @property
    def now(self) -> int:
        return self.known.now

    @property
    def wall(self) -> int:
        return self.known.now

    @property
    def since(self) -> int:
        return self.known.since

    def id(self) -> str:
        self._ids += 1
        return self._identifier if self._ids == 1 else f"{self._identifier}{self._ids}"

    def _get(self, read: _Read) -> Any:
        """What a read finds: from what is known, or in a trip. Another commit in between means reading all anew."""
        if read.key not in self._asked:
            self._asked.add(read.key)
            self.reads.append(read)
        if self._known is not None:
            found = self._known.found.get(read.key)
            if found is not None:
                return found
        fresh = self._store.read([read])
        if self._known is None:
            self._known = fresh
        elif fresh.commit != self._known.commit:
            raise _MovedError(self._store.read(self.reads))
        else:
            self._known.found.update(fresh.found)
        return fresh.found[read.key]

    def fetch(self, keys: Sequence[str], ranges: Sequence[Range] = (), limit: int = FETCH_LIMIT) -> Fetched:
        if not keys and not ranges:
            return Fetched({}, [], False)
        known = self._of_known(keys, ranges)
        if known is None:
            spare = len(self.written) if ranges else 0  # rows that this transaction's own writes may take away
            words: list[Any] = ["f", limit + spare, len(keys), *map(_bytes, keys), len(ranges)]
            for low, high in ranges:
                words += (b"[" + _bytes(low), b"(" + _bytes(high))
            values, flat, cut, _ = self._get(_Read(words))
            rows = [(_name(key), _text(value)) for key, value in zip(flat[::2], flat[1::2], strict=True)]
            texts = {key: _text(value) if value else None for key, value in zip(keys, values, strict=True)}
            self._keep(texts, rows, ranges, cut=bool(cut))
        else:
            texts, rows, cut = known[0], known[1], False
        found: dict[str, Any] = {}
        for key, text in texts.items():
            mine = self.written.get(key)
            there = mine[0] if mine is not None else text
            found[key] = None if there is None else jsontext.decode(there)
        if not self.written or not ranges:
            decoded = jsontext.decode_all([text for _, text in rows[:limit]])
            names = [key for key, _ in rows[:limit]]
            return Fetched(found, list(zip(names, decoded, strict=True)), bool(cut) or len(rows) > limit)
        return self._merged(found, rows, ranges, limit, cut=bool(cut))

    def _of_known(
        self, keys: Sequence[str], ranges: Sequence[Range]
    ) -> tuple[dict[str, str | None], list[tuple[str, str]]] | None:
        """What an earlier read of this transaction saw already, which is checked with that one."""
        if not all(key in self._texts for key in keys) or not all(one in self._rows for one in ranges):
            return None
        return {key: self._texts[key] for key in keys}, [row for one in ranges for row in self._rows[one]]

    def _keep(
        self, texts: dict[str, str | None], rows: list[tuple[str, str]], ranges: Sequence[Range], *, cut: bool
    ) -> None:
        self._texts.update(texts)
        if not cut:
            for low, high in ranges:
                self._rows[low, high] = [row for row in rows if low <= row[0] < high]

    def _merged(
        self, found: dict[str, Any], read: list[tuple[str, str]], ranges: Sequence[Range], limit: int, *, cut: bool
    ) -> Fetched:
        """Rows of the store with this transaction's own writes among them."""
        texts = {key: text for key, text in read if key not in self.written}
        last = read[-1][0] if cut and read else None
        for key, (text, _, _) in self.written.items():
            if text is not None and any(low <= key < high for low, high in ranges) and (last is None or key <= last):
                texts[key] = text
        order = sorted(texts)  # the ranges are disjoint and sorted, so this is their order too
        rows: list[Row] = [(key, jsontext.decode(texts[key])) for key in order[:limit]]
        return Fetched(found, rows, cut or len(order) > limit)

    def scan(self, index: int, prefix: str, limit: int, after: str = "", before: str = "") -> Scanned:
        low = b"[" + _bytes(after) + b"\x01" if after >= prefix and after else b"[" + _bytes(prefix)
        high = _bytes(prefix_range(prefix)[1])
        high = b"(" + (min(high, _bytes(before)) if before else high)
        hidden_rows = len(self.written)
        flat, cut, _ = self._get(_Read(["s", index, limit + hidden_rows, low, high]))
        rows = [
            (_name(entry), _name(key), _text(value))
            for entry, key, value in zip(flat[::ENTRIES], flat[1::ENTRIES], flat[2::ENTRIES], strict=True)
        ]
        if hidden_rows:
            rows = self._with_mine(rows, index, prefix, after, before, cut=bool(cut))
        shown = [(entry, key, jsontext.decode(text)) for entry, key, text in rows[:limit]]
        return Scanned(shown, bool(cut) or len(rows) > limit)

    def _with_mine(
        self, rows: list[tuple[str, str, str]], index: int, prefix: str, after: str, before: str, *, cut: bool
    ) -> list[tuple[str, str, str]]:
        """Rows of an index with this transaction's own writes among them."""
        last = rows[-1][:2] if cut and rows else None
        found = [row for row in rows if row[1] not in self.written]
        for key, written in self.written.items():
            text, entry = written[0], written[index]
            if entry is None or text is None or not entry.startswith(prefix) or entry <= after:
                continue
            if (not before or entry < before) and (last is None or (entry, key) <= last):
                found.append((entry, key, text))
        return sorted(found, key=lambda row: row[:2])

    def put(self, key: str, value: Json, i1: str | None = None, i2: str | None = None) -> None:
        self._may_write()
        self.written[key] = (jsontext.encode(value), i1, i2)

    def delete(self, key: str) -> None:
        self._may_write()
        self.written[key] = (None, None, None)

    def append(self, kind: str, agent: str, subject: str, data: Json) -> None:
        self._may_write()
        self.bodies.append(body_of(kind, agent, subject, data))

    def tail(self) -> Head:
        known = self.known
        return Head(known.commit, known.seq, known.link, known.last)

    def seal(self, body: str) -> None:
        self._may_write()
        self.sealed.append(body)

    def prune(self, through: int) -> None:
        self._may_write()
        if all(seal.seq != through for seal in self._store.seals()):
            message = f"no seal stands at event {through}"
            raise ValueError(message)
        self.pruned = through

    def wake(self, name: str) -> None:
        self.names.append(name)

    def _may_write(self) -> None:
        if not self._writes:
            message = "a look may not write"
            raise TypeError(message)
        self.touched = True


def _text(value: bytes) -> str:
    """The JSON text of a stored value."""
    return value.split(b"\n", PARTS - 1)[PARTS - 1].decode()


def _bytes(text: str) -> bytes:
    """Keys are compared by their bytes; names of files may hold bytes that are no text."""
    return text.encode(errors="surrogatepass")


def _name(key: bytes) -> str:
    return key.decode(errors="surrogatepass")
