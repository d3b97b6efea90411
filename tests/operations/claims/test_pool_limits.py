"""Pools with a rate, pools that mind the machine's pressure, units that something else uses, units of each machine."""

from __future__ import annotations

from typing import Any

import pytest

from dibs.errors import Deadlock, Held, Invalid, NotFound
from tests.operations.claims.test_pool_waiting import poll
from tests.operations.claims.test_pools import MINUTE, held, pool, pools
from tests.operations.claims.test_waiting import wait
from tests.operations.fleet import Fleet


def rated(**said: Any) -> Fleet:
    """A fleet with a pool that lets two through each minute, one every 30 s, and at most `burst` at once."""
    return Fleet(pools=pools(api=pool(rate={"count": 2, "per": MINUTE, "burst": said.pop("burst", 1)}, **said)))


# --- rates


def test_a_claim_of_a_rate_takes_a_token_and_ends_at_once() -> None:
    fleet = rated(burst=2)
    for _ in range(2):
        answer = fleet.claim("a", "pool:api")
        assert (answer["resources"], answer["used_up"]) == (["pool:api"], ["pool:api"])
    assert fleet.holders() == []
    with pytest.raises(Held) as refused:
        fleet.claim("b", "pool:api")
    assert refused.value.message.startswith("pool:api lets through 2 in 60 s; your turn is in 30 s. Wait: ")
    fleet.now += 29_999
    with pytest.raises(Held):
        fleet.claim("b", "pool:api")
    fleet.now += 1
    fleet.claim("b", "pool:api")
    fleet.clean()


def test_waiters_for_a_rate_take_their_turn_at_their_own_look_and_are_told_when() -> None:
    fleet = rated()
    fleet.claim("a", "pool:api")
    first, second = wait(fleet, "b", "pool:api"), wait(fleet, "c", "pool:api")
    for _ in range(5):
        fleet.now += 5_000
        assert poll(fleet, "c", second, "pool:api")["look_in"] == 5_000
        look_in = poll(fleet, "b", first, "pool:api")["look_in"]
    fleet.now += look_in
    assert poll(fleet, "c", second, "pool:api")["waiting"], "b comes first"
    assert poll(fleet, "b", first, "pool:api")["used_up"]
    assert poll(fleet, "c", second, "pool:api")["waiting"], "the token is b's"
    fleet.clean()


def test_a_file_next_to_a_rate_stays_claimed() -> None:
    fleet = rated()
    answer = fleet.claim("a", "x.py", "pool:api")
    assert (sorted(answer["resources"]), answer["used_up"]) == (["pool:api", "x.py"], ["pool:api"])
    assert fleet.holders() == [("a", "x.py")]
    fleet.clean()


def test_a_rate_may_be_joined_with_units() -> None:
    fleet = rated(size=2)
    assert fleet.claim("a", "pool:api")["unit"] == "0"
    with pytest.raises(Held):
        fleet.claim("b", "pool:api")
    fleet.now += 30_000
    assert fleet.claim("b", "pool:api")["unit"] == "1"
    fleet.now += 30_000
    with pytest.raises(Held):
        fleet.claim("c", "pool:api")
    waiter = wait(fleet, "c", "pool:api")
    fleet.release("a")
    assert len(held(fleet)) == 1, "it takes its unit at its own look"
    assert poll(fleet, "c", waiter, "pool:api")["unit"] == "0"
    fleet.clean()


def test_more_than_a_burst_is_never_let_through() -> None:
    with pytest.raises(Invalid) as refused:
        rated(burst=2).claim("a", "pool:api", units=3)
    assert "pool:api lets through 2 at once, never 3" in refused.value.message
    assert rated(burst=3).claim("a", "pool:api", units=3)["used_up"]


def test_a_retry_with_its_request_id_takes_no_second_token() -> None:
    fleet = rated()
    first = fleet.claim("a", "pool:api", request="r1")
    assert fleet.claim("a", "pool:api", request="r1") == first


def test_a_wait_for_a_rate_is_no_deadlock() -> None:
    fleet = rated()
    fleet.claim("a", "x.py", "pool:api")
    fleet.claim("b", "x.py", wait=MINUTE)
    assert wait(fleet, "a", "pool:api")


