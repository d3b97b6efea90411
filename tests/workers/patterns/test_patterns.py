"""The tasks that patterns are made of, batches of them, what can still become of them, and the library functions."""

from __future__ import annotations

import doctest
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dibs
from dibs import patterns
from dibs.errors import Conflict, Failed, Invalid, NotFound
from dibs.interfaces.python.workspace import Workspace
from dibs.operations.tasks import batches
from dibs.workers.patterns import specs
from dibs.workers.patterns.specs import Step
from tests.operations.fleet import Fleet
from tests.waiting import LIMIT_S

PERMANENT: dict[str, Any] = {"class": "permanent"}
TRANSIENT: dict[str, Any] = {"class": "transient"}
ITEMS = st.lists(st.integers(), min_size=1, max_size=40)


def add(fleet: Fleet, made: list[dict[str, Any]], run: str = "") -> list[str]:
    answer: dict[str, Any] = fleet.internal("planner", batches.ADD, tasks=made, run=run)
    return list(answer["tasks"])


def outlook(fleet: Fleet, *tasks: str, run: str = "") -> dict[str, Any]:
    found: dict[str, Any] = fleet.internal("planner", batches.OUTLOOK, tasks=list(tasks), run=run)
    return found


def finish(fleet: Fleet, name: str, result: Any = None) -> None:
    taken = fleet.call("worker", "task claim", id=name)
    fleet.call("worker", "task done", id=name, token=taken["token"], result=result)


def fail(fleet: Fleet, name: str) -> None:
    taken = fleet.call("worker", "task claim", id=name)
    fleet.call("worker", "task fail", id=name, token=taken["token"], why="no", **PERMANENT)


# --- the tasks of each pattern


@given(ITEMS, st.integers(min_value=0, max_value=7).filter(lambda n: n != 1))
def test_every_item_s_result_reaches_the_last_reduce_once_in_layers_no_wider_than_asked(
    items: list[int], fan_in: int
) -> None:
    made, last = specs.map_reduce("r", items, Step("m"), Step("f"), fan_in)
    by_id = {spec["id"]: spec for spec in made}
    assert len(by_id) == len(made)
    assert len(last) == 1

    def reached(name: str) -> list[int]:
        after = by_id[name].get("after", [])
        if fan_in:
            assert len(after) <= fan_in
        return [by_id[name]["payload"]["item"]] if not after else [one for part in after for one in reached(part)]

    assert reached(last[0]) == items


@given(ITEMS, st.lists(st.booleans(), min_size=1, max_size=5))
def test_in_a_pipeline_each_item_passes_every_stage_in_order_until_one_gathers(
    items: list[int], gathers: list[bool]
) -> None:
    stages = [Step(f"s{number}", gather=gather) for number, gather in enumerate(gathers)]
    made, last = specs.pipeline("r", items, stages)
    width, before = len(items), 0
    for stage in stages:
        tasks = [spec for spec in made if spec["payload"]["step"] == stage.name]
        width = 1 if stage.gather else width
        assert len(tasks) == width
        for spec in tasks:
            assert len(spec.get("after", [])) == (before if stage.gather else min(before, 1))
        before = width
    assert len(last) == width


def test_candidates_of_a_race_share_one_word_and_differ_in_their_ids() -> None:
    made, last = specs.scatter_gather("r", "find it", [(Step("a"), None), (Step("a"), None), (Step("b"), 3)])
    assert [spec["id"] for spec in made] == last == ["r/a/1", "r/a/2", "r/b/1"]
    assert {spec["race"] for spec in made} == {"r"}


