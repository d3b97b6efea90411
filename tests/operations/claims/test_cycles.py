"""`deadlock` is said of real cycles, and of all of them: against a search that tries every way, on random fleets.

The search here knows nothing of that in the code: it reads who holds and who waits from the records, builds the whole
graph, and closes it transitively.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dibs.errors import Deadlock, DibsError, Held
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
    edges: dict[str, set[str]] = {}
    for place in [*places, asked]:
        own = {text for claim in claims if claim["agent"] == place["agent"] for text in texts(claim)}
        edges[place["waiter"]] = {f"@{claim['agent']}" for claim in claims if conflict(claim, place)}
        if not own >= texts(place):  # an upgrade passes the queue
            edges[place["waiter"]] |= {
                other["waiter"] for other in places if other["ticket"] < place["ticket"] and conflict(other, place)
            }
        edges.setdefault(f"@{place['agent']}", set()).add(place["waiter"])
    edges[f"@{asked['agent']}"] = set()  # the cycle is to go through this very place
    reached, new = set(edges[asked["waiter"]]), set(edges[asked["waiter"]])
    while new:
        new = {far for near in new for far in edges.get(near, ())} - reached
        reached |= new
    return f"@{asked['agent']}" in reached


STEPS = st.one_of(
    *[st.tuples(st.just("ask"), st.sampled_from(AGENTS), st.sets(st.sampled_from(NAMES), min_size=1, max_size=2),
                st.sampled_from(MODES), st.just(value=False))] * 4,
    st.tuples(st.just("ask"), st.sampled_from(AGENTS), st.sets(st.sampled_from(NAMES), min_size=1, max_size=2),
              st.sampled_from(MODES), st.just(value=True)),
    *[st.tuples(st.just("look"), st.integers(0, 9))] * 2,
    st.tuples(st.just("release"), st.sampled_from(AGENTS), st.sampled_from(NAMES)),
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


def test_two_places_of_one_agent_are_no_cycle_although_somebody_stands_between_them() -> None:
    fleet = Fleet()
    fleet.claim("h", "n:1")
    fleet.claim("a", "n:3")
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
