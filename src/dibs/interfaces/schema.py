"""The requests and answers of operations, and the errors, as JSON Schema (2020-12), derived from the declarations.

For the interfaces that describe themselves: OpenAPI (http/) and the tools of MCP (mcp/). They derive it when they
first need it and keep what they make of it; no file has it. Importing this costs some 15 ms (typing, and the answers of
all rooms).

A type with a name is a definition: it goes to `definitions`, and a reference stands in its place.
"""

from __future__ import annotations

from types import NoneType, UnionType
from typing import Any, Literal, NotRequired, Union, get_args, get_origin, get_type_hints, is_typeddict

from dibs.audit import answers as queries
from dibs.audit import report_answers as reports
from dibs.errors import ERRORS
from dibs.operations.agents import answers as agents
from dibs.operations.alerts import answers as alerts
from dibs.operations.claims import answers as claims
from dibs.operations.core import answers as core
from dibs.operations.core.declare import MAX_INTEGER
from dibs.operations.documents import answers as documents
from dibs.operations.guards import answers as guards
from dibs.operations.handovers import answers as handovers
from dibs.operations.landing import answers as landing
from dibs.operations.messages import answers as messages
from dibs.operations.oversight import answers as oversight
from dibs.operations.runs import answers as runs
from dibs.operations.tasks import answers as tasks
from dibs.operations.upkeep import answers as upkeep
from dibs.operations.votes import answers as votes
from dibs.verify import answers as verify

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.errors import DibsError
    from dibs.operations.core.declare import Field, Operation

    Schema = dict[str, Any]
    Definitions = dict[str, Schema]  # by the name of the type

# Every type of an answer, and of a thing shown in one, by its name: no two rooms have one of the same name.
TYPES = {
    name: kind
    for room in (
        queries,
        reports,
        verify,
        agents,
        alerts,
        claims,
        core,
        documents,
        guards,
        handovers,
        landing,
        messages,
        oversight,
        runs,
        tasks,
        upkeep,
        votes,
    )
    for name, kind in vars(room).items()
    if not name.startswith("__")
}
DEFINITIONS = "#/$defs/"  # what a reference begins with
PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean", NoneType: "null"}

# How a value is written in JSON, by kind of field. What only the caller's machine can read is a text (or a pid).
WRITTEN: dict[str, Schema] = {
    "text": {"type": "string"}, "agent": {"type": "string"}, "commit": {"type": "string"}, "file": {"type": "string"},
    "choice": {"type": "string"}, "resource": {"type": "string"}, "process": {"type": "integer"},
    "duration": {"type": ["string", "number"]}, "flag": {"type": "boolean"}, "json": {},
    "integer": {"type": "integer", "minimum": 0, "maximum": MAX_INTEGER - 1},
    "number": {"type": "integer", "minimum": -MAX_INTEGER, "maximum": MAX_INTEGER - 1},
    "words": {"type": "array", "items": {"type": "string"}},
    "resources": {"type": "array", "items": {"type": "string"}},
}  # fmt: skip


def request(operation: Operation) -> Schema:
    """An operation's fields."""
    return _object(operation.fields)


def answer(operation: Operation, definitions: Definitions) -> Schema:
    """An operation's answer: a reference to its definition."""
    return _of_type(TYPES[operation.answer], definitions)


def errors(definitions: Definitions) -> dict[str, Schema]:
    """Every error by its code, with the facts that it may have."""
    return {
        code: {
            "type": "object",
            "properties": {
                "code": {"const": code}, "message": {"type": "string"},
                **{name: _of_type(hint, definitions) for name, hint in facts(error).items()},
            },
            "required": ["code", "message"],
            "additionalProperties": False,
        }
        for code, error in sorted(ERRORS.items())
    }  # fmt: skip


def facts(error: type[DibsError]) -> dict[str, Any]:
    """The facts that an error may have with their types, from the annotations of its class."""
    hints = get_type_hints(error, TYPES)
    return {name.rstrip("_"): hints[name] for name in sorted(error.__annotations__)}


def hints_of(answer: str) -> dict[str, Any]:
    """The keys of an answer (or of a thing shown in one) with their types; those of every listing come last."""
    hints = get_type_hints(TYPES[answer], None, TYPES, include_extras=True)
    return {**{key: hint for key, hint in hints.items() if key not in core.Page.__annotations__}, **hints}


def is_sometimes(hint: object) -> bool:
    """May the key of this type be missing?"""
    return get_origin(hint) is NotRequired


def plain(hint: Any) -> Any:
    """The type itself, whether or not its key may be missing."""
    return hint.__args__[0] if is_sometimes(hint) else hint


def _object(fields: tuple[Field, ...]) -> Schema:
    shown = [field for field in fields if not field.internal]
    return {
        "type": "object",
        "properties": {field.name: _property(field) for field in shown},
        "required": [field.name for field in shown if field.required],
        "additionalProperties": False,
    }


def _property(field: Field) -> Schema:
    """One field. Bounds of a duration are in milliseconds, and so are no bounds of what is written."""
    schema: Schema = {"description": field.help, **WRITTEN[field.kind]}
    if field.items:
        schema.update(type="array", items=_object(field.items))
        schema.update(
            {"minItems": field.least} if field.least else {}, **({"maxItems": field.most} if field.most else {})
        )
    elif field.kind in {"integer", "number"}:
        schema.update({"minimum": field.least} if field.least is not None else {})
        schema.update({"maximum": field.most} if field.most is not None else {})
    elif field.kind == "text" and field.longest:
        schema["maxLength"] = field.longest
    elif field.kind == "words" and field.longest:
        schema["items"] = {"type": "string", "maxLength": field.longest}
    if field.choices:
        schema["enum"] = list(field.choices)
    if not field.required and field.default not in (None, "", ()) and field.kind != "duration":
        schema["default"] = list(field.default) if isinstance(field.default, tuple) else field.default
    if field.kind in {"commit", "duration", "file", "process"}:
        schema["x-kind"] = field.kind  # how it is written differs from door to door
    if field.local:
        schema["x-local"] = True  # a server cannot read it for a caller on another machine
    return schema


def _of_type(hint: Any, definitions: Definitions) -> Schema:
    """A type as JSON Schema."""
    kind, parts = get_origin(hint), get_args(hint)
    if hint is Any:
        return {}
    if hint in PLAIN:
        return {"type": PLAIN[hint]}
    if kind is Literal:
        return {"enum": list(parts)}
    if kind is list:
        return {"type": "array", "items": _of_type(parts[0], definitions)}
    if kind is dict:
        return {"type": "object", "additionalProperties": _of_type(parts[1], definitions)}
    if kind in {Union, UnionType}:
        return {"anyOf": [_of_type(part, definitions) for part in parts]}
    assert is_typeddict(hint), hint
    name = hint.__name__
    if name not in definitions:
        definitions[name] = {}  # it may contain itself
        keys = hints_of(name)
        definitions[name] = {
            "type": "object",
            "description": (hint.__doc__ or "").splitlines()[0],
            "properties": {key: _of_type(plain(one), definitions) for key, one in keys.items()},
            "required": [key for key, one in keys.items() if not is_sometimes(one)],
            "additionalProperties": False,
        }
    return {"$ref": f"{DEFINITIONS}{name}"}
