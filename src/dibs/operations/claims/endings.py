"""The ends of claims, and what follows in the same transaction: the next waiter gets the resource, interests are told.

Every end (release, expiry, a dead holder, the kill switch, an agent that left) comes through here, so none forgets the
queue.
"""

from __future__ import annotations

from dibs.errors import Quota
from dibs.operations.agents.records import agent_key
from dibs.operations.claims import holds, resources
from dibs.operations.core.call import FOLLOW_UPS, TOKEN, due, related
from dibs.stores.seam import walk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from dibs.operations.core.call import Call, Record
    from dibs.stores.seam import Transaction

# after its last poll, while a waiter counts as present; also the time in which it must pick up a hand-over
WAITER_LEASE_MS = 15_000
NARROW_KINDS = ("file", "name", "inode")  # little lies below these
MAX_WAITERS_READ = 10_000  # in a workspace, when a directory becomes free: more than there ever are
MAX_WAITERS_SERVED = 32  # per freed resource; the other waiters find out at their own next poll
BY_HAND = "hand"  # the `by` of a claim that an agent asked for
BY_TASK = "task"  # the `by` of a claim that belongs to a task: its end changes the task
LOSS_LIFE_MS = 7 * 86_400_000  # an agent that did not boot within a week will not ask any more


def end(tx: Transaction, claim: Record, why: str, **data: Any) -> None:
    """Take a claim from its holder, which is told at its next boot."""
    holds.remove(tx, claim)
    tx.append("claim.ended", claim["agent"], claim["claim"], {"why": why, "until": claim["until"], **data})
    lost = {
        "claim": claim["claim"], "agent": claim["agent"], "resources": claim["resources"], "mode": claim["mode"],
        "token": claim["token"], "tree": claim["tree"], "task": claim["task"], "why": why, "at": tx.now,
        "until": tx.now + LOSS_LIFE_MS,
    }  # fmt: skip
    tx.put(f"l\t{claim['agent']}\t{claim['claim']}", lost, i2=due(lost["until"]))
    if claim["by"] == BY_TASK:
        FOLLOW_UPS["task claim ended"](tx, claim, why)


def expire(tx: Transaction, claim: Record) -> None:
    """Expire a claim whose deadline has passed; a hand-over that was not picked up in time ends as "unclaimed"."""
    end(tx, claim, "unclaimed" if claim["pending"] else "expired")
    if not claim["pending"]:  # was its holder alive? the look at the suspicion checks that
        from dibs.operations.alerts import suspicions

        suspicions.put(
            tx, "expired", claim["claim"], claim["agent"], held=claim["resources"],
            commits=[[claim["token"], claim["claim"]]],
        )  # fmt: skip


def give_back(
    tx: Transaction, claim: Record, released: Sequence[Sequence[str]], why: str, **data: Any
) -> list[Sequence[str]]:
    """Release some or all resources of a claim for its holder; returns what is still held."""
    left = [resource for resource in claim["resources"] if resource not in released]
    if not any(resource[0] != "inode" for resource in left):  # an alias does not stay without its file
        released, left = claim["resources"], []
    if left:
        claim["resources"] = left
        holds.put(tx, claim, released)
    else:
        holds.remove(tx, claim)
    event = {"resources": list(released), "left": left, "why": why}
    event.update({key: value for key, value in data.items() if value})
    tx.append("claim.released", claim["agent"], claim["claim"], event)
    if claim["by"] == BY_TASK and why in {"released", "left"}:  # not by the task's own end
        FOLLOW_UPS["task claim ended"](tx, claim, why)
    return left


def drop_waiter(tx: Transaction, waiter: Record, why: str) -> None:
    """Remove a waiter from the queue."""
    holds.remove(tx, waiter)
    tx.append("wait.ended", waiter["agent"], waiter["waiter"], {"why": why})
    if waiter["wake"]:
        tx.wake(waiter["wake"])


def grant(tx: Transaction, record: Record, via: str, request: list[str] | None = None) -> Record:
    """Write a granted claim: its rows and its event. The token is the number of this commit."""
    record["token"] = TOKEN
    holds.put(tx, record)
    event = {
        "resources": record["resources"], "mode": record["mode"], "tree": record["tree"], "until": record["until"],
        "token": TOKEN, "via": via,
    }  # fmt: skip
    if request:
        event["request"] = request
    if record["by"] == BY_HAND:  # a guard's claim says nothing of its own
        event.update({name: record[name] for name in ("reason", "task") if record[name]})
    tx.append("claim.granted", record["agent"], record["claim"], event)
    if via == "handover":  # the agent did not ask for it now: the hand-over settles its earlier interest
        for interest in holds.of_agent(tx, holds.INTEREST, record["agent"]):
            if resources.all_covered(interest["resources"], record["resources"]):
                end_interest(tx, interest, "granted")
    return record


