"""How fast the store's clock may advance on Redis, so that a jump of the server's wall clock expires nothing early.

The server has no monotonic clock that a script could read. Each machine that uses it has one, so each machine
remembers, in memory and in a file for its other processes, what the store's clock showed and when. If the store's clock
is later further ahead than this machine's clock allows, the server's clock was set forward. Then the store's clock is
held back by the difference (`offset` in `head`), for all machines.

A machine that has not used the store since its boot has nothing to compare with and trusts the server.
"""

from __future__ import annotations

import os

from dibs.machine import clock, processes

SLACK_MS = 2_000  # a smaller step cannot be told from a slow answer
DRIFT_DIVISOR = 1_000  # clocks may drift by one millisecond in this many
WRITE_EVERY_MS = 1_000  # at least this long between two writes of the file
LINE_BYTES = 96  # read from the file


class Pace:
    """The last reading of the store's clock that this machine knows."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._at = self._now = 0  # on this machine's clock since boot; on the store's
        self._written = -WRITE_EVERY_MS
        if path:
            self._read()

    def excess(self, now: int) -> int:
        """How many milliseconds the store's clock is ahead of the possible; 0 if it is not."""
        if not self._at:
            return 0
        elapsed = clock.since_boot() - self._at
        if elapsed < 0 or now <= self._now + elapsed + SLACK_MS + elapsed // DRIFT_DIVISOR:
            return 0
        return now - self._now - elapsed

    def note(self, at: int, now: int) -> None:
        """Note that the store's clock showed `now` at `at` or later."""
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
                pass  # a full disk or a sandbox: other processes then know less

    def _read(self) -> None:
        try:
            fd = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return
        try:
            at, now, boot = os.read(fd, LINE_BYTES).decode().split("\n")[0].split(" ")
            if boot == processes.boot():
                self._at, self._now = int(at), int(now)
        except (OSError, ValueError):
            pass  # not a line of ours: nothing is remembered
        finally:
            os.close(fd)
