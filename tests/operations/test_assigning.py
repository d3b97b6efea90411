"""Tasks given to agents: assigning, auctions, preemption, what lapses, and random traces on both engines."""

from __future__ import annotations

import random
from typing import Any

import pytest

from dibs.errors import Conflict, DibsError, Fenced, Forbidden, Invalid, NotFound, Quota
from dibs.operations import assigning, lifecycle, strategies
from dibs.operations.call import Call
from dibs.operations.policy import MINUTE, WORK
from tests.operations.engines import OnFile
from tests.operations.fleet import Fleet

WAIT = WORK["tasks"]["assign_wait"]
WINDOW = WORK["tasks"]["bid_window"]


def work(**settings: Any) -> dict[str, dict[str, Any]]:
    """The settings of work with some of those for tasks changed."""
    return {**WORK, "tasks": {**WORK["tasks"], **settings}}


@pytest.fixture
def fleet() -> Fleet:
    return Fleet()


def boot(fleet: Fleet, *names: str, **fields: Any) -> None:
    for name in names:
        fleet.call(name, "boot", **fields)


def add(fleet: Fleet, identifier: str, **fields: Any) -> str:
    return str(fleet.call("boss", "task add", title=f"do {identifier}", id=identifier, **fields)["task"]["id"])


def assign(fleet: Fleet, identifier: str, **fields: Any) -> str | None:
    """Give it to somebody; says to whom."""
    answer = fleet.call("boss", "task assign", id=identifier, **fields)
    assert answer["queued"] == (answer["agent"] is None)
    return answer["agent"]  # type: ignore[no-any-return]


def bid(fleet: Fleet, name: str, identifier: str, amount: int, **fields: Any) -> Any:
    return fleet.call(name, "task bid", id=identifier, amount=amount, **fields)


def shown(fleet: Fleet, identifier: str) -> dict[str, Any]:
    task: dict[str, Any] = fleet.call("viewer", "task show", id=identifier)["task"]
    return task


def waits_for(fleet: Fleet, identifier: str) -> str | None:
    """The agent that a task is assigned to."""
    assigned = shown(fleet, identifier).get("assigned")
    return assigned["agent"] if assigned else None


def take(fleet: Fleet, name: str) -> str | None:
    try:
        return str(fleet.call(name, "task next")["task"]["id"])
    except NotFound:
        return None


def sweep(fleet: Fleet, ms: int = 0) -> None:
    fleet.now += ms
    fleet.call("boss", "sweep")


def kinds(fleet: Fleet, name: str) -> list[str]:
    return [kind for kind, _ in fleet.told(name)]


# --- assign


def test_the_task_waits_for_the_chosen_agent_which_is_told_and_woken(fleet: Fleet) -> None:
    waiter = fleet.call("a", "task next", wait=10_000, wake="a-listens")["waiting"]
    fleet.call("boss", "task add", title="later", id="t", priority=7, state="scoped")
    fleet.call("boss", "task move", id="t", state="planned")
    fleet.store._woken.clear()
    assert assign(fleet, "t") == "a"
    assert fleet.store._woken == {"a-listens"}
    message = fleet.call("a", "inbox")["messages"][0]
    assert (message["type"], message["from"]) == ("task_assignment", "boss")
    assert message["payload"] == {"task": "t", "title": "later", "priority": 7}
    assert shown(fleet, "t")["assigned"]["strategy"] == "priority"
    assert take(fleet, "b") is None
    with pytest.raises(Conflict) as refused:
        fleet.call("b", "task claim", id="t")
    assert refused.value.assigned == "a"
    assert fleet.call("a", "task next", wait=9_000, waiter=waiter)["task"]["id"] == "t"
    event = fleet.events("task.assigned")[0]
    assert (event["agent"], event["subject"], event["data"]["to"]) == ("boss", "t", "a")
    fleet.clean()


def test_what_is_assigned_comes_before_what_matters_more_in_the_queue(fleet: Fleet) -> None:
    boot(fleet, "a")
    add(fleet, "mine")
    add(fleet, "urgent", priority=100)
    assign(fleet, "mine", to="a")
    assert take(fleet, "a") == "mine"


