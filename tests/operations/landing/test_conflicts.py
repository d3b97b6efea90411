"""The record of coming conflicts: told once, kept while they last, gone when a look no longer finds them."""

from __future__ import annotations

from typing import Any

import pytest

from dibs.operations.landing import conflicts
from tests.operations.fleet import Fleet


@pytest.fixture
def fleet() -> Fleet:
    made = Fleet()
    for agent in ("ann", "bob"):
        made.call(agent, "boot")
    return made


def pair(one: str = "/a", other: str = "/b", path: str = "x.py", **more: Any) -> dict[str, Any]:
    agents = {"agents": ["ann"], "other_agents": ["bob"]}
    files = [[path, "content", [[10, 3, 12, 1]]]]
    return {"one": one, "other": other, "branches": [one[1:], other[1:]], "trees": [one, other], "files": files,
            **agents, **more}  # fmt: skip


def report(fleet: Fleet, *pairs: dict[str, Any], place: str = "here") -> Any:
    return fleet.internal("ann", conflicts.REPORT, place=place, pairs=list(pairs), looked=2)


def test_both_agents_are_told_once_with_their_own_lines(fleet: Fleet) -> None:
    assert len(report(fleet, pair())["began"]) == 1
    ((kind, mine),) = fleet.told("ann")
    ((_, theirs),) = fleet.told("bob")
    assert kind == "radar"
    assert "x.py (line 10-12)" in mine
    assert "the work of bob in b" in mine
    assert "x.py (line 12)" in theirs
    for path in ("x.py", "y.py", "x.py"):
        assert report(fleet, pair(path=path)) == {"began": [], "ended": []}
    assert len(fleet.told("ann")) == len(fleet.told("bob")) == 1


def test_the_order_of_the_sides_does_not_matter(fleet: Fleet) -> None:
    report(fleet, pair("/a", "/b"))
    assert report(fleet, pair("/b", "/a")) == {"began": [], "ended": []}


def test_since_when_stays_while_it_lasts_and_begins_anew_afterwards(fleet: Fleet) -> None:
    report(fleet, pair())
    (first,) = fleet.call("me", "radar")["conflicts"]
    fleet.now += 60_000
    report(fleet, pair(path="y.py"))
    (second,) = fleet.call("me", "radar")["conflicts"]
    assert (second["since"], second["files"][0]["path"]) == (first["since"], "y.py")
    assert len(report(fleet)["ended"]) == 1
    assert fleet.call("me", "radar")["conflicts"] == []
    fleet.now += 60_000
    report(fleet, pair())
    (third,) = fleet.call("me", "radar")["conflicts"]
    assert third["since"] > first["since"]
    assert [event["kind"] for event in fleet.events("radar.")] == ["radar.found", "radar.cleared", "radar.found"]
    fleet.clean()


def test_a_report_speaks_only_of_its_own_machine_and_repository(fleet: Fleet) -> None:
    report(fleet, pair(), place="one machine")
    assert report(fleet, place="another")["ended"] == []
    assert len(fleet.call("me", "radar")["conflicts"]) == 1


def test_a_conflict_that_nobody_has_seen_for_a_week_is_dropped(fleet: Fleet) -> None:
    report(fleet, pair())
    fleet.now += conflicts.UNSEEN_LIFE_MS + 1
    fleet.call("me", "sweep")
    assert fleet.call("me", "radar")["conflicts"] == []
    assert fleet.events("radar.cleared")


def test_an_agent_with_both_sides_is_not_told_of_itself(fleet: Fleet) -> None:
    report(fleet, pair(other_agents=["ann"]))
    assert fleet.told("ann") == []


def test_two_worktrees_of_one_branch_are_told_apart_by_their_folders(fleet: Fleet) -> None:
    report(fleet, pair(branches=["topic", "topic"]), pair("/a", "/c", branches=["topic", "other"]))
    names = {tuple(side["name"] for side in one["sides"]) for one in fleet.call("me", "radar")["conflicts"]}
    assert names == {("topic (/a)", "topic (/b)"), ("topic (/a)", "other")}
