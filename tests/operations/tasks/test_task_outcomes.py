"""How work on a task ends: done, failed, given back, broken down, lost; and what follows in the same transaction."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dibs.errors import DibsError, Fenced, Forbidden, Invalid, NotFound
from dibs.operations.tasks.remaining import OUTLOOK
from tests.operations.crew import MINUTE, SECOND, TTL, Crew
from tests.operations.fleet import Fleet

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture
def crew() -> Crew:
    return Crew(breaker_failures=100)


# --- done


def test_done_needs_the_live_token_and_says_what_became_of_the_task(crew: Crew) -> None:
    crew.add("t")
    token = crew.take("t")
    for wrong in (token + 1, token - 1, 0, 10**15):
        with pytest.raises(Fenced) as refused:
            crew.done("t", wrong)
        assert (refused.value.holder, refused.value.token, refused.value.given) == ("w", token, wrong)
    with pytest.raises(Fenced):
        crew.done("t", token, "stranger")
    crew.done("t", token)
    with pytest.raises(Fenced, match=r"complete \(by w, 0 s ago\)") as late:
        crew.done("t", token)
    assert (late.value.state, late.value.holder) == ("complete", None)
    assert len([e for e in crew.events("task.moved") if e["data"]["to"] == "complete"]) == 1
    crew.clean()


def test_another_tasks_token_finishes_nothing() -> None:
    crew = Crew(max_tasks=2)
    crew.add("a")
    crew.add("b")
    first, second = crew.take("a"), crew.take("b")
    with pytest.raises(Fenced):
        crew.done("a", second)
    crew.done("a", first)
    assert crew.state("b") == "executing"


@pytest.mark.parametrize("agent", ["w", "w/sub", "w/sub/deep"])
def test_the_family_counts_as_one(crew: Crew, agent: str) -> None:
    crew.add("t")
    token = crew.take("t", "w/sub")
    assert crew.done("t", token, agent)["task"]["agent"] == "w/sub"
    crew.clean()


def test_a_sibling_is_a_stranger(crew: Crew) -> None:
    crew.add("t")
    token = crew.take("t", "w/a")
    with pytest.raises(Fenced):
        crew.done("t", token, "w/b")


VERBS: dict[str, dict[str, Any]] = {
    "done": {"result": {"late": True}}, "fail": {"class": "permanent", "why": "x"}, "release": {},
    "progress": {"percent": 50}, "split": {"children": [{"title": "x"}]},
}  # fmt: skip


def taken_over(crew: Crew) -> None:
    crew.now += TTL
    crew.next("v")


def finished_by_another(crew: Crew) -> None:
    taken_over(crew)
    crew.done("t", crew.show("t")["token"], "v")


def expired(crew: Crew) -> None:
    crew.now += TTL


def killed_and_revived(crew: Crew) -> None:
    crew.call("boss", "kill", agent="w", why="x")
    crew.call("boss", "revive", agent="w")


def called_off(crew: Crew) -> None:
    crew.call("boss", "task cancel", id="t")


def taken_again(crew: Crew) -> None:
    crew.now += TTL
    crew.next("w")


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize(
    "meanwhile", [taken_over, finished_by_another, expired, killed_and_revived, called_off, taken_again]
)
def test_whoever_comes_back_late_is_refused_and_told_and_changes_nothing_about_the_task(
    crew: Crew, verb: str, meanwhile: Callable[[Crew], None]
) -> None:
    crew.add("t")
    token = crew.take("t")
    meanwhile(crew)
    if meanwhile is not expired:  # then the refusal is what ends it
        before = crew.show("t")
    with pytest.raises(Fenced) as late:
        crew.call("w", f"task {verb}", id="t", token=token, **VERBS[verb])
    assert late.value.task == "t"
    assert late.value.given == token
    assert late.value.message
    if meanwhile is expired:
        assert crew.state("t") == "planned"
    else:
        assert crew.show("t") == before
    assert crew.events("call.refused")[-1]["subject"] == "task:t"
    crew.clean()


def test_done_next_gives_the_next_task_in_the_same_transaction(crew: Crew) -> None:
    crew.add("a")
    crew.now += 1
    crew.add("b", after=["a"])
    answer = crew.done("a", crew.take("a"), next=True)
    assert answer["task"]["state"] == "complete"
    assert answer["next"]["task"]["id"] == "b"
    commits = [event["commit"] for event in crew.events("task.moved")[-2:]]
    assert commits[0] == commits[1] == answer["next"]["token"]
    assert crew.done("b", answer["next"]["token"], next=True)["next"] is None
    crew.clean()


def test_done_next_gives_nothing_to_one_that_has_another_task_already() -> None:
    crew = Crew(max_tasks=2)
    for name in "abcd":
        crew.add(name)
    token = crew.take("a")
    crew.take("b")
    assert crew.done("a", token, next=True)["next"]["task"]["id"] == "c"
    crew.policy.work["tasks"]["max_tasks"] = 1
    assert crew.done("b", crew.show("b")["token"], next=True)["next"] is None


# --- failures


def test_a_transient_failure_is_tried_again_after_a_pause_that_doubles_up_to_a_bound() -> None:
    crew = Crew(backoff=SECOND, max_backoff=5 * SECOND, breaker_failures=100)
    crew.add("t", attempts=7)
    for pause in (1, 2, 4, 5, 5, 5):
        token = crew.take("t")
        found = crew.fail("t", token, why="timeout")["task"]
        assert (found["state"], found["error"]["class"], found["error"]["why"]) == ("planned", "transient", "timeout")
        crew.now += pause * SECOND - 1
        with pytest.raises(NotFound):
            crew.next("v")
        crew.now += 1
        assert crew.next("v")["task"]["id"] == "t"
        crew.call("v", "task release", id="t", token=crew.show("t")["token"])
    assert crew.fail("t", crew.take("t"))["task"]["state"] == "quarantined"
    crew.clean()


def test_a_task_that_pauses_can_be_claimed_by_whoever_means_it(crew: Crew) -> None:
    crew.add("t")
    crew.fail("t", crew.take("t"))
    assert crew.take("t", "v")


def test_a_permanent_failure_stays_and_blocks_what_comes_after_and_the_owner_is_told(crew: Crew) -> None:
    crew.add("t")
    crew.add("u", after=["t"])
    crew.fail("t", crew.take("t"), kind="permanent", why="the file is gone")
    assert crew.states("t", "u") == ["failed", "planned"]
    kind, text = crew.told("boss")[-1]
    assert kind == "task"
    assert "failed permanently" in text
    assert "dibs task move t planned" in text
    assert crew.show("t")["error"]["why"] == "the file is gone"
    with pytest.raises(NotFound):
        crew.next("v")
    crew.call("boss", "task move", id="t", state="planned")
    assert crew.show("t")["attempt"] == 1
    crew.finish("t")
    assert crew.next("v")["task"]["id"] == "u"
    crew.clean()


@pytest.mark.parametrize("how", ["fail", "expire", "die", "mixed"])
def test_failed_or_lost_too_often_it_is_quarantined_with_an_alert_and_a_message(crew: Crew, how: str) -> None:
    crew.add("t", attempts=3)
    for number in range(3):
        assert crew.state("t") == "planned"
        way = ("fail", "expire", "die")[number] if how == "mixed" else how
        token = crew.take("t", f"w{number}", client=100 + number if way == "die" else None)
        if way == "fail":
            crew.fail("t", token, f"w{number}")
        elif way == "expire":
            crew.now += TTL
        else:
            crew.kill9(100 + number)
        crew.call("sweeper", "sweep")
    found = crew.show("t")
    assert (found["state"], found["error"]["class"]) == ("quarantined", "poison")
    alerts = [event for event in crew.events("alert.raised") if event["data"]["what"] == "poison"]
    assert [event["data"]["about"] for event in alerts] == ["t"]
    assert "quarantined" in crew.told("boss")[-1][1]
    with pytest.raises(NotFound):
        crew.next("v")
    crew.call("boss", "task move", id="t", state="planned")
    assert crew.next("v")["task"]["attempt"] == 1
    crew.clean()


def test_what_is_nobodys_fault_does_not_count(crew: Crew) -> None:
    crew.add("t", attempts=2)
    for _ in range(5):
        token = crew.take("t")
        crew.call("w", "task release", id="t", token=token)
    crew.take("t")
    crew.call("boss", "kill", agent="w", why="x")
    crew.take("t", "v")
    crew.call("v", "leave")
    assert crew.show("t")["attempt"] == 1
    assert crew.state("t") == "planned"


@pytest.mark.parametrize("fields", [{"class": "lost"}, {"class": ""}, {"why": ""}, {"why": " "}, {"why": "x" * 2_001}])
def test_a_failure_has_a_class_and_a_reason(crew: Crew, fields: dict[str, Any]) -> None:
    crew.add("t")
    token = crew.take("t")
    with crew.unchanged(), pytest.raises(Invalid):
        crew.fail("t", token, **fields)


def test_an_agent_that_keeps_failing_gets_no_work_and_then_one_task() -> None:
    crew = Crew(breaker_failures=3, breaker_pause=MINUTE, max_tasks=5, backoff=1)
    for number in range(8):
        crew.add(f"t{number}", attempts=50)
    for _ in range(3):
        answer = crew.next()
        crew.fail(answer["task"]["id"], answer["token"])
    with pytest.raises(Forbidden, match="last 3 tasks") as refused:
        crew.next()
    assert refused.value.breaker == "open"
    with pytest.raises(Forbidden):
        crew.take("t5")
    assert crew.next("v")["task"]["id"]
    crew.now += MINUTE
    answer = crew.next()
    with pytest.raises(DibsError):
        crew.next()  # one only
    crew.done(answer["task"]["id"], answer["token"])
    assert crew.next()
    assert crew.next()
    crew.clean()


# --- results, attempts and tokens as they are shown


def task(fleet: Fleet, **fields: Any) -> int:
    """A task that ann has taken; its token."""
    fleet.call("boss", "task add", title="t", id="t", **fields)
    token: int = fleet.call("ann", "task claim", id="t")["token"]
    return token


def test_what_was_left_undone_is_part_of_the_result(fleet: Fleet) -> None:
    token = task(fleet)
    with pytest.raises(Invalid, match="must be an object"):
        fleet.call("ann", "task done", id="t", token=token, result=[1], not_done="docs")
    fleet.call("ann", "task done", id="t", token=token, result={"files": 2}, not_done="docs")
    assert fleet.call("boss", "task show", id="t")["task"]["result"] == {"files": 2, "not_done": "docs"}


def test_there_is_no_third_attempt_of_two(fleet: Fleet) -> None:
    token = task(fleet, attempts=2)
    for attempt in (1, 2):
        assert fleet.call("boss", "task show", id="t")["task"]["attempt"] == attempt
        failed: dict[str, Any] = {"class": "transient", "why": "no"}
        fleet.call("ann", "task fail", id="t", token=token, **failed)
        fleet.now += 3_600_000
        if attempt == 1:
            token = fleet.call("ann", "task claim", id="t")["token"]
    shown = fleet.call("boss", "task show", id="t")["task"]
    assert (shown["state"], shown["attempt"], shown["max_attempts"]) == ("quarantined", 2, 2)


def test_a_worker_that_ends_with_the_work_knows_whom_it_waits_for(fleet: Fleet) -> None:
    task(fleet)
    found = fleet.internal("me", OUTLOOK, agent="bob")
    assert [(one["task"], one["agent"]) for one in found["at_work"]] == [("t", "ann")]


def test_the_holder_that_gives_a_wrong_token_is_told_which_one_it_has(fleet: Fleet) -> None:
    token = task(fleet)
    with pytest.raises(Fenced, match=f"yours under token {token}") as refused:
        fleet.call("ann", "task done", id="t", token=token + 7)
    assert "Stop" not in str(refused.value)
    with pytest.raises(Fenced, match="Stop working on it"):
        fleet.call("bob", "task done", id="t", token=token + 7)


# --- splitting


def test_a_split_adds_the_children_and_gives_the_task_back_in_one_transaction(crew: Crew) -> None:
    crew.add("p", priority=3)
    token = crew.take("p")
    answer = crew.call("w", "task split", id="p", token=token, children=[{"title": "x"}, {"title": "y", "priority": 2}])
    assert len(answer["tasks"]) == 2
    assert (answer["task"]["state"], answer["task"]["children"]) == ("planned", {"total": 2, "open": 2})
    assert len({event["commit"] for event in crew.events() if event["kind"].startswith("task.")}) == 3
    with pytest.raises(Fenced):
        crew.done("p", token)
    assert [task["title"] for task in crew.call("v", "task list", parent="p")["tasks"]] == ["y", "x"]
    assert crew.order()[-1] == "p"
    crew.clean()


def test_a_task_may_be_split_again_and_its_children_too(crew: Crew) -> None:
    crew.add("p")
    for name in ("p", "c1", "p"):
        token = crew.take(name)
        fresh = len(crew.events("task.added"))
        crew.call("w", "task split", id=name, token=token, children=[{"title": "c", "id": f"c{fresh}"}])
        if name == "c1":
            crew.finish("c2")
            crew.finish("c1")
    assert crew.show("p")["children"]["total"] == 2
    assert crew.order() == ["c3", "p"]
    crew.clean()


# --- aborted and run again


@given(st.lists(st.booleans(), max_size=12), st.integers(0, 4))
def test_a_transaction_that_is_run_again_decides_the_same(tosses: list[bool], number: int) -> None:
    """Operations are pure: what an engine throws away and runs again leaves no trace."""

    def story(aborts: list[bool]) -> Any:
        crew = Crew(max_tasks=9, breaker_failures=100)
        crew.store.faults.abort = lambda: bool(aborts) and aborts.pop()
        for name in "abcd":
            crew.add(name, race="r" if name == "d" else "")
        crew.add("e", after=["a", "b"], parent="c")
        told = [crew.done("a", crew.take("a"), next=True), crew.fail("b", crew.show("b")["token"])]
        crew.now += MINUTE
        told.append(crew.next(f"w{number}"))
        told.append(crew.call("boss", "task cancel", id="c"))
        crew.now += TTL
        told.append(crew.call("boss", "sweep"))
        told.append(crew.next("v"))
        return told, [(event["kind"], event["subject"], event["data"]) for event in crew.events()]

    assert story(list(tosses)) == story([])


def test_a_hundred_workers_that_come_back_late_are_all_refused_whatever_became_of_their_task() -> None:
    crew = Crew(max_attempts=1_000, breaker_failures=1_000)
    dice = random.Random(7)
    crew.add("t")
    refused = 0
    while refused < 100:
        token = crew.take("t", f"w{refused}", client=1_000 + refused)
        if dice.random() < 0.5:
            crew.now += TTL + dice.randrange(TTL)
        else:
            crew.kill9(1_000 + refused)
        if dice.random() < 0.5:
            other = crew.take("t", "v")
            with pytest.raises(Fenced) as late:
                crew.done("t", token, f"w{refused}")
            assert (late.value.holder, late.value.token) == ("v", other)
            crew.call("v", "task release", id="t", token=other)
        else:
            crew.call("sweeper", "sweep")
            with pytest.raises(Fenced, match="planned now"):
                crew.done("t", token, f"w{refused}")
        refused += 1
    assert crew.show("t")["attempt"] == 101
    crew.finish("t")
    assert len([e for e in crew.events("task.moved") if e["data"]["to"] == "complete"]) == 1
    crew.clean()
