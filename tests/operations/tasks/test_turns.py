"""Turns: many tasks finished and taken in one transaction, each as if alone."""

from __future__ import annotations

from typing import Any

import pytest

from dibs.errors import Invalid
from dibs.operations.core.policy import WORK
from tests.operations.fleet import Fleet


@pytest.fixture
def fleet() -> Fleet:
    made = Fleet(work={**WORK, "tasks": {**WORK["tasks"], "max_tasks": 4}})
    for number in range(8):
        made.call("boss", "task add", title=f"task {number}", id=f"t{number}")
    return made


def turn(fleet: Fleet, agent: str, done: Any = None, **fields: Any) -> Any:
    return fleet.call(agent, "task turn", done=done, **fields)


def handed(answer: Any) -> list[dict[str, Any]]:
    return [{"id": one["task"]["id"], "token": one["token"]} for one in answer["tasks"]]


def test_a_turn_finishes_all_and_takes_as_many_as_one_may_have_in_one_commit(fleet: Fleet) -> None:
    first = handed(turn(fleet, "w", take=10))
    assert [one["id"] for one in first] == ["t0", "t1", "t2", "t3"]
    before = fleet.store.head().commit
    answer = turn(fleet, "w", [{**first[0], "result": {"n": 1}}, *first[1:]], take=4)
    assert fleet.store.head().commit == before + 1
    assert answer["done"] == ["t0", "t1", "t2", "t3"]
    assert [one["task"]["id"] for one in answer["tasks"]] == ["t4", "t5", "t6", "t7"]
    assert fleet.call("x", "task show", id="t0")["task"]["result"] == {"n": 1}
    assert turn(fleet, "w", handed(answer), take=4)["tasks"] == []
    assert {task["state"] for task in fleet.call("x", "task list")["tasks"]} == {"complete"}
    fleet.clean()


def test_one_that_is_refused_does_not_hold_up_the_others(fleet: Fleet) -> None:
    fleet.call("boss", "task add", title="strict", id="strict", priority=9, require=["answer"])
    first = handed(turn(fleet, "w", take=3))
    fleet.call("boss", "task cancel", id="t0")
    answer = turn(fleet, "w", [*first, {"id": "nothing", "token": 1}], take=0)
    assert answer["done"] == ["t1"]
    assert [(one["id"], one["code"]) for one in answer["refused"]] == [
        ("strict", "invalid"), ("t0", "fenced"), ("nothing", "not_found"),
    ]  # fmt: skip
    assert fleet.call("x", "task show", id="strict")["task"]["state"] == "executing"
    fleet.clean()


def test_a_turn_made_again_by_its_request_id_has_one_effect(fleet: Fleet) -> None:
    first = turn(fleet, "w", take=2, request="r1")
    assert turn(fleet, "w", take=2, request="r1") == first
    again = turn(fleet, "w", handed(first), take=1, request="r2")
    assert turn(fleet, "w", handed(first), take=1, request="r2") == again
    assert [one["task"]["id"] for one in again["tasks"]] == ["t2"]
    fleet.clean()


def test_tasks_that_waited_become_ready_within_the_turn(fleet: Fleet) -> None:
    fleet.call("boss", "task add", title="after", id="after", after=["t0", "t1"], priority=5)
    first = handed(turn(fleet, "w", take=2))
    assert turn(fleet, "w", first, take=1)["tasks"][0]["task"]["id"] == "after"
    fleet.clean()


@pytest.mark.parametrize(
    "done",
    [{}, "x", [1], [{"id": "t0"}], [{"id": 1, "token": 1}], [{"id": "t0", "token": True}],
     [{"id": "t0", "token": 1, "more": 2}], [{"id": "t0", "token": 1}] * 2, [{"id": "a", "token": 1}] * 101],
)  # fmt: skip
def test_what_makes_no_sense_changes_nothing(fleet: Fleet, done: Any) -> None:
    before = fleet.store.head().seq
    with pytest.raises(Invalid):
        turn(fleet, "boss", done)
    with pytest.raises(Invalid):
        turn(fleet, "boss", take=101)
    assert fleet.store.head().seq == before