def test_a_ballot_asks_for_what_only_its_elector_can() -> None:
    made, _ = specs.vote("r", "ship?", ["ann", "bob"], Step("ballot", needs=["eyes"]), "poll")
    assert [spec["needs"] for spec in made] == [["ballot:ann", "eyes"], ["ballot:bob", "eyes"]]
    assert made[0]["payload"] == {"step": "ballot", "vote": "poll", "elector": "ann"}


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Step("with blank"),
        lambda: Step(""),
        lambda: Step("x" * 41),
        lambda: specs.map_reduce("r", [], Step("m"), Step("f")),
        lambda: specs.map_reduce("r", "letters", Step("m"), Step("f")),
        lambda: specs.map_reduce("r", [1], Step("m"), Step("m")),
        lambda: specs.map_reduce("r", [1], Step("m"), Step("f"), 1),
        lambda: specs.pipeline("r", [1], []),
        lambda: specs.scatter_gather("r", "t", []),
    ],
)
def test_a_pattern_that_makes_no_sense_is_invalid(wrong: Any) -> None:
    with pytest.raises(Invalid):
        wrong()


# --- batches


def test_a_batch_is_added_whole_and_its_tasks_may_name_each_other_in_any_order() -> None:
    fleet = Fleet()
    assert sorted(add(fleet, [{"title": "b", "id": "b", "after": ["a"]}, {"title": "a", "id": "a"}])) == ["a", "b"]
    assert fleet.call("worker", "task next")["task"]["id"] == "a"
    fleet.clean()


@pytest.mark.parametrize(
    ("second", "error"),
    [
        ({"title": ""}, Invalid),
        ({"title": "x", "after": ["nothing"]}, NotFound),
        ({"title": "x", "id": "first"}, Conflict),
        ({"title": "x", "colour": "red"}, Invalid),
        ({"title": "x", "id": "y", "after": ["y"]}, Invalid),
    ],
)
def test_of_a_batch_with_one_wrong_task_none_is_added(second: dict[str, Any], error: type[Exception]) -> None:
    fleet = Fleet()
    with pytest.raises(error):
        add(fleet, [{"title": "first", "id": "first"}, second])
    assert fleet.call("viewer", "task list")["tasks"] == []


def test_a_batch_that_is_no_list_or_too_long_is_refused() -> None:
    fleet = Fleet()
    wrong: Any
    for wrong in ({}, [], "x", [1]):
        with pytest.raises(Invalid):
            add(fleet, wrong)
    with pytest.raises(Invalid, match="at most 1000 at once"):
        add(fleet, [{"title": "x"}] * (batches.MAX_TASKS + 1))


def test_a_batch_again_with_its_request_id_adds_nothing_more() -> None:
    fleet = Fleet()
    made = [{"title": "a"}, {"title": "b"}]
    first = fleet.internal("planner", batches.ADD, request="once", tasks=made)
    assert fleet.internal("planner", batches.ADD, request="once", tasks=made) == first
    assert len(fleet.call("viewer", "task list")["tasks"]) == 2


def test_of_a_batch_that_was_interrupted_the_missing_tasks_are_added() -> None:
    fleet = Fleet()
    made = [{"title": name, "id": name} for name in "abc"]
    add(fleet, made[:2])
    assert fleet.internal("planner", batches.ADD, tasks=made, missing=True)["tasks"] == ["c"]
    assert fleet.internal("planner", batches.ADD, tasks=made, missing=True)["tasks"] == []
    with pytest.raises(Conflict, match="d"):
        fleet.internal("planner", batches.ADD, tasks=[{"id": "d", "title": "d"}] * 2, missing=True)
    assert len(fleet.call("viewer", "task list")["tasks"]) == 3


def test_a_batch_wakes_those_who_wait_for_work() -> None:
    fleet = Fleet()
    waiting = fleet.call("worker", "task next", wait=60_000, wake="bell")
    assert "waiting" in waiting
    add(fleet, [{"title": "a", "id": "a"}])
    answer = fleet.call("worker", "task next", wait=60_000, waiter=waiting["waiting"], wake="bell")
    assert answer["task"]["id"] == "a"


