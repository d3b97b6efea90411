"""What a process saw and wrote last on the server, so that a transaction can often do without asking first.

A transaction may begin with a guess: that what this process knows of a moment ago still holds, and that nothing else is
where it did not look. The server checks a guess as it checks every read, by its signature, before it applies anything.
A wrong one costs no trip, because the answer brings all reads anew; it costs running the function once more, so after
some wrong ones there are none for a while. Nothing is decided by a guess alone: who writes nothing asks first.
"""

from __future__ import annotations

from dibs.facts import clock
from dibs.stores.seam import COMMIT_TEXT, sha1_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

FRESH = 1_000  # ms after an answer in which guesses are made; half of what `now` may be old at a commit
ROWS = 64  # kept; somebody who works with more will not guess right
SOME = 16  # rows of one answer that are kept; the same
LONGEST_REST = 16  # transactions without a guess after wrong ones: 0, 2, 6 … as they follow upon one another
SHAPE = 4  # words of a first read by which it is known: kind, limit, keys, how many groups of prefixes
MOST = 4  # reads that are asked for on the chance that they will be needed
PREFIXES, SCAN = "p", "s"  # kinds of reads, see scripts.py


class Memory:
    """Rows as they are stored, by their keys."""

    def __init__(self) -> None:
        self._rows: dict[bytes, bytes] = {}  # empty: it is known not to be there
        self._idle: set[Any] = set()  # scans, by index and where they begin, that found nothing
        self._whole: set[bytes] = set()  # keys, and groups of prefixes, of which at `commit` nothing else was there
        self.recent: dict[Any, Any] = {}  # what the last transaction read, which ended in an error
        self._at = -FRESH
        self._ahead = 0  # of the server's clock before ours
        self._wrong: dict[Any, int] = {}  # by the shape of the first read: guesses that were, one after the other
        self._rest: dict[Any, int] = {}  # and how many more transactions go without
        self.commit = self.last = self.since = self.offset = 0

    def clear(self) -> None:
        """Forget all of it."""
        self._at = -FRESH
        self._rows.clear()
        self.recent = {}
        self._idle.clear()
        self._whole.clear()

    def usable(self, moment: int) -> bool:
        """Is this a moment for a guess?"""
        return 0 <= moment - self._at < FRESH

    def now(self) -> int:
        """The server's clock; never ahead of it, as long as it runs as ours does."""
        return max(clock.since_boot() + self._ahead, self.last)

    def rests(self, first: Any) -> bool:
        """Were guesses that begin with such a read wrong of late? Then for a while there are none."""
        shape = first.key[:SHAPE]
        rest = self._rest.get(shape, 0)
        if rest:
            self._rest[shape] = rest - 1
        return rest > 0

    def right(self, reads: list[Any]) -> None:
        """A guess was right."""
        if reads:
            self._wrong.pop(reads[0].key[:SHAPE], None)

    def wrong(self, reads: list[Any]) -> None:
        """A guess was wrong."""
        if reads:
            if len(self._wrong) > ROWS:
                self._wrong.clear()
                self._rest.clear()
            shape = reads[0].key[:SHAPE]
            self._wrong[shape] = wrong = self._wrong.get(shape, 0) + 1
            self._rest[shape] = min((1 << wrong) - 2, LONGEST_REST)

    # --- guessing

    def find(self, words: list[Any]) -> list[Any] | None:
        """What a read would find; None if that cannot be guessed."""
        if words[0] == PREFIXES:
            return self._fetch(words)
        return self._scan(words) if words[0] == SCAN else None

    def whole(self, words: list[Any]) -> bool:
        """Is what a read would find known for certain, as long as nobody else has committed since?"""
        return words[0] == PREFIXES and self._whole.issuperset(_parts(words))

    def _fetch(self, words: list[Any]) -> list[Any] | None:
        limit, keys, groups = words[1], words[2], words[4:]
        rows, values = self._rows, []
        seen: list[bytes] = []
        flat: list[bytes] = []
        for key in keys.split(b"\n") if keys else ():
            value = rows.get(key)
            if value is None:
                return None
            values.append(value)
            seen += (key, value.partition(b"\n")[0] or b"-")
        for key in self._below(groups):
            value = rows[key]
            flat += (key, value)
            seen += (key, value.partition(b"\n")[0])
        if len(flat) > 2 * limit:
            return None
        seen.append(b"0")
        return [values, flat, 0, _signature(seen)]

    def _below(self, groups: list[bytes]) -> list[bytes]:
        """The keys that are there with one of these prefixes."""
        if not groups:
            return []
        wanted = tuple(b"\n".join(groups).split(b"\n"))
        found = [key for key, value in self._rows.items() if value and key.startswith(wanted)]
        if len(found) > 1:
            found.sort()
        return found

    def _scan(self, words: list[Any]) -> list[Any] | None:
        """Nothing, where the last look found nothing and nothing that is known lies there."""
        _, index, _, low, high = words
        if (index, low) not in self._idle:
            return None
        for value in self._rows.values():
            if value and low[1:] <= value.split(b"\n", index + 1)[index] < high[1:]:
                return None
        return [[], 0, _signature([b"0"])]

    # --- learning

    def learn(self, reads: Sequence[list[Any]], found: Sequence[Any], known: Any) -> None:
        """Keep what reads found at one moment.

        While something is being changed here nothing is usable: an interrupt then leaves nothing that is half true.
        """
        at, self._at = clock.since_boot(), -FRESH
        self._ahead = known.now - at
        if known.commit != self.commit:
            self._whole.clear()
        self.commit, self.last, self.since, self.offset = known.commit, known.last, known.since, known.now - known.wall
        for words, one in zip(reads, found, strict=True):
            if words[0] == PREFIXES and len(one[1]) <= 2 * SOME and not one[2]:
                self._fetched(words, one)
            elif words[0] == SCAN:
                if one[0]:
                    self._idle.discard((words[1], words[3]))
                elif len(self._idle) < SOME:
                    self._idle.add((words[1], words[3]))
        self._bound(at)

    def _fetched(self, words: list[Any], found: Any) -> None:
        keys = words[2]
        for key in self._below(words[4:]):
            del self._rows[key]
        if keys:
            self._rows.update(zip(keys.split(b"\n"), found[0], strict=True))
        flat = found[1]
        self._rows.update(zip(flat[::2], flat[1::2], strict=True))
        self._whole.update(_parts(words))

    def wrote(
        self, number: int, now: int, time: int, written: Iterable[tuple[bytes, Any]], guessed: Sequence[Any] = ()
    ) -> None:
        """Keep what a commit of this process wrote: by key, the text with its two entries; `guessed` was right."""
        at, self._at = clock.since_boot(), -FRESH
        if number != self.commit + 1:
            self._whole.clear()
        for read in guessed:
            if read.words[0] == PREFIXES:
                self._whole.update(_parts(read.words))
        self.commit, self.last = number, max(self.last, now)
        if time:
            self._ahead = time - at
        for key, (text, one, two) in written:
            if text is None:
                self._rows.pop(key, None)
            else:
                filled = text.replace(COMMIT_TEXT, str(number))
                self._rows[key] = f"{number}\n{one or ''}\n{two or ''}\n{filled}".encode("utf-8", "surrogatepass")
        self._bound(at)

    def _bound(self, at: int) -> None:
        """What was learnt is complete, and usable from now on."""
        if len(self._rows) > ROWS:
            self.clear()
        else:
            self._at = at


