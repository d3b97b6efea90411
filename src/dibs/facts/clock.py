"""The one door through which time, sleep and randomness enter; a test replaces the functions of this module.

Two clocks. `since_boot` counts milliseconds since the machine started, sleep included; no jump of the wall clock moves
it, so deadlines are made of it. `wall` is the time of day, for people.
"""

from __future__ import annotations

import os
import sys
import time

# CLOCK_BOOTTIME goes on while the machine sleeps (Linux). On macOS CLOCK_MONOTONIC does.
_SINCE_BOOT = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


CLOSE = 50_000  # ns between two looks that are as good as one
COARSE = 10_000_000  # ns to which the distance of the two clocks is rounded, so that it is the same at every look


def since_boot() -> int:
    """Milliseconds since this boot."""
    return time.clock_gettime_ns(_SINCE_BOOT) // 1_000_000


def wall() -> int:
    """Milliseconds since 1970, as the machine believes.

    It ticks when `since_boot` does: a time of that clock is then shown as the same time of day at every look.
    """
    for _ in range(3):  # a process that is put aside between two looks at a clock would see them apart
        since, ahead = time.clock_gettime_ns(_SINCE_BOOT), time.time_ns()
        if time.clock_gettime_ns(_SINCE_BOOT) - since < CLOSE:
            break
    return since // 1_000_000 + (ahead - since + COARSE // 2) // COARSE * (COARSE // 1_000_000)


def sleep(seconds: float) -> None:
    """Wait."""
    time.sleep(seconds)


def random_id() -> str:
    """Twelve hexadecimal digits that nobody else has."""
    return os.urandom(6).hex()


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
    """A time of day as ISO 8601 in UTC, to the second, or to the millisecond where there are any."""
    seconds, ms = divmod(wall_ms, 1000)
    text = "{:04d}-{:02d}-{:02d}T{:02d}:{:02d}:{:02d}".format(*time.gmtime(seconds)[:6])
    return f"{text}.{ms:03d}Z"
