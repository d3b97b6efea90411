"""The keeper: a small process that outlives the owner of a claim's command and kills the command when it must.

Started as a script by child_process.py, one for each process that starts commands. It reads lines `GROUP UNTIL` from
its standard input: the process group that runs now (0: none), and the deadline of its claim, in milliseconds of the
clock since boot (0: never). When the deadline passes without a new line, or when the input ends because the owner died,
however it died, the whole group is killed. So no command runs for long after another agent got its claim.

It imports nothing of dibs: it must start at once and stay small.
"""

from __future__ import annotations

import os
import select
import signal
import time

_SINCE_BOOT = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)  # as in machine/clock.py
MAX_WAIT_S = 5.0  # of one wait: a sleeping machine does not count wait time, but the clock since boot does


def main() -> None:
    """Watch until the owner has ended."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # signals are for the owner, which tells the keeper
    group, until, rest = 0, 0, b""
    while True:
        timeout = min(MAX_WAIT_S, max(0, until - _now()) / 1000) if group and until else None
        if not select.select([0], [], [], timeout)[0]:
            if until <= _now():
                _end(group)
                group = 0
            continue
        data = os.read(0, 4096)
        if not data:
            _end(group)
            return
        *lines, rest = (rest + data).split(b"\n")
        if lines:
            group, until = (int(word) for word in lines[-1].split())


def _now() -> int:
    return time.clock_gettime_ns(_SINCE_BOOT) // 1_000_000


def _end(group: int) -> None:
    if group:
        try:
            os.killpg(group, signal.SIGKILL)
        except OSError:  # it has ended already
            pass


if __name__ == "__main__":
    main()
