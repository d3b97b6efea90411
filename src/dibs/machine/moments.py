"""Moments as people write them: `14:32` (today, or yesterday if that lies ahead), an ISO time, or how long ago (`20m`).

A time without a zone is that of this machine's clock on the wall. A moment ahead of now is a usage error: it has no
state.
"""

from __future__ import annotations

from dibs.errors import Invalid
from dibs.machine import clock, durations

FORMS = "14:32, 2026-07-01T14:32, or how long ago: 20m"
MAX_CHARS = 40


def parse(text: str, field: str, now: int | None = None) -> int:
    """Milliseconds of the wall clock; `now` is one, too."""
    from datetime import datetime, timedelta

    wall = clock.wall() if now is None else now
    word = text.strip()
    if not word or len(word) > MAX_CHARS:
        raise Invalid(f"{field}: {text[:MAX_CHARS]!r} is no time; write {FORMS}", field=field)
    if word[-1:].lower() in {"s", "m", "h", "d"} and ":" not in word:
        return wall - durations.parse(word, field)
    try:
        here = datetime.fromtimestamp(wall / 1000).astimezone()
        if "-" not in word:
            hours, _, rest = word.partition(":")
            minutes, _, seconds = rest.partition(":")
            at = here.replace(hour=int(hours), minute=int(minutes), second=int(seconds or 0), microsecond=0)
            # all of the minute that is named, or of the second: what was done in it has been done by then
            at += timedelta(seconds=1) if seconds else timedelta(minutes=1)
            at -= timedelta(milliseconds=1)
            begun = at.replace(second=at.second if seconds else 0, microsecond=0)
            found = at - timedelta(days=1) if begun > here else at
        else:
            found = datetime.fromisoformat(word).astimezone()
            if found > here:
                raise Invalid(f"{field}: {text} is ahead of now", field=field)
        moment = round(found.timestamp() * 1000)
    except (ValueError, OverflowError, OSError):
        raise Invalid(f"{field}: {text!r} is no time; write {FORMS}", field=field) from None
    return min(moment, wall)
