"""One run of one transaction on Redis: its reads, and the writes that it will ask for.

A read is answered by, in this order:
1. the transaction's own writes;
2. its earlier reads, all of one snapshot;
3. the cache of this process (cache.py), if it is fresh: from then on the transaction is a guess;
4. the server: the new read and all earlier ones in one trip, at one moment. If the earlier ones find what they found
   before, the run continues; else it starts again with the new answers (`MovedError`). A transaction with many reads
   sends the new one alone, and the earlier ones only if a commit came between.

The script that applies the writes checks the signatures of all reads, cached ones too. The transaction knows the
store only as a `Source` of reads; the store (store.py) takes the finished transaction and applies it.
"""

from __future__ import annotations

from dibs import jsontext
from dibs.stores.seam import FETCH_LIMIT, BaseTransaction, Fetched, Head, Scanned, digest_of, prefix_range

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, Protocol

    from dibs.stores.redis.cache import Cache
    from dibs.stores.seam import Json, Page, Range, Row

    class Source(Protocol):
        """Where a transaction's reads come from."""

        def read(self, reads: Sequence[Read], *, looks: bool = True) -> Snapshot:
            """All these reads at one moment."""

        def has_seal(self, seq: int) -> bool:
            """Does a seal stand at this event?"""

        def certified(self, snapshot: Snapshot) -> bool:
            """Is it still the server of that snapshot, and does it take writes?"""


VALUE_PARTS = 4  # of a stored value: number, two entries, text
SCAN_ROW_WORDS = 3  # words of one row of a scan
MAX_FIRST_SPARE = 256  # rows read beyond a limit, at first
MAX_RESENT_READS = 8  # with one more; beyond, sending all again each time would cost the square of their number
NEXT_LETTER = {"\t": "\n", "/": "0"}  # the usual last letter of a prefix → the letter after it


class MovedError(Exception):
    """A commit came between two reads of one transaction; all of them were read again, at one moment."""

    def __init__(self, snapshot: Snapshot) -> None:
        super().__init__("read again")
        self.snapshot = snapshot


class Read:
    """One read as the scripts take it; two with the same words are the same."""

    __slots__ = ("key", "words")

    def __init__(self, words: list[Any]) -> None:
        self.words = words
        self.key = tuple(words)


def words_of(reads: Sequence[Read]) -> list[Any]:
    """Reads one after the other."""
    return [word for read in reads for word in read.words]


class Snapshot:
    """Where the store stood at one moment, and what reads found then, by their words."""

    def __init__(self, answer: Any, reads: Sequence[Read]) -> None:
        _, commit, seq, link, last, now, offset, since, found = answer
        self.commit, self.seq, self.link, self.last = int(commit), int(seq), link.decode(), int(last)
        self.now, self.since = max(int(now), self.last), int(since)
        self.wall = self.now - int(offset)
        self.found = {read.key: one for read, one in zip(reads, found, strict=True)}
        self.run_id = ""  # of the server, if it was read from one

    def signature(self, read: Read) -> Any:
        """The server's signature over all that a read saw."""
        return self.found[read.key][-1]


class Guess(Snapshot):
    """An unconfirmed snapshot: where the store stood when the cache was last filled."""

    def __init__(self, cache: Cache) -> None:
        self.commit, self.last, self.since = cache.commit, cache.last, cache.since
        self.now = cache.now()
        self.wall = self.now - cache.wall_offset
        self.found, self.run_id = {}, ""


