"""SIGSTOP: of a process inside a transaction, and of a holder past its deadline."""

from __future__ import annotations

import json
import signal
import time
from typing import TYPE_CHECKING

import pytest

from dibs.errors import Busy, Fenced
from dibs.stores.seam import MAX_CLOCK_AGE_MS
from tests.faults.kit import SOON, Dice, World, size
from tests.faults.test_task_kill import FORGIVING, SHORT, TTL, configure, moves

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.faults.kit import Actor

pytestmark = pytest.mark.slow

FIRST, LAST = "after BEGIN IMMEDIATE", "before UPDATE head SET"
A = ["file", "a.py"]


def now_of(world: World) -> int:
    """The store's clock."""
    with world.store() as store:
        return store.look(lambda tx: tx.now)


def test_a_process_stopped_inside_a_transaction_is_named_to_others_within_their_time_limit(world: World) -> None:
    world.here("claim", "cal", resources=[["file", "other.py"]])
    other = world.actor("bob", timeout=1)
    stopped = world.actor("ann")
    stopped.do("arm", at=1, number=signal.SIGSTOP, match=FIRST)
    stopped.start("claim", "a.py")
    stopped.await_stop()

    began = time.monotonic()
    with pytest.raises(Busy) as caught:
        other.call("claim", "b.py")
    assert 0.9 < time.monotonic() - began < 1 + SOON
    assert caught.value.code == "busy"
    assert caught.value.pid == stopped.pid
    assert caught.value.stopped is True
    assert f"process {stopped.pid} (stopped)" in caught.value.message

    command = world.run("claim", "b.py", "--timeout", "500ms", "--json", agent="dan")
    assert command.returncode == 2
    error = json.loads(command.stdout)["error"]
    assert (error["code"], error["pid"], error["stopped"]) == ("busy", stopped.pid, True)

    began = time.monotonic()
    status = other.call("status")
    assert [claim["agent"] for claim in status["claims"]] == ["cal"]
    assert world.run("status", "--json").returncode == 0
    assert time.monotonic() - began < SOON, "looking waits for nobody, and that one is stopped until we say so"

    stopped.go_on()
    assert stopped.receive()["agent"] == "ann"
    assert other.call("claim", "b.py")["agent"] == "bob"
    world.check()


def test_a_call_that_gave_up_on_a_stopped_process_can_be_made_again_and_again(world: World) -> None:
    other = world.actor("bob", timeout=0.2)
    stopped = world.actor("ann")
    stopped.do("arm", at=1, number=signal.SIGSTOP, match=FIRST)
    stopped.start("claim", "a.py")
    stopped.await_stop()
    for _ in range(5):
        with pytest.raises(Busy):
            other.call("claim", "b.py")
    stopped.go_on()
    stopped.receive()
    assert other.call("claim", "b.py")["agent"] == "bob"  # the tickets it gave up do not stand in its own way
    assert world.actor("cal", timeout=1).call("claim", "c.py")["agent"] == "cal"
    world.check()


def test_a_look_that_was_stopped_halfway_answers_although_others_committed_meanwhile(world: World) -> None:
    for point in range(1, 5):
        looker, writer = world.actor(f"looker-{point}"), world.actor(f"writer-{point}")
        looker.do("arm", at=point, number=signal.SIGSTOP, match="")
        looker.start("status")
        looker.await_stop()
        token = writer.call("claim", f"f{point}.py")["token"]
        looker.go_on()
        claims = looker.receive()["claims"]
        assert all(claim["token"] <= token for claim in claims)
    world.check()


def test_a_transaction_that_was_stopped_for_long_is_decided_again_by_a_fresh_clock(worlds: Callable[[], World]) -> None:
    world = worlds()
    trial = world.blank()
    world.floor(trial, "ann", "claim", resources=[["file", "first.py"]])
    trial.do("arm", at=0, number=0, match="")
    world.floor(trial, "ann", "claim", resources=[A])
    names = trial.do("points")
    points = range(names.index(FIRST), names.index(LAST) + 1)
    stopped: list[tuple[int, World, Actor, int]] = []
    for point in points:  # all of them at once, each in a workspace of its own
        hurt = worlds()
        actor = hurt.blank()
        hurt.floor(actor, "ann", "claim", resources=[["file", "first.py"]])
        actor.do("arm", at=point + 1, number=signal.SIGSTOP, match="")
        hurt.start_floor(actor, "ann", "claim", resources=[A], ttl=60_000)
        actor.await_stop()
        stopped.append((point, hurt, actor, now_of(hurt)))
    time.sleep(MAX_CLOCK_AGE_MS / 1000 + 0.3)
    late = []
    for point, hurt, actor, when in stopped:
        actor.go_on()
        actor.receive()
        hurt.check()
        [since] = [json.loads(value)["since"] for key, value in hurt.rows() if key.startswith("r/a.py")]
        if since < when + MAX_CLOCK_AGE_MS:
            late.append(names[point])
    assert late == [], "committed with a clock from before the stop"


