"""A process that is killed in the middle of a long job: whoever comes next goes on, and nothing is done twice."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from dibs.operations.tasks import batches
from tests.faults.kit import PATIENCE, World, size

if TYPE_CHECKING:
    from typing import Any

pytestmark = pytest.mark.slow

TASKS, STEP = size(100, 6_000), size(20, 500)  # no fewer than SMALLEST: a door makes its steps smaller, down to that

# Runs one call and dies by SIGKILL after the second of its steps, between two transactions or inside the third.
CALLER = """
import os, signal, sys
import dibs
from dibs.operations.core import long_jobs
from dibs.client import job_loop as steps
long_jobs.RECORDS_PER_STEP = steps.RECORDS_PER_STEP = {step}
left = [2]
def die(*_):
    left[0] -= 1
    if not left[0]:
        os.kill(os.getpid(), signal.SIGKILL)
if {inside!r}:
    real = long_jobs._put
    long_jobs._put = lambda tx, job: (real(tx, job), die())
else:
    steps.clock.sleep = die
ws = dibs.open({folder!r}, agent="boss")
{call}
"""


def start(world: World, fields: dict[str, Any]) -> None:
    """What the calls are about, and so many tasks with these fields."""
    world.here("task add", title="top", id="top")
    world.here("run start", name="r", id="r")
    for place in range(0, TASKS, 1_000):
        numbers = range(place, min(TASKS, place + 1_000))
        _add(world, [{"title": "t", "id": f"t{number:05d}", **fields} for number in numbers])


def _add(world: World, specs: list[dict[str, Any]]) -> None:
    from dibs.client.session import Session
    from dibs.operations.core.call import Call

    session = Session(str(world.folder), None)
    session.run(batches.ADD, Call(session.config.policy, agent="judge"), {"tasks": specs})
    session.close()


def killed(world: World, call: str, *, inside: bool) -> None:
    """Somebody begins it and is killed."""
    text = CALLER.format(step=STEP, inside=inside, folder=str(world.folder), call=call)
    done = subprocess.run(
        [sys.executable, "-c", text], env=world.environment(), capture_output=True, timeout=PATIENCE, check=False
    )
    assert done.returncode == -9, done.stderr.decode()


def moved(world: World, to: str) -> list[str]:
    return [e["subject"] for e in world.events() if e["kind"] == "task.moved" and e["data"]["to"] == to]


@pytest.mark.parametrize("inside", [False, True], ids=["between", "inside"])
@pytest.mark.parametrize("heir", ["repeat", "sweep"])
def test_a_tree_of_a_killed_caller_is_called_off_once_by_whoever_comes_next(
    world: World, heir: str, inside: bool
) -> None:
    start(world, {"parent": "top"})
    killed(world, "ws.task_cancel('top', request_id='c1')", inside=inside)
    assert 0 < len(moved(world, "cancelled")) < TASKS
    if heir == "repeat":
        assert world.here("task cancel", "boss", "c1", id="top")["count"] == TASKS + 1
    else:
        while world.here("sweep")["more"]:
            pass
    found = moved(world, "cancelled")
    assert len(found) == len(set(found)) == TASKS + 1
    assert [key for key, _ in world.rows() if key.startswith(("j\t", "jp\t"))] == []
    world.check()


@pytest.mark.parametrize("inside", [False, True], ids=["between", "inside"])
def test_a_run_of_a_killed_caller_comes_to_its_end(world: World, inside: bool) -> None:
    start(world, {"run": "r"})
    killed(world, "ws.run_end(run='r', force=True, request_id='e1')", inside=inside)
    answer = world.here("run end", "boss", "e1", run="r", force=True)
    assert (answer["count"], answer["run"]["state"]) == (TASKS, "ended")
    assert len([e for e in world.events() if e["kind"] == "run.ended"]) == 1
    world.check()


@pytest.mark.parametrize("inside", [False, True], ids=["between", "inside"])
def test_all_that_come_after_a_task_of_a_killed_caller_become_ready(world: World, inside: bool) -> None:
    start(world, {"after": ["top"]})
    call = "ws.task_done('top', token=ws.task_claim('top')['token'])"
    killed(world, call, inside=inside)
    while world.here("sweep")["more"]:
        pass
    tasks = world.here("task list", state="planned")["tasks"]
    assert [task["id"] for task in tasks if "waits_for" in task] == []
    assert [key for key, _ in world.rows() if key.startswith(("j\t", "td\t"))] == []
    world.check()
