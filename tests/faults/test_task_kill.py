"""Workers that are killed and paused: each task is finished once, each effect had once, late results are refused."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any

import apsw
import pytest

from dibs.errors import Fenced, NotFound
from dibs.machine import clock
from tests.faults.kit import PATIENCE, ROOT, SOON, Actor, Dice, World, size
from tests.waiting import in_time

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.slow

TTL = 500  # ms, where a deadline has to pass
FORGIVING = "\n[tasks]\nmax_attempts = 1000\nbreaker_failures = 1000\n"  # it is the tests that kill, not the tasks


def short(life: float) -> str:
    """The settings by which a task's claim lives so many seconds."""
    return f'\n[[claims.patterns]]\nmatch = "task:*"\nttl = "{life}s"\n'


SHORT = short(TTL / 1000)


def configure(world: World, text: str) -> None:
    with (world.folder / ".dibs" / "config.toml").open("a") as file:
        file.write(text)


def moves(world: World, to: str) -> Counter[str]:
    """How often each task came to a state."""
    return Counter(e["subject"] for e in world.events() if e["kind"] == "task.moved" and e["data"]["to"] == to)


# --- a fleet of real processes, killed at random


class Fleet:
    """Workers, their effects, and whoever kills them."""

    def __init__(self, world: World, workers: int, folder: Path) -> None:
        self.world, self.effects, self.stop = world, folder / "effects.db", folder / "stop"
        self.names = 0
        self.killed = 0
        self.running: dict[subprocess.Popen[bytes], str] = {}
        for _ in range(workers):
            self.start()
        self.sweeper = self._popen("sweep", "sweeper", str(self.stop))

    def start(self, agent: str = "") -> None:
        """One more worker, under a new name or that of one that died."""
        if not agent:
            self.names += 1
            agent = f"worker-{self.names}"
        self.running[self._popen("work", agent, str(self.effects), str(self.stop))] = agent

    def _popen(self, what: str, agent: str, *more: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "tests.faults.task_worker", what, str(self.world.folder), agent, *more]
        environment = {**self.world.environment(), "PYTHONPATH": str(ROOT)}
        return subprocess.Popen(command, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, start_new_session=True)

    def kill_one(self, dice: Dice) -> None:
        """SIGKILL, at whatever it is; then another comes, half of the time under the same name."""
        victim = dice.choice(list(self.running))
        os.kill(victim.pid, signal.SIGKILL)
        assert victim.wait(PATIENCE) == -signal.SIGKILL, "it had ended by itself"
        agent = self.running.pop(victim)
        self.killed += 1
        self.start(agent if dice.random() < 0.5 else "")

    def had(self) -> int:
        """How many effects there are."""
        with contextlib.suppress(apsw.Error):
            database = apsw.Connection(str(self.effects))
            try:
                return len(database.execute("SELECT key FROM effects").fetchall())
            finally:
                database.close()
        return 0

    def end(self) -> None:
        """Let them finish what is there."""
        self.stop.touch()
        for process in [*self.running, self.sweeper]:
            assert process.wait(PATIENCE) == 0

    def close(self) -> None:
        """End what is left, whatever happened."""
        for process in [*self.running, self.sweeper]:
            if process.poll() is None:
                process.kill()
                process.wait(PATIENCE)


@pytest.fixture
def start(world: World, tmp_path: Path) -> Iterator[Any]:
    made: list[Fleet] = []

    def another(workers: int) -> Fleet:
        made.append(Fleet(world, workers, tmp_path))
        return made[-1]

    yield another
    for fleet in made:
        fleet.close()


