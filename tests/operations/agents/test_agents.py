"""Agents: boot and what it tells, incarnations, leaving, the kill switch."""

from __future__ import annotations

from typing import Any

import pytest

from dibs.errors import Fenced, Held, Invalid, Killed, NotFound
from tests.operations.fleet import Fleet


def test_an_unseen_agent_is_registered_by_its_first_call(fleet: Fleet) -> None:
    fleet.claim("new", "x.py")
    fleet.claim("new", "y.py")
    assert [event["agent"] for event in fleet.events("agent.registered")] == ["new"]
    assert [agent["agent"] for agent in fleet.call("v", "agents")["agents"]] == ["new"]


def test_boot_says_what_is_held_and_what_was_lost_to_whom(fleet: Fleet) -> None:
    fleet.call("a", "boot")
    kept = fleet.claim("a", "keep.py")["token"]
    lost = fleet.claim("a", "lose.py", ttl=1000)["token"]
    fleet.now += 1000
    fleet.claim("b", "lose.py")
    told = fleet.call("a", "boot")
    assert [(claim["resources"], claim["token"]) for claim in told["held"]] == [(["keep.py"], kept)]
    (loss,) = told["lost"]
    assert (loss["resources"], loss["token"], loss["why"], loss["holder"]) == (["lose.py"], lost, "expired", "b")
    assert len(fleet.call("a", "boot")["lost"]) == 1  # until it is settled
    fleet.call("a", "ack", message=loss["claim"])
    assert fleet.call("a", "boot")["lost"] == []


def test_boot_never_takes_up_what_was_lost_even_if_it_is_free(fleet: Fleet) -> None:
    fleet.claim("a", "x.py", ttl=1000)
    fleet.now += 1000
    told = fleet.call("a", "boot")
    assert told["held"] == []
    assert (told["lost"][0]["resources"], told["lost"][0]["holder"]) == (["x.py"], None)
    assert fleet.holders() == []


def test_what_an_agent_released_itself_is_not_lost(fleet: Fleet) -> None:
    fleet.claim("a", "x.py")
    fleet.release("a")
    assert fleet.call("a", "boot")["lost"] == []


def test_two_restored_agents_do_not_both_work_on_task_103(fleet: Fleet) -> None:
    fleet.claim("one", "task:TASK-103", ttl=1000)
    fleet.now += 1000
    taken = fleet.claim("two", "task:TASK-103")
    told = fleet.call("one", "boot", task="TASK-103")
    assert told["task"] is None
    assert [(loss["resources"], loss["holder"]) for loss in told["lost"]] == [(["task:TASK-103"], "two")]
    told = fleet.call("two", "boot", task="TASK-103")
    assert (told["task"]["id"], told["task"]["token"], told["lost"]) == ("TASK-103", taken["token"], [])


def test_a_task_that_was_never_held_is_told_as_lost(fleet: Fleet) -> None:
    fleet.claim("two", "task:T-1")
    told = fleet.call("one", "boot", task="T-1")
    assert told["lost"][0]["holder"] == "two"


def test_a_boot_from_the_same_process_keeps_incarnation_and_tokens(fleet: Fleet) -> None:
    fleet.call("a", "boot", client=10)
    token = fleet.claim("a", "x.py", client=10)["token"]
    told = fleet.call("a", "boot", client=10)
    assert (told["incarnation"], told["held"][0]["token"]) == (1, token)


def test_a_boot_from_another_process_moves_the_claims_under_new_tokens(fleet: Fleet) -> None:
    fleet.call("a", "boot", client=10)
    old = fleet.claim("a", "x.py", client=10)["token"]
    told = fleet.call("a", "boot", client=11)
    assert told["incarnation"] == 2
    assert told["held"][0]["token"] > old
    with pytest.raises(Fenced):
        fleet.call("a", "confirm", resource="x.py", token=old)


def test_after_that_the_earlier_process_is_fenced_and_the_new_one_acts(fleet: Fleet) -> None:
    fleet.call("a", "boot", client=10)
    fleet.call("a", "boot", client=11)
    with pytest.raises(Fenced, match="incarnation 2"):
        fleet.claim("a", "x.py", client=10)
    fleet.claim("a", "x.py", client=11)
    assert [event["data"]["code"] for event in fleet.events("call.refused")] == ["fenced"]


