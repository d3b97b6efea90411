"""Times for people: how long until, how long since. `--json` has them as ISO 8601."""

from __future__ import annotations

from dibs.machine import clock

MINUTE = 60  # seconds; also minutes of an hour
MAX_SECONDS_SHOWN = 100  # a longer time is shown in minutes


def left(at: str) -> str:
    """How long until that time; what has begun counts."""
    return short(ms_until(at) + 999, up=True)


def ago(at: str) -> str:
    """How long since that time."""
    return short(-ms_until(at))


def short(ms: int, *, up: bool = False) -> str:
    """A duration in the one or two units that matter: 42s, 27m, 2h05m, 3d."""
    seconds = max(0, ms) // 1000
    if seconds < MAX_SECONDS_SHOWN:
        return "1m" if seconds == MINUTE else f"{seconds}s"
    minutes = (seconds + (MINUTE - 1 if up else 0)) // MINUTE
    if minutes < MINUTE:
        return f"{minutes}m"
    hours = minutes // 60
    if hours < 48:  # noqa: PLR2004 - two days
        return f"{hours}h{minutes % 60:02d}m" if minutes % 60 else f"{hours}h"
    return f"{hours // 24}d"


def ms_until(at: str) -> int:
    """Milliseconds from now until an ISO 8601 time of an answer; negative if it has passed."""
    return clock.of_iso(at) - clock.store_wall()
