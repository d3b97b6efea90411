"""Deadlock detection: does a wait never end, because the agents in its way wait for the agent that asks?

The graph has two kinds of nodes: agents, and places in a queue. A place (or a request that would take one) leads to
every unrelated agent with a live claim in its way, and to every earlier place in its way. An upgrade passes the queue,
so it leads to holders only. A wait for a task (`task claim --wait`) is a place, too: it leads to the task's holder. An
agent leads to all its places. An interest is no place: a refused agent waits for nobody.

A deadlock is a cycle that comes back to the asking agent by something that it holds. A cycle by one of its own places
is no deadlock: that place is served without this request. Every deadlock has such an agent, and each waiter searches
again at every poll, so a deadlock that came from a hand-over or from a subagent's end is found within seconds.
"""

from __future__ import annotations

from dibs.errors import Deadlock
from dibs.operations.alerts import suspicions
from dibs.operations.claims import endings, holds, resources
from dibs.operations.core.call import FOLLOW_UPS, iso
from dibs.operations.core.policy import MAX_WAITS_PER_AGENT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from dibs.operations.core.call import Call, Record
    from dibs.stores.seam import Transaction

    Steps = list[dict[str, Any]]

MAX_VISITED = 1_000  # in one search; a fleet has fewer places


def find(tx: Transaction, wish: Record, in_the_way: list[Record]) -> Steps:
    """The deadlock that this wish would cause, as steps (agent, resource, holder); empty if there is none."""
    start = wish["agent"]
    if not holds_any(tx, start):
        return []
    return _search(tx, wish, in_the_way, lambda record: holds.CLAIM in record and record["agent"] == start)


def find_past(tx: Transaction, wish: Record, queue: list[Record], place: Record | None) -> Steps:
    """The deadlock that an upgrade would cause by passing this queue: each would wait for the other.

    That needs another place of the same agent; the place of this request (`place`) ends with the grant.
    """
    waiters = {record["waiter"] for record in queue}
    agents = {record["agent"] for record in queue}
    own = place["waiter"] if place is not None else ""
    for other in _places_of(tx, wish["agent"]):
        if other["waiter"] == own:
            continue
        steps = _search(
            tx, other, _before(tx, other, list(holds.meeting(tx, other["resources"], other["tree"]))),
            lambda record: record.get("waiter") in waiters or (holds.CLAIM in record and record["agent"] in agents),
        )  # fmt: skip
        if steps:
            last = {"agent": steps[-1]["holder"], "resource": resources.shown(wish["resources"])[0]}
            return [*steps, {**last, "holder": wish["agent"], "since": iso(tx, tx.now)}]
    return []


def refuse(tx: Transaction, call: Call, wish: Record, cycle: Steps) -> Deadlock:
    """The refusal of a request that would cause a deadlock; the log keeps it like every other refusal."""
    first = resources.shown(wish["resources"])[0]
    data = {"code": "deadlock", "resources": wish["resources"], "mode": wish["mode"], "tree": wish["tree"]}
    tx.append("claim.refused", wish["agent"], first, {**data, "blockers": cycle})
    agents = sorted({step["agent"] for step in cycle})
    suspicions.put(
        tx, "deadlock", ", ".join(agents), wish["agent"], event=first, told=[wish["agent"]], cycle=cycle
    )  # the refused agent is told by the refusal
    FOLLOW_UPS["suspicions"](tx, call)
    return Deadlock(cycle=cycle)


def holds_any(tx: Transaction, agent: str) -> bool:
    """Can another agent wait for something that this agent holds? An agent that holds nothing is in no deadlock."""
    claims = holds.of_agent(tx, holds.CLAIM, agent, limit=holds.MAX_RECORDS)
    return any(claim["until"] > tx.now and claim["mode"] != resources.WATCH for claim in claims)


def _search(tx: Transaction, wish: Record, in_the_way: list[Record], arrived: Callable[[Record], bool]) -> Steps:
    """Breadth-first search from the records in the way, along what each agent waits for."""
    # place → the place that waits for it (or for its agent), and the record in its way
    came: dict[str, tuple[Record, Record]] = {}
    met: dict[str, list[Record]] = {}  # many places want the same resources: what they meet is read once
    known = {wish["agent"]}  # agents whose places were looked up
    frontier: list[tuple[Record, list[Record]]] = [(wish, in_the_way)]
    while frontier and len(came) < MAX_VISITED:
        place, before = frontier.pop(0)
        for record in before:
            if arrived(record):
                return _path(tx, came, place, record)
            if holds.WAITER in record:
                following = [record]
            elif record["agent"] in known:
                continue
            else:
                known.add(record["agent"])
                following = _places_of(tx, record["agent"])
            for other in following:
                if other["waiter"] not in came:
                    came[other["waiter"]] = (place, record)
                    key = f"{other['tree']}{other['resources']}"
                    if key not in met:
                        met[key] = list(holds.meeting(tx, other["resources"], other["tree"]))
                    frontier.append((other, _before(tx, other, met[key])))
    return []


def _places_of(tx: Transaction, agent: str) -> list[Record]:
    """The agent's live places in queues, and its waits for tasks."""
    places = holds.of_agent(tx, holds.WAITER, agent, limit=MAX_WAITS_PER_AGENT)
    places += [place for _, _, place in tx.scan(2, f"{holds.TASK_WAITS}\t{agent}\t", MAX_WAITS_PER_AGENT).rows]
    return [place for place in places if place["until"] > tx.now]


def _before(tx: Transaction, place: Record, met: list[Record]) -> list[Record]:
    """What a place waits for: holders, and earlier waiters unless it is an upgrade, which passes the queue."""
    live = [record for record in met if holds.INTEREST not in record and record["until"] > tx.now]
    upgrade = endings.holds_all(live, place)
    return [
        record
        for record in live
        if endings.blocks(record, place["mode"], place["agent"])
        and (holds.CLAIM in record or (not upgrade and record["ticket"] < place["ticket"]))
    ]


def _path(tx: Transaction, came: dict[str, tuple[Record, Record]], place: Record, record: Record) -> Steps:
    """The steps from the asking agent to the record that the search arrived at."""
    steps = [_step(tx, place, record, place["resources"])]
    while place.get("waiter") in came:
        place, record = came[place["waiter"]]
        steps.insert(0, _step(tx, place, record, place["resources"]))
    return steps


def _step(tx: Transaction, place: Record, record: Record, wanted: Sequence[Sequence[str]]) -> dict[str, Any]:
    shown = holds.blocker(tx, record, wanted)
    return {
        "agent": place["agent"], "resource": shown["resource"], "holder": record["agent"],
        "since": iso(tx, record["since"]),
    }  # fmt: skip