def test_plain_priority_chooses_who_has_waited_longest(fleet: Fleet) -> None:
    for name in "cab":
        fleet.call(name, "task next", wait=10_000)
        fleet.now += 1
    for name, expected in (("t", "c"), ("u", "a"), ("v", "b")):
        add(fleet, name)
        assert assign(fleet, name) == expected


def test_where_nobody_waits_plain_priority_chooses_who_has_least_to_do() -> None:
    fleet = Fleet(work=work(max_tasks=3))
    boot(fleet, "a", "b", "c")
    for name in ("x", "y", "t", "u"):
        add(fleet, name)
    fleet.call("a", "task claim", id="x")
    fleet.call("b", "task claim", id="y")
    assert assign(fleet, "t") == "c"
    assert assign(fleet, "u") == "a"  # each has one now


def test_nobody_who_fits_leaves_it_in_the_queue_and_that_is_no_error(fleet: Fleet) -> None:
    boot(fleet, "a", can=["go"])
    boot(fleet, "b", type="reviewer", can=["py"])
    add(fleet, "t", needs=["py"], **{"for": "coder"})
    answer = fleet.call("boss", "task assign", id="t")
    assert (answer["agent"], answer["queued"], answer["task"]["state"]) == (None, True, "planned")
    boot(fleet, "c", type="coder", can=["py", "go"])
    assert take(fleet, "c") == "t"


def test_the_caller_is_not_chosen_but_may_name_itself(fleet: Fleet) -> None:
    add(fleet, "t")
    assert assign(fleet, "t") is None
    assert assign(fleet, "t", to="boss") == "boss"


@pytest.mark.parametrize("end", ["left", "killed", "parent killed", "dead", "silent", "failing"])
def test_who_is_not_there_is_not_chosen_and_naming_it_is_refused(end: str) -> None:
    fleet = Fleet(work=work(breaker_failures=1))
    name = "p/a" if end == "parent killed" else "a"
    boot(fleet, "p")
    fleet.call("p", "leave")
    boot(fleet, name, **({"pid": fleet.process(7)} if end == "dead" else {}))
    add(fleet, "t")
    assert assign(fleet, "t") == name
    if end == "left":
        fleet.call(name, "leave")
    elif end.endswith("killed"):
        fleet.call("boss", "kill", agent=name.partition("/")[0], why="test")
    elif end == "dead":
        fleet.kill9(7)
    elif end == "silent":
        fleet.now += 5 * MINUTE
        sweep(fleet)
    else:
        fleet.call(name, "task next")
        how: Any = {"class": "transient", "why": "no"}
        fleet.call(name, "task fail", id="t", token=shown(fleet, "t")["token"], **how)
    assert assign(fleet, "t") is None
    assert waits_for(fleet, "t") is None
    with pytest.raises(Forbidden) as refused:
        assign(fleet, "t", to=name)
    assert refused.value.agent == name
    assert [e["data"]["code"] for e in fleet.events("call.refused")][-1] == "forbidden"
    fleet.clean()


def test_an_agent_whose_process_lives_is_there_however_long_it_was_silent(fleet: Fleet) -> None:
    boot(fleet, "a", pid=fleet.process(7))
    add(fleet, "t")
    fleet.now += 60 * MINUTE
    assert assign(fleet, "t") == "a"


def test_who_has_all_that_it_may_have_is_passed_over_unless_it_is_named(fleet: Fleet) -> None:
    boot(fleet, "a")
    for name in ("x", "t"):
        add(fleet, name)
    assert assign(fleet, "x") == "a"  # not yet taken, and counted all the same
    assert assign(fleet, "t") is None
    fleet.call("a", "task next")
    assert assign(fleet, "t") is None
    assert assign(fleet, "t", to="a") == "a"