def test_a_batch_for_a_run_that_has_ended_is_refused() -> None:
    fleet = Fleet()
    run = fleet.call("planner", "run start", name="x", id="x-1")["run"]["id"]
    fleet.call("planner", "run end", run=run)
    with pytest.raises(Conflict):
        add(fleet, [{"title": "a"}], run=run)


# --- the outlook


def chain(fleet: Fleet) -> None:
    add(fleet, [{"title": "t", "id": name, "after": after} for name, after in
                (("a", []), ("b", ["a"]), ("c", ["b"]), ("d", []))])  # fmt: skip


def test_what_waits_for_a_failed_task_is_stuck_also_further_down_and_the_rest_goes_on() -> None:
    fleet = Fleet()
    chain(fleet)
    assert outlook(fleet, "a", "b", "c", "d")["going"] == 4
    fail(fleet, "a")
    found = outlook(fleet, "a", "b", "c", "d")
    assert (found["going"], found["stuck"]) == (1, 2)
    assert [(task["id"], task["why"]) for task in found["failed"]] == [("a", "no")]
    assert outlook(fleet, "c")["going"] == 0, "it depends on what is not among those asked for"
    finish(fleet, "d")
    assert outlook(fleet, "a", "b", "c", "d")["going"] == 0


def test_a_failed_task_that_is_planned_again_sets_the_rest_going() -> None:
    fleet = Fleet()
    chain(fleet)
    fail(fleet, "a")
    fleet.call("boss", "task move", id="a", state="planned")
    found = outlook(fleet, "a", "b", "c")
    assert (found["going"], found["stuck"], found["failed"]) == (3, 0, [])


def test_a_parent_is_stuck_by_a_failed_child_and_not_by_one_that_was_called_off() -> None:
    fleet = Fleet()
    add(fleet, [{"title": "root", "id": "root"}])
    taken = fleet.call("worker", "task claim", id="root")
    parts = [{"title": "x", "id": "x"}, {"title": "y", "id": "y"}]
    fleet.call("worker", "task split", id="root", token=taken["token"], children=parts)
    fleet.call("boss", "task cancel", id="x")
    assert outlook(fleet, "root")["going"] == 1
    fail(fleet, "y")
    assert outlook(fleet, "root")["going"] == 0
    assert outlook(fleet, "root")["stuck"] == 1


def test_a_task_in_a_pause_after_a_failure_still_goes_on() -> None:
    fleet = Fleet()
    add(fleet, [{"title": "a", "id": "a"}])
    taken = fleet.call("worker", "task claim", id="a")
    fleet.call("worker", "task fail", id="a", token=taken["token"], why="later", **TRANSIENT)
    assert outlook(fleet, "a")["going"] == 1


def test_the_outlook_of_a_run_has_all_its_tasks_and_those_they_were_broken_down_into() -> None:
    fleet = Fleet()
    made, _ = specs.plan("big-1", "big", Step("plan"))
    fleet.call("planner", "run start", name="big", id="big-1", tasks=made)
    taken = fleet.call("worker", "task next", run="big-1")
    parts = [{"title": str(number)} for number in range(600)]
    fleet.call("worker", "task split", id=taken["task"]["id"], token=taken["token"], children=parts)
    found = outlook(fleet, run="big-1")
    assert (found["total"], found["going"], found["progress"]) == (601, 601, 0)
    assert found["groups"]["big-1/plan"] == {"total": 1, "begun": 0, "over": 0}
    with pytest.raises(NotFound):
        outlook(fleet, "nothing")


