"""A dead agent is found by a sweep, or by an agent that wants what it held, and told to those who coordinate it."""

from __future__ import annotations

import pytest

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
    assert "ann exited without signing off." in text
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
