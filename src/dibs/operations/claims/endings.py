"""How claims end, and what follows in the same transaction: the next in the queue gets it, the curious are told.

Every way in which something becomes free (release, expiry, a holder that died, the kill switch, an agent that left)
comes through here, so that none of them forgets the queue.
"""

from __future__ import annotations

from dibs.operations.claims import holds, resources
from dibs.operations.core.call import FOLLOW_UPS, TOKEN, due, related
from dibs.stores.seam import walk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from dibs.operations.core.call import Call, Record
    from dibs.stores.seam import Transaction

LEASE = 15_000  # ms that a waiter counts as present after it last looked, and that a hand-over waits to be picked up
SERVE = 32  # waiters looked at when something becomes free; the rest find out when they look themselves
TASK = "task"  # what made a claim that stands behind a task, whose end is the task's business
LOST_LIFE = 7 * 86_400_000  # an agent that was not told within a week will not ask any more


def end(tx: Transaction, claim: Record, why: str, **data: Any) -> None:
    """Take a claim from its holder, who is told at its next boot."""
    holds.remove(tx, claim)
    tx.append("claim.ended", claim["agent"], claim["claim"], {"why": why, "until": claim["until"], **data})
    lost = {
        "claim": claim["claim"], "agent": claim["agent"], "resources": claim["resources"], "mode": claim["mode"],
        "token": claim["token"], "tree": claim["tree"], "task": claim["task"], "why": why, "at": tx.now,
        "until": tx.now + LOST_LIFE,
    }  # fmt: skip
    tx.put(f"l\t{claim['agent']}\t{claim['claim']}", lost, i2=due(lost["until"]))
    if claim["by"] == TASK:
        FOLLOW_UPS["task claim ended"](tx, claim, why)


def expire(tx: Transaction, claim: Record) -> None:
    """End a claim whose deadline is over; for a hand-over that nobody picked up, that is what its deadline means."""
    end(tx, claim, "unclaimed" if claim["pending"] else "expired")


def give_back(
    tx: Transaction, claim: Record, released: Sequence[Sequence[str]], why: str, **data: Any
) -> list[Sequence[str]]:
    """Release some or all resources of a claim by its holder's own will; returns what is still held."""
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
    if claim["by"] == TASK and why in {"released", "left"}:  # by other ways than the task's own
        FOLLOW_UPS["task claim ended"](tx, claim, why)
    return left


def drop_waiter(tx: Transaction, waiter: Record, why: str) -> None:
    """Take somebody out of the queue."""
    holds.remove(tx, waiter)
    tx.append("wait.ended", waiter["agent"], waiter["waiter"], {"why": why})
    if waiter["wake"]:
        tx.wake(waiter["wake"])


def grant(tx: Transaction, record: Record, via: str, request: list[str] | None = None) -> Record:
    """Write a claim that was decided: its rows and its event. The token is the number of this commit."""
    record["token"] = TOKEN
    holds.put(tx, record)
    event = {
        "resources": record["resources"], "mode": record["mode"], "tree": record["tree"], "until": record["until"],
        "token": TOKEN, "via": via,
    }  # fmt: skip
    if request:
        event["request"] = request
    tx.append("claim.granted", record["agent"], record["claim"], event)
    if via == "handover":  # not asked for just now: an earlier refusal of it is settled by this
        for interest in holds.of_agent(tx, holds.INTEREST, record["agent"]):
            if resources.all_covered(interest["resources"], record["resources"]):
                end_interest(tx, interest, "granted")
    return record


def gone(tx: Transaction, call: Call, claims: list[Record]) -> list[Record]:
    """The claims among these whose holder's local process is dead."""
    claims = [claim for claim in claims if claim["tied"]]
    keys = sorted({f"a\t{claim['agent']}" for claim in claims})
    agents = tx.fetch(keys).values
    call.know([agent["process"] for agent in agents.values() if agent is not None])
    dead = []
    for claim in claims:
        agent = agents[f"a\t{claim['agent']}"]
        if agent is not None and call.alive(agent["process"]) is False:
            dead.append(claim)
    return dead


def living(tx: Transaction, call: Call, claims: list[Record]) -> list[Record]:
    """The claims among these whose holder's local process is not known to be dead."""
    dead = {claim["claim"] for claim in gone(tx, call, claims)}
    return [claim for claim in claims if claim["claim"] not in dead]


def blocks(record: Record, mode: str, agent: str) -> bool:
    """Does this claim or waiter stand in the way of that agent's wish, supposing that they overlap?"""
    return resources.conflict(record["mode"], mode) and not related(record["agent"], agent)


def holds_all(records: Iterable[Record], wish: Record) -> bool:
    """Does the agent hold everything already, in whatever mode? Then who waits for it waits for this agent anyway."""
    held = [
        resource
        for record in records
        if holds.CLAIM in record
        and record["agent"] == wish["agent"]
        and record["mode"] != resources.WATCH
        and resources.same_tree(record["tree"], wish["tree"])
        for resource in record["resources"]
    ]
    return bool(held) and resources.all_covered(wish["resources"], held)