def test_each_strategy_can_push() -> None:
    fleet = Fleet(work=work(max_tasks=10))
    boot(fleet, "a", can=["x", "y"])
    boot(fleet, "b", can=["x"])
    given = []
    for number in range(4):
        add(fleet, f"r{number}")
        given.append(assign(fleet, f"r{number}", strategy="round_robin"))
        fleet.now += 1
    assert given == ["a", "b", "a", "b"]
    add(fleet, "l1")
    add(fleet, "l2")
    assert [assign(fleet, "l1", strategy="load_balanced"), assign(fleet, "l2", strategy="load_balanced")] == ["a", "b"]
    add(fleet, "c", needs=["x"])
    assert assign(fleet, "c", strategy="capability") == "b"
    add(fleet, "s", key="some-key")
    first = assign(fleet, "s", strategy="sticky")
    assert [assign(fleet, "s", strategy="sticky") for _ in range(3)] == [first] * 3


def test_the_strategy_is_the_one_given_else_the_tasks_else_the_configs() -> None:
    fleet = Fleet(work=work(strategy="round_robin"))
    boot(fleet, "a")
    add(fleet, "t")
    add(fleet, "u", strategy="load_balanced")
    how = []
    for name, fields in (("t", {}), ("u", {}), ("u", {"strategy": "sticky"})):
        fleet.call("boss", "task assign", id=name, **fields)
        how.append(shown(fleet, name).get("assigned", {}).get("strategy"))
        fleet.call("boss", "task assign", id="t", to="boss")  # so that a has room again
    assert how == ["round_robin", "load_balanced", "sticky"]


def test_whoever_asks_for_work_goes_before_who_was_only_seen(fleet: Fleet) -> None:
    boot(fleet, "a", "b")
    fleet.call("b", "task next", wait=10_000)
    add(fleet, "t")
    assert assign(fleet, "t", strategy="round_robin") == "b"


def test_reassigned_the_earlier_one_is_told_and_the_new_one_has_it(fleet: Fleet) -> None:
    boot(fleet, "a", "b")
    add(fleet, "t")
    assign(fleet, "t", to="a")
    assign(fleet, "t", to="b")
    assert kinds(fleet, "a") == ["task_assignment", "task_withdrawn"]
    assert kinds(fleet, "b") == ["task_assignment"]
    assert take(fleet, "a") is None
    assert take(fleet, "b") == "t"


def test_assigned_again_to_the_same_only_the_time_begins_anew(fleet: Fleet) -> None:
    boot(fleet, "a")
    add(fleet, "t")
    assign(fleet, "t", to="a")
    fleet.now += WAIT - 1
    assign(fleet, "t", to="a")
    assert kinds(fleet, "a") == ["task_assignment"]
    sweep(fleet, WAIT - 1)
    assert waits_for(fleet, "t") == "a"


def test_only_a_planned_task_that_waits_for_nothing_can_be_assigned(fleet: Fleet) -> None:
    boot(fleet, "a", "b")
    for name in ("x", "t"):
        add(fleet, name, **({"after": ["x"]} if name == "t" else {}))
    with pytest.raises(Conflict) as blocked:
        assign(fleet, "t", to="a")
    assert blocked.value.waits_for == 1
    taken = fleet.call("b", "task claim", id="x")
    with pytest.raises(Conflict) as working:
        assign(fleet, "x", to="a")
    assert working.value.state == "executing"
    fleet.call("b", "task done", id="x", token=taken["token"])
    with pytest.raises(Conflict):
        assign(fleet, "x", to="a")
    assert assign(fleet, "t", to="a") == "a"
    with pytest.raises(NotFound):
        assign(fleet, "nothing", to="a")
    with pytest.raises(NotFound):
        assign(fleet, "t", to="nobody")


def test_words_that_make_no_sense_are_refused_and_change_nothing(fleet: Fleet) -> None:
    boot(fleet, "a")
    add(fleet, "t", needs=["py"])
    before = fleet.record("t\tt")
    for fields in ({"strategy": "by luck"}, {"strategy": "sticky", "to": "a"}, {"to": "a b"}):
        with pytest.raises(Invalid):
            assign(fleet, "t", **fields)
    with pytest.raises(Forbidden) as refused:
        assign(fleet, "t", to="a")
    assert (refused.value.needs, refused.value.agent) == (["py"], "a")
    assert fleet.record("t\tt") == before


