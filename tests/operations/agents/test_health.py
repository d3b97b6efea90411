"""How agents are: seen, idle, silent, dead; and which tasks they are at. With a clock that only moves when told."""

from __future__ import annotations

from typing import Any

import pytest

from dibs.operations.tasks import remaining
from tests.operations.fleet import Fleet

MINUTE = 60_000
HOUR = 60 * MINUTE


def agent(fleet: Fleet, name: str) -> dict[str, Any]:
    """One agent as `dibs agents` shows it."""
    found = {one["agent"]: one for one in fleet.call("viewer", "agents", all=True)["agents"]}
    shown: dict[str, Any] = found[name]
    return shown


def test_who_acted_within_two_minutes_is_seen(fleet: Fleet) -> None:
    fleet.call("ann", "boot", client=1)
    assert agent(fleet, "ann")["health"] == "seen"
    fleet.now += 2 * MINUTE
    assert agent(fleet, "ann")["health"] == "seen"
    fleet.now += 1
    assert agent(fleet, "ann")["health"] != "seen"


def test_an_act_makes_an_idle_agent_seen_again(fleet: Fleet) -> None:
    fleet.call("ann", "boot", client=1)
    fleet.now += 10 * MINUTE
    assert agent(fleet, "ann")["health"] == "idle"
    fleet.claim("ann", "a.py", client=1)
    assert agent(fleet, "ann")["health"] == "seen"


def test_an_act_that_is_not_written_down_yet_does_not_make_an_agent_idle(fleet: Fleet) -> None:
    fleet.call("ann", "boot", client=1)
    fleet.now += 59_000  # "last seen" is written once a minute
    fleet.claim("ann", "a.py", client=1)
    fleet.now += MINUTE
    assert agent(fleet, "ann")["health"] == "seen"


def test_who_lives_and_does_nothing_is_idle_and_stays_alive(fleet: Fleet) -> None:
    fleet.call("ann", "boot", client=1)
    fleet.now += HOUR
    shown = agent(fleet, "ann")
    assert (shown["health"], shown["state"]) == ("idle", "alive")


def test_a_dead_process_is_dead_at_once_however_lately_it_acted(fleet: Fleet) -> None:
    fleet.call("ann", "boot", client=1)
    fleet.kill9(1)
    shown = agent(fleet, "ann")
    assert (shown["health"], shown["state"]) == ("dead", "gone")


def test_who_has_no_process_to_be_seen_from_here_is_silent_when_it_says_nothing(fleet: Fleet) -> None:
    fleet.call("ann", "boot")
    assert agent(fleet, "ann")["health"] == "seen"
    fleet.now += 3 * MINUTE
    shown = agent(fleet, "ann")
    assert (shown["health"], shown["state"]) == ("silent", "unknown")


def test_killed_and_left_stay_states(fleet: Fleet) -> None:
    fleet.call("ann", "boot", client=1)
    fleet.call("bob", "boot", client=2)
    fleet.call("root", "kill", agent="ann", why="enough")
    fleet.call("bob", "leave", client=2)
    assert (agent(fleet, "ann")["state"], agent(fleet, "bob")["state"]) == ("killed", "left")
    assert {agent(fleet, name)["health"] for name in ("ann", "bob")} == {"seen"}


def test_host_and_live_tasks_are_shown(fleet: Fleet) -> None:
    fleet.call("ann", "boot", client=1)
    fleet.call("lead", "task add", title="one", id="one")
    assert agent(fleet, "ann")["tasks"] == []
    taken = fleet.call("ann", "task next", client=1)
    shown = agent(fleet, "ann")
    assert (shown["tasks"], shown["host"], shown["pid"]) == (["one"], "host", 1)
    assert agent(fleet, "lead")["tasks"] == []
    assert agent(fleet, "lead")["host"] is None
    fleet.call("ann", "task done", client=1, id="one", token=taken["token"])
    assert agent(fleet, "ann")["tasks"] == []


