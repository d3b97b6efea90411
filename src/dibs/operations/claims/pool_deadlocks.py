"""Deadlocks where an agent waits for a pool: any of its units will do, so a cycle alone proves nothing.

A reduction decides. Every agent that does not wait ends what it does and releases all; then a place is served if its
files and names are free and enough units of its pools are; an agent whose places are all served ends what it does, too.
What is left when nothing moves any more can never be granted. The units of a command are released when it ends: it
waits for nothing (a wait inside a command ends by its own deadline).

- reported: a request that can never be granted, and that waits, by agents and places which cannot be served either, for
  something that its own agent holds. Of others that are stuck, one will be told at its own next look.
- earlier places: what one of an agent that never ends will hold, or reserves now, is not there for a later one.
- limit: as the search without pools; MAX_STEPS bounds the reduction.
"""

from __future__ import annotations

from dibs.errors import Quota
from dibs.operations.claims import endings, pooled, records, resources
from dibs.operations.claims.places import Reads, places_of, step
from dibs.operations.pools.allocation import free_for

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from dibs.operations.alerts.answers import CycleStep
    from dibs.operations.claims.places import Blocker
    from dibs.operations.claims.records import Claim, Place, Waiter, Want
    from dibs.operations.claims.resources import Resource
    from dibs.stores.seam import Json, Transaction

    Way = list[tuple[Want, Blocker]]  # places, each with what is in its way, from the asking agent on

MAX_STEPS = 500_000  # looks at a record: some 100 ms
REQUEST = ""  # the id of a request that has no place yet


def find(tx: Transaction, request: Want, place: Waiter | None) -> list[CycleStep]:
    """The deadlock of this request, as steps (agent, resource, holder); empty if it can be granted some day.

    `place`: its own in the queue, if it has one.
    """
    graph = _Graph(tx, request["agent"])
    graph.add_request(request, place)
    graph.reduce()
    identifier = records.waiter_of(place) if place is not None else REQUEST
    return graph.way_to([identifier], lambda claim: claim["agent"] == request["agent"])


def find_past(tx: Transaction, granted: Want) -> list[CycleStep]:
    """The deadlock that a grant would cause by passing a queue: from a place of its agent to one that waits for it."""
    graph = _Graph(tx, granted["agent"], granted)
    places = [graph.add(place) for place in places_of(tx, granted["agent"])]
    graph.reduce()
    stuck = [place for place in places if place not in graph.served]
    steps = graph.way_to(stuck, lambda claim: claim is granted)
    return steps[:-1] if steps else []


