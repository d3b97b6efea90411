"""Queues: a place for a caller that waits, an interest for one that cannot. deadlocks.py searches for deadlocks.

First come, first served: by ticket, the number of the commit that queued the waiter. A waiter counts as present for 15
seconds after its last poll. A request that would cause a deadlock is refused with the deadlock's agents, and every
waiter searches again at each poll. An agent that asks again for what it waits for keeps its place, whichever of its
processes asks.
"""

from __future__ import annotations

from dibs.errors import Quota
from dibs.operations.alerts import suspicions
from dibs.operations.claims import deadlocks, endings, records, resources, views
from dibs.operations.core.call import FOLLOW_UPS, TOKEN, JobsLeft, Wait
from dibs.operations.core.declare import ANYWHERE, Field, Operation
from dibs.operations.core.policy import HOLDER_CHECK_DELAY_MS, MAX_WAITS_PER_AGENT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.errors import DibsError
    from dibs.operations.claims.records import Claim, ClaimTerms, Interest, InterestRequest, Waiter
    from dibs.operations.claims.requests import WithdrawRequest
    from dibs.operations.claims.resources import Resource
    from dibs.operations.core.answers import NoAnswer
    from dibs.operations.core.call import Call
    from dibs.stores.seam import Json, Transaction

MAX_BLOCKERS_SHOWN = 4  # in the answer to a waiter; it changes with every poll
POLL_MS = 5_000  # three polls within a waiter's lease, so that one missed poll costs nothing
PROCESS_POLL_MS = 1_000  # for the next in line: the holder's process may die without a word
INTEREST_LIFE_MS = 600_000  # about how long a refused agent remembers why it wanted the file


def queue(
    tx: Transaction,
    call: Call,
    terms: ClaimTerms,
    in_the_way: list[Claim | Waiter],
    known: Waiter | None,
    waiter_id: str,
    look_in: int = 0,
) -> Wait | DibsError:
    """Take or keep a place in the queue. The answer says who is in the way and when to poll again.

    `waiter_id` is the place that the caller says it has. Another process of its agent may have taken that place over by
    asking again; then this process waits along, and neither leaves the place nor is woken. `look_in`: after so many ms
    it should look again in any case.
    """
    refusal = deadlocks.refusal_of(tx, call, terms, lambda: deadlocks.find(tx, terms, in_the_way, known))
    if refusal is not None:
        if known is not None:
            endings.drop_waiter(tx, known, refusal.code)
            endings.serve(tx, known["resources"])
        return refusal
    along = known is not None and bool(waiter_id) and known["waiter"] != waiter_id
    if known is not None and not waiter_id:
        known = _taken_over(tx, known, terms)
    if known is None:
        places = records.waiters_of(tx, terms["agent"], limit=MAX_WAITS_PER_AGENT)
        if len([place for place in places if place["until"] > tx.now]) >= MAX_WAITS_PER_AGENT:
            return Quota(what="waits at a time for one agent", limit=MAX_WAITS_PER_AGENT)
        expected = max(
            [record["expect"] or call.policy.expected for record in in_the_way], default=call.policy.expected
        )
        waiter = records.new_waiter(
            tx, terms, ticket=TOKEN, since=tx.now, alert_at=tx.now + 2 * expected, expected=expected
        )
    else:
        waiter = known
        if not along:
            waiter["wake"] = terms["wake"]
            if "pools" in terms:  # as the config is now
                waiter["pools"] = terms["pools"]
    waiter["until"] = min(tx.now + endings.WAITER_LEASE_MS, waiter["deadline"] + 1_000)
    late = waiter["alert_at"] and tx.now >= waiter["alert_at"]
    if late:
        suspect(tx, waiter)
    records.put(tx, waiter)
    if late:
        FOLLOW_UPS.suspicions(tx, call)
    if known is None:
        _log_queued(tx, waiter)
    holders = [record for record in in_the_way if records.is_claim(record)]
    earliest_expiry = min([record["until"] for record in holders], default=tx.now + POLL_MS)
    next_in_line = len(holders) == len(in_the_way)
    process_bound = [record for record in holders if record["tied"]] if next_in_line else []
    poll_ms = min([_process_check_ms(tx, claim) for claim in process_bound], default=POLL_MS)
    return Wait(
        waiter_id if along else waiter["waiter"],
        max(10, min(poll_ms, look_in or POLL_MS, earliest_expiry - tx.now, waiter["deadline"] - tx.now)),
        {"blockers": [views.blocker(tx, record, terms["resources"]) for record in in_the_way[:MAX_BLOCKERS_SHOWN]]},
    )


