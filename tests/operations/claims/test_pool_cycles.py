"""`deadlock` is said of waits for pools that can never end, and of all of them: against a search that tries every way.

The search here knows nothing of that in the code. It plays the fleet on: in every order, agents that wait for nothing
release all that they hold, commands end, and waiters are served by their turn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from dibs.errors import Deadlock, DibsError, Held
from dibs.operations.claims.waiters import WITHDRAW
from tests.operations.claims.test_cycles import MINUTE, records, related
from tests.operations.claims.test_pools import pool, pools
from tests.operations.fleet import Fleet

if TYPE_CHECKING:
    from collections.abc import Iterable

AGENTS = ("a", "b", "c", "c/child")
NAMES = ("n:1", "n:2")
POOLS = {"pool:p": ("0", "1"), "pool:q": ("0", "1", "2")}


class Hold(NamedTuple):
    """What one claim has."""

    agent: str
    texts: frozenset[str]
    by: str


class Place(NamedTuple):
    """What one waiter wants."""

    ticket: int
    agent: str
    texts: frozenset[str]  # pools among them: as many units as `number`
    number: int
    by: str
    id: str


class World(NamedTuple):
    """Who holds and who waits."""

    holds: frozenset[Hold]
    places: frozenset[Place]


def world_of(fleet: Fleet) -> World:
    """The live records."""
    claims, waiters = records(fleet)
    return World(
        frozenset(
            Hold(one["agent"], frozenset(text for _, text in one["resources"]), one["by"] + one["claim"])
            for one in claims
        ),
        frozenset(
            Place(one["ticket"], one["agent"], frozenset(text for _, text in one["resources"]), one.get("units", 0),
                  one["by"], one["waiter"])
            for one in waiters
        ),
    )  # fmt: skip


def plain(texts: Iterable[str]) -> set[str]:
    return {text for text in texts if not text.startswith("pool:")}


def is_command(hold: Hold) -> bool:
    """Does it end by itself?"""
    return hold.by.startswith("shell") and plain(hold.texts) != hold.texts


def units(texts: Iterable[str], name: str) -> set[str]:
    """The own names of the units of a pool."""
    return {text.removeprefix(f"{name}:") for text in texts if text.startswith(f"{name}:")}


def wish(place: Place, name: str, taken: set[str]) -> set[str] | None:
    """The units of one pool that a place takes or reserves; None if it is no place for that pool."""
    asked = units(place.texts, name)
    if not asked and name not in place.texts:
        return None
    room = len(POOLS[name]) - len(taken)
    found = set(sorted(asked - taken)[: max(0, room)])
    if name in place.texts:
        free = [unit for unit in POOLS[name] if unit not in taken and unit not in asked]
        found |= set(free[: max(0, min(place.number, room - len(found)))])
    return found


def granted(world: World, place: Place) -> frozenset[str] | None:
    """What a place gets now, by the rules; None if it has to wait."""
    mine = {text for hold in world.holds if hold.agent == place.agent for text in hold.texts}
    for hold in world.holds:
        if plain(hold.texts) & plain(place.texts) and not related(hold.agent, place.agent):
            return None
    earlier = sorted(other for other in world.places if other.ticket < place.ticket)
    for other in earlier:
        if plain(other.texts) & (plain(place.texts) - mine) and not related(other.agent, place.agent):
            return None
    got = set(plain(place.texts))
    for name in POOLS:
        taken = {unit for hold in world.holds for unit in units(hold.texts, name)}
        own = {
            unit
            for hold in world.holds
            if hold.agent == place.agent and hold.by.startswith("hand") and place.by == "hand"
            for unit in units(hold.texts, name)
        }
        for other in earlier:
            taken |= wish(other, name, taken) or set()
        asked = place._replace(texts=frozenset(place.texts - {f"{name}:{unit}" for unit in own}))
        found = wish(asked, name, taken)
        if found is None:
            got |= {f"{name}:{unit}" for unit in units(place.texts, name)}
            continue
        if len(found) < len(units(asked.texts, name)) + (place.number if name in place.texts else 0):
            return None
        got |= {f"{name}:{unit}" for unit in found | units(place.texts, name)}
    return frozenset(got)


def served(world: World) -> World:
    """The world after all waiters that can be served were."""
    moved = True
    while moved:
        moved = False
        for place in sorted(world.places):
            got = granted(world, place)
            if got is not None:
                hold = Hold(place.agent, got, place.by + place.id)
                world = World(world.holds | {hold}, world.places - {place})
                moved = True
                break
    return world


def futures(world: World) -> Iterable[World]:
    """What can happen next: a command ends, or an agent that waits for nothing releases something."""
    waiting = {place.agent for place in world.places}
    for hold in world.holds:
        if is_command(hold) or hold.agent not in waiting:
            yield served(World(world.holds - {hold}, world.places))


def stuck(world: World, place: str) -> bool:
    """Is this place never served, whatever happens?"""
    seen, frontier = set(), [served(world)]
    while frontier:
        now = frontier.pop()
        if now in seen:
            continue
        seen.add(now)
        if all(one.id != place for one in now.places):
            return False
        frontier += futures(now)
    return True


def with_request(world: World, asked: Place) -> World:
    """The world in which this request waits, too."""
    return World(world.holds, frozenset(one for one in world.places if one.id != asked.id) | {asked})


RESOURCES = (*NAMES, *POOLS, "pool:p:0", "pool:q:1")
STEPS = st.one_of(
    *[st.tuples(st.just("ask"), st.sampled_from(AGENTS), st.sets(st.sampled_from(RESOURCES), min_size=1, max_size=2),
                st.integers(1, 2), st.sampled_from(("hand", "hand", "shell")))] * 4,
    *[st.tuples(st.just("look"), st.integers(0, 9))] * 2,
    st.tuples(st.just("release"), st.sampled_from(AGENTS), st.sampled_from(RESOURCES)),
    st.tuples(st.just("leave"), st.just("c/child")),
)  # fmt: skip


@settings(max_examples=max(200, settings().max_examples), deadline=None)
@given(st.lists(STEPS, min_size=6, max_size=30))
def test_deadlock_is_said_exactly_when_a_wait_for_a_pool_can_never_end(steps: list[Any]) -> None:
    fleet = Fleet(pools=pools(p=pool(size=2), q=pool(size=3)))
    waits: list[tuple[str, list[str], int, str, str]] = []
    for step in steps:
        if step[0] == "ask":
            _, agent, names, count, by = step
            names = sorted(names)
            if ask(fleet, waits, agent, names, count if {*names} & {*POOLS} else 1, by, ""):
                break
        elif step[0] == "look" and waits:
            if ask(fleet, waits, *waits.pop(step[1] % len(waits))):
                break
        elif step[0] != "look":
            try:
                fleet.call(step[1], "leave") if step[0] == "leave" else fleet.release(step[1], step[2])
            except DibsError:
                pass
    fleet.clean()


def ask(
    fleet: Fleet, waits: list[Any], agent: str, names: list[str], count: int, by: str, waiter: str
) -> bool:  # fmt: skip
    """One request or one look, compared with every way on. Returns whether the fleet is stuck now."""
    before = world_of(fleet)
    try:
        answer = fleet.claim(agent, *names, units=count, by=by, wait=MINUTE, waiter=waiter)
    except Deadlock as refused:
        mine = [one for one in before.places if one.id == waiter] or [
            one for one in before.places
            if (one.agent, one.texts, one.by, by) == (agent, frozenset(names), "hand", "hand")
            and (one.number == count or not any(name.startswith("pool:") for name in names))
        ]  # fmt: skip
        asked = Place(mine[0].ticket if mine else 1 << 60, agent, frozenset(names), count, by, "asked")
        rest = World(before.holds, before.places - {*mine})
        assert stuck(with_request(rest, asked), "asked"), refused.message
        assert {one.id for one in world_of(fleet).places} <= {one.id for one in rest.places}, "no place is left"
        return False
    except DibsError as error:
        assert error.code in {"quota", "invalid"} or isinstance(error, Held), error
        return False
    if "waiting" not in answer:
        return False
    waits.append((agent, names, count, by, answer["waiting"]))
    if not stuck(world_of(fleet), answer["waiting"]):
        return False
    play_on(fleet, waits)
    return True


def play_on(fleet: Fleet, waits: list[Any]) -> None:
    """Everybody who can goes on; of those who cannot one is told at its own look."""
    while True:
        world = world_of(fleet)
        if not world.places:
            return
        waiting = {place.agent for place in world.places}
        for hold in world.holds:
            if hold.agent not in waiting or is_command(hold):
                fleet.internal(hold.agent, WITHDRAW, claims=[hold.by.removeprefix("hand").removeprefix("shell")])
        for agent, names, count, by, waiter in [*waits]:
            if all(place.id != waiter for place in world_of(fleet).places):
                continue
            try:
                fleet.claim(agent, *names, units=count, by=by, wait=MINUTE, waiter=waiter)
            except Deadlock:
                return
        assert world_of(fleet) != world, f"stuck, and nobody was told: {world}"
