"""After a call: what an agent is told and how often, and what an idle agent gives back."""

from __future__ import annotations

from typing import Any

import pytest

from dibs.errors import Held, Killed
from dibs.operations.guards.audits import ACTIVITY, AUDIT, CHANGED, DOUBT, IDLE, KNOWN, MINE, OTHERS
from tests.operations.fleet import OTHER_TREE, TREE, Fleet, change, item

MINUTE = 60_000


def held(fleet: Fleet, agent: str = "a", name: str = "x.py") -> dict[str, Any]:
    (claim,) = fleet.edit(agent, name)["claims"]
    return dict(claim)


# --- who holds what here


def test_others_are_the_live_writers_outside_the_family_that_count_in_this_tree(fleet: Fleet) -> None:
    fleet.edit("b", "mine.py")
    fleet.edit("b/child", "childs.py")
    fleet.claim("a", "read.py", mode="read")
    fleet.claim("a", "ended.py", ttl=MINUTE)
    fleet.edit("a", "linked.py", tree=OTHER_TREE)
    fleet.edit("dead", "dead.py", process=10)
    fleet.now += MINUTE
    fleet.claim("a", "hand.py", reason="why")
    fleet.edit("a", "edited.py")
    fleet.kill9(10)
    before = fleet.store.head().seq
    found = fleet.internal("b", OTHERS, tree=TREE)["claims"]
    assert sorted((one["agent"], one["by"], one["tree"], one["resources"][0][1]) for one in found) == [
        ("a", "edit", TREE, "edited.py"),
        ("a", "hand", "", "hand.py"),
    ]
    everywhere = fleet.internal("b", OTHERS)["claims"]
    assert {one["resources"][0][1] for one in everywhere} == {"edited.py", "hand.py", "linked.py"}
    assert fleet.store.head().seq == before


# --- changes (test_changes.py has what each of them means)


def test_a_change_of_what_another_holds_is_told_in_the_answer_to_whoever_made_it(fleet: Fleet) -> None:
    held(fleet)
    (found,) = fleet.overwrite("b", change("b"))
    assert found["text"].startswith("your command changed x.py, which a holds.")
    assert fleet.told("b") == []
    assert [kind for kind, _ in fleet.told("a")] == ["violation"]


def test_where_the_agent_cannot_be_told_at_once_it_gets_a_message_like_everybody(fleet: Fleet) -> None:
    held(fleet)
    (found,) = fleet.internal("b", CHANGED, found=[change("b")])["violations"]
    assert found["text"] is None
    assert [kind for kind, _ in fleet.told("b")] == ["violation"]
    assert [kind for kind, _ in fleet.told("a")] == ["violation"]


# --- news


def test_a_message_is_shown_once_and_stays_in_the_inbox_until_acknowledged(fleet: Fleet) -> None:
    fleet.edit("a", "x.py")
    fleet.call("b", "ask", resource="x.py", text="are you done?")
    assert [message["text"] for message in fleet.internal("a", ACTIVITY)["messages"]] == ["are you done?"]
    assert fleet.internal("a", ACTIVITY)["messages"] == []
    assert fleet.internal("a", AUDIT)["messages"] == []
    assert [text for _, text in fleet.told("a")] == ["are you done?"]
    assert [message["text"] for message in fleet.call("a", "boot")["messages"]] == ["are you done?"]
    fleet.call("b", "ask", resource="x.py", text="and now?")
    assert [message["text"] for message in fleet.internal("a", AUDIT)["messages"]] == ["and now?"]
    fleet.call("a", "ack", message="all")
    assert fleet.call("a", "boot")["messages"] == []


def test_what_a_boot_showed_is_no_news_afterwards(fleet: Fleet) -> None:
    fleet.edit("a", "x.py")
    fleet.call("b", "ask", resource="x.py", text="are you done?")
    assert len(fleet.call("a", "boot")["messages"]) == 1
    assert fleet.internal("a", ACTIVITY)["messages"] == []


@pytest.mark.parametrize("operation", [ACTIVITY, AUDIT], ids=lambda operation: operation.name)
def test_changed_rules_are_told_once_and_that_is_the_acknowledgement(fleet: Fleet, operation: Any) -> None:
    fleet.rules = "one"
    fleet.call("a", "boot")
    assert fleet.internal("a", operation)["rules_changed"] is False
    fleet.rules = "two"
    assert fleet.internal("a", operation)["rules_changed"] is True
    assert fleet.internal("a", operation)["rules_changed"] is False
    assert fleet.record("a\ta")["rules"] == "two"
    assert [event["data"]["digest"] for event in fleet.events("rules.acknowledged")] == ["one", "two"]


def test_without_rules_nothing_is_acknowledged(fleet: Fleet) -> None:
    assert fleet.internal("a", ACTIVITY)["rules_changed"] is False
    assert fleet.events("rules.") == []


def test_where_nothing_is_new_activity_writes_nothing(fleet: Fleet) -> None:
    fleet.rules = "one"
    fleet.call("a", "boot")
    before = fleet.store.head().commit
    fleet.internal("a", ACTIVITY)
    fleet.internal("a", AUDIT)
    assert fleet.store.head().commit == before


