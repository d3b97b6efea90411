"""What an agent believes at its start, beside the live record: losses, tasks in mind, another id of its own."""

from __future__ import annotations

from typing import Any

import pytest

from dibs.errors import Conflict, Fenced
from dibs.operations.agents.aliases import SAME, WHO
from tests.operations.fleet import Fleet


def believed(fleet: Fleet, agent: str, *tasks: str, **more: Any) -> Any:
    """A start of an agent whose environment names these tasks."""
    return fleet.call(agent, "boot", believed=list(tasks), **more)


# --- a task in mind


def test_a_task_in_mind_that_another_has_is_named_with_its_holder_and_never_as_had(fleet: Fleet) -> None:
    fleet.call("x", "task add", title="t", id="T")
    fleet.call("two", "task claim", id="T")
    fleet.now += 12 * 60_000
    (loss,) = believed(fleet, "one", "T")["lost"]
    assert (loss["resources"], loss["holder"], loss["since_ago"], loss["had"]) == (["task:T"], "two", "12 min", False)
    assert believed(fleet, "one", "T")["lost"], "at every start, while the environment says so"
    assert believed(fleet, "two", "T")["lost"] == []
    assert believed(fleet, "two", "T")["task"]["id"] == "T"


def test_a_task_in_mind_that_nobody_has_is_named_and_not_taken(fleet: Fleet) -> None:
    fleet.call("x", "task add", title="t", id="T")
    (loss,) = believed(fleet, "one", "T")["lost"]
    assert (loss["holder"], loss["had"], loss["state"]) == (None, False, "planned")
    assert fleet.holders() == []


def test_a_task_in_mind_that_the_agent_had_is_told_once_and_as_lost(fleet: Fleet) -> None:
    fleet.claim("one", "task:T", ttl=1000)
    fleet.now += 1000
    fleet.claim("two", "task:T")
    (loss,) = believed(fleet, "one", "T", "T")["lost"]
    assert (loss["had"], loss["holder"], loss["why"]) == (True, "two", "expired")


def test_what_the_agent_finished_itself_is_no_loss_and_what_another_finished_is_named_as_complete(
    fleet: Fleet,
) -> None:
    fleet.call("x", "task add", title="t", id="T")
    token = fleet.call("one", "task claim", id="T")["token"]
    fleet.call("one", "task done", id="T", token=token)
    assert believed(fleet, "one", "T")["lost"] == []
    (loss,) = believed(fleet, "two", "T")["lost"]
    assert (loss["state"], loss["finished_by"], loss["holder"]) == ("complete", "one", None)


def test_a_task_at_work_in_the_agents_own_family_is_no_loss(fleet: Fleet) -> None:
    fleet.claim("one/helper", "task:T")
    assert believed(fleet, "one", "T")["lost"] == []


def test_with_one_task_in_hand_and_another_in_mind_both_are_said(fleet: Fleet) -> None:
    fleet.claim("one", "task:MINE")
    told = believed(fleet, "one", "OTHER")
    assert told["task"]["id"] == "MINE"
    assert [loss["resources"] for loss in told["lost"]] == [["task:OTHER"]]


# --- losses by resource


def test_of_a_claim_on_several_each_resource_is_named_with_its_own_holder(fleet: Fleet) -> None:
    lost = fleet.claim("one", "a.py", "b.py", "c.py", ttl=1000)
    fleet.now += 1000
    fleet.claim("two", "a.py")
    fleet.claim("three", "c.py")
    told = fleet.call("one", "boot")["lost"]
    assert {tuple(loss["resources"]): loss["holder"] for loss in told} == {
        ("a.py",): "two", ("b.py",): None, ("c.py",): "three",
    }  # fmt: skip
    assert {loss["claim"] for loss in told} == {lost["claim"]}
    fleet.claim("one", "b.py")
    assert sorted(loss["holder"] for loss in fleet.call("one", "boot")["lost"]) == ["three", "two"]
    fleet.call("one", "ack", message=lost["claim"])
    assert fleet.call("one", "boot")["lost"] == []


def test_who_only_watches_does_not_hold_what_was_lost(fleet: Fleet) -> None:
    fleet.claim("one", "a.py", ttl=1000)
    fleet.now += 1000
    fleet.claim("two", "a.py", mode="watch")
    assert fleet.call("one", "boot")["lost"][0]["holder"] is None


