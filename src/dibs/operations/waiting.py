"""Waiting: a place in the queue, and the search for cycles in who waits for whom.

Plain FIFO by ticket, the number of the commit that queued the waiter. A waiter counts as present for 15 seconds after
it last looked. The waits-for graph has an edge from a waiting (or interested) agent to every unrelated agent that
holds, or waits earlier for, something in its way. A request that would close a cycle is refused with the cycle; and
every waiter searches again whenever it looks, so a cycle closed by a hand-over or by a subagent's end is found within
seconds.
"""

from __future__ import annotations

from dibs.errors import Deadlock, Quota
from dibs.operations import ending, holds, resources
from dibs.operations.call import iso
from dibs.operations.policy import WAITS_PER_AGENT, YOUNG
from dibs.stores.seam import COMMIT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from dibs.operations.call import Call, Record
    from dibs.stores.seam import Transaction

SHOWN = 4  # of those in the way, in the answer to a waiter; it changes with every look
LOOK_EVERY = 5_000  # ms: three looks within a lease, so that one missed look costs nothing
LOOK_OFTEN = 1_000  # ms, for the next in line behind a process that may die without a word
INTEREST_LIFE = 600_000  # ten minutes: about how long a refused agent remembers why it wanted the file
GRAPH = 1_000  # agents visited in one search; a fleet has fewer


def queue(tx: Transaction, call: Call, wish: Record, in_the_way: list[Record], known: Record | None) -> Any:
    """Take or keep a place in the queue. The answer says whom one waits for and when to look again."""
    cycle = find_cycle(tx, wish, in_the_way)
    if cycle:
        if known is not None:
            ending.drop_waiter(tx, known, "deadlock")
        return refuse_cycle(tx, wish, cycle)
    if known is None:
        mine = holds.of_agent(tx, holds.WAITER, wish["agent"], limit=WAITS_PER_AGENT)
        if len([waiter for waiter in mine if waiter["until"] > tx.now]) >= WAITS_PER_AGENT:
            return Quota(what="waits at a time for one agent", limit=WAITS_PER_AGENT)
        waiter = {**wish, "waiter": f"w{tx.id()}", "ticket": COMMIT, "since": tx.now}
        expected = max([record["expect"] or call.policy.expected for record in in_the_way])
        waiter["alert_at"] = tx.now + 2 * expected
        waiter["expected"] = expected
    else:
        waiter = known
        waiter["wake"] = wish["wake"]
    waiter["until"] = min(tx.now + ending.LEASE, waiter["deadline"] + 1_000)
    if waiter["alert_at"] and tx.now >= waiter["alert_at"]:
        alert(tx, waiter)
    holds.put(tx, waiter)
    if known is None:
        data = {key: waiter[key] for key in ("resources", "mode", "tree", "deadline")}
        tx.append("wait.queued", waiter["agent"], waiter["waiter"], data)
    holders = [record for record in in_the_way if holds.CLAIM in record]
    soonest = min([record["until"] for record in holders], default=tx.now + LOOK_EVERY)
    next_in_line = len(holders) == len(in_the_way)
    mortal = [record for record in holders if record["tied"]] if next_in_line else []
    often = min([_next_look(tx, claim) for claim in mortal], default=LOOK_EVERY)
    return {
        "waiting": waiter["waiter"],
        "look_in": max(10, min(often, soonest - tx.now, waiter["deadline"] - tx.now)),
        "blockers": [holds.blocker(tx, record, wish["resources"]) for record in in_the_way[:SHOWN]],
    }


def _next_look(tx: Transaction, claim: Record) -> int:
    """When to ask after the process behind a claim: when it is no longer young, then again and again."""
    age = tx.now - claim["since"]
    return LOOK_OFTEN if age >= YOUNG else YOUNG - age


def leave_interest(tx: Transaction, wish: Record) -> None:
    """Remember that an agent was refused, so that it is told when the way is free. Never a claim."""
    for known in holds.of_agent(tx, holds.INTEREST, wish["agent"], limit=64):
        if known["resources"] == wish["resources"]:
            holds.remove(tx, known)
            identifier = known["interest"]
            break
    else:
        identifier = f"i{tx.id()}"
        tx.append("interest.left", wish["agent"], identifier, {"resources": wish["resources"], "mode": wish["mode"]})
    interest = {
        "interest": identifier, "agent": wish["agent"], "mode": wish["mode"], "tree": wish["tree"],
        "resources": wish["resources"], "reason": wish["reason"], "since": tx.now, "until": tx.now + INTEREST_LIFE,
    }  # fmt: skip
    holds.put(tx, interest)


