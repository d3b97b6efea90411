"""From words to an operation's fields: one reader for each kind of field, for every door that gets text."""

from __future__ import annotations

from dibs.errors import Invalid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dibs.doors.session import Session
    from dibs.operations.declare import Field


def read(session: Session, field: Field, value: Any) -> Any:
    """The value that the operation gets for what somebody wrote."""
    kind = field.kind
    if kind == "resources":
        return [_resource(session, text) for text in value]
    if kind == "resource":
        return _resource(session, value)
    if kind == "duration":
        return _duration(value, field)
    if kind == "integer":
        return _integer(value, field)
    if kind == "choice":
        if value not in field.choices:
            raise Invalid(f"{field.name}: one of {', '.join(field.choices)}, not {value!r}", field=field.name)
        return value
    if kind == "words":
        words = value.split(",") if isinstance(value, str) else value
        return [word.strip() for word in words if word.strip()]
    if kind == "process":
        return _process(value, field)
    return value


def _resource(session: Session, value: Any) -> list[str]:
    """A canonical resource from text; one that is canonical already stays as it is."""
    return value if isinstance(value, list) else list(session.paths.resource(value, session.cwd))


def _integer(value: Any, field: Field) -> int:
    try:
        number = int(value)
    except (TypeError, ValueError):
        number = -1
    if not 0 <= number < 2**63:
        raise Invalid(f"{field.name}: a whole number, not {value!r}", field=field.name)
    return number


def _process(value: Any, field: Field) -> list[Any]:
    from dibs.facts import processes

    found = processes.of(_integer(value, field))
    if found is None:
        raise Invalid(f"{field.name}: there is no process {value}", field=field.name)
    return found


def _duration(value: Any, field: Field) -> int:
    """Texts such as `30m`; numbers, which come from Python, are seconds."""
    from dibs.doors import durations

    if isinstance(value, str):
        return durations.parse(value, field.name)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < durations.MOST:
        raise Invalid(f"{field.name}: seconds, not {value!r}", field=field.name)
    return round(value * 1000)
