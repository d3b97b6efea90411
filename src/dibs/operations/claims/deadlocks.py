"""Deadlock detection: does a wait never end, because the agents in its way wait for the agent that asks?

The graph has two kinds of nodes: agents, and places in a queue. A place (or a request that would take one) leads to
every unrelated agent with a live claim in its way, and to every earlier place in its way. Who waits only for what an
agent holds already is not in that agent's way. A wait for a task (`task claim --wait`) is a place, too: it leads to the
task's holder. An agent leads to all its places. An interest is no place: a refused agent waits for nobody.

A deadlock is a cycle that comes back to the asking agent by something that it holds. A cycle by one of its own places
is no deadlock: that place is served without this request. Every deadlock has such an agent, and each waiter searches
again at every poll, so a deadlock that came from a hand-over or from a subagent's end is found within seconds.

An agent that holds nothing which another agent waits for is in no deadlock, and searches nothing: a crowd that waits
for one name costs each waiter no more than its own turn. A search reads the records of each resource once, and takes
each of them once; one that would read more than MAX_READ is given up, and the request with it (`quota`).

A wait for a pool ends with any of its units, so a cycle through one is only a suspicion: pool_deadlocks.py decides.
"""

from __future__ import annotations

from dibs.errors import Deadlock, Quota
from dibs.operations.alerts import suspicions
from dibs.operations.claims import endings, records, resources
from dibs.operations.claims.places import MAX_READ, Reads, places_of, step
from dibs.operations.core.call import FOLLOW_UPS, iso, related

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from dibs.operations.alerts.answers import CycleStep
    from dibs.operations.claims.records import Claim, Place, Waiter, Want
    from dibs.operations.claims.resources import Mode, Resource
    from dibs.operations.core.call import Call
    from dibs.stores.seam import Transaction

    Blocker = Claim | Waiter
    Came = tuple[Want, Blocker]  # the place that waits for another (or for its agent), and the record in its way

MAX_CLAIMS_LOOKED_AT = 64  # of the asking agent, for waiters; an agent that holds more searches


def find(tx: Transaction, request: Want, in_the_way: Sequence[Blocker], place: Waiter | None = None) -> list[CycleStep]:
    """The deadlock that this request would cause, as steps (agent, resource, holder); empty if there is none.

    `place`: its own in the queue, if it has one.
    """
    start = request["agent"]
    if not (_waits_for_itself(in_the_way, start) or is_awaited(tx, start)):
        return []
    if "pools" in request:
        from dibs.operations.claims import pool_deadlocks

        return pool_deadlocks.find(tx, request, place)
    search = _Search(tx, start, lambda record: records.is_claim(record) and record["agent"] == start)
    search.reads.add(len(in_the_way))
    steps = search.follow([(request, iter(in_the_way))])
    if steps and search.met_pools:
        from dibs.operations.claims import pool_deadlocks

        return pool_deadlocks.find(tx, request, place)
    return steps


def _waits_for_itself(in_the_way: Sequence[Blocker], agent: str) -> bool:
    """Does an agent want units of a pool of which it holds some?"""
    return any(record["agent"] == agent and records.is_claim(record) for record in in_the_way)


def find_past(tx: Transaction, request: Want, queue: list[Waiter]) -> list[CycleStep]:
    """The deadlock that a grant would cause by passing this queue: each would wait for the other.

    That needs a place of the same agent for something else.
    """
    waiters = {record["waiter"] for record in queue}
    agents = {record["agent"] for record in queue}
    search = _Search(
        tx,
        request["agent"],
        lambda record: record["agent"] in agents if records.is_claim(record) else record["waiter"] in waiters,
        granted=request,
    )
    steps = search.follow_places(places_of(tx, request["agent"]))
    if steps and search.met_pools:
        from dibs.operations.claims import pool_deadlocks

        steps = pool_deadlocks.find_past(tx, request)
    if not steps:
        return []
    name = resources.shown(request["resources"])[0]
    last: CycleStep = {
        "agent": steps[-1]["holder"], "resource": name, "holder": request["agent"], "since": iso(tx, tx.now),
    }  # fmt: skip
    return [*steps, last]


def refusal_of(
    tx: Transaction, call: Call, request: Want, search: Callable[[], list[CycleStep]]
) -> Deadlock | Quota | None:
    """The refusal of a request that would cause a deadlock, or whose search is too long; the log keeps it."""
    first = resources.shown(request["resources"])[0]
    data = {"resources": request["resources"], "mode": request["mode"], "tree": request["tree"]}
    try:
        cycle = search()
    except Quota as too_many:
        tx.append("claim.refused", request["agent"], first, {"code": too_many.code, **data, "blockers": []})
        return too_many
    if not cycle:
        return None
    tx.append("claim.refused", request["agent"], first, {"code": "deadlock", **data, "blockers": cycle})
    agents = sorted({step["agent"] for step in cycle})
    suspicions.put(
        tx, "deadlock", ", ".join(agents), request["agent"], event=first, told=[request["agent"]], cycle=cycle
    )  # the refused agent is told by the refusal
    FOLLOW_UPS.suspicions(tx, call)
    return Deadlock(cycle=cycle)


def is_awaited(tx: Transaction, agent: str) -> bool:
    """Does another agent wait for something that this agent holds? Otherwise it is in no deadlock."""
    claims = records.claims_of(tx, agent, limit=MAX_CLAIMS_LOOKED_AT)
    live = [claim for claim in claims if claim["until"] > tx.now and claim["mode"] != resources.WATCH]
    if len(claims) > MAX_CLAIMS_LOOKED_AT:
        return bool(live)
    return any(_has_waiters(tx, claim) for claim in live)