class RedisTransaction(BaseTransaction):
    """One run of one transaction."""

    def __init__(
        self, source: Source, identifier: str, snapshot: Snapshot | None, cache: Cache | None = None, *, writes: bool
    ) -> None:
        super().__init__(identifier, writes=writes)
        self._source, self._snapshot, self._cache = source, snapshot, cache
        self.is_guess = isinstance(snapshot, Guess)  # at least one read was answered from the cache
        self.reads: list[Read] = []
        self._asked: set[Any] = set()
        self.written: dict[str, tuple[str | None, str | None, str | None]] = {}
        self.sealed: list[str] = []
        self.pruned: tuple[int, int] | None = None  # through which event; the seal there or after it
        self._tailed = False  # the end of the log was read and must be checked

    @property
    def snapshot(self) -> Snapshot:
        """Where the store stood at the first read."""
        if self._snapshot is None:
            self._snapshot = self._source.read([])
        return self._snapshot

    @property
    def now(self) -> int:
        return self.snapshot.now

    @property
    def wall(self) -> int:
        return self.snapshot.wall

    @property
    def since(self) -> int:  # type: ignore[override]
        return self.snapshot.since

    def _lookup(self, read: Read) -> Any:
        """What a read finds; see the top of this file."""
        if read.key not in self._asked:
            self._asked.add(read.key)
            self.reads.append(read)
        snapshot = self._snapshot
        if snapshot is None:
            self._snapshot = self._source.read(self.reads, looks=not self._writes)
            return self._snapshot.found[read.key]
        found = snapshot.found.get(read.key)
        if found is None and self._cache is not None:
            found = self._cache.find(read.words)
            if found is not None:
                snapshot.found[read.key] = found
                self.is_guess = True
        return self._ask(snapshot, read) if found is None else found

    def _ask(self, before: Snapshot, read: Read) -> Any:
        """One more read. The run continues if the earlier reads find the same at that moment."""
        if len(self.reads) > MAX_RESENT_READS and not self.is_guess:
            alone = self._source.read([read], looks=not self._writes)
            if alone.commit == before.commit and alone.since == before.since:  # nothing can have changed between
                before.found[read.key] = alone.found[read.key]
                return before.found[read.key]
        fresh = self._source.read(self.reads, looks=not self._writes)
        for one in self.reads:
            found = before.found.get(one.key)
            if found is not None and found[-1] != fresh.signature(one):
                raise MovedError(fresh)
        if fresh.since != before.since or (self._tailed and fresh.commit != before.commit):
            raise MovedError(fresh)
        fresh.now, fresh.wall = before.now, before.wall  # one clock reading for one run
        if fresh.commit == before.commit:  # answers that this run has not asked for yet: an earlier run's
            fresh.found = before.found | fresh.found
        self._snapshot, self.is_guess = fresh, False
        return fresh.found[read.key]

    def fetch(self, ranges: Sequence[Range], limit: int = FETCH_LIMIT) -> Fetched:
        if not ranges:
            return Fetched([], False)
        page = self._page_of(ranges, limit)
        if page is not None:
            fetched = self._fetched(page, ranges, limit)
            if not page[2] or len(fetched.rows) >= limit:
                return fetched
        for spare in self._spares():
            page = self._ask_rows((), ranges, limit + spare)
            fetched = self._fetched(page, ranges, limit)
            if not page[2] or len(fetched.rows) >= limit:
                break
        return fetched

    def _read(self, keys: Sequence[str], ranges: Sequence[Range], limit: int) -> Page:
        return self._ask_rows(keys, ranges, limit + self._spares()[0] if ranges else limit)

    def _ask_rows(self, keys: Sequence[str], ranges: Sequence[Range], limit: int) -> Page:
        """What the store has under these keys and in these ranges, without this transaction's own writes."""
        values, flat, cut, _ = self._lookup(Read(_words(keys, ranges, limit)))
        rows = [(_name(key), _text(value)) for key, value in zip(flat[::2], flat[1::2], strict=True)]
        self._texts.update({key: _text(value) if value else None for key, value in zip(keys, values, strict=True)})
        self._texts.update(rows)
        page = (ranges, rows, bool(cut))
        if ranges:
            self._pages.append(page)
        return page

    def _knows(self, keys: Sequence[str]) -> bool:
        return all(key in self._texts or key in self.written for key in keys)

    def _text(self, key: str) -> str | None:
        mine = self.written.get(key)
        return self._texts[key] if mine is None else mine[0]

    def _fetched(self, page: Page, ranges: Sequence[Range], limit: int) -> Fetched:
        """What was read, with this transaction's own writes."""
        _, found, cut = page
        if self.written:
            found = self._merged(found, ranges, cut=cut)
        values = self._decode([text for _, text in found[:limit]])
        rows: list[Row] = [(key, value) for (key, _), value in zip(found, values, strict=False)]
        return Fetched(rows, cut or len(found) > limit)

    def _merged(self, read: list[tuple[str, str]], ranges: Sequence[Range], *, cut: bool) -> list[tuple[str, str]]:
        """Rows of the store with this transaction's own writes among them."""
        texts = {key: text for key, text in read if key not in self.written}
        last = read[-1][0] if cut and read else None
        for low, high in ranges:
            for key in [key for key in self.written if low <= key < high]:
                text = self.written[key][0]
                if text is not None and (last is None or key <= last):
                    texts[key] = text
        return sorted(texts.items())  # the ranges are disjoint and sorted, so this is their order too

    def scan(self, index: int, prefix: str, limit: int, after: str = "", before: str = "") -> Scanned:
        low = b"[" + bytes_of(after) + b"\x01" if after >= prefix and after else b"[" + bytes_of(prefix)
        high = bytes_of(prefix_range(prefix)[1])
        high = b"(" + (min(high, bytes_of(before)) if before else high)
        for spare in self._spares():
            flat, cut, _ = self._lookup(Read(["s", index, limit + spare, low, high]))
            rows = [
                (_name(entry), _name(key), _text(value))
                for entry, key, value in zip(
                    flat[::SCAN_ROW_WORDS], flat[1::SCAN_ROW_WORDS], flat[2::SCAN_ROW_WORDS], strict=True
                )
            ]
            if self.written:
                rows = self._with_mine(rows, index, prefix, after, before, cut=bool(cut))
            if not cut or len(rows) >= limit:
                break
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

    def _spares(self) -> Sequence[int]:
        """How many rows more than the limit to read: room for those that this transaction deleted.

        One that wrote many rows hardly deleted those that it looks for, so a few are tried first.
        """
        written = self._spare()
        return (written,) if written <= MAX_FIRST_SPARE else (MAX_FIRST_SPARE, written)

    def _spare(self) -> int:
        """Room for all that this transaction wrote."""
        return len(self.written)

    def put(self, key: str, value: Json, i1: str | None = None, i2: str | None = None) -> None:
        self._may_write()
        self.written[key] = (jsontext.encode(value), i1, i2)

    def delete(self, key: str) -> None:
        self._may_write()
        self.written[key] = (None, None, None)

    def tail(self) -> Head:
        if self.is_guess:  # the end of the log is never guessed
            raise MovedError(self._source.read(self.reads))
        snapshot, self._tailed = self.snapshot, True
        self._cache = None  # nor is anything after it: a guess would have to be read again, and the end with it
        return Head(snapshot.commit, snapshot.seq, snapshot.link, snapshot.last)

    def certify(self) -> None:
        if not self._source.certified(self.snapshot):
            raise MovedError(self._source.read(self.reads))

    def seal(self, body: str) -> None:
        self._may_write()
        self.sealed.append(body)

    def prune(self, seal: int, through: int) -> None:
        self._may_write()
        if through > seal or not self._source.has_seal(seal):
            message = f"no seal stands at event {seal}, or it is before event {through}"
            raise ValueError(message)
        self.pruned = through, seal

    @property
    def is_exact(self) -> bool:
        """Must no commit have come between its reads and its own?"""
        return bool(self.sealed)

    @property
    def commits(self) -> int:
        """How many commits it makes."""
        return 1

    def writes(self) -> list[Any]:
        """All writes, in the form that the script takes."""
        words = [*event_words(self.bodies), *row_words(self.written)]
        words += (len(self.sealed), *self.sealed, *(self.pruned or ("", "")))
        words += (len(self.names), *self.names)
        return words


