"""Turns: processes of one machine that want the same rows let one another finish, rather than lose to one another.

Where several commit to the same rows, a transaction is often overtaken between its reads and its end, and all its work
is done again. So whoever was overtaken takes turns for a while: before the first read, a lock of the kernel on one byte
of a file, which goes with its process, however that ends. Nothing rests on a turn but speed: the server checks every
transaction as before, and who does not get a turn soon goes on without.
"""

from __future__ import annotations

import fcntl
import os
from zlib import crc32

from dibs.facts import clock
from dibs.stores import gate
from dibs.stores.redis_guess import PREFIXES, SCAN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

PLACES = 4_096  # bytes to lock; two that want different rows rarely meet on one
BEHIND = 65_536  # where they begin: the file ends before
AFTER_ONE = 32  # transactions that take a turn after one was overtaken
SHORTEST, LONGEST = 0.0002, 0.002  # seconds between two looks whether it is free; doubled each time
PATIENCE = 30  # ms; a turn takes one or two. Longer means that its holder is stopped or far behind


class Turns:
    """Those of one process, on an open file that all of them share."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._left = 0  # transactions that are to take one
        self._place = -1

    def overtaken(self) -> None:
        """A transaction was; those that follow take turns."""
        self._left = AFTER_ONE

    def take(self, first: list[Any]) -> None:
        """Wait until nobody else here is at what a first read asks for."""
        if self._left <= 0 or self._place >= 0:
            return
        wanted = _wanted(first)
        if wanted is None:
            return
        self._left -= 1
        place = BEHIND + crc32(wanted) % PLACES
        try:
            self._place = place if self._got(place) or self._waited(place) else -1
        except OSError:  # a file system without locks, or the file is closed: no turns here
            self._left = 0

    def leave(self) -> None:
        """The transaction is over."""
        if self._place >= 0:
            place, self._place = self._place, -1
            self._lock(fcntl.LOCK_UN, place)

    def _got(self, place: int) -> bool:
        try:
            self._lock(fcntl.LOCK_EX | fcntl.LOCK_NB, place)
        except BlockingIOError:
            return False
        return True

    def _waited(self, place: int) -> bool:
        """In the kernel's queue; where that wait could not be ended, by looking again and again."""
        try:
            if gate.timed(lambda: self._lock(fcntl.LOCK_EX, place), PATIENCE / 1000):
                return True
        except gate.TimeIsUpError:
            self._lock(fcntl.LOCK_UN, place)  # it may have rung in the moment after
            return False
        except KeyboardInterrupt:  # the same
            self._lock(fcntl.LOCK_UN, place)
            raise
        pause, end = SHORTEST, clock.since_boot() + PATIENCE
        while clock.since_boot() < end:
            clock.sleep(pause)
            if self._got(place):
                return True
            pause = min(pause * 2, LONGEST)
        return False

    def _lock(self, how: int, place: int) -> None:
        fcntl.lockf(self._fd, how, 1, place, os.SEEK_SET)


def _wanted(first: list[Any]) -> bytes | None:
    """What others may want as well: the last prefixes, or where a scan begins. Single keys are mostly one's own."""
    if first[0] == PREFIXES and first[3]:
        return bytes(first[-1])
    return bytes(first[3]) if first[0] == SCAN else None