def test_a_retried_assignment_has_one_effect_and_one_message(fleet: Fleet) -> None:
    boot(fleet, "a", "b")
    add(fleet, "t")
    first = fleet.call("boss", "task assign", id="t", strategy="round_robin", request="r")
    fleet.now += 1
    assert fleet.call("boss", "task assign", id="t", strategy="round_robin", request="r") == first
    assert first["agent"] == "a"
    assert kinds(fleet, "a") == ["task_assignment"]
    assert kinds(fleet, "b") == []
    assert [e["data"]["request"] for e in fleet.events("task.assigned")] == [["task assign", "r"]]
    fleet.clean()


def test_an_assignment_whose_first_run_was_thrown_away_sees_what_happened_in_between(fleet: Fleet) -> None:
    boot(fleet, "a")
    add(fleet, "t")
    aborts = iter([True])
    fleet.store._abort = lambda: next(aborts, False)
    fleet.store._between = lambda: fleet.call("b", "task claim", id="t")
    with pytest.raises(Conflict) as refused:
        assign(fleet, "t")
    assert refused.value.state == "executing"
    assert kinds(fleet, "a") == []
    fleet.clean()


def test_an_assignment_overrides_the_pause_after_a_failure(fleet: Fleet) -> None:
    boot(fleet, "a")
    add(fleet, "t")
    taken = fleet.call("b", "task next")
    how: Any = {"class": "transient", "why": "no"}
    fleet.call("b", "task fail", id="t", token=taken["token"], **how)
    assign(fleet, "t", to="a")
    assert take(fleet, "a") == "t"


# --- what is not picked up


def test_not_picked_up_in_time_it_is_anybodys_and_the_agent_is_told(fleet: Fleet) -> None:
    boot(fleet, "a")
    add(fleet, "t")
    assign(fleet, "t", to="a")
    fleet.now += WAIT - 1
    assert take(fleet, "b") is None
    fleet.now += 1
    assert take(fleet, "b") == "t"
    lapsed = fleet.events("task.lapsed")
    assert [(e["agent"], e["subject"]) for e in lapsed] == [("a", "t")]
    assert kinds(fleet, "a") == ["task_assignment", "task_withdrawn"]
    fleet.clean()


def test_a_lapsed_assignment_wakes_who_waits_for_work(fleet: Fleet) -> None:
    boot(fleet, "a")
    add(fleet, "t")
    assign(fleet, "t", to="a")
    fleet.now += WAIT - 1_000
    fleet.call("b", "task next", wait=60_000, wake="b-listens")
    fleet.store._woken.clear()
    sweep(fleet, 1_000)
    assert "b-listens" in fleet.store._woken


def test_many_that_lapse_at_once_are_all_seen_to(fleet: Fleet) -> None:
    boot(fleet, "a")
    for number in range(150):
        add(fleet, f"t{number}")
        assign(fleet, f"t{number}", to="a")
    sweep(fleet, WAIT)
    assert len(fleet.events("task.lapsed")) == 150
    assert fleet.call("v", "task list", state="planned")["tasks"][0].get("assigned") is None
    sweep(fleet)
    assert len(fleet.events("task.lapsed")) == 150


def test_a_cancelled_task_does_not_lapse(fleet: Fleet) -> None:
    boot(fleet, "a")
    add(fleet, "t")
    assign(fleet, "t", to="a")
    fleet.call("boss", "task cancel", id="t")
    sweep(fleet, WAIT)
    assert fleet.events("task.lapsed") == []


# --- auctions


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
    for amount in (-1, assigning.HIGHEST + 1):
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
    for number in range(assigning.BIDS):
        bid(fleet, f"a{number}", "t", number)
    with pytest.raises(Quota):
        bid(fleet, "late", "t", 1_000)
    assert bid(fleet, "a0", "t", 2_000)["bids"] == assigning.BIDS
    sweep(fleet, WINDOW)
    assert waits_for(fleet, "t") == "a0"
    assert len(fleet.record("t\tt")["assigned"]["next"]) == assigning.RUNNERS_UP


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


