"""The lobby: processes of one machine that keep wanting the same thing wait for one another, before they ask the store.

To wait in the store's queue costs two commits, the place in the queue and picking up what was handed over, and more
to read in each; to find the way free costs one. Where many want what each of them holds for a moment, that is much of
the work. So a process that had to wait a moment ago waits here first, behind others that do the same, and stays until
it gives its claim back.

They stand in line: each locks a byte of its own in a file, leaves word where that is, and waits for the byte of whoever
came before. The kernel wakes the one that is next, and forgets whoever dies.

Nothing rests on this but speed. The store decides as it always does; whoever was not let in within a second goes there
without, takes its place in the queue, and is seen to wait; and whoever comes next follows at once.
"""

from __future__ import annotations

import fcntl
import os
from zlib import crc32

from dibs.facts import clock
from dibs.stores.sqlite import gate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

CROWDED = 2_000  # ms after a wait in which the next one is expected
PATIENCE = 1_000  # ms; whoever holds something for longer is to be waited for where everybody sees it
LINES = 1_024  # what is wanted falls into one of them; two things rarely into the same
WIDTH = 8  # bytes of the word where the last one in a line stands
OWN = 1 << 20  # from here on each process has so many bytes of its own, and takes another one each time:
EACH = 1 << 12  # whoever waits for one of them is not to wait again when its owner comes back
BEYOND = 1 << 62  # nobody stands there: something else was written into the file
NOWHERE = 0


class Lobby:
    """One process's place: in one line at a time, at most."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._fd = -1
        self._line = self._mine = NOWHERE
        self._count = 0
        self._until = 0  # on the clock since boot: so long this is a crowd

    def crowded(self) -> None:
        """Somebody was in the way just now."""
        self._until = clock.since_boot() + CROWDED

    def enter(self, fields: dict[str, Any]) -> None:
        """Wait until nobody is left who came before for what is to be claimed, or until it has taken too long.

        Whoever is in a line already leaves it and does not wait: what it holds may be what the others wait for.
        """
        if self._mine:
            self.leave()
            return
        if clock.since_boot() >= self._until or fields.get("mode", "write") != "write":
            return
        try:
            if self._fd < 0:
                self._fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            self._line = _line_of(fields)
            before = self._stand()
            if before and not self._free(before):
                self._wait(before, min(PATIENCE, fields["wait"]) / 1000)
        except OSError:  # a file system without locks, say: then there is no lobby
            self.close()
            self._until = 0
        except BaseException:  # Ctrl-C
            self.leave()
            raise

    def leave(self, fields: dict[str, Any] | None = None) -> None:
        """Let the next one in; with `fields`, if they name what was wanted here, or everything."""
        if not self._mine or (fields and fields.get("resources") and _line_of(fields) != self._line):
            return
        mine, self._mine = self._mine, NOWHERE
        try:
            self._lock(fcntl.LOCK_UN, mine)
        except OSError:
            self.close()

    def close(self) -> None:
        """Leave for good."""
        if self._fd >= 0:
            os.close(self._fd)  # and with it all that was locked
        self._fd, self._mine = -1, NOWHERE

    def _stand(self) -> int:
        """Stand at the end of the line; says where the one before does.

        Two that come in the same moment may find the same one before them, and be let in together; the store sorts
        them out. To keep them apart here would cost every one of them more.
        """
        self._count = (self._count + 1) % EACH
        mine = OWN + os.getpid() * EACH + self._count
        self._lock(fcntl.LOCK_EX | fcntl.LOCK_NB, mine)
        self._mine = mine
        before = int.from_bytes(os.pread(self._fd, WIDTH, self._line), "big")
        os.pwrite(self._fd, mine.to_bytes(WIDTH, "big"), self._line)
        return before if before < BEYOND else NOWHERE

    def _free(self, before: int) -> bool:
        try:
            self._lock(fcntl.LOCK_EX | fcntl.LOCK_NB, before)
        except BlockingIOError:
            return False
        self._lock(fcntl.LOCK_UN, before)
        return True

    def _wait(self, before: int, seconds: float) -> None:
        """For the kernel; not at all where such a wait could not be ended."""
        self.crowded()
        try:
            let_in = gate.timed(lambda: self._lock(fcntl.LOCK_EX, before), seconds)
        except gate.TimeIsUpError:
            let_in = False
        finally:
            self._lock(fcntl.LOCK_UN, before)  # also where it rang in the moment after
        if not let_in:
            self.leave()

    def _lock(self, how: int, place: int) -> None:
        fcntl.lockf(self._fd, how, 1, place, os.SEEK_SET)


def _line_of(fields: dict[str, Any]) -> int:
    """Where the line is for what is claimed or given back."""
    text = str([list(resource) for resource in fields["resources"]])
    return crc32(text.encode("utf-8", "replace")) % LINES * WIDTH
