"""Verify and pools: a unit has one holder, a pool no more holders than units, on replay, too."""

from __future__ import annotations

from typing import Any

import pytest

from tests.verify.test_verify import A, Log, codes, ended, granted, moved, released

ONE, TWO, THREE = (["name", f"pool:build:{unit}"] for unit in range(3))


def unit(claim: str, agent: str, *units: list[str], size: int = 2, **other: Any) -> Any:
    return granted(claim, agent, *units, pools={"pool:build": size}, **other)


def test_units_that_are_held_one_after_the_other_are_right() -> None:
    log = Log([unit("c1", "ann", ONE)], [unit("c2", "bob", TWO, A)])
    log.commit(released("c1", "ann", ONE))
    assert codes(log.commit(unit("c3", "cy", ONE)).verify()) == []


@pytest.mark.parametrize("other", ["bob", "ann/child", "bob/child"])
def test_a_unit_that_two_have_is_found_whatever_their_family(other: str) -> None:
    log = Log([unit("c1", "ann" if other != "bob/child" else "bob", ONE)])
    found = codes(log.commit(unit("c2", other, ONE)).verify())
    assert "pool" in found


def test_an_agent_may_have_its_own_unit_in_two_claims() -> None:
    log = Log([unit("c1", "ann", ONE)])
    assert codes(log.commit(unit("c2", "ann", ONE, A)).verify()) == []


def test_more_holders_than_units_are_found() -> None:
    log = Log([unit("c1", "ann", ONE)], [unit("c2", "bob", TWO)])
    assert codes(log.commit(unit("c3", "cy", THREE)).verify()) == ["pool"]


def test_a_claim_past_its_deadline_is_no_holder() -> None:
    log = Log([unit("c1", "ann", ONE, until=0)], [unit("c2", "bob", TWO)])
    assert codes(log.commit(unit("c3", "cy", THREE)).verify()) == []
    log.commit(ended("c1", "gone"))
    assert codes(log.commit(unit("c4", "dan", ONE)).verify()) == ["pool"]


def test_a_unit_that_moves_to_one_who_has_another_claim_on_it_is_found() -> None:
    log = Log([unit("c1", "ann/child", ONE)], [unit("c2", "ann", ONE)])
    assert codes(log.verify()) == ["pool"]
    log = Log([unit("c1", "ann/child", ONE)], [moved("c1", "ann/child", "ann", "left")], [unit("c2", "bob", TWO)])
    assert codes(log.verify()) == []


def test_names_like_units_from_before_there_were_pools_are_claims_like_any_other() -> None:
    log = Log([granted("c1", "ann", ONE)], [granted("c2", "ann/child", ONE)])
    assert codes(log.verify()) == []
