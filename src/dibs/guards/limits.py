"""An error ended the agent's turn: what its client calls it, and when the limit ends, as far as it says.

Clients name a time in words ("resets 3pm (Europe/Berlin)", "try again at 10:18 PM", "resets in 2h 5m"), Claude Code's
transcript also as a number. A text that names none is a limit of unknown length.
"""

from __future__ import annotations

import os
import re
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.guards.payload import Event

TAIL_BYTES = 65_536  # of a transcript
DAY_S = 86_400
_CLOCK = re.compile(
    r"(?:resets?|again)\s+(?:at\s+|on\s+)?"
    r"(?:(?P<month>[A-Z][a-z]{2})[a-z]*\.?\s+(?P<day>\d{1,2})(?:st|nd|rd|th)?(?:,?\s+\d{4})?,?\s+(?:at\s+)?)?"
    r"(?P<hour>\d{1,2})(?::(?P<minute>\d{2}))?\s*(?P<half>[ap]m)?(?:\s*\((?P<zone>[\w/+-]+)\))?",
    re.IGNORECASE,
)
_SPAN = re.compile(
    r"\bin\s+((?:\d+\s*(?:days?|d|hours?|hrs?|h|minutes?|mins?|m|seconds?|secs?|s)\b[\s,and]*)+)", re.IGNORECASE
)
_PART = re.compile(r"(\d+)\s*([dhms])", re.IGNORECASE)
_NUMBER = re.compile(r'"resets_?at"\s*:\s*"?(\d{10,13})', re.IGNORECASE)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_FAILED = '"isApiErrorMessage":true'  # in a transcript's line about it
_SECONDS = {"d": DAY_S, "h": 3600, "m": 60, "s": 1}
MAX_MS = 35 * DAY_S * 1000


def of(event: Event) -> tuple[str, int]:
    """What ended the turn, in words, and for how many ms it lasts; 0: that is not known."""
    kind = event.error.replace("_", " ")
    said = " ".join(event.said.split())
    what = f"{kind}: {said}" if said and kind else said or kind or "an error"
    now = time.time()
    until = _until(said, now) or _number(_last_failure(event.transcript))
    return what, min(MAX_MS, max(0, int((until - now) * 1000)))


def _last_failure(path: str) -> str:
    """The last line of a transcript, if it tells of an error that ended the turn."""
    if not path:
        return ""
    try:
        with open(path, "rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - TAIL_BYTES))
            rows = file.read().decode(errors="replace").splitlines()
    except OSError:
        return ""
    for row in reversed(rows):
        if _FAILED in row:
            return row
        if '"type":"assistant"' in row or '"type":"user"' in row:
            return ""  # it went on after that
    return ""


def _number(text: str) -> float:
    found = _NUMBER.search(text)
    if found is None:
        return 0
    value = int(found.group(1))
    return value / 1000 if value > 10**12 else value


def _until(text: str, now: float) -> float:
    """The time that a text names, in seconds since 1970; 0 if it names none."""
    span = _SPAN.search(text)
    if span is not None:
        return now + sum(int(number) * _SECONDS[unit.lower()] for number, unit in _PART.findall(span.group(1)))
    clock = _CLOCK.search(text)
    if clock is None or not (clock["half"] or clock["minute"]):
        return _number(text)
    hour = int(clock["hour"]) % 12 + 12 * (clock["half"].lower() == "pm") if clock["half"] else int(clock["hour"])
    return _next(now, hour, int(clock["minute"] or 0), clock["zone"] or "", (clock["month"] or "", clock["day"] or ""))


def _next(now: float, hour: int, minute: int, zone: str, day: tuple[str, str]) -> float:
    """The next time at which the clock of a zone shows this."""
    import datetime as dt

    try:
        from zoneinfo import ZoneInfo

        where: dt.tzinfo | None = ZoneInfo(zone) if zone else None
    except (KeyError, ValueError, OSError):
        where = None
    here = dt.datetime.fromtimestamp(now, where).astimezone(where)
    try:
        then = here.replace(hour=hour, minute=minute, second=0, microsecond=0)
        if day[0].lower()[:3] in _MONTHS:
            then = then.replace(month=_MONTHS.index(day[0].lower()[:3]) + 1, day=int(day[1]))
            if then < here - dt.timedelta(days=1):
                then = then.replace(year=then.year + 1)
        elif then <= here:
            then += dt.timedelta(days=1)
    except ValueError:  # no such time
        return 0
    return then.timestamp()