def _has_waiters(tx: Transaction, claim: Claim) -> bool:
    """Is there a live place that this claim is in the way of?"""
    if claim["by"] == endings.BY_TASK and any(
        place["until"] > tx.now and not related(place["agent"], claim["agent"])
        for place in records.places_for_task(tx, claim["task"], MAX_READ)
    ):
        return True
    try:
        return any(
            records.is_waiter(record)
            and record["until"] > tx.now
            and (endings.blocks(claim, record["mode"], record["agent"]) or _wants_units(record, claim))
            for record in records.overlapping(tx, claim["resources"], claim["tree"], most=records.MAX_COST)
        )
    except Quota:
        return True  # perhaps


def _wants_units(waiter: Waiter, claim: Claim) -> bool:
    """Does another agent, of whatever family, wait for units of a pool that this claim has some of?"""
    return waiter["agent"] != claim["agent"] and any(
        resources.pool_of(resource) in waiter.get("pools", ()) for resource in claim["resources"]
    )


class _Crowd:
    """The live records that meet one resource: claims first, then waiters by ticket. Each is taken once."""

    def __init__(self, blockers: list[Blocker]) -> None:
        blockers.sort(key=lambda record: record["ticket"] if records.is_waiter(record) else 0)
        self.claims: dict[str, list[Claim]] = {}  # by agent
        self._all = blockers
        self._left: dict[Mode, list[Blocker]] = {mode: [] for mode in resources.MODES}
        for record in blockers:
            self._left[record["mode"]].append(record)
            if records.is_claim(record):
                self.claims.setdefault(record["agent"], []).append(record)

    def take_all(self, place: Place) -> Iterator[Blocker]:
        """The records of a pool that may be in the way of a place, and that no earlier one took: of all families."""
        taken = 0
        for record in self._all:
            if records.is_waiter(record) and record["ticket"] >= place["ticket"]:
                break
            taken += 1
            yield record
        self._all = self._all[taken:]

    def take(self, place: Place, *, waiters: bool) -> Iterator[Blocker]:
        """The records in the way of a place that no earlier place took; with `waiters` also the earlier waiters."""
        for mode, left in self._left.items():
            if not resources.conflict(mode, place["mode"]):
                continue
            taken, rest = 0, []
            for record in left:
                if records.is_waiter(record) and not (waiters and record["ticket"] < place["ticket"]):
                    break
                taken += 1
                if related(record["agent"], place["agent"]):
                    rest.append(record)
                else:
                    yield record
            self._left[mode] = rest + left[taken:]


class _Search:
    """A breadth-first search along what each agent waits for, until it arrives at a record."""

    def __init__(
        self, tx: Transaction, start: str, arrived: Callable[[Blocker], bool], granted: Want | None = None
    ) -> None:
        self._tx, self._arrived = tx, arrived
        self._granted = [] if granted is None else [granted]  # counts as a claim, though it is not written yet
        self._known = {start}  # agents whose places were looked up
        self._came: dict[str, Came | None] = {}  # by waiter; None for a place that the search began with
        self._crowds: dict[tuple[str, ...], _Crowd] = {}  # by tree and resource
        self.reads = Reads()
        self.met_pools = False  # a place waits for any unit of a pool: then a cycle alone proves nothing

    def follow_places(self, places: list[Place]) -> list[CycleStep]:
        """The steps from the first of these places, all of one agent, that leads there."""
        self._came.update({place["waiter"]: None for place in places})
        return self.follow([(place, self._before(place)) for place in places])

    def follow(self, frontier: list[tuple[Want, Iterator[Blocker]]]) -> list[CycleStep]:
        """The steps from the first of these places or wishes that leads there by the records in its way."""
        for place, before in frontier:  # it grows while it is read
            for record in before:
                if self._arrived(record):
                    return self._path(place, record)
                for other in self._following(record):
                    if other["waiter"] not in self._came:
                        self._came[other["waiter"]] = (place, record)
                        frontier.append((other, self._before(other)))
        return []

    def _following(self, record: Blocker) -> Sequence[Place]:
        """The places that a record in the way leads to."""
        if records.is_waiter(record):
            return [record]
        if record["agent"] in self._known:
            return []
        self._known.add(record["agent"])
        self.reads.add(1)
        return places_of(self._tx, record["agent"])

    def _before(self, place: Place) -> Iterator[Blocker]:
        """What a place waits for: holders, and earlier waiters for what its agent does not hold yet."""
        for name in place.get("pools", ()):
            self.met_pools = True
            yield from self._crowd(["name", name], "").take_all(place)
        outside = resources.without_pools(place["resources"])
        crowds = [(resource, self._crowd(resource, place["tree"])) for resource in outside]
        own_claims = [claim for _, crowd in crowds for claim in crowd.claims.get(place["agent"], ())]
        missing = endings.missing([*own_claims, *self._granted], place)
        for resource, crowd in crowds:
            yield from crowd.take(place, waiters=resource in missing)

    def _crowd(self, resource: Resource, tree: str) -> _Crowd:
        key = (tree, *resource)
        if key not in self._crowds:
            self.reads.add(1)
            live: list[Blocker] = []
            for record in records.overlapping(self._tx, [resource], tree, most=records.MAX_COST):
                self.reads.add(1)
                if not records.is_interest(record) and record["until"] > self._tx.now:
                    live.append(record)
            self._crowds[key] = _Crowd(live)
        return self._crowds[key]

    def _path(self, place: Want, record: Blocker) -> list[CycleStep]:
        """The steps from the asking agent to the record that the search arrived at."""
        steps = [step(self._tx, place, record)]
        while (came := self._came.get(records.waiter_of(place))) is not None:
            place, record = came
            steps.insert(0, step(self._tx, place, record))
        return steps