def test_a_call_from_an_unknown_process_counts_as_current(fleet: Fleet) -> None:
    fleet.call("a", "boot", client=10)
    token = fleet.claim("a", "x.py")["token"]
    assert fleet.holders() == [("a", "x.py")]
    assert fleet.call("a", "confirm", resource="x.py", token=token)["token"] == token


def test_a_subagents_claims_pass_to_its_parent_when_it_ends(fleet: Fleet) -> None:
    fleet.call("p", "boot")
    token = fleet.claim("p/child", "x.py")["token"]
    assert fleet.call("p/child", "leave")["passed"] == ["x.py"]
    assert fleet.holders() == [("p", "x.py")]
    with pytest.raises(Fenced):
        fleet.call("p/child", "confirm", resource="x.py", token=token)


def test_what_its_parent_holds_itself_is_not_held_twice_when_a_subagent_ends(fleet: Fleet) -> None:
    fleet.call("p", "boot")
    first = fleet.claim("p", "x.py", "y.py")["token"]
    fleet.now += 60_000
    until = fleet.claim("p/child", "x.py")["expires_at"]
    fleet.claim("p/child", "z.py")
    assert fleet.call("p/child", "leave")["passed"] == ["x.py", "z.py"]
    assert fleet.holders() == [("p", "x.py"), ("p", "y.py"), ("p", "z.py")]
    kept = next(claim for claim in fleet.call("p", "status")["claims"] if "x.py" in claim["resources"])
    assert (kept["token"], kept["expires_at"]) == (first, until)


def test_leaving_releases_what_one_holds_and_serves_who_waits(fleet: Fleet) -> None:
    fleet.claim("a", "x.py")
    fleet.claim("b", "x.py", wait=60_000)
    fleet.call("a", "leave")
    assert fleet.holders() == [("b", "x.py")]


def test_kill_voids_everything_of_the_agent_and_its_subagents(fleet: Fleet) -> None:
    fleet.claim("a", "x.py")
    fleet.claim("a/child", "y.py")
    assert sorted(fleet.call("boss", "kill", agent="a", why="runaway")["voided"]) == ["x.py", "y.py"]
    for name in ("a", "a/child"):
        with pytest.raises(Killed, match="runaway"):
            fleet.claim(name, "z.py")
        with pytest.raises(Killed):
            fleet.call(name, "boot")
    fleet.claim("b", "x.py", "y.py")
    told = fleet.events("call.refused")
    assert {event["data"]["code"] for event in told} == {"killed"}


def test_revive_lets_it_act_again_and_gives_nothing_back(fleet: Fleet) -> None:
    fleet.claim("a", "x.py")
    fleet.call("boss", "kill", agent="a", why="test")
    fleet.call("boss", "revive", agent="a")
    told = fleet.call("a", "boot")
    assert told["held"] == []
    assert told["lost"][0]["why"] == "killed"
    fleet.claim("a", "x.py")


def test_kill_needs_a_known_agent_and_a_reason(fleet: Fleet) -> None:
    with pytest.raises(NotFound):
        fleet.call("boss", "kill", agent="nobody", why="test")
    fleet.call("a", "boot")
    with pytest.raises(Invalid):
        fleet.call("boss", "kill", agent="a", why="")
    with pytest.raises(Invalid):
        fleet.call("a", "kill", agent="a", why="myself")


