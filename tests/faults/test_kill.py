"""SIGKILL at every point that can be named, inside every write, and at random moments of a busy fleet."""

from __future__ import annotations

import json
import os
import shutil
import signal
import time
from typing import TYPE_CHECKING, Any

import pytest

from dibs.errors import DibsError
from tests.faults.kit import Actor, Dice, World, size

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from dibs.stores.seam import LogEvent

pytestmark = pytest.mark.slow

A, B, C = ["file", "a.py"], ["file", "b.py"], ["file", "c.py"]
LONG = 3_600_000


class Scene:
    """A workspace in which something is about to happen, and the call that makes it happen."""

    def __init__(self, world: World, copy: Path) -> None:
        self.world = world
        self.copy = copy
        self.effect: Any = None  # the outline of the workspace when nobody is killed

    def prepare(self) -> None:
        """Bring the workspace to where the call can be made."""

    def open(self, actor: Actor) -> None:
        """Open the store in the process that will be hurt."""
        self.world.floor(actor, "cal", "status")

    def start(self, actor: Actor) -> None:
        """Make the call."""
        raise NotImplementedError


class OneClaim(Scene):
    def start(self, actor: Actor) -> None:
        self.world.start_floor(actor, "cal", "claim", "r1", resources=[A])


class ThreeClaims(Scene):
    def prepare(self) -> None:
        self.world.here("claim", "cal", resources=[B], mode="read")

    def start(self, actor: Actor) -> None:
        self.world.start_floor(actor, "cal", "claim", resources=[A, B, C])


class HandOver(Scene):
    def prepare(self) -> None:
        self.world.here("claim", "cal", resources=[A, B])
        for agent, wanted in (("bob", [A]), ("dan", [B])):
            waiter = self.world.blank(lease=LONG)
            answer = self.world.floor(waiter, agent, "claim", f"wait-{agent}", resources=wanted, wait=LONG)
            assert answer["waiting"]
            waiter.do("shut")

    def start(self, actor: Actor) -> None:
        self.world.start_floor(actor, "cal", "release", resources=[A, B])


class BootThatMoves(Scene):
    """The agent's earlier process is alive all the time; the boot comes from another."""

    def prepare(self) -> None:
        earlier = self.world.actor("cal")
        earlier.call("claim", "a.py")
        earlier.call("claim", "b.py", "c.py", mode="read")
        earlier.do("shut")

    def start(self, actor: Actor) -> None:
        actor.send("open", folder=str(self.world.folder), agent="cal", timeout=30)


class KillSwitch(Scene):
    def prepare(self) -> None:
        self.world.here("claim", "cal", resources=[A])
        self.world.here("claim", "cal/sub", resources=[B, C])
        waiter = self.world.blank(lease=LONG)
        assert self.world.floor(waiter, "bob", "claim", resources=[B], wait=LONG)["waiting"]
        waiter.do("shut")

    def start(self, actor: Actor) -> None:
        self.world.start_floor(actor, "boss", "kill", agent="cal", why="enough")


class Expiry(Scene):
    """A claim over what has expired: ends it, hands over nothing, grants."""

    def prepare(self) -> None:
        self.world.here("claim", "old", resources=[A, B], ttl=1)
        time.sleep(0.01)

    def start(self, actor: Actor) -> None:
        self.world.start_floor(actor, "cal", "claim", resources=[A])


SCENES = [OneClaim, ThreeClaims, HandOver, BootThatMoves, KillSwitch, Expiry]


@pytest.fixture
def scene(request: pytest.FixtureRequest, world: World, tmp_path: Path) -> Scene:
    made: Scene = request.param(world, tmp_path / "copy")
    made.prepare()
    world.save(made.copy)
    return made


def outline(world: World) -> tuple[list[str], list[tuple[str, tuple[str, ...], str]]]:
    """What happened and what is held, without the numbers and ids that differ from run to run."""
    events = [f"{event['kind']} {event['agent']}" for event in world.events()]
    return events, sorted((agent, resources, mode) for agent, resources, mode, _ in world.claims())


def hurt(scene: Scene, arm: Callable[[Actor], Any]) -> tuple[bool, bool, Any]:
    """Make the call in a process that dies somewhere. Did it die, was the effect there, and what was answered?"""
    world = scene.world
    world.restore(scene.copy)
    before = outline(world), world.rows()
    actor = world.blank(pages=1)
    scene.open(actor)
    arm(actor)
    scene.start(actor)
    answer = None
    died = False
    try:
        answer = actor.receive()
        died = actor.do("points") is None
    except EOFError:
        died = True
        actor.await_death()
    actor.close()
    actor.await_death()
    world.check()
    after = outline(world)
    if after == before[0]:
        assert world.rows() == before[1]
        done = False
    else:
        assert after == scene.effect, "neither all of it nor nothing"
        done = True
    assert done or answer is None, "answered, and lost"
    return died, done, answer


def learn(scene: Scene, arm: Callable[[Actor], Any]) -> Actor:
    """Make the call in a process that nothing happens to, and keep what came of it."""
    world = scene.world
    world.restore(scene.copy)
    actor = world.blank(pages=1)
    scene.open(actor)
    arm(actor)
    scene.start(actor)
    actor.receive()
    return actor


def at_point(at: int) -> Callable[[Actor], Any]:
    return lambda actor: actor.do("arm", at=at, number=signal.SIGKILL, match="")


def in_write(at: int, how: str) -> Callable[[Actor], Any]:
    return lambda actor: (actor.do("shim"), actor.do("fill", at=at, how=how))