def test_status_shows_a_rate_without_units() -> None:
    fleet = rated()
    assert fleet.call("v", "status")["pools"] == [
        {"name": "pool:api", "size": 0, "free": 0, "taken": [], "waiting": []}
    ]


# --- pressure


def test_a_pool_that_minds_the_pressure_gives_out_nothing_above_it() -> None:
    fleet = Fleet(pools=pools(build=pool(size=2, pressure={"of": "io", "most": 40})))
    with pytest.raises(Held) as refused:
        fleet.claim("a", "pool:build", pressure={"io": 63.5})
    assert "while this machine's io pressure is above 40 %; it is 63.5 %" in refused.value.message
    waiter = wait(fleet, "a", "pool:build", pressure={"io": 63.5})
    fleet.now += 2_000
    assert poll(fleet, "a", waiter, "pool:build", pressure={"io": 41})["look_in"] == 2_000
    assert poll(fleet, "a", waiter, "pool:build", pressure={"io": 40, "cpu": 99})["unit"] == "0"
    fleet.clean()


def test_an_unknown_pressure_holds_nobody_up() -> None:
    fleet = Fleet(pools=pools(build=pool(size=1, pressure={"of": "io", "most": 40})))
    assert fleet.claim("a", "pool:build")["unit"] == "0"


def test_while_the_pressure_is_high_those_who_came_first_stay_first() -> None:
    fleet = Fleet(pools=pools(build=pool(size=1, pressure={"of": "io", "most": 40})))
    first = wait(fleet, "a", "pool:build", pressure={"io": 90})
    second = wait(fleet, "b", "pool:build", pressure={"io": 90})
    assert poll(fleet, "b", second, "pool:build", pressure={"io": 1})["waiting"]
    assert poll(fleet, "a", first, "pool:build", pressure={"io": 1})["unit"] == "0"


# --- units that something else uses


def test_a_unit_that_something_else_uses_is_not_given_out() -> None:
    fleet = Fleet(pools=pools(port=pool(range=[1, 3])))
    assert fleet.claim("a", "pool:port", unusable=["pool:port:1", "2", "x"])["unit"] == "3"
    assert fleet.claim("b", "pool:port:1", unusable=["1"])["unit"] == "1", "who names it, means it"
    with pytest.raises(Held) as refused:
        fleet.claim("c", "pool:port", unusable=["2"])
    assert "1 of pool:port are in use on this machine, by no agent" in refused.value.message
    waiter = wait(fleet, "c", "pool:port", unusable=["2"])
    assert poll(fleet, "c", waiter, "pool:port")["unit"] == "2"
    fleet.clean()


def test_without_any_holder_a_request_waits_for_what_else_is_used() -> None:
    fleet = Fleet(pools=pools(port=pool(range=[1, 1])))
    with pytest.raises(Held) as refused:
        fleet.claim("a", "pool:port", unusable=["1"])
    assert refused.value.blockers == []
    assert refused.value.message == (
        "pool:port has 1 unit, 1 free; 1 of pool:port are in use on this machine, by no agent. "
        "Wait: `dibs claim pool:port --wait 60s`; or pick other work."
    )
    waiter = wait(fleet, "a", "pool:port", unusable=["1"])
    assert poll(fleet, "a", waiter, "pool:port")["unit"] == "1"


# --- units of each machine


@pytest.fixture
def machines() -> Fleet:
    """A fleet on two machines, each of which has one unit."""
    return Fleet(pools=pools(gpu=pool(size=1, scope="machine")))


def test_each_machine_has_units_of_its_own(machines: Fleet) -> None:
    one = machines.claim("a", "pool:gpu", machine="m1")
    two = machines.claim("b", "pool:gpu", machine="m2")
    assert (one["resources"], two["resources"]) == (["pool:gpu@m1:0"], ["pool:gpu@m2:0"])
    assert one["unit"] == two["unit"] == "0"
    with pytest.raises(Held) as refused:
        machines.claim("c", "pool:gpu", machine="m2")
    assert [blocker["agent"] for blocker in refused.value.blockers] == ["b"]


