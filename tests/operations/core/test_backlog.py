"""Work too long for one transaction: decided at once, carried out in steps, gone on with by whoever comes next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from dibs.errors import Conflict, Fenced, NotFound
from dibs.machine import clock
from dibs.operations.core import long_jobs
from dibs.operations.core.long_jobs import CONTINUE
from dibs.operations.upkeep import sweeps
from tests.operations.crew import Crew
from tests.operations.engines import OnFile
from tests.stores.redis_server import Server, opened
from tests.waiting import until

if TYPE_CHECKING:
    from collections.abc import Iterator

STEP = 5


class CrewOnFile(Crew, OnFile):
    """A crew whose store is a file."""


class CrewOnServer(Crew):
    """A crew whose store is a Redis server; its clock is the server's."""

    def __init__(self, server: Server) -> None:
        super().__init__()
        self.store = opened(server.socket_url, clock.random_id())  # type: ignore[assignment]


@pytest.fixture(params=["memory", "sqlite", "redis"])
def crew(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Crew]:
    monkeypatch.setattr(long_jobs, "RECORDS_PER_STEP", STEP)
    if request.param == "memory":
        yield Crew()
        return
    made = CrewOnFile() if request.param == "sqlite" else CrewOnServer(request.getfixturevalue("redis_server"))
    yield made
    made.close() if isinstance(made, OnFile) else made.store.close()


def jobs(crew: Crew) -> list[Any]:
    return crew.store.look(long_jobs.going)


def tick(crew: Crew) -> None:
    """The store's clock moves; a server's does so by itself."""
    before = crew.store.look(lambda tx: tx.now)
    crew.now += 1
    until(lambda: crew.store.look(lambda tx: tx.now) > before)


