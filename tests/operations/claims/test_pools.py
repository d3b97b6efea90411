"""Pools: units are claimed as names are; what is granted, what is refused, and what becomes of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from dibs.errors import Fenced, Held, Invalid, NotFound, Order
from tests.operations.fleet import Fleet

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dibs.operations.pools.shapes import Pool, PoolSettings

MINUTE = 60_000


def pool(**said: Any) -> Pool:
    """A pool as the config has it."""
    return {"wait": 10 * MINUTE, "on_timeout": "refuse", "scope": "workspace", **said}  # type: ignore[typeddict-item]


def pools(**named: Pool) -> PoolSettings:
    """[pools]."""
    return {"named": named, "use": []}


USUAL = pools(build=pool(size=2), port=pool(range=[3100, 3199]), gpu=pool(units=["a", "b", "c"]),
              db=pool(names=["app_", "_test"], size=4))  # fmt: skip


@pytest.fixture
def fleet() -> Iterator[Fleet]:
    """A fleet whose config has some pools; the log is verified at the end."""
    fleet = Fleet(pools=USUAL)
    yield fleet
    fleet.clean()


def held(fleet: Fleet) -> list[tuple[str, str]]:
    return [(agent, text.removeprefix("pool:")) for agent, text in fleet.holders()]


# --- granting


def test_a_claim_of_a_pool_gets_the_first_free_unit_and_says_which(fleet: Fleet) -> None:
    one = fleet.claim("a", "pool:build")
    two = fleet.claim("b", "pool:build")
    assert (one["resources"], one["unit"], one["units"]) == (["pool:build:0"], "0", ["0"])
    assert two["unit"] == "1"
    assert two["token"] > one["token"]


@pytest.mark.parametrize(("name", "unit"), [("port", "3100"), ("gpu", "a"), ("db", "app_0_test")])
def test_each_form_of_a_pool_has_its_own_names(fleet: Fleet, name: str, unit: str) -> None:
    assert fleet.claim("a", f"pool:{name}")["unit"] == unit


def test_several_units_are_all_granted_or_none(fleet: Fleet) -> None:
    fleet.claim("a", "pool:gpu:b")
    answer = fleet.claim("b", "pool:gpu", units=2)
    assert answer["units"] == ["a", "c"]
    assert "unit" not in answer
    fleet.release("b")
    fleet.claim("c", "pool:gpu")
    with pytest.raises(Held):
        fleet.claim("b", "pool:gpu", units=2)
    assert held(fleet) == [("a", "gpu:b"), ("c", "gpu:a")]


def test_a_named_unit_and_any_other_one_in_one_request(fleet: Fleet) -> None:
    assert fleet.claim("a", "pool:gpu:b", "pool:gpu", units=2)["units"] == ["b", "a", "c"]


def test_files_and_units_of_two_pools_are_all_granted_or_none(fleet: Fleet) -> None:
    fleet.claim("a", "x.py")
    with pytest.raises(Held) as refused:
        fleet.claim("b", "x.py", "pool:build", "pool:port")
    assert [blocker["resource"] for blocker in refused.value.blockers] == ["x.py"]
    assert held(fleet) == [("a", "x.py")]
    fleet.release("a")
    answer = fleet.claim("b", "x.py", "pool:build", "pool:port")
    assert answer["resources"] == ["x.py", "pool:build:0", "pool:port:3100"]
    assert answer["units"] == ["0", "3100"]


def test_a_full_pool_is_refused_with_its_holders_and_its_size(fleet: Fleet) -> None:
    fleet.claim("a", "pool:build", reason="tests")
    fleet.claim("b", "pool:build")
    with pytest.raises(Held) as refused:
        fleet.claim("c", "pool:build")
    assert [(one["agent"], one["resource"]) for one in refused.value.blockers] == [
        ("a", "pool:build:0"), ("b", "pool:build:1"),
    ]  # fmt: skip
    assert refused.value.free == {"pool:build": [0, 2]}
    assert refused.value.message.startswith("pool:build has 2 units, none free: ")
    assert "`dibs claim pool:build --wait 60s`" in refused.value.message


def test_a_refusal_of_several_units_advises_as_many(fleet: Fleet) -> None:
    fleet.claim("a", "pool:gpu")
    with pytest.raises(Held) as refused:
        fleet.claim("b", "pool:gpu", units=3)
    assert refused.value.message.startswith("pool:gpu has 3 units, 2 free: ")
    assert "`dibs claim pool:gpu --units 3 --wait 60s`" in refused.value.message


def test_a_subagent_and_its_parent_do_not_share_a_unit(fleet: Fleet) -> None:
    assert [fleet.claim(agent, "pool:build")["unit"] for agent in ("a", "a/b")] == ["0", "1"]
    with pytest.raises(Held):
        fleet.claim("a/c", "pool:build")
    with pytest.raises(Held):
        fleet.claim("a/b", "pool:build:0")


# --- the same agent again


def test_an_agent_that_has_enough_units_refreshes_its_claim(fleet: Fleet) -> None:
    first = fleet.claim("a", "pool:gpu", units=2)
    again = fleet.claim("a", "pool:gpu")
    assert (again["token"], again["renewed"], again["units"]) == (first["token"], True, ["a", "b"])
    assert fleet.claim("a", "pool:gpu:b")["token"] == first["token"]
    assert len(fleet.holders()) == 2


def test_an_agent_that_wants_more_than_it_has_gets_them_under_a_new_claim(fleet: Fleet) -> None:
    first = fleet.claim("a", "pool:port")
    more = fleet.claim("a", "pool:port", units=2)
    assert more["token"] > first["token"]
    assert more["units"] == ["3101", "3102"]
    assert len(held(fleet)) == 3


def test_each_command_of_an_agent_has_its_own_unit(fleet: Fleet) -> None:
    by_hand = fleet.claim("a", "pool:port")
    commands = [fleet.claim("a", "pool:port", by="shell") for _ in range(2)]
    assert [answer["unit"] for answer in commands] == ["3101", "3102"]
    assert fleet.claim("a", "pool:port")["token"] == by_hand["token"]


def test_the_unit_of_a_command_is_no_claim_by_hand(fleet: Fleet) -> None:
    fleet.claim("a", "pool:build", by="shell")
    assert fleet.claim("a", "pool:build")["unit"] == "1"
    with pytest.raises(Held):
        fleet.claim("b", "pool:build")


def test_a_request_id_gets_the_same_unit_again(fleet: Fleet) -> None:
    first = fleet.claim("a", "pool:port", by="shell", request="r1")
    assert fleet.claim("a", "pool:port", by="shell", request="r1")["claim"] == first["claim"]
    assert len(held(fleet)) == 1


def test_an_agent_may_name_its_own_unit_next_to_a_file(fleet: Fleet) -> None:
    fleet.claim("a", "pool:build:1")
    assert fleet.claim("a", "x.py", "pool:build:1")["resources"] == ["x.py", "pool:build:1"]
    fleet.claim("b", "pool:build:0")
    with pytest.raises(Held):
        fleet.claim("c", "pool:build")


# --- what makes no sense


@pytest.mark.parametrize(
    ("names", "fields", "text"),
    [
        (["pool:build:2"], {}, "pool:build has no unit '2'; it has 0, 1"),
        (["pool:port:80"], {}, "pool:port has no unit '80'; it has 3100 … 3199"),
        (["pool:build:"], {}, "pool:build has no unit ''"),
        (["pool:build"], {"units": 3}, "pool:build has 2 units; 3 will never be free"),
        (["pool:build", "pool:build:0"], {"units": 2}, "pool:build has 2 units; 3 will never be free"),
        (["pool:build"], {"mode": "read"}, "it cannot be claimed to read"),
        (["pool:build:0"], {"mode": "watch"}, "it cannot be claimed to watch"),
        (["x.py"], {"units": 2}, "no pool is named"),
        (["pool:build:0"], {"units": 2}, "no pool is named"),
    ],
)
def test_a_request_that_makes_no_sense_is_invalid(fleet: Fleet, names: list[str], fields: Any, text: str) -> None:
    with pytest.raises(Invalid) as refused:
        fleet.claim("a", *names, **fields)
    assert text in refused.value.message
    assert not fleet.holders()


def test_an_unknown_pool_is_refused_with_those_that_there_are(fleet: Fleet) -> None:
    with pytest.raises(NotFound) as refused:
        fleet.claim("a", "pool:biuld")
    assert "there is no pool pool:biuld; there is pool:build, pool:port, pool:gpu, pool:db." in refused.value.message
    with pytest.raises(NotFound):
        fleet.claim("a", "pool:")


def test_without_pools_in_the_config_there_is_none() -> None:
    with pytest.raises(NotFound) as refused:
        Fleet().claim("a", "pool:build")
    assert "[pools] of .dibs/config.toml defines none" in refused.value.message


def test_the_order_counts_the_units_of_a_pool_as_one() -> None:
    fleet = Fleet(pools=USUAL, ordering="enforce")
    fleet.claim("a", "pool:gpu:c")
    assert fleet.claim("a", "pool:gpu:a")["unit"] == "a"
    with pytest.raises(Order):
        fleet.claim("a", "pool:build")


# --- releasing, confirming, renewing


def test_release_of_a_pool_gives_back_all_units_of_the_caller(fleet: Fleet) -> None:
    fleet.claim("a", "pool:gpu:b")
    fleet.claim("a", "pool:gpu", "x.py", by="shell")
    fleet.claim("b", "pool:gpu")
    assert sorted(fleet.release("a", "pool:gpu")["released"]) == ["pool:gpu:a", "pool:gpu:b"]
    assert held(fleet) == [("a", "x.py"), ("b", "gpu:c")]


def test_release_of_one_unit_leaves_the_others(fleet: Fleet) -> None:
    fleet.claim("a", "pool:gpu", units=3)
    fleet.release("a", "pool:gpu:b")
    assert held(fleet) == [("a", "gpu:a"), ("a", "gpu:c")]
    assert fleet.claim("b", "pool:gpu")["unit"] == "b"


def test_release_of_a_pool_of_which_one_holds_nothing_is_refused(fleet: Fleet) -> None:
    fleet.claim("b", "pool:build")
    with pytest.raises(NotFound) as refused:
        fleet.release("a", "pool:build")
    assert "you do not hold pool:build" in refused.value.message
    with pytest.raises(Fenced) as theirs:
        fleet.release("a", "pool:build:0")
    assert theirs.value.holder == "b"


def test_a_token_is_confirmed_for_the_pool_and_for_its_unit_alone(fleet: Fleet) -> None:
    token = fleet.claim("a", "pool:build")["token"]
    other = fleet.claim("b", "pool:build")["token"]
    for name in ("pool:build", "pool:build:0"):
        assert fleet.call("a", "confirm", resource=name, token=token)["holder"] == "a"
    with pytest.raises(Fenced):
        fleet.call("a", "confirm", resource="pool:build:1", token=token)
    with pytest.raises(Fenced):
        fleet.call("a", "confirm", resource="pool:build", token=other)
    fleet.release("a")
    with pytest.raises(Fenced) as lost:
        fleet.call("a", "confirm", resource="pool:build", token=token)
    assert lost.value.holder is None, "the holder of another unit has nothing of the caller's"


def test_renew_of_a_pool_renews_its_units(fleet: Fleet) -> None:
    fleet.claim("a", "pool:gpu", units=2, ttl=10 * MINUTE)
    fleet.now += 5 * MINUTE
    fleet.call("a", "renew", resources=["pool:gpu"])
    fleet.now += 6 * MINUTE
    assert len(held(fleet)) == 2


def test_a_unit_is_handed_over_by_its_holder(fleet: Fleet) -> None:
    fleet.call("b", "boot")
    fleet.claim("a", "pool:build")
    handed = fleet.release("a", "pool:build", to="b")
    assert handed["claims"][0]["unit"] == "0"
    assert held(fleet) == [("b", "build:0")]


# --- expiry, death, the kill switch


def test_the_ttl_of_a_pool_is_the_default_of_its_claims() -> None:
    fleet = Fleet(pools=pools(build=pool(size=1, ttl=MINUTE)))
    fleet.claim("a", "pool:build")
    fleet.now += MINUTE
    assert fleet.claim("b", "pool:build", ttl=5 * MINUTE)["unit"] == "0"
    fleet.now += 2 * MINUTE
    assert held(fleet) == [("b", "build:0")]


def test_expired_units_and_those_of_dead_processes_are_free_when_anybody_asks() -> None:
    fleet = Fleet(pools=pools(port=pool(range=[1, 100])))
    for number in range(50):
        fleet.claim(f"old{number}", "pool:port", ttl=MINUTE)
    for number in range(50):
        fleet.claim(f"dead{number}", "pool:port", client=1000 + number)
        fleet.kill9(1000 + number)
    assert fleet.claim("a", "pool:port")["unit"] == "51", "all seem held: the processes are looked at"
    fleet.now += MINUTE
    assert fleet.claim("b", "pool:port")["unit"] == "1"
    assert held(fleet) == [("a", "port:51"), ("b", "port:1")]


def test_a_killed_agent_and_one_that_leaves_give_their_units_back(fleet: Fleet) -> None:
    fleet.claim("a", "pool:build")
    fleet.claim("b", "pool:build")
    fleet.call("boss", "kill", agent="a", why="runs wild")
    fleet.call("b", "leave")
    assert fleet.claim("c", "pool:build", units=2)["units"] == ["0", "1"]


def test_a_person_takes_one_unit_away(fleet: Fleet) -> None:
    fleet.claim("a", "pool:build")
    fleet.claim("b", "pool:build")
    taken = fleet.call("boss", "release", resources=["pool:build:0"], force=True, why="hangs")
    assert [holder["agent"] for holder in taken["holders"]] == ["a"]
    assert held(fleet) == [("b", "build:1")]


# --- a config that changes


def test_a_pool_that_shrank_has_never_more_holders_than_units(fleet: Fleet) -> None:
    fleet.claim("a", "pool:gpu:b")
    fleet.claim("b", "pool:gpu:c")
    fleet.policy.pools = pools(gpu=pool(units=["a", "b"]))
    with pytest.raises(Held):
        fleet.claim("d", "pool:gpu")
    fleet.release("b", "pool:gpu:c")
    assert fleet.claim("d", "pool:gpu")["unit"] == "a"


def test_units_of_a_pool_that_is_gone_are_still_released(fleet: Fleet) -> None:
    token = fleet.claim("a", "pool:gpu")["token"]
    fleet.policy.pools = pools()
    assert fleet.call("a", "confirm", resource="pool:gpu", token=token)["holder"] == "a"
    assert fleet.release("a", "pool:gpu")["released"] == ["pool:gpu:a"]


# --- who wants one


def test_a_refused_agent_with_an_interest_is_told_of_the_first_free_unit(fleet: Fleet) -> None:
    fleet.claim("a", "pool:build")
    fleet.claim("b", "pool:build")
    with pytest.raises(Held):
        fleet.claim("c", "pool:build", interest=True)
    fleet.release("b")
    assert [text for kind, text in fleet.told("c") if kind == "free"] == [
        "pool:build is free now; you wanted it before. Claim it to continue."
    ]


def test_ask_of_a_pool_asks_each_holder(fleet: Fleet) -> None:
    fleet.claim("a", "pool:build")
    fleet.claim("b", "pool:build")
    assert fleet.call("c", "ask", resource="pool:build", text="a release")["to"] == ["a", "b"]
    fleet.release("a")
    assert [kind for kind, _ in fleet.told("c")] == ["free"]


def test_a_unit_is_no_other_unit_with_a_longer_name(fleet: Fleet) -> None:
    fleet.policy.pools = pools(a=pool(units=["1", "1:2", "12"]), ab=pool(size=1))
    assert [fleet.claim(f"{n}", "pool:a")["unit"] for n in range(3)] == ["1", "1:2", "12"]
    assert fleet.claim("x", "pool:ab")["unit"] == "0"
