"""Queues: a place for a caller that waits, an interest for one that cannot. deadlocks.py searches for deadlocks.

First come, first served: by ticket, the number of the commit that queued the waiter. A waiter counts as present for 15
seconds after its last poll. A request that would cause a deadlock is refused with the deadlock's agents, and every
waiter searches again at each poll. An agent that asks again for what it waits for keeps its place, whichever of its
processes asks.
"""

from __future__ import annotations

from dibs.errors import Quota
from dibs.operations.alerts import suspicions
from dibs.operations.claims import deadlocks, endings, holds, resources
from dibs.operations.core.call import FOLLOW_UPS
from dibs.operations.core.declare import ANYWHERE, Field, Operation
from dibs.operations.core.policy import HOLDER_CHECK_DELAY_MS, MAX_WAITS_PER_AGENT
from dibs.stores.seam import COMMIT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from dibs.operations.core.call import Call, Record
    from dibs.stores.seam import Transaction

MAX_BLOCKERS_SHOWN = 4  # in the answer to a waiter; it changes with every poll
POLL_MS = 5_000  # three polls within a waiter's lease, so that one missed poll costs nothing
PROCESS_POLL_MS = 1_000  # for the next in line: the holder's process may die without a word
INTEREST_LIFE_MS = 600_000  # about how long a refused agent remembers why it wanted the file


def queue(
    tx: Transaction, call: Call, wish: Record, in_the_way: list[Record], known: Record | None, waiter_id: str
) -> Any:
    """Take or keep a place in the queue. The answer says who is in the way and when to poll again.

    `waiter_id` is the place that the caller says it has. Another process of its agent may have taken that place over by
    asking again; then this process waits along, and neither leaves the place nor is woken.
    """
    refusal = deadlocks.refusal_of(tx, call, wish, lambda: deadlocks.find(tx, wish, in_the_way))
    if refusal is not None:
        if known is not None:
            endings.drop_waiter(tx, known, refusal.code)
            endings.serve(tx, known["resources"])
        return refusal
    along = known is not None and bool(waiter_id) and known["waiter"] != waiter_id
    if known is not None and not waiter_id:
        known = _taken_over(tx, known, wish)
    if known is None:
        mine = holds.of_agent(tx, holds.WAITER, wish["agent"], limit=MAX_WAITS_PER_AGENT)
        if len([waiter for waiter in mine if waiter["until"] > tx.now]) >= MAX_WAITS_PER_AGENT:
            return Quota(what="waits at a time for one agent", limit=MAX_WAITS_PER_AGENT)
        waiter = {**wish, "waiter": f"w{tx.id()}", "ticket": COMMIT, "since": tx.now}
        expected = max([record["expect"] or call.policy.expected for record in in_the_way])
        waiter["alert_at"] = tx.now + 2 * expected
        waiter["expected"] = expected
    else:
        waiter = known
        if not along:
            waiter["wake"] = wish["wake"]
    waiter["until"] = min(tx.now + endings.WAITER_LEASE_MS, waiter["deadline"] + 1_000)
    late = waiter["alert_at"] and tx.now >= waiter["alert_at"]
    if late:
        suspect(tx, waiter)
    holds.put(tx, waiter)
    if late:
        FOLLOW_UPS["suspicions"](tx, call)
    if known is None:
        data = {key: waiter[key] for key in ("resources", "mode", "tree", "deadline")}
        tx.append("wait.queued", waiter["agent"], waiter["waiter"], data)
    holders = [record for record in in_the_way if holds.CLAIM in record]
    earliest_expiry = min([record["until"] for record in holders], default=tx.now + POLL_MS)
    next_in_line = len(holders) == len(in_the_way)
    process_bound = [record for record in holders if record["tied"]] if next_in_line else []
    poll_ms = min([_process_check_ms(tx, claim) for claim in process_bound], default=POLL_MS)
    return {
        "waiting": waiter_id if along else waiter["waiter"],
        "look_in": max(10, min(poll_ms, earliest_expiry - tx.now, waiter["deadline"] - tx.now)),
        "blockers": [holds.blocker(tx, record, wish["resources"]) for record in in_the_way[:MAX_BLOCKERS_SHOWN]],
    }


