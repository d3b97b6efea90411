"""Auctions: bids for a window, the award, and bidders that do not come."""

from __future__ import annotations

from typing import Any

import pytest

from dibs.errors import Conflict, Forbidden, Invalid, NotFound, Quota
from dibs.operations.core.policy import MINUTE
from dibs.operations.tasks import assignments, auctions, placement, strategies
from tests.operations.fleet import Fleet
from tests.operations.task_calls import WAIT, WINDOW, add, assign, bid, boot, kinds, shown, sweep, take, waits_for, work


def auction(fleet: Fleet, identifier: str = "t", **fields: Any) -> None:
    """Agents a, b and c, and a task they may bid for."""
    boot(fleet, "a", "b", "c")
    add(fleet, identifier, strategy="auction", **fields)


def test_the_highest_bid_has_it_when_the_window_is_over_and_not_before(fleet: Fleet) -> None:
    auction(fleet)
    assert take(fleet, "a") is None
    answer = bid(fleet, "a", "t", 5)
    assert (answer["amount"], answer["bids"], answer["bids_until"]) == (5, 1, shown(fleet, "t")["bids_until"])
    assert bid(fleet, "b", "t", 9)["bids"] == 2
    bid(fleet, "c", "t", 7)
    fleet.now += WINDOW - 1
    assert [take(fleet, name) for name in "abc"] == [None] * 3
    fleet.now += 1
    assert [take(fleet, name) for name in "acb"] == [None, None, "t"]
    assert fleet.events("task.assigned")[0]["data"]["amount"] == 9
    assert fleet.record("tb\tt\ta") is None
    fleet.clean()


def test_the_winner_whose_own_call_closes_the_auction_gets_the_prize_and_no_other_task(fleet: Fleet) -> None:
    auction(fleet)
    bid(fleet, "b", "t", 9)
    add(fleet, "urgent", priority=100)
    fleet.now += WINDOW
    assert take(fleet, "b") == "t"
    assert take(fleet, "a") == "urgent"


def test_of_equal_bids_the_earlier_wins_also_when_it_is_said_again(fleet: Fleet) -> None:
    auction(fleet)
    bid(fleet, "b", "t", 5)
    bid(fleet, "a", "t", 5)
    assert bid(fleet, "b", "t", 5)["bids"] == 2
    sweep(fleet, WINDOW)
    assert waits_for(fleet, "t") == "b"


def test_a_new_bid_takes_the_place_of_ones_own_also_downwards(fleet: Fleet) -> None:
    auction(fleet)
    bid(fleet, "a", "t", 9)
    bid(fleet, "b", "t", 5)
    assert bid(fleet, "a", "t", 3)["bids"] == 2
    sweep(fleet, WINDOW)
    assert waits_for(fleet, "t") == "b"
    assert [e["data"]["amount"] for e in fleet.events("task.bid")] == [9, 5, 3]


@pytest.mark.parametrize("end", ["left", "killed", "dead", "silent", "failing", "busy", "has another", "changed"])
def test_a_bidder_that_cannot_come_any_more_is_skipped(end: str) -> None:
    fleet = Fleet(work=work(breaker_failures=1))
    boot(fleet, "a", can=["py"], **({"pid": fleet.process(7)} if end == "dead" else {}))
    boot(fleet, "b", can=["py"])
    add(fleet, "t", strategy="auction", bid_window=6 * MINUTE, needs=["py"])
    bid(fleet, "a", "t", 9)
    bid(fleet, "b", "t", 1)
    add(fleet, "x")
    if end == "left":
        fleet.call("a", "leave")
    elif end == "killed":
        fleet.call("boss", "kill", agent="a", why="test")
    elif end == "dead":
        fleet.kill9(7)
    elif end == "changed":
        boot(fleet, "a", can=["go"])
    fleet.now += 5 * MINUTE + 59_000
    for name in ("b",) if end in {"left", "killed", "dead", "silent"} else ("a", "b"):
        fleet.call(name, "inbox")  # they are there
    if end in {"failing", "busy"}:
        taken = fleet.call("a", "task claim", id="x")
        how: Any = {"class": "permanent", "why": "no"}
        if end == "failing":
            fleet.call("a", "task fail", id="x", token=taken["token"], **how)
    elif end == "has another":
        assign(fleet, "x", to="a")
    sweep(fleet, 1_000)
    assert waits_for(fleet, "t") == "b"
    fleet.clean()


def test_without_bids_or_bidders_it_is_anybodys(fleet: Fleet) -> None:
    auction(fleet)
    sweep(fleet, WINDOW)
    assert waits_for(fleet, "t") is None
    assert take(fleet, "c") == "t"
    add(fleet, "u", strategy="auction")
    bid(fleet, "a", "u", 1)
    fleet.call("a", "leave")
    fleet.now += WINDOW
    assert take(fleet, "b") == "u"


