"""Tasks as people and agents type them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import dibs
from dibs.errors import Conflict, Fenced, NotFound, Quota
from tests.waiting import LIMIT_S, until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.scratch import Shell

DIBS = str(Path(sys.executable).parent / "dibs")


def add(shell: Shell, title: str, *words: str) -> dict[str, Any]:
    """Add a task as `boss`."""
    task: dict[str, Any] = shell.json("task", "add", title, *words, "--as", "boss", exit=0)["task"]
    return task


def tasks(shell: Shell) -> list[tuple[str, ...]]:
    """All tasks, without their times, which are the store's clock beside a wall clock read anew each time."""
    return [(task["id"], task["title"], task["state"]) for task in shell.json("task", "list", exit=0)["tasks"]]


def test_a_task_goes_from_its_adding_to_its_result(shell: Shell) -> None:
    add(shell, "write the parser", "--id", "parser", "--priority", "-5", "--payload", '{"file": "p.py"}')
    taken = shell.json("task", "next", "--as", "ann", exit=0)
    assert taken["task"]["id"] == "parser"
    assert taken["task"]["payload"] == {"file": "p.py"}
    assert [task["id"] for task in shell.json("status", exit=0)["tasks"]] == ["parser"]
    shell.json("task", "note", "parser", "half of it stands", "--as", "ann", exit=0)
    done = shell.json(
        "task", "done", "parser", "--token", str(taken["token"]), "--result", '{"lines": 12}', "--as", "ann", exit=0
    )
    assert done["task"]["state"] == "complete"
    shown = shell.json("task", "show", "parser", exit=0)["task"]
    assert shown["result"] == {"lines": 12}
    assert shown["notes"][0]["text"] == "half of it stands"
    assert shell.json("task", "list", "--state", "complete", exit=0)["tasks"][0]["id"] == "parser"
    assert shell.json("verify", exit=0)["ok"]


def test_nothing_ready_is_a_no_with_a_reason(shell: Shell) -> None:
    assert shell.json("task", "next", "--as", "ann", exit=1)["error"]["code"] == "not_found"
    add(shell, "for a tester", "--for", "tester")
    refused = shell.json("task", "next", "--as", "ann", exit=1)["error"]
    assert refused["code"] == "not_found"
    assert "tester" in refused["message"]
    shell.json("boot", "--type", "tester", "--as", "ann", exit=0)
    shell.json("task", "next", "--as", "ann", exit=0)


@pytest.mark.parametrize(
    ("words", "code", "exit"),
    [
        (["task", "add", ""], "invalid", 64),
        (["task", "add", "x", "--state", "nowhere"], "invalid", 64),
        (["task", "add", "x", "--state", "complete"], "invalid", 64),
        (["task", "add", "x", "--id", "a b"], "invalid", 64),
        (["task", "add", "x", "--id", "me", "--after", "me"], "invalid", 64),
        (["task", "add", "x", "--after", "nothing"], "not_found", 1),
        (["task", "add", "x", "--parent", "nothing"], "not_found", 1),
        (["task", "add", "x", "--payload", "{broken"], "invalid", 64),
        (["task", "add", "x", "--payload", '{"a": 1, "a": 2}'], "invalid", 64),
        (["task", "add", "x", "--payload", "NaN"], "invalid", 64),
        (["task", "add", "x", "--payload", "[" * 100_000], "invalid", 64),
        (["task", "add", "x", "--payload", "@missing.json"], "invalid", 64),
        (["task", "add", "x", "--payload", '"' + "x" * 70_000 + '"'], "invalid", 64),
        (["task", "add", "x", "--payload", '"\\u001a"'], "invalid", 64),
        (["task", "add", "x", "--priority", "high"], "invalid", 64),
        (["task", "add", "x", "--priority", "1000001"], "invalid", 64),
        (["task", "add", "x", "--needs", "two words"], "invalid", 64),
        (["task", "move", "there", "nowhere"], "invalid", 64),
        (["task", "move", "there", "complete"], "invalid", 64),
        (["task", "move", "there", "discovery"], "conflict", 1),
        (["task", "move", "nothing", "scoped"], "not_found", 1),
        (["task", "done", "there", "--token", "7"], "fenced", 1),
        (["task", "done", "nothing", "--token", "7"], "not_found", 1),
        (["task", "done", "there"], "fenced", 1),  # without a token: one's own, and there is none
        (["task", "fail", "there", "--token", "7", "--class", "sad", "--why", "x"], "invalid", 64),
        (["task", "show", "nothing"], "not_found", 1),
        (["task", "cancel", "nothing"], "not_found", 1),
        (["task", "note", "there", ""], "invalid", 64),
        (["task", "nxt"], "invalid", 64),
        (["task"], "invalid", 64),
    ],
)
def test_bad_input_gets_a_typed_error_and_changes_nothing(shell: Shell, words: list[str], code: str, exit: int) -> None:
    add(shell, "it is there", "--id", "there")
    before = tasks(shell)
    error = shell.json(*words, "--as", "ann", exit=exit)["error"]
    assert error["code"] == code
    assert tasks(shell) == before


