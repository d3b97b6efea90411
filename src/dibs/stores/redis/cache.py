"""The cache of one process: the rows that it last wrote or read on the server.

A transaction that writes may begin with a guess: these rows are unchanged and their ranges hold no other rows. The
server checks a guess like every read, by its signature, before it applies anything. A wrong guess costs no round trip,
because the answer brings fresh reads; it costs one more run of the function. A guess alone decides nothing: a
transaction that writes nothing, or raises, is run again on the server's data.

What it pays for: a right guess saves one of two round trips. Without guesses a claim with its release takes 1.5 times
as long. The target is 2.5 times redis-py's Lock (`python -m benchmarks --only redis`), and with guesses it is 2.4.
"""

from __future__ import annotations

from dibs.machine import clock
from dibs.stores.seam import COMMIT_TEXT, filled_entry, sha1_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from dibs.stores.redis.transaction import Read, Snapshot

MAX_AGE_MS = 1_000  # of the cache since the last answer; half of the clock age allowed at a commit
MAX_ROWS = 64  # a process that works with more rows will rarely guess right
MAX_ANSWER_ROWS = 16  # kept of one answer, for the same reason
MAX_SCANS = 16
ENTRY_WORDS = 3  # of a row of a scan: entry, key, value
PREFIXES, SCAN = "p", "s"  # kinds of reads, see scripts.py


