"""What tasks and runs leave in a store: the second part of the play (make.py)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dibs.operations.core import long_jobs
from dibs.operations.runs.members import USAGE
from dibs.operations.runs.run_endings import ARCHIVED
from dibs.operations.tasks.registries import IMPORT
from tests.stored.stage import DAY, HOUR, MINUTE, SECOND

if TYPE_CHECKING:
    from tests.stored.stage import Stage

PERMANENT: dict[str, Any] = {"class": "permanent"}
TRANSIENT: dict[str, Any] = {"class": "transient"}


def add(stage: Stage, name: str, **fields: Any) -> None:
    """A task."""
    stage.call("ann", "task add", title=f"the task {name}", id=name, **fields)


def take(stage: Stage, name: str, agent: str = "bob") -> int:
    """An agent takes a task; its token."""
    token: int = stage.call(agent, "task claim", id=name)["token"]
    return token


def finish(stage: Stage, name: str, agent: str = "bob", **fields: Any) -> None:
    """An agent takes a task and finishes it."""
    stage.call(agent, "task done", id=name, token=take(stage, name, agent), **fields)


def old_work(stage: Stage) -> None:
    """A finished task that is forgotten, a run that is purged and one of whose tasks stays."""
    stage.call("lou", "task add", title="long ago", id="ago", payload={"x": 1}, key="ago")
    finish(stage, "ago", "lou", result={"y": 2})
    stage.call("lou", "run start", name="Run of old", id="r0")
    stage.call("lou", "run join", run="r0")
    stage.call("lou", "task add", title="fails", id="r0-fails", run="r0", attempts=1)
    stage.call("lou", "task add", title="outside", id="outside", after=["r0-fails"])
    token = take(stage, "r0-fails", "lou")
    stage.call("lou", "task fail", id="r0-fails", token=token, **PERMANENT, why="cannot")
    stage.call("lou", "run end", run="r0", force=True)
    stage.internal("lou", ARCHIVED, run="r0", file="runs/r0.tar.gz", sha256="ab" * 32, size=3)
    stage.call("lou", "run purge", run="r0")


def states(stage: Stage) -> None:
    """A task in each state, with payloads, results, proofs, notes, dependencies, children, keys, races."""
    add(stage, "idea", state="discovery")
    add(stage, "scoped", state="scoped", needs=["python"], priority=5)
    add(stage, "ready", payload={"file": "x.py"}, key="ready-key", priority=-2, require=["python"], expect=HOUR)
    add(stage, "blocked", after=["ready"])
    add(stage, "parent")
    add(stage, "child", parent="parent")
    add(stage, "finished", payload=[1, 2])
    finish(stage, "finished", "cid", result={"lines": 3}, used={"cpu": 1.5, "memory": 1000, "seconds": 2})
    add(stage, "follows", after=["finished"])
    add(stage, "proven")
    token = take(stage, "proven", "cid")
    proof = {"token": token, "exit": 0, "seconds": 0.5, "output": "fine"}
    stage.call("cid", "task done", id="proven", token=token, verify="true", verified=proof)
    add(stage, "cancelled")
    stage.call("ann", "task cancel", id="cancelled", why="not needed")
    add(stage, "broken")
    token = take(stage, "broken", "cid")
    stage.call("cid", "task fail", id="broken", token=token, **PERMANENT, why="impossible")
    add(stage, "poison", attempts=1)
    token = take(stage, "poison", "cid")
    stage.call("cid", "task fail", id="poison", token=token, **TRANSIENT, why="no luck")
    add(stage, "again")
    token = take(stage, "again", "cid")
    stage.call("cid", "task fail", id="again", token=token, **TRANSIENT, why="a network")
    add(stage, "sticky", strategy="sticky", sticky="bob", **{"for": "coder"}, priority=-9)
    for number in range(5):  # after so many failures in a row an agent gets no work for a while
        add(stage, f"jim-{number}", attempts=1)
        token = take(stage, f"jim-{number}", "jim")
        stage.call("jim", "task fail", id=f"jim-{number}", token=token, **PERMANENT, why="not for me")
    add(stage, "racer", race="race-1")
    add(stage, "other-racer", race="race-1")
    stage.call("ann", "task note", id="ready", text="look at the log first")
    add(stage, "working", payload={"n": 1})
    token = take(stage, "working")
    stage.call("bob", "task progress", id="working", token=token, percent=40, note="half of it")
    stage.refused("cid", "task done", id="working", token=1)
    stage.internal("ann", IMPORT, tasks=[{"id": "imported", "title": "from a file", "state": "complete"}])


def assignments(stage: Stage) -> None:
    """Tasks that are assigned, that nobody picked up, auctioned and bid for; who waits for work and for one task."""
    stage.call("ida", "boot", client=60)
    add(stage, "lost", priority=-3)
    stage.call("ida", "task claim", id="lost", client=60)
    stage.kill9(60)
    add(stage, "assigned", priority=-3)
    add(stage, "lapsed", priority=-3)
    stage.call("ann", "task assign", id="lapsed", to="dan")
    stage.later(3 * MINUTE)
    stage.call("ann", "sweep")
    stage.call("ann", "task assign", id="assigned", to="dan")
    add(stage, "auction", strategy="auction", bid_window=HOUR)
    stage.call("cid", "task bid", id="auction", amount=7)
    add(stage, "won", strategy="auction", bid_window=SECOND)
    stage.call("cid", "task bid", id="won", amount=3)
    stage.later(2 * SECOND)
    stage.call("ann", "sweep")
    add(stage, "put-up")
    stage.call("ann", "task assign", id="put-up", strategy="auction")
    add(stage, "in-turn", strategy="round_robin", priority=50)
    assert stage.call("hal", "task next")["task"]["id"] == "in-turn"
    stage.call("fay", "boot", client=14, type="tester", can=["cobol"])
    add(stage, "sub-work", priority=9)
    take(stage, "sub-work", "fay/sub")
    stage.call("fay/sub", "leave")  # the task goes to its parent


def runs(stage: Stage) -> None:
    """A run at work with agents, errors, warnings, tasks and usage; a run that has ended."""
    stage.call("ann", "run start", name="Release", id="r1", spec="the spec", phase="discovery")
    stage.call("bob", "run join", run="r1", type="coder", can=["python"])
    stage.call("ann", "run phase", run="r1", phase="execution")
    stage.call("bob", "run error", run="r1", text="a test fails")
    stage.call("ann", "run handled", run="r1", number=1, how="it was flaky")
    stage.call("bob", "run warn", run="r1", text="slow")
    stage.call("bob", "run error", run="r1", text="a second one")
    stage.call("ann", "task add", title="of a run", id="r1-done", run="r1")
    finish(stage, "r1-done", "cid")
    stage.call("ann", "task add", title="of a run, too", id="r1-open", run="r1", needs=["fortran"])
    stage.internal("bob", USAGE, process=11, run="r1", cpu=1.5, memory=1000, threads=2)
    stage.refused("ann", "run end", run="r1", strict=True)
    stage.call("ann", "run start", name="Before", id="r2")
    stage.call("ann", "run end", run="r2", keep=30 * DAY)


def waits(stage: Stage) -> None:
    """Tasks that are assigned, or tried again soon; agents that wait for one task, or for any of a run."""
    stage.call("ann", "task assign", id="assigned", to="dan")
    token = take(stage, "again", "cid")
    stage.call("cid", "task fail", id="again", token=token, **TRANSIENT, why="once more")
    stage.call("dan", "task claim", id="working", wait=HOUR, wake="dan-2")
    stage.call("gus", "task next", wait=HOUR, wake="gus-1", run="r1")


def jobs(stage: Stage) -> None:
    """A job that a caller left in the middle, and one that is done."""
    stage.patch.setattr(long_jobs, "RECORDS_PER_STEP", 2)
    stage.carries_on = False
    add(stage, "many")
    for number in range(3):
        add(stage, f"many-{number}", parent="many", state="scoped")
        add(stage, f"many-{number}-below", parent=f"many-{number}", state="scoped")
    (job,) = stage.call("ann", "task cancel", id="many")["jobs"]
    stage.internal("ann", long_jobs.CONTINUE, job=job, room=1)
    add(stage, "few")
    for number in range(2):
        add(stage, f"few-{number}", parent="few", state="scoped")
    (job,) = stage.call("ann", "task cancel", id="few")["jobs"]
    while stage.internal("ann", long_jobs.CONTINUE, job=job)["more"]:
        pass
    stage.carries_on = True