class _Graph:
    """The places that a request depends on, and what each of them needs."""

    def __init__(self, tx: Transaction, start: str, granted: Want | None = None) -> None:
        self._tx, self._start = tx, start
        self._granted = granted
        self._reads, self._steps = Reads(), 0
        self._places: dict[str, Want] = {}
        self._of_agent: dict[str, list[str]] = {start: []}  # the places of each agent that was met
        self._crowds: dict[tuple[str, ...], tuple[list[Claim], list[Waiter]]] = {}
        self._lines: dict[str, list[Waiter]] = {}  # of each pool: waiters that were not seen to end
        self.served: set[str] = set()
        self._ends: set[str] = set()  # agents that end some day what they do

    # --- gathering

    def add_request(self, request: Want, place: Waiter | None) -> None:
        """Add the request, and its agent's other places."""
        asking: Want = request if place is None else {**place, **request}  # type: ignore[typeddict-unknown-key]
        identifier = records.waiter_of(asking)
        others = [one for one in places_of(self._tx, request["agent"]) if one["waiter"] != identifier]
        self._of_agent[self._start] = [identifier, *[one["waiter"] for one in others]]
        self._gather([asking, *others])

    def add(self, place: Place) -> str:
        """Add one place of the asking agent."""
        self._of_agent[self._start].append(place["waiter"])
        self._gather([place])
        return place["waiter"]

    def _gather(self, frontier: list[Want]) -> None:
        """Add places and all that they depend on."""
        for place in frontier:  # it grows while it is read
            self._places.setdefault(records.waiter_of(place), place)
            for record in self._in_the_way(place):
                if records.is_waiter(record) and record["waiter"] not in self._places:
                    self._places[record["waiter"]] = record
                    frontier.append(record)
                if record["agent"] not in self._of_agent and not _ends_by_itself(record):
                    self._reads.add(1)
                    places = places_of(self._tx, record["agent"])
                    self._of_agent[record["agent"]] = [one["waiter"] for one in places]
                    new = [one for one in places if one["waiter"] not in self._places]
                    self._places.update({one["waiter"]: one for one in new})
                    frontier += new

    def _in_the_way(self, place: Want) -> Iterator[Blocker]:
        """All that a place can depend on: of a pool every holder, and every earlier waiter."""
        for resource in _outside(place):
            yield from self._before(place, resource)
        for name in _pools(place):
            claims, waiters = self._crowd(["name", name], "")
            yield from claims
            yield from [waiter for waiter in waiters if _is_earlier(waiter, place)]

    def _before(self, place: Want, resource: Resource) -> Iterator[Blocker]:
        """What a place waits for at a file or a name: holders, and earlier waiters for what its agent does not hold."""
        claims, waiters = self._crowd(resource, place["tree"])
        for claim in claims:
            self._count()
            if endings.blocks(claim, place["mode"], place["agent"]):
                yield claim
        own = [claim for claim in claims if claim["agent"] == place["agent"]]
        if not endings.missing(own, {**place, "resources": [resource]}):
            return
        for waiter in waiters:
            self._count()
            if _is_earlier(waiter, place) and endings.blocks(waiter, place["mode"], place["agent"]):
                yield waiter

    def _crowd(self, resource: Resource, tree: str) -> tuple[list[Claim], list[Waiter]]:
        """The live claims and waiters that meet a resource, the waiters by turn; read once."""
        key = (tree, *resource)
        if key not in self._crowds:
            self._reads.add(1)
            claims: list[Claim] = []
            waiters: list[Waiter] = []
            for record in records.overlapping(self._tx, [resource], tree, most=records.MAX_COST):
                self._reads.add(1)
                if records.is_interest(record) or record["until"] <= self._tx.now:
                    continue
                if records.is_waiter(record):
                    waiters.append(record)
                else:
                    claims.append(record)
            granted = self._granted
            if granted is not None and resources.any_overlap(granted["resources"], [resource]) is not None:
                counted: Json = granted  # as a claim, though it is not written yet
                claims.append(counted)
            waiters.sort(key=lambda waiter: waiter["ticket"])
            self._crowds[key] = claims, waiters
        return self._crowds[key]

    def _count(self, steps: int = 1) -> None:
        self._steps += steps
        if self._steps > MAX_STEPS:
            raise Quota(what="steps of a search for a deadlock", limit=MAX_STEPS)

    # --- the reduction

    def reduce(self) -> None:
        """Let everybody go on who can, until nothing moves any more."""
        order = sorted(self._places, key=lambda one: (_ticket(self._places[one]), one))
        moved = True
        while moved:
            moved = False
            for agent, places in self._of_agent.items():
                if agent not in self._ends and all(place in self.served for place in places):
                    self._ends.add(agent)
                    moved = True
            for identifier in order:
                self._count()
                place = self._places[identifier]
                if identifier not in self.served and not any(self._obstacles(place)):
                    self.served.add(identifier)
                    moved = True
                    own = self._of_agent.get(place["agent"])
                    if own and all(one in self.served for one in own):  # at once: a crowd is through in one round
                        self._ends.add(place["agent"])

    def _obstacles(self, place: Want) -> Iterator[Blocker]:
        """What keeps a place from ever being served, as far as is known yet."""
        for resource in _outside(place):
            for record in self._before(place, resource):
                if not (self._is_over(record) if records.is_waiter(record) else self._is_released(record)):
                    yield record
        for name in _pools(place):
            yield from self._of_pool(place, name)

    def _of_pool(self, place: Want, name: str) -> Iterator[Blocker]:
        """The holders and earlier waiters because of which there will never be enough units; none if there will be."""
        claims, _ = self._crowd(["name", name], "")
        kept = [claim for claim in claims if not self._is_released(claim)]
        staying = [one for one in self._staying(place, name) if one["agent"] != place["agent"]]
        self._count(len(claims) + len(staying))
        taken = {unit for claim in kept for unit in pooled.named(claim["resources"], name)}
        asked = pooled.wanted(place, name)
        if place.get("by") == records.BY_HAND:  # it may have those that it holds already
            own = [claim for claim in claims if claim["agent"] == place["agent"] and claim["by"] == records.BY_HAND]
            shared = {unit for claim in own for unit in pooled.named(claim["resources"], name)}
            asked["named"] = [unit for unit in asked["named"] if unit not in shared]
        for other in staying:
            its = pooled.wanted(other, name)
            if records.waiter_of(other) in self.served:  # it may have got other units by then
                its["units"] = sorted(its["units"], key=lambda unit: unit in asked["named"])
            taken.update(free_for(its, taken))
        if len(free_for(asked, taken)) < len(asked["named"]) + asked["count"]:
            yield from kept
            yield from staying

    def _staying(self, place: Want, name: str) -> list[Waiter]:
        """The earlier waiters of a pool whose agents never end what they do: they keep what they get, or reserve."""
        line = self._lines.setdefault(
            name, [one for one in self._crowd(["name", name], "")[1] if name in one.get("pools", ())]
        )
        earlier = 0
        while earlier < len(line) and _is_earlier(line[earlier], place):
            earlier += 1
        self._count(earlier)
        line[:earlier] = [one for one in line[:earlier] if not self._is_over(one)]  # they are over for good
        return [one for one in line[:earlier] if _is_earlier(one, place)]

    def _is_over(self, waiter: Waiter) -> bool:
        """Will a place be served some day, and what it gets be released?"""
        if _ends_by_itself(waiter):
            return waiter["waiter"] in self.served
        return waiter["agent"] in self._ends

    def _is_released(self, claim: Claim) -> bool:
        """Will this claim be released some day?"""
        return claim["agent"] in self._ends or (_ends_by_itself(claim) and claim is not self._granted)

    # --- what is shown

    def way_to(self, begin: Sequence[str], arrived: Callable[[Claim], bool]) -> list[CycleStep]:
        """The steps of a shortest way, by what can never be served, to a claim that is looked for."""
        came: dict[str, Way] = {identifier: [] for identifier in begin}
        frontier = [*begin]
        for identifier in frontier:  # it grows while it is read
            place, way = self._places[identifier], came[identifier]
            for record in self._obstacles(place):
                if not records.is_waiter(record):
                    if arrived(record):
                        return [step(self._tx, *one) for one in [*way, (place, record)]]
                    following = self._of_agent.get(record["agent"], [])
                else:
                    following = [record["waiter"], *self._of_agent.get(record["agent"], [])]
                for other in following:
                    if other not in came and other not in self.served and other in self._places:
                        came[other] = [*way, (place, record)]
                        frontier.append(other)
        return []


def _ends_by_itself(record: Blocker) -> bool:
    """Is it of a running command that has units, or of one that will run with them?"""
    return record["by"] == "shell" and any(map(resources.pool_of, record["resources"]))


def _outside(place: Want) -> Sequence[Resource]:
    return resources.without_pools(place["resources"])


def _pools(place: Want) -> Sequence[str]:
    return [*place.get("pools", ())]


def _ticket(place: Want) -> float:
    """The turn of a place; a request that has none comes last."""
    return float(place.get("ticket", "inf"))  # type: ignore[arg-type]


def _is_earlier(waiter: Waiter, place: Want) -> bool:
    return waiter["ticket"] < _ticket(place)
