"""The file of `dibs run start FILE`: what it says, what is wrong with it, and which command a task gets from it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dibs.client.session import Session
from dibs.errors import Conflict, Invalid
from dibs.operations.runs.answers import BatchOutlookAnswer
from dibs.operations.tasks import batches
from dibs.operations.tasks.answers import FailedTask
from dibs.operations.votes.answers import VoteState
from dibs.workers import cast_ballot, run_driver, run_file, run_screen
from tests.scratch import Shell

EXAMPLES = sorted((Path(__file__).resolve().parents[2] / "examples").glob("*.toml"))

MAP_REDUCE = """
pattern = "map_reduce"
items = ["a", "b"]
[[steps]]
name = "count"
exec = "wc -w"
[[steps]]
name = "sum"
exec = "cat"
"""
VOTE = """
pattern = "vote"
title = "ship?"
electorate = ["ann", "bob"]
[[steps]]
name = "ballot"
exec = "echo yes"
"""


def load(folder: Path, text: str, name: str = "work.toml") -> run_file.Plan:
    (folder / name).write_text(text)
    return run_file.load(str(folder / name))


# --- what it says


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_the_examples_are_valid(path: Path) -> None:
    plan = run_file.load(str(path))
    assert plan.tasks("RUN")
    assert all(step.exec for step in plan.steps)
    assert sum(crew.count for crew in plan.crews()) >= 3


def test_there_is_an_example_of_each_pattern() -> None:
    assert {run_file.load(str(path)).pattern for path in EXAMPLES} == set(run_file.PATTERNS)


def test_a_file_s_name_is_the_run_s_unless_it_has_one(tmp_path: Path) -> None:
    assert load(tmp_path, MAP_REDUCE, "count words.toml").name == "count words"
    assert load(tmp_path, 'name = "Zählen!"' + MAP_REDUCE).name == "Zählen!"
    assert (run_driver.slug("count words"), run_driver.slug("Zählen!"), run_driver.slug("¿?")) == (
        "count-words",
        "Z-hlen",
        "run",
    )


def test_items_come_from_a_list_a_glob_or_the_lines_of_a_file(tmp_path: Path) -> None:
    for name in ("b.txt", "a.txt", "c.md"):
        (tmp_path / name).write_text("x")
    (tmp_path / "list").write_text("one\n\n  two  \n")
    for source, found in (("*.txt", ["a.txt", "b.txt"]), ("@list", ["one", "two"])):
        plan = load(tmp_path, MAP_REDUCE.replace('items = ["a", "b"]', f'items_from = "{source}"'))
        assert run_file.items_of(plan) == found
    plan = load(tmp_path, MAP_REDUCE.replace('items = ["a", "b"]', 'items_from = "*.csv"'))
    with pytest.raises(Invalid, match="matches nothing"):
        plan.tasks("RUN")


def test_a_date_in_an_item_is_a_text(tmp_path: Path) -> None:
    plan = load(tmp_path, MAP_REDUCE.replace('["a", "b"]', "[{ day = 2024-02-29, sizes = [1.5] }]"))
    assert plan.tasks("RUN")[0]["payload"]["item"] == {"day": "2024-02-29", "sizes": [1.5]}


def test_a_step_s_tasks_are_for_workers_unless_it_says_for_whom(tmp_path: Path) -> None:
    plan = load(tmp_path, MAP_REDUCE + 'type = "adder"\nneeds = ["paper"]\nattempts = 2\nexpect = "1m"\n')
    count, _, total = plan.tasks("RUN")
    assert count["for"] == "worker"
    assert (total["for"], total["needs"], total["attempts"], total["expect"]) == ("adder", ["paper"], 2, 60_000)


def test_workers_are_dealt_out_over_the_types_and_can_all_that_is_asked_for(tmp_path: Path) -> None:
    plan = load(tmp_path, "workers = 5" + MAP_REDUCE + 'type = "adder"\nneeds = ["paper"]\n')
    assert [(crew.count, crew.type, crew.can) for crew in plan.crews()] == [
        (3, "worker", ("paper",)),
        (2, "adder", ("paper",)),
    ]
    with pytest.raises(Invalid, match="at least 2"):
        plan.crews(1)


def test_a_vote_has_a_worker_for_each_elector_by_its_name(tmp_path: Path) -> None:
    crews = load(tmp_path, VOTE).crews()
    assert [(crew.count, crew.agent, crew.can) for crew in crews] == [
        (1, "ann", ("ballot:ann",)),
        (1, "bob", ("ballot:bob",)),
    ]


# --- what is wrong with it

STEPS = '[[steps]]\nname = "s"\nexec = "true"\n'


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("", "pattern"),
        ('pattern = "waterfall"', "pattern"),
        (MAP_REDUCE.replace("items", "itms"), "itms"),
        ("fan_in = 1\nelectorate = []" + MAP_REDUCE, "electorate"),
        (MAP_REDUCE + 'exce = "x"\n', "steps[2].exce"),
        (MAP_REDUCE + "gather = true\n", "steps[2].gather"),
        (MAP_REDUCE.replace('exec = "cat"', ""), "steps[2].exec"),
        (MAP_REDUCE.replace('exec = "cat"', "exec = 7"), "steps[2].exec"),
        (MAP_REDUCE.replace('name = "sum"', 'name = "a b"'), "steps[2].name"),
        (MAP_REDUCE.replace('name = "sum"', ""), "steps[2].name"),
        (MAP_REDUCE.replace('name = "sum"', 'name = "count"'), "steps"),
        (MAP_REDUCE + STEPS, "steps"),
        ('pattern = "map_reduce"\nitems = [1]\n' + STEPS, "steps"),
        ('pattern = "pipeline"\nitems = [1]\nsteps = 3', "steps"),
        ('pattern = "pipeline"\nitems = [1]\nsteps = []', "steps"),
        ('pattern = "pipeline"\n' + STEPS, "items"),
        ('pattern = "pipeline"\nitems = []\n' + STEPS, "items"),
        ('pattern = "pipeline"\nitems = "abc"\n' + STEPS, "items"),
        ('pattern = "pipeline"\nitems = [1]\nitems_from = "*"\n' + STEPS, "items_from"),
        (MAP_REDUCE + "attempts = 0\n", "steps[2].attempts"),
        (MAP_REDUCE + "attempts = true\n", "steps[2].attempts"),
        (MAP_REDUCE + 'expect = "soon"\n', "steps[2].expect"),
        (MAP_REDUCE + "expect = []\n", "steps[2].expect"),
        (MAP_REDUCE + 'phase = "later"\n', "steps[2].phase"),
        (MAP_REDUCE + 'needs = ["a b"]\n', "steps[2].needs"),
        (MAP_REDUCE + 'needs = "a"\n', "steps[2].needs"),
        ("workers = 0" + MAP_REDUCE, "workers"),
        ('workers = "4"' + MAP_REDUCE, "workers"),
        ('folder = "nowhere"' + MAP_REDUCE, "folder"),
        ('within = "x"' + MAP_REDUCE, "within"),
        ('pattern = "plan"\n' + STEPS, "title"),
        (VOTE.replace('title = "ship?"', ""), "title"),
        (VOTE.replace('["ann", "bob"]', "[]"), "electorate"),
        (VOTE.replace('["ann", "bob"]', '["ann", "ann"]'), "electorate"),
        (VOTE.replace('exec = "echo yes"', 'type = "x"'), "steps[1].exec"),
        (VOTE + 'accept = "true"\n', "steps[1].exec"),
    ],
)
def test_what_is_wrong_is_said_by_its_name(tmp_path: Path, text: str, named: str) -> None:
    with pytest.raises(Invalid) as refused:
        load(tmp_path, text)
    said = refused.value.message
    assert f"work.toml: {named}:" in said, said


@pytest.mark.parametrize("content", [b"pattern = ", b"\xff\xfe", b"x" * (run_file.MAX_FILE_BYTES + 1)])
def test_a_file_that_cannot_be_read_is_invalid(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "work.toml").write_bytes(content)
    with pytest.raises(Invalid):
        run_file.load(str(tmp_path / "work.toml"))
    with pytest.raises(Invalid, match="No such file"):
        run_file.load(str(tmp_path / "missing.toml"))


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
SETTINGS = sorted(
    {*run_file.COMMON, *[name for known, _, _, _ in run_file.PATTERNS.values() for name in known]} - {"pattern"}
)


@given(st.sampled_from(sorted(run_file.PATTERNS)), st.dictionaries(st.sampled_from(SETTINGS), VALUES, max_size=5))
def test_whatever_stands_in_a_file_it_is_read_or_invalid(pattern: str, table: dict[str, Any]) -> None:
    usual = {"steps": [{"name": "a", "exec": "x"}], "items": [1], "title": "t", "electorate": ["ann"]}
    known = {name: value for name, value in usual.items() if name in (*run_file.PATTERNS[pattern][0], "steps")}
    try:
        plan = run_file.RunFileReader("/tmp/work.toml", {"pattern": pattern, **known, **table}).plan("digest")
        plan.tasks("RUN")
    except Invalid as error:
        assert error.message


def test_a_file_with_more_tasks_than_a_run_takes_is_refused(tmp_path: Path) -> None:
    plan = load(tmp_path, MAP_REDUCE.replace('["a", "b"]', f"[{'1,' * run_file.MAX_TASKS}]"))
    with pytest.raises(Invalid, match="at most"):
        plan.tasks("RUN")


# --- which command a task gets


def run(plan: run_file.Plan, task: dict[str, Any], stdin: str = "") -> subprocess.CompletedProcess[str]:
    command = plan.command_for(task)
    assert command is not None
    return subprocess.run(["/bin/sh", "-c", command], input=stdin, capture_output=True, text=True, check=False)


def test_a_command_runs_in_the_file_s_folder_whatever_that_is_called(tmp_path: Path) -> None:
    folder = tmp_path / 'it\'s a "folder" $(touch x)'
    folder.mkdir()
    plan = load(folder, MAP_REDUCE.replace('"wc -w"', "'''cat; pwd; echo $DIBS_STEP'''"))
    done = run(plan, {"payload": {"step": "count"}}, "given\n")
    assert done.stdout.splitlines() == ["given", os.path.realpath(folder), "count"]
    assert list(folder.iterdir()) == [folder / "work.toml"]


def test_a_payload_is_never_run(tmp_path: Path) -> None:
    plan = load(tmp_path, MAP_REDUCE)
    evil = "$(touch made); touch made #"
    for payload in ({"step": evil}, {"step": ["x"]}, "x", None, {"step": "count", "item": evil, "exec": "touch made"}):
        run(plan, {"payload": payload, "title": evil})
    poll = load(tmp_path, VOTE, "vote.toml")
    run(poll, {"payload": {"step": "ballot", "vote": evil, "elector": evil}})
    assert not (tmp_path / "made").exists()


def test_a_step_that_the_file_does_not_have_is_a_failure_for_good(tmp_path: Path) -> None:
    done = run(load(tmp_path, MAP_REDUCE), {"payload": {"step": "divide"}})
    assert done.returncode == run_file.REFUSED
    assert done.stderr == "work.toml has no step 'divide', which the task's payload names\n"


def test_a_step_of_other_agents_has_no_command(tmp_path: Path) -> None:
    plan = load(tmp_path, MAP_REDUCE.replace('exec = "cat"', 'type = "reviewer"'))
    assert plan.command_for({"payload": {"step": "sum"}}) is None
    assert [crew.type for crew in plan.crews()] == ["worker"]


@pytest.mark.parametrize(
    ("command", "accept", "code", "out"),
    [
        ("cat", "grep -q right", 0, "right\n"),
        ("cat", "grep -q wrong", run_file.REFUSED, ""),
        ("cat; exit 3", "true", 3, ""),
        ("cat # a comment", "true # another", 0, "right\n"),
    ],
)
def test_what_accept_refuses_is_no_result(tmp_path: Path, command: str, accept: str, code: int, out: str) -> None:
    text = MAP_REDUCE.replace('"wc -w"', f'"{command}"\naccept = "{accept}"')
    done = run(load(tmp_path, text), {"payload": {"step": "count"}}, "right\n")
    assert (done.returncode, done.stdout) == (code, out)


def test_a_task_that_comes_back_from_its_children_is_finished_by_another_command(tmp_path: Path) -> None:
    text = 'pattern = "plan"\ntitle = "t"\n[[steps]]\nname = "p"\nexec = "echo break"\nfinish = "echo finish"\n'
    plan = load(tmp_path, text)
    assert run(plan, {"payload": {"step": "p"}}).stdout == "break\n"
    assert run(plan, {"payload": {"step": "p"}, "children": {"total": 2, "open": 0}}).stdout == "finish\n"


@pytest.mark.parametrize(("said", "option"), [("yes\n", "yes"), ('{"option": "no"}', "no"), (" maybe ", "maybe")])
def test_a_choice_is_a_word_or_the_option_of_an_object(said: str, option: str) -> None:
    assert cast_ballot.choice_of(said) == option


@pytest.mark.parametrize("said", ["{", '{"option": 3}', "{}"])
def test_a_choice_that_is_neither_is_invalid(said: str) -> None:
    with pytest.raises(Invalid):
        cast_ballot.choice_of(said)


# --- the command


def test_a_dry_run_prints_the_tasks_and_starts_nothing(shell: Shell) -> None:
    (shell.folder / "work.toml").write_text(MAP_REDUCE)
    found = shell.json("run", "start", "work.toml", "--dry-run", exit=0)
    assert [task["id"] for task in found["tasks"]] == ["RUN/count/1", "RUN/count/2", "RUN/sum/1"]
    assert found["workers"] == [{"count": 2, "type": "worker", "can": [], "agent": ""}]
    said = shell.run("run", "start", "work.toml", "--dry-run").stdout
    assert "RUN/sum/1" in said
    assert shell.json("run", "list", exit=0)["runs"] == []


def test_a_name_that_is_no_file_starts_a_run_without_workers(shell: Shell) -> None:
    started = shell.json("run", "start", "spring cleaning", "--phase", "analysis", exit=0)["run"]
    assert (started["operation"], started["phase"], started["state"]) == ("spring cleaning", "analysis", "active")
    repeat = [shell.json("run", "start", "once", "--request-id", "r1", exit=0)["run"]["id"] for _ in range(2)]
    assert repeat[0] == repeat[1]
    for option in ("--detach", "--dry-run", "--keep-going", "--workers=2", "--resume=x", "--within=1s"):
        refused = shell.json("run", "start", "spring cleaning", option, exit=64)
        assert "is for a file" in refused["error"]["message"]


def test_a_file_that_is_wrong_starts_nothing(shell: Shell) -> None:
    (shell.folder / "work.toml").write_text(MAP_REDUCE + "colour = 1\n")
    refused = shell.json("run", "start", "work.toml", exit=64)["error"]
    assert "steps[2].colour" in refused["message"]
    assert shell.json("run", "start", "missing.toml", exit=64)["error"]["code"] == "invalid"
    (shell.folder / "work.toml").write_text(MAP_REDUCE)
    for words in (["--workers", "0"], ["--workers", "x"], ["--within", "x"], ["--id", "x"], ["--phase", "analysis"]):
        assert shell.json("run", "start", "work.toml", *words, exit=64)["error"]["code"] == "invalid"
    assert shell.json("run", "start", "work.toml", "--resume", "nothing", exit=1)["error"]["code"] == "not_found"
    assert shell.json("run", "list", exit=0)["runs"] == []
    assert shell.json("task", "list", exit=0)["tasks"] == []


# --- driving it


def drive(shell: Shell, text: str) -> run_driver.RunDriver:
    session = Session(str(shell.folder), None)
    return run_driver.RunDriver(session, "boss", load(shell.folder, text), run_screen.Screen())


LISTED = MAP_REDUCE.replace('items = ["a", "b"]', 'items_from = "*.txt"')


def interrupted(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> str:
    """A run of which only the first two tasks, of four, were added."""
    for name in "abc":
        (shell.folder / f"{name}.txt").touch()
    monkeypatch.setattr(batches, "MAX_TASKS", 2)
    first = drive(shell, LISTED)
    with monkeypatch.context() as patched:
        patched.setattr(first, "_add", lambda _: first._do("nothing"))
        with pytest.raises(KeyError):
            first.start()
    assert len(shell.json("task", "list", exit=0)["tasks"]) == 2
    return first.run


def test_a_run_that_was_interrupted_while_its_tasks_were_added_gets_the_rest_when_it_is_resumed(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = interrupted(shell, monkeypatch)
    for _ in range(2):
        assert drive(shell, LISTED).resume(run) == run
        ids = sorted(task["id"] for task in shell.json("task", "list", exit=0)["tasks"])
        assert ids == [f"{run}/count/{number}" for number in (1, 2, 3)] + [f"{run}/sum/1"]


def test_the_steps_are_shown_in_the_order_of_the_file(shell: Shell) -> None:
    one = drive(shell, MAP_REDUCE.replace("sum", "all"))  # before `count` by its letters
    run = one.start()
    assert list(one._outlook()["groups"]) == [f"{run}/count", f"{run}/all"]


def test_it_does_not_if_there_is_more_to_work_on_by_now(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    run = interrupted(shell, monkeypatch)
    (shell.folder / "d.txt").touch()
    with pytest.raises(Conflict, match="to have 4 tasks"):
        drive(shell, LISTED).resume(run)


def test_a_run_whose_later_tasks_cannot_be_added_is_ended(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "MAX_TASKS", 2)
    one = drive(shell, MAP_REDUCE.replace('["a", "b"]', f'["a", "b", "{"x" * 70_000}"]'))
    with pytest.raises(Invalid, match="payload"):
        one.start()
    assert [run["state"] for run in shell.json("run", "list", exit=0)["runs"]] == ["ended"]
    assert {task["state"] for task in shell.json("task", "list", exit=0)["tasks"]} == {"cancelled"}


def test_a_run_is_resumed_with_a_changed_file_but_not_with_another_one(shell: Shell) -> None:
    run = drive(shell, MAP_REDUCE).start()
    assert drive(shell, MAP_REDUCE.replace("wc -w", "wc -l")).resume(run) == run
    with pytest.raises(Invalid, match="has no step 'sum'"):
        drive(shell, MAP_REDUCE.replace('"sum"', '"total"')).resume(run)


def test_a_vote_does_not_push_an_elector_aside_who_is_at_work(shell: Shell) -> None:
    shell.json("boot", "--as", "bob", "--pid", str(os.getpid()), exit=0)
    (shell.folder / "vote.toml").write_text(VOTE)
    refused = shell.json("run", "start", "vote.toml", exit=1)["error"]
    assert (refused["code"], refused["agent"], refused["pid"]) == ("conflict", "bob", os.getpid())
    assert shell.json("run", "list", exit=0)["runs"] == []
    assert shell.json("vote", "list", exit=0)["votes"] == []


@pytest.mark.parametrize(
    ("pattern", "states", "poll", "complete"),
    [
        ("pipeline", {"complete": 3}, None, True),
        ("pipeline", {"complete": 3, "cancelled": 1}, None, True),
        ("pipeline", {"complete": 3, "failed": 1}, None, False),
        ("pipeline", {"complete": 3, "planned": 1}, None, False),
        ("pipeline", {"cancelled": 3}, None, False),
        ("scatter_gather", {"complete": 1, "failed": 1, "cancelled": 1}, None, True),
        ("scatter_gather", {"failed": 2}, None, False),
        ("vote", {"complete": 3}, "decided", True),
        ("vote", {"complete": 3}, "undecided", False),
        ("vote", {"complete": 1, "failed": 2}, "decided", True),
    ],
)
def test_a_run_is_complete_when_its_pattern_came_to_its_end(
    pattern: str, states: dict[str, int], poll: VoteState | None, complete: bool
) -> None:
    failed: FailedTask = {"id": "x", "state": "failed", "race": "", "why": ""}
    outlook: BatchOutlookAnswer = {
        "states": states, "failed": [failed] * states.get("failed", 0), "stuck": states.get("planned", 0), "going": 0,
        "total": sum(states.values()), "groups": {}, "progress": 0,
    }  # fmt: skip
    assert run_driver.complete(pattern, outlook, poll) is complete


def test_a_ballot_counts_comes_late_or_is_refused_for_good(shell: Shell) -> None:
    shell.json("vote", "open", "ship?", "--id", "v", "--electorate", "ann,bob,cid", "--as", "boss", exit=0)
    caster = [sys.executable, "-P", "-m", "dibs.workers.cast_ballot"]

    def cast(agent: str, *words: str) -> subprocess.CompletedProcess[str]:
        environment = {**shell.environment, "DIBS_AGENT": agent, "DIBS_WORKSPACE": str(shell.folder)}
        return subprocess.run(
            [*caster, *words], env=environment, capture_output=True, text=True, check=False, timeout=60
        )

    assert cast("ann", "v", "perhaps").returncode == run_file.REFUSED
    assert cast("dan", "v", "yes").returncode == run_file.REFUSED
    assert cast("ann", "nothing", "yes").returncode == run_file.REFUSED
    for elector in ("ann", "bob"):
        done = cast(elector, "v", '{"option": "yes"}')
        assert json.loads(done.stdout)["late"] is False, done.stderr
    late = json.loads(cast("cid", "v", "no").stdout)
    assert (late["late"], late["vote"]) == (True, "decided")
