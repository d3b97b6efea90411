"""What is said in two places is the same in both: declarations and bodies, exit codes and the documents."""

from __future__ import annotations

import inspect
import re
from functools import cache
from pathlib import Path
from types import UnionType
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest

from dibs import errors
from dibs.audit import build
from dibs.client import catalogue, steps
from dibs.interfaces import schema
from dibs.operations.core.declare import Operation
from dibs.operations.core.policy import STRATEGIES
from dibs.operations.tasks import strategies
from tools import requests

TOP = Path(__file__).resolve().parent.parent
BY_SIGNAL = {130, 143}  # 128 and the number of SIGINT and SIGTERM, as a shell has it
CODES = list(errors.ERRORS.values())


@cache
def _request_types(room: str) -> dict[str, Any]:
    """The types in a room's requests.pyi, by name."""
    path = TOP / "src" / room.replace(".", "/") / "requests.pyi"
    text = path.read_text().replace("from dibs.operations.core.call import Process", "Process = list")
    scope: dict[str, Any] = {}
    exec(compile(text, path, "exec", dont_inherit=True), scope)  # noqa: S102 - our own text
    return scope


def _is_of(value: Any, hint: Any) -> bool:
    """Is this value of this type, as far as its outermost part says?"""
    if get_origin(hint) is UnionType:
        return any(_is_of(value, part) for part in get_args(hint))
    if get_origin(hint) is Literal:
        return value in get_args(hint)
    kind = get_origin(hint) or hint
    kinds = (int, float) if kind is float else kind
    return kind is Any or (isinstance(value, kinds) and isinstance(value, bool) == (kind is bool))


@pytest.mark.parametrize("operation", requests.declared(), ids=lambda operation: operation.name)
def test_a_body_takes_the_request_that_is_made_of_its_declared_fields(operation: Operation) -> None:
    _, _, *rest = inspect.signature(operation.body).parameters.values()
    taken = [(one.name, one.annotation) for one in rest if one.default is one.empty]
    assert taken == ([("request", requests.name_of(operation))] if operation.fields else [])
    for part, place in ((operation.required_rank, 2), (operation.ahead, 1)):
        assert part is None or list(inspect.signature(part).parameters)[place:] == ["request"]


@pytest.mark.parametrize("operation", requests.declared(), ids=lambda operation: operation.name)
def test_a_request_has_the_declared_fields_and_every_default_is_of_its_type(operation: Operation) -> None:
    if not operation.fields:
        return
    room = operation.body.__module__.rpartition(".")[0]
    hints = get_type_hints(_request_types(room)[requests.name_of(operation)])
    assert list(hints) == [field.name for field in operation.fields]
    for name, default in operation.defaults.items():
        assert _is_of(default, hints[name]), name


@pytest.mark.parametrize("operation", requests.declared(), ids=lambda operation: operation.name)
def test_what_is_done_around_an_operation_is_known_to_the_session(operation: Operation) -> None:
    assert set(operation.wants) <= {"rules", "deliveries", "here", "units"}
    assert not operation.beforehand or operation.beforehand in steps.BEFOREHAND
    assert not operation.afterwards or operation.afterwards in steps.AFTERWARDS
    assert not operation.around or operation.around in build.AROUND
    if operation.refuses:
        assert operation.refuses in schema.hints_of(operation.answer)


@pytest.mark.parametrize("operation", requests.declared(), ids=lambda operation: operation.name)
def test_a_field_is_declared_so_that_every_door_can_use_it(operation: Operation) -> None:
    for field in operation.fields:
        assert not (field.internal and (field.required or field.positional)), field.name
        assert not field.items or field.kind in {"json", "object", "rows"}, field.name
        if field.default is not None and field.kind not in {"choice", "json", "words", "resources", "raws", "rows"}:
            assert field.check(field.default) == field.default, f"{field.name}: its default is within its limits"


@pytest.mark.parametrize("operation", catalogue.every(), ids=lambda operation: operation.name)
def test_what_every_call_may_be_refused_with_is_among_an_operations_errors(operation: Operation) -> None:
    assert {errors.Invalid, errors.Busy, errors.Unavailable} <= set(operation.errors)
    if operation.writes:
        assert errors.Killed in operation.errors
        assert (errors.Fenced in operation.errors) or operation.boots
        assert errors.Forbidden in operation.errors


@pytest.mark.parametrize("operation", [*catalogue.every(), *catalogue.queries()], ids=lambda operation: operation.name)
def test_the_errors_of_an_operation_are_those_of_dibs_each_once(operation: Operation) -> None:
    assert set(operation.errors) <= set(CODES)
    assert len(operation.errors) == len(set(operation.errors))


def test_every_error_has_a_code_of_its_own_and_an_exit_code_that_is_documented() -> None:
    assert {error.code for error in CODES} == set(errors.ERRORS)
    (line,) = re.findall(r"^Exit codes: (.*)$", (TOP / "docs" / "reference" / "commands.md").read_text(), re.MULTILINE)
    documented = {int(number) for number in re.findall(r"\b\d+\b", line)}
    assert documented == {errors.YES, errors.NO, errors.CANNOT_DECIDE, errors.USAGE} | BY_SIGNAL
    assert {error.exit for error in CODES} == documented - {errors.YES} - BY_SIGNAL


def test_every_strategy_that_can_be_named_is_there() -> None:
    assert set(STRATEGIES) == set(strategies.RANKS)


def test_every_file_that_the_architecture_names_is_there() -> None:
    root = Path(__file__).parents[1]
    there = [path.relative_to(root).as_posix() for path in root.rglob("*.py") if ".venv" not in path.parts]
    text = "".join((root / "docs" / "internals" / f"{name}.md").read_text() for name in ("architecture", "extending"))
    named = {name for name in re.findall(r"`([a-z_./0-9A-Z]+\.py)`", text) if not re.search(r"[A-Z]{3}", name)}
    assert len(named) > 100
    assert [name for name in sorted(named) if not any(f"/{path}".endswith(f"/{name}") for path in there)] == []