def test_a_winner_that_does_not_come_makes_way_for_the_next_best_and_then_for_anybody(fleet: Fleet) -> None:
    auction(fleet)
    for name, amount in (("a", 9), ("b", 7), ("c", 5)):
        bid(fleet, name, "t", amount)
    seen = []
    sweep(fleet, WINDOW)
    for _ in range(4):
        seen.append(waits_for(fleet, "t"))
        if seen[-1] == "a":
            fleet.call("b", "leave")
        sweep(fleet, WAIT)
    assert seen == ["a", "c", None, None]
    assert take(fleet, "d") == "t"
    assert [e["agent"] for e in fleet.events("task.lapsed")] == ["a", "c"]
    assert kinds(fleet, "a") == ["task_assignment", "task_withdrawn"]
    fleet.clean()


def test_all_who_bid_have_their_turn_in_the_order_of_their_bids(fleet: Fleet) -> None:
    auction(fleet)
    boot(fleet, "d")
    for amount, name in enumerate("dbca"):
        bid(fleet, name, "t", amount)
    seen = []
    sweep(fleet, WINDOW)
    for _ in range(5):
        seen.append(waits_for(fleet, "t"))
        for name in "abcd":
            fleet.call(name, "inbox")  # they are there
        sweep(fleet, WAIT)
    assert seen == ["a", "c", "b", "d", None]


def test_an_auction_that_is_broken_off_without_anybody_to_have_it_leaves_it_to_whoever_asks(fleet: Fleet) -> None:
    add(fleet, "t", strategy="auction")
    answer = fleet.call("boss", "task assign", id="t", strategy="priority")
    assert (answer["queued"], "bids_until" in answer["task"]) == (True, False)
    assert take(fleet, "b") == "t"


def test_bids_on_nothing_on_what_is_not_auctioned_and_by_who_does_not_fit_are_refused(fleet: Fleet) -> None:
    boot(fleet, "a", "b")
    add(fleet, "plain")
    add(fleet, "hard", strategy="auction", needs=["go"])
    with pytest.raises(NotFound):
        bid(fleet, "a", "nothing", 1)
    with pytest.raises(Conflict) as open_to_all:
        bid(fleet, "a", "plain", 1)
    assert "--strategy auction" in open_to_all.value.message
    with pytest.raises(Forbidden) as unfit:
        bid(fleet, "a", "hard", 1)
    assert unfit.value.needs == ["go"]
    fleet.call("b", "task claim", id="plain")
    with pytest.raises(Conflict):
        bid(fleet, "a", "plain", 1)
    for amount in (-1, assignments.MAX_BID + 1):
        with pytest.raises(Invalid):
            bid(fleet, "a", "hard", amount)
    assert fleet.events("task.bid") == []


def test_a_bid_that_comes_late_is_refused_although_nobody_looked_meanwhile(fleet: Fleet) -> None:
    auction(fleet)
    bid(fleet, "a", "t", 0)
    fleet.now += WINDOW
    with pytest.raises(Conflict):
        bid(fleet, "b", "t", 100)
    assert [e["data"]["amount"] for e in fleet.events("task.bid")] == [0]


def test_a_retried_bid_counts_once_and_keeps_its_answer(fleet: Fleet) -> None:
    auction(fleet)
    first = bid(fleet, "a", "t", 5, request="r")
    bid(fleet, "a", "t", 8)
    assert bid(fleet, "a", "t", 5, request="r") == first
    assert fleet.record("tb\tt\ta")["amount"] == 8
    with pytest.raises(Invalid):
        bid(fleet, "a", "t", 6, request="r")
    fleet.clean()


def test_a_task_takes_so_many_bids_and_no_more(fleet: Fleet) -> None:
    add(fleet, "t", strategy="auction")
    for number in range(auctions.MAX_BIDS):
        bid(fleet, f"a{number}", "t", number)
    with pytest.raises(Quota):
        bid(fleet, "late", "t", 1_000)
    assert bid(fleet, "a0", "t", 2_000)["bids"] == auctions.MAX_BIDS
    sweep(fleet, WINDOW)
    assert waits_for(fleet, "t") == "a0"
    assert len(fleet.record("t\tt")["assigned"]["next"]) == placement.MAX_RUNNERS_UP


