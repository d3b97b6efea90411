"""The wall clock jumps, the machine restarts: never two holders, nothing expires early or freezes, tokens rise."""

from __future__ import annotations

import time
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from dibs.errors import Fenced, Held
from dibs.machine import clock
from tests.faults.kit import SOON, Dice, World, size
from tests.waiting import in_time

if TYPE_CHECKING:
    from tests.faults.kit import Actor

pytestmark = pytest.mark.slow

HOUR, TEN_YEARS = 3_600_000, 315_576_000_000
JUMPS = (-TEN_YEARS, -HOUR, HOUR, TEN_YEARS)


@pytest.mark.parametrize("jump", JUMPS)
def test_a_jump_of_the_wall_clock_neither_ends_nor_freezes_a_claim(world: World, jump: int) -> None:
    holder, other = world.actor("holder"), world.actor("other", wall=jump)

    def play(life: float) -> None:
        path = f"{life}.py"
        holder.do("patch", wall=0)
        token = holder.call("claim", path, ttl=life)["token"]
        began = time.monotonic()
        with pytest.raises(Held):
            other.call("claim", path)
        holder.do("patch", wall=-jump)
        assert holder.call("confirm", path, token=token)["token"] == token
        with pytest.raises(Held):
            other.call("claim", path)
        assert other.call("claim", path, wait=600)["token"] > token
        assert life - 0.1 < time.monotonic() - began < life + SOON, "it lives as long as it was to live"

    in_time(play, life=1.5)
    world.check()


@pytest.mark.parametrize("jump", JUMPS)
def test_a_jump_of_the_wall_clock_neither_ends_nor_freezes_a_wait(world: World, jump: int) -> None:
    holder, waiter = world.actor("holder"), world.actor("waiter", look=200)
    holder.call("claim", "a.py")
    waiter.start("claim", "a.py", wait=1)
    time.sleep(0.2)
    holder.do("patch", wall=jump)
    other = world.actor("other", wall=-jump)
    with pytest.raises(Held):
        other.call("claim", "a.py")
    began = time.monotonic()
    with pytest.raises(Held):
        waiter.receive()
    assert time.monotonic() - began < 1 + SOON
    waiter.do("patch", wall=jump)
    waiter.start("claim", "a.py", wait=600)
    world.await_waiters(1)
    holder.call("release", "a.py")
    assert waiter.receive()["agent"] == "waiter"
    world.check()


def test_processes_whose_wall_clocks_jump_and_differ_never_hold_at_once_and_tokens_rise(
    world: World, dice: Dice
) -> None:
    actors = [world.blank() for _ in range(5)]
    for number, actor in enumerate(actors):
        named = {"seed": dice.randrange(2**32), "seconds": size(3, 60)}
        actor.send("job", name="wander", folder=str(world.folder), agent=f"agent-{number}", **named)
    tokens = []
    for actor in actors:
        got = [token for _, token in actor.receive(size(3, 60) + 60.0)]
        assert got == sorted(set(got)), dice.number
        tokens += got
    assert len(tokens) == len(set(tokens)) > 10
    events = world.events()
    assert [event["now"] for event in events] == sorted(event["now"] for event in events)
    assert any(one["wall"] > other["wall"] + HOUR / 2 for one, other in pairwise(events))
    ended = [event for event in events if event["kind"] == "claim.ended"]
    assert ended == [], "a claim of a minute ended within seconds"
    world.check()


def rebooted(world: World, name: str, **more: int) -> Actor:
    """A process after the machine was started again five seconds ago: another boot id, a clock that began anew."""
    return world.blank(boot=name, since_boot=5_000 - clock.since_boot(), **more)


def test_after_a_reboot_local_holders_are_gone_and_other_claims_keep_their_remaining_life(world: World) -> None:
    local = world.actor("local")
    local_token = local.call("claim", "local.py", ttl=3600)["token"]
    world.here("claim", "cli", resources=[["file", "long.py"]], ttl=3_600_000)
    late = True
    while late:  # a busy machine may take longer than it lives
        began = time.monotonic()
        world.here("claim", "cli", resources=[["file", "short.py"]], ttl=2_000)
        before = {resources[0]: token for _, resources, _, token in world.claims()}
        time.sleep(0.5)
        world.here("claim", "cli", resources=[["file", "x.py"]])  # the last commit before the power fails
        late = time.monotonic() - began > 1.9
    local.kill()

    after = rebooted(world, "the-next-boot")
    with pytest.raises(Held):
        world.floor(after, "next", "claim", resources=[["file", "short.py"]])
    with pytest.raises(Held):
        world.floor(after, "next", "claim", resources=[["file", "long.py"]])
    answer = world.floor(after, "next", "claim", resources=[["file", "local.py"]])
    assert answer["token"] > max(before.values()) >= local_token
    time.sleep(1.7)
    assert world.floor(after, "next", "claim", resources=[["file", "short.py"]])["token"] > answer["token"]
    with pytest.raises(Held):
        world.floor(after, "next", "claim", resources=[["file", "long.py"]])
    assert (
        world.floor(after, "cli", "confirm", resource=["file", "long.py"], token=before["long.py"])["holder"] == "cli"
    )
    with pytest.raises(Fenced):
        world.floor(after, "local", "release", resources=[["file", "local.py"]], token=local_token)
    after.do("shut")
    world.check()


def test_many_reboots_in_a_row_never_turn_the_store_s_clock_back(world: World, dice: Dice) -> None:
    world.here("claim", "cli", resources=[["file", "long.py"]], ttl=3_600_000)
    last = 0
    for number in range(size(12, 200)):
        uptime = dice.choice((1, 50, 5_000, 10**9, 10**12))
        after = world.blank(boot=f"boot-{number}", since_boot=uptime - clock.since_boot(), wall=dice.choice(JUMPS))
        with pytest.raises(Held):
            world.floor(after, "next", "claim", resources=[["file", "long.py"]])
        token = world.floor(after, "next", "claim", resources=[["file", f"f{number}.py"]], ttl=3_600_000)["token"]
        assert token > last
        last = token
        after.do("shut")
        after.kill()
    events = world.events()
    assert [event["now"] for event in events] == sorted(event["now"] for event in events)
    assert events[-1]["now"] - events[0]["now"] < 60_000, "reboots took no time"
    world.check()
