"""What is said in two places is the same in both: declarations and bodies, exit codes and the documents."""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path

import pytest

from dibs import errors
from dibs.audit import build
from dibs.client import catalogue, steps
from dibs.interfaces import schema
from dibs.operations.core.declare import Operation
from dibs.operations.core.policy import STRATEGIES
from dibs.operations.tasks import strategies

TOP = Path(__file__).resolve().parent.parent
BY_SIGNAL = {130, 143}  # 128 and the number of SIGINT and SIGTERM, as a shell has it
CODES = list(errors.ERRORS.values())


@pytest.mark.parametrize("operation", catalogue.every(), ids=lambda operation: operation.name)
def test_a_body_takes_the_fields_that_are_declared_and_needs_no_others(operation: Operation) -> None:
    taken = inspect.signature(operation.body).parameters.values()
    named = {one.name for one in taken}
    takes_all = any(one.kind is one.VAR_KEYWORD for one in taken)
    declared = {field.name: field for field in operation.fields}
    assert takes_all or set(declared) <= named
    needed = {one.name for one in taken if one.kind is one.KEYWORD_ONLY and one.default is one.empty}
    needed |= {one.name for one in taken if one.kind is one.POSITIONAL_OR_KEYWORD and one.default is one.empty}
    assert needed - {"tx", "call", "got"} <= {name for name, field in declared.items() if field.required}


def _all() -> list[Operation]:
    """Every operation that a module declares, those in no catalogue among them, and the queries."""
    found = {
        id(one): one
        for name in _modules()
        for value in vars(importlib.import_module(f"dibs.operations.{name}")).values()
        for one in (value if isinstance(value, tuple) else (value,))
        if isinstance(one, Operation)
    }
    return [*found.values(), *catalogue.queries()]


def _modules() -> list[str]:
    top = TOP / "src" / "dibs" / "operations"
    files = sorted(path for path in top.rglob("*.py") if path.stem[0] != "_")
    return [".".join(path.relative_to(top).with_suffix("").parts) for path in files]


@pytest.mark.parametrize("operation", _all(), ids=lambda operation: operation.name)
def test_a_default_is_said_once_or_the_same_twice(operation: Operation) -> None:
    taken = inspect.signature(operation.body).parameters
    for name, default in operation.defaults.items():
        if name in taken and taken[name].default is not inspect.Parameter.empty:
            assert taken[name].default == default, name
        else:
            assert name in taken or any(one.kind is one.VAR_KEYWORD for one in taken.values()), name


@pytest.mark.parametrize("operation", _all(), ids=lambda operation: operation.name)
def test_what_is_done_around_an_operation_is_known_to_the_session(operation: Operation) -> None:
    assert set(operation.wants) <= {"rules", "deliveries", "here"}
    assert not operation.beforehand or operation.beforehand in steps.BEFOREHAND
    assert not operation.afterwards or operation.afterwards in steps.AFTERWARDS
    assert not operation.around or operation.around in build.AROUND
    if operation.refuses:
        assert operation.refuses in schema.hints_of(operation.answer)


@pytest.mark.parametrize("operation", _all(), ids=lambda operation: operation.name)
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
    (line,) = re.findall(r"^Exit codes: (.*)$", (TOP / "docs" / "CLI.md").read_text(), re.MULTILINE)
    documented = {int(number) for number in re.findall(r"\b\d+\b", line)}
    assert documented == {errors.YES, errors.NO, errors.CANNOT_DECIDE, errors.USAGE} | BY_SIGNAL
    assert {error.exit for error in CODES} == documented - {errors.YES} - BY_SIGNAL


def test_every_strategy_that_can_be_named_is_there() -> None:
    assert set(STRATEGIES) == set(strategies.RANKS)


def test_every_file_that_the_architecture_names_is_there() -> None:
    root = Path(__file__).parents[1]
    there = [path.relative_to(root).as_posix() for path in root.rglob("*.py") if ".venv" not in path.parts]
    text = (root / "docs" / "ARCHITECTURE.md").read_text()
    named = {name for name in re.findall(r"`([a-z_./0-9A-Z]+\.py)`", text) if not re.search(r"[A-Z]{3}", name)}
    assert len(named) > 100
    assert [name for name in sorted(named) if not any(f"/{path}".endswith(f"/{name}") for path in there)] == []