@given(st.data())
def test_the_outlook_says_that_nothing_goes_on_exactly_when_nobody_can_take_a_task(data: st.DataObject) -> None:
    """A small graph, worked off by a worker that fails some tasks for good: it ends when the outlook says so."""
    count = data.draw(st.integers(1, 7))
    made: list[dict[str, Any]] = []
    for number in range(count):
        after = data.draw(st.lists(st.integers(0, number - 1), unique=True, max_size=3)) if number else []
        made.append({"title": "t", "id": f"t{number}", "after": [f"t{one}" for one in after]})
    fleet = Fleet()
    add(fleet, made)
    names = [spec["id"] for spec in made]
    strikes = 0
    for _ in range(count + 1):
        try:
            taken = fleet.call(f"worker{strikes}", "task next")
        except NotFound:
            assert outlook(fleet, *names)["going"] == 0
            return
        assert outlook(fleet, *names)["going"] > 0
        name, token = taken["task"]["id"], taken["token"]
        if data.draw(st.booleans()):
            fleet.call(f"worker{strikes}", "task done", id=name, token=token)
        else:
            fleet.call(f"worker{strikes}", "task fail", id=name, token=token, why="no", **PERMANENT)
            strikes += 1  # another worker: a breaker is not what this is about
    raise AssertionError("more tasks than there are")


# --- the library, on a workspace with real workers' code


@pytest.fixture
def ws(tmp_path: Path) -> Any:
    subprocess.run([Path(sys.executable).parent / "dibs", "init", "--clients", "none"], cwd=tmp_path, check=True,
                   capture_output=True)  # fmt: skip
    with dibs.open(str(tmp_path), agent="planner") as made:
        yield made


def work_them_off(ws: Workspace, steps: dict[str, Any], limit: int = 0) -> dict[str, int]:
    """A worker in this process that does each step with a function of the item and the list of inputs."""

    def handler(_: Any, payload: dict[str, Any], inputs: dict[str, Any], __: Any) -> Any:
        return steps[payload["step"]](payload.get("item"), list(inputs.values()))

    with dibs.open(ws.root, agent="worker") as mine:
        return dibs.work(mine, handler, drain=True, limit=limit)


@pytest.mark.parametrize("name", ["map_reduce", "pipeline", "scatter_gather", "plan", "vote"])
def test_the_example_in_the_docstring_runs(ws: Workspace, name: str) -> None:
    known = {**vars(patterns), "ws": ws, "dibs": dibs}
    known["work_them_off"] = lambda steps, limit=0: work_them_off(ws, steps, limit) and None
    function = getattr(patterns, name)
    (example,) = doctest.DocTestFinder(recurse=False).find(function, name, globs=known)
    assert len(example.examples) >= 3
    said: list[str] = []
    doctest.DocTestRunner().run(example, out=said.append)
    assert "".join(said) == ""


def test_a_pattern_becomes_a_part_of_a_run_that_is_there(ws: Workspace) -> None:
    run = ws.run_start("campaign")["run"]["id"]
    one = patterns.map_reduce(ws, [1, 2], map="m", reduce="f", run=run)
    two = patterns.pipeline(ws, [3], ["m", "f"], run=run)
    assert len(ws.task_list(run=run)["tasks"]) == 5
    work_them_off(ws, {"m": lambda item, _: item, "f": lambda _, inputs: sum(inputs)})
    assert (one.wait(LIMIT_S).result(), two.wait(LIMIT_S).result()) == (3, [3])
    assert one.progress() == 100


def test_more_tasks_than_fit_into_one_batch_come_in_several(ws: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "MAX_TASKS", 3)
    for run in (None, ws.run_start("campaign")["run"]["id"]):
        work = patterns.map_reduce(ws, list(range(8)), map="m", reduce="f", run=run)
        assert work.outlook()["total"] == 9
        work_them_off(ws, {"m": lambda item, _: item, "f": lambda _, inputs: sum(inputs)})
        assert work.wait(LIMIT_S).result() == sum(range(8))


def test_layers_of_reduce_give_what_one_reduce_gives(ws: Workspace) -> None:
    work = patterns.map_reduce(ws, list(range(9)), map="m", reduce="f", fan_in=3)
    assert len(work.tasks) == 9 + 3 + 1
    work_them_off(ws, {"m": lambda item, _: item, "f": lambda _, inputs: sum(inputs)})
    assert work.wait(LIMIT_S).result() == sum(range(9))


