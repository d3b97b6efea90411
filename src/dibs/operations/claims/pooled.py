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
from dibs.operations.pools.buckets import due_in, take
from dibs.operations.pools.records import get_buckets, put_bucket
from dibs.operations.pools.shapes import shape_of, size_of, units_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import TypeVar

    from dibs.operations.claims.records import Claim, ClaimTerms, Interest, InterestRequest, Waiter, Want, Wish
    from dibs.operations.claims.requests import ClaimRequest
    from dibs.operations.claims.resources import Resource
    from dibs.operations.core.call import Call
    from dibs.operations.pools.allocation import Request
    from dibs.operations.pools.shapes import Pool, Rate
    from dibs.stores.seam import Transaction

    T = TypeVar("T", ClaimTerms, Waiter)

MAX_POOLS_NAMED = 8  # in an error
MAX_ENDED = 100  # records that are over: more than these count as if they were not, until those have ended
PRESSURE_POLL_MS = 2_000  # the figure is the average of 10 seconds


def add_wishes(call: Call, terms: ClaimTerms, request: ClaimRequest) -> None:
    """Complete the terms of a request that names pools; what makes no sense is raised."""
    count = terms["units"] = request["units"]
    terms["resources"] = on_machine(call, terms["resources"], call.here or request["machine"])
    wishes = terms["pools"] = wishes_of(call, terms["resources"], count)
    for name, wish in wishes.items():
        pool = configured(call, name)
        unusable = [unit.removeprefix(f"{name}:") for unit in request["unusable"]]
        if unusable:
            wish["unusable"] = [unit for unit in unusable if unit in units_of(wish["shape"])]
        if "rate" in pool or "pressure" in pool:
            wish["polls"] = True
    if terms["mode"] != resources.WRITE:
        raise Invalid(f"mode: a unit of a pool has one holder; it cannot be claimed to {terms['mode']}", field="mode")
    if count > 1 and not any(wish["count"] for wish in wishes.values()):
        raise Invalid("units: no pool is named of which these are to be taken, such as pool:build", field="units")
    terms["tree"] = ""  # a unit is the same one in every working tree
    for name in wishes if request["ttl"] is None else ():
        terms["ttl"] = min(terms["ttl"], configured(call, name).get("ttl", terms["ttl"]))


def on_machine(call: Call, asked: Sequence[Resource], machine: str) -> list[Resource]:
    """The resources with the machine's own pools in the place of those of which each machine has its own."""
    found: list[Resource] = []
    for resource in asked:
        name = resources.pool_of(resource)
        if name and "@" not in name and configured(call, name)["scope"] == "machine":
            if not machine:
                raise Invalid(f"{name} has units of each machine's own, and it is not known on which one you are")
            found.append(["name", f"{name}@{machine}{resource[1][len(name) :]}"])
        else:
            found.append(resource)
    return found


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
        rate = configured(call, name).get("rate")
        if rate is not None and count > rate["burst"]:
            raise Invalid(f"{name} lets through {rate['burst']} at once, never {count}", field="units")
        if count > size and wish["shape"]:
            raise Invalid(
                f"{name} has {size} {'unit' if size == 1 else 'units'}; {count} will never be free", field="units"
            )
    return wishes


def names_of(call: Call) -> list[str]:
    """The pools of the caller's config, as resources are named."""
    return [f"{resources.POOL}{name}" for name in call.policy.pools["named"]]


def configured(call: Call, name: str) -> Pool:
    """A pool of the caller's config."""
    plain, _, machine = name.removeprefix(resources.POOL).partition("@")
    pool = call.policy.pools["named"].get(plain)
    if pool is None or (machine and pool["scope"] != "machine"):
        known = names_of(call)[:MAX_POOLS_NAMED]
        text = f"there is {', '.join(known)}" if known else "[pools] of .dibs/config.toml defines none"
        raise NotFound(f"there is no pool {name}; {text}.", resource=name)
    return pool


def named(among: Iterable[Resource], pool: str) -> list[str]:
    """The own names of the units of a pool that a request names, or a claim has."""
    begin = f"{pool}:"
    return [one[1][len(begin) :] for one in among if one[1].startswith(begin) and one[0] == "name"]


def count_of(request: Want, pool: str) -> int:
    """How many units of a pool a request wants."""
    count = len(named(request["resources"], pool))
    return count + (request["pools"][pool]["count"] if pool in request.get("pools", ()) else 0)