def test_every_task_is_finished_once_and_every_effect_had_once_however_many_workers_are_killed(
    world: World, start: Any, dice: Dice
) -> None:
    tasks, workers, kills = size(400, 10_000), size(6, 16), size(20, 200)
    configure(world, FORGIVING)
    boss = world.actor("boss", timeout=60)
    began = time.monotonic()
    fleet = start(workers)
    pace = tasks / (kills + 2)
    for number in range(tasks):
        after = [f"t{number - step}" for step in (1, 2, 3)] if number % 10 == 9 else []
        boss.call("task_add", f"task {number}", id=f"t{number}", key=f"key-{number}", after=after)
        if fleet.killed < kills and fleet.had() > pace * (fleet.killed + 1):
            fleet.kill_one(dice)
    last, since = 0, time.monotonic()
    while (had := fleet.had()) < tasks:
        assert time.monotonic() - since < PATIENCE, f"only {had} of {tasks} are done and nothing happens any more"
        if had > last:
            last, since = had, time.monotonic()
        if fleet.killed < kills and had > pace * (fleet.killed + 1):
            fleet.kill_one(dice)
        time.sleep(dice.random() * 0.02)
    while fleet.killed < kills:  # the last few, while the last tasks are finished
        fleet.kill_one(dice)
    fleet.end()
    took = time.monotonic() - began

    assert moves(world, "complete") == {f"t{number}": 1 for number in range(tasks)}
    database = apsw.Connection(str(fleet.effects))
    assert {key for (key,) in database.execute("SELECT key FROM effects")} == {f"key-{n}" for n in range(tasks)}
    database.close()
    attempts = fleet.effects.with_name("effects.db.attempts").read_text().splitlines()
    events = world.events()
    lost = [e for e in events if e["kind"] == "task.moved" and e["data"].get("class") == "lost"]
    moved = [e for e in events if e["kind"] == "claim.moved"]
    print(
        f"{tasks} tasks, {workers} workers, {fleet.killed} killed in {took:.1f} s: {len(lost)} tasks came back, "
        f"{len(moved)} went on in a new process, {len(attempts) - tasks} effects attempted again, {len(events)} events"
    )
    assert fleet.killed == kills
    assert len(lost) + len(moved) >= kills / 10
    world.check()


# --- at every point of each call


CALLS: dict[str, dict[str, Any]] = {
    "task add": {"title": "new", "id": "new", "after": ["t"]},
    "task next": {},
    "task done": {"id": "t", "token": 0, "result": {"n": 1}, "next": True},
    "task fail": {"id": "t", "token": 0, "class": "transient", "why": "x"},
    "task release": {"id": "t", "token": 0},
    "task split": {"id": "t", "token": 0, "children": [{"title": "x", "id": "c1"}, {"title": "y", "id": "c2"}]},
    "task cancel": {"id": "t"},
}


def outline(world: World) -> Any:
    """What happened and what is, without the numbers that differ from run to run."""
    tasks = {key: json.loads(text) for key, text in world.rows() if key.startswith(("t\t", "ta\t", "td\t", "tc\t"))}
    for task in tasks.values():
        for name in ("claim", "started", "finished", "not_before", "error", "created", "order"):
            task.pop(name, None)
    return [f"{e['kind']} {e['agent']}" for e in world.events()], tasks


@pytest.mark.parametrize("name", CALLS)
def test_a_worker_killed_at_any_point_of_a_call_has_done_all_of_it_or_nothing(
    world: World, tmp_path: Path, name: str
) -> None:
    for identifier in ("t", "u"):
        world.here("task add", "boss", title=identifier, id=identifier)
    world.here("task add", "boss", title="v", id="v", after=["t"])
    token = world.here("task next", "w")["token"] if name != "task next" else 0
    fields = {**CALLS[name], **({"token": token} if "token" in CALLS[name] else {})}
    world.save(tmp_path / "copy")
    before = outline(world)

    def attempt(at: int) -> tuple[Actor, Any]:
        world.restore(tmp_path / "copy")
        actor = world.blank()
        world.floor(actor, "w", "status")
        actor.do("arm", at=at, number=signal.SIGKILL, match="")
        world.start_floor(actor, "w", name, "r1", **fields)
        try:
            return actor, actor.receive()
        except EOFError:
            return actor, None

    actor, first = attempt(10**6)
    points = actor.do("points")
    actor.close()
    actor.await_death()
    effect = outline(world)
    assert first is not None
    assert effect != before
    seen = Counter[str]()
    for at in range(1, len(points) + 1):
        actor, _ = attempt(at)
        actor.close()
        actor.await_death()
        found = outline(world)
        assert found in (before, effect), f"killed {points[at - 1]} of {name}: half of it"
        seen["all" if found == effect else "nothing"] += 1
        again = world.here(name, "w", "r1", **fields)  # made again by its request id
        assert outline(world) == effect
        assert again["task"]["state"] == first["task"]["state"]
        world.check()
    print(f"{name}: {len(points)} points, {dict(seen)}")
    assert seen["all"] > 0
    assert seen["nothing"] > 0