def _log_queued(tx: Transaction, waiter: Waiter) -> None:
    data = {
        "resources": waiter["resources"], "mode": waiter["mode"], "tree": waiter["tree"],
        "deadline": waiter["deadline"],
    }  # fmt: skip
    tx.append("wait.queued", waiter["agent"], waiter["waiter"], data)


def _taken_over(tx: Transaction, known: Waiter, terms: ClaimTerms) -> Waiter:
    """The place of an agent that asks again: the same turn under a new id, so that only the last process leaves it."""
    records.remove(tx, known)
    tx.append("wait.ended", known["agent"], known["waiter"], {"why": "again"})
    place = records.new_waiter(
        tx, terms, ticket=known["ticket"], since=known["since"], alert_at=known["alert_at"],
        expected=known["expected"],
    )  # fmt: skip
    place["deadline"] = max(terms["deadline"], known["deadline"])
    _log_queued(tx, place)
    return place


def _process_check_ms(tx: Transaction, claim: Claim) -> int:
    """Time until the next check of a holder's process: first when its claim is 100 ms old, then every second."""
    age = tx.now - claim["since"]
    return PROCESS_POLL_MS if age >= HOLDER_CHECK_DELAY_MS else HOLDER_CHECK_DELAY_MS - age


def leave_interest(tx: Transaction, request: InterestRequest) -> None:
    """Leave an interest for a refused agent: it is told when the resource is free. An interest is never a claim."""
    for known in records.interests_of(tx, request["agent"], limit=64):
        if known["resources"] == request["resources"]:
            records.remove(tx, known)
            identifier = known["interest"]
            break
    else:
        identifier = f"i{tx.id()}"
        data = {"resources": request["resources"], "mode": request["mode"]}
        tx.append("interest.left", request["agent"], identifier, data)
    interest: Interest = {
        "interest": identifier, "agent": request["agent"], "mode": request["mode"], "tree": request["tree"],
        "resources": request["resources"], "reason": request["reason"], "since": tx.now,
        "until": tx.now + INTEREST_LIFE_MS,
    }  # fmt: skip
    if "pools" in request:
        interest["pools"] = request["pools"]
    records.put(tx, interest)


def suspect(tx: Transaction, record: Claim | Waiter) -> None:
    """A hold or a wait lasts more than twice the expected time: leave a suspicion, once. The caller puts the record."""
    record["alert_at"] = 0
    if records.is_waiter(record):
        kind, number, expected = "wait", record["ticket"], record["expected"]
    else:
        kind, number, expected = "hold", record["token"], record["expect"]
    identifier = records.id_of(record)
    suspicions.put(
        tx, kind, identifier, record["agent"], since=record["since"], event="", commits=[[number, identifier]],
        expected=expected, resources=resources.shown(record["resources"]),
    )  # fmt: skip


def withdraw(tx: Transaction, call: Call, request: WithdrawRequest) -> NoAnswer:
    """An interrupted call leaves nothing: neither its place, nor claims whose grant its caller never heard of.

    A granted upgrade stays: it replaced a claim that the agent knows of and must not lose.
    """
    waiter = request["waiter"]
    freed: list[Resource] = []
    if waiter:
        FOLLOW_UPS.task_wait_ended(tx, call.agent, waiter)
    for place in records.waiters_of(tx, call.agent, limit=MAX_WAITS_PER_AGENT):
        if place["waiter"] == waiter:
            freed += place["resources"]
            endings.drop_waiter(tx, place, "gave_up")
    for held in records.claims_of(tx, call.agent):
        handed = held["pending"] and held.get("place") == waiter
        if (handed or held["claim"] in request["claims"]) and not held.get("upgrade"):
            freed += held["resources"]
            endings.give_back(tx, held, held["resources"], "released")
    endings.serve(tx, freed)
    return {}


def left_by(outcome: Json) -> tuple[str, list[str]]:
    """What an outcome gave its caller: a place in a queue, and claims. What the agent had before is not among them.

    A finished task stays finished: of `task done` and `task turn` it is what they took next.
    """
    if isinstance(outcome, Wait):
        return outcome.waiter, []
    answer = outcome.answer if isinstance(outcome, JobsLeft) else outcome
    if not isinstance(answer, dict):
        return "", []
    if "claims" in answer:  # of a guard
        given = answer["claims"]
    else:
        given = [answer.get("next") or {}] if "next" in answer else answer.get("tasks", [answer])
    return "", [grant["claim"] for grant in given if grant.get("claim") and not grant.get("renewed")]


WITHDRAW = Operation(
    "withdraw", withdraw, "Release the place or claim of an interrupted call.", sent_by=ANYWHERE,
    fields=(
        Field("waiter", "text", "the place", default=""),
        Field("claims", "words", "the claims", default=()),
    ),
)  # fmt: skip

INTERNAL = (WITHDRAW,)