class UnitOverlaps:
    """What a request for units meets in its pools, and what it gets."""

    __slots__ = (
        "_chosen", "_full_at", "_now", "_rates", "_units", "blockers", "claims", "ended", "free", "interests",
        "look_in", "own_claims", "places", "pressed", "queue", "reasons", "sizes", "wishes",
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
        self.pressed: dict[str, str] = {}  # of each pool that minds the machine's pressure: that it is too high
        self.reasons: list[str] = []  # why it has to wait, next to the blockers
        self.look_in = 0  # ms until the next look can change anything that nobody is woken for; 0: nothing such
        self._now = 0
        self._rates: dict[str, Rate] = {}
        self._full_at: dict[str, int] = {}  # of each pool with a rate: its bucket
        self._units: dict[str, list[str]] = {}  # of each pool: the units that it gets
        self._chosen: dict[str, list[str]] = {}  # of each pool: the units in addition to those that it names

    def decide(self, request: Want, place: Waiter | None) -> list[Claim]:
        """Find out what the request gets; returns the claims in its way. `place`: its own in the queue, if any."""
        self.blockers, self._units, self._chosen, self.free, self.reasons, self.look_in = [], {}, {}, {}, [], 0
        queue = [one for one in self.queue if place is None or one["ticket"] < place["ticket"]]
        queue.sort(key=lambda waiter: waiter["ticket"])
        for name in self.wishes:
            self._decide_one(request, name, [one for one in queue if name in one.get("pools", ())])
        return [record for record in self.blockers if records.is_claim(record)]

    def _decide_one(self, request: Want, name: str, earlier: list[Waiter]) -> None:
        """The same for one pool."""
        has = [(claim, units) for claim in self.claims if (units := named(claim["resources"], name))]
        held = {unit for _, units in has for unit in units}
        own = {unit for claim in self.own_claims for unit in named(claim["resources"], name)}
        asked = wanted(request, name)
        asked["named"] = [unit for unit in asked["named"] if unit not in own]
        its_turn = self._is_let_through(request, name, earlier)
        given = [] if not self.sizes[name] else allocate(asked, [wanted(other, name) for other in earlier], held)
        if self.sizes[name]:
            self.free[name] = [max(0, self.sizes[name] - len(held)), self.sizes[name]]
        if given is not None:
            if not its_turn:
                self.blockers += [record for record in earlier if record not in self.blockers]
                return
            self._units[name], self._chosen[name] = given, given[len(asked["named"]) :]
            return
        unusable = [unit for unit in asked["unusable"] if unit not in held]
        if unusable:
            self.reasons.append(f"{len(unusable)} of {name} are in use on this machine, by no agent")
        of_these = [claim for claim, units in has if set(asked["named"]).intersection(units)]
        in_the_way = of_these if of_these and not asked["count"] else [claim for claim, _ in has]
        in_the_way.sort(key=lambda claim: (claim["agent"] == request["agent"], claim["until"]))
        self.blockers += [record for record in [*in_the_way, *earlier] if record not in self.blockers]

    def _is_let_through(self, request: Want, name: str, earlier: list[Waiter]) -> bool:
        """Does neither the rate of a pool nor the machine's pressure hold the request up?"""
        if name in self.pressed:
            self.reasons.append(self.pressed[name])
            self._look_again(PRESSURE_POLL_MS)
            return False
        if name not in self._rates:
            return True
        tokens = sum([count_of(one, name) for one in (request, *earlier)])  # they come first
        due = due_in(self._rates[name], self._full_at[name], self._now, tokens)
        if due:
            self.reasons.append(f"{name} lets through {said(self._rates[name])}; your turn is in {-(-due // 1000)} s")
            self._look_again(due)
        return not due

    def _look_again(self, after: int) -> None:
        self.look_in = min(self.look_in or after, after)

    def know(self, tx: Transaction, call: Call, figures: Mapping[str, float]) -> None:
        """Read what else its pools go by: buckets, and the pressure of the caller's machine; unknown is low."""
        pools = {name: configured(call, name) for name in self.wishes}
        self._now = tx.now
        self._rates = {name: pool["rate"] for name, pool in pools.items() if "rate" in pool}
        self._full_at = get_buckets(tx, [*self._rates]) if self._rates else {}
        for name, pool in pools.items():
            minded = pool.get("pressure")
            if minded is not None and figures.get(minded["of"], 0) > minded["most"]:
                self.pressed[name] = (
                    f"{name} gives out nothing while this machine's {minded['of']} pressure is above "
                    f"{minded['most']:g} %; it is {figures[minded['of']]:g} %"
                )

    def pay(self, tx: Transaction, request: Want) -> list[Resource]:
        """Take the tokens of a grant out of the buckets; returns the pools that are used up by that: rates alone."""
        for name, rate in self._rates.items():
            full_at = take(rate, self._full_at[name], tx.now, count_of(request, name))
            put_bucket(tx, {"pool": name, "full_at": full_at})
        return [["name", name] for name in self._rates if not self.sizes[name]]

    @property
    def polls(self) -> bool:
        """Does a waiter take its units at its own look?"""
        return any("polls" in wish for wish in self.wishes.values())

    @property
    def is_free(self) -> bool:
        """Can it have all that it wants of its pools?"""
        return len(self._chosen) == len(self.wishes)

    @property
    def given_sizes(self) -> dict[str, int]:
        """How many units the pools have; a rate alone has none."""
        return {name: size for name, size in self.sizes.items() if size}

    def has_enough(self, claim: Claim, terms: ClaimTerms) -> bool:
        """Has one of the agent's claims by hand as many units as the request wants? A rate is asked each time."""
        return not self._rates and all(
            len(named(claim["resources"], name)) >= count_of(terms, name) for name in self.wishes
        )

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
            if self._chosen.get(resource[1]) and resources.pool_of(resource):
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


def said(rate: Rate) -> str:
    """A rate in words: "30 in 60 s"."""
    return f"{rate['count']} in {rate['per'] // 1000} s"


def overlaps_of(tx: Transaction, call: Call, terms: ClaimTerms, figures: Mapping[str, float]) -> UnitOverlaps:
    """Every record in the pools that a request names, sorted. `figures`: the pressure of the caller's machine."""
    found = UnitOverlaps(terms["pools"])
    found.know(tx, call, figures)
    for record in records.within_ranges(tx, records.ranges_of([["name", name] for name in terms["pools"]])):
        own = record["agent"] == terms["agent"]
        if records.is_interest(record):
            if own:
                found.interests.append(record)
        elif record["until"] <= tx.now and len(found.ended) < MAX_ENDED:
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


def units_at_once(
    tx: Transaction, waiter: Waiter, claims: Iterable[Claim], earlier: Iterable[Waiter]
) -> UnitOverlaps | None:
    """The same for a hand-over. A rate and its machine's pressure a waiter asks about at its own look: it is woken."""
    found = units_for(tx, waiter, claims, earlier)
    if found is None or not found.polls:
        return found
    if waiter["wake"]:
        tx.wake(waiter["wake"])
    return None
