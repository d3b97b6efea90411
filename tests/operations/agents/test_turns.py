"""An agent's turns: what it is doing, that it waits for a person, that it is stalled; and what ends each of these."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from dibs.errors import Held
from dibs.operations.agents.turns import MAX_WORDS_CHARS, STALLED, TURN, words_of
from dibs.operations.core.policy import WORK
from dibs.operations.guards.audits import IDLE
from dibs.operations.upkeep.sweeps import UPKEEP_DUE
from tests.operations.fleet import Fleet

if TYPE_CHECKING:
    from tests.operations.engines import OnEngine

MINUTE = 60_000
QUIET = [["ann", 10 * MINUTE]]


def shown(fleet: Fleet, agent: str = "ann") -> dict[str, Any]:
    """An agent, as `dibs agents` lists it."""
    found: dict[str, Any] = next(
        one for one in fleet.call("viewer", "agents", all=True)["agents"] if one["agent"] == agent
    )
    return found


def turn(fleet: Fleet, what: str, text: str = "") -> None:
    """Ann's client tells of her turn."""
    fleet.internal("ann", TURN, process=7, what=what, text=text)


@pytest.fixture
def fleet() -> Fleet:
    """Ann has been prompted."""
    fleet = Fleet()
    fleet.call("ann", "boot", client=7)
    turn(fleet, "prompted", "fix the cart tests\n\tand   more")
    return fleet


def test_the_states_of_an_agent_follow_its_turn() -> None:
    fleet = Fleet()
    fleet.call("ann", "boot", client=7)
    assert shown(fleet)["activity"] == "working", "it acted lately"
    turn(fleet, "prompted", "fix it")
    fleet.now += 5 * MINUTE
    assert shown(fleet)["activity"] == "working", "its turn is open"
    turn(fleet, "asks", "permission for Bash")
    assert shown(fleet)["activity"] == "waits for a person"
    assert shown(fleet)["waits"]["what"] == "permission for Bash"
    fleet.call("ann", "renew", client=7)
    assert shown(fleet)["activity"] == "working", "any call of it ends that"
    fleet.internal("ann", IDLE, process=7, now={})
    assert shown(fleet)["activity"] == "idle"
    fleet.now += 2 * MINUTE
    fleet.call("ann", "renew", client=7)
    assert shown(fleet)["activity"] == "working", "a client without a hook for prompts acts again"
    fleet.kill9(7)
    assert shown(fleet)["activity"] == "exited"
    fleet.call("ann", "leave", client=7)
    assert shown(fleet)["activity"] == "left"


def test_a_killed_agent_that_waits_for_a_person_is_a_killed_one(fleet: Fleet) -> None:
    turn(fleet, "asks", "x")
    fleet.call("boss", "kill", agent="ann", why="enough")
    assert shown(fleet)["activity"] == "killed"


@pytest.mark.parametrize(("text", "words"), [
    ("fix the cart tests\n\tand   more", "fix the cart tests and more"),
    ("\x1b[31mred\x07 \u202eevil", "[31mred evil"),
    ("<task-notification>x</task-notification>", ""),
    ("  \n ", ""),
    ("word " * 40, "word word word word word word word word word word word word…"),
    ("x" * 500, "x" * (MAX_WORDS_CHARS - 1) + "…"),
])  # fmt: skip
def test_a_prompt_is_kept_as_its_first_words_on_one_printable_line(text: str, words: str) -> None:
    assert words_of(text) == words
    assert len(words) <= MAX_WORDS_CHARS


def test_what_an_agent_is_doing_stands_in_the_refusal_of_another(fleet: Fleet) -> None:
    fleet.edit("ann", "a.py", process=7)
    with pytest.raises(Held, match=r'ann holds .*, at work on "fix the cart tests and more"'):
        fleet.claim("bob", "a.py")
    turn(fleet, "prompted", "<task-notification>")
    assert shown(fleet)["doing"] == "fix the cart tests and more", "what no person typed changes nothing"
    fleet.internal("ann", IDLE, process=7, now={})
    fleet.now += 5 * MINUTE
    with pytest.raises(Held, match="idle for 5 min"):
        fleet.claim("bob", "a.py")


