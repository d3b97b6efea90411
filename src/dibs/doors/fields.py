"""From words to an operation's fields: one reader for each kind of field, for every door that gets text."""

from __future__ import annotations

import os

from dibs.errors import Invalid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dibs.doors.session import Session
    from dibs.operations.declare import Field, Operation


def read(session: Session, field: Field, value: Any, *, typed: bool = False) -> Any:
    """The value that the operation gets for what somebody wrote; `typed` where it is a value already, from Python."""
    if field.kind == "json" and typed:
        from dibs.operations import payloads

        return payloads.check(value, field.name)  # a value that is no JSON is refused before anything is made of it
    reader = _READERS.get(field.kind)
    return value if reader is None else reader(session, field, value)


def default_run(given: str) -> str:
    """The run that is named, or that the environment names."""
    return given or os.environ.get("DIBS_RUN", "")


def add_run(operation: Operation, values: dict[str, Any]) -> None:
    """Where a run's command does not say which, the environment may."""
    if operation.name.startswith("run ") and "run" not in values and any(f.name == "run" for f in operation.fields):
        named = default_run("")
        if named:
            values["run"] = named


def _choice(_: Session, field: Field, value: Any) -> str:
    if value not in field.choices:
        raise Invalid(f"{field.name}: one of {', '.join(field.choices)}, not {value!r}", field=field.name)
    return str(value)


def _words(_: Session, __: Field, value: Any) -> list[str]:
    words = value.split(",") if isinstance(value, str) else value
    return [word.strip() for word in words if word.strip()]


def _resource(session: Session, value: Any) -> list[str]:
    """A canonical resource from text; one that is canonical already stays as it is."""
    return value if isinstance(value, list) else list(session.paths.resource(value, session.cwd))


def _json(session: Session, field: Field, text: str) -> Any:
    """The value of a JSON text, or of the file that `@FILE` names."""
    from dibs.doors import jsonfiles

    return jsonfiles.read(session, field.name, text)


def _whole(value: Any, field: Field, least: int = 0) -> int:
    try:
        number = int(value)
    except (TypeError, ValueError):
        number = least - 1
    if not least <= number < 2**63:
        raise Invalid(f"{field.name}: a whole number, not {value!r}", field=field.name)
    return number


def _process(_: Session, field: Field, value: Any) -> list[Any]:
    from dibs.facts import processes

    found = processes.of(_whole(value, field))
    if found is None:
        raise Invalid(f"{field.name}: there is no process {value}", field=field.name)
    return found


def _duration(_: Session, field: Field, value: Any) -> int:
    """Texts such as `30m`; numbers, which come from Python, are seconds."""
    from dibs.doors import durations

    if isinstance(value, str):
        return durations.parse(value, field.name)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < durations.MOST:
        raise Invalid(f"{field.name}: seconds, not {value!r}", field=field.name)
    return round(value * 1000)


_READERS = {
    "resources": lambda session, _, value: [_resource(session, text) for text in value],
    "resource": lambda session, _, value: _resource(session, value),
    "duration": _duration,
    "integer": lambda _, field, value: _whole(value, field),
    "number": lambda _, field, value: _whole(value, field, least=-(2**63)),
    "choice": _choice,
    "words": _words,
    "process": _process,
    "json": _json,
}