def test_a_task_that_waits_for_others_is_put_up_when_they_are_done(fleet: Fleet) -> None:
    boot(fleet, "a", "b")
    add(fleet, "first")
    add(fleet, "t", strategy="auction", after=["first"])
    with pytest.raises(Conflict):
        bid(fleet, "a", "t", 1)
    taken = fleet.call("b", "task next")
    fleet.now += 10 * WINDOW  # its window would be over long ago
    fleet.call("b", "task done", id="first", token=taken["token"])
    fleet.now += 1_000
    assert take(fleet, "b") is None
    bid(fleet, "a", "t", 1)
    sweep(fleet, WINDOW - 1_001)
    assert waits_for(fleet, "t") is None
    sweep(fleet, 1)
    assert waits_for(fleet, "t") == "a"


def test_a_task_that_waits_for_its_children_is_put_up_when_they_are_done(fleet: Fleet) -> None:
    boot(fleet, "a", "b")
    add(fleet, "t", strategy="auction")
    add(fleet, "child", parent="t")
    taken = fleet.call("b", "task next")
    fleet.now += 10 * WINDOW
    fleet.call("b", "task done", id="child", token=taken["token"])
    assert take(fleet, "b") is None
    bid(fleet, "a", "t", 1)
    sweep(fleet, WINDOW)
    assert waits_for(fleet, "t") == "a"


def test_a_task_that_is_planned_later_is_put_up_when_somebody_finds_it(fleet: Fleet) -> None:
    boot(fleet, "a", "b")
    add(fleet, "t", strategy="auction", state="scoped")
    fleet.call("boss", "task move", id="t", state="planned")
    assert take(fleet, "b") is None
    bid(fleet, "a", "t", 1)
    sweep(fleet, WINDOW)
    assert waits_for(fleet, "t") == "a"


def test_many_that_were_planned_later_are_put_up_a_few_at_a_time(fleet: Fleet) -> None:
    for number in range(100):
        add(fleet, f"t{number}", strategy="auction", state="scoped")
        fleet.call("boss", "task move", id=f"t{number}", state="planned")
    assert take(fleet, "a") is None
    opened = [task for task in fleet.call("v", "task list")["tasks"] if "bids_until" in task]
    assert len(opened) == strategies.MAX_AUCTIONS_OPENED
    assert take(fleet, "a") is None
    assert all("bids_until" in task for task in fleet.call("v", "task list")["tasks"])
    fleet.now += WINDOW
    assert take(fleet, "a") is not None


def test_where_the_config_says_auction_each_task_is_put_up() -> None:
    fleet = Fleet(work=work(strategy="auction"))
    boot(fleet, "a")
    add(fleet, "t")
    assert take(fleet, "b") is None
    bid(fleet, "a", "t", 1)
    sweep(fleet, WINDOW)
    assert waits_for(fleet, "t") == "a"


def test_a_task_has_one_auction_and_what_comes_back_is_anybodys(fleet: Fleet) -> None:
    auction(fleet)
    bid(fleet, "a", "t", 1)
    sweep(fleet, WINDOW)
    taken = fleet.call("a", "task next")
    fleet.call("a", "task release", id="t", token=taken["token"])
    assert take(fleet, "b") == "t"


def test_it_can_be_put_up_anew_by_hand_and_bids_of_before_do_not_count(fleet: Fleet) -> None:
    auction(fleet)
    bid(fleet, "a", "t", 100)
    fleet.call("boss", "task move", id="t", state="scoped")
    fleet.call("boss", "task move", id="t", state="planned")
    assert assign(fleet, "t", to="b") == "b"
    answer = fleet.call("boss", "task assign", id="t", strategy="auction", request="r")
    assert (answer["agent"], answer["queued"], "bids_until" in answer["task"]) == (None, True, True)
    assert kinds(fleet, "b") == ["task_assignment", "task_withdrawn"]
    fleet.now += 1_000
    again = fleet.call("boss", "task assign", id="t", strategy="auction")
    assert again["task"]["bids_until"] == answer["task"]["bids_until"], "the window that runs stays as it is"
    bid(fleet, "c", "t", 1)
    sweep(fleet, WINDOW)
    assert waits_for(fleet, "t") == "c"


def test_naming_an_agent_ends_an_auction(fleet: Fleet) -> None:
    auction(fleet)
    bid(fleet, "a", "t", 100)
    assert assign(fleet, "t", to="c") == "c"
    sweep(fleet, WINDOW)
    assert waits_for(fleet, "t") == "c"
    assert fleet.record("tb\tt\ta") is None


def test_an_award_whose_first_run_was_thrown_away_happens_once(fleet: Fleet) -> None:
    auction(fleet)
    bid(fleet, "a", "t", 5)
    fleet.now += WINDOW
    aborts = iter([True, True])
    fleet.store.faults.abort = lambda: next(aborts, False)
    sweep(fleet)
    assert len(fleet.events("task.assigned")) == 1
    assert kinds(fleet, "a") == ["task_assignment"]
    fleet.clean()