@pytest.mark.parametrize("scene", SCENES, indirect=True)
def test_a_kill_before_or_after_any_statement_leaves_all_of_an_operation_or_none(scene: Scene) -> None:
    actor = learn(scene, at_point(0))
    points = actor.do("points")
    actor.close()
    actor.await_death()
    scene.effect = outline(scene.world)
    assert "after COMMIT" in points
    assert points[-1] == "after answer"
    commit = len(points) - 1 - points[::-1].index("after COMMIT")  # a boot may look first
    for place, name in enumerate(points):
        try:
            died, done, answer = hurt(scene, at_point(place + 1))
        except Exception as error:
            error.add_note(f"killed at point {place + 1} of {len(points)}: {name}")
            raise
        assert died, name
        assert done == (place >= commit), name
        assert (answer is not None) == (name == "after answer"), name
    # and whoever comes next is not held up by the dead
    assert scene.world.here("claim", "next", resources=[["file", "other.py"]])["token"]


@pytest.mark.parametrize("how", ["kill", "torn"])
@pytest.mark.parametrize("scene", SCENES, indirect=True)
def test_a_kill_in_or_before_any_write_to_the_disk_leaves_all_of_an_operation_or_none(scene: Scene, how: str) -> None:
    actor = learn(scene, in_write(0, how))
    writes = actor.do("writes")
    actor.close()
    actor.await_death()
    scene.effect = outline(scene.world)
    assert writes > 4
    outcomes = []
    for at in range(1, writes + 1):
        try:
            died, done, answer = hurt(scene, in_write(at, how))
        except Exception as error:
            error.add_note(f"killed in write {at} of {writes}")
            raise
        assert died
        assert answer is None
        outcomes.append(done)
    assert outcomes == sorted(outcomes), "once it is there it stays there"
    assert outcomes[0] is False
    assert outcomes[-1] is True, "the writes of a checkpoint come after the commit"


class Told:
    """What the log tells of what processes were answered."""

    def __init__(self, events: list[LogEvent]) -> None:
        self.granted: dict[tuple[str, int], set[str]] = {}
        self.released: set[tuple[str, tuple[str, ...]]] = set()
        self.booted: dict[str, int] = {}
        for event in events:
            agent, data = event["agent"], event["data"]
            names = sorted(resource[1] for resource in data.get("resources", ()))
            if event["kind"] == "claim.granted":  # one commit may serve two waits of an agent
                self.granted.setdefault((agent, data["token"]), set()).update(names)
            elif event["kind"] == "claim.released":
                self.released.add((agent, tuple(names)))
            elif event["kind"] == "agent.booted":
                self.booted[agent] = data["incarnation"]

    def knows(self, agent: str, note: dict[str, Any]) -> bool:
        """Is a line of a journal borne out?"""
        if note["did"] == "boot":
            return bool(self.booted[agent] >= note["incarnation"])
        if note["did"] == "claim" and not note["renewed"]:
            return self.granted[agent, note["token"]] >= set(note["resources"])
        return note["did"] != "release" or (agent, tuple(sorted(note["resources"]))) in self.released


def test_random_kills_of_a_busy_fleet_lose_nothing_that_was_answered(world: World, dice: Dice, tmp_path: Path) -> None:
    journals: list[tuple[str, Path]] = []
    fleet: list[tuple[int, Actor]] = []

    def hire(place: int) -> None:
        worker = world.blank(pages=dice.choice((1, 8, 1000)))
        journal = tmp_path / f"journal-{len(journals)}"
        agent = f"agent-{place}"
        journals.append((agent, journal))
        named = {"journal": str(journal), "seed": dice.randrange(2**32), "paths": 6}
        worker.send("job", name="busy", folder=str(world.folder), agent=agent, **named)
        fleet.append((place, worker))

    for place in range(6):
        hire(place)
    for round_ in range(size(60, 1000)):
        time.sleep(dice.uniform(0.0, 0.12))
        place, victim = fleet.pop(dice.randrange(len(fleet)))
        victim.kill()
        try:
            victim.receive()
        except (EOFError, DibsError):
            pass
        hire(place)
        if round_ % 250 == 249:
            world.check()
    for _, worker in fleet:
        worker.kill()
    world.check()
    log = Told(world.events())
    answered = 0
    for agent, journal in journals:
        for line in journal.read_text().splitlines(keepends=True) if journal.exists() else ():
            if line.endswith("\n"):  # the last one may be torn
                answered += 1
                assert log.knows(agent, json.loads(line)), (agent, line)
    print(f"{answered} answers, {len(journals)} processes")
    assert answered > size(0, len(journals))  # how many a busy machine comes to is its own affair


def test_the_death_of_a_process_while_it_makes_the_database_leaves_a_workspace_that_works(
    worlds: Callable[[], World],
) -> None:
    world = worlds()
    at = 0
    while True:
        at += 1
        shutil.rmtree(world.local)
        actor = world.blank()
        actor.do("shim")
        actor.do("fill", at=at, how="kill")
        world.start_floor(actor, "cal", "claim", resources=[A])
        try:
            actor.receive()
            break
        except EOFError:
            actor.await_death()
        assert world.here("claim", "next", resources=[B])["token"] >= 1
        world.check()
    assert at > 10


def test_sigterm_and_sigkill_of_a_waiting_process_leave_no_claim_behind(world: World) -> None:
    holder = world.actor("holder")
    holder.call("claim", "a.py")
    for number in (signal.SIGTERM, signal.SIGKILL):
        waiter = world.actor("waiter")
        waiter.start("claim", "a.py", wait=30)
        time.sleep(0.2)
        os.kill(waiter.pid, number)
        waiter.await_death()
    assert [claim[0] for claim in world.claims()] == ["holder"]
    world.check()
