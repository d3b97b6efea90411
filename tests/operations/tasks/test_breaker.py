"""The circuit breaker: an agent that keeps failing gets no work for a while, then is tried with one task."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import pytest

from dibs.errors import Fenced, Forbidden, NotFound, Quota
from dibs.operations.core.policy import MINUTE, WORK
from dibs.operations.tasks.workforce import MAX_BREAKER_PAUSE_MS
from tests.operations.fleet import Fleet

if TYPE_CHECKING:
    from dibs.operations.core.policy import WorkSettings

FAILURES, PAUSE = 3, MINUTE
HOUR = 60 * MINUTE


def settings(**more: Any) -> WorkSettings:
    tasks = {"breaker_failures": FAILURES, "breaker_pause": PAUSE, "max_attempts": 1_000, "backoff": 1, **more}
    return cast("WorkSettings", {**WORK, "tasks": {**WORK["tasks"], **tasks}})


@pytest.fixture
def fleet() -> Fleet:
    made = Fleet(work=settings())
    for number in range(40):
        made.call("boss", "task add", title="work", id=f"t{number:02d}")
    return made


def breaker(fleet: Fleet, agent: str) -> str:
    """What `agents` shows."""
    shown = {one["agent"]: one["breaker"] for one in fleet.call("viewer", "agents")["agents"]}
    return str(shown[agent])


def fail(fleet: Fleet, agent: str, how: str = "transient", **fields: Any) -> None:
    """Take a task and fail at it."""
    taken = fleet.call(agent, "task next")
    given: Any = {"class": how, "why": "it did not work", **fields}
    fleet.call(agent, "task fail", id=taken["task"]["id"], token=taken["token"], **given)


def succeed(fleet: Fleet, agent: str) -> None:
    taken = fleet.call(agent, "task next")
    fleet.call(agent, "task done", id=taken["task"]["id"], token=taken["token"])


def opened(fleet: Fleet, agent: str = "a") -> None:
    """Fail so often that the breaker opens."""
    for _ in range(FAILURES):
        fail(fleet, agent)
    assert breaker(fleet, agent) == "open"


def test_it_stays_closed_below_the_limit_and_opens_at_it(fleet: Fleet) -> None:
    for _ in range(FAILURES - 1):
        fail(fleet, "a")
        assert breaker(fleet, "a") == "closed"
    fail(fleet, "a")
    assert breaker(fleet, "a") == "open"
    with pytest.raises(Forbidden) as refused:
        fleet.call("a", "task next")
    assert refused.value.breaker == "open"
    assert "you get none for another 1 min" in refused.value.message
    with pytest.raises(Forbidden):
        fleet.call("a", "task claim", id="t30")
    fleet.clean()


@pytest.mark.parametrize("how", ["transient", "permanent"])
def test_failures_of_either_class_count(fleet: Fleet, how: str) -> None:
    for _ in range(FAILURES):
        fail(fleet, "a", how)
    assert breaker(fleet, "a") == "open"


def test_only_failures_in_a_row_count(fleet: Fleet) -> None:
    for _ in range(3):
        for _ in range(FAILURES - 1):
            fail(fleet, "a")
        succeed(fleet, "a")
    assert breaker(fleet, "a") == "closed"


def test_a_success_of_another_agent_clears_nothing(fleet: Fleet) -> None:
    opened(fleet)
    succeed(fleet, "b")
    assert (breaker(fleet, "a"), breaker(fleet, "b")) == ("open", "closed")
    fleet.now += PAUSE
    succeed(fleet, "b")
    assert breaker(fleet, "a") == "half-open"


def test_failures_of_another_agent_do_not_count(fleet: Fleet) -> None:
    for _ in range(FAILURES - 1):
        fail(fleet, "a")
        fail(fleet, "b")
    assert (breaker(fleet, "a"), breaker(fleet, "b")) == ("closed", "closed")


def test_after_the_pause_it_is_half_open_and_not_a_moment_before(fleet: Fleet) -> None:
    opened(fleet)
    fleet.now += PAUSE - 1
    assert breaker(fleet, "a") == "open"
    fleet.now += 1
    assert breaker(fleet, "a") == "half-open"


def test_half_open_gives_one_task_only_whatever_max_tasks_says(fleet: Fleet) -> None:
    fleet.policy = type(fleet.policy)(work=settings(max_tasks=5))
    opened(fleet)
    fleet.now += PAUSE
    first = fleet.call("a", "task next")
    with pytest.raises(Quota) as refused:
        fleet.call("a", "task next")
    assert refused.value.limit == 1
    fleet.call("a", "task done", id=first["task"]["id"], token=first["token"])
    assert breaker(fleet, "a") == "closed"
    for _ in range(5):
        fleet.call("a", "task next")
    with pytest.raises(Quota) as refused:
        fleet.call("a", "task next")
    assert refused.value.limit == 5


def test_a_trial_that_fails_opens_it_again_for_twice_as_long_each_time_up_to_half_an_hour(fleet: Fleet) -> None:
    opened(fleet)
    pause = PAUSE
    for _ in range(8):
        fleet.now += pause - 1
        assert breaker(fleet, "a") == "open"
        fleet.now += 1
        assert breaker(fleet, "a") == "half-open"
        fail(fleet, "a")
        pause = min(2 * pause, MAX_BREAKER_PAUSE_MS)
    assert pause == MAX_BREAKER_PAUSE_MS
    fleet.clean()


def test_after_a_success_the_pause_begins_small_again(fleet: Fleet) -> None:
    opened(fleet)
    fleet.now += PAUSE
    fail(fleet, "a")
    fleet.now += 2 * PAUSE
    succeed(fleet, "a")
    opened(fleet)
    fleet.now += PAUSE
    assert breaker(fleet, "a") == "half-open"


def test_lost_tasks_count_by_deadline_and_by_death(fleet: Fleet) -> None:
    fleet.call("a", "boot", pid=fleet.process(7))
    fail(fleet, "a", client=7)
    fleet.call("a", "task next", client=7)
    fleet.now += HOUR  # not a word from it, and no call that renewed its claim
    fleet.call("boss", "sweep")
    assert breaker(fleet, "a") == "closed"
    fleet.call("a", "task next", client=7)
    fleet.kill9(7)
    fleet.call("boss", "sweep")
    assert breaker(fleet, "a") == "open"
    fleet.clean()


def test_what_is_given_back_left_or_voided_counts_against_nobody(fleet: Fleet) -> None:
    for _ in range(FAILURES + 1):
        taken = fleet.call("a", "task next")
        fleet.call("a", "task release", id=taken["task"]["id"], token=taken["token"])
        fleet.call("a", "task next")
        fleet.call("a", "leave")
        fleet.call("a", "boot")
        taken = fleet.call("a", "task next")
        fleet.call("boss", "task cancel", id=taken["task"]["id"])
        fleet.call("a", "task next")
        fleet.call("boss", "kill", agent="a", why="test")
        fleet.call("boss", "revive", agent="a")
    assert breaker(fleet, "a") == "closed"


def test_a_late_success_of_a_task_that_was_lost_clears_nothing(fleet: Fleet) -> None:
    for _ in range(FAILURES - 1):
        fail(fleet, "a")
    late = fleet.call("a", "task next")
    fleet.now += HOUR
    fleet.call("boss", "sweep")
    with pytest.raises(Fenced):
        fleet.call("a", "task done", id=late["task"]["id"], token=late["token"])
    assert breaker(fleet, "a") == "open"


def test_a_retried_failure_counts_once(fleet: Fleet) -> None:
    for number in range(FAILURES - 1):
        taken = fleet.call("a", "task next")
        given: Any = {"class": "transient", "why": "no", "id": taken["task"]["id"], "token": taken["token"]}
        answers = [fleet.call("a", "task fail", request=f"r{number}", **given) for _ in range(3)]
        assert answers[0] == answers[1] == answers[2]
    assert breaker(fleet, "a") == "closed"


def test_a_failure_whose_first_run_was_thrown_away_counts_once(fleet: Fleet) -> None:
    aborts = iter([True, True])
    for _ in range(FAILURES - 1):
        taken = fleet.call("a", "task next")
        fleet.store.faults.abort = lambda: next(aborts, False)
        given: Any = {"class": "transient", "why": "no", "id": taken["task"]["id"], "token": taken["token"]}
        fleet.call("a", "task fail", **given)
    assert breaker(fleet, "a") == "closed"


def test_a_new_incarnation_does_not_clear_it(fleet: Fleet) -> None:
    fleet.call("a", "boot", pid=fleet.process(7))
    opened(fleet)
    fleet.call("a", "boot", pid=fleet.process(8))
    assert breaker(fleet, "a") == "open"


def test_one_who_waits_is_given_work_when_the_pause_is_over(fleet: Fleet) -> None:
    opened(fleet)
    waiter = fleet.call("a", "task next", wait=2 * MINUTE)["waiting"]
    fleet.now += PAUSE
    assert fleet.call("a", "task next", wait=MINUTE, waiter=waiter)["token"]


def test_a_trial_that_succeeds_closes_it_before_the_next_task_is_looked_for(fleet: Fleet) -> None:
    opened(fleet)
    fleet.now += PAUSE
    taken = fleet.call("a", "task next")
    done = fleet.call("a", "task done", id=taken["task"]["id"], token=taken["token"], next=True)
    assert done["next"]["token"]
    assert breaker(fleet, "a") == "closed"


def test_an_unknown_task_is_no_failure(fleet: Fleet) -> None:
    fleet.call("a", "boot")
    for _ in range(FAILURES + 1):
        with pytest.raises(NotFound):
            fleet.call("a", "task claim", id="nothing")
    assert breaker(fleet, "a") == "closed"
