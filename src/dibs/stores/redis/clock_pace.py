"""How fast the store's clock may go on Redis: a jump of the server's wall clock ends nothing early.

The server has no monotonic clock that a script could read. The machines that use it have one each, so each of them
remembers, in memory and in a file for its other processes, what the store's clock showed when. When the clock is later
further ahead than this machine's own clock allows, the server's clock was set forward, and the store's clock is held
back by the difference (`offset` in `head`), for everybody.

A machine that has not used the store since its boot has nothing to compare with, and believes the server.
"""

from __future__ import annotations

import os

from dibs.facts import clock, processes

SLACK_MS = 2_000  # a step below this is not told from a slow answer
DRIFT = 1_000  # one millisecond in so many: no two clocks go exactly alike
WRITE_EVERY_MS = 1_000  # so often the file is written, at most
LINE = 96  # bytes of the file that are read


class Pace:
    """What this machine knows of the store's clock."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._at = self._now = 0  # on this machine's clock since boot; on the store's
        self._written = -WRITE_EVERY_MS
        if path:
            self._read()

    def excess(self, now: int) -> int:
        """By how many milliseconds the store's clock is further than it can be; 0 if it can."""
        if not self._at:
            return 0
        elapsed = clock.since_boot() - self._at
        if elapsed < 0 or now <= self._now + elapsed + SLACK_MS + elapsed // DRIFT:
            return 0
        return now - self._now - elapsed

    def note(self, at: int, now: int) -> None:
        """The store's clock showed `now`, when it was asked at `at` or later."""
        self._at, self._now = at, now
        if self._path and at - self._written >= WRITE_EVERY_MS:
            self._written = at
            try:
                fd = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
                try:
                    os.pwrite(fd, f"{at:015d} {now:015d} {processes.boot()}\n".encode(), 0)
                finally:
                    os.close(fd)
            except OSError:
                pass  # a full disk, a sandbox: then other processes know less

    def _read(self) -> None:
        try:
            fd = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return
        try:
            at, now, boot = os.read(fd, LINE).decode().split("\n")[0].split(" ")
            if boot == processes.boot():
                self._at, self._now = int(at), int(now)
        except (OSError, ValueError):
            pass  # not a line of ours: nothing is remembered
        finally:
            os.close(fd)
