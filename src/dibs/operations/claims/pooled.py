"""Requests for units of pools: what they wish for, what they meet, and which units they get. Loaded with the first one.

A unit is held by a claim as any name is; only what a request for a pool gets is decided here, by one pure function
(operations/pools/allocation.py). The rest is as for every claim: grants.py, waiters.py, endings.py.

- success: all that the request names, or none of it.
- retry: an agent whose claim has as many units refreshes it; a command has its own unit, which no other refreshes.
- refusal: names the holders and says how many units there are; an unknown pool or unit is refused by name.
- family: a subagent and its parent do not share a unit.
- config: a request counts the units that its caller's config has. Units that are held count, whatever that says.
"""

from __future__ import annotations

from dibs.errors import Invalid, NotFound
from dibs.operations.claims import records, resources
from dibs.operations.pools.allocation import allocate
from dibs.operations.pools.shapes import shape_of, size_of, units_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import TypeVar

    from dibs.operations.claims.records import Claim, ClaimTerms, Interest, InterestRequest, Waiter, Want, Wish
    from dibs.operations.claims.requests import ClaimRequest
    from dibs.operations.claims.resources import Resource
    from dibs.operations.core.call import Call
    from dibs.operations.pools.allocation import Request
    from dibs.operations.pools.shapes import Pool
    from dibs.stores.seam import Transaction

    T = TypeVar("T", ClaimTerms, Waiter)

MAX_POOLS_NAMED = 8  # in an error


def add_wishes(call: Call, terms: ClaimTerms, request: ClaimRequest) -> None:
    """Complete the terms of a request that names pools; what makes no sense is raised."""
    count = terms["units"] = request["units"]
    wishes = terms["pools"] = wishes_of(call, terms["resources"], count)
    if terms["mode"] != resources.WRITE:
        raise Invalid(f"mode: a unit of a pool has one holder; it cannot be claimed to {terms['mode']}", field="mode")
    if count > 1 and not any(wish["count"] for wish in wishes.values()):
        raise Invalid("units: no pool is named of which these are to be taken, such as pool:build", field="units")
    terms["tree"] = ""  # a unit is the same one in every working tree
    for name in wishes if request["ttl"] is None else ():
        terms["ttl"] = min(terms["ttl"], configured(call, name).get("ttl", terms["ttl"]))


def wishes_of(call: Call, asked: Sequence[Resource], count: int) -> dict[str, Wish]:
    """What a request wants of each pool that it names: units of it, or any `count`."""
    wishes: dict[str, Wish] = {}
    for resource in asked:
        name = resources.pool_of(resource)
        if not name:
            continue
        if name not in wishes:
            wishes[name] = {"count": 0, "shape": shape_of(configured(call, name))}
        wish = wishes[name]
        if name == resource[1]:
            wish["count"] = count
        elif resources.unit_of(resource) not in units_of(wish["shape"]):
            units = units_of(wish["shape"])
            shown = ", ".join(units) if len(units) <= MAX_POOLS_NAMED else f"{units[0]} … {units[-1]}"
            raise Invalid(f"{name} has no unit {resources.unit_of(resource)!r}; it has {shown}", resource=resource[1])
    for name, wish in wishes.items():
        count, size = wish["count"] + len(named(asked, name)), size_of(wish["shape"])
        if count > size:
            raise Invalid(
                f"{name} has {size} {'unit' if size == 1 else 'units'}; {count} will never be free", field="units"
            )
    return wishes


def names_of(call: Call) -> list[str]:
    """The pools of the caller's config, as resources are named."""
    return [f"{resources.POOL}{name}" for name in call.policy.pools["named"]]


def configured(call: Call, name: str) -> Pool:
    """A pool of the caller's config."""
    pool = call.policy.pools["named"].get(name.removeprefix(resources.POOL))
    if pool is None:
        known = names_of(call)[:MAX_POOLS_NAMED]
        text = f"there is {', '.join(known)}" if known else "[pools] of .dibs/config.toml defines none"
        raise NotFound(f"there is no pool {name}; {text}.", resource=name)
    return pool


def named(among: Iterable[Resource], pool: str) -> list[str]:
    """The own names of the units of a pool that a request names, or a claim has."""
    return [resources.unit_of(one) for one in among if one[1] != pool and resources.pool_of(one) == pool]


def count_of(request: Want, pool: str) -> int:
    """How many units of a pool a request wants."""
    count = len(named(request["resources"], pool))
    return count + (request["pools"][pool]["count"] if pool in request.get("pools", ()) else 0)


