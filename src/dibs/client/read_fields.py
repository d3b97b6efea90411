"""From words to an operation's fields: one reader for each kind of field, for every door that gets text."""

from __future__ import annotations

from dibs.canonical import Canonical
from dibs.errors import Invalid
from dibs.jsontext import is_text
from dibs.machine import caller

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dibs.client.session import Session
    from dibs.operations.core.declare import Field, Operation

MIN_COMMIT_CHARS, MAX_COMMIT_CHARS = 7, 64  # of a commit's id
MAX_RESOURCES = 10_000  # that are looked at for one request: each is some lines of work on a file system
DIGITS = 20  # of the largest whole number that is kept; `int` of a text of millions takes seconds


def read(session: Session, field: Field, value: Any, *, typed: bool = False) -> Any:
    """The value that the operation gets for what a caller wrote; `typed` where it is a value already, from Python.

    What a reader makes of it is checked by the declaration: the one place that says what each kind of field holds.
    """
    if field.kind == "json" and typed:
        return field.check(_items(session, field, value) if field.items else value)
    reader = _READERS.get(field.kind)
    return field.check(value if reader is None else reader(session, field, value))


def request(
    session: Session, operation: Operation, given: dict[str, Any], *, typed: bool = False, here: bool = True
) -> dict[str, Any]:
    """The fields of a request that came from outside; what it does not say, the environment may.

    `here`: the caller is on this machine, with this environment, these processes and files. A server's is not: for it
    a text is a text, a path belongs to the server's own tree, and what only its own machine can read is refused.

    What is internal is for doors, guards and the wait loop to say: from outside there is no such field.
    """
    values: dict[str, Any] = {}
    known = operation.by_name
    for name, value in given.items():
        field = known.get(name)
        if field is None or field.internal:
            raise operation.no_field(name)
        written = value if here else _elsewhere(field, value)
        values[name] = read(session, field, written, typed=typed)
    for field in operation.fields if here else ():
        if field.env and field.name not in values and caller.environ().get(field.env):
            values[field.name] = read(session, field, caller.environ()[field.env])
    return values


def _elsewhere(field: Field, value: object) -> Any:
    """What a caller of a server wrote, as JSON has it; refuses what a server cannot read, or should not open for it."""
    if field.kind in {"process", "file"}:
        raise Invalid(f"{field.name}: only on the caller's own machine, not through a server", field=field.name)
    if field.kind in {"integer", "number"} and isinstance(value, float) and value.is_integer():
        return int(value)  # 1.0 is a whole number in JSON
    if field.kind in {"integer", "number", "words"} and isinstance(value, str):
        raise field.refusal(value)
    if field.kind == "commit" and value and not (isinstance(value, str) and is_hex(value)):
        raise field.refusal(value, "a commit's id, 7 to 64 hexadecimal digits")
    return value


def is_hex(text: str) -> bool:
    """Is this a commit's id, and not some other word of git's?"""
    return MIN_COMMIT_CHARS <= len(text) <= MAX_COMMIT_CHARS and not text.strip("0123456789abcdef")


def _words(_: Session, field: Field, value: Any) -> list[str]:
    """Words from one text with commas, or from a list."""
    words = value.split(",") if isinstance(value, str) else value
    field.check(words)
    return [word.strip() for word in words if word.strip()]


def plain_path(value: object) -> Any:
    """The text of a path that a Python program has as a `pathlib.Path`."""
    return value.__fspath__() if not isinstance(value, str) and hasattr(value, "__fspath__") else value


def _resource(session: Session, field: Field, value: object) -> Canonical:
    """A canonical resource from text; one that workspace/paths.py made stays as it is."""
    if isinstance(value, Canonical):
        return value
    value = plain_path(value)
    if not is_text(value):
        raise field.refusal(value, "a path, a glob or a name such as db:migrations")
    return session.paths.canonical(value, session.cwd)


def _resources(session: Session, field: Field, value: object) -> list[Canonical]:
    if not isinstance(value, (list, tuple)):
        raise field.refusal(value)
    if len(value) > MAX_RESOURCES:
        message = f"{field.name}: {len(value)} in one request, at most {MAX_RESOURCES}; name folders or globs instead"
        raise Invalid(message, field=field.name)
    found: list[Canonical] = []
    for one in value:
        text = plain_path(one)
        if isinstance(one, Canonical):
            found.append(one)
        elif is_text(text):
            found += session.paths.expanded(text, session.cwd)  # `src/{a,c}*` is two
        else:
            raise field.refusal(one, "a path, a glob or a name such as db:migrations")
    return found


def _json(session: Session, field: Field, text: str) -> Any:
    """The value of a JSON text, or of the file that `@FILE` names."""
    from dibs.client import json_input

    value = json_input.read(session, field.name, text)
    return _items(session, field, value) if field.items else value


def _items(session: Session, field: Field, value: object) -> Any:
    """A list of objects with declared fields: durations in it are texts or seconds, too. The rest is checked later."""
    if not isinstance(value, (list, tuple)):
        return value
    durations = [one for one in field.items if one.kind == "duration"]
    found = []
    for place, item in enumerate(value):
        read_ = item
        for one in durations:
            if isinstance(item, dict) and item.get(one.name) is not None:
                try:
                    read_ = {**read_, one.name: _duration(session, one, item[one.name])}
                except Invalid as error:
                    raise Invalid(f"{field.name}: item {place + 1}: {error.message}", field=one.name) from None
        found.append(read_)
    return found


def _whole(_: Session, field: Field, value: object) -> object:
    """A whole number, from its decimal text where it came as a text."""
    if isinstance(value, str):
        digits = value.removeprefix("-") if field.kind == "number" else value
        if digits.isascii() and digits.isdigit() and len(digits) <= DIGITS:
            return int(value)
    return value


def _commit(session: Session, field: Field, value: object) -> str:
    """A commit's full id. Where there is a repository it has to be in it: a wrong one would be in the log for good."""
    if not is_text(value) or not value.isprintable():
        raise field.refusal(value)
    if not value or not session.place.common:
        return str(value)
    from dibs.git import queries as git

    found = "" if value.startswith("-") else git.commit(session.place.top, value)
    if not found:
        raise field.refusal(value, "a commit that is in this repository")
    return found


def _process(_: Session, field: Field, value: object) -> list[Any]:
    from dibs.machine import processes

    pid = _whole(_, field, value)
    if isinstance(pid, bool) or not isinstance(pid, int):
        raise field.refusal(value, "a process id")
    found = processes.of(pid)
    if found is None:
        raise Invalid(f"{field.name}: there is no process {value}", field=field.name)
    return found


def _duration(_: Session, field: Field, value: object) -> int:
    """Texts such as `30m`; numbers, which come from Python and from JSON, are seconds."""
    from dibs.machine import durations

    return durations.read(value, field.name)


_READERS = {
    "resources": _resources,
    "resource": _resource,
    "duration": _duration,
    "integer": _whole,
    "number": _whole,
    "words": _words,
    "process": _process,
    "json": _json,
    "commit": _commit,
}
