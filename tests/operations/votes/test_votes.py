"""Votes: a majority of the whole electorate, once, by a model, under aborts and interleavings, on both engines."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from dibs.errors import Conflict, DibsError, Forbidden, Invalid, Killed, NotFound, Quota
from dibs.operations.claims import grants
from dibs.operations.votes import votes
from tests.operations.engines import PROFILE, MachineOnFile, OnFile
from tests.operations.fleet import Fleet

MINUTE, DAY = 60_000, 86_400_000


def ask(fleet: Fleet, *electorate: str, by: str = "boss", **fields: Any) -> Any:
    return fleet.call(by, "vote open", title="Adopt it?", electorate=list(electorate), **fields)["vote"]


def cast(fleet: Fleet, agent: str, vote: Any, option: str, **fields: Any) -> Any:
    return fleet.call(agent, "vote cast", id=vote if isinstance(vote, str) else vote["id"], option=option, **fields)


def show(fleet: Fleet, vote: Any) -> Any:
    return fleet.call("viewer", "vote show", id=vote if isinstance(vote, str) else vote["id"])["vote"]


def outcomes(fleet: Fleet) -> list[tuple[str, str, str | None]]:
    return [(e["subject"], e["data"]["outcome"], e["data"]["option"]) for e in fleet.events("vote.decided")]


# --- deciding


def test_more_than_half_of_the_whole_electorate_decides_at_once(fleet: Fleet) -> None:
    vote = ask(fleet, "a", "b", "c")
    assert (vote["state"], vote["options"], vote["electorate"]) == ("open", ["yes", "no"], ["a", "b", "c"])
    assert cast(fleet, "a", vote, "yes")["vote"]["state"] == "open"
    fleet.now += 1_000
    answer = cast(fleet, "c", vote, "yes")["vote"]
    assert (answer["state"], answer["option"], answer["tally"]) == ("decided", "yes", {"yes": 2, "no": 0})
    assert answer["missing"] == ["b"]
    found = show(fleet, vote)
    assert found == answer
    assert found["closed"] > found["at"]
    assert outcomes(fleet) == [(vote["id"], "decided", "yes")]
    fleet.clean()


def test_half_of_it_is_no_majority(fleet: Fleet) -> None:
    vote = ask(fleet, "a", "b", "c", "d")
    cast(fleet, "a", vote, "yes")
    assert cast(fleet, "b", vote, "yes")["vote"]["state"] == "open"
    assert cast(fleet, "c", vote, "yes")["vote"]["state"] == "decided"


def test_one_alone_decides_alone(fleet: Fleet) -> None:
    assert cast(fleet, "a", ask(fleet, "a"), "no")["vote"]["option"] == "no"


def test_it_is_undecided_as_soon_as_no_option_can_have_a_majority(fleet: Fleet) -> None:
    vote = ask(fleet, "a", "b", "c", "d", "e", options=["x", "y", "z"])
    for agent, option in (("a", "x"), ("b", "y"), ("c", "z")):
        assert cast(fleet, agent, vote, option)["vote"]["state"] == "open"
    answer = cast(fleet, "d", vote, "x")["vote"]  # x has two of five, and may get a third
    assert answer["state"] == "open"
    assert cast(fleet, "e", vote, "y")["vote"]["state"] == "undecided"
    tie = ask(fleet, "a", "b")
    cast(fleet, "a", tie, "yes")
    assert cast(fleet, "b", tie, "no")["vote"]["state"] == "undecided"
    assert [(outcome, option) for _, outcome, option in outcomes(fleet)] == [("undecided", None)] * 2


def test_the_electors_are_asked_and_all_are_told_the_outcome(fleet: Fleet) -> None:
    vote = ask(fleet, "a", "b", "c")
    for agent in ("a", "b", "c"):
        [asked] = fleet.call(agent, "inbox")["messages"]
        assert (asked["type"], asked["from"], asked["vote"]) == ("vote", "boss", vote["id"])
        assert asked["options"] == ["yes", "no"]
        assert f"dibs vote cast {vote['id']}" in asked["text"]
    assert fleet.told("boss") == []
    cast(fleet, "a", vote, "no")
    cast(fleet, "b", vote, "no")
    for agent in ("boss", "a", "b", "c"):
        told = fleet.call(agent, "inbox")["messages"][-1]
        assert (told["type"], told["from"], told["outcome"], told["option"]) == ("vote", "dibs", "decided", "no")
        assert vote["id"] == told["vote"]


def test_an_opener_who_is_an_elector_too_is_told_once(fleet: Fleet) -> None:
    vote = ask(fleet, "a", "b", by="a")
    cast(fleet, "a", vote, "yes")
    cast(fleet, "b", vote, "yes")
    assert len(fleet.told("a")) == 2


# --- the ballot


def test_the_same_choice_again_is_harmless_even_after_the_outcome(fleet: Fleet) -> None:
    vote = ask(fleet, "a", "b", "c")
    first = cast(fleet, "a", vote, "yes")
    again = cast(fleet, "a", vote, "yes")
    assert again["vote"] == first["vote"]
    cast(fleet, "b", vote, "yes")
    late = cast(fleet, "a", vote, "yes")
    assert (late["option"], late["vote"]["state"]) == ("yes", "decided")
    assert len(fleet.events("vote.cast")) == 2
    assert len(outcomes(fleet)) == 1


def test_another_choice_than_ones_first_is_a_conflict(fleet: Fleet) -> None:
    vote = ask(fleet, "a", "b", "c")
    cast(fleet, "a", vote, "yes")
    with pytest.raises(Conflict) as error:
        cast(fleet, "a", vote, "no")
    assert (error.value.own, error.value.given, error.value.state) == ("yes", "no", "open")
    assert show(fleet, vote)["tally"] == {"yes": 1, "no": 0}
    assert fleet.events("call.refused")[-1]["data"] == {"code": "conflict"}


def test_a_ballot_after_the_outcome_is_a_conflict_that_tells_it(fleet: Fleet) -> None:
    vote = ask(fleet, "a", "b", "c")
    cast(fleet, "a", vote, "no")
    cast(fleet, "b", vote, "no")
    with pytest.raises(Conflict) as error:
        cast(fleet, "c", vote, "yes")
    assert (error.value.state, error.value.option, error.value.own) == ("decided", "no", None)
    assert str(error.value.closed) in error.value.message


@pytest.mark.parametrize("stranger", ["boss", "d", "a/x", "aa"])
def test_who_is_not_in_the_electorate_may_not_vote_not_even_a_relative(fleet: Fleet, stranger: str) -> None:
    vote = ask(fleet, "a", "b/x")
    with pytest.raises(Forbidden) as error:
        cast(fleet, stranger, vote, "yes")
    assert error.value.electorate == ["a", "b/x"]
    with pytest.raises(Forbidden):
        cast(fleet, "b", vote, "yes")
    assert fleet.events("vote.cast") == []


def test_a_killed_elector_does_not_vote(fleet: Fleet) -> None:
    vote = ask(fleet, "a", "b")
    fleet.call("a", "boot")
    fleet.call("boss", "kill", agent="a", why="test")
    with pytest.raises(Killed):
        cast(fleet, "a", vote, "yes")
    fleet.call("boss", "revive", agent="a")
    assert cast(fleet, "a", vote, "yes")["vote"]["missing"] == ["b"]


def test_a_retry_gets_the_same_answer(fleet: Fleet) -> None:
    vote = ask(fleet, "a", "b", "c", request="r0")
    assert ask(fleet, "a", "b", "c", request="r0") == vote
    first = cast(fleet, "a", vote, "yes", request="r1")
    cast(fleet, "b", vote, "yes")
    assert cast(fleet, "a", vote, "yes", request="r1") == first
    assert len(fleet.events("vote.opened")) == 1
    assert fleet.events("vote.cast")[0]["data"] == {"option": "yes", "request": ["vote cast", "r1"]}


# --- the deadline


def test_at_the_deadline_it_has_lapsed_for_whoever_looks(fleet: Fleet) -> None:
    vote = ask(fleet, "a", "b", deadline=MINUTE)
    cast(fleet, "a", vote, "yes")
    fleet.now += MINUTE - 1
    assert show(fleet, vote)["state"] == "open"
    fleet.now += 1
    found = show(fleet, vote)
    assert (found["state"], found["option"], found["closed"]) == ("lapsed", None, vote["deadline"])
    assert fleet.call("v", "vote list")["votes"] == [found]
    assert fleet.call("v", "vote list", open=True)["votes"] == []
    assert outcomes(fleet) == []  # looking writes nothing
    with pytest.raises(Conflict) as error:
        cast(fleet, "b", vote, "yes")
    assert error.value.state == "lapsed"
    assert outcomes(fleet) == [(vote["id"], "lapsed", None)]
    assert show(fleet, vote) == {**found, "electorate_name": ["a", "b"]}  # by its call, b is known as well
    assert [kind for kind, _ in fleet.told("boss")] == ["vote"]


def test_a_sweep_lapses_what_nobody_looked_at_and_tells_all(fleet: Fleet) -> None:
    vote = ask(fleet, "a", "b", deadline=MINUTE)
    fleet.now += MINUTE
    fleet.call("sweeper", "sweep")
    fleet.call("sweeper", "sweep")
    assert outcomes(fleet) == [(vote["id"], "lapsed", None)]
    assert "lapsed" in fleet.told("a")[-1][1]
    assert "lapsed" in fleet.told("boss")[-1][1]


def test_a_claim_on_its_way_lapses_what_is_due(fleet: Fleet) -> None:
    ask(fleet, "a", deadline=MINUTE)
    fleet.now += MINUTE
    for _ in range(grants.SWEEP_ONE_IN):  # one of so many sweeps
        fleet.now += 1
        fleet.claim("c", "x.py")
    assert len(outcomes(fleet)) == 1


def test_what_was_decided_does_not_lapse(fleet: Fleet) -> None:
    vote = ask(fleet, "a", deadline=MINUTE)
    cast(fleet, "a", vote, "yes")
    fleet.now += MINUTE
    fleet.call("sweeper", "sweep")
    assert show(fleet, vote)["state"] == "decided"
    assert len(outcomes(fleet)) == 1


def test_an_outcome_is_kept_for_a_month_and_then_only_in_the_log(fleet: Fleet) -> None:
    vote = ask(fleet, "a", key="once")
    cast(fleet, "a", vote, "yes")
    fleet.now += 30 * DAY - 1
    fleet.call("sweeper", "sweep")
    assert ask(fleet, "a", key="once")["id"] == vote["id"]
    fleet.now += 1
    fleet.call("sweeper", "sweep")
    with pytest.raises(NotFound):
        show(fleet, vote)
    assert ask(fleet, "a", key="once")["id"] != vote["id"]


# --- opening


def test_a_key_makes_a_repeat_return_the_first(fleet: Fleet) -> None:
    vote = ask(fleet, "a", "b", key="tabs")
    cast(fleet, "a", vote, "yes")
    again = fleet.call("other", "vote open", title="Adopt it?", electorate=["a", "b"], key="tabs")
    assert (again["vote"]["id"], again["repeated"]) == (vote["id"], True)
    assert again["vote"]["tally"] == {"yes": 1, "no": 0}
    assert len(fleet.told("b")) == 1


def test_an_id_is_given_once(fleet: Fleet) -> None:
    assert ask(fleet, "a", id="tabs")["id"] == "tabs"
    cast(fleet, "a", "tabs", "yes")
    with pytest.raises(Conflict) as error:
        ask(fleet, "a", "b", id="tabs")
    assert (error.value.vote, error.value.state, error.value.option) == ("tabs", "decided", "yes")
    assert len(fleet.events("vote.opened")) == 1


@pytest.mark.parametrize(
    "fields",
    [
        {"electorate": []},
        {"electorate": ["a", "a"]},
        {"electorate": [f"a{number}" for number in range(101)]},
        {"electorate": ["a b"]},
        {"electorate": [""]},
        {"electorate": "abc"},
        {"options": ["yes"]},
        {"options": ["yes", "yes"]},
        {"options": [str(number) for number in range(17)]},
        {"options": ["yes", "x" * 51]},
        {"options": ["yes", "\x1a"]},
        {"options": ["yes", ""]},
        {"deadline": 0},
        {"deadline": 31 * DAY},
        {"title": ""},
        {"title": "  "},
        {"title": "two\nlines"},
        {"title": "x" * 501},
        {"id": "a b"},
        {"id": "a\tb"},
        {"id": "x" * 201},
        {"key": "\x1a"},
    ],
)
def test_what_makes_no_sense_is_refused_and_changes_nothing(fleet: Fleet, fields: dict[str, Any]) -> None:
    with pytest.raises(Invalid):
        fleet.call("boss", "vote open", **{"title": "t", "electorate": ["a"], **fields})
    assert fleet.events() == []


def test_there_is_no_vote_on_nothing_and_no_ballot_for_anything_else(fleet: Fleet) -> None:
    with pytest.raises(NotFound):
        cast(fleet, "a", "nothing", "yes")
    with pytest.raises(NotFound):
        show(fleet, "nothing")
    vote = ask(fleet, "a")
    with pytest.raises(Invalid):
        cast(fleet, "a", vote, "perhaps")
    assert show(fleet, vote)["missing"] == ["a"]


def test_so_many_votes_may_be_open_at_once(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(votes, "MAX_OPEN_VOTES", 2)
    first, second = ask(fleet, "a"), ask(fleet, "a", deadline=MINUTE)
    with pytest.raises(Quota):
        ask(fleet, "a")
    cast(fleet, "a", first, "yes")
    ask(fleet, "a")
    fleet.now += MINUTE
    with pytest.raises(Conflict):
        cast(fleet, "a", second, "yes")
    ask(fleet, "a")
    with pytest.raises(Quota):
        ask(fleet, "a")


def test_a_list_has_the_open_ones_first_and_says_that_there_are_more(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(votes, "MAX_LISTED", 3)
    for number in range(4):
        fleet.now += 1
        ask(fleet, "a", id=f"v{number}")
        if number == 3:
            break
        if number != 1:
            cast(fleet, "a", f"v{number}", "yes")
    page = fleet.call("v", "vote list")
    assert [vote["id"] for vote in page["votes"]] == ["v3", "v1", "v2"]
    assert page["more"] is True
    page = fleet.call("v", "vote list", open=True)
    assert ([vote["id"] for vote in page["votes"]], page["more"]) == (["v3", "v1"], False)
    cast(fleet, "a", "v3", "yes")
    page = fleet.call("v", "vote list")
    assert ([vote["id"] for vote in page["votes"]], page["more"]) == (["v1", "v3", "v2"], True)


# --- by a model


def verdict(size: int, options: list[str], ballots: list[str]) -> tuple[str, str | None, int]:
    """What these ballots, in this order, come to, and how many of them counted."""
    for counted in range(1, len(ballots) + 1):
        first = ballots[:counted]
        for option in options:
            if 2 * first.count(option) > size:
                return "decided", option, counted
        if all(2 * (first.count(option) + size - counted) <= size for option in options):
            return "undecided", None, counted
    return "open", None, len(ballots)


@given(st.data(), st.integers(1, 9), st.integers(2, 4), st.booleans())
def test_the_outcome_is_that_of_the_model_for_all_ballots_in_any_order(
    data: st.DataObject, size: int, kinds: int, aborts: bool
) -> None:
    fleet, dice = Fleet(), random.Random(size)
    if aborts:
        fleet.store.faults.abort = lambda: dice.random() < 0.4
    electorate, options = [f"e{number}" for number in range(size)], [f"o{number}" for number in range(kinds)]
    order = data.draw(st.permutations(electorate))
    ballots = data.draw(st.lists(st.sampled_from(options), max_size=size))
    vote = ask(fleet, *electorate, options=options)
    state, option, counted = verdict(size, options, ballots)
    for place, (agent, choice) in enumerate(zip(order, ballots, strict=False)):
        if place < counted:
            cast(fleet, agent, vote, choice)
        else:
            with pytest.raises(Conflict) as error:
                cast(fleet, agent, vote, choice)
            assert (error.value.state, error.value.option) == (state, option)
    found = show(fleet, vote)
    assert (found["state"], found["option"]) == (state, option)
    assert found["tally"] == {name: ballots[:counted].count(name) for name in options}
    assert found["missing"] == [agent for agent in electorate if agent not in order[:counted]]
    assert len(outcomes(fleet)) == (state != "open")
    told = [kind for kind, _ in fleet.told("boss")]
    assert len(told) == (state != "open")


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_two_last_ballots_in_one_gap_decide_one_thing(order: tuple[int, ...]) -> None:
    """Each ballot's first run is thrown away, and another elector's commits before it is run again."""
    fleet = Fleet()
    vote = ask(fleet, "a", "b", "c", "d", "e")
    cast(fleet, "a", vote, "yes")
    cast(fleet, "b", vote, "no")
    left = [("c", "yes"), ("d", "no"), ("e", ("yes", "no")[order[0] % 2])]
    pending = [left[place] for place in order]
    answers: list[str] = []

    def one() -> None:
        if not pending:
            return
        agent, option = pending.pop()
        aborts = iter([True])
        fleet.store.faults.abort = lambda: next(aborts, False)
        fleet.store.faults.between = one
        try:
            answers.append(cast(fleet, agent, vote, option)["vote"]["state"])
        except Conflict as error:
            answers.append(f"late: {error.option}")

    one()
    [(_, outcome, option)] = outcomes(fleet)
    assert outcome == "decided"
    assert len(answers) == 3
    assert answers.count("decided") == 1
    found = show(fleet, vote)
    assert (found["option"], found["tally"][found["option"]]) == (option, 3)
    fleet.clean()


class Ballots(RuleBasedStateMachine):
    """Votes, ballots, time and sweeps at random; a vote's outcome never changes once anybody saw it."""

    ELECTORATE = ("a", "b", "c", "a/x")

    def make(self) -> Fleet:
        """The engine."""
        fleet, dice = Fleet(), random.Random(1)
        fleet.store.faults.abort = lambda: dice.random() < 0.2
        return fleet

    def __init__(self) -> None:
        super().__init__()
        self.fleet = self.make()
        self.votes: dict[str, dict[str, Any]] = {}
        self.seen: dict[str, tuple[str, str | None]] = {}

    def state(self, name: str) -> tuple[str, str | None]:
        vote = self.votes[name]
        state, option, _ = verdict(len(vote["electorate"]), ["yes", "no"], list(vote["ballots"].values()))
        return ("lapsed", None) if state == "open" and vote["deadline"] <= self.fleet.now else (state, option)

    @precondition(lambda self: len(self.votes) < 4)
    @rule(size=st.integers(1, 4), deadline=st.sampled_from((MINUTE, 1_000)))
    def open_one(self, size: int, deadline: int) -> None:
        electorate = self.ELECTORATE[:size]
        vote = ask(self.fleet, *electorate, deadline=deadline)
        self.votes[vote["id"]] = {"electorate": electorate, "ballots": {}, "deadline": self.fleet.now + deadline}

    @precondition(lambda self: self.votes)
    @rule(data=st.data(), agent=st.sampled_from((*ELECTORATE, "z")), option=st.sampled_from(("yes", "no")))
    def anybody_casts(self, data: st.DataObject, agent: str, option: str) -> None:
        self.cast(data.draw(st.sampled_from(sorted(self.votes))), agent, option)

    @precondition(lambda self: self.votes)
    @rule(data=st.data(), option=st.sampled_from(("yes", "yes", "no")))
    def an_elector_casts(self, data: st.DataObject, option: str) -> None:
        name = data.draw(st.sampled_from(sorted(self.votes)))
        self.cast(name, data.draw(st.sampled_from(self.votes[name]["electorate"])), option)

    def cast(self, name: str, agent: str, option: str) -> None:
        vote, before = self.votes[name], self.state(name)
        own = vote["ballots"].get(agent)
        try:
            cast(self.fleet, agent, name, option)
        except Forbidden:
            assert agent not in vote["electorate"]
        except Conflict as error:
            assert own not in {None, option} or (own is None and before[0] != "open")
            assert (error.state, error.option) == before
        else:
            assert agent in vote["electorate"]
            assert own == option or (own is None and before[0] == "open")
            vote["ballots"].setdefault(agent, option)

    @rule(ms=st.sampled_from((1, 499, 1_000)))
    def time_passes(self, ms: int) -> None:
        self.fleet.now += ms

    @rule()
    def sweep(self) -> None:
        self.fleet.call("boss", "sweep")

    @invariant()
    def everybody_sees_the_models_outcome_and_it_never_changes(self) -> None:
        listed = {vote["id"]: vote for vote in self.fleet.call("viewer", "vote list")["votes"]}
        assert listed.keys() == self.votes.keys()
        for name, vote in listed.items():
            assert (vote["state"], vote["option"]) == self.state(name)
            assert vote == show(self.fleet, name)
            if vote["state"] != "open":
                assert self.seen.setdefault(name, (vote["state"], vote["option"])) == (vote["state"], vote["option"])

    def teardown(self) -> None:
        """After a last sweep each vote that is over was decided in the log exactly once, as everybody saw it."""
        self.fleet.now += MINUTE
        self.fleet.call("boss", "sweep")
        logged = outcomes(self.fleet)
        assert sorted(name for name, _, _ in logged) == sorted(self.votes)
        for name, outcome, option in logged:
            assert self.seen.get(name, ("lapsed", None)) == (outcome, option)
        self.fleet.clean()


