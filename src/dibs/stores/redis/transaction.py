"""One run of one transaction on Redis: what it reads, with what is known of it already, and what it will write.

A read is answered from what this transaction read before, from an earlier run of it, from a guess (cache.py), or
in a trip to the server; which of them makes no difference to what is right, because apply checks them all. What is
written is kept until the end, and read back by this transaction alone.
"""

from __future__ import annotations

from dibs import jsontext
from dibs.stores.seam import FETCH_LIMIT, Fetched, Head, Scanned, body_of, digest_of, prefix_range

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Sequence
    from typing import Any

    from dibs.stores.redis.cache import Memory
    from dibs.stores.redis.store import RedisStore
    from dibs.stores.seam import Json, Range, Row

PARTS = 4  # of a stored value: number, two entries, text
ENTRIES = 3  # words of one row of a scan
FOLLOWS = {"\t": "\n", "/": "0"}  # what most prefixes end in, and the letter behind it


class MovedError(Exception):
    """Something was committed between two reads of one transaction: all of them were read anew, at one moment."""

    def __init__(self, known: Known) -> None:
        super().__init__("read anew")
        self.known = known


class Read:
    """One read as the scripts take it; two with the same words are the same."""

    __slots__ = ("key", "words")

    def __init__(self, words: list[Any]) -> None:
        self.words = words
        self.key = tuple(words)


def words_of(reads: Sequence[Read]) -> list[Any]:
    """Reads one after the other."""
    return [word for read in reads for word in read.words]


class Known:
    """What reads found at one moment, by their words."""

    def __init__(self, answer: Any, reads: Sequence[Read], guess: Memory | None = None) -> None:
        self.guess = guess  # where it comes from, if it is only believed
        if guess is not None:
            self.commit, self.last, self.since = guess.commit, guess.last, guess.since
            self.now = guess.now()
            self.wall = self.now - guess.offset
            self.found, guess.recent = guess.recent, {}
            return
        _, commit, seq, link, last, now, offset, since, found = answer
        self.commit, self.seq, self.link, self.last = int(commit), int(seq), link.decode(), int(last)
        self.now, self.since = max(int(now), self.last), int(since)
        self.wall = self.now - int(offset)
        self.found = {read.key: one for read, one in zip(reads, found, strict=True)}

    def signature(self, read: Read) -> Any:
        """What the server makes of all that a read saw."""
        return self.found[read.key][-1]


