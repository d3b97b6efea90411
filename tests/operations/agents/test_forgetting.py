"""Agents that are gone: hidden at once, forgotten after a while, and nothing that refers to them breaks."""

from __future__ import annotations

from typing import Any

import pytest

from dibs.operations.core.policy import DAY
from tests.operations.agents.test_speech import Terminal
from tests.operations.engines import OnEngine
from tests.operations.fleet import Fleet

KEEP = 7 * DAY
UUID = "0b5c9c1e-93d5-4b1e-a2f1-0c8a7c6d5e4f"


@pytest.fixture
def fleet(on_engine: OnEngine) -> Fleet:
    return on_engine(Fleet())


def later(fleet: Fleet, ms: int = KEEP) -> int:
    """Time passes, and somebody sweeps; how many were forgotten."""
    fleet.now += ms
    return int(fleet.call("sweeper", "sweep")["swept"]["agents"])


def listed(fleet: Fleet, **fields: Any) -> list[str]:
    return [one["agent"] for one in fleet.call("x", "agents", **fields)["agents"]]


def test_one_that_left_is_hidden_and_shown_where_all_are_asked_for(fleet: Fleet) -> None:
    fleet.call("ann", "boot")
    fleet.call("bob", "boot")
    fleet.call("bob", "leave")
    assert listed(fleet) == ["ann"]
    assert listed(fleet, all=True) == ["ann", "bob"]
    assert [one["agent"] for one in fleet.call("x", "status")["agents"]] == ["ann"]


def test_one_that_left_is_forgotten_when_the_config_says_and_not_before(fleet: Fleet) -> None:
    fleet.call(UUID, "boot", client=7, client_type="claude")
    name = fleet.record(f"a\t{UUID}")["name"]
    fleet.call(UUID, "leave", client=7)
    assert later(fleet, KEEP - 1) == 0
    assert later(fleet, 1) == 1
    assert fleet.record(f"a\t{UUID}") is None
    assert fleet.record(f"nm\t{name}") is None
    assert fleet.record("p\thost:boot:ns:7:1") is None
    assert fleet.events("agent.forgotten")[0]["subject"] == UUID
    fleet.call(UUID, "boot", client=8)
    assert listed(fleet) == [UUID]
    fleet.clean()


def test_one_whose_process_died_without_a_word_is_forgotten_and_one_that_lives_is_not(fleet: Fleet) -> None:
    fleet.call("dead", "boot", client=7)
    fleet.call("alive", "boot", client=8)
    fleet.kill9(7)
    assert later(fleet) == 1
    assert listed(fleet, all=True) == ["alive"]


def test_what_still_refers_to_an_agent_keeps_it(fleet: Fleet) -> None:
    fleet.call("boss", "run start", name="r")
    for name in ("holder", "reader", "member", "killed", "parent", "parent/child", "nobody"):
        fleet.call(name, "boot")
    fleet.call("parent/child", "claim", resources=[["file", "y.py", ""]])
    fleet.call("boss", "send", to="reader", text="later", expires=30 * DAY)
    fleet.call("member", "run join")
    fleet.call("boss", "kill", agent="killed", why="w")
    fleet.now += KEEP - 60_000
    fleet.claim("holder", "x.py")
    fleet.claim("parent/child", "y.py")
    later(fleet, 60_000)
    left = listed(fleet, all=True)
    assert "nobody" not in left
    assert {"holder", "reader", "member", "killed", "parent", "parent/child"} <= set(left)


def test_tasks_messages_and_the_log_speak_of_it_as_before(fleet: Fleet) -> None:
    fleet.call("ann", "task add", title="T", id="T")
    fleet.call("bob", "boot")
    fleet.call("ann", "send", to="bob", text="hello", expires=30 * DAY)
    fleet.call("ann", "leave")
    later(fleet)
    assert "ann" not in listed(fleet, all=True)
    assert fleet.call("x", "task show", id="T")["task"]["by"] == "ann"
    assert [one["from"] for one in fleet.call("bob", "inbox")["messages"]] == ["ann"]
    token = fleet.call("bob", "task claim", id="T")["token"]
    failed: dict[str, Any] = {"id": "T", "token": token, "why": "no", "class": "permanent"}
    fleet.call("bob", "task fail", **failed)
    fleet.clean()


def test_who_only_asks_is_not_registered_and_a_person_is_shown_as_one(fleet: Fleet) -> None:
    terminal = Terminal(fleet, 70)
    for words in ("status", "agents", "whoami", "inbox", "rules", "subscriptions", "sweep", "seal", "task list"):
        terminal.type(words)
    assert listed(fleet, all=True) == []
    terminal.type("claim", resources=["x.py"])
    (one,) = fleet.call("x", "agents")["agents"]
    assert (one["agent"], one["kind"]) == ("me@here", "person")
    fleet.call("ann", "boot")
    assert [one["kind"] for one in fleet.call("x", "agents")["agents"]] == ["agent", "person"]


def test_another_id_of_an_agent_stays_for_as_long_as_the_agent_is_known(fleet: Fleet) -> None:
    fleet.call("script", "task next", wait=1_000)
    fleet.call("session", "boot", client=7, also="script")
    assert fleet.record("a\tscript")["same"] == "session"
    assert later(fleet) == 0, "its client lives"
    fleet.kill9(7)
    later(fleet, 1)
    later(fleet, 1)
    assert listed(fleet, all=True) == []
    assert fleet.record("a\tscript") is None