def test_a_mistyped_second_word_gets_a_suggestion(shell: Shell) -> None:
    assert "did you mean `dibs task next`" in shell.run("task", "nxt").stderr
    assert "dibs task add" in shell.run("help", "task").stdout
    assert shell.run("task", "--help").stdout == shell.run("help", "task").stdout


def test_a_result_may_come_from_a_file(shell: Shell) -> None:
    for name, content in (
        ("one", b'{"ok": true}'),
        ("two", b"\x00\xff not json"),
        ("three", b'"' + b"x" * 100_000 + b'"'),
    ):
        add(shell, name, "--id", name)
        (shell.folder / f"{name}.out").write_bytes(content)
        taken = shell.json("task", "claim", name, "--as", "ann", exit=0)
        shell.json(
            "task", "done", name, "--token", str(taken["token"]), "--result", f"@{name}.out", "--as", "ann", exit=0
        )
    assert shell.json("task", "show", "one", exit=0)["task"]["result"] == {"ok": True}
    for name in ("two", "three"):
        result = shell.json("task", "show", name, exit=0)["task"]["result"]
        kept = shell.folder / ".dibs" / "local" / result["kept"]
        assert kept.read_bytes() == (shell.folder / f"{name}.out").read_bytes()
        assert result["size"] == kept.stat().st_size


def test_what_is_shown_to_people_escapes_what_agents_wrote(shell: Shell) -> None:
    add(shell, "evil", "--id", "evil", "--payload", '"\\u001b[2J"')
    for words in (["task", "show", "evil"], ["task", "next", "--as", "ann"]):
        assert "\x1b" not in shell.run(*words).stdout


def test_the_briefing_has_the_task_and_its_last_note(shell: Shell) -> None:
    add(shell, "write the parser", "--id", "parser")
    taken = shell.json("task", "claim", "parser", "--as", "ann", exit=0)
    shell.json("task", "note", "parser", "first\nsecond line", "--as", "ann", exit=0)
    task = shell.json("boot", "--as", "ann", exit=0)["task"]
    assert task["id"] == "parser"
    assert task["token"] == taken["token"]
    assert task["title"] == "write the parser"
    assert task["note"] == "first\nsecond line"
    said = shell.run("boot", "--as", "ann").stdout
    assert "> write the parser" in said
    assert "> second line" in said