class Cache:
    """Rows as they are stored, by their keys."""

    def __init__(self) -> None:
        self._rows: dict[bytes, bytes] = {}  # an empty value: the key is known to be absent
        self._scans: set[tuple[int, bytes, bytes]] = set()  # index and both ends: all rows there are in `_rows`
        self._long: set[bytes] = set()  # prefixes of more rows than are kept: never guessed
        self._filled_at = -MAX_AGE_MS  # on this machine's clock
        self._clock_ahead = 0  # ms by which the store's clock is ahead of this machine's
        self.commit = self.last = self.since = self.wall_offset = 0

    def clear(self) -> None:
        """Forget everything."""
        self._filled_at = -MAX_AGE_MS
        self._rows.clear()
        self._scans.clear()
        self._long.clear()

    def is_fresh(self, moment: int) -> bool:
        """May a transaction that begins at this moment use it?"""
        return 0 <= moment - self._filled_at < MAX_AGE_MS

    def now(self) -> int:
        """The store's clock, from this machine's; never ahead of it while both run at the same speed."""
        return max(clock.since_boot() + self._clock_ahead, self.last)

    # --- guessing

    def find(self, words: list[Any]) -> list[Any] | None:
        """The guessed answer to a read; None on a cache miss."""
        if words[0] == PREFIXES:
            return self._fetch(words)
        return self._scan(words) if words[0] == SCAN else None

    def _fetch(self, words: list[Any]) -> list[Any] | None:
        limit, keys, groups = words[1], words[2], words[4:]
        if self._long and not self._long.isdisjoint(_prefixes(groups)):
            return None
        values: list[bytes] = []
        seen: list[bytes] = []
        flat: list[bytes] = []
        for key in keys.split(b"\n") if keys else ():
            value = self._rows.get(key)
            if value is None:
                return None
            values.append(value)
            seen += (key, value.partition(b"\n")[0] or b"-")
        for key in self._below(groups):
            value = self._rows[key]
            flat += (key, value)
            seen += (key, value.partition(b"\n")[0])
        if len(flat) > 2 * limit:
            return None
        seen.append(b"0")
        return [values, flat, 0, _signature(seen)]

    def _below(self, groups: list[bytes]) -> list[bytes]:
        """The keys that are there with one of these prefixes, in order."""
        if not groups:
            return []
        prefixes = _prefixes(groups)
        found = [key for key, value in self._rows.items() if value and key.startswith(prefixes)]
        if len(found) > 1:
            found.sort()
        return found

    def _scan(self, words: list[Any]) -> list[Any] | None:
        """The known rows with an entry there, if such a scan was made before."""
        _, index, limit, low, high = words
        if (index, low, high) not in self._scans:
            return None
        found = self._entries(index, low, high)
        if len(found) > limit:
            return None
        seen = [word for _, key, value in found for word in (key, value.partition(b"\n")[0])]
        return [[word for row in found for word in row], 0, _signature([*seen, b"0"])]

    def _entries(self, index: int, low: bytes, high: bytes) -> list[tuple[bytes, bytes, bytes]]:
        """The known rows with an entry of an index between two ends, in its order: entry, key, value."""
        found = []
        for key, value in self._rows.items():
            if value:
                entry = value.split(b"\n", index + 1)[index]
                if low[1:] <= entry < high[1:]:
                    found.append((entry, key, value))
        found.sort()
        return found

    # --- filling. The cache counts as stale while rows change, so an interrupt leaves no half-changed cache in use.

    def learn(self, reads: Sequence[Read], answers: Sequence[Any], snapshot: Snapshot) -> None:
        """Cache the server's answer to one set of reads."""
        at, self._filled_at = clock.since_boot(), -MAX_AGE_MS
        self._clock_ahead, self.wall_offset = snapshot.now - at, snapshot.now - snapshot.wall
        self.commit, self.last, self.since = snapshot.commit, snapshot.last, snapshot.since
        for read, answer in zip(reads, answers, strict=True):
            words = read.words
            if words[0] == PREFIXES:
                self._learn_rows(words, answer)
            elif words[0] == SCAN:
                self._learn_scan(words, answer)
        self._learnt(at)

    def _learn_rows(self, words: list[Any], answer: Any) -> None:
        keys, groups = words[2], words[4:]
        values, flat, cut, _ = answer
        for key in self._below(groups):
            del self._rows[key]  # what is still there comes again below
        if keys:
            self._rows.update(zip(keys.split(b"\n"), values, strict=True))
        if cut or len(flat) > 2 * MAX_ANSWER_ROWS:
            self._long.update(_prefixes(groups))
        else:
            self._long.difference_update(_prefixes(groups))
            self._rows.update(zip(flat[::2], flat[1::2], strict=True))

    def _learn_scan(self, words: list[Any], answer: Any) -> None:
        _, index, _, low, high = words
        self._scans.discard((index, low, high))
        flat, cut = answer[0], answer[1]
        if cut or len(flat) > ENTRY_WORDS * MAX_ANSWER_ROWS or len(self._scans) >= MAX_SCANS:
            return
        for _, key, _ in self._entries(index, low, high):
            del self._rows[key]  # what is still there comes again below
        self._rows.update(zip(flat[1::ENTRY_WORDS], flat[2::ENTRY_WORDS], strict=True))
        self._scans.add((index, low, high))

    def wrote(self, commit: int, now: int, server_time: int, written: Iterable[tuple[bytes, Any]]) -> None:
        """Cache what a commit of this process wrote: by key, the text with its two index entries."""
        at, self._filled_at = clock.since_boot(), -MAX_AGE_MS
        self.commit, self.last = commit, max(self.last, now)
        if server_time:
            self._clock_ahead = server_time - at
        for key, (text, one, two) in written:
            if text is None:
                self._rows.pop(key, None)
            else:
                filled = text.replace(COMMIT_TEXT, str(commit))
                one, two = filled_entry(one, commit) or "", filled_entry(two, commit) or ""  # noqa: PLW2901
                self._rows[key] = f"{commit}\n{one}\n{two}\n{filled}".encode("utf-8", "surrogatepass")
        self._learnt(at)

    def _learnt(self, at: int) -> None:
        if len(self._rows) + len(self._long) > MAX_ROWS:
            self.clear()
        else:
            self._filled_at = at


def _prefixes(groups: list[bytes]) -> tuple[bytes, ...]:
    """The prefixes of a fetch, one by one."""
    return tuple(b"\n".join(groups).split(b"\n")) if groups else ()


def _signature(seen: list[bytes]) -> bytes:
    """The signature, computed as the scripts compute it."""
    return sha1_of(b"\x01".join(seen)).encode()
