"""`GET /openapi.json`: the description of all routes, made from the declarations (`operations/core/schema.json`).

Every status that can be sent is declared. What only the caller's own machine could read (a process, a file to write) is
no field here; a path is a text below the workspace's root.
"""

from __future__ import annotations

import json
import os
from typing import Any

from dibs import __version__
from dibs.operations.core import declare

SCHEMA = os.path.join(os.path.dirname(os.path.abspath(declare.__file__)), "schema.json")
DEFS = "#/$defs/"
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
    with open(SCHEMA, encoding="utf-8") as file:
        made = json.load(file)
    errors = made["errors"]
    schemas = {name: _moved(one) for name, one in made["$defs"].items()}
    schemas.update({_error_name(code): _error(one["schema"]) for code, one in errors.items()})
    paths = {
        f"/v1/{name.replace(' ', '/')}": {"post": _operation(name, one, made["answers"][name], errors)}
        for name, one in made["requests"].items()
    }
    paths.update(_others(errors))
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


def _operation(name: str, request: dict[str, Any], answer: dict[str, Any], errors: dict[str, Any]) -> dict[str, Any]:
    """One route."""
    schema = _fields(request["schema"])
    schema["properties"] = {**schema["properties"], **COMMON}
    return {
        "operationId": name.replace(" ", "_"),
        "summary": request["help"],
        "tags": [request["group"]],
        "x-may": request["may"],
        "requestBody": {"required": True, "content": {"application/json": {"schema": schema}}},
        "responses": {
            "200": {"description": "The answer, as `--json` prints it.", "content": _json(_answer(answer))},
            **_refusals({*request["errors"], *DOOR, "not_found"}, errors, {404: ""}),
        },
    }


def _answer(schema: dict[str, Any]) -> dict[str, Any]:
    """An answer: `ok`, and the keys of its type."""
    ok = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}
    return {"allOf": [ok, _moved(schema)]}


def _refusals(codes: set[str], errors: dict[str, Any], more: dict[int, str]) -> dict[str, Any]:
    """The responses of these refusals, by status, and those of HTTP itself."""
    by_status: dict[int, set[str]] = {}
    for code in codes:
        by_status.setdefault(errors[code]["status"], set()).add(code)
    for status, code in PROTOCOL.items():
        by_status.setdefault(status, set()).add(code)
    found: dict[str, Any] = {}
    for status in sorted({*by_status, *more}):
        named = sorted(by_status.get(status, ()))
        refs = [{"$ref": f"{COMPONENTS}{_error_name(code)}"} for code in named]
        found[str(status)] = {
            "description": f"Refused: {', '.join(named)}.",
            "content": _json(refs[0] if len(refs) == 1 else {"anyOf": refs}),
        }
    return found


def _others(errors: dict[str, Any]) -> dict[str, Any]:
    """The routes that are no operation."""
    refused = _refusals(set(DOOR), errors, {})
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
    routes: dict[str, Any] = {
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


def _json(schema: dict[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}


def _error_name(code: str) -> str:
    return f"Error_{code}"


def _error(schema: dict[str, Any]) -> dict[str, Any]:
    """The error object of the CLI."""
    return {
        "type": "object",
        "properties": {"ok": {"const": False}, "error": _moved(schema)},
        "required": ["ok", "error"],
        "additionalProperties": False,
    }


def _fields(schema: dict[str, Any]) -> dict[str, Any]:
    """A request's fields as a server takes them."""
    found = {}
    for name, one in schema["properties"].items():
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
    return {**schema, "properties": found}


def _moved(schema: Any) -> Any:
    """The same with its references in the place where OpenAPI has them; answers may gain keys in a later version."""
    if isinstance(schema, dict):
        return {
            key: COMPONENTS + value.removeprefix(DEFS) if key == "$ref" else _moved(value)
            for key, value in schema.items()
            if key != "additionalProperties" or value is not False
        }
    return [_moved(one) for one in schema] if isinstance(schema, list) else schema
