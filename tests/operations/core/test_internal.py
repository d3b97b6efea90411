"""The operations that guards, workers and other doors run: found by name, and held to their declarations.

A remote client sends them over a wire. So a value that their fields accept may be refused, but never ends in anything
but an answer of dibs.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

import dibs
from dibs.canonical import Canonical
from dibs.client import catalogue
from dibs.errors import DibsError, Forbidden, Invalid
from dibs.operations.core import index
from dibs.operations.core.declare import Operation
from tests.operations.field_values import TEXTS, usual_request, values
from tests.operations.fleet import Fleet

INTERNAL = catalogue.internal()
SERVERS_OWN = {"bearer", "bearers", "caller", "serve token"}  # nobody finds them by name: they make or judge one
FREE = {"recovered": "agents"}  # records of a damaged database, which are not looked into: never from a wire


def test_every_operation_of_the_source_is_found_by_its_name_and_names_are_unique() -> None:
    top = Path(dibs.__file__).parent
    found: dict[str, Operation] = {}
    for path in sorted(top.rglob("*.py")):
        text = path.read_text()
        if "Operation(" not in text and "Query(" not in text:
            continue
        module = importlib.import_module(".".join(("dibs", *path.relative_to(top).with_suffix("").parts)))
        for value in vars(module).values():
            for one in value if isinstance(value, tuple) else (value,):
                if isinstance(one, Operation):
                    assert found.setdefault(one.name, one) is one, f"two operations are named {one.name}"
    assert len(found) > len(INTERNAL) > 40
    assert not SERVERS_OWN & {*index.FILES, *index.INTERNAL, *index.QUERIES}
    assert {name: catalogue.operation(name) for name in found if name not in SERVERS_OWN} == {
        name: one for name, one in found.items() if name not in SERVERS_OWN
    }


def test_no_command_and_no_method_is_made_from_an_internal_operation() -> None:
    from dibs.interfaces.cli import command
    from dibs.interfaces.python.methods import Methods

    own = {"store move", "undo"}  # commands of their own, which run more than the operation
    names = {operation.name for operation in INTERNAL}
    assert not (names - own) & set(command.names())
    assert not [name for name in names if hasattr(Methods, name.replace(" ", "_"))]


@pytest.mark.parametrize("operation", INTERNAL, ids=lambda operation: operation.name)
def test_a_field_that_is_not_declared_and_a_required_one_that_is_missing_are_invalid(operation: Operation) -> None:
    fleet = Fleet()
    with pytest.raises(Invalid, match="no field 'surprise'"):
        fleet.internal("a", operation, **usual_request(operation), surprise=1)
    if operation.required:
        with pytest.raises(Invalid, match="needs"):
            fleet.internal("a", operation)


ODD: tuple[Any, ...] = (None, True, -1, 2.5, float("nan"), *TEXTS, [], [None], [[]], [["x"]], {}, {"x": 1}, b"")


@pytest.mark.parametrize("operation", INTERNAL, ids=lambda operation: operation.name)
def test_an_odd_value_is_refused_or_decided_and_never_a_raw_error(operation: Operation) -> None:
    fleet = Fleet()
    fleet.edit("b", "x.py")
    usual = usual_request(operation)
    for field in operation.fields:
        for value in ODD if FREE.get(operation.name) != field.name else ():
            _decided(fleet, operation, {**usual, field.name: value})
    fleet.clean()


def test_an_odd_value_in_a_nested_field_is_refused() -> None:
    fleet = Fleet()
    check, judge = catalogue.operation("commit-check"), catalogue.operation("deploy-judge")
    with pytest.raises(Invalid, match="owned: item 1: owners: a list of texts"):
        fleet.internal("a", check, owned=[[Canonical(("file", "x.py")), "b", False]])
    with pytest.raises(Invalid, match="syncs: item 2: behind: a whole number"):
        fleet.internal("a", judge, target="prod", syncs=[{"behind": 0}, {"behind": "0"}])
    with pytest.raises(Invalid, match="under: token is missing"):
        fleet.internal("a", judge, target="prod", under={"target": "prod"})


def test_a_file_of_nobody_is_nobodys_unfinished_work() -> None:
    fleet = Fleet()
    owned = [["tree", Canonical(("file", "x.py")), [], False]]
    answer = fleet.internal(
        "a", catalogue.operation("command"), tree="tree", sweeps=[{"what": "git add -A"}], owned=owned
    )
    assert answer == {"claims": []}


def test_a_push_past_the_hook_is_refused_also_if_nobody_says_which_branch_is_protected() -> None:
    fleet = Fleet()
    sweep = {"what": "git push --no-verify", "past": "--no-verify"}
    with pytest.raises(Forbidden, match="push to a protected branch past git's own hook"):
        fleet.internal("a", catalogue.operation("command"), tree="tree", sweeps=[sweep])


@pytest.mark.parametrize("operation", [one for one in INTERNAL if one.fields], ids=lambda operation: operation.name)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=some.data())
def test_what_the_fields_accept_is_refused_or_decided_and_never_a_raw_error(
    operation: Operation, data: some.DataObject
) -> None:
    fleet = Fleet()
    fleet.edit("b", "x.py")
    given = {
        field.name: data.draw(values(field), label=field.name)
        for field in operation.fields
        if FREE.get(operation.name) != field.name and (field.required or data.draw(some.booleans()))
    }
    _decided(fleet, operation, given)
    fleet.clean()


def _decided(fleet: Fleet, operation: Operation, fields: dict[str, Any]) -> None:
    """It is answered or refused; whatever else it raises is the test's failure."""
    try:
        fleet.internal("a", operation, **fields)
    except DibsError:
        pass