def refuse_cycle(tx: Transaction, wish: Record, cycle: list[dict[str, Any]]) -> Deadlock:
    """The refusal of a request that would close a cycle, in the log like every other."""
    first = resources.shown(wish["resources"])[0]
    data = {"code": "deadlock", "resources": wish["resources"], "mode": wish["mode"], "tree": wish["tree"]}
    tx.append("claim.refused", wish["agent"], first, {**data, "blockers": cycle})
    return Deadlock(cycle=cycle)


def alert(tx: Transaction, record: Record) -> None:
    """A hold or a wait took more than twice what was expected: said once, in the log."""
    kind = holds.kind_of(record)
    actual = tx.now - record["since"]
    expected = record["expected"] if kind == holds.WAITER else record["expect"]
    what = "wait" if kind == holds.WAITER else "hold"
    record["alert_at"] = 0
    data = {"what": what, "expected": expected, "actual": actual, "resources": resources.shown(record["resources"])}
    tx.append("alert.raised", record["agent"], record[kind], data)


def find_cycle(tx: Transaction, wish: Record, in_the_way: list[Record]) -> list[dict[str, Any]]:
    """The cycle that this wish would close, as steps (agent, resource, holder); empty if there is none.

    A breadth-first search from those in the way, along what each of them waits for, back to the one who asks. Every
    cycle has an agent that is waited for by what it holds or by a second place in a queue, and that agent searches
    whenever it asks; so one that has neither need not.
    """
    start = wish["agent"]
    if not waited_for(tx, start, wish.get("waiter", "")):
        return []
    reached: dict[str, tuple[str, Record, Record]] = {}  # agent → who waits for it, with which wish, by which record
    frontier: list[str] = []
    for record in in_the_way:
        if record["agent"] not in reached:
            reached[record["agent"]] = (start, wish, record)
            frontier.append(record["agent"])
    seen: dict[str, list[Record]] = {}  # many wait for the same: what they meet is read once
    while frontier and len(reached) < GRAPH:
        agent = frontier.pop(0)
        for wait in _waits_of(tx, agent):
            place = f"{wait['tree']}{wait['resources']}"
            if place not in seen:
                seen[place] = list(holds.meeting(tx, wait["resources"], wait["tree"]))
            for record in seen[place]:
                other = record["agent"]
                if (other == start or other not in reached) and _stands_before(tx, record, wait):
                    reached[other] = (agent, wait, record)
                    if other == start:
                        return _path(tx, start, reached)
                    frontier.append(other)
    return []


def waited_for(tx: Transaction, agent: str, waiter: str) -> bool:
    """Can anybody wait for this agent: by what it holds, or by a place in a queue other than this one?"""
    if any(claim["until"] > tx.now for claim in holds.of_agent(tx, holds.CLAIM, agent, limit=holds.PAGE)):
        return True
    return any(wait["waiter"] != waiter for wait in holds.of_agent(tx, holds.WAITER, agent, limit=WAITS_PER_AGENT))


def _waits_of(tx: Transaction, agent: str) -> list[Record]:
    """What an agent waits for, or wishes for, now."""
    waits = holds.of_agent(tx, holds.WAITER, agent, limit=WAITS_PER_AGENT)
    waits += holds.of_agent(tx, holds.INTEREST, agent, limit=WAITS_PER_AGENT)
    return [wait for wait in waits if wait["until"] > tx.now]


def _path(tx: Transaction, start: str, reached: dict[str, tuple[str, Record, Record]]) -> list[dict[str, Any]]:
    """The steps of a cycle, from the one who asks back to itself."""
    steps: list[dict[str, Any]] = []
    agent = start
    while True:
        waiting, wish, record = reached[agent]
        steps.insert(0, _step(tx, waiting, record, wish["resources"]))
        if waiting == start:
            return steps
        agent = waiting


def _stands_before(tx: Transaction, record: Record, wait: Record) -> bool:
    if holds.INTEREST in record or record["until"] <= tx.now:
        return False
    if holds.WAITER in record and (holds.WAITER not in wait or record["ticket"] >= wait["ticket"]):
        return False
    return ending.blocks(record, wait["mode"], wait["agent"])


def _step(tx: Transaction, agent: str, record: Record, wanted: Sequence[Sequence[str]]) -> dict[str, Any]:
    shown = holds.blocker(tx, record, wanted)
    return {"agent": agent, "resource": shown["resource"], "holder": record["agent"], "since": iso(tx, record["since"])}
