"""The log is trimmed by what the config says, by sweeps, and never silently."""

from __future__ import annotations

from typing import Any

import pytest

from dibs.errors import Conflict, Invalid, NotFound
from dibs.operations.core.policy import DAY, WORK
from dibs.operations.upkeep import log_retention
from tests.operations.fleet import Fleet


def keeping(keep: int) -> Fleet:
    return Fleet(work={**WORK, "log": {**WORK["log"], "keep": keep}})


def sweep(fleet: Fleet) -> dict[str, Any]:
    """All that is due; what was done, by kind."""
    done: dict[str, int] = {}
    for _ in range(10):
        answer = fleet.call("v", "sweep")
        for kind, count in answer["swept"].items():
            done[kind] = done.get(kind, 0) + count
        while answer["prune"]:
            fleet.prune("v")
            done["pruned"] = done.get("pruned", 0) + 1
            answer = fleet.call("v", "sweep")
        if not answer["more"]:
            return {kind: count for kind, count in done.items() if count}
    message = "there is always more"
    raise AssertionError(message)


def test_without_a_word_in_the_config_every_event_stays() -> None:
    fleet = Fleet()
    fleet.claim("a", "x.py")
    for _ in range(100):
        fleet.now += DAY
        sweep(fleet)
    assert fleet.events()[0]["seq"] == 1
    assert fleet.events("log.") == []


def test_events_go_when_they_are_older_than_the_config_says_and_the_log_says_so() -> None:
    fleet = keeping(3 * DAY)
    fleet.claim("a", "x.py", ttl=8 * 3_600_000)
    assert sweep(fleet) == {"sealed": 1}
    assert sweep(fleet) == {}, "once a day"
    for day in range(1, 10):
        fleet.now += DAY
        fleet.claim("a", f"{day}.py")
        done = sweep(fleet)
        assert (done["sealed"], done.get("pruned", 0)) == (1, int(day >= 3))
        fleet.clean()
        oldest = fleet.events()[0]["now"]
        assert fleet.now - 4 * DAY <= oldest <= fleet.now - min(day, 3) * DAY
    (*_, last) = fleet.events("log.pruned")
    assert last["data"]["through"] == fleet.events()[0]["seq"] - 1
    assert len(fleet.store.seals()) <= 5


def test_what_is_due_is_swept_before_the_log_is_sealed() -> None:
    fleet = keeping(DAY)
    fleet.claim("a", "x.py", ttl=1_000)
    fleet.now += 1_000
    first = fleet.call("v", "sweep")
    assert (first["swept"]["claims"], first["swept"]["sealed"], first["more"]) == (1, 0, True)
    second = fleet.call("v", "sweep")
    assert (second["swept"]["claims"], second["swept"]["sealed"]) == (0, 1)
    fleet.clean()


def test_a_seal_made_by_hand_counts_and_pruning_by_hand_is_not_repeated() -> None:
    fleet = keeping(2 * DAY)
    fleet.claim("a", "x.py")
    fleet.call("v", "seal")
    assert sweep(fleet) == {}
    fleet.now += 2 * DAY
    fleet.prune("v", keep=2 * DAY)
    assert "pruned" not in sweep(fleet)
    fleet.clean()


def test_no_transaction_drops_more_events_than_a_piece_and_sweeps_ask_for_the_rest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(log_retention, "PRUNE_EVENTS", 10)
    fleet = keeping(2 * DAY)
    for number in range(25):
        fleet.claim("a", f"{number}.py")
    fleet.call("v", "seal")
    fleet.now += 2 * DAY
    through = fleet.prune("v", keep=2 * DAY)["through"]
    left = [fleet.events()[0]["seq"]]
    while fleet.call("v", "sweep")["prune"]:
        with pytest.raises(Conflict):
            fleet.prune("v")
        assert len(fleet.events("log.pruned")) == 1
        fleet.clean()
        fleet.internal("v", log_retention.REST)
        left.append(fleet.events()[0]["seq"])
    assert left == [*range(11, through + 1, 10), through + 1]
    fleet.internal("v", log_retention.REST)
    assert fleet.events()[0]["seq"] == through + 1, "there is nothing left to drop"
    fleet.clean()


@pytest.mark.parametrize(("config", "kept"), [(30 * DAY, 30 * DAY), (2 * DAY, 2 * DAY)])
def test_what_is_younger_than_the_retention_stays_whoever_asks(config: int, kept: int) -> None:
    fleet = keeping(config)
    fleet.claim("a", "x.py")
    fleet.call("v", "seal")
    fleet.now += kept - 1
    for keep in (0, 1_000, kept - 1):
        with pytest.raises(Invalid, match="the log of the last"):
            fleet.prune("v", keep=keep)
    with pytest.raises(NotFound):
        fleet.prune("v")
    assert fleet.events()[0]["seq"] == 1
    fleet.now += 1
    assert fleet.prune("v")["through"] > 0
    fleet.clean()


@pytest.mark.parametrize("keep", [1_000, 3_600_000])
def test_a_short_memory_is_sealed_as_often(keep: int) -> None:
    fleet = keeping(keep)
    sweep(fleet)
    for number in range(5):
        fleet.now += keep
        fleet.claim("a", f"{number}.py")
        assert sweep(fleet)["sealed"] == 1
    fleet.clean()
    assert len(fleet.events()) < 40


def test_nothing_is_sealed_where_nothing_happened_since() -> None:
    fleet = keeping(DAY)
    fleet.claim("a", "x.py", ttl=1_000)
    fleet.now += 1_000
    sweep(fleet)
    for _ in range(5):
        fleet.now += DAY
        sweep(fleet)
    kinds = [event["kind"] for event in fleet.events()]
    assert kinds == ["log.sealed", "log.pruned"], "and these two do not cause others"


def test_events_beyond_the_most_leave_although_they_are_young(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_retention, "SEAL_EVENTS", 10)
    fleet = Fleet(work={**WORK, "log": {**WORK["log"], "events": 30}})
    for number in range(100):
        fleet.claim("a", f"{number}.py")
        fleet.release("a", f"{number}.py")
        sweep(fleet)
        assert len(fleet.events()) <= 30 + 10 + 4
    assert fleet.events("log.pruned")
    fleet.clean()


def test_no_event_leaves_without_its_archive() -> None:
    fleet = keeping(DAY)
    fleet.claim("a", "x.py")
    fleet.call("v", "seal")
    fleet.now += DAY
    with pytest.raises(Invalid, match="archive"):
        fleet.call("v", "prune")
    plan = fleet.internal("v", log_retention.PLAN)
    facts = {"file": "f", "first": 1, "last": plan["through"], "link": plan["link"], "sha256": "", "size": 1}
    facts["host"] = "here"
    for wrong in ({"first": 2}, {"last": plan["through"] - 1}, {"link": "0" * 40}):
        with pytest.raises(Conflict):
            fleet.call("v", "prune", archive={**facts, **wrong})
    assert fleet.events()[0]["seq"] == 1
    assert fleet.call("v", "prune", archive=facts) == {"through": plan["through"], "archives": ["f"]}
    fleet.clean()