def test_the_auctions_of_a_config_are_opened_a_few_at_a_time() -> None:
    fleet = Fleet(work=work(strategy="auction"))
    for number in range(100):
        add(fleet, f"t{number}")
    assert take(fleet, "a") is None
    opened = [task for task in fleet.call("v", "task list")["tasks"] if "bids_until" in task]
    assert len(opened) == strategies.OPENED
    assert take(fleet, "a") is None
    assert all("bids_until" in task for task in fleet.call("v", "task list")["tasks"])
    fleet.now += WINDOW
    assert take(fleet, "a") is not None


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
    fleet.store._abort = lambda: next(aborts, False)
    sweep(fleet)
    assert len(fleet.events("task.assigned")) == 1
    assert kinds(fleet, "a") == ["task_assignment"]
    fleet.clean()


# --- preemption


def at_work(fleet: Fleet, **priorities: int) -> dict[str, int]:
    """Agents that work on a task each, of these priorities; gives the tokens."""
    tokens = {}
    for name, priority in priorities.items():
        boot(fleet, name)
        add(fleet, f"of-{name}", priority=priority)
        tokens[name] = fleet.call(name, "task claim", id=f"of-{name}")["token"]
    return tokens


def test_where_nobody_is_free_what_matters_least_makes_way_and_its_agent_is_told(fleet: Fleet) -> None:
    tokens = at_work(fleet, a=5, b=2, c=9)
    add(fleet, "t", priority=7)
    assert assign(fleet, "t", strategy="preemptive") == "b"
    assert shown(fleet, "of-b")["state"] == "planned"
    assert shown(fleet, "of-b")["attempt"] == 1, "it counts against nobody"
    told = fleet.told("b")
    assert [kind for kind, _ in told] == ["preempted", "task_assignment"]
    assert "of-b" in told[0][1]
    assert "(do t)" in told[0][1]
    assert fleet.events("claim.ended")[0]["data"]["why"] == "preempted"
    with pytest.raises(Fenced) as late:
        fleet.call("b", "task done", id="of-b", token=tokens["b"])
    assert late.value.state == "planned"
    assert take(fleet, "b") == "t"
    assert take(fleet, "d") == "of-b"
    fleet.clean()


def test_a_free_agent_goes_before_taking_anything_from_anybody(fleet: Fleet) -> None:
    at_work(fleet, a=0)
    boot(fleet, "free")
    add(fleet, "t", priority=7)
    assert assign(fleet, "t", strategy="preemptive") == "free"
    assert shown(fleet, "of-a")["state"] == "executing"


@pytest.mark.parametrize("strategy", ["priority", "preemptive"])
def test_nothing_of_equal_or_higher_priority_makes_way(fleet: Fleet, strategy: str) -> None:
    boot(fleet, "a", "b")
    for name, priority in (("a", 7), ("b", 8)):
        add(fleet, f"of-{name}", priority=priority, strategy=strategy)
        fleet.call(name, "task claim", id=f"of-{name}")
    add(fleet, "t", priority=7)
    assert assign(fleet, "t", strategy="preemptive") is None
    assert [shown(fleet, f"of-{name}")["state"] for name in "ab"] == ["executing"] * 2


def test_of_equal_ones_the_one_that_began_last_makes_way(fleet: Fleet) -> None:
    boot(fleet, "a", "b")
    for name in "ba":
        add(fleet, f"of-{name}")
        fleet.call(name, "task claim", id=f"of-{name}")
        fleet.now += 1_000
    add(fleet, "t", priority=1)
    assert assign(fleet, "t", strategy="preemptive") == "a"


def test_only_an_agent_that_fits_loses_its_task(fleet: Fleet) -> None:
    boot(fleet, "b", can=["go"])
    at_work(fleet, a=0, b=3)
    add(fleet, "t", priority=7, needs=["go"])
    assert assign(fleet, "t", strategy="preemptive") == "b"


def test_a_claim_made_by_hand_never_makes_way(fleet: Fleet) -> None:
    at_work(fleet, a=0)
    fleet.claim("a", "src/x.py", "deploy:prod")
    add(fleet, "t", priority=7)
    assign(fleet, "t", strategy="preemptive")
    assert fleet.holders() == [("a", "deploy:prod"), ("a", "src/x.py")]