def event_words(bodies: Sequence[str]) -> list[Any]:
    """The events of one commit, in the form that the script takes."""
    words: list[Any] = [len(bodies)]
    for body in bodies:
        words += (body, digest_of(body))
    return words


def row_words(written: dict[str, tuple[str | None, str | None, str | None]]) -> list[Any]:
    """The rows of one commit, in the form that the script takes."""
    words: list[Any] = [len(written)]
    for key, (text, one, two) in written.items():
        words += (bytes_of(key), text or "", bytes_of(one or ""), bytes_of(two or ""))
    return words


def _text(value: bytes) -> str:
    """The JSON text of a stored value."""
    return value.split(b"\n", VALUE_PARTS - 1)[VALUE_PARTS - 1].decode()


def _words(keys: Sequence[str], ranges: Sequence[Range], limit: int) -> list[Any]:
    """A fetch as the scripts take it. Most ranges are all keys with one prefix, which has a shorter form."""
    groups: list[str] = []
    letter = ""
    for low, high in ranges:
        if not low or high != low[:-1] + (NEXT_LETTER.get(low[-1]) or chr(ord(low[-1]) + 1)):
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
    """Keys are compared by their bytes; file names may hold bytes that are not valid text."""
    return text.encode("utf-8", "surrogatepass")


def _name(key: bytes) -> str:
    return key.decode(errors="surrogatepass")