def gone(tx: Transaction, call: Call, claims: list[Record]) -> list[Record]:
    """The claims among these whose holder's local process is dead."""
    claims = [claim for claim in claims if claim["tied"]]
    keys = sorted({agent_key(claim["agent"]) for claim in claims})
    agents = tx.get_many(keys)
    call.know([agent["process"] for agent in agents.values() if agent is not None])
    dead = []
    for claim in claims:
        agent = agents[agent_key(claim["agent"])]
        if agent is not None and call.alive(agent["process"]) is False:
            dead.append(claim)
    return dead


def living(tx: Transaction, call: Call, claims: list[Record]) -> list[Record]:
    """The claims among these whose holder's local process is not known to be dead."""
    dead = {claim["claim"] for claim in gone(tx, call, claims)}
    return [claim for claim in claims if claim["claim"] not in dead]


def blocks(record: Record, mode: str, agent: str) -> bool:
    """Does this claim or waiter block that agent's wish, if their resources overlap?"""
    return resources.conflict(record["mode"], mode) and not related(record["agent"], agent)


def missing(records: Iterable[Record], wish: Record) -> list[Any]:
    """What the agent of a wish does not hold yet, in any mode. Who waits for the rest waits for this agent anyway."""
    held = [
        resource
        for record in records
        if holds.CLAIM in record
        and record["agent"] == wish["agent"]
        and record["mode"] != resources.WATCH
        and resources.same_tree(record["tree"], wish["tree"])
        for resource in record["resources"]
    ]
    return [one for one in wish["resources"] if not resources.all_covered([one], held)]


def is_before(waiter: Record, wish: Record, missing: Sequence[Sequence[str]]) -> bool:
    """Does this earlier waiter come before the wish, whose agent does not hold `missing`?"""
    return (
        blocks(waiter, wish["mode"], wish["agent"])
        and resources.same_tree(waiter["tree"], wish["tree"])
        and resources.any_overlap(waiter["resources"], missing) is not None
    )


def clear(tx: Transaction, over: Sequence[Record], dead: Sequence[Record], asking: str = "") -> None:
    """End expired records and the claims of dead processes; then their waiters are served first.

    `asking` is the agent that wants the resource now: its own request tells it the result.
    """
    for record in over:
        if holds.WAITER in record:
            drop_waiter(tx, record, "lapsed")
        else:
            expire(tx, record)
    for claim in dead:
        end(tx, claim, "gone")
    serve(tx, [resource for record in (*over, *dead) for resource in record["resources"]], asking)


def end_interest(tx: Transaction, interest: Record, why: str) -> None:
    """End an interest: told, expired, or granted."""
    holds.remove(tx, interest)
    tx.append("interest.ended", interest["agent"], interest["interest"], {"why": why})


def serve(tx: Transaction, freed: Iterable[Sequence[str]], asking: str = "") -> None:
    """Resources became free: grant them to the waiters in order, then tell the agents with an interest."""
    freed = list(freed)
    if not freed:
        return
    met = _waiters_of(tx, freed)
    waiting = [record for record in met if holds.WAITER in record]
    interested = [record for record in met if holds.INTEREST in record and record["agent"] != asking]
    waiting.sort(key=lambda record: record["ticket"])
    if waiting:
        _hand_over(tx, waiting[:MAX_WAITERS_SERVED], freed, met)
    for record in interested:
        _tell(tx, record)


def _is_narrow(freed: Sequence[Sequence[str]]) -> bool:
    """Does little lie below all of these?"""
    return all(resource[0] in NARROW_KINDS for resource in freed)


def _waiters_of(tx: Transaction, freed: Sequence[Sequence[str]]) -> list[Record]:
    """The waiters and interests that what became free concerns; of literal files and names also the claims on them.

    Below a directory or a glob there may be very many claims, and few waiters in the whole workspace.
    """
    if _is_narrow(freed):
        return list(holds.meeting(tx, freed, ""))
    return [
        record
        for kind in (holds.WAITER, holds.INTEREST)
        for record in holds.every(tx, kind, MAX_WAITERS_READ)[0]
        if resources.any_overlap(record["resources"], freed) is not None
    ]


