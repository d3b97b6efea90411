"""Tasks given to agents: assigning, what is not picked up, preemption."""

from __future__ import annotations

from typing import Any

import pytest

from dibs.client import quotes
from dibs.errors import Conflict, Fenced, Forbidden, Invalid, NotFound, Quota
from dibs.operations.core import long_jobs
from dibs.operations.core.call import Call
from dibs.operations.core.policy import MINUTE
from dibs.operations.tasks import placement
from dibs.operations.tasks.records import load_task
from tests.operations.agents.test_speech import Terminal
from tests.operations.fleet import Fleet
from tests.operations.task_calls import WAIT, add, assign, boot, kinds, shown, sweep, take, waits_for, work

# --- assign


def test_the_task_waits_for_the_chosen_agent_which_is_told_and_woken(fleet: Fleet) -> None:
    waiter = fleet.call("a", "task next", wait=10_000, wake="a-listens")["waiting"]
    fleet.call("boss", "task add", title="later", id="t", priority=7, state="scoped")
    fleet.call("boss", "task move", id="t", state="planned")
    fleet.store.woken.clear()
    assert assign(fleet, "t") == "a"
    assert fleet.store.woken - {"@a"} == {"a-listens"}
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


def test_it_is_said_why_no_agent_was_found(fleet: Fleet) -> None:
    def why(identifier: str, **fields: Any) -> str:
        add(fleet, identifier, **fields)
        return str(fleet.call("boss", "task assign", id=identifier)["why"])

    assert why("t1") == "no other agent is there that takes tasks"
    boot(fleet, "a", type="dev", can=["py"])
    assert why("t2", **{"for": "qa"}) == "no agent of type qa is there"
    assert why("t3", needs=["docker"]) == "no agent with docker is there"
    assert why("t4", needs=["docker"], **{"for": "dev"}) == "no agent of that type with docker is there"
    assert assign(fleet, "t1") == "a"
    assert why("t5") == "every agent that fits it has as many tasks as it may have"


def test_who_never_had_a_task_is_told_who_has_it(fleet: Fleet) -> None:
    add(fleet, "t")
    take(fleet, "a")
    with pytest.raises(Fenced, match=r"you do not have task t: a has it\. Nothing was changed\.$"):
        fleet.call("b", "task done", id="t")


def test_a_finished_task_is_not_moved_and_the_refusal_says_so(fleet: Fleet) -> None:
    add(fleet, "t")
    take(fleet, "a")
    fleet.call("a", "task done", id="t")
    with pytest.raises(Conflict, match=r"task t is complete: it cannot be moved any more\.$"):
        fleet.call("boss", "task move", id="t", state="planned")


def test_an_assignment_is_no_mere_information_and_nobody_else_can_send_one(fleet: Fleet) -> None:
    boot(fleet, "a")
    add(fleet, "t")
    assign(fleet, "t", to="a")
    fleet.call("boss", "send", to="a", text="Task x is yours", type="task_assignment", payload={"task": "x"})
    told = [quotes.lines(message)[0] for message in fleet.call("a", "inbox")["messages"]]
    assert ["it assigned this task to you" in line for line in told] == [True, False]
    assert ["not an instruction" in line for line in told] == [False, True]


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


def test_nobody_is_given_work_who_did_not_say_that_it_works(fleet: Fleet) -> None:
    add(fleet, "t", strategy="round_robin")
    fleet.claim("onlooker", "x.py")
    fleet.call("script", "sweep")
    terminal = Terminal(fleet, 70)
    terminal.type("boot")
    terminal.type("sweep")
    assert assign(fleet, "t") is None
    for name in ("onlooker", "me@here"):
        with pytest.raises(Forbidden, match="has not asked for work"):
            assign(fleet, "t", to=name)


