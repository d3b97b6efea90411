"""Runs at the command line and from Python: real processes, real files, real archives."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest

import dibs
from dibs.machine.usage import Meter
from tests.scratch import DIBS, Shell


def start(shell: Shell, run: str = "r1", **more: Any) -> None:
    shell.json("run", "start", "fix tests", "--id", run, "--as", "boss", exit=0, **more)


def work(shell: Shell, task: str, run: str = "r1", result: str = '{"x": 1}') -> None:
    """Add, take and finish one task."""
    shell.json("task", "add", f"do {task}", "--id", task, "--run", run, "--as", "boss", exit=0)
    token = shell.json("task", "claim", task, "--as", "w1", exit=0)["token"]
    shell.json("task", "done", task, "--token", str(token), "--result", result, "--as", "w1", exit=0)


def members(path: str) -> dict[str, bytes]:
    with tarfile.open(path) as tar:
        found = {}
        for info in tar:
            content = tar.extractfile(info)
            assert content is not None
            found[info.name] = content.read()
        return found


def test_a_run_from_start_to_purge(shell: Shell) -> None:
    start(shell)
    shell.json("run", "join", "--as", "w1", "--type", "fixer", "--can", "a,b", exit=0)
    work(shell, "t1")
    shell.json("run", "phase", "execution", "--as", "boss", exit=0)
    assert shell.json("run", "progress", exit=0)["run"]["progress"] == 100
    ended = shell.json("run", "end", "--archive", "--as", "boss", exit=0)
    assert ended["failed"] == 0, ended["gates"]
    assert {gate["at"] for gate in ended["gates"]} == {"cleanup"}
    assert shell.json("run", "gates", exit=0)["failed"] == 0
    shell.json("run", "purge", "r1", exit=0)
    assert shell.json("run", "list", exit=0)["runs"] == []
    assert shell.json("task", "list", exit=0)["tasks"] == []
    assert Path(ended["archive"]).is_file()
    shell.json("verify", exit=0)


def test_every_command_of_runs_has_words_for_people(shell: Shell) -> None:
    said = shell.run("run", "start", "fix tests", "--id", "r1", "--as", "boss").stdout
    assert "export DIBS_RUN=r1" in said
    work(shell, "t1")
    for words, expected in (
        (("join", "--as", "w1"), "w1 takes part in run r1"),
        (("phase", "execution", "--as", "boss"), "is in phase execution"),
        (("warn", "hm", "--as", "w1"), "note 1: hm"),
        (("error", "boom", "--as", "w1"), "note 2: boom"),
        (("progress",), "error 2: boom"),
        (("show",), "FINISHED"),
        (("list",), "COORDINATOR"),
        (("gates",), "1 of 10 gates failed"),
        (("handled", "2", "restarted", "--as", "w1"), "handled: restarted"),
        (("gates",), "0 of 10 gates failed"),
        (("report",), "# fix tests"),
        (("end", "--as", "boss"), "gate failed: the run is archived"),
        (("end", "--run", "r1", "--archive", "--as", "boss"), "had ended already"),
        (("purge", "r1"), "was purged"),
        (("list",), "no runs"),
    ):
        done = shell.run("run", *words)
        assert expected in done.stdout, (words, done.stdout, done.stderr)


def test_gates_exit_with_1_if_one_fails(shell: Shell) -> None:
    start(shell)
    found = shell.json("run", "gates", exit=1)
    assert [gate["name"] for gate in found["gates"] if not gate["passed"]] == ["agents are registered"]
    shell.json("run", "join", "--as", "w1", exit=0)
    shell.json("run", "gates", exit=0)


def test_an_end_with_open_tasks_is_refused_and_makes_no_archive(shell: Shell) -> None:
    start(shell)
    shell.json("task", "add", "x", "--run", "r1", "--as", "boss", exit=0)
    refused = shell.json("run", "end", "--archive", "--as", "boss", exit=1)
    assert refused["error"]["code"] == "conflict"
    assert not (shell.folder / ".dibs/local/runs").exists()
    assert shell.json("run", "end", "--archive", "--force", "--as", "boss", exit=0)["cancelled"]


def test_the_environment_names_the_run(shell: Shell) -> None:
    start(shell)
    start(shell, "r2")
    assert "r1, r2" in shell.json("run", "progress", exit=64)["error"]["message"]
    assert shell.json("run", "progress", DIBS_RUN="r2", exit=0)["run"]["id"] == "r2"
    assert shell.json("run", "report", DIBS_RUN="r2", exit=0)["run"]["id"] == "r2"
    assert shell.json("run", "end", "--as", "boss", DIBS_RUN="r2", exit=0)["run"]["id"] == "r2"
    assert shell.json("run", "progress", "--run", "r1", DIBS_RUN="r2", exit=0)["run"]["id"] == "r1"


def test_words_that_make_no_sense_are_refused(shell: Shell) -> None:
    start(shell)
    for words in (
        ("phase", "lunch"), ("phase",), ("start",), ("report", "--format", "pdf"), ("gates", "--at", "noon"),
        ("end", "--keep", "soon"), ("purge",), ("start", "x", "--id", "../x"), ("handled", "x", "y"),
        ("start", "x", "--tasks", "{}"), ("start", "x", "--tasks", "[1]"),
    ):  # fmt: skip
        shell.json("run", *words, "--as", "boss", exit=64)
    assert [run["id"] for run in shell.json("run", "list", exit=0)["runs"]] == ["r1"]


# --- the archive


def test_an_archive_holds_the_run_its_reports_tasks_events_and_files(shell: Shell) -> None:
    start(shell)
    work(shell, "t1", result='{"answer": 42}')
    (shell.folder / "big.bin").write_bytes(b"\x00\xff" * 100)
    work(shell, "t2", result="@big.bin")
    ended = shell.json("run", "end", "--archive", "--as", "boss", exit=0)
    assert Path(ended["archive"]).resolve() == (shell.folder / ".dibs/local/runs/r1.tar.gz").resolve()
    assert os.stat(ended["archive"]).st_mode & 0o077 == 0
    found = members(ended["archive"])
    tasks = {task["task"]: task for task in map(json.loads, found["r1/tasks.jsonl"].splitlines())}
    assert tasks["t1"]["result"] == {"answer": 42}
    digest = tasks["t2"]["result"]["sha256"]
    assert found[f"r1/results/{digest}"] == b"\x00\xff" * 100
    kinds = [json.loads(line)["kind"] for line in found["r1/events.jsonl"].splitlines()]
    assert kinds[0] in {"agent.registered", "run.started"}
    assert kinds[-1] == "run.ended"
    report = json.loads(found["r1/report.json"])
    assert report["summary"]["complete"] == 2
    assert all(gate["passed"] for gate in report["gates"]), report["gates"]
    assert json.loads(found["r1/run.json"])["run"] == "r1"
    assert b"<h1>fix tests</h1>" in found["r1/report.html"]
    assert found["r1/report.md"].startswith(b"# fix tests\n")
    assert set(os.listdir(shell.folder / ".dibs/local/runs")) == {"r1.tar.gz"}


def test_archiving_again_gives_the_same_bytes(shell: Shell) -> None:
    start(shell)
    work(shell, "t1")
    path = Path(shell.json("run", "end", "--archive", "--as", "boss", exit=0)["archive"])
    first = path.read_bytes()
    path.unlink()
    assert "the run is archived" in json.dumps(shell.json("run", "gates", exit=1)["gates"])
    shell.json("run", "end", "--run", "r1", "--archive", "--as", "boss", exit=0)
    assert path.read_bytes() == first
    shell.json("run", "gates", exit=0)


def test_an_archive_that_cannot_be_written_leaves_an_ended_run_and_no_half_file(shell: Shell) -> None:
    start(shell)
    (shell.folder / ".dibs/local/runs").write_text("in the way")
    refused = shell.json("run", "end", "--archive", "--as", "boss", exit=2)
    assert "--run r1 --archive" in refused["error"]["message"]
    (shell.folder / ".dibs/local/runs").unlink()
    assert shell.json("run", "end", "--run", "r1", "--archive", "--as", "boss", exit=0)["failed"] == 0


def test_a_result_file_that_is_gone_fails_its_gate(shell: Shell) -> None:
    start(shell)
    (shell.folder / "big.bin").write_bytes(b"\xff" * 10)
    work(shell, "t1", result="@big.bin")
    for file in (shell.folder / ".dibs/local/results").iterdir():
        file.unlink()
    ended = shell.json("run", "end", "--archive", "--as", "boss", exit=0)
    assert [gate["name"] for gate in ended["gates"] if not gate["passed"]] == ["results are there"]


def test_a_run_ended_by_a_process_that_is_killed_has_ended_or_not_and_its_archive_is_whole_or_absent(
    shell: Shell,
) -> None:
    start(shell)
    for number in range(3):
        work(shell, f"t{number}")
    process = subprocess.Popen(
        [DIBS, "run", "end", "--archive", "--as", "boss"], cwd=shell.folder, stdout=subprocess.PIPE, text=True
    )
    database = shell.folder / ".dibs/local/runs"
    while process.poll() is None and not database.exists():  # it has ended the run and begins to write
        pass
    process.send_signal(signal.SIGKILL)
    process.communicate()
    archive = database / "r1.tar.gz"
    if archive.exists():
        assert "r1/events.jsonl" in members(str(archive))
    again = shell.json("run", "end", "--run", "r1", "--archive", "--as", "boss", exit=0)
    assert again["failed"] == 0
    assert "r1/events.jsonl" in members(again["archive"])
    shell.json("verify", exit=0)


def test_files_that_nothing_names_any_more_go_at_the_end_of_a_run(shell: Shell) -> None:
    start(shell)
    results = shell.folder / ".dibs/local/results"
    (shell.folder / "big.bin").write_bytes(b"\xff" * 10)
    work(shell, "t1", result="@big.bin")
    (shell.folder / "kept.bin").write_bytes(b"\xfe" * 10)
    shell.json("state", "set", "doc", "@kept.bin", "--as", "w1", exit=0)
    named = set(os.listdir(results))
    stray, fresh, other = results / ("ab" * 32), results / ("cd" * 32), results / "notes.txt"
    for file in (stray, fresh, other):
        file.write_text("x")
    for file in results.iterdir():
        if file != fresh:
            os.utime(file, (1, 1))
    shell.json("run", "end", "--as", "boss", exit=0)
    assert set(os.listdir(results)) == {*named, fresh.name, other.name}


# --- Python


@pytest.fixture
def ws(shell: Shell) -> Any:
    with dibs.open(str(shell.folder), agent="boss") as opened:
        yield opened


def test_the_same_from_python(ws: Any) -> None:
    answer = ws.run_start(
        "sum up", id="r1", tasks=[{"title": "b", "id": "b", "after": ["a"]}, {"title": "a", "id": "a"}]
    )
    assert sorted(answer["tasks"]) == ["a", "b"]
    ws.run_join(type="adder", can=["add"])
    for name in ("a", "b"):
        taken = ws.task_next(run="r1")
        assert taken["task"]["id"] == name
        ws.task_done(name, token=taken["token"], result={"sum": 1})
    ws.run_phase("validation")
    ws.run_warn("nothing")
    assert ws.run_progress()["run"]["progress"] == 100
    assert ws.run_gates()["failed"] == 0
    report = ws.run_report()
    assert report["summary"]["complete"] == 2
    assert report["by_agent"]["boss"]["pid"] == os.getpid()
    assert ws.run_report(format="md")["text"].startswith("# sum up")
    file = ws.run_report(format="html", out="r.html")["file"]
    assert "<svg" in Path(file).read_text(encoding="utf-8")
    with pytest.raises(dibs.Invalid):
        ws.run_report(format="pdf")
    ended = ws.run_end(archive=True)
    assert ended["failed"] == 0
    assert "r1/report.json" in members(ended["archive"])
    assert ws.run_purge("r1")["more"] is False


def test_a_start_with_a_bad_task_from_python_starts_nothing(ws: Any) -> None:
    with pytest.raises(dibs.Invalid):
        ws.run_start("x", tasks=[{"title": "ok"}, {"title": 5}])
    assert ws.run_list()["runs"] == []


def test_an_end_repeated_with_its_request_id_gives_the_same_answer(ws: Any) -> None:
    ws.run_start("x", id="r1")
    first = ws.run_end(run="r1", archive=True, request_id="q")
    again = ws.run_end(run="r1", archive=True, request_id="q")
    assert again["existing"] is first["existing"] is False
    assert again["run"]["archive"] == first["run"]["archive"]


# --- usage


def test_usage_of_this_process_and_those_below_it_is_measured() -> None:
    alone = Meter()
    assert alone.read()["cpu"] == 0
    child = subprocess.Popen(
        [sys.executable, "-c", "import sys; sys.stdout.write('x'); sys.stdout.flush(); sys.stdin.read()"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    try:
        assert child.stdout is not None
        child.stdout.read(1)
        below = Meter([child.pid]).read()
        both = alone.read()
        assert 0 < below["memory"] < both["memory"]
        assert both["threads"] >= 2
        assert both["cpu"] >= 0
    finally:
        child.communicate()
    assert Meter([child.pid]).read() == {"cpu": 0, "memory": 0, "threads": 0}


def test_busy_time_is_seen_at_the_second_look() -> None:
    meter = Meter()
    meter.read()
    used = 0.0
    while not used:
        io.BytesIO(b"x" * 10_000_000).getvalue().count(b"y")
        used = float(meter.read()["cpu"])
    assert used > 0


def test_a_run_from_a_file_prints_its_result(shell: Shell) -> None:
    file = shell.folder / "count.toml"
    file.write_text(
        'name = "count"\npattern = "map_reduce"\nworkers = 2\nitems = ["a", "b"]\n'
        '[[steps]]\nname = "one"\nexec = "echo 1"\n[[steps]]\nname = "sum"\nexec = "echo 42"\n'
    )
    done = shell.run("run", "start", "count.toml")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    at = next(place for place, line in enumerate(lines) if line.endswith(" is complete"))
    assert lines[at + 1] == "result: 42"
    for line in lines[at + 2 :]:
        assert (shell.folder / line.partition(": ")[2]).is_file(), "paths are told from here"
