"""Limits of a server: how often a credential may call, how often an address may fail, how much is open at once.

Token buckets by key, bounded in number: the key that was not seen for longest goes first. Used from the event loop
alone, so nothing is locked.
"""

from __future__ import annotations

from collections import OrderedDict

from dibs.machine import clock

MAX_KEYS = 10_000  # credentials or addresses that are remembered at once
SECOND = 1_000


class Buckets:
    """A bucket for each key: `burst` calls at once, `rate` more a second."""

    def __init__(self, rate: float, burst: float) -> None:
        self.rate, self.burst = rate, burst
        self._left: OrderedDict[str, tuple[float, int]] = OrderedDict()  # key → calls left, when

    def take(self, key: str, *, only_look: bool = False) -> float:
        """Take one call; 0 if there was one, else the seconds until there is. `only_look` takes none."""
        if only_look and key not in self._left:
            return 0.0
        now = clock.since_boot()
        left, at = self._left.get(key, (self.burst, now))
        left = min(self.burst, left + max(0, now - at) * self.rate / SECOND)
        enough = left >= 1
        self._left[key] = (left - 1 if enough and not only_look else left), now
        self._left.move_to_end(key)
        while len(self._left) > MAX_KEYS:
            self._left.popitem(last=False)
        return 0.0 if enough else (1 - left) / self.rate


class Slots:
    """How many of something are open at once."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.taken = 0

    def take(self) -> bool:
        """One more, if there is room."""
        if self.taken >= self.most:
            return False
        self.taken += 1
        return True

    def free(self) -> None:
        """One less."""
        self.taken -= 1
