"""Waiting for units of pools: order, reservations, hand-over, what a changed config does to a waiter."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from dibs.errors import Held, Invalid, NotFound, Quota
from tests.operations.claims.test_pools import MINUTE, USUAL, held, pool, pools
from tests.operations.claims.test_waiting import wait
from tests.operations.fleet import Fleet

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def fleet() -> Iterator[Fleet]:
    """A fleet whose config has some pools; the log is verified at the end."""
    fleet = Fleet(pools=USUAL)
    yield fleet
    fleet.clean()


def poll(fleet: Fleet, agent: str, waiter: str, *names: str, **fields: Any) -> Any:
    """A waiter's next look."""
    return fleet.claim(agent, *names, wait=MINUTE, waiter=waiter, **fields)


# --- order


def test_a_release_hands_the_unit_to_the_first_in_the_same_transaction(fleet: Fleet) -> None:
    for agent in ("a", "b"):
        fleet.claim(agent, "pool:build")
    first = wait(fleet, "c", "pool:build")
    wait(fleet, "d", "pool:build")
    fleet.release("b")
    assert held(fleet) == [("a", "build:0"), ("c", "build:1")]
    released, granted = fleet.events("claim.released")[0], fleet.events("claim.granted")[-1]
    assert released["commit"] == granted["commit"]
    assert granted["data"]["pools"] == {"pool:build": 2}
    picked = poll(fleet, "c", first, "pool:build")
    assert (picked["unit"], picked["renewed"], picked["token"]) == ("1", False, granted["commit"])


def test_several_freed_units_serve_several_waiters_in_one_transaction(fleet: Fleet) -> None:
    fleet.claim("a", "pool:gpu", units=3)
    for agent in "bcde":
        wait(fleet, agent, "pool:gpu")
    fleet.release("a")
    assert held(fleet) == [("b", "gpu:a"), ("c", "gpu:b"), ("d", "gpu:c")]


def test_a_large_request_is_not_starved_by_small_ones(fleet: Fleet) -> None:
    for agent in "abc":
        fleet.claim(agent, "pool:gpu")
    large = wait(fleet, "large", "pool:gpu", units=2)
    wait(fleet, "small", "pool:gpu")
    fleet.release("b")
    assert held(fleet) == [("a", "gpu:a"), ("c", "gpu:c")], "the free unit is kept for the large one"
    with pytest.raises(Held) as refused:
        fleet.claim("late", "pool:gpu")
    assert [one["agent"] for one in refused.value.blockers] == ["a", "c", "large", "small"]
    fleet.release("a")
    assert poll(fleet, "large", large, "pool:gpu", units=2)["units"] == ["a", "b"]
    fleet.release("c")
    assert ("small", "gpu:c") in held(fleet)


def test_one_that_waits_for_a_named_unit_holds_up_nobody_else(fleet: Fleet) -> None:
    fleet.claim("a", "pool:gpu:a")
    named = wait(fleet, "b", "pool:gpu:a")
    assert fleet.claim("c", "pool:gpu")["unit"] == "b"
    fleet.release("a")
    assert poll(fleet, "b", named, "pool:gpu:a")["unit"] == "a"


def test_a_named_unit_is_kept_for_its_earlier_waiter(fleet: Fleet) -> None:
    fleet.claim("a", "x.py")
    wait(fleet, "b", "x.py", "pool:gpu:a")
    assert fleet.claim("c", "pool:gpu")["unit"] == "b"
    with pytest.raises(Held):
        fleet.claim("d", "pool:gpu:a")