@pytest.fixture
def waiting(shell: Shell) -> Iterator[subprocess.Popen[str]]:
    """A process that waits for a task."""
    words = [DIBS, "task", "next", "--wait", "60s", "--as", "ann", "--json"]
    process = subprocess.Popen(words, cwd=shell.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    yield process
    process.kill()
    process.communicate()


def waiters(folder: Path) -> int:
    """How many wait for work."""
    with dibs.open(str(folder)) as ws:
        return ws.store.look(lambda tx: len(tx.fetch([("tw\t", "tw\n")]).rows))


def test_one_who_waits_is_woken_by_a_new_task(shell: Shell, waiting: subprocess.Popen[str]) -> None:
    until(lambda: waiters(shell.folder) == 1)
    add(shell, "here it is", "--id", "new")
    out, _ = waiting.communicate(timeout=LIMIT_S)
    assert json.loads(out)["task"]["id"] == "new"
    assert waiting.returncode == 0
    assert waiters(shell.folder) == 0


def test_ctrl_c_while_waiting_leaves_nothing_behind(shell: Shell, waiting: subprocess.Popen[str]) -> None:
    until(lambda: waiters(shell.folder) == 1)
    waiting.send_signal(signal.SIGINT)
    _, said = waiting.communicate(timeout=LIMIT_S)
    assert waiting.returncode == 130
    assert "Traceback" not in said
    add(shell, "still to be had", "--id", "free")
    assert shell.json("task", "next", "--as", "bob", exit=0)["task"]["id"] == "free"


def test_a_task_whose_process_was_killed_comes_back_by_itself(shell: Shell) -> None:
    add(shell, "survive", "--id", "survive")
    script = (
        "import dibs, os, sys, time\n"
        "ws = dibs.open(agent='doomed')\n"
        "ws.task_next()\n"
        "print('taken', flush=True)\n"
        "time.sleep(600)\n"
    )
    doomed = subprocess.Popen([sys.executable, "-c", script], cwd=shell.folder, stdout=subprocess.PIPE, text=True)
    assert doomed.stdout is not None
    assert doomed.stdout.readline() == "taken\n"
    assert shell.json("task", "next", "--as", "bob", exit=1)["error"]["code"] == "not_found"
    os.kill(doomed.pid, signal.SIGKILL)
    doomed.wait()
    doomed.stdout.close()
    again = shell.json("task", "next", "--wait", "60s", "--as", "bob", exit=0)
    assert again["task"]["id"] == "survive"
    assert again["task"]["error"]["class"] == "lost"


def test_the_python_methods_take_words_of_python_with_an_underscore(shell: Shell) -> None:
    with dibs.open(str(shell.folder), agent="ann") as ws:
        ws.boot(type="tester", can=["browser"])
        ws.task_add("click through", id="click", for_="tester", needs=["browser"], payload={"deep": [1, None, "x"]})
        taken = ws.task_next()
        assert taken["task"]["payload"] == {"deep": [1, None, "x"]}
        with pytest.raises(Quota) as refused:
            ws.task_next()
        assert refused.value.tasks == [{"id": "click", "token": taken["token"]}]
        ws.task_fail("click", token=taken["token"], class_="permanent", why="no such page")
        with pytest.raises(Fenced):
            ws.task_done("click", token=taken["token"])
        with pytest.raises(Conflict):
            ws.task_claim("click")
        with pytest.raises(NotFound):
            ws.task_next(wait=0.2)


def test_a_worker_that_takes_the_next_with_its_finish_needs_one_commit_a_task(shell: Shell) -> None:
    with dibs.open(str(shell.folder), agent="ann") as ws:
        for number in range(3):
            ws.task_add(f"number {number}", id=f"n{number}")
        task: Any = ws.task_next()
        before = ws.store.head().commit
        seen = []
        while task:
            seen.append(task["task"]["id"])
            task = ws.task_done(task["task"]["id"], token=task["token"], next=True)["next"]
        assert seen == ["n0", "n1", "n2"]
        assert ws.store.head().commit == before + 3


def test_a_task_that_somebody_has_is_waited_for_and_finished_without_naming_the_token(shell: Shell) -> None:
    shell.json("task", "add", "T", "--id", "T", exit=0)
    shell.json("task", "claim", "T", "--as", "ann", exit=0)
    waiting = subprocess.Popen(
        [DIBS, "task", "claim", "T", "--wait", "30s", "--as", "bob", "--json"], cwd=shell.folder, stdout=subprocess.PIPE
    )
    try:
        until(lambda: "bob" in [one["agent"] for one in shell.json("agents", exit=0)["agents"]], "bob's call")
        assert waiting.poll() is None
        shell.json("task", "release", "T", "--as", "ann", exit=0)
        assert waiting.wait(LIMIT_S) == 0
    finally:
        waiting.kill()
        waiting.communicate()
    assert shell.json("task", "done", "T", "--as", "ann", exit=1)["error"]["code"] == "fenced"
    assert shell.json("task", "done", "T", "--as", "bob", exit=0)["task"]["state"] == "complete"


def test_a_worker_cannot_do_what_is_an_orchestrators_and_is_told_who_can(shell: Shell) -> None:
    config = shell.folder / ".dibs" / "config.toml"
    config.write_text(config.read_text() + '\n[roles]\ndefault = "worker"\n[roles.assign]\n"lead" = "orchestrator"\n')
    shell.json("boot", "--as", "lead", exit=0)
    shell.json("task", "add", "T", "--id", "T", "--as", "lead", exit=0)
    for words in (["kill", "lead", "--why", "w"], ["task", "cancel", "T"], ["prune"], ["claim", "deploy:prod"]):
        refused = shell.json(*words, "--as", "w1", exit=1)["error"]
        assert refused["code"] == "forbidden"
        assert "a person at a terminal" in refused["message"]
    assert shell.json("task", "cancel", "T", exit=0)["task"]["state"] == "cancelled", "a person may"
    assert [event["data"]["code"] for event in shell.json("log", "--kind", "call.refused", exit=0)["events"]] == [
        "forbidden"
    ] * 4


def test_a_task_is_shown_to_people_in_words(shell: Shell) -> None:
    shell.json("boot", "--type", "w", "--as", "ann", exit=0)
    add(shell, "build it", "--id", "b", "--for", "w")
    shell.json("task", "assign", "b", "--as", "boss", exit=0)
    assert "assigned     to ann, 2m left to take it (priority)" in shell.run("task", "show", "b").stdout
    shell.json("task", "claim", "b", "--as", "ann", exit=0)
    shell.json("task", "note", "b", "half done", "--as", "ann", exit=0)
    shell.json("task", "split", "b", "--children", '[{"title": "x", "id": "x"}]', "--as", "ann", exit=0)
    shown = shell.run("task", "show", "b").stdout
    assert "children     1, 1 open, 0 % done: x\n" in shown
    assert shown.count("half done") == 1
    assert "note by" not in shown
    shell.json("task", "claim", "x", "--as", "ann", exit=0)
    shell.json("task", "done", "x", "--verify", "true", "--as", "ann", exit=0)
    assert "verified     by `true` in " in shell.run("task", "show", "x").stdout
    for one in ("b", "x"):
        assert "{" not in shell.run("task", "show", one).stdout
