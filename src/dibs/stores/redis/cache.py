"""The cache of one process: the rows that it last wrote or read on the server.

A transaction that writes may begin with a guess: these rows are unchanged and their ranges hold no other rows. The
server checks a guess like every read, by its signature, before it applies anything. A wrong guess costs no round trip,
because the answer brings fresh reads; it costs one more run of the function. A guess alone decides nothing: a
transaction that writes nothing, or raises, is run again on the server's data.
"""

from __future__ import annotations

from dibs.facts import clock
from dibs.stores.seam import COMMIT_TEXT, sha1_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from dibs.stores.redis.transaction import Read, Snapshot

MAX_AGE_MS = 1_000  # of the cache since the last answer; half of the clock age allowed at a commit
MAX_ROWS = 64  # a process that works with more rows will rarely guess right
MAX_ANSWER_ROWS = 16  # kept of one answer, for the same reason
PREFIXES, SCAN = "p", "s"  # kinds of reads, see scripts.py


class Cache:
    """Rows as they are stored, by their keys."""

    def __init__(self) -> None:
        self._rows: dict[bytes, bytes] = {}  # an empty value: the key is known to be absent
        self._empty_scans: set[tuple[int, bytes]] = set()  # by index and lower end: scans that found nothing
        self._filled_at = -MAX_AGE_MS  # on this machine's clock
        self._clock_ahead = 0  # ms by which the store's clock is ahead of this machine's
        self.commit = self.last = self.since = self.wall_offset = 0

    def clear(self) -> None:
        """Forget everything."""
        self._filled_at = -MAX_AGE_MS
        self._rows.clear()
        self._empty_scans.clear()

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
        prefixes = tuple(b"\n".join(groups).split(b"\n"))
        found = [key for key, value in self._rows.items() if value and key.startswith(prefixes)]
        if len(found) > 1:
            found.sort()
        return found

    def _scan(self, words: list[Any]) -> list[Any] | None:
        """Nothing, where the last scan found nothing and no known row has an entry."""
        _, index, _, low, high = words
        if (index, low) not in self._empty_scans:
            return None
        for value in self._rows.values():
            if value and low[1:] <= value.split(b"\n", index + 1)[index] < high[1:]:
                return None
        return [[], 0, _signature([b"0"])]

    # --- filling. The cache counts as stale while rows change, so an interrupt leaves no half-changed cache in use.

    def learn(self, reads: Sequence[Read], answers: Sequence[Any], snapshot: Snapshot) -> None:
        """Cache the server's answer to one set of reads."""
        at, self._filled_at = clock.since_boot(), -MAX_AGE_MS
        self._clock_ahead, self.wall_offset = snapshot.now - at, snapshot.now - snapshot.wall
        self.commit, self.last, self.since = snapshot.commit, snapshot.last, snapshot.since
        for read, answer in zip(reads, answers, strict=True):
            words = read.words
            if words[0] == PREFIXES and len(answer[1]) <= 2 * MAX_ANSWER_ROWS and not answer[2]:
                for key in self._below(words[4:]):
                    del self._rows[key]
                if words[2]:
                    self._rows.update(zip(words[2].split(b"\n"), answer[0], strict=True))
                self._rows.update(zip(answer[1][::2], answer[1][1::2], strict=True))
            elif words[0] == SCAN:
                if answer[0]:
                    self._empty_scans.discard((words[1], words[3]))
                elif len(self._empty_scans) < MAX_ANSWER_ROWS:
                    self._empty_scans.add((words[1], words[3]))
        self._learnt(at)

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
                self._rows[key] = f"{commit}\n{one or ''}\n{two or ''}\n{filled}".encode("utf-8", "surrogatepass")
        self._learnt(at)

    def _learnt(self, at: int) -> None:
        if len(self._rows) > MAX_ROWS:
            self.clear()
        else:
            self._filled_at = at


def _signature(seen: list[bytes]) -> bytes:
    """The signature, computed as the scripts compute it."""
    return sha1_of(b"\x01".join(seen)).encode()
