"""However much a call sets off, no transaction of it writes more than a step: nobody else waits long for the store."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from dibs.client import catalogue
from dibs.client.session import Session
from dibs.operations.core import long_jobs
from dibs.operations.core.call import Call
from dibs.operations.tasks import batches
from dibs.operations.upkeep.sweeps import DUE_PER_SWEEP
from tests.canonical import canonical
from tests.faults.kit import size

if TYPE_CHECKING:
    from tests.faults.kit import World

pytestmark = pytest.mark.slow

TASKS, AGENTS, CLAIMS = size(1_000, 50_000), size(400, 5_000), size(60, 2_000)
WRITES = 4  # of one record that a step counts, at most: itself, its event, its rows elsewhere


class Counting:
    """A transaction whose writes are counted."""

    def __init__(self, tx: Any) -> None:
        self._tx, self.writes = tx, 0

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._tx, name)
        if name not in {"put", "delete", "append"}:
            return found

        def counted(*given: Any, **named: Any) -> Any:
            self.writes += 1
            return found(*given, **named)

        return counted


class Caller:
    """A session on the world's store; `writes` has those of each transaction."""

    def __init__(self, world: World) -> None:
        self.session = Session(str(world.folder), None)
        self.writes: list[int] = []
        self._run = self.session.store.run
        self.session.store.run = self._counted  # type: ignore[method-assign]

    def _counted(self, fn: Callable[[Any], Any]) -> Any:
        made: list[Counting] = []

        def body(tx: Any) -> Any:
            made.append(Counting(tx))
            return fn(made[-1])

        try:
            return self._run(body)
        finally:
            self.writes += [one.writes for one in made[-1:]]

    def call(self, agent: str, name: str, /, **fields: Any) -> Any:
        operation = catalogue.operation(name) if name != batches.ADD.name else batches.ADD
        return self.session.run(operation, Call(self.session.config.policy, agent=agent), canonical(operation, fields))

    def add(self, **fields: Any) -> None:
        """So many tasks with these fields."""
        self.call("boss", "task add", title="top", id="top")
        self.call("boss", "run start", name="r", id="r")
        for place in range(0, TASKS, 500):
            numbers = range(place, min(TASKS, place + 500))
            specs = [{"title": "t", "id": f"t{number:05d}", **fields} for number in numbers]
            self.call("boss", batches.ADD.name, tasks=specs)
        self.writes.clear()

    def at_work(self) -> None:
        """Some of the tasks are at work: to call them off costs more."""
        for number in range(min(TASKS, 200)):
            self.call(f"w{number}", "task claim", id=f"t{number:05d}")
        self.writes.clear()

    def most(self) -> int:
        """The most that one transaction wrote."""
        assert len(self.writes) > 2, "it went in steps"
        return max(self.writes)


@pytest.fixture
def caller(world: World) -> Iterator[Caller]:
    made = Caller(world)
    yield made
    made.session.close()


def test_calling_off_many_tasks(caller: Caller) -> None:
    caller.add(parent="top")
    caller.at_work()
    assert caller.call("boss", "task cancel", id="top")["count"] == TASKS + 1
    assert caller.most() <= WRITES * long_jobs.RECORDS_PER_STEP


def test_ending_a_run_with_many_tasks(caller: Caller) -> None:
    caller.add(run="r")
    caller.at_work()
    assert caller.call("boss", "run end", run="r", force=True)["count"] == TASKS
    assert caller.most() <= WRITES * long_jobs.RECORDS_PER_STEP
    caller.writes.clear()
    caller.call("boss", "run purge", run="r")
    assert caller.most() <= WRITES * long_jobs.RECORDS_PER_STEP


def test_finishing_what_many_wait_for(caller: Caller) -> None:
    caller.add(after=["top"])
    caller.call("boss", "task done", id="top", token=caller.call("boss", "task claim", id="top")["token"])
    assert caller.most() <= WRITES * long_jobs.RECORDS_PER_STEP


def test_leaving_with_many_claims_of_many_resources(caller: Caller) -> None:
    for number in range(CLAIMS):
        caller.call("ann", "claim", resources=[["name", f"r:{number}/{part}"] for part in range(20)])
    caller.writes.clear()
    assert caller.call("ann", "leave")["count"] == CLAIMS * 20
    assert caller.most() <= WRITES * long_jobs.RECORDS_PER_STEP


def test_a_message_to_many_agents(caller: Caller) -> None:
    for number in range(AGENTS):
        caller.call(f"w{number}", "boot")
    caller.writes.clear()
    assert caller.call("w0", "send", to="all", text="x")["count"] == AGENTS - 1
    assert caller.most() <= WRITES * long_jobs.RECORDS_PER_STEP


def test_a_sweep_takes_one_step_of_one_job(caller: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    from dibs.client import job_loop as carrying

    tops = [f"top{number}" for number in range(5)]
    for top in tops:
        caller.call("boss", "task add", title=top, id=top)
        specs = [
            {"title": "t", "id": f"{top}.{number}", "parent": top} for number in range(3 * long_jobs.RECORDS_PER_STEP)
        ]
        caller.call("boss", batches.ADD.name, tasks=specs)
    with monkeypatch.context() as patched:
        patched.setattr(carrying, "carry_on", lambda *_: None)  # as if each caller had been killed
        for top in tops:
            caller.call("boss", "task cancel", id=top)
    caller.writes.clear()
    while caller.call("janitor", "sweep")["more"]:
        pass
    assert caller.most() <= WRITES * long_jobs.RECORDS_PER_STEP
    assert caller.most() < DUE_PER_SWEEP * 2
    assert not caller.call("boss", "task list", state="planned")["tasks"]