def test_a_lost_task_is_told_at_each_start_until_it_is_taken_up_again(fleet: Fleet) -> None:
    fleet.call("x", "task add", title="t", id="T")
    fleet.call("one", "task claim", id="T")
    fleet.now += 31 * 60_000
    for _ in range(3):
        assert [loss["had"] for loss in fleet.call("one", "boot")["lost"]] == [True]
    fleet.call("one", "task claim", id="T")
    assert fleet.call("one", "boot")["lost"] == []


# --- another id


def test_an_id_that_nobody_goes_by_becomes_another_id_of_the_agent(fleet: Fleet) -> None:
    fleet.call("s-1", "boot", client=10, also="agent-77")
    assert fleet.claim("agent-77", "x.py")["agent"] == "s-1"
    assert fleet.holders() == [("s-1", "x.py")]
    assert "rival" not in fleet.call("s-1", "boot", client=10, also="agent-77")


def test_what_an_id_without_a_client_holds_and_lost_comes_along_under_new_tokens(fleet: Fleet) -> None:
    fleet.call("x", "task add", title="t", id="T")
    old = fleet.call("one", "task claim", id="T")["token"]
    fleet.claim("one", "gone.py", ttl=1000)
    fleet.now += 1000
    told = fleet.call("s-1", "boot", client=10, also="one", believed=["T"])
    assert (told["task"]["id"], [loss["resources"] for loss in told["lost"]]) == ("T", [["gone.py"]])
    with pytest.raises(Fenced):
        fleet.call("one", "task done", id="T", token=old)
    fleet.call("one", "task done", id="T", token=told["task"]["token"])
    assert [(one["agent"], one.get("also")) for one in fleet.call("x", "agents")["agents"] if one["agent"] != "x"] == [
        ("s-1", ["one"])
    ]
    fleet.clean()


def test_an_id_that_a_living_client_goes_by_stays_that_ones(fleet: Fleet) -> None:
    fleet.call("s-1", "boot", client=10, also="agent-77")
    fleet.claim("agent-77", "x.py", client=10)
    told = fleet.call("s-2", "boot", client=11, also="agent-77")
    assert (told["rival"]["id"], told["rival"]["agent"]) == ("agent-77", "s-1")
    assert told["held"] == []
    assert fleet.holders() == [("s-1", "x.py")]
    fleet.kill9(10)
    told = fleet.call("s-2", "boot", client=11, also="agent-77")
    assert "rival" not in told
    assert [claim["resources"] for claim in told["held"]] == [["x.py"]], "as after a resume"
    fleet.clean()


def test_the_id_of_a_killed_agent_is_no_way_around_the_kill(fleet: Fleet) -> None:
    fleet.call("one", "boot")
    fleet.call("boss", "kill", agent="one", why="test")
    assert fleet.call("s-1", "boot", client=10, also="one")["rival"]["agent"] == "one"


def test_an_id_used_by_hand_in_the_client_process_before_its_hook_ran_is_the_sessions(fleet: Fleet) -> None:
    fleet.claim("by-hand", "task:T", client=10)
    told = fleet.call("s-1", "boot", client=10, client_type="gemini")
    assert [claim["resources"] for claim in told["held"]] == [["task:T"]]
    fleet.clean()


def test_two_sessions_in_one_client_process_stay_two_agents(fleet: Fleet) -> None:
    fleet.call("s-1", "boot", client=10, client_type="opencode")
    fleet.claim("s-1", "x.py", client=10)
    assert fleet.call("s-2", "boot", client=10, client_type="opencode")["held"] == []
    assert fleet.holders() == [("s-1", "x.py")]


def test_a_script_in_an_agents_shell_gives_it_another_id_or_hears_whose_it_is(fleet: Fleet) -> None:
    fleet.call("s-1", "boot", client=10)
    fleet.call("s-2", "boot", client=11)
    fleet.internal("s-1", SAME, process=10, alias="agent-77")
    assert fleet.internal("x", WHO, agent="s-1")["known_as"] == "agent-77"
    with pytest.raises(Conflict, match="another session"):
        fleet.internal("s-2", SAME, process=11, alias="agent-77")