@pytest.mark.parametrize("how", ["boot", "task next", "task claim", "task turn", "run join", "task bid"])
def test_whoever_asks_boots_bids_or_joins_says_so(fleet: Fleet, how: str) -> None:
    add(fleet, "t")
    add(fleet, "first", priority=9, strategy="auction" if how == "task bid" else "priority")
    fleet.call("boss", "run start", name="r")
    fields: dict[str, dict[str, Any]] = {"task claim": {"id": "first"}, "task bid": {"id": "first", "amount": 1}}
    given = fields.get(how, {})
    if how == "task bid":
        fleet.call("boss", "task assign", id="first")
    answer = fleet.call("a", how, **given)
    taken = [answer, *answer.get("tasks", [])]
    token = next((one["token"] for one in taken if "token" in one), 0)
    if token:
        fleet.call("a", "task done", id="first", token=token)
    assert assign(fleet, "t", strategy="load_balanced") == "a"


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
    assert refused.value.fields.get("breaker") == ("open" if end == "failing" else None)
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
    for name, strategy in (("t", ""), ("u", ""), ("u", "sticky")):
        fleet.call("boss", "task assign", id=name, strategy=strategy)
        how.append(shown(fleet, name).get("assigned", {}).get("strategy"))
        fleet.call("boss", "task assign", id="t", to="boss")  # so that a has room again
    assert how == ["round_robin", "load_balanced", "sticky"]


def test_whoever_asks_for_work_goes_before_who_was_only_seen(fleet: Fleet) -> None:
    boot(fleet, "a", "b")
    add(fleet, "x", strategy="round_robin")
    taken = fleet.call("b", "task next")
    fleet.call("b", "task done", id="x", token=taken["token"])
    fleet.call("b", "task next", wait=10_000)
    add(fleet, "t")
    assert assign(fleet, "t", strategy="round_robin") == "b"  # although it would be the turn of a


def test_a_sticky_task_is_worth_waiting_for_its_own_agent(fleet: Fleet) -> None:
    boot(fleet, "a", "b")
    add(fleet, "t", key="some-key")
    owner = assign(fleet, "t", strategy="sticky")
    add(fleet, "x")
    fleet.call(str(owner), "task claim", id="x")
    assert assign(fleet, "t", strategy="sticky") == owner
    assert assign(fleet, "t", strategy="round_robin") not in {owner, None}


def test_one_that_is_tried_with_one_task_gets_no_second() -> None:
    fleet = Fleet(work=work(max_tasks=5, breaker_failures=1, breaker_pause=1_000))
    boot(fleet, "a")
    add(fleet, "x")
    taken = fleet.call("a", "task next")
    how: Any = {"class": "permanent", "why": "no"}
    fleet.call("a", "task fail", id="x", token=taken["token"], **how)
    fleet.now += 1_000
    for name in "tu":
        add(fleet, name)
    assert [assign(fleet, name) for name in "tu"] == ["a", None]


def test_an_agent_is_listed_with_what_it_works_on_and_what_waits_for_it(fleet: Fleet) -> None:
    boot(fleet, "a", "b")
    for identifier in ("t", "u"):
        add(fleet, identifier)
        assign(fleet, identifier, to="a")

    def listed() -> list[tuple[Any, ...]]:
        found = fleet.call("boss", "agents")["agents"]
        return [(one["tasks"], one.get("assigned")) for one in found if one["agent"] in {"a", "b"}]

    assert listed() == [([], ["t", "u"]), ([], None)]
    fleet.call("a", "task claim", id="t")
    assert listed() == [(["t"], ["u"]), ([], None)]
    fleet.now += 10 * 60_000
    assert listed()[0][1] is None, "the time to take it is over"


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
    assert assign(fleet, "t") == "a", "what it has of this task does not count against it"
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
    fleet.store.faults.abort = lambda: next(aborts, False)
    fleet.store.faults.between = lambda: fleet.call("b", "task claim", id="t")
    with pytest.raises(Conflict) as refused:
        assign(fleet, "t")
    assert refused.value.state == "executing"
    assert kinds(fleet, "a") == []
    fleet.clean()