def pass_by(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody has taken a step for a while."""
    monkeypatch.setattr(long_jobs, "ABANDONED_MS", 0)


def tree(crew: Crew, wide: int = 3, deep: int = 2, name: str = "p", **fields: Any) -> list[str]:
    """A task with `wide` children, each with as many; the ids from the top."""
    crew.add(name, **fields)
    found = level = [name]
    for _ in range(deep):
        level = [f"{above}.{number}" for above in level for number in range(wide)]
        for one in level:
            crew.add(one, parent=one.rpartition(".")[0])
        found = [*found, *level]
    return found


def rows(crew: Crew, prefix: str) -> list[str]:
    return [key for key, _ in crew.store.look(lambda tx: tx.fetch([(f"{prefix}\t", f"{prefix}\n")]).rows)]


# --- calling off


def test_a_tree_is_called_off_in_steps_and_the_answer_counts_all(crew: Crew) -> None:
    names = tree(crew)
    before = crew.store.head().commit
    answer = crew.call("boss", "task cancel", id="p")
    assert (answer["count"], sorted(answer["cancelled"])) == (13, sorted(names))
    assert crew.store.head().commit - before >= 13 // STEP, "no transaction had more than a step"
    assert set(crew.states(*names)) == {"cancelled"}
    assert crew.show("p")["children"]["open"] == 0
    assert (jobs(crew), rows(crew, "jp")) == ([], [])
    crew.clean()


def test_after_the_first_commit_nobody_gets_a_task_of_the_tree(crew: Crew) -> None:
    tree(crew)
    crew.add("other")
    crew.carries_on = False
    assert crew.call("boss", "task cancel", id="p")["jobs"]
    assert [one["state"] for one in crew.call("v", "task list", state="planned")["tasks"]] == ["planned"]
    with pytest.raises(Conflict) as refused:
        crew.take("p.2.2")
    assert refused.value.fields["state"] == "cancelled"
    assert crew.state("p.2.2") == "cancelled"
    assert [crew.next()["task"]["id"]] == ["other"]
    crew.clean()


def test_a_result_for_a_task_that_a_job_calls_off_is_refused_before_its_step(crew: Crew) -> None:
    tree(crew)
    token = crew.take("p.2.2")
    crew.carries_on = False
    crew.call("boss", "task cancel", id="p", why="no need")
    for way in ("task done", "task release"):
        with pytest.raises(Fenced) as late:
            crew.call("w", way, id="p.2.2", token=token)
        assert late.value.fields["state"] == "cancelled"
    assert len(crew.events("claim.ended")) == 0, "no step has come to it"
    crew.carries_on = True
    crew.call("boss", "task cancel", id="p")
    assert [event["data"]["why"] for event in crew.events("claim.ended")] == ["cancelled"]
    assert any("no need" in text for kind, text in crew.told("w"))
    crew.clean()


def test_a_task_that_a_job_calls_off_gets_no_child_and_is_not_planned_again(crew: Crew) -> None:
    tree(crew)
    crew.carries_on = False
    crew.call("boss", "task cancel", id="p")
    with pytest.raises(Conflict):
        crew.add("new", parent="p.2.2")
    for name in ("p", "p.2.2"):
        with pytest.raises(Conflict, match="being cancelled"):
            crew.call("boss", "task move", id=name, state="planned" if name == "p" else "scoped")
    while crew.call("x", "sweep")["more"]:
        pass
    crew.call("boss", "task move", id="p", state="planned")
    crew.add("new", parent="p")
    assert crew.states("p", "new", "p.2.2") == ["planned", "planned", "cancelled"]
    crew.clean()


def test_what_lies_below_a_task_that_was_over_before_is_left_alone(crew: Crew) -> None:
    tree(crew)
    crew.call("boss", "task cancel", id="p.0")
    crew.call("boss", "task move", id="p.0.1", state="planned")
    tick(crew)
    crew.carries_on = False
    crew.call("boss", "task cancel", id="p")
    assert crew.state("p.0.1") == "planned"
    assert crew.take("p.0.1")
    crew.carries_on = True
    crew.call("boss", "task cancel", id="p")
    assert crew.state("p.0.1") == "executing"
    crew.clean()


@pytest.mark.parametrize("way", ["sweep", "task next", "again"])
def test_what_a_dead_caller_left_is_gone_on_with(crew: Crew, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    names = tree(crew)
    crew.carries_on = False
    crew.call("boss", "task cancel", id="p", request="r1")
    assert "planned" in {crew.record(f"t\t{name}").get("state", "planned") for name in names}
    if way == "sweep":
        while crew.call("x", "sweep")["more"]:
            pass
    elif way == "task next":
        pass_by(monkeypatch)
        with pytest.raises(NotFound):
            crew.next()
    else:
        crew.carries_on = True
        answer = crew.call("boss", "task cancel", id="p", request="r1")
        assert answer["count"] == 13
    assert {crew.record(f"t\t{name}").get("state") for name in names} == {"cancelled"}
    assert jobs(crew) == []
    crew.carries_on = True
    assert crew.call("boss", "task cancel", id="p", request="r1")["count"] == 13, "one effect, the same answer"
    assert len(crew.events("task.moved")) == 13
    crew.clean()


def test_two_may_go_on_with_one_job(crew: Crew) -> None:
    tree(crew)
    crew.carries_on = False
    job = crew.call("boss", "task cancel", id="p")["jobs"][0]
    answers = [crew.internal(agent, CONTINUE, job=job) for agent in ("a", "b") * 4]
    assert {one["answer"]["count"] for one in answers if not one["more"]} == {13}
    assert len(crew.events("task.moved")) == 13
    crew.clean()


def test_a_job_in_hand_is_left_to_whoever_has_it(crew: Crew) -> None:
    tree(crew)
    crew.add("other")
    crew.carries_on = False
    crew.call("boss", "task cancel", id="p")
    done = jobs(crew)[0]["done"]
    crew.next()
    assert jobs(crew)[0]["done"] == done


def test_whoever_takes_a_task_goes_on_with_a_job_that_was_abandoned(
    crew: Crew, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree(crew)
    crew.add("other")
    crew.carries_on = False
    crew.call("boss", "task cancel", id="p")
    done = jobs(crew)[0]["done"]
    pass_by(monkeypatch)
    assert crew.next()["task"]["id"] == "other"
    assert jobs(crew)[0]["done"] == done + STEP


# --- finishing what many come after, and races


def test_many_that_come_after_one_become_ready_in_steps(crew: Crew) -> None:
    crew.add("first")
    for number in range(3 * STEP):
        crew.add(f"u{number:02d}", after=["first"])
    token = crew.take("first")
    crew.carries_on = False
    assert crew.done("first", token)["jobs"]
    crew.carries_on = True
    assert len(crew.order()) == 3 * STEP, "`task next` takes the steps before it says that there is nothing"
    assert (jobs(crew), rows(crew, "td")) == ([], [])
    crew.clean()


def test_a_purge_unblocks_what_a_job_has_not_come_to(crew: Crew) -> None:
    crew.call("boss", "run start", name="r", id="r")
    crew.add("first", run="r")
    for number in range(3 * STEP):
        crew.add(f"u{number:02d}", after=["first"])
    crew.carries_on = False
    crew.done("first", crew.take("first"))
    crew.carries_on = True
    crew.call("boss", "run end", run="r")
    crew.call("boss", "run purge", run="r")
    assert rows(crew, "u") == []
    assert len(crew.order()) == 3 * STEP
    crew.clean()


def test_those_that_lost_a_race_count_as_called_off_at_once(crew: Crew) -> None:
    for number in range(3 * STEP):
        crew.add(f"r{number:02d}", race="win")
    late = crew.take("r14", "late")
    crew.carries_on = False
    crew.finish("r00")
    with pytest.raises(Fenced):
        crew.done("r14", late, "late")
    with pytest.raises(NotFound):
        crew.next("v")
    crew.carries_on = True
    assert crew.states("r00", "r14", "r13") == ["complete", "cancelled", "cancelled"]
    crew.clean()


def test_one_turn_hands_in_several_that_many_come_after(crew: Crew) -> None:
    crew.policy.work["tasks"]["max_tasks"] = 3
    for top in "abc":
        crew.add(top)
        for number in range(2 * STEP):
            crew.add(f"{top}{number:02d}", after=[top])
    handed = [{"id": top, "token": crew.take(top)} for top in "abc"]
    assert crew.call("w", "task turn", done=handed, take=0) == {"done": ["a", "b", "c"], "refused": [], "tasks": []}
    assert (jobs(crew), rows(crew, "td")) == ([], [])
    crew.policy.work["tasks"]["max_tasks"] = 1
    crew.clean()


# --- runs


def start(crew: Crew, number: int = 3 * STEP) -> list[str]:
    crew.call("boss", "run start", name="r", id="r")
    names = [f"t{place:02d}" for place in range(number)]
    for name in names:
        crew.add(name, run="r")
    return names


def test_a_forced_end_calls_off_many_in_steps(crew: Crew) -> None:
    names = start(crew)
    crew.claim("boss", "run:r", task="r")
    answer = crew.call("boss", "run end", run="r", force=True)
    assert (answer["count"], answer["cancelled"], answer["released"]) == (len(names), names, ["run:r"])
    assert answer["run"]["state"] == "ended"
    assert [event["data"]["cancelled"] for event in crew.events("run.ended")] == [len(names)]
    assert crew.call("boss", "run end", run="r")["existing"] is True
    crew.clean()


def test_a_run_that_is_forced_to_end_takes_and_gives_nothing_more(crew: Crew) -> None:
    start(crew)
    token = crew.take("t14")
    crew.carries_on = False
    crew.call("boss", "run end", run="r", force=True)
    with pytest.raises(Conflict):
        crew.add("new", run="r")
    with pytest.raises(Fenced):
        crew.done("t14", token)
    with pytest.raises(Conflict):
        crew.take("t13", "v")
    with pytest.raises(Conflict):
        crew.call("boss", "run purge", run="r")
    crew.carries_on = True
    assert crew.call("ann", "run end", run="r")["count"] == 15, "whoever asks again goes on"
    crew.clean()


def test_the_end_of_a_large_run_is_refused_while_one_task_is_open(crew: Crew) -> None:
    names = start(crew)
    for name in names[:-1]:
        crew.finish(name)
    with pytest.raises(Conflict) as refused:
        crew.call("boss", "run end", run="r", request="e1")
    assert refused.value.fields["tasks"] == ["t14"]
    with pytest.raises(Conflict):
        crew.call("boss", "run end", run="r", request="e1")
    crew.finish("t14")
    crew.add("t15", run="r")
    crew.finish("t15")
    assert crew.call("boss", "run end", run="r")["run"]["state"] == "ended"
    crew.clean()


def test_a_large_run_takes_nothing_while_it_is_looked_through_for_open_tasks(crew: Crew) -> None:
    for name in start(crew):
        crew.finish(name)
    crew.carries_on = False
    assert crew.call("boss", "run end", run="r")["jobs"]
    with pytest.raises(Conflict, match="being ended"):
        crew.add("new", run="r")
    while crew.call("x", "sweep")["more"]:
        pass
    assert crew.call("boss", "run end", run="r")["existing"] is True
    crew.clean()


# --- agents that give up all they hold


@pytest.mark.parametrize("way", ["leave", "kill", "release"])
def test_all_of_many_claims_are_given_up_in_steps(crew: Crew, way: str) -> None:
    for number in range(3 * STEP):
        crew.claim("ann", f"f{number:02d}.py")
    if way == "kill":
        answer = crew.call("boss", "kill", agent="ann", why="enough")
        assert len(answer["voided"]) == 3 * STEP
    else:
        answer = crew.call("ann", "leave") if way == "leave" else crew.release("ann")
        assert len(answer["released"]) == 3 * STEP
    assert answer["count"] == 3 * STEP
    assert crew.holders() == []
    crew.clean()


def test_what_a_subagent_holds_passes_to_its_parent_in_steps(crew: Crew) -> None:
    crew.claim("ann", "x.py")
    for number in range(3 * STEP):
        crew.claim("ann/sub", f"f{number:02d}.py")
    assert len(crew.call("ann/sub", "leave")["passed"]) == 3 * STEP
    assert {agent for agent, _ in crew.holders()} == {"ann"}
    crew.clean()


def test_what_an_agent_claims_after_it_left_is_not_released(crew: Crew) -> None:
    for number in range(3 * STEP):
        crew.claim("ann", f"f{number:02d}.py")
    crew.carries_on = False
    job = crew.call("ann", "leave")["jobs"][0]
    tick(crew)
    crew.claim("ann", "new.py")
    while crew.internal("bob", CONTINUE, job=job)["more"]:
        pass
    assert crew.holders() == [("ann", "new.py")]
    crew.clean()


def test_tasks_whose_time_came_together_are_all_given_out(crew: Crew) -> None:
    crew.policy.work["tasks"]["backoff"] = 1
    for number in range(3 * STEP):
        crew.add(f"t{number:02d}")
        crew.fail(f"t{number:02d}", crew.take(f"t{number:02d}"))
        crew.call("boss", "boot")
        if number % 4 == 3:
            crew.add(f"x{number}")
            crew.finish(f"x{number}")  # a success clears the failures of the agent
    crew.policy.work["tasks"]["backoff"] = 1_000
    crew.now += 10_000
    if isinstance(crew, CrewOnServer):
        clock.sleep(0.05)
    assert len(crew.order("v")) == 3 * STEP
    crew.clean()


def test_a_sweep_ends_many_claims_of_the_dead_some_at_a_time(crew: Crew, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweeps, "DUE_PER_SWEEP", STEP)
    for agent in ("ann", "bob"):
        for number in range(2 * STEP + 1):
            crew.claim(agent, f"{agent}{number:02d}.py", client=len(agent + "x") + ord(agent[0]))
    for agent in ("ann", "bob"):
        crew.kill9(len(agent + "x") + ord(agent[0]))
    ended = []
    while True:
        answer = crew.call("x", "sweep")
        ended.append(answer["swept"]["claims"])
        if not answer["more"]:
            break
    assert sum(ended) == 2 * (2 * STEP + 1)
    assert max(ended) == STEP
    assert crew.store.look(lambda tx: tx.scan(1, "claims\t", 1).rows) == []
    crew.clean()