def test_a_holder_stopped_past_its_deadline_is_refused_whatever_it_does_next(world: World, dice: Dice) -> None:
    left = size(6, 1000)
    taker = world.actor("taker")
    run = 0
    while left > 0:
        some = min(left, 40)
        left -= some
        run += 1
        holders = []
        for number in range(some):
            holder = world.actor(f"holder-{number}")
            answer = holder.call("claim", f"f{number}.py", ttl=0.3)
            time.sleep(dice.uniform(0, 0.005))
            world.stop(holder)
            holders.append((holder, f"f{number}.py", answer["token"]))
        time.sleep(0.35)
        taken = {}
        for _, name, token in holders:
            taken[name] = taker.call("claim", name)["token"]
            assert taken[name] > token
        for holder, name, token in holders:
            holder.go_on()
            for method, given, named in (
                ("confirm", [name], {"token": token}),
                ("release", [name], {"token": token}),
                ("release", [name], {"token": token, "to": "taker"}),
                ("renew", [name], {}),
                ("release", [name], {}),
            ):
                with pytest.raises(Fenced) as caught:
                    holder.call(method, *given, **named)
                assert caught.value.holder == "taker", (method, caught.value.fields)
                assert caught.value.token == taken[name]
                assert "taker holds it now" in caught.value.message
            assert taker.call("confirm", name, token=taken[name])["holder"] == "taker"
        world.check()
        taker.call("release", all=True)
        for holder, _, _ in holders:
            holder.kill()


def test_a_holder_stopped_past_its_deadline_writes_no_document_and_finishes_no_task(world: World) -> None:
    configure(world, SHORT + FORGIVING)
    left = size(4, 1000)
    taker = world.actor("taker")
    done = 0
    while left > 0:
        some = min(left, 40)
        left -= some
        holders = []
        for number in range(some):
            name = f"t{done + number}"
            world.here("task add", "boss", title="x", id=name)
            holder = world.actor(f"holder-{number}")
            token = holder.call("claim", f"state:k{number}", ttl=TTL / 1000)["token"]
            old = holder.call("task_claim", name)["token"]
            world.stop(holder)
            holders.append((holder, f"k{number}", token, name, old))
        for holder, key, token, name, old in holders:
            new = taker.call("task_claim", name, wait=60)
            held = taker.call("claim", f"state:{key}", wait=60)["token"]
            taker.call("state_set", key, "new", token=held)
            holder.go_on()
            for method, given, named in (
                ("state_set", [key, "late"], {"token": token}),
                ("state_delete", [key], {"token": token}),
                ("task_progress", [name], {"percent": 99, "token": old}),
                ("task_fail", [name], {"class_": "transient", "why": "late", "token": old}),
                ("task_done", [name], {"result": "late", "token": old}),
            ):
                with pytest.raises(Fenced):
                    holder.call(method, *given, **named)
            finished = False
            while not finished:
                try:
                    finished = bool(taker.call("task_done", name, token=new["token"], result="new"))
                except Fenced:  # a busy machine took longer than the task's own deadline
                    new = taker.call("task_claim", name, wait=60)
            assert world.here("state get", key=key)["value"] == "new"
            assert world.here("task show", id=name)["task"]["result"] == "new"
            taker.call("release", f"state:{key}")
            holder.kill()
        done += some
        world.check()
    assert moves(world, "complete") == {f"t{number}": 1 for number in range(done)}


def test_a_holder_stopped_past_its_deadline_learns_at_its_next_call_that_nobody_holds_it(world: World) -> None:
    holder = world.actor("holder")
    token = holder.call("claim", "a.py", ttl=0.2)["token"]
    holder.stop()
    time.sleep(0.25)
    holder.go_on()
    for method, named in (("confirm", {"token": token}), ("release", {"token": token})):
        with pytest.raises(Fenced) as caught:
            holder.call(method, "a.py", **named)
        assert caught.value.holder is None
    assert holder.call("claim", "a.py")["token"] > token
    world.check()


def test_a_caller_stopped_while_it_waits_gets_its_turn_or_a_clear_no_but_never_two_claims(world: World) -> None:
    holder = world.actor("holder", lease=400, look=100)
    waiter = world.actor("waiter", lease=400, look=100)
    next_one = world.actor("next", lease=400, look=100)
    holder.call("claim", "a.py")
    waiter.start("claim", "a.py", wait=600)
    world.await_waiters(1)
    next_one.start("claim", "a.py", wait=600)
    world.await_waiters(2)
    world.stop(waiter)
    holder.call("release", "a.py")
    began = time.monotonic()
    assert next_one.receive()["agent"] == "next"
    assert time.monotonic() - began < SOON, "a stopped waiter's place lapses"
    waiter.go_on()
    time.sleep(0.3)
    assert [claim[0] for claim in world.claims()] == ["next"]
    next_one.call("release", "a.py")
    assert waiter.receive()["agent"] == "waiter"
    world.check()
