"""Small things that people and models ask for: who died, who read what, what was left undone, which attempt it is."""

from __future__ import annotations

from typing import Any

import pytest

from dibs.errors import Fenced, Invalid, NotFound
from dibs.operations.tasks.remaining import OUTLOOK
from tests.operations.fleet import Fleet, guards


def texts(fleet: Fleet, agent: str, kind: str) -> list[str]:
    """What an agent was told of one kind."""
    return [text for what, text in fleet.told(agent) if what == kind]


@pytest.fixture
def crew(fleet: Fleet) -> Fleet:
    """Lead coordinates a run in which ann takes part; ann's process is 7."""
    fleet.call("lead", "run start", name="r", id="r1")
    fleet.call("ann", "boot", client=7)
    fleet.call("ann", "run join", client=7, run="r1")
    return fleet


def test_a_dead_agent_is_told_to_the_coordinator_of_its_run_once(crew: Fleet) -> None:
    crew.call("any", "sweep")
    assert texts(crew, "lead", "dead") == []
    crew.kill9(7)
    for _ in range(3):
        crew.call("any", "sweep")
    (text,) = texts(crew, "lead", "dead")
    assert "(pid 7) is not responding: its process is gone." in text
    assert "released" not in text, "it held nothing"
    assert texts(crew, "any", "dead") == []
    crew.call("ann", "boot", client=8)
    crew.kill9(8)
    crew.call("any", "sweep")
    assert len(texts(crew, "lead", "dead")) == len(("7", "8")), "another process is another death"
    crew.clean()


def test_whoever_wants_what_a_dead_agent_held_finds_it_dead(crew: Fleet) -> None:
    crew.claim("ann", "x.py", client=7)
    crew.kill9(7)
    crew.claim("bob", "x.py")
    assert len(texts(crew, "lead", "dead")) == 1


def test_an_agent_that_left_is_not_reported_dead(crew: Fleet) -> None:
    crew.call("ann", "leave", client=7)
    crew.kill9(7)
    crew.call("any", "sweep")
    assert texts(crew, "lead", "dead") == []


def test_who_leads_and_the_orchestrators_hear_of_a_death() -> None:
    roles = {"default": "", "assign": [("boss", "orchestrator")], "named": {}}
    fleet = Fleet(guards=guards(roles=roles))
    fleet.call("boss", "boot")
    fleet.claim("chief", "role:lead")
    fleet.call("ann", "boot", client=7)
    fleet.kill9(7)
    fleet.call("any", "sweep")
    assert len(texts(fleet, "boss", "dead")) == len(texts(fleet, "chief", "dead")) == 1


def test_who_asked_for_an_acknowledgement_hears_of_it(fleet: Fleet) -> None:
    fleet.call("bob", "boot")
    asked = fleet.call("ann", "send", to="bob", text="stop the build", ack=True)["message"]
    plain = fleet.call("ann", "send", to="bob", text="by the way")["message"]
    fleet.call("bob", "inbox")
    fleet.call("bob", "ack", message=plain)
    assert texts(fleet, "ann", "acknowledged") == []
    fleet.call("bob", "ack", message=asked)
    (text,) = texts(fleet, "ann", "acknowledged")
    assert "acknowledged your message" in text
    assert "stop the build" in text
    fleet.clean()


def test_all_at_once_is_an_acknowledgement_too(fleet: Fleet) -> None:
    fleet.call("bob", "boot")
    fleet.call("ann", "send", to="bob", text="one", ack=True)
    fleet.call("bob", "inbox")
    fleet.call("bob", "ack", message="all")
    assert len(texts(fleet, "ann", "acknowledged")) == 1


def test_a_message_can_be_left_for_an_agent_that_has_not_called_yet(fleet: Fleet) -> None:
    with pytest.raises(NotFound, match="--later"):
        fleet.call("ann", "send", to="dan", text="welcome")
    fleet.call("ann", "send", to="dan", text="welcome", later=True)
    fleet.call("ann", "send", to="eve", text="too late", later=True, expires=1_000)
    assert texts(fleet, "dan", "message") == ["welcome"]
    fleet.now += 2_000
    assert texts(fleet, "eve", "message") == []
    for to in ("all", "-"):
        with pytest.raises(Invalid):
            fleet.call("ann", "send", to=to, text="x", later=True)
    fleet.clean()


def task(fleet: Fleet, **fields: Any) -> int:
    """A task that ann has taken; its token."""
    fleet.call("boss", "task add", title="t", id="t", **fields)
    token: int = fleet.call("ann", "task claim", id="t")["token"]
    return token


def test_what_was_left_undone_is_part_of_the_result(fleet: Fleet) -> None:
    token = task(fleet)
    with pytest.raises(Invalid, match="must be an object"):
        fleet.call("ann", "task done", id="t", token=token, result=[1], not_done="docs")
    fleet.call("ann", "task done", id="t", token=token, result={"files": 2}, not_done="docs")
    assert fleet.call("boss", "task show", id="t")["task"]["result"] == {"files": 2, "not_done": "docs"}


def test_there_is_no_third_attempt_of_two(fleet: Fleet) -> None:
    token = task(fleet, attempts=2)
    for attempt in (1, 2):
        assert fleet.call("boss", "task show", id="t")["task"]["attempt"] == attempt
        failed: dict[str, Any] = {"class": "transient", "why": "no"}
        fleet.call("ann", "task fail", id="t", token=token, **failed)
        fleet.now += 3_600_000
        if attempt == 1:
            token = fleet.call("ann", "task claim", id="t")["token"]
    shown = fleet.call("boss", "task show", id="t")["task"]
    assert (shown["state"], shown["attempt"], shown["max_attempts"]) == ("quarantined", 2, 2)


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


def test_a_worker_that_ends_with_the_work_knows_whom_it_waits_for(fleet: Fleet) -> None:
    task(fleet)
    found = fleet.internal("me", OUTLOOK, agent="bob")
    assert [(one["task"], one["agent"]) for one in found["at_work"]] == [("t", "ann")]


def test_the_holder_that_gives_a_wrong_token_is_told_which_one_it_has(fleet: Fleet) -> None:
    token = task(fleet)
    with pytest.raises(Fenced, match=f"yours under token {token}") as refused:
        fleet.call("ann", "task done", id="t", token=token + 7)
    assert "Stop" not in str(refused.value)
    with pytest.raises(Fenced, match="Stop working on it"):
        fleet.call("bob", "task done", id="t", token=token + 7)


def test_an_agent_that_left_says_when(fleet: Fleet) -> None:
    fleet.call("ann", "boot")
    fleet.now += 5_000
    fleet.call("ann", "leave")
    left = fleet.call("bob", "agents", all=True)["agents"][0]
    assert left["left_at"] > left["since"]
    fleet.now += 5_000
    fleet.call("ann", "boot")
    assert "left_at" not in fleet.call("bob", "agents", all=True)["agents"][0]
