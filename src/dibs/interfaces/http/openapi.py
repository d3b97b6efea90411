"""`GET /openapi.json`: the description of all routes, made from the declarations (`interfaces/schema.py`).

Every status that can be sent is declared. What only the caller's own machine could read (a process, a file to write) is
no field here; a path is a text below the workspace's root.
"""

from __future__ import annotations

from typing import Any

from dibs import __version__
from dibs.client import catalogue
from dibs.errors import ERRORS
from dibs.interfaces import schema

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.interfaces.schema import Definitions, Schema
    from dibs.operations.core.declare import Operation

COMPONENTS = "#/components/schemas/"
DOOR = ("invalid", "unauthorized", "forbidden", "quota", "busy", "unavailable")  # what any request may be refused with
# Statuses of HTTP itself, with the CLI's error object of this code.
PROTOCOL = {400: "invalid", 408: "invalid", 413: "invalid", 415: "invalid", 421: "invalid", 429: "quota",
            500: "unavailable"}  # fmt: skip
DURATION = {
    "anyOf": [
        {"type": "string", "pattern": r"^[0-9]{1,9}(ms|s|m|h|d)?$"},
        {"type": "number", "minimum": 0, "maximum": 31_622_400},
    ],
}
COMMON = {
    "as": {"type": "string", "maxLength": 200,
           "description": "the agent that it speaks for (else the credential's own)"},
    "request_id": {"type": "string", "maxLength": 200,
                   "description": "idempotency key (or the header Idempotency-Key): a retry gets the first answer"},
}  # fmt: skip


def description(url: str = "") -> dict[str, Any]:
    """The whole description."""
    definitions: Definitions = {}
    every = sorted([*catalogue.every(), *catalogue.queries()], key=lambda operation: operation.name)
    paths = {
        f"/v1/{operation.name.replace(' ', '/')}": {"post": _route(operation, schema.answer(operation, definitions))}
        for operation in every
    }
    paths.update(_others())
    errors = {_error_name(code): _error(one) for code, one in schema.errors(definitions).items()}
    schemas = {name: _moved(one) for name, one in definitions.items()} | errors
    return {
        "openapi": "3.1.0",
        "info": {"title": "dibs", "version": __version__,
                 "description": "Coordination for coding agents: who may change what, decided outside the model."},
        **({"servers": [{"url": url}]} if url else {}),
        "security": [{"bearer": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
            "schemas": dict(sorted(schemas.items())),
        },
    }  # fmt: skip


def _route(operation: Operation, answer: Schema) -> Schema:
    """The route of an operation."""
    request = _fields(schema.request(operation))
    request["properties"] = {**request["properties"], **COMMON}
    codes = {error.code for error in operation.errors}
    return {
        "operationId": operation.name.replace(" ", "_"),
        "summary": operation.help,
        "tags": [operation.group],
        "x-may": operation.rank,
        "requestBody": {"required": True, "content": {"application/json": {"schema": request}}},
        "responses": {
            "200": {"description": "The answer, as `--json` prints it.", "content": _json(_answer(answer))},
            **_refusals({*codes, *DOOR, "not_found"}),
        },
    }


def _answer(answer: Schema) -> Schema:
    """An answer: `ok`, and the keys of its type."""
    ok = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}
    return {"allOf": [ok, _moved(answer)]}


def _refusals(codes: set[str]) -> dict[str, Schema]:
    """The responses of these refusals, by status, and those of HTTP itself."""
    by_status: dict[int, set[str]] = {}
    for code in codes:
        by_status.setdefault(ERRORS[code].status, set()).add(code)
    for status, code in PROTOCOL.items():
        by_status.setdefault(status, set()).add(code)
    found: dict[str, Schema] = {}
    for status in sorted(by_status):
        named = sorted(by_status[status])
        refs = [{"$ref": f"{COMPONENTS}{_error_name(code)}"} for code in named]
        found[str(status)] = {
            "description": f"Refused: {', '.join(named)}.",
            "content": _json(refs[0] if len(refs) == 1 else {"anyOf": refs}),
        }
    return found


def _others() -> dict[str, Schema]:
    """The routes that are no operation."""
    refused = _refusals(set(DOOR))
    text = {"200": {"description": "Text.", "content": {"text/plain": {"schema": {"type": "string"}}}}}
    ok = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}
    query = [
        {"name": name, "in": "query", "schema": {"type": "string"}, "description": what}
        for name, what in (
            ("from", "after this event number (also as the header Last-Event-ID); else from now on"),
            ("kind", "only kinds that start with this"), ("agent", "only events of this agent"),
            ("resource", "only events about this path, glob or name"),
        )
    ]  # fmt: skip
    stream = {"200": {"description": "Server-sent events.", "content": {"text/event-stream": {"schema": {}}}}}
    page = {"200": {"description": "A page.", "content": {"text/html": {"schema": {"type": "string"}}}}}
    misdirected = {status: refused[status] for status in ("403", "421", "500")}
    routes: dict[str, Schema] = {
        "/healthz": {"get": {"summary": "Does the server run?", "security": [], "responses": {
            "200": {"description": "It does.", "content": _json(ok)}, **misdirected}}},
        "/readyz": {"get": {"summary": "Does the store answer?", "responses": {
            "200": {"description": "It does.", "content": _json(ok)}, **refused}}},
        "/metrics": {"get": {"summary": "Figures for Prometheus.", "responses": {**text, **refused}}},
        "/openapi.json": {"get": {"summary": "This description.", "responses": {
            "200": {"description": "OpenAPI.", "content": _json({"type": "object"})}, **refused}}},
        "/events": {"get": {"summary": "The log as it grows.", "parameters": query, "responses": {
            **stream, **refused}}},
        "/": {"get": {"summary": "The page.", "security": [], "responses": {**page, **misdirected}}},
    }  # fmt: skip
    for path, route in routes.items():
        route["get"]["operationId"] = f"get_{path.strip('/').removesuffix('.json') or 'page'}"
    return routes


def _json(value: Schema) -> Schema:
    return {"application/json": {"schema": value}}


def _error_name(code: str) -> str:
    return f"Error_{code}"


def _error(error: Schema) -> Schema:
    """The error object of the CLI."""
    return {
        "type": "object",
        "properties": {"ok": {"const": False}, "error": _moved(error)},
        "required": ["ok", "error"],
        "additionalProperties": False,
    }


def _fields(request: Schema) -> Schema:
    """A request's fields as a server takes them."""
    found = {}
    for name, one in request["properties"].items():
        if one.get("x-kind") in {"process", "file"}:
            continue
        field = {key: value for key, value in one.items() if not key.startswith("x-")}
        if one.get("x-kind") == "duration":
            field = {"description": one.get("description", ""), **DURATION}
        elif one.get("x-kind") == "commit":
            field["pattern"] = "^([0-9a-f]{7,64})?$"
        if "items" in field and "properties" in field["items"]:
            field["items"] = _fields(field["items"])
        found[name] = field
    return {**request, "properties": found}


def _moved(part: Any) -> Any:
    """The same with its references in the place where OpenAPI has them; answers may gain keys in a later version."""
    if isinstance(part, dict):
        return {
            key: COMPONENTS + value.removeprefix(schema.DEFINITIONS) if key == "$ref" else _moved(value)
            for key, value in part.items()
            if key != "additionalProperties" or value is not False
        }
    return [_moved(one) for one in part] if isinstance(part, list) else part