def clear(tx: Transaction, over: Sequence[Record], dead: Sequence[Record], asking: str = "") -> None:
    """End what is past its end, and the claims of dead processes; whoever waited for any of it comes first.

    `asking` is the agent that wants it now: it hears from its own request what came of it.
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
    """A wish is over: told, too old, or its agent got what it wished for."""
    holds.remove(tx, interest)
    tx.append("interest.ended", interest["agent"], interest["interest"], {"why": why})


def serve(tx: Transaction, freed: Iterable[Sequence[str]], asking: str = "") -> None:
    """Something became free: hand over to those who wait, in their order, then tell those who only wished."""
    freed = list(freed)
    if not freed:
        return
    met = list(holds.meeting(tx, freed, ""))
    waiting = [record for record in met if holds.WAITER in record]
    interested = [record for record in met if holds.INTEREST in record and record["agent"] != asking]
    waiting.sort(key=lambda record: record["ticket"])
    if waiting:
        _hand_over(tx, waiting[:SERVE], freed, met)
    for record in interested:
        _tell(tx, record)


def _hand_over(tx: Transaction, waiting: list[Record], freed: Sequence[Sequence[str]], met: list[Record]) -> None:
    """Grant to each waiter whom nobody stands before any more; an absent one is dropped.

    All that these waiters can meet is read once (it is what was met already, if they want only what was freed); what is
    granted on the way is added to it.
    """
    wanted = {(resource[0], resource[1]): resource for waiter in waiting for resource in waiter["resources"]}
    claims: list[Record] = []
    queue: list[Record] = []
    if any(resource not in freed for resource in wanted.values()):
        met = list(holds.meeting(tx, list(wanted.values()), ""))
    for record in met:
        if holds.CLAIM in record:
            claims.append(record)
        elif holds.WAITER in record:
            queue.append(record)
    for waiter in waiting:
        if waiter["until"] <= tx.now:
            drop_waiter(tx, waiter, "lapsed")
            continue
        if any(stands_before(claim, waiter) and claim["until"] > tx.now for claim in claims):
            continue
        earlier = [other for other in queue if other["ticket"] < waiter["ticket"] and stands_before(other, waiter)]
        live = [claim for claim in claims if claim["until"] > tx.now]
        if any(other["until"] > tx.now for other in earlier) and not holds_all(live, waiter):  # an upgrade passes them
            continue
        for claim in [claim for claim in claims if stands_before(claim, waiter)]:
            expire(tx, claim)
            claims.remove(claim)
        claims.append(claim_from(tx, waiter))
        queue = [other for other in queue if other["waiter"] != waiter["waiter"]]


def stands_before(record: Record, wish: Record) -> bool:
    """Does this claim or waiter meet that wish in conflicting modes, whatever its deadline?"""
    return (
        blocks(record, wish["mode"], wish["agent"])
        and resources.same_tree(record["tree"], wish["tree"])
        and resources.any_overlap(record["resources"], wish["resources"]) is not None
    )


def claim_from(tx: Transaction, waiter: Record) -> Record:
    """A waiter's turn: the claim is its own from this commit on, and passes on if it is not picked up in time."""
    claim = holds.new_claim(tx, waiter, until=waiter["until"], pending=True, alert_at=0)
    claim["place"] = waiter["waiter"]  # so that who withdraws finds what its place has become
    drop_waiter(tx, waiter, "granted")
    return grant(tx, claim, "queue")  # answered, and so done for its request id, when it is picked up


def _tell(tx: Transaction, interest: Record) -> None:
    """A message for an agent that was refused earlier, if what it wanted is free indeed and it has not got it."""
    for record in holds.meeting(tx, interest["resources"], interest["tree"]):
        if holds.INTEREST in record or record["until"] <= tx.now:
            continue
        if record["agent"] == interest["agent"]:  # it has it, or is in line for it: that is told elsewhere
            end_interest(tx, interest, "granted")
            return
        if blocks(record, interest["mode"], interest["agent"]):
            return
    from dibs.operations.messages import mailbox

    if interest["until"] <= tx.now:
        end_interest(tx, interest, "lapsed")
        return
    end_interest(tx, interest, "served")
    names = resources.shown(interest["resources"])
    text = f"{', '.join(names)} is free now; you were refused it before. Claim it to go on."
    mailbox.post(tx, interest["agent"], "dibs", "free", text, resources=names)


def forget_losses(tx: Transaction, agent: str, over: Sequence[Sequence[str]]) -> None:
    """What was lost once, claimed again and given back now is settled: a commit is no longer refused because of it."""
    for key, loss in [row for prefix in (f"l\t{agent}\t", f"l\t{agent}/") for row in walk(tx, prefix)]:
        if all(any(resources.same(one, other) for other in over) for one in loss["resources"]):
            tx.delete(key)
