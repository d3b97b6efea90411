"""`task claim --wait`: in line for one task; and finishing one's own task without naming the token."""

from __future__ import annotations

from typing import Any

import pytest

from dibs.errors import Conflict, Deadlock, DibsError, Fenced, Held, NotFound, Quota
from tests.operations.crew import Crew

WAIT = 60_000


@pytest.fixture
def crew() -> Crew:
    made = Crew(max_tasks=2)
    made.add("T")
    return made


def ask(crew: Crew, agent: str, task: str = "T", waiter: str = "", **fields: Any) -> Any:
    """Look for the task, willing to wait."""
    return crew.call(agent, "task claim", id=task, **{"wait": WAIT, "waiter": waiter, "wake": f"w-{agent}", **fields})


def test_a_waiter_gets_the_task_when_its_holder_gives_it_back(crew: Crew) -> None:
    token = crew.take("T", "a")
    place = ask(crew, "b")
    assert place["blockers"][0]["agent"] == "a"
    crew.call("a", "task release", id="T", token=token)
    assert ask(crew, "b", waiter=place["waiting"])["task"]["agent"] == "b"
    assert crew.store.look(lambda tx: tx.fetch([("tw\t", "tw\n")]).rows) == []
    crew.clean()


def test_waiters_are_served_in_order_and_before_those_who_take_any_task(crew: Crew) -> None:
    token = crew.take("T", "a")
    first, second = ask(crew, "b")["waiting"], ask(crew, "c")["waiting"]
    crew.call("a", "task release", id="T", token=token)
    with pytest.raises(NotFound):
        crew.next("d")
    with pytest.raises(Held, match="b waits for task:T and came first"):
        crew.call("d", "task claim", id="T")
    assert ask(crew, "c", waiter=second)["waiting"] == second
    assert ask(crew, "b", waiter=first)["task"]["agent"] == "b"


def test_one_who_does_not_look_any_more_is_passed_over(crew: Crew) -> None:
    token = crew.take("T", "a")
    ask(crew, "b")
    crew.call("a", "task release", id="T", token=token)
    crew.now += 15_000
    assert crew.next("d")["task"]["id"] == "T"


def test_at_the_end_of_its_time_it_is_refused_and_nothing_is_left_of_it(crew: Crew) -> None:
    token = crew.take("T", "a")
    waiter = ask(crew, "b")["waiting"]
    with pytest.raises(Held):
        ask(crew, "b", waiter=waiter, wait=0)
    crew.call("a", "task release", id="T", token=token)
    assert crew.next("d")["task"]["id"] == "T"


def test_a_task_that_comes_after_others_can_be_waited_for_and_one_that_is_over_cannot(crew: Crew) -> None:
    crew.add("U", after=["T"])
    waiter = ask(crew, "b", "U")["waiting"]
    crew.finish("T", "a")
    assert ask(crew, "b", "U", waiter=waiter)["task"]["id"] == "U"
    with pytest.raises(Conflict):
        ask(crew, "c")


def test_a_circle_of_agents_that_wait_for_each_others_tasks_is_refused(crew: Crew) -> None:
    crew.add("U")
    crew.take("T", "a")
    crew.take("U", "b")
    ask(crew, "a", "U")
    with pytest.raises(Deadlock) as refused:
        ask(crew, "b", "T")
    assert [step["agent"] for step in refused.value.cycle] == ["b", "a"]


def test_a_deadlock_of_a_task_and_a_claim_is_refused_whichever_wait_comes_last(crew: Crew) -> None:
    crew.take("T", "a")
    crew.call("b", "claim", resources=[["name", "db:x"]])
    place = ask(crew, "b")["waiting"]
    with pytest.raises(Deadlock) as refused:
        crew.call("a", "claim", resources=[["name", "db:x"]], wait=WAIT)
    steps = [(step["agent"], step["resource"], step["holder"]) for step in refused.value.cycle]
    assert steps == [("a", "db:x", "b"), ("b", "task:T", "a")]
    with pytest.raises(Held):
        ask(crew, "b", waiter=place, wait=0)
    assert "waiting" in crew.call("a", "claim", resources=[["name", "db:x"]], wait=WAIT), "b waits no more"
    with pytest.raises(Deadlock):
        ask(crew, "b")
    crew.clean()