class BallotsOnFile(MachineOnFile, Ballots):
    """The same on SQLite."""


Ballots.TestCase.settings = settings(PROFILE, stateful_step_count=40)
BallotsOnFile.TestCase.settings = settings(
    PROFILE, max_examples=max(20, PROFILE.max_examples // 10), stateful_step_count=30
)
TestBallots = Ballots.TestCase
TestBallotsOnFile = BallotsOnFile.TestCase


# --- parity


def played(fleet: Fleet, seed: int) -> tuple[list[Any], list[Any]]:
    """A random trace: everything that was answered, everything that was logged."""
    dice, answers = random.Random(seed), []
    for number in range(150):
        agent, option = dice.choice("abcdz"), dice.choice(("yes", "no"))
        what = dice.random()
        try:
            if what < 0.1:
                electorate = list("abcd")[: dice.randint(1, 4)]
                answers.append(ask(fleet, *electorate, id=f"v{number % 7}", deadline=dice.choice((1_000, MINUTE))))
            elif what < 0.7:
                answers.append(cast(fleet, agent, f"v{dice.randrange(7)}", option, request=f"r{dice.randrange(99)}"))
            elif what < 0.8:
                answers.append(fleet.call(agent, "sweep"))
            elif what < 0.9:
                answers.append(fleet.call(agent, "vote list"))
            else:
                fleet.now += dice.choice((1, 500, 1_000))
        except DibsError as error:
            answers.append([error.code, error.message, error.fields])
    return answers, [(e.seq, e.commit, e.now, e.wall, e.body, e.link) for e in fleet.store.events(0, 100_000)]


@pytest.mark.parametrize("seed", range(4))
def test_memory_and_sqlite_decide_and_log_the_same(seed: int) -> None:
    on_file = OnFile()
    try:
        assert played(Fleet(), seed) == played(on_file, seed)
    finally:
        on_file.close()