def _taken_over(tx: Transaction, known: Record, wish: Record) -> Record:
    """The place of an agent that asks again: the same turn under a new id, so that only the last process leaves it."""
    holds.remove(tx, known)
    tx.append("wait.ended", known["agent"], known["waiter"], {"why": "again"})
    kept = {name: known[name] for name in ("ticket", "since", "alert_at", "expected")}
    place: Record = {**wish, **kept, "waiter": f"w{tx.id()}", "deadline": max(wish["deadline"], known["deadline"])}
    data = {key: place[key] for key in ("resources", "mode", "tree", "deadline")}
    tx.append("wait.queued", place["agent"], place["waiter"], data)
    return place


def _process_check_ms(tx: Transaction, claim: Record) -> int:
    """Time until the next check of a holder's process: first when its claim is 100 ms old, then every second."""
    age = tx.now - claim["since"]
    return PROCESS_POLL_MS if age >= HOLDER_CHECK_DELAY_MS else HOLDER_CHECK_DELAY_MS - age


def leave_interest(tx: Transaction, wish: Record) -> None:
    """Leave an interest for a refused agent: it is told when the resource is free. An interest is never a claim."""
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
        "resources": wish["resources"], "reason": wish["reason"], "since": tx.now, "until": tx.now + INTEREST_LIFE_MS,
    }  # fmt: skip
    holds.put(tx, interest)


def suspect(tx: Transaction, record: Record) -> None:
    """A hold or a wait lasts more than twice the expected time: leave a suspicion, once. The caller puts the record."""
    kind = holds.kind_of(record)
    waits = kind == holds.WAITER
    record["alert_at"] = 0
    suspicions.put(
        tx, "wait" if waits else "hold", record[kind], record["agent"], since=record["since"], event="",
        commits=[[record["ticket" if waits else "token"], record[kind]]],
        expected=record["expected" if waits else "expect"], resources=resources.shown(record["resources"]),
    )  # fmt: skip


def _withdraw(tx: Transaction, call: Call, waiter: str, claims: Sequence[str]) -> dict[str, Any]:
    """An interrupted call leaves nothing: neither its place, nor claims whose grant its caller never heard of.

    A granted upgrade stays: it replaced a claim that the agent knows of and must not lose.
    """
    freed: list[Any] = []
    if waiter:
        FOLLOW_UPS["task wait ended"](tx, call.agent, waiter)
    for place in holds.of_agent(tx, holds.WAITER, call.agent, limit=MAX_WAITS_PER_AGENT):
        if place["waiter"] == waiter:
            freed += place["resources"]
            endings.drop_waiter(tx, place, "gave_up")
    for held in holds.of_agent(tx, holds.CLAIM, call.agent):
        handed = held["pending"] and held.get("place") == waiter
        if (handed or held["claim"] in claims) and not held.get("upgrade"):
            freed += held["resources"]
            endings.give_back(tx, held, held["resources"], "released")
    endings.serve(tx, freed)
    return {}


def taken_by(answer: Mapping[str, Any]) -> list[str]:
    """The claims that an answer gave its caller. What the agent had before is not among them.

    A finished task stays finished: of `task done` and `task turn` it is what they took next.
    """
    given = [answer.get("next") or {}] if "next" in answer else answer.get("tasks", [answer])
    return [one["claim"] for one in given if one.get("claim") and not one.get("renewed")]


WITHDRAW = Operation(
    "withdraw", _withdraw, "Release the place or claim of an interrupted call.", sent_by=ANYWHERE,
    fields=(
        Field("waiter", "text", "the place", default=""),
        Field("claims", "words", "the claims", default=()),
    ),
)  # fmt: skip

INTERNAL = (WITHDRAW,)