def _hand_over(tx: Transaction, waiting: list[Record], freed: Sequence[Sequence[str]], met: list[Record]) -> None:
    """Grant to each waiter that nothing blocks any more; drop absent waiters.

    Everything that these waiters can meet is read once (`met` is enough if only files and names were freed, and they
    want nothing else); new grants are added to it.
    """
    wanted = {(resource[0], resource[1]): resource for waiter in waiting for resource in waiter["resources"]}
    claims: list[Record] = []
    queue: list[Record] = []
    if not _is_narrow(freed) or any(resource not in freed for resource in wanted.values()):
        try:
            met = list(holds.meeting(tx, list(wanted.values()), "", most=holds.MAX_COST))
        except Quota:  # they find out at their own next poll
            return
    for record in met:
        if holds.CLAIM in record:
            claims.append(record)
        elif holds.WAITER in record:
            queue.append(record)
    for waiter in waiting:
        if waiter["until"] <= tx.now:
            drop_waiter(tx, waiter, "lapsed")
            continue
        if any(blocks_wish(claim, waiter) and claim["until"] > tx.now for claim in claims):
            continue
        lacks = missing([claim for claim in claims if claim["until"] > tx.now], waiter)
        earlier = [other for other in queue if other["ticket"] < waiter["ticket"] and other["until"] > tx.now]
        if any(is_before(other, waiter, lacks) for other in earlier):
            continue
        for claim in [claim for claim in claims if blocks_wish(claim, waiter)]:
            expire(tx, claim)
            claims.remove(claim)
        claims.append(claim_from(tx, waiter))
        queue = [other for other in queue if other["waiter"] != waiter["waiter"]]


def blocks_wish(record: Record, wish: Record) -> bool:
    """Does this claim or waiter conflict with the wish, whatever its deadline?"""
    return (
        blocks(record, wish["mode"], wish["agent"])
        and resources.same_tree(record["tree"], wish["tree"])
        and resources.any_overlap(record["resources"], wish["resources"]) is not None
    )


def claim_from(tx: Transaction, waiter: Record) -> Record:
    """Turn a waiter into a claim, from this commit on. It passes to the next waiter if it is not picked up in time."""
    claim = holds.new_claim(tx, waiter, until=waiter["until"], pending=True, alert_at=0)
    claim["place"] = waiter["waiter"]  # so that a withdrawing caller finds the claim that its place became
    drop_waiter(tx, waiter, "granted")
    return grant(tx, claim, "queue")  # its request id gets an answer when the waiter picks it up


def _tell(tx: Transaction, interest: Record) -> None:
    """Tell an agent that was refused earlier, if the resource is really free and the agent has not got it yet."""
    mode, agent = interest["mode"], interest["agent"]
    try:
        all_met = list(holds.meeting(tx, interest["resources"], interest["tree"], most=holds.MAX_COST))
    except Quota:  # not free in any case
        return
    met = [record for record in all_met if holds.INTEREST not in record and record["until"] > tx.now]
    own = [record for record in met if record["agent"] == agent and resources.enough(record["mode"], mode)]
    # it holds all of it, or waits for it: another answer tells it
    if resources.all_covered(interest["resources"], [one for record in own for one in record["resources"]]):
        end_interest(tx, interest, "granted")
        return
    if any(blocks(record, mode, agent) for record in met):
        return
    from dibs.operations.messages import mailbox

    if interest["until"] <= tx.now:
        end_interest(tx, interest, "lapsed")
        return
    end_interest(tx, interest, "served")
    names = resources.shown(interest["resources"])
    text = f"{', '.join(names)} is free now; you wanted it before. Claim it to continue."
    mailbox.post(tx, interest["agent"], "dibs", "free", text, resources=names)


def forget_losses(tx: Transaction, agent: str, over: Sequence[Sequence[str]]) -> None:
    """Forget losses that the agent has claimed again and released now: they no longer refuse its commits."""
    for key, loss in [row for prefix in (f"l\t{agent}\t", f"l\t{agent}/") for row in walk(tx, prefix)]:
        if all(any(resources.same(one, other) for other in over) for one in loss["resources"]):
            tx.delete(key)