class RedisTransaction:
    """One run of one transaction: reads through `known`, writes kept until the end."""

    def __init__(self, store: RedisStore, identifier: str, known: Known | None, *, writes: bool) -> None:
        self._store, self._identifier, self._writes = store, identifier, writes
        self._known = known
        self.reads: list[Read] = []
        self._asked: set[Any] = set()
        self._texts: dict[str, str | None] = {}  # what single keys held when they were first read
        self._rows: list[tuple[Sequence[Range], list[tuple[str, str]]]] = []  # and whole ranges
        self.written: dict[str, tuple[str | None, str | None, str | None]] = {}
        self.bodies: list[str] = []
        self.names: list[str] = []
        self.sealed: list[str] = []
        self.pruned: int | None = None
        self.touched = False
        self.whole = True  # what is believed holds for certain if nobody else has committed since
        self._tailed = False  # where the log ends is known, and counts
        self._ids = 0

    @property
    def sure(self) -> bool:
        """Was all of it read, rather than believed?"""
        return self._known is None or self._known.guess is None

    @property
    def seen(self) -> dict[Any, Any]:
        """What was read so far."""
        return self._known.found if self._known is not None else {}

    @property
    def known(self) -> Known:
        """Where the store stood at the first read."""
        if self._known is None:
            self._known = self._store.read([])
        return self._known

    @property
    def now(self) -> int:
        known = self._known
        return self.known.now if known is None else known.now

    @property
    def wall(self) -> int:
        return self.known.wall

    @property
    def since(self) -> int:
        return self.known.since

    def id(self) -> str:
        self._ids += 1
        return self._identifier if self._ids == 1 else f"{self._identifier}{self._ids}"

    def _get(self, read: Read) -> Any:
        """What a read finds: from what is known, or in a trip. Another commit in between means reading all anew."""
        if read.key not in self._asked:
            self._asked.add(read.key)
            self.reads.append(read)
        if self._known is not None:
            found = self._known.found.get(read.key)
            if found is not None:
                return found
            if self._known.guess is not None:
                return self._believed(self._known, read)
            if self._store.crowded:
                return self._anew(self._known, read)
        if self._known is None:
            self._known = self._store.read([read, *self.likely()], looks=not self._writes)
            return self._known.found[read.key]
        fresh = self._store.read([read, *self.likely(self._known.found)], looks=not self._writes)
        if fresh.commit != self._known.commit:
            self._store.crowded = True
            return self._anew(self._known, read)
        self._known.found.update(fresh.found)
        return fresh.found[read.key]

    def likely(self, known: Container[Any] = ()) -> list[Read]:
        """What will probably be asked for later, where that is not known yet: it comes with what is asked for now."""
        likely = self._store.habits.after(self.reads[0]) if self.reads else ()
        return [read for read in likely if read.key not in self._asked and read.key not in known]

    def _anew(self, known: Known, read: Read) -> Any:
        """All reads so far and one more, at one moment. If the others find what they found, it is as good as theirs."""
        fresh = self._store.read(self.reads + self.likely())
        for one in self.reads:  # what was read on the chance that it will be wanted may change
            before = known.found.get(one.key)
            if before is not None and before[-1] != fresh.signature(one):
                raise MovedError(fresh)
        if fresh.since != known.since or (self._tailed and fresh.commit != known.commit):
            raise MovedError(fresh)
        if known.guess is None:
            self._store.crowded = fresh.commit != known.commit
        fresh.now, fresh.wall = known.now, known.wall  # one moment for one run
        self._known = fresh
        return fresh.found[read.key]

    def _believed(self, known: Known, read: Read) -> Any:
        """What a read is believed to find. Where there is no saying, all that was believed so far is asked with it."""
        assert known.guess is not None
        rests = len(self.reads) == 1 and not known.found and known.guess.rests(read)
        found = None if rests else known.guess.find(read.words)
        if found is None:
            return self._anew(known, read)
        self.whole = self.whole and known.guess.whole(read.words)
        known.found[read.key] = found
        return found

    def fetch(self, keys: Sequence[str], ranges: Sequence[Range] = (), limit: int = FETCH_LIMIT) -> Fetched:
        if not keys and not ranges:
            return Fetched({}, [], False)
        known = self._of_known(keys, ranges) if self._texts or self._rows else None
        if known is None:
            spare = len(self.written) if ranges else 0  # rows that this transaction's own writes may take away
            values, flat, cut, _ = self._get(Read(_words(keys, ranges, limit + spare)))
            rows = [(_name(key), _text(value)) for key, value in zip(flat[::2], flat[1::2], strict=True)]
            texts = {key: _text(value) if value else None for key, value in zip(keys, values, strict=True)}
            self._texts.update(texts)
            if not cut and ranges:
                self._rows.append((ranges, rows))
        else:
            texts, rows, cut = known[0], known[1], False
        found: dict[str, Any] = {}
        for key, text in texts.items():
            mine = self.written.get(key)
            there = mine[0] if mine is not None else text
            found[key] = None if there is None else jsontext.decode(there)
        if self.written and ranges:
            return self._merged(found, rows, ranges, limit, cut=bool(cut))
        if not rows:
            return Fetched(found, [], bool(cut))
        decoded = jsontext.decode_all([text for _, text in rows[:limit]])
        names = [key for key, _ in rows[:limit]]
        return Fetched(found, list(zip(names, decoded, strict=True)), bool(cut) or len(rows) > limit)

    def _of_known(
        self, keys: Sequence[str], ranges: Sequence[Range]
    ) -> tuple[dict[str, str | None], list[tuple[str, str]]] | None:
        """What an earlier read of this transaction saw already, which is checked with that one."""
        for key in keys:
            if key not in self._texts:
                return None
        found: list[tuple[str, str]] = []
        for one in ranges:
            for kept, rows in self._rows:
                if one in kept:
                    if rows:
                        found += [row for row in rows if one[0] <= row[0] < one[1]]
                    break
            else:
                return None
        return {key: self._texts[key] for key in keys}, found

    def _merged(
        self, found: dict[str, Any], read: list[tuple[str, str]], ranges: Sequence[Range], limit: int, *, cut: bool
    ) -> Fetched:
        """Rows of the store with this transaction's own writes among them."""
        texts = {key: text for key, text in read if key not in self.written}
        last = read[-1][0] if cut and read else None
        for key, (text, _, _) in self.written.items():
            if text is None or (last is not None and key > last):
                continue
            for low, high in ranges:
                if low <= key < high:
                    texts[key] = text
                    break
        order = sorted(texts)  # the ranges are disjoint and sorted, so this is their order too
        rows: list[Row] = [(key, jsontext.decode(texts[key])) for key in order[:limit]]
        return Fetched(found, rows, cut or len(order) > limit)

    def scan(self, index: int, prefix: str, limit: int, after: str = "", before: str = "") -> Scanned:
        low = b"[" + bytes_of(after) + b"\x01" if after >= prefix and after else b"[" + bytes_of(prefix)
        high = bytes_of(prefix_range(prefix)[1])
        high = b"(" + (min(high, bytes_of(before)) if before else high)
        hidden_rows = len(self.written)
        flat, cut, _ = self._get(Read(["s", index, limit + hidden_rows, low, high]))
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
        if not self.sure:
            raise MovedError(self._store.read(self.reads))
        known, self._tailed = self.known, True
        return Head(known.commit, known.seq, known.link, known.last)

    def seal(self, body: str) -> None:
        self._may_write()
        self.sealed.append(body)

    def prune(self, through: int) -> None:
        self._may_write()
        if not self._store.ask("HEXISTS", f"{self._store.tag}seals", through):
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

    def writes(self) -> list[Any]:
        """All that is to be written, as the script takes it."""
        words: list[Any] = [len(self.bodies)]
        for body in self.bodies:
            words += (body, digest_of(body))
        words.append(len(self.written))
        for key, (text, one, two) in self.written.items():
            words += (bytes_of(key), text or "", bytes_of(one or ""), bytes_of(two or ""))
        words += (len(self.sealed), *self.sealed, "" if self.pruned is None else str(self.pruned))
        words += (len(self.names), *self.names)
        return words


def _text(value: bytes) -> str:
    """The JSON text of a stored value."""
    return value.split(b"\n", PARTS - 1)[PARTS - 1].decode()


def _words(keys: Sequence[str], ranges: Sequence[Range], limit: int) -> list[Any]:
    """A fetch as the scripts take it. Ranges are mostly all the keys with one prefix, and then few words will do."""
    groups: list[str] = []
    letter = ""
    for low, high in ranges:
        if not low or high != low[:-1] + (FOLLOWS.get(low[-1]) or chr(ord(low[-1]) + 1)):
            break
        if low[0] == letter:
            groups[-1] += "\n" + low
        else:
            groups.append(low)
            letter = low[0]
    else:
        return ["p", limit, bytes_of("\n".join(keys)), len(groups), *map(bytes_of, groups)]
    words: list[Any] = ["f", limit, len(keys), *map(bytes_of, keys), len(ranges)]
    for low, high in ranges:
        words += (b"[" + bytes_of(low), b"(" + bytes_of(high))
    return words


def bytes_of(text: str) -> bytes:
    """Keys are compared by their bytes; names of files may hold bytes that are no text."""
    return text.encode("utf-8", "surrogatepass")


def _name(key: bytes) -> str:
    return key.decode(errors="surrogatepass")