def test_a_request_for_a_file_and_a_unit_keeps_its_place_in_both_queues(fleet: Fleet) -> None:
    fleet.claim("a", "x.py")
    fleet.claim("b", "pool:build:0")
    both = wait(fleet, "c", "x.py", "pool:build", units=1)
    wait(fleet, "d", "pool:build")
    wait(fleet, "e", "x.py")
    assert held(fleet) == [("a", "x.py"), ("b", "build:0")], "the free unit is kept for the earlier one"
    fleet.release("b")
    assert ("d", "build:1") in held(fleet)
    fleet.release("a")
    assert sorted(poll(fleet, "c", both, "x.py", "pool:build")["resources"]) == ["pool:build:0", "x.py"]


def test_a_waiter_of_the_family_keeps_its_turn_too(fleet: Fleet) -> None:
    fleet.claim("x", "pool:build", units=2)
    wait(fleet, "a/b", "pool:build", units=2)
    wait(fleet, "a", "pool:build")
    fleet.release("x", "pool:build:0")
    assert held(fleet) == [("x", "build:1")]


def test_a_waiter_is_served_by_its_own_look_when_a_unit_expires(fleet: Fleet) -> None:
    fleet.claim("a", "pool:build", ttl=3000)
    fleet.claim("b", "pool:build")
    first, second = wait(fleet, "c", "pool:build"), wait(fleet, "d", "pool:build")
    fleet.now += 3000
    assert "waiting" in poll(fleet, "d", second, "pool:build")
    assert poll(fleet, "c", first, "pool:build")["unit"] == "0"


def test_the_first_in_line_finds_dead_holders(fleet: Fleet) -> None:
    for number in range(2):
        fleet.claim(f"h{number}", "pool:build", client=number + 1)
    waiter = wait(fleet, "a", "pool:build")
    fleet.kill9(2)
    fleet.now += 1000
    assert poll(fleet, "a", waiter, "pool:build")["unit"] == "1"


def test_an_absent_waiter_is_skipped_and_reserves_nothing(fleet: Fleet) -> None:
    for agent in "abc":
        fleet.claim(agent, "pool:gpu")
    wait(fleet, "large", "pool:gpu", units=3)
    fleet.now += 14_000
    wait(fleet, "d", "pool:gpu")
    fleet.now += 1_000
    fleet.release("c")
    assert ("d", "gpu:c") in held(fleet)


@pytest.mark.parametrize("how", ["timeout", "kill", "leave", "withdraw"])
def test_a_waiter_that_ends_lets_those_after_it_move_up(fleet: Fleet, how: str) -> None:
    for agent in "ab":
        fleet.claim(agent, "pool:gpu")
    large = wait(fleet, "large", "pool:gpu", units=2)
    wait(fleet, "small", "pool:gpu")
    assert len(held(fleet)) == 2
    if how == "timeout":
        with pytest.raises(Held):
            fleet.claim("large", "pool:gpu", units=2, wait=0, waiter=large)
    elif how == "withdraw":
        from dibs.operations.claims.waiters import WITHDRAW

        fleet.internal("large", WITHDRAW, waiter=large)
    elif how == "kill":
        fleet.call("a", "kill", agent="large", why="test")
    else:
        fleet.call("large", "leave")
    assert held(fleet) == [("a", "gpu:a"), ("b", "gpu:b"), ("small", "gpu:c")]
    assert fleet.call("v", "status")["waiting"] == []


# --- hand-over


def test_a_hand_over_that_is_not_picked_up_passes_on(fleet: Fleet) -> None:
    fleet.claim("a", "pool:build", units=2)
    wait(fleet, "b", "pool:build")
    second = wait(fleet, "c", "pool:build", units=2)
    fleet.release("a")
    assert held(fleet) == [("b", "build:0")]
    for _ in range(3):
        fleet.now += 5_000
        answer = poll(fleet, "c", second, "pool:build", units=2)
    assert answer["units"] == ["0", "1"]


def test_an_interrupted_wait_gives_a_unit_back_that_was_handed_over(fleet: Fleet) -> None:
    from dibs.operations.claims.waiters import WITHDRAW

    fleet.claim("a", "pool:build", units=2)
    waiter = wait(fleet, "b", "pool:build", by="shell")
    fleet.release("a")
    fleet.internal("b", WITHDRAW, waiter=waiter)
    assert held(fleet) == []


