"""Many records: nothing is missed when a fetch is cut short, and nothing is read that is over."""

from __future__ import annotations

import pytest

from dibs.errors import Held
from dibs.operations.claims import grants
from tests.operations.fleet import Fleet


def test_a_blocker_behind_a_thousand_others_is_found() -> None:
    fleet = Fleet()
    for place in range(0, 1200, 200):
        fleet.claim("a", *[f"src/f{number:04d}.py" for number in range(place, place + 200)], mode="read")
    fleet.claim("b", "src/z.py", mode="write")
    with pytest.raises(Held) as refused:
        fleet.claim("c", "src/", mode="read")
    assert [blocker["agent"] for blocker in refused.value.blockers] == ["b"]
    fleet.clean()


def test_a_claim_that_a_sweep_ended_on_the_way_in_is_not_ended_again() -> None:
    fleet = Fleet()
    fleet.claim("a", "x.py", ttl=1000)
    fleet.now += 1000
    fleet.now += -fleet.now % grants.SWEEP_ONE_IN  # at such a moment a claim sweeps
    fleet.claim("b", "x.py")
    assert len(fleet.events("claim.ended")) == 1
    fleet.clean()


def test_all_of_an_agents_many_claims_are_released() -> None:
    fleet = Fleet()
    for number in range(700):
        fleet.claim("a", f"f{number}.py")
    assert len(fleet.release("a")["released"]) == 700
    assert fleet.holders() == []


def test_more_blockers_than_are_named_are_counted() -> None:
    fleet = Fleet()
    for number in range(20):
        fleet.claim(f"a{number}", f"src/{number}.py")
    with pytest.raises(Held) as refused:
        fleet.claim("b", "src/")
    assert (len(refused.value.blockers), refused.value.more) == (16, 4)
    assert "and 4 more" in refused.value.message