def test_activity_renews_what_is_past_half_its_life(fleet: Fleet) -> None:
    fleet.edit("a", "x.py")
    fleet.now += 16 * MINUTE
    fleet.internal("a", ACTIVITY)
    fleet.now += 29 * MINUTE
    assert fleet.holders() == [("a", "x.py")]


# --- when an agent stops


def idle(fleet: Fleet, agent: str, **now: str) -> Any:
    """The agent stops; `x` stands for x.py and has the content that is there then."""
    mine = fleet.internal(agent, MINE)["claims"]
    found = {f"{claim}\t{text}": now[text[:-3]] for claim, _, texts in mine for text in texts if text[:-3] in now}
    return fleet.internal(agent, IDLE, now=found)["released"]


def test_an_edit_claim_whose_file_is_unchanged_is_given_back_and_a_changed_one_kept(fleet: Fleet) -> None:
    for name in ("same.py", "changed.py", "gone.py"):
        fleet.edit("a", item(name, blob="old"))
    assert idle(fleet, "a", same="old", changed="new", gone="") == ["same.py"]
    assert fleet.holders() == [("a", "changed.py"), ("a", "gone.py")]
    assert fleet.events("claim.released")[-1]["data"]["why"] == "unchanged"


def test_a_file_that_was_never_made_is_given_back_and_one_that_was_made_is_kept(fleet: Fleet) -> None:
    fleet.edit("a", item("never.py", blob=""))
    fleet.edit("a", item("made.py", blob=""))
    assert idle(fleet, "a", never="", made="new") == ["never.py"]


def test_of_a_claim_on_several_files_only_the_unchanged_ones_are_given_back(fleet: Fleet) -> None:
    (claim,) = fleet.edit("a", item("one.py", blob="1"), item("two.py", blob="2"), item("three.py", blob="3"))["claims"]
    assert idle(fleet, "a", one="1", two="new", three="3") == ["one.py", "three.py"]
    assert fleet.call("a", "confirm", resource="two.py", token=claim["token"])["holder"] == "a"
    fleet.edit("b", "one.py")


def test_a_file_at_which_nobody_looked_is_kept(fleet: Fleet) -> None:
    fleet.edit("a", "x.py")
    assert idle(fleet, "a") == []
    assert fleet.internal("a", IDLE)["released"] == []
    assert fleet.holders() == [("a", "x.py")]
    assert fleet.events("claim.released") == []


def test_explicit_claims_and_those_of_others_are_kept_whatever_is_said_of_them(fleet: Fleet) -> None:
    hand = fleet.claim("a", "hand.py")
    other = held(fleet, "a/child", "childs.py")
    assert fleet.internal("a", MINE)["claims"] == []
    now = {f"{hand['claim']}\thand.py": "", f"{other['claim']}\tchilds.py": "b0"}
    assert fleet.internal("a", IDLE, now=now)["released"] == []
    assert fleet.holders() == [("a", "hand.py"), ("a/child", "childs.py")]


def test_whoever_was_refused_is_told_when_an_idle_agent_gives_the_file_back(fleet: Fleet) -> None:
    fleet.edit("a", "x.py")
    with pytest.raises(Held):
        fleet.edit("b", "x.py")
    idle(fleet, "a", x="b0")
    assert [kind for kind, _ in fleet.told("b")] == ["free"]
    fleet.edit("b", "x.py")


def test_mine_are_the_live_edit_claims_and_their_files(fleet: Fleet) -> None:
    fleet.claim("a", "hand.py")
    first = held(fleet, "a", "ended.py")
    fleet.now += 30 * MINUTE + 1  # a moment at which a claim does not sweep by the way
    (second,) = fleet.edit("a", item("x.py", alias="8:77"), tree=OTHER_TREE)["claims"]
    assert fleet.internal("a", MINE)["claims"] == [[second["claim"], OTHER_TREE, ["x.py"]]]
    assert fleet.internal("a", IDLE, now={f"{first['claim']}\tended.py": "b0"})["released"] == []


# --- the rest


def test_an_agent_is_known_from_its_first_call_on_and_asking_does_not_make_it_known(fleet: Fleet) -> None:
    assert fleet.internal("a", KNOWN) == {"known": False}
    assert fleet.internal("a", KNOWN) == {"known": False}
    fleet.internal("a", ACTIVITY)
    assert fleet.internal("a", KNOWN) == {"known": True}
    assert fleet.internal("a/child", KNOWN) == {"known": False}


def test_what_passed_in_doubt_is_in_the_log(fleet: Fleet) -> None:
    fleet.internal("a", DOUBT, why="the store is busy " + "x" * 300, tool="Edit")
    (event,) = fleet.events("guard.doubted")
    assert (event["agent"], event["subject"]) == ("a", "Edit")
    assert event["data"]["why"].startswith("the store is busy")
    assert len(event["data"]["why"]) == 200


@pytest.mark.parametrize("operation", [ACTIVITY, AUDIT, IDLE, DOUBT], ids=lambda operation: operation.name)
def test_a_killed_agent_gets_no_news(fleet: Fleet, operation: Any) -> None:
    fleet.call("a", "boot")
    fleet.call("boss", "kill", agent="a", why="runs wild")
    with pytest.raises(Killed, match="runs wild"):
        fleet.internal("a", operation)