def crowd(crew: Crew) -> None:
    """More agents than one look reads wait for work that none of them fits."""
    for number in range(80):
        assert "waiting" in crew.call(f"idle{number}", "task next", wait=WAIT, wake=f"i{number}")


def test_waiters_for_a_task_are_served_in_order_however_many_others_wait_for_work(crew: Crew) -> None:
    token = crew.take("T", "a")
    crowd(crew)
    first, second, third = (ask(crew, agent)["waiting"] for agent in "bcd")
    with pytest.raises(Held):
        ask(crew, "d", waiter=third, wait=0)
    crew.call("a", "task release", id="T", token=token)
    with pytest.raises(NotFound):
        crew.next("e")
    assert ask(crew, "c", waiter=second)["waiting"] == second
    assert ask(crew, "b", waiter=first)["task"]["agent"] == "b"


def test_a_deadlock_of_tasks_is_found_however_many_others_wait_for_work(crew: Crew) -> None:
    crew.add("U")
    crew.take("T", "a")
    crew.take("U", "b")
    crowd(crew)
    ask(crew, "a", "U")
    with pytest.raises(Deadlock):
        ask(crew, "b", "T")


def test_nothing_ready_in_a_run_is_not_put_down_to_the_tasks_of_another(crew: Crew) -> None:
    run = crew.call("boss", "run start", name="other")["run"]["id"]
    with pytest.raises(NotFound, match=f"no task of run {run} is ready"):
        crew.call("a", "task next", run=run)


def test_who_has_all_it_may_have_does_not_wait(crew: Crew) -> None:
    for name in ("U", "V"):
        crew.add(name)
        crew.take(name, "b")
    with pytest.raises(Quota):
        ask(crew, "b")


def test_waiting_leaves_one_refusal_in_the_log_and_not_one_a_look(crew: Crew) -> None:
    crew.take("T", "a")
    waiter = ask(crew, "b")["waiting"]
    for _ in range(3):
        ask(crew, "b", waiter=waiter)
    assert crew.events("claim.refused") == []
    with pytest.raises(Held):
        ask(crew, "b", waiter=waiter, wait=0)
    assert len(crew.events("claim.refused")) == 1


# --- without a token


@pytest.mark.parametrize(
    ("name", "fields", "state"),
    [
        ("task done", {"result": {"n": 1}}, "complete"), ("task release", {}, "planned"),
        ("task fail", {"class": "permanent", "why": "w"}, "failed"), ("task progress", {"percent": 5}, "executing"),
        ("task split", {"children": [{"title": "part"}]}, "planned"),
    ],
)  # fmt: skip
def test_ones_own_live_token_is_taken_where_none_is_given(crew: Crew, name: str, fields: Any, state: str) -> None:
    crew.take("T", "a")
    crew.call("a", name, id="T", **fields)
    assert crew.state("T") == state
    crew.clean()


def test_anothers_is_not_and_neither_is_one_that_is_over(crew: Crew) -> None:
    crew.take("T", "a")
    with pytest.raises(Fenced) as refused:
        crew.call("b", "task done", id="T")
    assert refused.value.holder == "a"
    crew.now += 31 * 60_000
    with pytest.raises(Fenced, match="you do not have task T"):
        crew.call("a", "task done", id="T")
    assert crew.state("T") == "planned"


def test_a_parent_finishes_what_its_subagent_took_and_not_the_other_way_round(crew: Crew) -> None:
    crew.take("T", "p")
    with pytest.raises(DibsError):
        crew.call("p/child", "task done", id="T")
    crew.add("U")
    crew.take("U", "p/child")
    crew.call("p", "task done", id="U")
    assert crew.states("T", "U") == ["executing", "complete"]
