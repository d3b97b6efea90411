"""Durations as people write them: `90s`, `30m`, `2h`, `1d`, or a plain number of seconds."""

from __future__ import annotations

from dibs.errors import Invalid

UNITS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
MOST = 1e12  # below this, whatever the unit
MINUTE, HOUR = 60, 3600  # seconds


def parse(text: str, field: str) -> int:
    """Milliseconds."""
    number = text.strip().lower()
    unit = 1_000
    for name in ("ms", "s", "m", "h", "d"):
        if number.endswith(name) and not (name == "s" and number.endswith("ms")):
            number, unit = number[: -len(name)], UNITS[name]
            break
    try:
        value = float(number)
    except ValueError:
        value = -1.0
    if not 0 <= value < MOST or number.strip() != number or not number:
        raise Invalid(f"{field}: {text!r} is not a duration; write 90s, 30m, 2h or seconds", field=field)
    return round(value * unit)


def read(value: object, field: str) -> int:
    """Milliseconds, from a text such as `30m` or from a number of seconds."""
    if isinstance(value, str):
        return parse(value, field)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < MOST:
        shown = repr(value) if isinstance(value, (int, float, type(None))) else f"a {type(value).__name__}"
        raise Invalid(f'{field}: seconds, or a text such as "30m", not {shown}', field=field)
    return round(value * 1000)


def show(ms: int) -> str:
    """A duration for people: the two greatest units."""
    seconds = max(0, ms) // 1000
    if seconds < MINUTE:
        return f"{seconds}s"
    if seconds < HOUR:
        return f"{seconds // 60}m{seconds % 60:02d}s" if seconds % 60 else f"{seconds // 60}m"
    return f"{seconds // 3600}h{seconds // 60 % 60:02d}m"