def test_a_step_s_demands_are_those_of_its_tasks(ws: Workspace) -> None:
    step = Step("m", type="gpu", needs=["cuda"], attempts=2, expect="30s", priority=5, require=["x"])
    work = patterns.pipeline(ws, [1], [step])
    task = ws.task_show(work.tasks[0])["task"]
    assert (task["for"], task["needs"], task["max_attempts"], task["expected"], task["priority"]) == (
        "gpu", ["cuda"], 2, 30, 5,
    )  # fmt: skip
    assert task["payload"] == {"step": "m", "item": 1}


def test_the_result_before_the_end_is_a_conflict_and_waiting_has_a_limit(ws: Workspace) -> None:
    work = patterns.pipeline(ws, [1], ["m"])
    with pytest.raises(Conflict):
        work.result()
    with pytest.raises(TimeoutError, match="0 percent"):
        work.wait(0.05)


def test_a_pattern_that_cannot_come_to_its_end_is_over_and_says_which_task_failed(ws: Workspace) -> None:
    def refuse(_: Any, __: Any) -> Any:
        raise dibs.Permanent("no ink")

    work = patterns.map_reduce(ws, [1, 2], map="m", reduce="f")
    work_them_off(ws, {"m": lambda item, _: refuse(item, _) if item == 2 else item, "f": refuse})
    with pytest.raises(Failed, match="no ink") as refused:
        work.wait(LIMIT_S).result()
    assert [task["id"] for task in refused.value.failed] == [work.tasks[1]]


def test_a_race_without_a_valid_result_failed(ws: Workspace) -> None:
    work = patterns.scatter_gather(ws, "find it", 2, require=["way"])
    work_them_off(ws, {"try": lambda item, _: {"wrong": item}})
    with pytest.raises(Failed):
        work.wait(LIMIT_S).result()


def test_the_loser_of_a_race_is_refused_when_it_comes_late(ws: Workspace) -> None:
    work = patterns.scatter_gather(ws, "find it", 2)
    with dibs.open(ws.root, agent="slow") as slow, dibs.open(ws.root, agent="quick") as quick:
        lost, won = slow.task_next(), quick.task_next()
        quick.task_done(won["task"]["id"], token=won["token"], result="mine")
        assert work.wait(LIMIT_S).result() == "mine"
        with pytest.raises(dibs.Fenced):
            slow.task_done(lost["task"]["id"], token=lost["token"], result="also mine")
    assert work.wait(LIMIT_S).result() == "mine"


def test_a_vote_with_a_step_gives_each_elector_a_task_that_only_it_can_take(ws: Workspace) -> None:
    poll = patterns.vote(ws, "ship?", ["ann", "bob", "cid"], step="ballot")
    assert len(poll.tasks) == 3
    with dibs.open(ws.root, agent="ann") as ann:
        ann.boot(can=["ballot:ann"])
        taken = ann.task_next()
        assert taken["task"]["payload"] == {"step": "ballot", "vote": poll.vote, "elector": "ann"}
        ann.task_done(taken["task"]["id"], token=taken["token"])
        with pytest.raises(NotFound):
            ann.task_next()
        ann.vote_cast(poll.vote, "yes")
    assert poll.progress() == 33
    with pytest.raises(Conflict):
        poll.result()


def test_a_vote_that_nobody_can_win_has_no_result(ws: Workspace) -> None:
    poll = patterns.vote(ws, "ship?", ["ann", "bob"])
    for elector, choice in (("ann", "yes"), ("bob", "no")):
        with dibs.open(ws.root, agent=elector) as one:
            one.vote_cast(poll.vote, choice)
    with pytest.raises(Failed, match="undecided"):
        poll.wait(LIMIT_S).result()


def test_the_patterns_are_loaded_with_their_first_use() -> None:
    code = "import sys, dibs; assert 'dibs.patterns' not in sys.modules; print(dibs.patterns.map_reduce.__name__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "map_reduce\n"