def test_by_config_no_word_of_a_prompt_is_stored() -> None:
    fleet = Fleet(work={**WORK, "agents": {**WORK["agents"], "prompts": False}})
    fleet.call("ann", "boot", client=7)
    turn(fleet, "prompted", "the password is hunter2")
    assert "doing" not in fleet.record("a\tann")
    assert shown(fleet)["activity"] == "working"


def test_a_stall_is_an_open_turn_without_hook_and_cpu_for_long_and_ends_with_the_next_call(on_engine: OnEngine) -> None:
    fleet = on_engine(Fleet())
    fleet.call("ann", "boot", client=7)
    turn(fleet, "prompted", "fix it")

    def measured(*quiet: list[Any]) -> str:
        fleet.internal("looker", STALLED, quiet=list(quiet) or QUIET)
        return str(shown(fleet)["activity"])

    fleet.now += 9 * MINUTE
    assert measured() == "working", "a hook came nine minutes ago"
    assert not fleet.internal("looker", UPKEEP_DUE)["turns"]
    fleet.now += MINUTE
    assert fleet.internal("looker", UPKEEP_DUE)["turns"] == [["ann", fleet.process(7)]]
    assert measured(["ann", 9 * MINUTE]) == "working", "it used CPU nine minutes ago"
    assert measured(["nobody", 10 * MINUTE]) == "working"
    assert measured() == "stalled"
    assert not fleet.internal("looker", UPKEEP_DUE)["turns"], "it is known"
    fleet.call("ann", "renew", client=7)
    assert shown(fleet)["activity"] == "working"


@pytest.mark.parametrize("how", ["asks", "over"])
def test_neither_who_waits_for_a_person_nor_who_is_idle_is_stalled(fleet: Fleet, how: str) -> None:
    turn(fleet, how)
    fleet.now += 20 * MINUTE
    fleet.internal("looker", STALLED, quiet=[["ann", 20 * MINUTE]])
    assert shown(fleet)["activity"] == {"asks": "waits for a person", "over": "idle"}[how]


def test_who_needs_a_person_comes_first_by_what_it_holds_up(fleet: Fleet) -> None:
    for agent, pid, files in (("kim", 8, 1), ("zoe", 9, 2)):
        fleet.call(agent, "boot", client=pid)
        for number in range(files):
            fleet.edit(agent, f"{agent}{number}.py", process=pid)
        fleet.internal(agent, TURN, process=pid, what="asks", text="x")
    listed = [one["agent"] for one in fleet.call("viewer", "agents")["agents"]]
    assert listed[:2] == ["zoe", "kim"], "it holds more"
    fleet.claim("bob", "kim0.py", wait=MINUTE)
    agents = fleet.call("viewer", "agents")["agents"]
    assert [(one["agent"], one["holds"], one.get("holds_up")) for one in agents[:2]] == [
        ("kim", 1, ["bob"]),
        ("zoe", 2, None),
    ]


def test_an_agent_that_starts_in_another_process_has_no_open_turn(fleet: Fleet) -> None:
    fleet.kill9(7)
    fleet.call("ann", "boot", client=8)
    assert "turn" not in fleet.record("a\tann")


def test_a_stall_ends_with_the_next_call_also_where_the_config_makes_it_short() -> None:
    fleet = Fleet(work={**WORK, "agents": {**WORK["agents"], "stalled": 5_000}})
    fleet.call("ann", "boot", client=7)
    turn(fleet, "prompted", "fix it")
    fleet.now += 6_000
    fleet.internal("looker", STALLED, quiet=[["ann", 6_000]])
    assert shown(fleet)["activity"] == "stalled"
    fleet.call("ann", "renew", client=7)
    assert shown(fleet)["activity"] == "working"