def test_a_task_whose_claim_is_over_is_nobodys(fleet: Fleet) -> None:
    fleet.call("lead", "task add", title="one", id="one")
    fleet.call("ann", "task next")
    fleet.now += HOUR
    assert agent(fleet, "ann")["tasks"] == []


def test_one_sweep_brings_the_tasks_of_a_dead_process_back(fleet: Fleet) -> None:
    for name in ("one", "two"):
        fleet.call("lead", "task add", title=name, id=name)
    fleet.call("ann", "task next", client=1)
    fleet.call("bob", "task next", client=2)
    fleet.kill9(1)
    fleet.call("viewer", "sweep")
    states = {task["id"]: task["state"] for task in fleet.call("viewer", "task list")["tasks"]}
    assert states == {"one": "planned", "two": "executing"}
    fleet.clean()


# --- what may still come to an agent that finds nothing


def look(fleet: Fleet, name: str = "ann", run: str = "") -> set[str]:
    """What the outlook says is there."""
    found = fleet.internal(name, remaining.OUTLOOK, agent=name, run=run)
    return {kind for kind, there in found.items() if there}


def add(fleet: Fleet, **fields: Any) -> None:
    fleet.call("lead", "task add", **fields)


def fail(fleet: Fleet, taken: dict[str, Any], kind: str) -> None:
    """Bob fails at what it took."""
    fields: dict[str, Any] = {"id": taken["task"]["id"], "token": taken["token"], "why": "no", "class": kind}
    fleet.call("bob", "task fail", **fields)


def test_with_no_tasks_nothing_will_come(fleet: Fleet) -> None:
    assert look(fleet) == set()


def test_what_is_ready_counts_only_if_it_is_for_this_agent(fleet: Fleet) -> None:
    fleet.call("ann", "boot", type="writer")
    add(fleet, title="theirs", **{"for": "tester"})
    assert look(fleet) == set()
    add(fleet, title="mine", **{"for": "writer"})
    assert look(fleet) == {"ready"}


def test_a_task_at_work_may_come_back(fleet: Fleet) -> None:
    fleet.call("lead", "task add", title="one")
    fleet.call("bob", "task next")
    assert look(fleet) == {"executing", "at_work"}


def test_a_task_that_pauses_after_a_failure_will_come(fleet: Fleet) -> None:
    fleet.call("lead", "task add", title="one", id="one")
    taken = fleet.call("bob", "task next")
    fail(fleet, taken, "transient")
    assert look(fleet) == {"later"}


def test_what_waits_for_a_failed_task_will_not_come_by_itself(fleet: Fleet) -> None:
    fleet.call("lead", "task add", title="one", id="one")
    fleet.call("lead", "task add", title="two", after=["one"])
    taken = fleet.call("bob", "task next")
    fail(fleet, taken, "permanent")
    assert look(fleet) == set()


def test_with_a_run_only_its_tasks_count(fleet: Fleet) -> None:
    run = fleet.call("lead", "run start", name="build")["run"]["id"]
    fleet.call("lead", "task add", title="other")
    assert look(fleet) == {"ready"}
    assert look(fleet, run=run) == set()
    fleet.call("lead", "task add", title="own", run=run)
    assert look(fleet, run=run) == {"ready"}


def test_a_task_of_a_run_is_found_behind_many_others(fleet: Fleet) -> None:
    run = fleet.call("lead", "run start", name="build")["run"]["id"]
    for number in range(300):  # more than one page
        fleet.call("lead", "task add", title=f"other {number}")
    fleet.call("lead", "task add", title="own", run=run)
    assert look(fleet, run=run) == {"ready"}


def test_beyond_what_is_looked_through_something_may_come(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remaining, "MAX_TASKS_READ", 4)
    monkeypatch.setattr(remaining, "TASKS_PER_TRIP", 2)
    run = fleet.call("lead", "run start", name="build")["run"]["id"]
    for number in range(3):
        fleet.call("lead", "task add", title=f"other {number}")
    assert look(fleet, run=run) == set()
    for number in range(3):
        fleet.call("lead", "task add", title=f"more {number}")
    assert look(fleet, run=run) == {"ready"}