def test_kill_all_stops_every_family_but_the_callers_and_no_person(fleet: Fleet) -> None:
    for agent in ("a", "a/sub", "b", "boss", "boss/sub"):
        fleet.claim(agent, f"{agent.replace('/', '-')}.py")
    fleet.call("gone", "boot")
    fleet.call("gone", "leave")
    fleet.call("c", "boot")
    fleet.call("boss", "kill", agent="c", why="before")
    answer = fleet.call("boss", "kill", agent="all", why="the wrong branch")
    assert answer["killed"] == 2
    assert [agent["agent"] for agent in answer["agents"]] == ["a", "b"]
    assert sorted(answer["voided"]) == ["a-sub.py", "a.py", "b.py"]
    for agent in ("a", "a/sub", "b"):
        with pytest.raises(Killed):
            fleet.claim(agent, "x.py")
    fleet.claim("boss", "x.py")
    fleet.claim("boss/sub", "y.py")
    assert [event["data"]["why"] for event in fleet.events("agent.killed")] == ["before"] + ["the wrong branch"] * 2
    assert fleet.call("boss", "kill", agent="all", why="again")["killed"] == 0
    fleet.claim("late", "z.py")  # who comes later is not meant
    assert fleet.call("boss", "kill", agent="all", why="again")["killed"] == 1


def test_revive_all_lets_those_go_on_that_kill_all_stopped_and_no_other(fleet: Fleet) -> None:
    for agent in ("a", "a/sub", "b", "rogue"):
        fleet.claim(agent, f"{agent.replace('/', '-')}.py")
    fleet.call("boss", "kill", agent="rogue", why="it rewrote the history")
    fleet.call("boss", "kill", agent="all", why="the wrong branch")
    answer = fleet.call("boss", "revive", agent="all")
    assert answer["revived"] == 2
    assert [agent["agent"] for agent in answer["agents"]] == ["a", "b"]
    for agent in ("a", "a/sub", "b"):
        fleet.claim(agent, f"again-{agent.replace('/', '-')}.py")
    with pytest.raises(Killed):
        fleet.claim("rogue", "x.py")
    assert [event["subject"] for event in fleet.events("agent.revived")] == ["a", "b"]
    assert fleet.call("boss", "revive", agent="all") == {"agents": [], "revived": 0}
    fleet.call("boss", "kill", agent="a", why="by its name, after it was revived")
    assert fleet.call("boss", "revive", agent="all")["revived"] == 0
    assert fleet.call("boss", "revive", agent="b")["revived"] == 0  # it was not killed


def test_kill_all_gives_what_they_held_to_a_waiting_caller(fleet: Fleet) -> None:
    fleet.claim("a", "x.py")
    fleet.claim("boss", "x.py", wait=60_000)
    fleet.call("boss", "kill", agent="all", why="test")
    assert fleet.holders() == [("boss", "x.py")]


def test_a_killed_holder_makes_room_for_who_waits(fleet: Fleet) -> None:
    fleet.claim("a", "x.py")
    fleet.claim("b", "x.py", wait=60_000)
    fleet.call("boss", "kill", agent="a", why="test")
    assert fleet.holders() == [("b", "x.py")]
    with pytest.raises(Held):
        fleet.claim("c", "x.py")


@pytest.mark.parametrize("name", ["dibs", "DIBS", "all", "All", "-", "type:tester"])
def test_nobody_is_called_by_a_word_that_means_somebody_else(fleet: Fleet, name: str) -> None:
    with pytest.raises(Invalid):
        fleet.call(name, "boot")


def test_agents_are_listed_by_type_and_state(fleet: Fleet) -> None:
    fleet.call("ann", "boot", client=7, type="worker")
    fleet.call("bob", "boot", client=8, type="worker")
    fleet.call("cid", "boot", client=9)
    fleet.kill9(8)

    def listed(**fields: Any) -> list[str]:
        return [one["agent"] for one in fleet.call("me", "agents", **fields)["agents"]]

    assert listed(type="worker") == ["ann", "bob"]
    assert listed(type="worker", state="gone") == ["bob"]
    assert listed(state="alive") == ["ann", "cid"]


def test_an_agent_that_left_says_when(fleet: Fleet) -> None:
    fleet.call("ann", "boot")
    fleet.now += 5_000
    fleet.call("ann", "leave")
    left = fleet.call("bob", "agents", all=True)["agents"][0]
    assert left["left_at"] > left["since"]
    fleet.now += 5_000
    fleet.call("ann", "boot")
    assert "left_at" not in fleet.call("bob", "agents", all=True)["agents"][0]