class UnitOverlaps:
    """What a request for units meets in its pools, and what it gets."""

    __slots__ = (
        "_chosen", "_units", "blockers", "claims", "ended", "free", "interests", "own_claims", "places", "queue",
        "sizes", "wishes",
    )  # fmt: skip

    def __init__(self, wishes: dict[str, Wish]) -> None:
        self.wishes = wishes
        self.claims: list[Claim] = []  # live ones, of whatever agent
        self.queue: list[Waiter] = []  # present waiters, of whatever agent
        self.ended: list[Claim | Waiter] = []
        self.own_claims: list[Claim] = []  # live claims of the agent that it made by hand
        self.places: list[Waiter] = []  # its own places
        self.interests: list[Interest] = []  # its own interests
        self.blockers: list[Claim | Waiter] = []  # why it has to wait
        self.free: dict[str, list[int]] = {}  # of each pool: free units, and all
        self.sizes = {name: size_of(wish["shape"]) for name, wish in wishes.items()}
        self._units: dict[str, list[str]] = {}  # of each pool: the units that it gets
        self._chosen: dict[str, list[str]] = {}  # of each pool: the units in addition to those that it names

    def decide(self, request: Want, place: Waiter | None) -> list[Claim]:
        """Find out what the request gets; returns the claims in its way. `place`: its own in the queue, if any."""
        self.blockers, self._units, self._chosen, self.free = [], {}, {}, {}
        queue = [one for one in self.queue if place is None or one["ticket"] < place["ticket"]]
        queue.sort(key=lambda waiter: waiter["ticket"])
        for name in self.wishes:
            self._decide_one(request, name, [one for one in queue if name in one.get("pools", ())])
        return [record for record in self.blockers if records.is_claim(record)]

    def _decide_one(self, request: Want, name: str, earlier: list[Waiter]) -> None:
        """The same for one pool."""
        holders = [claim for claim in self.claims if _has_unit(claim, name)]
        held = {unit for claim in holders for unit in named(claim["resources"], name)}
        own = {unit for claim in self.own_claims for unit in named(claim["resources"], name)}
        asked = wanted(request, name)
        asked["named"] = [unit for unit in asked["named"] if unit not in own]
        given = allocate(asked, [wanted(other, name) for other in earlier], held)
        self.free[name] = [max(0, self.sizes[name] - len(held)), self.sizes[name]]
        if given is not None:
            self._units[name], self._chosen[name] = given, given[len(asked["named"]) :]
            return
        of_these = [claim for claim in holders if set(asked["named"]).intersection(named(claim["resources"], name))]
        in_the_way = of_these if of_these and not asked["count"] else holders
        in_the_way.sort(key=lambda claim: (claim["agent"] == request["agent"], claim["until"]))
        self.blockers += [record for record in [*in_the_way, *earlier] if record not in self.blockers]

    @property
    def is_free(self) -> bool:
        """Can it have all that it wants of its pools?"""
        return len(self._chosen) == len(self.wishes)

    def has_enough(self, claim: Claim, terms: ClaimTerms) -> bool:
        """Has a claim of the agent as many units as the request wants? Those of a command are for it alone."""
        if terms["by"] != records.BY_HAND or claim["by"] != records.BY_HAND:
            return False
        return all(len(named(claim["resources"], name)) >= count_of(terms, name) for name in self.wishes)

    def ends(self, claim: Claim) -> bool:
        """Is one of the units that it gets still in this claim, whose deadline has passed?"""
        return claim not in self.claims and any(
            unit in self._units[name] for name in self.wishes for unit in named(claim["resources"], name)
        )

    @staticmethod
    def outside(request: T) -> T:
        """What a request names outside pools: that is decided by overlap."""
        return {**request, "resources": resources.without_pools(request["resources"])}

    def resolved(self, terms: T) -> T:
        """The terms with the units in the place of the pools."""
        units: list[Resource] = []
        for resource in terms["resources"]:
            if resource[1] in self._chosen and resources.pool_of(resource):
                units += [["name", f"{resource[1]}:{unit}"] for unit in self._chosen[resource[1]]]
            else:
                units.append(resource)
        return {**terms, "resources": units}


def wanted(request: Want, name: str) -> Request:
    """What a request or a waiter wants of one pool, for its allocation."""
    wish = request["pools"][name]
    return {
        "named": named(request["resources"], name), "count": wish["count"], "units": units_of(wish["shape"]),
        "unusable": wish.get("unusable", ()),
    }  # fmt: skip


def _has_unit(claim: Claim, pool: str) -> bool:
    return any(resources.pool_of(resource) == pool for resource in claim["resources"])


def overlaps_of(tx: Transaction, terms: ClaimTerms) -> UnitOverlaps:
    """Every record in the pools that a request names, sorted."""
    found = UnitOverlaps(terms["pools"])
    for record in records.within_ranges(tx, records.ranges_of([["name", name] for name in terms["pools"]])):
        own = record["agent"] == terms["agent"]
        if records.is_interest(record):
            if own:
                found.interests.append(record)
        elif record["until"] <= tx.now:
            found.ended.append(record)
        elif records.is_waiter(record):
            found.queue.append(record)
            if own:
                found.places.append(record)
        else:
            found.claims.append(record)
            if own and record["by"] == records.BY_HAND and terms["by"] == records.BY_HAND:
                found.own_claims.append(record)
    return found


def units_for(
    tx: Transaction, waiter: Waiter | InterestRequest, claims: Iterable[Claim], earlier: Iterable[Waiter]
) -> UnitOverlaps | None:
    """What a waiter gets of its pools now, with these claims and the waiters before it; None if it has to wait."""
    found = UnitOverlaps(waiter["pools"])
    found.claims = [claim for claim in claims if claim["until"] > tx.now]
    found.queue = [*earlier]
    if waiter.get("by") == records.BY_HAND:
        found.own_claims = [
            claim for claim in found.claims if claim["agent"] == waiter["agent"] and claim["by"] == records.BY_HAND
        ]
    found.decide(waiter, None)
    return found if found.is_free else None
