"""The only source of time, sleep and randomness; a test replaces the functions of this module.

Two clocks. `since_boot` is a monotonic clock: milliseconds since the machine started, sleep included. Deadlines use it,
so changing the system time does not affect them. `wall` is the time of day, for people. A store on another machine has
its own time of day: what an answer says is compared with `store_wall`, never with `wall`.
"""

from __future__ import annotations

import os
import sys
import time
from _thread import get_ident

# CLOCK_BOOTTIME continues while the machine sleeps (Linux). On macOS CLOCK_MONOTONIC does.
_SINCE_BOOT = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


READINGS = 5  # of two clocks in one millisecond, at most: on a busy machine some are torn apart
MAX_READ_GAP_NS = 50_000  # two readings at most this far apart count as one moment
SAME_TIME_MS = 1_000  # two machines whose clocks differ by less have the same time of day
ROUNDING_NS = 10_000_000  # the difference of the two clocks is rounded to this, so that it is stable


def since_boot() -> int:
    """Milliseconds since this boot."""
    return time.clock_gettime_ns(_SINCE_BOOT) // 1_000_000


def wall() -> int:
    """Milliseconds since 1970, by the machine's wall clock.

    It ticks together with `since_boot`, so that a time of that clock is always shown as the same time of day.
    """
    for _ in range(3):  # the process may be descheduled between the two readings
        since, ahead = time.clock_gettime_ns(_SINCE_BOOT), time.time_ns()
        if time.clock_gettime_ns(_SINCE_BOOT) - since < MAX_READ_GAP_NS:
            break
    return since // 1_000_000 + (ahead - since + ROUNDING_NS // 2) // ROUNDING_NS * (ROUNDING_NS // 1_000_000)


def ahead() -> int:
    """How far `wall` is ahead of `since_boot`, in milliseconds; never too little.

    A process that is descheduled between the two readings would keep a wrong difference for as long as it lives.
    """
    for _ in range(READINGS):
        before = since_boot()
        found = wall() - before
        if since_boot() == before:
            break
    return found


_store_ahead = 0  # ms: the store's time of day minus this machine's, if they differ


def hear(store_ahead: int) -> None:
    """Note how far a store's time of day is ahead of `since_boot`, in milliseconds."""
    global _store_ahead  # noqa: PLW0603 - a process shows the times of one store
    difference = store_ahead - ahead()
    _store_ahead = difference if abs(difference) > SAME_TIME_MS else 0


def store_wall() -> int:
    """The time of day of the store that answered last; this machine's before the first answer. For people."""
    return wall() + _store_ahead


def sleep(seconds: float) -> None:
    """Wait."""
    time.sleep(seconds)


def random_id() -> str:
    """Twelve random hexadecimal digits, unique in practice."""
    return os.urandom(6).hex()


def temporary(path: str) -> str:
    """The name under which a file is written before it takes that path; no two threads of this machine share one."""
    return f"{path}.{os.getpid()}.{get_ident():x}"


def boot_id() -> str:
    """The name of this boot of this machine: it changes with every restart."""
    try:
        with open("/proc/sys/kernel/random/boot_id", "rb") as file:
            return file.read(36).decode()
    except OSError:
        return _boot_id_elsewhere()


def _boot_id_elsewhere() -> str:
    if sys.platform == "darwin":
        import subprocess

        command = ["/usr/sbin/sysctl", "-n", "kern.bootsessionuuid"]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=5).stdout.strip()  # noqa: S603
    return "unknown"


def iso(wall_ms: int) -> str:
    """A time of day as ISO 8601 in UTC, to the second, or to the millisecond if it is not zero."""
    seconds, ms = divmod(wall_ms, 1000)
    text = "{:04d}-{:02d}-{:02d}T{:02d}:{:02d}:{:02d}".format(*time.gmtime(seconds)[:6])
    return f"{text}.{ms:03d}Z"


def of_iso(text: str) -> int:
    """The milliseconds since 1970 of an ISO 8601 time in UTC: what `iso` was made of."""
    from datetime import datetime

    moment = datetime.fromisoformat(text)
    return int(moment.timestamp()) * 1000 + moment.microsecond // 1000
