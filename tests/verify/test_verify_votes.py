"""Verify on votes: true histories are clean, and each ballot and outcome that cannot have been is found."""

from __future__ import annotations

import contextlib
import random
from typing import Any

import pytest

from dibs.errors import DibsError
from dibs.verify.checker import verify_store
from tests.operations.fleet import Fleet
from tests.verify.test_verify import Log, Said, codes, found

THREE = ["ann", "bob", "cid"]


def opened(vote: str = "v", electorate: Any = THREE, options: Any = ("yes", "no"), deadline: Any = 60_000) -> Said:
    return "vote.opened", "ann", vote, {"options": options, "electorate": electorate, "deadline": deadline}


def cast(agent: str, option: Any = "yes", vote: str = "v", **other: Any) -> Said:
    return "vote.cast", agent, vote, {"option": option, **other}


def decided(outcome: Any = "decided", option: Any = "yes", vote: str = "v") -> Said:
    return "vote.decided", "ann", vote, {"outcome": outcome, "option": option}


def test_votes_that_come_out_as_their_ballots_say_are_clean() -> None:
    log = Log(
        [opened(), opened("w", options=("a", "b", "c")), opened("x", electorate=["ann"])],
        [cast("ann"), cast("ann", "a", "w")],
        [cast("bob", "no"), cast("bob", "b", "w")],
        [cast("cid"), decided()],
        [cast("cid", "c", "w"), decided("undecided", None, "w")],
    )
    log.commit(decided("lapsed", None, "x"), after=60_000)
    log.commit(opened("v", deadline=200_000))  # the first is forgotten after a month, and its id is free
    assert log.verify().findings == []


@pytest.mark.parametrize(
    "wrong",
    [
        [decided()],  # one of three
        [cast("bob"), decided("decided", "no")],
        [cast("bob"), decided("undecided", None)],
        [cast("bob"), decided("decided", None)],
        [cast("bob", "no"), decided("undecided", None)],  # the third can still decide it
        [decided("lapsed", None)],  # before its deadline
        [cast("bob"), decided(), decided()],
        [cast("bob"), decided(), cast("cid")],
        [cast("dan")],
        [cast("ann", "no")],
        [cast("bob", "perhaps")],
        [cast("bob", vote="other")],
        [decided(vote="other")],
        [opened()],
    ],
)
def test_what_the_ballots_do_not_say_is_found(wrong: list[Said]) -> None:
    assert found([opened()], [cast("ann")], wrong) == ["vote"]


def test_a_ballot_after_the_deadline_is_found_and_does_not_count() -> None:
    log = Log([opened(deadline=2_000)], [cast("ann")], [cast("bob")], [decided("lapsed", None)])
    assert codes(log.verify()) == ["vote", "vote"], "two came at the deadline and after it"


def test_a_request_id_casts_once() -> None:
    request = ["vote cast", "r"]
    log = Log([opened(), opened("w")], [cast("ann", request=request)], [cast("ann", vote="w", request=request)])
    assert codes(log.verify()) == ["two_effects"]


@pytest.mark.parametrize(
    "broken",
    [
        opened(electorate="ann"), opened(electorate=[]), opened(options=[1]), opened(deadline="soon"),
        cast("ann", option=1), decided(outcome=None),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_one_finding(broken: Said) -> None:
    assert found([opened("w")], [broken], [cast("dan", vote="w")], [decided(vote="w")]) == ["malformed"]


@pytest.mark.parametrize("seed", range(20))
def test_what_the_operations_write_is_clean(seed: int) -> None:
    fleet, chance = Fleet(), random.Random(seed)
    for _ in range(120):
        agent, vote = chance.choice("abcd"), f"v{chance.randrange(4)}"
        with contextlib.suppress(DibsError):
            if chance.random() < 0.3:
                electors = chance.sample("abcd", chance.randint(1, 4))
                fleet.call(
                    agent, "vote open", title="?", electorate=electors, id=vote, deadline=chance.randint(1, 30) * 1_000
                )
            elif chance.random() < 0.9:
                fleet.call(agent, "vote cast", id=vote, option=chance.choice(["yes", "no"]))
            else:
                fleet.call(agent, "sweep")
        fleet.now += chance.choice([0, 1, 5_000, 31 * 86_400_000])
    assert fleet.events("vote.decided")
    assert verify_store(fleet.store).findings == []