# --- paused


def test_a_worker_stopped_past_its_deadline_is_refused_when_it_goes_on(world: World) -> None:
    config = world.folder / ".dibs" / "config.toml"
    text = config.read_text()

    def play(number: int, life: float) -> None:
        config.write_text(f"{text}{short(life)}{FORGIVING}")
        ann, bob, name = world.actor(f"ann-{life}"), world.actor(f"bob-{life}"), f"t{number}-{life}"
        world.here("task add", "boss", title="x", id=name)
        old = ann.call("task_claim", name)
        world.stop(ann)
        new = bob.call("task_claim", name, wait=PATIENCE)
        assert new["token"] > old["token"]
        ann.start("task_done", name, token=old["token"], result={"by": "ann"})
        ann.go_on()
        with pytest.raises(Fenced) as late:
            ann.receive()
        assert (late.value.holder, late.value.task) == (f"bob-{life}", name)
        bob.call("task_progress", name, percent=50, token=new["token"])
        bob.call("task_done", name, token=new["token"], result={"by": "bob"})
        assert world.here("task show", id=name)["task"]["result"] == {"by": "bob"}
        assert moves(world, "complete")[name] == 1
        for one in (ann, bob):
            one.kill()

    for number in range(size(3, 20)):
        in_time(partial(play, number), life=TTL / 1000)
    world.check()


def test_a_worker_stopped_inside_its_finish_past_the_deadline_is_refused(world: World) -> None:
    """It had decided by a clock that is too old by now, so it decides again."""
    configure(world, SHORT + FORGIVING)
    world.here("task add", "boss", title="x", id="t")
    ann = world.actor("ann", timeout=30)
    old = ann.call("task_next")
    ann.do("arm", at=1, number=signal.SIGSTOP, match="after BEGIN IMMEDIATE")
    ann.start("task_done", "t", token=old["token"])
    ann.await_stop()
    stopped = clock.since_boot()
    while clock.since_boot() < stopped + 2_000 + TTL + 200:
        time.sleep(0.05)
    ann.go_on()
    with pytest.raises(Fenced):
        ann.receive()
    assert world.here("task show", id="t")["task"]["state"] == "planned"
    assert not moves(world, "complete")
    world.check()


def test_a_task_is_another_workers_within_seconds_after_its_holder_died(world: World) -> None:
    for number in range(size(3, 20)):
        world.here("task add", "boss", title="x", id=f"t{number}")
        ann, bob = world.actor(f"ann-{number}"), world.actor(f"bob-{number}")
        old = ann.call("task_next")
        bob.start("task_next", wait=600)
        ann.kill()
        began = time.monotonic()
        new = bob.receive()
        assert time.monotonic() - began < SOON
        assert (new["task"]["id"], new["token"] > old["token"]) == (old["task"]["id"], True)
        bob.call("task_done", new["task"]["id"], token=new["token"])
    world.check()


def test_a_worker_that_waits_in_another_process_is_woken_by_each_task(world: World) -> None:
    """Two real processes. By looking now and then it would not find one within its wait."""
    worker = world.actor("w", look=600_000)
    for number in range(size(10, 100)):
        worker.start("task_next", wait=60)
        world.here("task add", "boss", title="x", id=f"t{number}")
        answer = worker.receive()
        worker.call("task_done", answer["task"]["id"], token=answer["token"])
    with pytest.raises(NotFound):
        worker.call("task_next")
    world.check()
