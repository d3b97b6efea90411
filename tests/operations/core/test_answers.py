"""Every answer and every error is declared; the whole suite is held to that (tests/declared.py)."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import dibs
from dibs.client import catalogue
from dibs.error_subtypes import SUBTYPES
from dibs.errors import ERRORS, Held
from dibs.interfaces import schema
from tests import declared
from tests.operations.fleet import Fleet

SRC = Path(dibs.__file__).parent


def test_every_declared_operation_names_its_answer() -> None:
    for operation in catalogue.every():
        assert schema.hints_of(operation.answer), operation.name


def test_every_fact_that_an_error_is_given_in_the_sources_is_declared() -> None:
    classes = {error.__name__: error.code for error in (*ERRORS.values(), *SUBTYPES)}
    for path in sorted(SRC.rglob("*.py")):
        text = path.read_text()
        for node in ast.walk(ast.parse(text)) if any(f"{name}(" in text for name in classes) else ():
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in classes:
                known = declared.error_hints(classes[node.func.id])
                given = {keyword.arg for keyword in node.keywords if keyword.arg}
                assert given <= set(known), (path.name, node.lineno, given - set(known))


@pytest.mark.parametrize(
    "change",
    [
        lambda answer: answer.pop("token"),
        lambda answer: answer.update(tokens=7),
        lambda answer: answer.update(token="7"),
        lambda answer: answer.update(token=True),
        lambda answer: answer.update(mode="wirte"),
        lambda answer: answer.update(resources="a"),
        lambda answer: answer.update(resources=[1]),
        lambda answer: answer.update(watch=[{"agent": "b"}]),
    ],
)
def test_an_answer_that_is_not_as_declared_is_found(fleet: Fleet, change: Any) -> None:
    answer = fleet.claim("ann", "a.py")
    declared.hold(catalogue.operation("claim"), answer)
    change(answer)
    with pytest.raises(AssertionError):
        declared.hold(catalogue.operation("claim"), answer)


def test_an_error_with_a_fact_that_is_not_declared_is_found() -> None:
    declared.hold_refusal(Held(blockers=[], more=0))
    with pytest.raises(AssertionError):
        declared.hold_refusal(Held(blockers=[], more=0, nonsense=1))
    with pytest.raises(AssertionError):
        declared.hold_refusal(Held("no", blockers=None, more=0))


def test_the_schema_has_every_answer_and_every_error() -> None:
    definitions: dict[str, Any] = {}
    every = [*catalogue.every(), *catalogue.queries()]
    found = {operation.name: schema.answer(operation, definitions) for operation in every}
    assert found["claim"] == {"$ref": "#/$defs/ClaimAnswer"}
    assert set(schema.errors(definitions)) == set(ERRORS)
    text = json.dumps([found, schema.errors(definitions), definitions])
    for name in definitions:
        assert f'"#/$defs/{name}"' in text
    assert definitions["ClaimAnswer"]["properties"]["mode"] == {"enum": ["write", "read", "watch"]}
    assert "token" in definitions["ClaimAnswer"]["required"]
    assert "renewed" not in definitions["ClaimAnswer"]["required"]


def test_requests_answers_and_errors_are_valid_schemas() -> None:
    definitions: dict[str, Any] = {}
    made = [schema.request(operation) for operation in (*catalogue.every(), *catalogue.queries())]
    made += [schema.answer(operation, definitions) for operation in (*catalogue.every(), *catalogue.queries())]
    made += schema.errors(definitions).values()
    jsonschema.Draft202012Validator.check_schema({"anyOf": made, "$defs": definitions})


def test_the_http_status_of_each_refusal_is_as_documented() -> None:
    found = {code: error.status for code, error in ERRORS.items()}
    wanted = {
        "held": 409, "conflict": 409, "fenced": 409, "deadlock": 409, "order": 409, "forbidden": 403, "killed": 403,
        "not_found": 404, "invalid": 422, "quota": 429, "busy": 503, "unavailable": 503,
    }  # fmt: skip
    assert {code: found[code] for code in wanted} == wanted
