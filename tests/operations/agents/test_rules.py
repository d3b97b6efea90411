"""The rules of a workspace, which version an agent was told, and what a boot tells of what was lost."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dibs.errors import Fenced, Held
from dibs.operations.guards import commit_guard
from tests.operations.fleet import TREE, Fleet, resource

MINUTE = 60_000


@pytest.fixture
def fleet() -> Iterator[Fleet]:
    made = Fleet()
    made.rules = "one"
    yield made
    made.clean()


def told(fleet: Fleet) -> list[str]:
    """The versions that agents were told, as the log has them."""
    return [event["data"]["digest"] for event in fleet.events("rules.acknowledged")]


def states(fleet: Fleet, name: str) -> dict[str, str]:
    """What `agents` and `status` show of each agent's rules."""
    return {agent["agent"]: agent["rules"] for agent in fleet.call("viewer", name)["agents"]}


# --- the operation


def test_rules_says_which_version_holds_and_which_one_the_caller_was_told(fleet: Fleet) -> None:
    assert fleet.call("a", "rules") == {"digest": "one", "acknowledged": "", "current": False}
    assert told(fleet) == []
    assert fleet.call("a", "rules", ack=True) == {"digest": "one", "acknowledged": "one", "current": True}
    fleet.call("a", "rules", ack=True)
    assert told(fleet) == ["one"]
    fleet.rules = "two"
    assert fleet.call("a", "rules") == {"digest": "two", "acknowledged": "one", "current": False}


def test_where_there_are_no_rules_there_is_nothing_to_acknowledge(fleet: Fleet) -> None:
    fleet.rules = ""
    assert fleet.call("a", "rules", ack=True) == {"digest": "", "acknowledged": "", "current": True}
    assert told(fleet) == []


def test_scratch_is_the_callers_own_folder(fleet: Fleet) -> None:
    own = fleet.call("p/child", "scratch")
    assert own == {"agent": "p/child", "name": "p/child", "scratch": ".dibs/local/scratch/p/child"}


# --- at boot


def test_a_boot_tells_the_rules_and_whether_they_changed_and_that_acknowledges_them(fleet: Fleet) -> None:
    assert fleet.call("a", "boot")["rules"] == {"digest": "one", "changed": True, "first": True}
    assert fleet.call("a", "boot")["rules"] == {"digest": "one", "changed": False, "first": False}
    fleet.rules = "two"
    assert fleet.call("a", "boot")["rules"] == {"digest": "two", "changed": True, "first": False}
    assert fleet.call("a", "boot")["rules"] == {"digest": "two", "changed": False, "first": False}
    assert told(fleet) == ["one", "two"]
    assert fleet.call("a", "rules")["current"]


def test_a_boot_without_rules_says_nothing_of_them_and_forgets_nothing(fleet: Fleet) -> None:
    fleet.call("a", "boot")
    fleet.rules = ""
    assert fleet.call("a", "boot")["rules"] is None
    fleet.rules = "one"
    assert fleet.call("a", "boot")["rules"]["changed"] is False


# --- who acts on old rules


@pytest.mark.parametrize("name", ["agents", "status"])
def test_agents_and_status_show_who_acts_on_old_rules_and_who_was_never_told(fleet: Fleet, name: str) -> None:
    fleet.claim("never", "x.py")
    fleet.call("former", "boot")
    fleet.rules = "two"
    fleet.call("newest", "boot")
    assert states(fleet, name) == {"never": "not told", "former": "old", "newest": "current"}


@pytest.mark.parametrize("name", ["agents", "status"])
def test_without_rules_nothing_is_shown_of_them(fleet: Fleet, name: str) -> None:
    fleet.call("a", "boot")
    fleet.rules = ""
    (agent,) = fleet.call("viewer", name)["agents"]
    assert "rules" not in agent


# --- what was lost


def losses(fleet: Fleet, agent: str) -> list[dict[str, object]]:
    """The memories of an agent's lost claims that are kept."""
    found = fleet.store.look(lambda tx: tx.fetch([(f"l\t{agent}\t", f"l\t{agent}\n")]).rows)
    return [loss for _, loss in found]


def test_a_loss_is_told_until_it_is_claimed_again_and_remembered_until_a_release(fleet: Fleet) -> None:
    fleet.claim("a", "x.py", ttl=MINUTE)
    fleet.now += MINUTE
    (lost,) = fleet.call("a", "boot")["lost"]
    assert (lost["resources"], lost["why"], lost["holder"]) == (["x.py"], "expired", None)
    assert len(fleet.call("a", "boot")["lost"]) == 1
    assert [loss["told"] for loss in losses(fleet, "a")] == [True]
    with pytest.raises(Fenced):
        fleet.internal("a", commit_guard.CHECK, paths=[resource("x.py")], tree=TREE)
    assert fleet.holders() == []  # never taken up again by itself, although it is free
    fleet.claim("a", "x.py")
    assert fleet.call("a", "boot")["lost"] == []
    fleet.internal("a", commit_guard.CHECK, paths=[resource("x.py")], tree=TREE)
    assert len(losses(fleet, "a")) == 1
    fleet.release("a", "x.py")
    assert losses(fleet, "a") == []
    fleet.internal("a", commit_guard.CHECK, paths=[resource("x.py")], tree=TREE)


def test_releasing_something_else_or_only_a_part_settles_no_loss(fleet: Fleet) -> None:
    fleet.claim("a", "x.py", "y.py", ttl=MINUTE)
    fleet.claim("a", "z.py")
    fleet.now += MINUTE
    assert fleet.call("a", "boot")["lost"][0]["resources"] == ["x.py", "y.py"]
    fleet.release("a", "z.py")
    fleet.claim("a", "x.py")
    fleet.release("a", "x.py")
    assert len(losses(fleet, "a")) == 1
    fleet.claim("a", "x.py", "y.py")
    fleet.release("a", "x.py", "y.py")
    assert losses(fleet, "a") == []


def test_a_loss_to_the_kill_switch_is_told_after_the_revival_until_it_is_acknowledged(fleet: Fleet) -> None:
    fleet.edit("a", "x.py")
    fleet.call("boss", "kill", agent="a", why="runs wild")
    fleet.edit("b", "x.py")
    fleet.call("boss", "revive", agent="a")
    (lost,) = fleet.call("a", "boot")["lost"]
    assert (lost["why"], lost["holder"]) == ("killed", "b")
    fleet.call("a", "ack", message=lost["claim"])
    assert fleet.call("a", "boot")["lost"] == []
    with pytest.raises(Held):  # it knows; a commit of it is refused all the same
        fleet.internal("a", commit_guard.CHECK, paths=[resource("x.py")], tree=TREE)
    assert fleet.holders() == [("b", "x.py")]


def test_a_loss_is_forgotten_after_a_week(fleet: Fleet) -> None:
    fleet.edit("a", "x.py")
    fleet.now += 30 * MINUTE
    fleet.call("a", "boot")
    fleet.now += 7 * 24 * 60 * MINUTE
    fleet.call("a", "sweep")
    assert losses(fleet, "a") == []
