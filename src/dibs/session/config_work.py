"""The parts of `.dibs/config.toml` about tasks, messages, runs and the log, checked. Loaded when the file changed."""

from __future__ import annotations

from dibs.errors import Invalid
from dibs.operations.core.policy import STRATEGIES, WORK, check_duration
from dibs.session import durations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

COUNTS = {  # settings that are whole numbers, and the largest that makes sense
    "max_tasks": 1_000, "max_attempts": 1_000, "breaker_failures": 1_000, "inbox": 100_000, "from_one": 100_000,
}  # fmt: skip


def read(text: dict[str, Any], path: str) -> dict[str, dict[str, Any]]:
    """What is said about work, complete: what the file does not say is as WORK has it."""
    found = {}
    for title, defaults in WORK.items():
        table = text.get(title, {})
        if not isinstance(table, dict):
            raise Invalid(f"{path}: [{title}] is a table", path=path)
        for name in table:
            if name not in defaults:
                raise Invalid(f"{path}: there is no {title}.{name}; there are {', '.join(defaults)}", path=path)
        found[title] = {name: _value(table.get(name), name, title, default, path) for name, default in defaults.items()}
    return found


def _value(given: Any, name: str, title: str, default: Any, path: str) -> Any:
    if given is None:
        return default
    if name == "strategy":
        if given not in STRATEGIES:
            raise Invalid(f"{path}: {title}.{name} is one of {', '.join(STRATEGIES)}, not {given!r}", path=path)
        return given
    if name in COUNTS:
        if isinstance(given, bool) or not isinstance(given, int) or not 1 <= given <= COUNTS[name]:
            raise Invalid(f"{path}: {title}.{name} is a whole number from 1 to {COUNTS[name]}", path=path)
        return given
    return check_duration(durations.parse(str(given), f"{path}: {title}.{name}"), f"{path}: {title}.{name}")