def test_two_commands_of_one_agent_wait_for_a_unit_each(fleet: Fleet) -> None:
    fleet.claim("a", "pool:build", units=2)
    one, two = (wait(fleet, "b", "pool:build", by="shell") for _ in range(2))
    assert one != two
    fleet.release("a")
    picked = [poll(fleet, "b", waiter, "pool:build", by="shell")["unit"] for waiter in (two, one)]
    assert picked == ["1", "0"], "each its own"


def test_an_agent_that_asks_again_by_hand_keeps_its_place(fleet: Fleet) -> None:
    fleet.claim("a", "pool:build", units=2)
    first = wait(fleet, "b", "pool:build")
    again = wait(fleet, "b", "pool:build")
    assert len(fleet.call("v", "status")["waiting"]) == 1
    fleet.release("a")
    one, two = poll(fleet, "b", again, "pool:build"), poll(fleet, "b", first, "pool:build")
    assert one["claim"] == two["claim"]
    assert len(held(fleet)) == 1


def test_a_wait_for_more_units_is_another_place(fleet: Fleet) -> None:
    fleet.claim("a", "pool:gpu", units=3)
    one, two = wait(fleet, "b", "pool:gpu"), wait(fleet, "b", "pool:gpu", units=2)
    fleet.release("a")
    assert poll(fleet, "b", one, "pool:gpu")["units"] == ["a"]
    assert poll(fleet, "b", two, "pool:gpu", units=2)["units"] == ["b", "c"]


def test_release_to_an_agent_passes_the_queue(fleet: Fleet) -> None:
    fleet.call("c", "boot")
    fleet.claim("a", "pool:build", units=2)
    wait(fleet, "b", "pool:build")
    fleet.release("a", "pool:build:1", to="c")
    assert held(fleet) == [("a", "build:0"), ("c", "build:1")]


def test_a_unit_that_is_taken_away_by_force_goes_to_the_first_waiter(fleet: Fleet) -> None:
    fleet.claim("a", "pool:build", units=2)
    wait(fleet, "b", "pool:build")
    fleet.call("boss", "release", resources=["pool:build:1"], force=True, why="hangs")
    assert held(fleet) == [("b", "build:0")], "its claim was on both"


def test_a_retry_of_a_wait_gets_the_answer_that_the_wait_got(fleet: Fleet) -> None:
    fleet.claim("a", "pool:build", units=2)
    waiter = wait(fleet, "b", "pool:build", request="r1")
    fleet.release("a")
    answer = poll(fleet, "b", waiter, "pool:build", request="r1")
    assert fleet.claim("b", "pool:build", wait=10 * MINUTE, request="r1") == answer
    assert len(held(fleet)) == 1


# --- a config that changes while somebody waits


def test_a_waiter_whose_pool_is_gone_is_refused_and_leaves_the_queue(fleet: Fleet) -> None:
    fleet.claim("a", "pool:build", units=2)
    waiter = wait(fleet, "b", "pool:build")
    fleet.policy.pools = pools()
    with pytest.raises(NotFound):
        poll(fleet, "b", waiter, "pool:build")
    assert fleet.call("v", "status")["waiting"] == []


def test_a_waiter_for_more_than_there_are_by_now_is_refused(fleet: Fleet) -> None:
    fleet.claim("a", "pool:gpu", units=3)
    waiter = wait(fleet, "b", "pool:gpu", units=3)
    fleet.policy.pools = pools(gpu=pool(units=["a", "b"]))
    with pytest.raises(Invalid):
        poll(fleet, "b", waiter, "pool:gpu", units=3)
    fleet.release("a")
    assert held(fleet) == []


