"""An upgrade (a reader that asks to write) and those who wait for the same thing, on every engine.

A reader's upgrade waits for the other readers alone, passes those who wait in line, is handed over by whoever frees
the way, and takes the read claim up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from dibs.errors import Deadlock, Held
from dibs.machine import clock
from dibs.operations.claims.waiters import WITHDRAW
from tests.operations.engines import OnFile
from tests.operations.fleet import Fleet
from tests.stores.redis_server import opened

if TYPE_CHECKING:
    from collections.abc import Iterator

MINUTE = 60_000


@pytest.fixture(params=["memory", "sqlite", "redis"])
def fleet(request: pytest.FixtureRequest) -> Iterator[Fleet]:
    if request.param == "memory":
        yield Fleet()
    elif request.param == "sqlite":
        on_file = OnFile()
        yield on_file
        on_file.close()
    else:
        on_server = Fleet()
        on_server.store = opened(  # type: ignore[assignment]
            request.getfixturevalue("redis_server").socket_url, clock.random_id()
        )
        yield on_server
        on_server.store.close()


def held(fleet: Fleet) -> list[tuple[str, str]]:
    """Who holds what how."""
    return sorted((claim["agent"], claim["mode"]) for claim in fleet.call("viewer", "status")["claims"])


def waiting(fleet: Fleet) -> list[str]:
    """Who waits, in order."""
    return [place["agent"] for place in fleet.call("viewer", "status")["waiting"]]


def wait(fleet: Fleet, agent: str, mode: str = "write", waiter: str = "") -> str:
    """Ask for x, and get a place in line."""
    place: str = fleet.claim(agent, "x", mode=mode, wait=MINUTE, waiter=waiter)["waiting"]
    return place


@pytest.fixture
def readers(fleet: Fleet) -> Fleet:
    """Ann and bob read x."""
    for reader in ("ann", "bob"):
        fleet.claim(reader, "x", mode="read")
    return fleet


def test_who_waits_in_line_and_holds_nothing_is_not_told_of_a_deadlock_when_a_reader_waits_to_write(
    readers: Fleet,
) -> None:
    cid = wait(readers, "cid")
    wait(readers, "ann")
    assert wait(readers, "cid", waiter=cid) == cid
    assert waiting(readers) == ["cid", "ann"]
    readers.clean()


def test_the_upgrade_is_handed_over_by_the_last_other_reader_past_who_waits_in_line(readers: Fleet) -> None:
    wait(readers, "cid")
    ann = wait(readers, "ann")
    readers.release("bob", "x")
    assert ("ann", "write") in held(readers), "in the transaction that freed it"
    assert readers.claim("ann", "x", wait=MINUTE, waiter=ann)["mode"] == "write"
    assert held(readers) == [("ann", "write")], "the read claim is taken up"
    readers.release("ann", "x")
    assert held(readers) == [("cid", "write")]
    readers.clean()


def test_an_upgrade_with_a_free_way_is_granted_although_somebody_came_first(readers: Fleet) -> None:
    wait(readers, "cid")
    readers.release("bob", "x")
    assert readers.claim("ann", "x", wait=MINUTE)["mode"] == "write"
    assert held(readers) == [("ann", "write")]
    assert waiting(readers) == ["cid"]
    readers.clean()


def test_two_upgrades_of_one_thing_are_a_cycle_and_the_refused_one_leaves_nothing_behind(readers: Fleet) -> None:
    wait(readers, "cid")
    ann = wait(readers, "ann")
    with pytest.raises(Deadlock):
        wait(readers, "bob")
    assert waiting(readers) == ["cid", "ann"]
    readers.release("bob", "x")  # as it is told to
    assert readers.claim("ann", "x", wait=MINUTE, waiter=ann)["mode"] == "write"
    readers.release("ann", "x")
    cid = readers.call("viewer", "status")["claims"]
    assert [(claim["agent"], claim["mode"]) for claim in cid] == [("cid", "write")]
    readers.release("cid", "x")
    assert held(readers) == []
    assert waiting(readers) == []
    assert readers.claim("dan", "x")["token"]
    readers.clean()


def test_a_refused_upgrade_does_not_make_its_agents_other_claims_deadlocks(readers: Fleet) -> None:
    wait(readers, "ann")
    with pytest.raises(Deadlock):
        wait(readers, "bob")
    readers.claim("cid", "y")
    assert wait_for(readers, "bob", "y")
    readers.clean()


def wait_for(fleet: Fleet, agent: str, name: str) -> Any:
    """A place in another line."""
    return fleet.claim(agent, name, wait=MINUTE)["waiting"]


def test_an_upgrade_that_gives_up_keeps_its_read_claim_and_no_place(readers: Fleet) -> None:
    ann = wait(readers, "ann")
    with pytest.raises(Held):
        readers.claim("ann", "x", waiter=ann)
    assert waiting(readers) == []
    assert held(readers) == [("ann", "read"), ("bob", "read")]
    readers.clean()


def test_an_interrupted_wait_leaves_no_place_and_who_stood_behind_it_moves_up(readers: Fleet) -> None:
    place = wait(readers, "cid")
    behind = wait(readers, "dan", mode="read")
    readers.internal("cid", WITHDRAW, waiter=place, claims=())
    assert waiting(readers) == []
    assert ("dan", "read") in held(readers)
    assert readers.claim("dan", "x", mode="read", wait=MINUTE, waiter=behind)["mode"] == "read"
    readers.clean()


def test_an_interrupted_wait_gives_back_what_it_was_handed_and_nothing_that_was_held_before(readers: Fleet) -> None:
    ann = wait(readers, "ann")
    readers.release("bob", "x")  # handed over; ann is interrupted before she hears of it
    readers.internal("ann", WITHDRAW, waiter=ann, claims=())
    assert held(readers) == [("ann", "read")]
    readers.clean()


def test_an_interrupted_call_gives_back_a_grant_that_nobody_heard_of(fleet: Fleet) -> None:
    claim = fleet.claim("ann", "x", wait=MINUTE)["claim"]
    place = wait(fleet, "bob")
    fleet.internal("ann", WITHDRAW, waiter="", claims=[claim])
    assert held(fleet) == [("bob", "write")]
    fleet.internal("cid", WITHDRAW, waiter=place, claims=[claim])  # what is somebody else's is not touched
    assert held(fleet) == [("bob", "write")]
    fleet.clean()


def test_an_upgrade_that_was_granted_stays_when_its_call_is_interrupted(fleet: Fleet) -> None:
    fleet.claim("ann", "x", mode="read")
    claim = fleet.claim("ann", "x", wait=MINUTE)["claim"]
    fleet.internal("ann", WITHDRAW, waiter="", claims=[claim])
    assert held(fleet) == [("ann", "write")]
    fleet.clean()