def test_the_plain_name_is_enough_to_release_confirm_and_ask(machines: Fleet) -> None:
    token = machines.claim("a", "pool:gpu", machine="m1")["token"]
    assert machines.call("a", "confirm", resource="pool:gpu", token=token)["token"] == token
    assert machines.call("b", "ask", resource="pool:gpu", text="soon?")["to"] == ["a"]
    assert machines.claim("a", "pool:gpu", machine="m1")["token"] == token
    assert machines.release("a", "pool:gpu")["released"] == ["pool:gpu@m1:0"]


def test_a_waiter_gets_a_unit_of_its_machine(machines: Fleet) -> None:
    for agent, machine in (("a", "m1"), ("b", "m2")):
        machines.claim(agent, "pool:gpu", machine=machine)
    waiter = wait(machines, "c", "pool:gpu", machine="m2")
    machines.release("a")
    machines.release("b")
    assert poll(machines, "c", waiter, "pool:gpu", machine="m2")["resources"] == ["pool:gpu@m2:0"]
    machines.clean()


def test_without_its_machine_a_caller_gets_no_unit_of_one(machines: Fleet) -> None:
    with pytest.raises(Invalid):
        machines.claim("a", "pool:gpu")


def test_a_pool_of_the_workspace_has_no_units_of_a_machine() -> None:
    with pytest.raises(NotFound):
        Fleet(pools=pools(build=pool(size=1))).claim("a", "pool:build@m1")


# --- deadlocks, by example


def test_two_that_hold_a_unit_each_and_want_two_more_are_told() -> None:
    fleet = Fleet(pools=pools(build=pool(size=3)))
    fleet.claim("a", "pool:build")
    fleet.claim("b", "pool:build")
    wait(fleet, "a", "pool:build", units=2)
    with pytest.raises(Deadlock):
        wait(fleet, "b", "pool:build", units=2)


def test_who_has_all_units_and_wants_one_more_waits_for_itself() -> None:
    fleet = Fleet(pools=pools(build=pool(size=3)))
    fleet.claim("a", "pool:build", units=2)
    with pytest.raises(Deadlock) as refused:
        wait(fleet, "a", "pool:build", units=3)
    assert {(step["agent"], step["holder"]) for step in refused.value.cycle} == {("a", "a")}


def test_a_cycle_through_one_of_two_holders_is_no_deadlock() -> None:
    fleet = Fleet(pools=pools(build=pool(size=2)))
    fleet.claim("a", "x.py")
    fleet.claim("b", "pool:build")
    fleet.claim("c", "pool:build")
    wait(fleet, "b", "x.py")
    waiter = wait(fleet, "a", "pool:build")
    with pytest.raises(Deadlock):
        wait(fleet, "c", "x.py")  # now both holders would wait for a
    fleet.release("c")
    assert poll(fleet, "a", waiter, "pool:build")["unit"] == "1"
    fleet.clean()


def test_a_command_that_waits_for_another_one_of_its_agent_is_no_deadlock() -> None:
    fleet = Fleet(pools=pools(build=pool(size=1)))
    fleet.claim("a", "pool:build", by="shell")
    assert wait(fleet, "a", "pool:build", by="shell")


def test_a_parent_that_waits_for_a_child_which_waits_for_it_is_told() -> None:
    fleet = Fleet(pools=pools(build=pool(size=1), gpu=pool(size=1)))
    fleet.claim("a", "pool:build")
    fleet.claim("a/b", "pool:gpu")
    wait(fleet, "a/b", "pool:build")
    with pytest.raises(Deadlock):
        wait(fleet, "a", "pool:gpu")


def test_a_place_of_a_command_keeps_no_unit_from_a_later_one() -> None:
    """Its command ends by itself, whatever else its agent waits for."""
    fleet = Fleet(pools=pools(build=pool(size=3)))
    fleet.claim("b", "n:1")
    fleet.claim("a", "pool:build")
    fleet.claim("c", "pool:build")
    wait(fleet, "a", "n:1")
    wait(fleet, "a", "pool:build:1", by="shell")
    assert wait(fleet, "b", "pool:build", units=2)