def test_a_waiter_gets_units_of_the_config_that_it_saw_last(fleet: Fleet) -> None:
    fleet.claim("a", "pool:build", units=2)
    waiter = wait(fleet, "b", "pool:build", units=1)
    fleet.policy.pools = pools(build=pool(size=3))
    assert poll(fleet, "b", waiter, "pool:build")["unit"] == "2"


def test_two_configs_never_give_one_unit_to_two(fleet: Fleet) -> None:
    fleet.policy.pools = pools(build=pool(size=4))
    for agent in "abc":
        fleet.claim(agent, "pool:build")
    waiter = wait(fleet, "d", "pool:build", units=2)
    fleet.policy.pools = pools(build=pool(size=2))
    small = wait(fleet, "e", "pool:build")
    fleet.release("a")
    assert held(fleet) == [("b", "build:1"), ("c", "build:2"), ("d", "build:0"), ("d", "build:3")]
    fleet.release("b")
    fleet.release("c")
    assert len(held(fleet)) == 2, "by its own config the pool is full"
    fleet.policy.pools = pools(build=pool(size=4))
    assert poll(fleet, "d", waiter, "pool:build", units=2)["units"] == ["0", "3"]
    fleet.policy.pools = pools(build=pool(size=2))
    fleet.release("d")
    assert poll(fleet, "e", small, "pool:build")["unit"] == "0"


# --- limits


def test_an_agent_waits_for_a_limited_number_of_things_at_a_time(fleet: Fleet) -> None:
    fleet.claim("a", "pool:build", units=2)
    for _ in range(16):
        wait(fleet, "b", "pool:build", by="shell")
    with pytest.raises(Quota):
        wait(fleet, "b", "pool:build", by="shell")


def test_many_waiters_of_a_large_pool_are_served_in_order() -> None:
    fleet = Fleet(pools=pools(port=pool(range=[1, 100])))
    fleet.claim("a", "pool:port", units=100)
    for number in range(60):
        wait(fleet, f"w{number:02d}", "pool:port")
    fleet.release("a")
    served = [agent for agent, _ in held(fleet)]
    assert served[:32] == [f"w{number:02d}" for number in range(32)], "the others at their own next look"
    fleet.clean()


# --- status


def test_status_has_the_pools_with_who_has_what_and_who_waits(fleet: Fleet) -> None:
    fleet.claim("a", "pool:gpu:b")
    fleet.claim("b", "pool:gpu", units=2)
    wait(fleet, "c", "pool:gpu", units=2)
    wait(fleet, "d", "x.py", "pool:gpu:a")
    shown = {one["name"]: one for one in fleet.call("v", "status")["pools"]}
    assert list(shown) == ["pool:build", "pool:port", "pool:gpu", "pool:db"]
    gpu = shown["pool:gpu"]
    assert (gpu["size"], gpu["free"], shown["pool:build"]["free"]) == (3, 0, 2)
    assert [(one["unit"], one["agent"]) for one in gpu["taken"]] == [("b", "a"), ("a", "b"), ("c", "b")]
    assert [(one["agent"], one["units"]) for one in gpu["waiting"]] == [("c", 2), ("d", 1)]
    assert [one["name"] for one in fleet.call("v", "status", resources=["pool:gpu:a"])["pools"]] == ["pool:gpu"]
    assert "pools" not in fleet.call("v", "status", resources=["x.py"])
    assert [one.get("units") for one in fleet.call("v", "status")["waiting"]] == [2, 1]


def test_status_leaves_out_what_expired_or_belongs_to_a_dead_process(fleet: Fleet) -> None:
    fleet.claim("a", "pool:build", ttl=1000)
    fleet.claim("b", "pool:build", client=7)
    fleet.now += 1000
    fleet.kill9(7)
    build = fleet.call("v", "status")["pools"][0]
    assert (build["taken"], build["free"]) == ([], 2)


def test_without_pools_in_the_config_status_says_nothing_of_them() -> None:
    assert "pools" not in Fleet().call("v", "status")