def test_two_that_matter_much_displace_two_agents_and_not_one_twice(fleet: Fleet) -> None:
    at_work(fleet, a=0, b=1)
    for name in "tu":
        add(fleet, name, priority=9)
    assert [assign(fleet, name, strategy="preemptive") for name in "tu"] == ["a", "b"]
    add(fleet, "v", priority=9)
    assert assign(fleet, "v", strategy="preemptive") is None
    add(fleet, "w", priority=10)
    assert assign(fleet, "w", strategy="preemptive") == "a", "what only waits for it comes after"
    assert take(fleet, "a") == "w"
    fleet.clean()


def test_a_task_says_itself_that_it_is_preemptive(fleet: Fleet) -> None:
    at_work(fleet, a=0)
    add(fleet, "t", priority=1, strategy="preemptive")
    assert assign(fleet, "t") == "a"


def test_a_retried_preemption_takes_one_task_only(fleet: Fleet) -> None:
    at_work(fleet, a=0, b=1)
    add(fleet, "t", priority=7)
    first = fleet.call("boss", "task assign", id="t", strategy="preemptive", request="r")
    assert fleet.call("boss", "task assign", id="t", strategy="preemptive", request="r") == first
    assert len(fleet.events("claim.ended")) == 1
    fleet.clean()


def test_a_preemption_whose_first_run_was_thrown_away_sees_that_the_task_was_finished_meanwhile(fleet: Fleet) -> None:
    tokens = at_work(fleet, a=0, b=1)
    add(fleet, "t", priority=7)
    aborts = iter([True])
    fleet.store._abort = lambda: next(aborts, False)
    fleet.store._between = lambda: fleet.call("a", "task done", id="of-a", token=tokens["a"])
    assert assign(fleet, "t", strategy="preemptive") == "a"
    assert fleet.events("claim.ended") == []
    assert shown(fleet, "of-a")["state"] == "complete"
    fleet.clean()


def press(fleet: Fleet, identifier: str) -> None:
    """What happens when the time of a preemptive task that lies in the queue has come."""
    call = Call(fleet.policy, agent="boss")
    fleet.store.run(lambda tx: assigning.over(tx, call, lifecycle.load(tx, identifier)))


def test_a_preemptive_task_in_the_queue_is_left_to_who_waits_for_work(fleet: Fleet) -> None:
    at_work(fleet, a=0)
    fleet.call("b", "task next", wait=10_000)
    add(fleet, "t", priority=7, strategy="preemptive")
    press(fleet, "t")
    assert waits_for(fleet, "t") is None
    assert shown(fleet, "of-a")["state"] == "executing"
    assert take(fleet, "b") == "t"


def test_a_preemptive_task_in_the_queue_displaces_what_matters_less_where_nobody_waits(fleet: Fleet) -> None:
    at_work(fleet, a=0, b=8)
    add(fleet, "t", priority=7, strategy="preemptive")
    add(fleet, "u", priority=7, strategy="preemptive")
    press(fleet, "t")
    press(fleet, "u")
    assert waits_for(fleet, "t") == "a"
    assert waits_for(fleet, "u") is None
    assert fleet.record("t\tu")["pressed"] == fleet.now + assigning.PRESS_EVERY
    assert take(fleet, "a") == "t"
    fleet.clean()


# --- random traces


NAMES = ("a", "b", "c", "d")
HOW = ("", "priority", "round_robin", "load_balanced", "capability", "sticky", "auction", "preemptive")