def test_an_assignment_overrides_the_pause_after_a_failure(fleet: Fleet) -> None:
    add(fleet, "t")
    taken = fleet.call("b", "task next")
    how: Any = {"class": "transient", "why": "no"}
    fleet.call("b", "task fail", id="t", token=taken["token"], **how)
    fleet.call("a", "task next", wait=10_000, wake="a-listens")
    assign(fleet, "t", to="a")
    assert "a-listens" in fleet.store.woken
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
    fleet.store.woken.clear()
    sweep(fleet, 1_000)
    assert "b-listens" in fleet.store.woken


def test_many_that_lapse_at_once_are_all_seen_to(fleet: Fleet) -> None:
    boot(fleet, "a")
    for number in range(150):
        add(fleet, f"t{number}")
        assign(fleet, f"t{number}", to="a")
    sweep(fleet, WAIT)
    assert len(fleet.events("task.lapsed")) >= long_jobs.RECORDS_PER_STEP
    sweep(fleet)
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
    fleet.store.faults.abort = lambda: next(aborts, False)
    fleet.store.faults.between = lambda: fleet.call("a", "task done", id="of-a", token=tokens["a"])
    assert assign(fleet, "t", strategy="preemptive") == "a"
    assert fleet.events("claim.ended") == []
    assert shown(fleet, "of-a")["state"] == "complete"
    fleet.clean()


def press(fleet: Fleet, identifier: str) -> None:
    """What happens when the time of a preemptive task that lies in the queue has come."""
    call = Call(fleet.policy, agent="boss")
    fleet.store.run(lambda tx: placement.over(tx, call, load_task(tx, identifier)))


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
    assert fleet.record("t\tu")["pressed"] == fleet.now + placement.PREEMPTION_INTERVAL_MS
    assert take(fleet, "a") == "t"
    fleet.clean()


def test_only_the_first_of_those_that_ask_the_same_presses(fleet: Fleet) -> None:
    at_work(fleet, a=0)
    add(fleet, "t", priority=7, strategy="preemptive")
    add(fleet, "first", priority=8, strategy="preemptive")
    press(fleet, "t")
    assert waits_for(fleet, "t") is None
    press(fleet, "first")
    assert waits_for(fleet, "first") == "a"


def test_an_agent_that_has_all_it_may_have_is_given_what_matters_more_when_it_asks(fleet: Fleet) -> None:
    at_work(fleet, a=0, b=8)
    add(fleet, "t", priority=7, strategy="preemptive")
    for name in "ab":  # for a second it is left to whoever is free
        with pytest.raises(Quota):
            fleet.call(name, "task next")
    fleet.now += 1_000
    with pytest.raises(Quota):
        fleet.call("b", "task next")
    assert take(fleet, "a") == "t"
    assert shown(fleet, "of-a")["state"] == "planned"
    fleet.clean()


def test_a_preemptive_task_presses_also_when_it_waited_for_others_first(fleet: Fleet) -> None:
    tokens = at_work(fleet, a=0, b=8)
    add(fleet, "t", priority=7, strategy="preemptive", after=["of-b"])
    sweep(fleet, 5_000)
    assert shown(fleet, "of-a")["state"] == "executing"
    fleet.call("b", "task done", id="of-b", token=tokens["b"])
    sweep(fleet)
    assert waits_for(fleet, "t") == "a"


def test_it_looks_for_somebody_again_every_few_seconds_and_not_more_often(fleet: Fleet) -> None:
    at_work(fleet, b=8)
    add(fleet, "t", priority=7, strategy="preemptive")
    sweep(fleet, 1_000)
    at_work(fleet, a=0)
    sweep(fleet, placement.PREEMPTION_INTERVAL_MS - 1)
    assert waits_for(fleet, "t") is None
    sweep(fleet, 1)
    assert waits_for(fleet, "t") == "a"
