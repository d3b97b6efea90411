"""Holders and waiters that die: what they held is free at once, and nobody waits for the dead beyond their lease."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from dibs.errors import Held
from tests.faults.kit import SOON, World, size

if TYPE_CHECKING:
    from tests.faults.kit import Actor

pytestmark = pytest.mark.slow


def test_a_killed_holder_frees_its_claims_at_once_for_the_next_caller(world: World) -> None:
    holder, other = world.actor("holder"), world.actor("other")
    token = holder.call("claim", "a.py", "b.py", ttl=3600)["token"]
    with pytest.raises(Held):
        other.call("claim", "a.py")
    holder.kill()
    began = time.monotonic()
    answer = other.call("claim", "a.py")
    assert time.monotonic() - began < SOON
    assert answer["token"] > token
    assert world.run("claim", "b.py", "--json", agent="shell").returncode == 0
    world.check()


def test_status_does_not_list_what_a_killed_process_held(world: World) -> None:
    holder = world.actor("holder")
    holder.call("claim", "a.py")
    holder.kill()
    assert world.claims() == []


def test_a_stopped_holder_is_not_a_dead_one(world: World) -> None:
    holder, other = world.actor("holder"), world.actor("other")
    holder.call("claim", "a.py")
    holder.stop()
    with pytest.raises(Held):
        other.call("claim", "a.py")
    holder.go_on()
    holder.call("release", "a.py")
    world.check()


def test_a_waiter_gets_the_claim_of_a_holder_that_dies_at_its_next_look(world: World) -> None:
    holder, waiter = world.actor("holder"), world.actor("waiter", look=200)
    holder.call("claim", "a.py", ttl=3600)
    waiter.start("claim", "a.py", wait=600)
    world.await_waiters(1)
    holder.kill()
    began = time.monotonic()
    assert waiter.receive()["agent"] == "waiter"
    assert time.monotonic() - began < SOON
    world.check()


def presence(world: World, lease: int, look: int, *, known: bool) -> float:
    """How long a dead waiter at the head of the queue holds up the next one, once the holder has released."""
    patches = {"lease": lease, "look": look}
    holder = world.actor("holder", **patches)
    holder.call("claim", "a.py", ttl=3600)
    dead = world.actor("dead", **patches) if known else world.blank(**patches)
    if known:
        dead.start("claim", "a.py", wait=600)
    else:  # a caller of whom no process is known
        world.start_floor(dead, "dead", "claim", resources=[["file", "a.py"]], wait=600_000)
    world.await_waiters(1)
    second: Actor = world.actor("second", **patches)
    second.start("claim", "a.py", wait=600)
    world.await_waiters(2)
    dead.kill()
    holder.call("release", "a.py")
    began = time.monotonic()
    assert second.receive()["agent"] == "second"
    took = time.monotonic() - began
    world.check()
    return took


@pytest.mark.parametrize("known", [True, False])
def test_a_waiter_killed_while_it_waits_holds_up_the_queue_no_longer_than_its_lease(world: World, known: bool) -> None:
    lease, look = size(1_000, 15_000), size(330, 5_000)
    took = presence(world, lease, look, known=known)
    assert took < (lease + look) / 1000 + SOON


def test_a_queue_of_dead_waiters_is_passed_in_one_lease(world: World) -> None:
    patches = {"lease": 1_000, "look": 330}
    holder = world.actor("holder", **patches)
    holder.call("claim", "a.py")
    dead = [world.actor(f"dead-{number}", **patches) for number in range(5)]
    for actor in dead:
        actor.start("claim", "a.py", wait=600)
    world.await_waiters(len(dead))
    for actor in dead:
        actor.kill()
    last = world.actor("last", **patches)
    last.start("claim", "a.py", wait=600)
    world.await_waiters(len(dead) + 1)
    holder.call("release", "a.py")
    began = time.monotonic()
    assert last.receive()["agent"] == "last"
    assert time.monotonic() - began < 2 + SOON
    world.check()


def test_an_agent_that_died_and_came_back_is_told_what_it_lost(world: World) -> None:
    first, other = world.actor("ann"), world.actor("bob")
    first.call("claim", "a.py")
    first.call("claim", "b.py")
    first.kill()
    other.call("claim", "a.py")
    again = world.blank()
    briefing = again.do("open", folder=str(world.folder), agent="ann", timeout=5)
    assert briefing["incarnation"] == 2
    assert [(loss["resources"], loss["why"], loss["holder"]) for loss in briefing["lost"]] == [
        (["a.py"], "gone", "bob")
    ]
    assert [held["resources"] for held in briefing["held"]] == [["b.py"]]
    world.check()