class Trace:
    """Random calls of a few agents; what each is told is the same on every engine."""

    def __init__(self, fleet: Fleet, seed: int) -> None:
        self.fleet, self.random = fleet, random.Random(seed)
        self.tokens: dict[str, tuple[str, int]] = {}
        self.made = 0
        self.finished: list[str] = []
        self.answers: list[Any] = []
        boot(fleet, "a", can=["x", "y"])
        boot(fleet, "b", can=["x"])
        boot(fleet, "c", pid=fleet.process(7))
        boot(fleet, "d")

    def step(self) -> None:
        """One call by somebody, its answer or its refusal."""
        verb = self.random.choice(
            (
                self.add,
                self.add,
                self.next,
                self.next,
                self.wait,
                self.done,
                self.fail,
                self.assign,
                self.bid,
                self.time,
            )
        )
        try:
            answer = verb()
        except DibsError as error:
            answer = [error.code, error.message]
        self.answers.append([verb.__name__, answer])

    def task(self) -> str:
        return f"t{self.random.randrange(max(1, self.made - 12), self.made + 2)}"

    def add(self) -> Any:
        self.made += 1
        fields: dict[str, Any] = {"priority": self.random.randrange(4), "strategy": self.random.choice(HOW)}
        if self.random.random() < 0.3:
            fields["needs"] = ["x"]
        if self.random.random() < 0.2 and self.made > 1:
            fields["after"] = [f"t{self.random.randrange(1, self.made)}"]
        return add(self.fleet, f"t{self.made}", **fields)

    def next(self) -> Any:
        name = self.random.choice(NAMES)
        answer = self.fleet.call(name, "task next")
        self.tokens[answer["task"]["id"]] = (name, answer["token"])
        return answer

    def wait(self) -> Any:
        name = self.random.choice(NAMES)
        answer = self.fleet.call(name, "task next", wait=20_000, wake=name)
        if "task" in answer:
            self.tokens[answer["task"]["id"]] = (name, answer["token"])
        return answer

    def held(self) -> tuple[str, str, int]:
        if not self.tokens:
            return "t0", "a", 1
        name = self.random.choice(sorted(self.tokens))
        return (name, *self.tokens[name])

    def done(self) -> Any:
        name, agent, token = self.held()
        answer = self.fleet.call(agent, "task done", id=name, token=token)
        self.finished.append(name)
        return answer

    def fail(self) -> Any:
        name, agent, token = self.held()
        how: Any = {"class": "transient", "why": "no"}
        return self.fleet.call(agent, "task fail", id=name, token=token, **how)

    def assign(self) -> Any:
        fields = self.random.choice(({}, {"strategy": self.random.choice(HOW[1:])}, {"to": self.random.choice(NAMES)}))
        return self.fleet.call("boss", "task assign", id=self.task(), **fields)

    def bid(self) -> Any:
        return bid(self.fleet, self.random.choice(NAMES), self.task(), self.random.randrange(5))

    def time(self) -> Any:
        self.fleet.now += self.random.choice((1, 500, 5_000, WINDOW, 30_000, WAIT))
        return None

    def end(self) -> None:
        """Nothing is lost: when time has passed, those who can take and finish all that is left."""
        for _ in range(60):
            self.fleet.now += 30 * MINUTE
            for name in ("a", "a", "a"):
                try:
                    answer = self.fleet.call(name, "task next")
                except DibsError as error:
                    self.answers.append(["end", error.code])
                    continue
                self.fleet.call(name, "task done", id=answer["task"]["id"], token=answer["token"])
                self.finished.append(answer["task"]["id"])
        for state in ("planned", "executing"):
            left = self.fleet.call("v", "task list", state=state)["tasks"]
            stuck = [task for task in left if not task.get("waits_for")]
            assert not stuck, f"nobody can get {stuck}"
        assert len(self.finished) == len(set(self.finished)), "finished twice"
        self.fleet.clean()


@pytest.mark.parametrize("seed", range(12))
def test_on_any_trace_no_task_is_lost_starved_or_finished_twice(seed: int) -> None:
    """Half of the transactions are thrown away and run again."""
    fleet = Fleet(work=work(max_tasks=2, max_attempts=1_000))
    aborts = random.Random(-seed - 1)
    fleet.store._abort = lambda: aborts.random() < 0.5
    trace = Trace(fleet, seed)
    for _ in range(150):
        trace.step()
    trace.end()


@pytest.mark.parametrize("seed", range(4))
def test_both_engines_give_the_same_answers_and_the_same_log(seed: int) -> None:
    settings = work(max_tasks=2)
    memory = Trace(Fleet(work=settings), seed)
    for _ in range(150):
        memory.step()
    fleet = OnFile(work=settings)
    try:
        file = Trace(fleet, seed)
        for _ in range(150):
            file.step()
        assert file.answers == memory.answers
        assert fleet.events() == memory.fleet.events()
        fleet.clean()
    finally:
        fleet.close()
