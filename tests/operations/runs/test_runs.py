"""Runs: started, joined, moved through phases, counted, ended, archived, purged, held to their gates."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dibs.errors import Conflict, Fenced, Invalid, Killed, NotFound, Quota
from dibs.operations.core import long_jobs
from dibs.operations.core.policy import DAY, MINUTE, WORK
from dibs.operations.runs import members, quality_gates, records, run_endings, runs
from dibs.operations.runs.members import USAGE
from dibs.operations.runs.run_endings import ARCHIVED
from tests.operations.fleet import Fleet

FINE = {"store": "", "log": "", "report": "", "archive": "", "results": ""}  # what a door would find


def start(fleet: Fleet, run: str = "r1", **fields: Any) -> Any:
    return fleet.call("boss", "run start", name="fix the tests", id=run, **fields)


def add(fleet: Fleet, task: str, run: str = "r1", **fields: Any) -> Any:
    return fleet.call("boss", "task add", title=f"do {task}", id=task, run=run, **fields)


def take(fleet: Fleet, agent: str, task: str, **who: Any) -> int:
    token: int = fleet.call(agent, "task claim", id=task, **who)["token"]
    return token


def finish(fleet: Fleet, agent: str, task: str, **fields: Any) -> None:
    fleet.call(agent, "task done", id=task, token=take(fleet, agent, task), **fields)


def fail(fleet: Fleet, agent: str, task: str, kind: str) -> None:
    fields: dict[str, Any] = {"id": task, "token": take(fleet, agent, task), "why": "no", "class": kind}
    fleet.call(agent, "task fail", **fields)


def failing(fleet: Fleet, at: str = "", **facts: str) -> list[str]:
    asked: dict[str, Any] = {"at": at} if at else {}
    found = fleet.call("viewer", "run gates", run="r1", facts={**FINE, **facts}, **asked)
    assert found["failed"] == sum(not gate["passed"] for gate in found["gates"])
    assert all(bool(gate["why"]) is not gate["passed"] for gate in found["gates"])
    return [gate["name"] for gate in found["gates"] if not gate["passed"]]


# --- start


def test_a_run_has_an_id_made_of_its_name_a_coordinator_and_a_phase(fleet: Fleet) -> None:
    run = fleet.call("boss", "run start", name="Fix all tests!")["run"]
    assert run["id"].startswith("Fix-all-tests-")
    assert (run["coordinator"], run["state"], run["phase"]) == ("boss", "active", "discovery")
    assert run["operation"] == "Fix all tests!"
    assert [event["subject"] for event in fleet.events("run.started")] == [run["id"]]


@pytest.mark.parametrize("name", ["§§§", "../../etc", "a" * 2_000, "…", "-x-"])
def test_whatever_the_name_the_id_can_name_a_file(fleet: Fleet, name: str) -> None:
    run = fleet.call("boss", "run start", name=name)["run"]["id"]
    assert len(run) <= runs.MAX_ID_CHARS
    assert run[0].isalnum()
    assert not set(run) - set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-")


@pytest.mark.parametrize("bad", ["../x", "a/b", "a b", ".hidden", "-x", "ä", "a" * 101, "a\tb", "a\nb"])
def test_an_id_that_could_not_name_a_file_is_refused(fleet: Fleet, bad: str) -> None:
    with pytest.raises(Invalid):
        start(fleet, bad)
    assert fleet.events("run.") == []


def test_a_run_needs_a_name_and_a_phase_that_there_is(fleet: Fleet) -> None:
    bad: list[dict[str, Any]] = [{"name": " "}, {"name": "x", "phase": "lunch"}]
    for fields in bad:
        with pytest.raises(Invalid):
            fleet.call("boss", "run start", **fields)
    assert fleet.events("run.") == []


def test_two_runs_of_one_id_are_refused(fleet: Fleet) -> None:
    start(fleet)
    with pytest.raises(Conflict):
        start(fleet)


def test_a_start_repeated_with_its_request_id_starts_one_run(fleet: Fleet) -> None:
    first = fleet.call("boss", "run start", name="x", tasks=[{"title": "a"}], request="q1")
    assert fleet.call("boss", "run start", name="x", tasks=[{"title": "a"}], request="q1") == first
    assert len(fleet.events("run.started")) == len(fleet.events("task.added")) == 1


def test_a_start_brings_its_tasks_in_one_transaction(fleet: Fleet) -> None:
    answer = start(fleet, tasks=[{"title": "b", "id": "b", "after": ["a"]}, {"title": "a", "id": "a"}])
    assert sorted(answer["tasks"]) == ["a", "b"]
    assert {task["run"] for task in fleet.call("x", "task list", run="r1")["tasks"]} == {"r1"}
    assert len({event["commit"] for event in fleet.events() if event["kind"] in {"run.started", "task.added"}}) == 1
    fleet.clean()


@pytest.mark.parametrize(
    "tasks", [{}, ["a"], "a", [{"id": "x"}], [{"title": "x", "after": ["nothing"]}], [{"title": "x", "colour": 1}]]
)
def test_a_start_with_one_bad_task_starts_nothing(fleet: Fleet, tasks: Any) -> None:
    good = [{"title": "good"}]
    with pytest.raises((Invalid, NotFound)):
        start(fleet, tasks=[*good, *tasks] if isinstance(tasks, list) else tasks)
    assert fleet.call("x", "run list")["runs"] == []
    assert fleet.call("x", "task list")["tasks"] == []


def test_workers_that_wait_are_woken_by_a_run_that_brings_tasks(fleet: Fleet) -> None:
    fleet.store.watch("channel")
    fleet.call("w", "task next", wait=60_000, wake="channel")
    assert fleet.store.wait("channel", 0) is False
    start(fleet, tasks=[{"title": "a"}])
    assert fleet.store.wait("channel", 0) is True
    assert fleet.call("w", "task next")["task"]["title"] == "a"


# --- which run


def test_the_only_active_run_need_not_be_named(fleet: Fleet) -> None:
    start(fleet)
    assert fleet.call("boss", "run phase", phase="analysis")["run"]["id"] == "r1"


def test_of_several_active_runs_one_has_to_be_named(fleet: Fleet) -> None:
    start(fleet)
    start(fleet, "r2")
    with pytest.raises(Invalid) as refused:
        fleet.call("boss", "run phase", phase="analysis")
    assert refused.value.runs == ["r1", "r2"]
    assert fleet.call("boss", "run phase", phase="analysis", run="r2")["run"]["id"] == "r2"


def test_without_a_run_there_is_nothing_to_say(fleet: Fleet) -> None:
    calls: dict[str, dict[str, Any]] = {
        "run phase": {"phase": "analysis"},
        "run warn": {"text": "x"},
        "run progress": {},
    }
    for name, fields in calls.items():
        with pytest.raises(NotFound):
            fleet.call("boss", name, **fields)


def test_reading_without_a_name_falls_back_to_the_run_that_ended_last(fleet: Fleet) -> None:
    for run in ("r1", "r2"):
        start(fleet, run)
    fleet.call("boss", "run end", run="r2")
    fleet.now += 1_000
    fleet.call("boss", "run end", run="r1")
    assert fleet.call("x", "run show")["run"]["id"] == "r1"
    with pytest.raises(NotFound):
        fleet.call("boss", "run warn", text="too late")


def test_an_unknown_run_is_not_found(fleet: Fleet) -> None:
    for name in ("run progress", "run show", "run gates", "run purge", "run end", "run join"):
        with pytest.raises(NotFound):
            fleet.call("boss", name, run="nope")
    with pytest.raises(NotFound):
        add(fleet, "a", run="nope")


# --- who takes part


def test_an_agent_joins_with_its_type_capabilities_and_pid(fleet: Fleet) -> None:
    start(fleet)
    fleet.call("w", "run join", client=42, type="fixer", can=["b", "a"])
    agent = fleet.call("x", "run show")["run"]["agents"][0]
    assert (agent["agent"], agent["type"], agent["can"], agent["pid"]) == ("w", "fixer", ["a", "b"], 42)
    assert agent["state"] == "alive"


def test_what_an_agent_says_to_be_when_it_joins_decides_which_tasks_it_gets(fleet: Fleet) -> None:
    start(fleet)
    add(fleet, "a", **{"for": "fixer"})
    with pytest.raises(NotFound):
        fleet.call("w", "task next")
    fleet.call("w", "run join", type="fixer")
    assert fleet.call("w", "task next")["task"]["id"] == "a"


def test_joining_again_keeps_the_time_and_is_told_once(fleet: Fleet) -> None:
    start(fleet)
    first = fleet.call("w", "run join", type="fixer")["agent"]
    fleet.now += 5_000
    again = fleet.call("w", "run join", can=["x"])["agent"]
    assert (again["type"], again["can"]) == ("fixer", ["x"])
    assert again["joined_at"] == first["joined_at"]
    assert len(fleet.events("run.joined")) == 1


def test_an_agent_that_died_is_shown_as_gone(fleet: Fleet) -> None:
    start(fleet)
    fleet.call("w", "run join", client=42)
    fleet.kill9(42)
    assert fleet.call("x", "run show")["run"]["agents"][0]["state"] == "gone"


def test_a_killed_agent_cannot_join(fleet: Fleet) -> None:
    start(fleet)
    fleet.call("w", "run join")
    fleet.call("boss", "kill", agent="w", why="enough")
    with pytest.raises(Killed):
        fleet.call("w", "run join")


def test_a_run_takes_only_so_many_agents(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(members, "MAX_AGENTS", 2)
    start(fleet)
    for agent in ("a", "b", "a"):
        fleet.call(agent, "run join")
    with pytest.raises(Quota):
        fleet.call("c", "run join")


def test_assigned_and_finished_tasks_of_each_agent_are_shown(fleet: Fleet) -> None:
    start(fleet)
    fleet.call("w", "run join")
    for task in ("a", "b"):
        add(fleet, task)
    finish(fleet, "w", "a")
    take(fleet, "w", "b")
    agent = fleet.call("x", "run show")["run"]["agents"][0]
    assert (agent["tasks"], agent["finished"]) == (["b"], 1)


# --- usage


def usage(fleet: Fleet, **fields: Any) -> Any:
    return fleet.internal("w", USAGE, **{"run": "r1", "cpu": 12.34, "memory": 1_000, "threads": 3, **fields})


def test_usage_is_kept_with_its_peak_and_makes_no_noise_in_the_log(fleet: Fleet) -> None:
    start(fleet)
    fleet.call("w", "run join")
    before = len(fleet.events())
    assert usage(fleet) == {"kept": True}
    usage(fleet, cpu=1, memory=2_000)
    agent = fleet.call("x", "run show")["run"]["agents"][0]
    assert {name: agent["usage"][name] for name in ("cpu", "memory", "threads")} == {
        "cpu": 1.0, "memory": 2_000, "threads": 3,
    }  # fmt: skip
    assert agent["peak"] == {"cpu": 12.3, "memory": 2_000, "threads": 3}
    assert len(fleet.events()) == before


def test_usage_of_one_that_did_not_join_makes_it_known(fleet: Fleet) -> None:
    start(fleet)
    usage(fleet)
    assert [agent["agent"] for agent in fleet.call("x", "run show")["run"]["agents"]] == ["w"]


def test_usage_for_no_run_or_an_ended_one_is_dropped_without_complaint(fleet: Fleet) -> None:
    start(fleet)
    fleet.call("boss", "run end")
    for run in ("", "nope", "r1"):
        assert usage(fleet, run=run) == {"kept": False}


@pytest.mark.parametrize("bad", [-1, float("nan"), float("inf"), "5", True, None])
def test_usage_that_is_no_number_is_refused(fleet: Fleet, bad: Any) -> None:
    start(fleet)
    with pytest.raises(Invalid):
        usage(fleet, cpu=bad)


# --- phases, errors, warnings


def test_phases_come_in_any_order_and_are_kept_with_their_times(fleet: Fleet) -> None:
    start(fleet)
    for phase in ("execution", "analysis", "analysis", "validation"):
        fleet.now += 1_000
        fleet.call("boss", "run phase", phase=phase)
    assert [(e["data"]["from"], e["data"]["to"]) for e in fleet.events("run.phased")] == [
        ("discovery", "execution"), ("execution", "analysis"), ("analysis", "validation"),
    ]  # fmt: skip
    shown = fleet.call("x", "run show")["run"]["phases"]
    assert [one["phase"] for one in shown] == ["discovery", "execution", "analysis", "validation"]
    assert len({one["at"] for one in shown}) == 4


def test_an_unknown_phase_changes_nothing(fleet: Fleet) -> None:
    start(fleet)
    with pytest.raises(Invalid):
        fleet.call("boss", "run phase", phase="lunch")
    assert fleet.call("x", "run progress")["run"]["phase"] == "discovery"


def test_the_record_keeps_the_last_phases_only(fleet: Fleet) -> None:
    start(fleet)
    for turn in range(runs.MAX_PHASE_CHANGES + 10):
        fleet.call("boss", "run phase", phase=runs.PHASES[1 + turn % 2])
    assert len(fleet.record(records.run_key("r1"))["phases"]) == runs.MAX_PHASE_CHANGES


def test_errors_and_warnings_are_kept_in_order_with_who_said_them(fleet: Fleet) -> None:
    start(fleet)
    fleet.call("a", "run error", text="first")
    fleet.call("b", "run warn", text="second")
    fleet.call("a", "run error", text="third")
    run = fleet.call("x", "run progress")["run"]
    assert [(one["number"], one["text"], one["by"]) for one in run["errors"]] == [(1, "first", "a"), (3, "third", "a")]
    assert [one["text"] for one in run["warnings"]] == ["second"]
    assert (run["error_count"], run["warning_count"]) == (2, 1)


def test_a_run_keeps_only_so_many_errors(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "MAX_NOTES", 2)
    start(fleet)
    for _ in range(2):
        fleet.call("a", "run error", text="x")
    with pytest.raises(Quota):
        fleet.call("a", "run error", text="x")
    fleet.call("a", "run warn", text="warnings have room of their own")


@pytest.mark.parametrize("text", ["", "  ", "x" * 2_001, "a\x00b"])
def test_an_error_without_words_or_with_too_many_is_refused(fleet: Fleet, text: str) -> None:
    start(fleet)
    with pytest.raises(Invalid):
        fleet.call("a", "run error", text=text)
    assert fleet.events("run.noted") == []


def test_an_error_can_be_said_to_be_handled(fleet: Fleet) -> None:
    start(fleet)
    fleet.call("a", "run error", text="boom")
    assert "errors are handled" in failing(fleet)
    for _ in range(2):
        fleet.call("a", "run handled", number=1, how="restarted it")
    assert failing(fleet, "during") == []
    assert len(fleet.events("run.handled")) == 1
    assert fleet.call("x", "run progress")["run"]["errors"][0]["handled"] == "restarted it"


def test_only_an_error_that_is_there_can_be_handled(fleet: Fleet) -> None:
    start(fleet)
    fleet.call("a", "run warn", text="hm")
    for number in (1, 2):
        with pytest.raises(NotFound):
            fleet.call("a", "run handled", number=number, how="x")


# --- progress


def progress(fleet: Fleet) -> int:
    percent: int = fleet.call("x", "run progress")["run"]["progress"]
    return percent


def test_progress_is_counted_from_tasks(fleet: Fleet) -> None:
    start(fleet)
    assert progress(fleet) == 0
    for task in "abcd":
        add(fleet, task)
    finish(fleet, "w", "a")
    assert progress(fleet) == 25
    token = take(fleet, "w", "b")
    fleet.call("w", "task progress", id="b", percent=50, token=token)
    assert progress(fleet) == 37
    fleet.call("boss", "task cancel", id="c")
    assert progress(fleet) == 50
    assert fleet.call("x", "run progress")["run"]["tasks"] == {
        "total": 4, "planned": 1, "executing": 1, "complete": 1, "cancelled": 1,
    }  # fmt: skip


def test_finishing_a_task_does_not_write_the_runs_record(fleet: Fleet) -> None:
    start(fleet)
    add(fleet, "a")
    before = fleet.record(records.run_key("r1"))
    finish(fleet, "w", "a")
    assert fleet.record(records.run_key("r1")) == before


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(["done", "cancel", "fail", "leave", "work"]), max_size=12), st.integers(0, 100))
def test_progress_is_what_is_done_of_what_is_not_called_off(fates: list[str], percent: int) -> None:
    fleet = Fleet(work={**WORK, "tasks": {**WORK["tasks"], "max_tasks": 100, "breaker_failures": 100}})
    start(fleet)
    points = meant = 0
    for place, fate in enumerate(fates):
        name = f"t{place}"
        add(fleet, name)
        meant += fate != "cancel"
        if fate == "done":
            finish(fleet, "w", name)
            points += 100
        elif fate == "cancel":
            fleet.call("boss", "task cancel", id=name)
        elif fate == "fail":
            fail(fleet, "w", name, "permanent")
        elif fate == "work":
            fleet.call("w", "task progress", id=name, percent=percent, token=take(fleet, "w", name))
            points += percent
    assert progress(fleet) == (points // meant if meant else 0)
    assert (progress(fleet) == 100) is (points == 100 * meant and meant > 0)


def test_many_tasks_are_counted_over_several_pages(fleet: Fleet) -> None:
    start(fleet, tasks=[{"title": f"t{number}"} for number in range(700)])
    assert fleet.call("x", "run progress")["run"]["tasks"]["total"] == 700


def test_active_runs_are_listed_before_ended_ones(fleet: Fleet) -> None:
    for run in ("r1", "r2"):
        fleet.now += 1
        start(fleet, run)
    fleet.call("boss", "run end", run="r1")
    assert [(run["id"], run["state"]) for run in fleet.call("x", "run list")["runs"]] == [
        ("r2", "active"), ("r1", "ended"),
    ]  # fmt: skip


# --- end


def test_a_run_with_open_tasks_does_not_end(fleet: Fleet) -> None:
    start(fleet)
    for task in ("a", "b"):
        add(fleet, task)
    take(fleet, "w", "a")
    with pytest.raises(Conflict) as refused:
        fleet.call("boss", "run end")
    assert refused.value.states == {"executing": 1, "planned": 1}
    assert [event["data"]["code"] for event in fleet.events("run.refused")] == ["conflict"]
    assert fleet.call("x", "run show")["run"]["state"] == "active"


def test_a_run_with_many_tasks_does_not_end_if_the_first_of_them_are_open(fleet: Fleet) -> None:
    many = [{"title": f"t{number}"} for number in range(long_jobs.RECORDS_PER_STEP + 1)]
    fleet.call("boss", "run start", name="op", id="r1", tasks=many)
    with pytest.raises(Conflict, match="run r1 has open tasks"):
        fleet.call("boss", "run end", run="r1")
    assert fleet.call("boss", "run show", run="r1")["run"]["state"] == "active"
    assert [event["data"] for event in fleet.events("run.refused")] == [{"code": "conflict"}]


def test_a_forced_end_calls_off_what_is_open_and_refuses_late_results(fleet: Fleet) -> None:
    start(fleet)
    add(fleet, "a")
    add(fleet, "parent")
    add(fleet, "child", parent="parent")
    token = take(fleet, "w", "a")
    answer = fleet.call("boss", "run end", force=True)
    assert sorted(answer["cancelled"]) == ["a", "child", "parent"]
    assert [kind for kind, _ in fleet.told("w")] == ["cancelled"]
    with pytest.raises(Fenced):
        fleet.call("w", "task done", id="a", token=token)
    fleet.clean()


def test_an_ended_run_takes_nothing_more(fleet: Fleet) -> None:
    start(fleet)
    fleet.call("boss", "run end")
    calls: dict[str, dict[str, Any]] = {
        "run join": {}, "run phase": {"phase": "analysis"}, "run warn": {"text": "x"}, "run error": {"text": "x"},
        "task add": {"title": "x"},
    }  # fmt: skip
    for name, fields in calls.items():
        with pytest.raises(Conflict):
            fleet.call("w", name, run="r1", **fields)
    assert fleet.call("x", "task list")["tasks"] == []


def test_ending_again_changes_nothing(fleet: Fleet) -> None:
    start(fleet)
    assert fleet.call("boss", "run end", run="r1")["existing"] is False
    fleet.now += 1_000
    again = fleet.call("w", "run end", run="r1")
    assert again["existing"] is True
    assert again["run"]["ended_by"] == "boss"
    assert len(fleet.events("run.ended")) == 1


def test_the_coordinators_claims_for_the_run_are_released_and_no_others(fleet: Fleet) -> None:
    start(fleet)
    add(fleet, "a")
    fleet.claim("boss", "role:orchestrator", task="a")
    fleet.claim("boss", "mine.py")
    fleet.claim("boss", "for-task.py", task="a")
    fleet.claim("boss/sub", "run:r1")
    fleet.claim("w", "theirs.py", task="a")
    finish(fleet, "w", "a")
    assert sorted(fleet.call("boss", "run end")["released"]) == ["for-task.py", "run:r1"]
    assert fleet.holders() == [("boss", "mine.py"), ("boss", "role:orchestrator"), ("w", "theirs.py")]
    assert "nothing is held or waited for" in failing(fleet, "cleanup")
    fleet.release("w", "theirs.py")
    assert "nothing is held or waited for" not in failing(fleet, "cleanup")
    fleet.clean()


def test_who_waits_for_what_a_run_held_gets_it_at_its_end(fleet: Fleet) -> None:
    start(fleet)
    fleet.claim("boss", "run:r1")
    fleet.claim("w", "run:r1", wait=60_000, wake="c")
    fleet.call("boss", "run end")
    assert ("w", "run:r1") in fleet.holders()


def test_a_strict_end_is_refused_while_a_gate_fails(fleet: Fleet) -> None:
    start(fleet)
    fleet.call("w", "run error", text="boom")
    with pytest.raises(Conflict) as refused:
        fleet.call("boss", "run end", strict=True)
    assert [gate["name"] for gate in refused.value.gates] == ["errors are handled"]
    fleet.call("w", "run handled", number=1, how="done")
    assert fleet.call("boss", "run end", strict=True)["run"]["state"] == "ended"


def test_the_archive_is_noted_once(fleet: Fleet) -> None:
    start(fleet)
    fleet.call("boss", "run end")
    for _ in range(2):
        fleet.internal("boss", ARCHIVED, run="r1", file="runs/r1.tar.gz", sha256="ab", size=3)
    assert len(fleet.events("run.archived")) == 1
    assert fleet.call("x", "run show")["run"]["archive"]["file"] == "runs/r1.tar.gz"


# --- purge


def rows(fleet: Fleet) -> list[str]:
    """The keys of all that belongs to runs and tasks."""
    return fleet.store.look(lambda tx: [key for key, _ in tx.fetch([("t", "v")], 10_000).rows])


def ended(fleet: Fleet, **fields: Any) -> None:
    start(fleet)
    fleet.call("w", "run join")
    fleet.call("w", "run error", text="x")
    for task in ("a", "b"):
        add(fleet, task, payload={"n": 1}, key=f"k{task}")
        finish(fleet, "w", task, result={"n": 2})
    fleet.call("boss", "run end", **fields)


def test_after_its_time_a_sweep_drops_a_run_and_its_tasks(fleet: Fleet) -> None:
    ended(fleet)
    fleet.now += 7 * DAY - 1
    fleet.call("x", "sweep")
    assert fleet.call("x", "run list")["runs"]
    fleet.now += 1
    fleet.call("x", "sweep")
    assert rows(fleet) == []
    assert [event["data"]["tasks"] for event in fleet.events("run.purged")] == [2]
    fleet.clean()


def test_how_long_a_run_is_kept_can_be_said_by_the_config_at_the_end_and_afterwards() -> None:
    fleet = Fleet(work={**WORK, "runs": {"keep": MINUTE}})
    ended(fleet)
    assert fleet.record(records.run_key("r1"))["until"] == fleet.now + MINUTE
    fleet.call("boss", "run end", run="r1", keep=5_000)
    fleet.now += 5_000
    fleet.call("x", "sweep")
    assert rows(fleet) == []
    start(fleet, "r2")
    fleet.call("boss", "run end", keep=0)
    fleet.call("x", "sweep")
    assert rows(fleet) == []


def test_a_large_run_goes_in_parts_until_the_sweep_says_that_it_is_done(fleet: Fleet) -> None:
    start(fleet, tasks=[{"title": "x"} for _ in range(3 * run_endings.ROWS_PER_SWEEP + 1)])
    fleet.call("boss", "run end", force=True, keep=0)
    fleet.call("boss", "inbox")
    sweeps = 1
    while fleet.call("x", "sweep")["more"]:
        sweeps += 1
    assert sweeps == 4
    assert rows(fleet) == []


def test_a_run_is_purged_at_once_when_asked(fleet: Fleet) -> None:
    ended(fleet)
    assert fleet.call("boss", "run purge", run="r1")["more"] is False
    assert rows(fleet) == []
    with pytest.raises(NotFound):
        fleet.call("boss", "run purge", run="r1")


def test_what_a_purge_leaves_goes_with_the_sweeps(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    ended(fleet)
    monkeypatch.setattr(long_jobs, "RECORDS_PER_STEP", 2)
    fleet.carries_on = False
    assert fleet.call("boss", "run purge", run="r1")["more"] is True
    while fleet.call("x", "sweep")["more"]:
        pass
    assert rows(fleet) == []
    assert [event["data"]["tasks"] for event in fleet.events("run.purged")] == [2]


def test_an_active_run_is_not_purged(fleet: Fleet) -> None:
    start(fleet)
    with pytest.raises(Conflict):
        fleet.call("boss", "run purge", run="r1")


def test_a_task_planned_again_after_the_end_outlives_its_run(fleet: Fleet) -> None:
    start(fleet)
    add(fleet, "a")
    fleet.call("boss", "run end", force=True)
    fleet.call("boss", "task move", id="a", state="planned")
    fleet.call("boss", "run purge", run="r1")
    task = fleet.call("w", "task next")["task"]
    assert task["id"] == "a"
    assert "run" not in task


def test_a_key_used_in_a_purged_run_is_free_again(fleet: Fleet) -> None:
    ended(fleet)
    fleet.call("boss", "run purge", run="r1")
    assert fleet.call("boss", "task add", title="new", key="ka")["existing"] is False


# --- gates


def test_a_fresh_run_passes_all_gates_but_that_somebody_joined(fleet: Fleet) -> None:
    start(fleet)
    assert failing(fleet) == ["agents are registered"]
    fleet.call("w", "run join")
    assert failing(fleet) == []


def test_what_nobody_looked_at_does_not_pass(fleet: Fleet) -> None:
    start(fleet)
    fleet.call("w", "run join")
    found = fleet.call("x", "run gates", at="setup")
    assert [gate["name"] for gate in found["gates"] if not gate["passed"]] == [
        "the store can be written", "the log is intact",
    ]  # fmt: skip


def test_an_unknown_time_of_gates_is_refused(fleet: Fleet) -> None:
    start(fleet)
    with pytest.raises(Invalid):
        fleet.call("x", "run gates", at="lunch")


def test_a_full_inbox_fails_its_gate() -> None:
    fleet = Fleet(work={**WORK, "messages": {**WORK["messages"], "inbox": 1}})
    start(fleet)
    fleet.call("w", "run join")
    assert failing(fleet, "setup") == []
    fleet.call("boss", "send", to="w", text="hello")
    assert failing(fleet, "setup") == ["inboxes have room"]


def test_a_task_whose_holder_died_or_fell_silent_fails_its_gate_until_a_sweep(fleet: Fleet) -> None:
    start(fleet)
    fleet.call("w", "boot", client=42, pid=fleet.process(42))
    fleet.call("w", "run join", client=42)
    add(fleet, "a")
    take(fleet, "w", "a", client=42)
    assert failing(fleet, "during") == []
    fleet.kill9(42)
    behind, accounted = "every task at work has a live claim", "agents are there or accounted for"
    assert failing(fleet, "during") == [accounted, behind]
    fleet.call("x", "sweep")
    assert failing(fleet, "during") == []


def test_a_task_past_its_deadline_fails_its_gate(fleet: Fleet) -> None:
    start(fleet)
    add(fleet, "a")
    take(fleet, "w", "a")
    fleet.now += fleet.policy.ttl + 1
    assert "every task at work has a live claim" in failing(fleet, "during")


def test_a_message_that_nobody_acknowledges_fails_its_gate(fleet: Fleet) -> None:
    start(fleet)
    fleet.call("w", "run join")
    message = fleet.call("boss", "send", to="w", text="please", ack=True)["message"]
    fleet.now += quality_gates.MAX_SILENT_PERIODS * WORK["messages"]["visibility"] - 1
    assert failing(fleet, "during") == []
    fleet.now += 1
    assert failing(fleet, "during") == ["messages are delivered"]
    fleet.call("w", "ack", message=message)
    assert failing(fleet, "during") == []


def test_work_of_which_nothing_is_heard_fails_its_gate_until_it_is(fleet: Fleet) -> None:
    start(fleet)
    add(fleet, "a")
    token = take(fleet, "w", "a")
    fleet.now += quality_gates.DEFAULT_SILENCE_MS
    assert failing(fleet, "during") == []
    fleet.now += 1
    assert failing(fleet, "during") == ["progress is tracked"]
    fleet.call("w", "task progress", id="a", percent=10, token=token)
    assert failing(fleet, "during") == []


def test_a_failed_task_fails_its_gate_until_it_is_dealt_with(fleet: Fleet) -> None:
    start(fleet)
    add(fleet, "a")
    fail(fleet, "w", "a", "permanent")
    assert failing(fleet, "during") == ["errors are handled"]
    fleet.call("boss", "task cancel", id="a")
    assert failing(fleet, "during") == []


def test_clean_up_wants_results_report_archive_and_nothing_open(fleet: Fleet) -> None:
    start(fleet)
    add(fleet, "a")
    assert failing(fleet, "cleanup") == ["all tasks are finished", "the run is archived"]
    finish(fleet, "w", "a", result={"x": 1})
    fleet.call("boss", "run end")
    assert failing(fleet) == ["the run is archived"]
    fleet.internal("boss", ARCHIVED, run="r1", file="runs/r1.tar.gz", sha256="ab", size=3)
    assert failing(fleet) == []
    assert failing(fleet, report="it broke") == ["the report can be made"]
    assert failing(fleet, archive="it is gone") == ["the run is archived"]
    assert failing(fleet, results="a file is gone") == ["results are there"]
    fleet.store.run(lambda tx: tx.delete("tr\ta"))
    assert failing(fleet) == ["results are there"]


def test_a_failed_task_that_another_outside_waits_for_outlives_its_run(fleet: Fleet) -> None:
    start(fleet)
    add(fleet, "t")
    fail(fleet, "w", "t", "permanent")
    fleet.call("boss", "task add", title="outside", id="x", after=["t"])
    fleet.call("boss", "task add", title="the whole", id="parent")
    add(fleet, "child", parent="parent")
    fail(fleet, "v", "child", "permanent")
    fleet.call("boss", "run end", run="r1")
    fleet.call("boss", "run purge", run="r1")
    for task in ("t", "child"):
        assert "run" not in fleet.call("boss", "task show", id=task)["task"]
        fleet.call("boss", "task move", id=task, state="planned")
        finish(fleet, "w", task)
    assert {fleet.call(name, "task next")["task"]["id"] for name in ("w", "u")} == {"x", "parent"}
    fleet.clean()
