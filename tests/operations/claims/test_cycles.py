"""`deadlock` is said of real cycles, and of all of them: against a search that tries every way, on random fleets.

The search here knows nothing of that in the code: it reads who holds and who waits from the records, builds the whole
graph, and closes it transitively.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dibs.errors import Deadlock, DibsError, Held, Quota
from dibs.operations.claims import places
from dibs.testing.memory import MemoryTransaction
from tests.operations.fleet import Fleet

AGENTS = ("a", "b", "c", "c/child")
NAMES = ("n:1", "n:2", "n:3")
MODES = ("write", "read")
MINUTE = 60_000


def related(one: str, other: str) -> bool:
    """The same agent, or one above the other."""
    return one == other or one.startswith(f"{other}/") or other.startswith(f"{one}/")


def records(fleet: Fleet) -> tuple[list[Any], list[Any]]:
    """Everything held and everything waited for, now."""

    def read(tx: Any) -> tuple[list[Any], list[Any]]:
        found = [[row[2] for row in tx.scan(1, f"{kind}\t", 10_000).rows] for kind in ("claims", "waits")]
        return [one for one in found[0] if one["until"] > tx.now], [one for one in found[1] if one["until"] > tx.now]

    return fleet.store.look(read)


def texts(record: Any) -> set[str]:
    """The names in a record."""
    return {resource[1] for resource in record["resources"]}


def conflict(one: Any, other: Any) -> bool:
    """Can they not be had together?"""
    return bool(
        texts(one) & texts(other)
        and "write" in {one["mode"], other["mode"]}
        and not related(one["agent"], other["agent"])
    )


def in_a_cycle(claims: list[Any], places: list[Any], asked: Any) -> bool:
    """Does this place lead back to something that its agent holds? All of the graph, closed transitively."""
    edges = edges_of(claims, places, asked)
    edges[f"@{asked['agent']}"] = set()  # the cycle is to go through this very place
    return f"@{asked['agent']}" in reached_from(edges, edges[asked["waiter"]])


def edges_of(claims: list[Any], places: list[Any], *asked: Any) -> dict[str, set[str]]:
    """Whom each place and each agent waits for."""
    edges: dict[str, set[str]] = {}
    for place in [*places, *asked]:
        own = {text for claim in claims if claim["agent"] == place["agent"] for text in texts(claim)}
        edges[place["waiter"]] = {f"@{claim['agent']}" for claim in claims if conflict(claim, place)}
        edges[place["waiter"]] |= {  # who waits only for what this agent holds already is not before it
            other["waiter"]
            for other in places
            if other["ticket"] < place["ticket"] and conflict(other, place) and texts(other) & (texts(place) - own)
        }
        edges.setdefault(f"@{place['agent']}", set()).add(place["waiter"])
    return edges


def reached_from(edges: dict[str, set[str]], start: set[str]) -> set[str]:
    """All that can be reached."""
    reached, new = set(start), set(start)
    while new:
        new = {far for near in new for far in edges.get(near, ())} - reached
        reached |= new
    return reached


STEPS = st.one_of(
    *[st.tuples(st.just("ask"), st.sampled_from(AGENTS), st.sets(st.sampled_from(NAMES), min_size=1, max_size=2),
                st.sampled_from(MODES), st.just(value=False))] * 4,
    st.tuples(st.just("ask"), st.sampled_from(AGENTS), st.sets(st.sampled_from(NAMES), min_size=1, max_size=2),
              st.sampled_from(MODES), st.just(value=True)),
    *[st.tuples(st.just("look"), st.integers(0, 9))] * 2,
    st.tuples(st.just("release"), st.sampled_from(AGENTS), st.sampled_from(NAMES)),
    st.tuples(st.just("hand"), st.sampled_from(AGENTS), st.sampled_from(NAMES), st.sampled_from(AGENTS)),
    st.tuples(st.just("leave"), st.just("c/child")),
    st.tuples(st.just("pass"), st.integers(1, 16_000)),
)  # fmt: skip


@settings(max_examples=max(150, settings().max_examples))
@given(st.lists(STEPS, min_size=8, max_size=40))
def test_deadlock_is_said_exactly_when_a_request_would_close_a_cycle(steps: list[Any]) -> None:
    fleet = Fleet()
    waits: list[tuple[str, list[str], str, str]] = []
    for step in steps:
        if step[0] == "pass":
            fleet.now += step[1]
        elif step[0] == "ask":
            _, agent, names, mode, interest = step
            ask(fleet, waits, agent, sorted(names), mode, "", interest=interest)
        elif step[0] == "look" and waits:
            agent, names, mode, waiter = waits.pop(step[1] % len(waits))
            ask(fleet, waits, agent, names, mode, waiter)
        elif step[0] == "hand":
            hand_over(fleet, *step[1:])
        elif step[0] != "look":
            try:
                fleet.call(step[1], "leave") if step[0] == "leave" else fleet.release(step[1], step[2])
            except DibsError:
                pass
    fleet.clean()


def ask(
    fleet: Fleet, waits: list[Any], agent: str, names: list[str], mode: str, waiter: str, *, interest: bool = False
) -> None:
    """One request or one look; what is said of it is compared with the graph as it was before."""
    if interest and not waiter:
        try:
            fleet.claim(agent, *names, mode=mode, interest=True)
        except Held:  # and never anything else
            pass
        return
    claims, places = records(fleet)
    mine = [place for place in places if place["agent"] == agent and place["mode"] == mode and texts(place) == {*names}]
    before = [place for place in mine if place["waiter"] == waiter] or mine
    others = [place for place in places if place["waiter"] != (before[0]["waiter"] if before else None)]
    asked = {
        "agent": agent, "mode": mode, "waiter": "asked", "ticket": before[0]["ticket"] if before else 1 << 60,
        "resources": [["name", name] for name in names],
    }  # fmt: skip
    try:
        answer = fleet.claim(agent, *names, mode=mode, wait=MINUTE, waiter=waiter)
    except Deadlock as refused:
        assert in_a_cycle(claims, others, asked), refused.message
        left = {place["waiter"] for place in records(fleet)[1]}
        assert left <= {place["waiter"] for place in others}, "a refused call leaves no place behind"
        return
    except DibsError as error:
        assert error.code == "quota"
        return
    if "waiting" in answer:
        assert not in_a_cycle(claims, others, asked)
        waits.append((agent, names, mode, answer["waiting"]))


def hand_over(fleet: Fleet, giver: str, name: str, to: str) -> None:
    """One hand-over; a refusal as a deadlock is compared with the graph as it would have been."""
    claims, places = records(fleet)
    held = [claim for claim in claims if claim["agent"] == giver and name in texts(claim)]
    if not held or related(giver, to) or fleet.record(f"a\t{to}") is None:
        return
    given = {**held[0], "agent": to, "resources": [["name", name]]}
    rest = [{**claim, "resources": [one for one in claim["resources"] if one[1] != name]} for claim in held]
    after = [claim for claim in claims if claim not in held] + [claim for claim in rest if claim["resources"]]
    edges = edges_of([*after, given], places)
    queue = [place for place in places if conflict(given, place)]
    others = [
        place["waiter"]
        for place in places
        if place["agent"] == to and not (texts(place) <= {name} and given["mode"] in {"write", place["mode"]})
    ]
    edges[f"@{to}"] = set()
    reached = reached_from(edges, {far for waiter in others for far in edges[waiter]})
    closed = any(place["waiter"] in reached or f"@{place['agent']}" in reached for place in queue)
    try:
        fleet.release(giver, name, to=to)
    except Deadlock as refused:
        assert closed, refused.message
        assert records(fleet) == (claims, places), "a refused hand-over changes nothing"
    except DibsError as error:
        assert error.code == "held"
    else:
        assert not closed


def test_a_hand_over_into_a_deadlock_is_refused_although_the_first_waiters_own_place_is_on_the_way() -> None:
    fleet = Fleet()
    fleet.claim("a", "n:1")
    fleet.claim("b", "n:2")
    fleet.claim("b", "n:1", wait=MINUTE)
    fleet.claim("c", "n:1", "n:2", wait=MINUTE)  # after b, and for b
    with pytest.raises(Deadlock) as refused:
        fleet.release("a", "n:1", to="c")
    steps = [(step["agent"], step["holder"]) for step in refused.value.cycle]
    assert steps == [("c", "b"), ("b", "c")]


def test_a_hand_over_to_a_waiter_for_that_and_something_free_is_no_deadlock() -> None:
    fleet = Fleet()
    fleet.claim("a", "n:1")
    fleet.claim("d", "n:3")
    fleet.claim("b", "n:1", wait=MINUTE)
    fleet.claim("c", "n:1", "n:3", wait=MINUTE)  # after b, but not once it has n:1
    assert fleet.release("a", "n:1", to="c")["to"] == "c"
    fleet.release("d", "n:3")
    assert fleet.claim("c", "n:1", "n:3")["token"]


def test_a_hand_over_to_a_waiter_for_that_alone_is_no_deadlock_although_it_passes_an_earlier_waiter() -> None:
    fleet = Fleet()
    fleet.claim("a", "n:1")
    fleet.claim("b", "n:1", wait=MINUTE)
    fleet.claim("c", "n:1", wait=MINUTE)
    assert fleet.release("a", "n:1", to="c")["to"] == "c"


def test_an_agent_that_asks_for_more_passes_those_who_wait_for_what_it_holds() -> None:
    fleet = Fleet()
    fleet.claim("a", "n:1")
    fleet.claim("b", "n:1", wait=MINUTE)
    assert fleet.claim("a", "n:1", "n:2")["token"], "n:2 is free, and b waits for a in any case"
    fleet.release("a", "n:2")
    fleet.claim("d", "n:2")
    place = fleet.claim("a", "n:1", "n:2", wait=MINUTE)["waiting"]  # for d, not for b
    fleet.release("d", "n:2")
    assert fleet.claim("a", "n:1", "n:2", wait=MINUTE, waiter=place)["token"]


def test_an_earlier_waiter_for_what_an_agent_lacks_is_not_passed() -> None:
    fleet = Fleet()
    fleet.claim("a", "n:1")
    fleet.claim("b", "n:1", "n:2", wait=MINUTE)
    with pytest.raises(Deadlock):
        fleet.claim("a", "n:1", "n:2", wait=MINUTE)
    with pytest.raises(Held):
        fleet.claim("a", "n:1", "n:2")


def test_a_search_that_would_read_too_much_is_refused_and_leaves_no_place(monkeypatch: pytest.MonkeyPatch) -> None:
    fleet = Fleet()
    monkeypatch.setattr(places, "MAX_READ", 20)
    fleet.claim("h", "n:1")
    fleet.claim("z", "n:2")
    fleet.claim("b", "n:2", wait=MINUTE)
    for number in range(30):
        fleet.claim(f"w{number}", "n:1", wait=MINUTE)
    with pytest.raises(Quota, match="searched for a deadlock"):
        fleet.claim("z", "n:1", wait=MINUTE)
    assert "z" not in {place["agent"] for place in records(fleet)[1]}


def test_a_crowd_of_waiters_that_hold_something_does_not_cost_the_square(monkeypatch: pytest.MonkeyPatch) -> None:
    reads = []
    get, fetch = MemoryTransaction.get, MemoryTransaction.fetch

    def count_key(self: Any, key: str) -> Any:
        reads.append(1)
        return get(self, key)

    def count_rows(self: Any, ranges: Any, limit: int = 512) -> Any:
        fetched = fetch(self, ranges, limit)
        reads.append(len(fetched.rows))
        return fetched

    monkeypatch.setattr(MemoryTransaction, "get", count_key)
    monkeypatch.setattr(MemoryTransaction, "fetch", count_rows)

    def cost_of_one(crowd: int, *, awaited: bool) -> int:
        fleet = Fleet()
        fleet.claim("holder", "n:all")
        for number in range(crowd):
            fleet.claim(f"w{number}", f"n:{number}")
            place = fleet.claim(f"w{number}", "n:all", f"m:{number}", wait=MINUTE)["waiting"]
        if awaited:
            fleet.claim("late", f"n:{crowd - 1}", wait=MINUTE)
        reads.clear()
        fleet.claim(f"w{crowd - 1}", "n:all", f"m:{crowd - 1}", wait=MINUTE, waiter=place)
        return sum(reads)

    assert cost_of_one(200, awaited=False) < 5 * cost_of_one(50, awaited=False)
    assert cost_of_one(200, awaited=True) < 5 * cost_of_one(50, awaited=True), "in proportion, not by the square"


def test_a_waiter_whose_claims_nobody_waits_for_searches_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    fleet = Fleet()
    monkeypatch.setattr(places, "MAX_READ", 0)
    fleet.claim("h", "n:1")
    fleet.claim("a", "n:2")
    assert fleet.claim("a", "n:1", wait=MINUTE)["waiting"]
    fleet.claim("b", "n:2", wait=MINUTE)
    with pytest.raises(Quota):
        fleet.claim("a", "n:1", wait=MINUTE)


def test_two_places_of_one_agent_are_no_cycle_although_somebody_stands_between_them() -> None:
    fleet = Fleet()
    fleet.claim("h", "n:1")
    fleet.claim("a", "n:3")
    fleet.claim("z", "n:3", wait=MINUTE)
    fleet.claim("a", "n:1", wait=MINUTE)
    fleet.claim("b", "n:1", wait=MINUTE)
    assert fleet.claim("a", "n:1", "n:2", wait=MINUTE)["waiting"]


def test_an_upgrade_that_passes_the_queue_is_no_step_to_those_who_wait_in_it() -> None:
    fleet = Fleet()
    fleet.claim("s", "n:2")
    fleet.claim("a", "n:1", mode="read")
    fleet.claim("b", "n:1", mode="read")
    place = fleet.claim("s", "n:1", wait=MINUTE)["waiting"]
    fleet.claim("q", "n:1", "n:2", wait=MINUTE)  # waits for s
    fleet.claim("a", "n:1", wait=MINUTE)  # for b alone, not for q
    assert fleet.claim("s", "n:1", wait=MINUTE, waiter=place)["waiting"] == place


def test_a_cycle_through_somebody_elses_place_in_a_queue_is_found() -> None:
    fleet = Fleet()
    for holder, name in (("a", "n:1"), ("c", "n:2"), ("x", "n:3")):
        fleet.claim(holder, name)
    fleet.claim("b", "n:1", "n:2", wait=MINUTE)  # waits for a and c
    fleet.claim("x", "n:1", wait=MINUTE)  # behind b
    with pytest.raises(Deadlock) as refused:
        fleet.claim("c", "n:3", wait=MINUTE)
    steps = [(step["agent"], step["holder"]) for step in refused.value.cycle]
    assert steps == [("c", "x"), ("x", "b"), ("b", "c")]