class Habits:
    """What is usually read after a first read, so that it can come in the same trip.

    Only reads in the very same words count, and those that were seen often of late. One that was not needed after all
    is no part of the transaction.
    """

    def __init__(self) -> None:
        self._after: dict[Any, dict[Any, list[Any]]] = {}  # by the shape of the first: read, how often

    def after(self, first: Any) -> list[Any]:
        """What will probably be asked next."""
        likely = self._after.get(first.key[:SHAPE])
        return [read for read, often in likely.values() if often > 0] if likely else []

    def note(self, reads: list[Any]) -> None:
        """What a transaction read, in this order."""
        if not reads:
            return
        shape = reads[0].key[:SHAPE]
        known = self._after.get(shape)
        if known is None:
            if len(reads) == 1:
                return
            if len(self._after) >= ROWS:
                self._after.clear()
            known = self._after[shape] = {}
        asked = {read.key for read in reads}
        for key in [key for key in known if key not in asked]:
            known[key][1] -= 1
            if known[key][1] < 0:
                del known[key]
        for read in reads[1 : MOST + 1]:
            entry = known.setdefault(read.key, [read, -1])
            entry[1] = MOST if entry[1] >= 0 else entry[1] + 1


def _parts(words: list[Any]) -> list[bytes]:
    """The keys and the groups of prefixes of a read."""
    return [*(words[2].split(b"\n") if words[2] else ()), *words[4:]]


def _signature(seen: list[bytes]) -> bytes:
    """As the scripts make it."""
    return sha1_of(b"\x01".join(seen)).encode()
