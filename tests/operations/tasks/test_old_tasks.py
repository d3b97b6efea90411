"""A finished task outside any run is forgotten a month after its end, unless another task would miss it."""

from __future__ import annotations

from typing import Any

import pytest

from dibs.errors import NotFound
from dibs.operations.core.policy import DAY
from dibs.operations.tasks import old_tasks
from dibs.operations.tasks.records import in_state
from tests.operations.fleet import Fleet

KEEP = 30 * DAY


@pytest.fixture
def fleet() -> Fleet:
    return Fleet()


def finish(fleet: Fleet, name: str, **fields: Any) -> None:
    fleet.call("a", "task add", title=name, id=name, **fields)
    fleet.call("a", "task done", id=name, token=fleet.call("a", "task claim", id=name)["token"])


def sweep(fleet: Fleet) -> None:
    for _ in range(20):
        if not fleet.call("v", "sweep")["more"]:
            return


def known(fleet: Fleet) -> list[str]:
    return sorted(task["id"] for task in fleet.call("v", "task list", limit=1000)["tasks"])


def rows(fleet: Fleet) -> list[str]:
    found = fleet.store.look(lambda tx: tx.fetch([("t", "u")], 10_000)).rows
    return [key for key, _ in found]


def test_it_goes_with_all_its_rows_when_its_time_is_over_and_the_id_is_free(fleet: Fleet) -> None:
    fleet.call("a", "task add", title="T", id="t", payload={"x": 1}, key="k")
    fleet.call("a", "task note", id="t", text="half")
    token = fleet.call("a", "task claim", id="t")["token"]
    fleet.call("a", "task done", id="t", token=token, result={"y": 2})
    fleet.now += KEEP - 1
    sweep(fleet)
    assert known(fleet) == ["t"]
    fleet.now += 1
    sweep(fleet)
    assert known(fleet) == []
    assert [key for key in rows(fleet) if not key.startswith("tl\t")] == []
    assert [event["data"]["tasks"] for event in fleet.events("task.forgotten")] == [["t"]]
    with pytest.raises(NotFound):
        fleet.call("a", "task show", id="t")
    finish(fleet, "t")
    fleet.clean()


def test_what_another_task_would_miss_stays(fleet: Fleet) -> None:
    fleet.call("a", "task add", title="first", id="first")
    fleet.call("a", "task add", title="waits", id="waits", after=["first"])
    fleet.call("a", "task cancel", id="first")
    fleet.call("a", "task add", title="parent", id="parent")
    fleet.call("a", "task add", title="child", id="child", parent="parent")
    fleet.call("a", "task done", id="child", token=fleet.call("a", "task claim", id="child")["token"])
    for _ in range(3):
        fleet.now += KEEP
        sweep(fleet)
    assert known(fleet) == ["child", "first", "parent", "waits"]
    fleet.call("a", "task cancel", id="parent")
    fleet.now += KEEP + old_tasks.LOOK_AGAIN_MS
    sweep(fleet)
    fleet.now += old_tasks.LOOK_AGAIN_MS
    sweep(fleet)
    assert known(fleet) == ["first", "waits"]
    fleet.clean()


def test_a_task_that_stays_keeps_its_place_among_those_of_its_state(fleet: Fleet) -> None:
    fleet.call("a", "task add", title="first", id="first")
    fleet.call("a", "task add", title="waits", id="waits", after=["first"])
    fleet.call("a", "task cancel", id="first")

    def places() -> list[str]:
        page = fleet.store.look(lambda tx: tx.scan(1, in_state("cancelled"), 10))
        return [entry for entry, _, _ in page.rows]

    before = places()
    fleet.now += KEEP
    sweep(fleet)
    assert before
    assert places() == before
    fleet.clean()


def test_open_tasks_and_those_of_a_run_are_left_alone(fleet: Fleet) -> None:
    fleet.call("a", "task add", title="open", id="open")
    fleet.call("a", "run start", name="r", id="r")
    finish(fleet, "mine", run="r")
    fleet.now += 2 * KEEP
    sweep(fleet)
    assert known(fleet) == ["mine", "open"]


def test_many_go_in_parts(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(old_tasks, "TASKS_PER_SWEEP", 3)
    for number in range(10):
        finish(fleet, f"t{number}")
    fleet.now += KEEP
    first = fleet.call("v", "sweep")
    assert first["more"]
    assert len(known(fleet)) >= 7
    sweep(fleet)
    assert known(fleet) == []
    fleet.clean()
