"""`task done --verify CMD`: a command decides whether a task may be finished, with real processes."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING, Any

import pytest

import dibs
from dibs.errors import Unverified
from tests.interfaces.worker_processes import Place, alive, number_in, place
from tests.waiting import until

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["place"]  # a fixture

SHORT = '[[claims.patterns]]\nmatch = "task:*"\nttl = "4s"\n'  # a claim on a task whose deadline a test can wait for
HANGS = "echo $$ > pid; exec sleep 600"


def taken(place: Place, *words: str) -> int:
    """A task that ann has; its token."""
    place.add("t", *words)
    token: int = place.json("task", "claim", "t", "--as", "ann", exit=0)["token"]
    return token


def done(place: Place, command: str, *words: str, exit: int) -> dict[str, Any]:
    """Ann finishes it if the command says yes."""
    return place.json("task", "done", "t", "--verify", command, "--as", "ann", *words, exit=exit)


def test_a_task_is_finished_when_the_command_succeeds_and_keeps_what_proves_it(place: Place) -> None:
    taken(place)
    answer = done(place, "pwd; echo fine >&2", exit=0)
    assert answer["task"]["state"] == "complete"
    proof = place.task("t")["verified"]
    assert proof["command"] == "pwd; echo fine >&2"
    assert proof["exit"] == 0
    assert proof["output"] == f"{place.folder}\nfine"
    assert 0 <= proof["seconds"] < 60
    moved = place.json("log", "--kind", "task.moved", exit=0)["events"][-1]["data"]
    assert moved["verified"]["command"] == proof["command"]
    place.clean()


def test_a_task_stays_with_its_holder_when_the_command_fails(place: Place) -> None:
    token = taken(place)
    error = done(place, "echo three tests failed; exit 3", exit=1)["error"]
    assert error["code"] == "unverified"
    assert (error["exit"], error["output"]) == (3, "three tests failed")
    task = place.task("t")
    assert (task["state"], task["agent"], task["token"]) == ("executing", "ann", token)
    assert "verified" not in task
    refused = place.json("log", "--kind", "call.refused", exit=0)["events"][-1]["data"]
    assert (refused["code"], refused["exit"]) == ("unverified", 3)
    said = place.run("task", "done", "t", "--verify", "echo three tests failed; false", "--as", "ann").stderr
    assert "three tests failed" in said
    done(place, "true", exit=0)
    place.clean()


def test_the_command_does_not_run_for_one_that_could_not_finish_the_task(place: Place) -> None:
    taken(place, "--require", "sha")
    ran = place.folder / "ran"
    place.json("task", "done", "t", "--verify", "touch ran", "--as", "bob", exit=1)
    done(place, "touch ran", "--result", "{}", exit=64)
    assert not ran.exists()
    done(place, "touch ran", "--result", '{"sha": "1"}', exit=0)
    assert ran.exists()


@pytest.mark.slow
def test_the_tasks_claim_is_renewed_while_the_command_runs(place: Place) -> None:
    place.configure(SHORT)
    token = taken(place)
    assert done(place, "sleep 5", exit=0)["task"]["state"] == "complete"
    assert place.json("log", "--kind", "claim.renewed", exit=0)["events"]
    assert place.task("t")["attempt"] == 1
    assert token


def test_a_task_that_is_called_off_ends_the_command(place: Place) -> None:
    taken(place)
    running = place.start("task", "done", "t", "--verify", HANGS, "--as", "ann", "--json")
    pid = until(lambda: number_in(place.folder / "pid"))
    place.json("task", "cancel", "t", "--as", "boss", exit=0)
    assert running.end() == 1
    assert '"fenced"' in "".join(running.out)
    until(lambda: not alive(pid), "the command's end")


def test_an_interrupt_ends_the_command_and_leaves_the_task_as_it_was(place: Place) -> None:
    token = taken(place)
    running = place.start("task", "done", "t", "--verify", HANGS, "--as", "ann")
    pid = until(lambda: number_in(place.folder / "pid"))
    running.signal(signal.SIGINT)
    assert running.end() == 130
    assert not alive(pid)
    task = place.task("t")
    assert (task["state"], task["token"]) == ("executing", token)
    done(place, "true", exit=0)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_the_command_dies_with_its_caller(place: Place, number: int) -> None:
    taken(place)
    running = place.start("task", "done", "t", "--verify", HANGS, "--as", "ann")
    pid = until(lambda: number_in(place.folder / "pid"))
    running.signal(number)
    assert running.end() == (143 if number == signal.SIGTERM else -number)
    until(lambda: not alive(pid), "the command's end")
    assert place.state("t") == "executing"


def test_a_retry_with_the_same_request_id_runs_nothing_again(place: Place) -> None:
    taken(place)
    first = done(place, "echo x >> ran", "--request-id", "r1", exit=0)
    again = done(place, "echo x >> ran", "--request-id", "r1", exit=0)
    assert first == again
    assert (place.folder / "ran").read_text() == "x\n"


def test_python_may_ask_for_it_too(place: Place) -> None:
    place.add("t")
    with dibs.open(str(place.folder), agent="py") as ws:
        ws.task_claim("t")
        with pytest.raises(Unverified, match="exit code 1") as refused:
            ws.task_done("t", verify="false")
        assert refused.value.exit == 1
        assert ws.task_done("t", verify="true", result={"n": 1})["verified"]["exit"] == 0


def test_what_a_command_wrote_is_cut_and_cleaned(place: Place) -> None:
    taken(place)
    done(place, r"printf '\033[31m\032\000%5000d end' 0", exit=0)
    output = place.task("t")["verified"]["output"]
    assert len(output) <= 2_000
    assert output.endswith(" end")


def test_no_descriptor_and_no_process_is_left_of_a_verification(place: Place) -> None:
    def children() -> set[str]:
        tasks = [f"/proc/self/task/{one}/children" for one in os.listdir("/proc/self/task")]
        return {pid for path in tasks for pid in _read(path).split()}

    place.add("t")
    with dibs.open(str(place.folder), agent="py") as ws:
        ws.task_claim("t")
        files, before = set(os.listdir("/proc/self/fd")), children()
        with pytest.raises(Unverified):
            ws.task_done("t", verify="false")
        assert set(os.listdir("/proc/self/fd")) <= files
        assert children() <= before


def _read(path: str | Path) -> str:
    with open(path) as file:
        return file.read()
