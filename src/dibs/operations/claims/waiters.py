"""Waiting: a place in the queue, and an interest for those who cannot wait. deadlocks.py has who waits for whom.

Plain FIFO by ticket, the number of the commit that queued the waiter. A waiter counts as present for 15 seconds after
it last looked. A request that would close a cycle is refused with the cycle, and every waiter searches again whenever
it looks. An agent that asks again for what it waits for keeps its place, whichever of its processes asks.
"""

from __future__ import annotations

from dibs.errors import Quota
from dibs.operations.claims import deadlocks, endings, holds, resources
from dibs.operations.core.declare import Operation
from dibs.operations.core.policy import WAITS_PER_AGENT, YOUNG
from dibs.stores.seam import COMMIT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dibs.operations.core.call import Call, Record
    from dibs.stores.seam import Fetched, Transaction

SHOWN = 4  # of those in the way, in the answer to a waiter; it changes with every look
LOOK_EVERY = 5_000  # ms: three looks within a lease, so that one missed look costs nothing
LOOK_OFTEN = 1_000  # ms, for the next in line behind a process that may die without a word
INTEREST_LIFE = 600_000  # ten minutes: about how long a refused agent remembers why it wanted the file


def queue(
    tx: Transaction, call: Call, wish: Record, in_the_way: list[Record], known: Record | None, waiter_id: str
) -> Any:
    """Take or keep a place in the queue. The answer says whom one waits for and when to look again.

    `waiter_id` is the place that the caller says it has. Another process of its agent may have taken that over by
    asking again (then this one waits along, and neither leaves it nor is woken), or it asks again itself.
    """
    cycle = deadlocks.find(tx, wish, in_the_way)
    if cycle:
        if known is not None:
            endings.drop_waiter(tx, known, "deadlock")
            endings.serve(tx, known["resources"])
        return deadlocks.refuse(tx, wish, cycle)
    along = known is not None and bool(waiter_id) and known["waiter"] != waiter_id
    if known is not None and not waiter_id:
        known = _taken_over(tx, known, wish)
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
        if not along:
            waiter["wake"] = wish["wake"]
    waiter["until"] = min(tx.now + endings.LEASE, waiter["deadline"] + 1_000)
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
        "waiting": waiter_id if along else waiter["waiter"],
        "look_in": max(10, min(often, soonest - tx.now, waiter["deadline"] - tx.now)),
        "blockers": [holds.blocker(tx, record, wish["resources"]) for record in in_the_way[:SHOWN]],
    }


def _taken_over(tx: Transaction, known: Record, wish: Record) -> Record:
    """The place of an agent that asks again: the same turn under a new id, so that only who asked last leaves it."""
    holds.remove(tx, known)
    tx.append("wait.ended", known["agent"], known["waiter"], {"why": "again"})
    kept = {name: known[name] for name in ("ticket", "since", "alert_at", "expected")}
    place: Record = {**wish, **kept, "waiter": f"w{tx.id()}", "deadline": max(wish["deadline"], known["deadline"])}
    data = {key: place[key] for key in ("resources", "mode", "tree", "deadline")}
    tx.append("wait.queued", place["agent"], place["waiter"], data)
    return place


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


def alert(tx: Transaction, record: Record) -> None:
    """A hold or a wait took more than twice what was expected: said once, in the log."""
    kind = holds.kind_of(record)
    actual = tx.now - record["since"]
    expected = record["expected"] if kind == holds.WAITER else record["expect"]
    what = "wait" if kind == holds.WAITER else "hold"
    record["alert_at"] = 0
    data = {"what": what, "expected": expected, "actual": actual, "resources": resources.shown(record["resources"])}
    tx.append("alert.raised", record["agent"], record[kind], data)


def _withdraw(tx: Transaction, call: Call, got: Fetched, waiter: str, claim: str) -> dict[str, Any]:
    """An interrupted call leaves nothing behind: neither its place, nor a claim whose grant its caller never heard of.

    An upgrade that was granted stays: it took the place of a claim that the agent knows of, and must not lose.
    """
    freed: list[Any] = []
    for place in holds.of_agent(tx, holds.WAITER, call.agent, limit=WAITS_PER_AGENT):
        if place["waiter"] == waiter:
            freed += place["resources"]
            endings.drop_waiter(tx, place, "gave_up")
    for held in holds.of_agent(tx, holds.CLAIM, call.agent):
        handed = held["pending"] and held.get("place") == waiter
        if (handed or held["claim"] == claim) and not held.get("upgrade"):
            freed += held["resources"]
            endings.give_back(tx, held, held["resources"], "released")
    endings.serve(tx, freed)
    return {}


WITHDRAW = Operation("withdraw", _withdraw, "End what an interrupted call left behind.")
