"""The ends of claims, and what follows in the same transaction: the next waiter gets the resource, interests are told.

Every end (release, expiry, a dead holder, the kill switch, an agent that left) comes through here, so none forgets the
queue.
"""

from __future__ import annotations

from dibs.errors import Quota
from dibs.operations.agents.records import get_agents
from dibs.operations.claims import records, resources
from dibs.operations.core.call import FOLLOW_UPS, TOKEN, iso, related

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Literal, TypedDict, Unpack

    from dibs.operations.claims.answers import ClaimAnswer
    from dibs.operations.claims.pooled import UnitOverlaps
    from dibs.operations.claims.records import Claim, Interest, Loss, Stored, Waiter, Want
    from dibs.operations.claims.resources import Mode, Resource
    from dibs.operations.core.call import Call
    from dibs.stores.seam import Transaction

    class TakenBy(TypedDict, total=False):
        """Who took a claim away, and why."""

        by: str
        reason: str

    class ReleaseFacts(TypedDict, total=False):
        """What the event of a release says besides; what is empty is left out."""

        to: str  # the new holder
        by: str  # who handed it over or committed it, if another than the holder
        commit: str
        request: list[str] | None  # operation and request id


# after its last poll, while a waiter counts as present; also the time in which it must pick up a hand-over
WAITER_LEASE_MS = 15_000
NARROW_KINDS = ("file", "name", "inode")  # little lies below these
MAX_WAITERS_READ = 10_000  # in a workspace, when a directory becomes free: more than there ever are
MAX_WAITERS_SERVED = 32  # per freed resource; the other waiters find out at their own next poll
ENDS_WITH_COMMIT: Literal["commit"] = "commit"  # the `ends` of a claim that its file's commit releases
UNFINISHED = ("edit", ENDS_WITH_COMMIT)  # made by an edit, or ended by its file's commit
FORCED = "forced"  # the `why` of the end of a claim that was taken away, and of a content kept then
BY_HAND = records.BY_HAND
BY_TASK = "task"  # the `by` of a claim that belongs to a task: its end changes the task
LOSS_LIFE_MS = 7 * 86_400_000  # an agent that did not boot within a week will not ask any more


def end(tx: Transaction, claim: Claim, why: str, **data: Unpack[TakenBy]) -> None:
    """Take a claim from its holder, which is told at its next boot."""
    records.remove(tx, claim)
    tx.append("claim.ended", claim["agent"], claim["claim"], {"why": why, "until": claim["until"], **data})
    loss: Loss = {
        "claim": claim["claim"], "agent": claim["agent"], "resources": claim["resources"], "mode": claim["mode"],
        "token": claim["token"], "tree": claim["tree"], "task": claim["task"], "why": why, "at": tx.now,
        "until": tx.now + LOSS_LIFE_MS,
    }  # fmt: skip
    records.put_loss(tx, loss)
    if claim["by"] == BY_TASK:
        FOLLOW_UPS.task_claim_ended(tx, claim, why)


def expire(tx: Transaction, claim: Claim) -> None:
    """Expire a claim whose deadline has passed; a hand-over that was not picked up in time ends as "unclaimed"."""
    end(tx, claim, "unclaimed" if claim["pending"] else "expired")
    if not claim["pending"]:  # was its holder alive? the look at the suspicion checks that
        from dibs.operations.alerts import suspicions

        suspicions.add_expired(tx, claim)


def keepable(tx: Transaction, claim: Claim) -> bool:
    """May its agent's process keep a claim past its deadline? One that ends with the commit of its file, up to `life`.

    The file of such a claim has unfinished work of the agent. A ttl that was asked for is kept to.
    """
    ends = claim.get("ends") or claim["by"]
    return (
        ends in UNFINISHED and claim["tied"] and not claim["fixed"] and not claim["pending"] and tx.now < claim["life"]
    )


def give_back(
    tx: Transaction, claim: Claim, released: Sequence[Resource], why: str, **data: Unpack[ReleaseFacts]
) -> list[Resource]:
    """Release some or all resources of a claim for its holder; returns what is still held."""
    left = [resource for resource in claim["resources"] if resource not in released]
    if all(map(resources.is_alias, left)):  # an alias does not stay without its file
        released, left = claim["resources"], []
    if left:
        claim["resources"] = left
        records.put(tx, claim, released)
    else:
        records.remove(tx, claim)
    event: dict[str, object] = {"resources": list(released), "left": left, "why": why}
    event.update({key: value for key, value in data.items() if value})
    tx.append("claim.released", claim["agent"], claim["claim"], event)
    if claim["by"] == BY_TASK and why in {"released", "left"}:  # not by the task's own end
        FOLLOW_UPS.task_claim_ended(tx, claim, why)
    return left


def drop_waiter(tx: Transaction, waiter: Waiter, why: str) -> None:
    """Remove a waiter from the queue."""
    records.remove(tx, waiter)
    tx.append("wait.ended", waiter["agent"], waiter["waiter"], {"why": why})
    if waiter["wake"]:
        tx.wake(waiter["wake"])


def grant(
    tx: Transaction,
    claim: Claim,
    via: str,
    request: list[str] | None = None,
    sizes: dict[str, int] | None = None,
) -> Claim:
    """Write a granted claim: its rows and its event. The token is the number of this commit.

    `sizes`: how many units the pools have whose units it was granted.
    """
    claim["token"] = TOKEN
    records.put(tx, claim)
    event = {
        "resources": claim["resources"], "mode": claim["mode"], "tree": claim["tree"], "until": claim["until"],
        "token": TOKEN, "via": via,
    }  # fmt: skip
    if request:
        event["request"] = request
    if sizes:
        event["pools"] = sizes
    if claim["by"] == BY_HAND:  # a guard's claim says nothing of its own
        event.update({name: text for name, text in (("reason", claim["reason"]), ("task", claim["task"])) if text})
    tx.append("claim.granted", claim["agent"], claim["claim"], event)
    if via == "handover":  # the agent did not ask for it now: the hand-over settles its earlier interest
        for interest in records.interests_of(tx, claim["agent"]):
            if resources.all_covered(interest["resources"], claim["resources"]):
                end_interest(tx, interest, "granted")
    return claim


def grant_answer(tx: Transaction, claim: Claim) -> ClaimAnswer:
    """One claim, as the answer to the agent that took or renewed it shows it."""
    answer: ClaimAnswer = {
        "claim": claim["claim"],
        "token": claim["token"],
        "resources": resources.shown(claim["resources"]),
        "mode": claim["mode"],
        "expires_at": iso(tx, claim["until"]),
        "agent": claim["agent"],
    }
    if claim.get("ends") == ENDS_WITH_COMMIT:
        answer["ends"] = ENDS_WITH_COMMIT
    units = resources.units_among(claim["resources"])
    if units:
        answer["units"] = units
        if len(units) == 1:
            answer["unit"] = units[0]
    return answer


def gone(tx: Transaction, call: Call, claims: Sequence[Claim]) -> list[Claim]:
    """The claims among these whose holder's local process is dead."""
    claims = [claim for claim in claims if claim["tied"]]
    agents = get_agents(tx, sorted({claim["agent"] for claim in claims}))
    call.know([agent["process"] for agent in agents.values() if agent is not None])
    dead = []
    for claim in claims:
        agent = agents[claim["agent"]]
        if agent is not None and call.alive(agent["process"]) is False:
            dead.append(claim)
    return dead


def living(tx: Transaction, call: Call, claims: Sequence[Claim]) -> list[Claim]:
    """The claims among these whose holder's local process is not known to be dead."""
    dead = {claim["claim"] for claim in gone(tx, call, claims)}
    return [claim for claim in claims if claim["claim"] not in dead]


def blocks(record: Want, mode: Mode, agent: str) -> bool:
    """Does this claim or waiter block that agent, if their resources overlap?"""
    return resources.conflict(record["mode"], mode) and not related(record["agent"], agent)


def missing(claims: Iterable[Want], request: Want) -> list[Resource]:
    """What the agent of a request does not hold by these claims, in any mode.

    Who waits for the rest waits for this agent anyway.
    """
    held = [
        resource
        for claim in claims
        if claim["agent"] == request["agent"]
        and claim["mode"] != resources.WATCH
        and resources.same_tree(claim["tree"], request["tree"])
        for resource in claim["resources"]
    ]
    return [wanted for wanted in request["resources"] if not resources.all_covered([wanted], held)]


def is_before(waiter: Want, request: Want, missing: Sequence[Resource]) -> bool:
    """Does this earlier waiter come before the request, whose agent does not hold `missing`?"""
    return (
        blocks(waiter, request["mode"], request["agent"])
        and resources.same_tree(waiter["tree"], request["tree"])
        and resources.any_overlap(waiter["resources"], missing) is not None
    )


def clear(tx: Transaction, call: Call, over: Sequence[Claim | Waiter], dead: Sequence[Claim], asking: str = "") -> None:
    """End expired records and the claims of dead processes; then their waiters are served first.

    `asking` is the agent that wants the resource now: its own request tells it the result.
    """
    ended: list[Claim | Waiter] = [*dead]
    if over:
        ended += FOLLOW_UPS.lapse(tx, call, over)
    for claim in dead:
        end(tx, claim, "gone")
    serve(tx, [resource for record in ended for resource in record["resources"]], asking)


def end_interest(tx: Transaction, interest: Interest, why: str) -> None:
    """End an interest: told, expired, or granted."""
    records.remove(tx, interest)
    tx.append("interest.ended", interest["agent"], interest["interest"], {"why": why})


def serve(tx: Transaction, freed: Iterable[Resource], asking: str = "") -> None:
    """Resources became free: grant them to the waiters in order, then tell the agents with an interest."""
    freed = list(freed)
    if not freed:
        return
    overlapping = _waiters_of(tx, freed)
    waiting = [record for record in overlapping if records.is_waiter(record)]
    interested = [record for record in overlapping if records.is_interest(record) and record["agent"] != asking]
    waiting.sort(key=lambda waiter: waiter["ticket"])
    if waiting:
        _hand_over(tx, waiting[:MAX_WAITERS_SERVED], freed, overlapping)
    for interest in interested:
        _tell(tx, interest)


def _is_narrow(freed: Sequence[Resource]) -> bool:
    """Does little lie below all of these?"""
    return all(resources.kind_of(resource) in NARROW_KINDS for resource in freed)


def _waiters_of(tx: Transaction, freed: Sequence[Resource]) -> list[Stored]:
    """The waiters and interests that what became free concerns; of literal files and names also the claims on them.

    Below a directory or a glob there may be very many claims, and few waiters in the whole workspace.
    """
    if _is_narrow(freed):
        return list(records.overlapping(tx, freed, ""))
    everything: list[Stored] = [*records.all_waiters(tx, MAX_WAITERS_READ)[0]]
    everything += records.all_interests(tx, MAX_WAITERS_READ)[0]
    return [record for record in everything if resources.any_overlap(record["resources"], freed) is not None]


def _hand_over(tx: Transaction, waiting: list[Waiter], freed: Sequence[Resource], overlapping: list[Stored]) -> None:
    """Grant to each waiter that nothing blocks any more; drop absent waiters.

    Everything that these waiters can meet is read once (`overlapping` is enough if only files and names were freed, and
    they want nothing else); new grants are added to it.
    """
    wanted = {(*resource,): resource for waiter in waiting for resource in waiter["resources"]}
    for waiter in waiting:  # a unit is decided with all that is held of its pool, and all that wait for any of it
        wanted.update({("name", pool): ("name", pool) for pool in waiter.get("pools", ())})
    claims: list[Claim] = []
    queue: list[Waiter] = []
    if not _is_narrow(freed) or any(resource not in freed for resource in wanted.values()):
        try:
            overlapping = list(records.overlapping(tx, list(wanted.values()), "", most=records.MAX_COST))
        except Quota:  # they find out at their own next poll
            return
    for record in overlapping:
        if records.is_claim(record):
            claims.append(record)
        elif records.is_waiter(record):
            queue.append(record)
    for waiter in waiting:
        if waiter["until"] <= tx.now:
            drop_waiter(tx, waiter, "lapsed")
            continue
        earlier = [other for other in queue if other["ticket"] < waiter["ticket"] and other["until"] > tx.now]
        outside: Want = waiter
        units = None
        if "pools" in waiter:
            from dibs.operations.claims import pooled

            units = pooled.units_at_once(tx, waiter, claims, earlier)
            if units is None:
                continue
            outside = units.outside(waiter)
        if not _is_its_turn(tx, outside, claims, earlier):
            continue
        for claim in [claim for claim in claims if blocks_request(claim, outside) or (units and units.ends(claim))]:
            expire(tx, claim)
            claims.remove(claim)
        claims.append(claim_from(tx, waiter, units))
        queue = [other for other in queue if other["waiter"] != waiter["waiter"]]


def _is_its_turn(tx: Transaction, request: Want, claims: Sequence[Claim], earlier: Sequence[Waiter]) -> bool:
    """Is nothing in the way of a waiter any more, neither a claim nor an earlier waiter?"""
    # one that a process may keep stays: the waiter's own next poll looks whether it does
    if any(blocks_request(claim, request) and (claim["until"] > tx.now or keepable(tx, claim)) for claim in claims):
        return False
    lacks = missing([claim for claim in claims if claim["until"] > tx.now], request)
    return not any(is_before(other, request, lacks) for other in earlier)


def blocks_request(record: Want, request: Want) -> bool:
    """Does this claim or waiter conflict with the request, whatever its deadline?"""
    return (
        blocks(record, request["mode"], request["agent"])
        and resources.same_tree(record["tree"], request["tree"])
        and resources.any_overlap(record["resources"], request["resources"]) is not None
    )


def claim_from(tx: Transaction, waiter: Waiter, units: UnitOverlaps | None = None) -> Claim:
    """Turn a waiter into a claim, from this commit on. It passes to the next waiter if it is not picked up in time."""
    terms = waiter if units is None else units.resolved(waiter)
    claim = records.new_claim(
        tx, terms, until=waiter["until"], pending=True, alert_at=0, base=waiter["base"], ends=waiter["ends"]
    )
    claim["place"] = waiter["waiter"]  # so that a withdrawing caller finds the claim that its place became
    drop_waiter(tx, waiter, "granted")
    sizes = units.given_sizes if units is not None else None
    return grant(tx, claim, "queue", sizes=sizes)  # its request id gets an answer when the waiter picks it up


def _tell(tx: Transaction, interest: Interest) -> None:
    """Tell an agent that was refused earlier, if the resource is really free and the agent has not got it yet."""
    mode, agent = interest["mode"], interest["agent"]
    try:
        overlapping = list(records.overlapping(tx, interest["resources"], interest["tree"], most=records.MAX_COST))
    except Quota:  # not free in any case
        return
    live = [record for record in overlapping if not records.is_interest(record) and record["until"] > tx.now]
    own = [record for record in live if record["agent"] == agent and resources.enough(record["mode"], mode)]
    # it holds all of it, or waits for it: another answer tells it
    if resources.all_covered(interest["resources"], [resource for record in own for resource in record["resources"]]):
        end_interest(tx, interest, "granted")
        return
    if "pools" in interest:
        if not _has_free_units(tx, interest):
            return
    elif any(blocks(record, mode, agent) for record in live):
        return
    from dibs.operations.messages import mailbox

    if interest["until"] <= tx.now:
        end_interest(tx, interest, "lapsed")
        return
    end_interest(tx, interest, "served")
    names = resources.shown(interest["resources"])
    text = f"{', '.join(names)} is free now; you wanted it before. Claim it to continue."
    mailbox.post(tx, interest["agent"], "dibs", "free", text, resources=names)


def _has_free_units(tx: Transaction, interest: Interest) -> bool:
    """Are there units now for an agent that was refused? What it wanted next to them it finds out when it claims."""
    from dibs.operations.claims import pooled

    near = list(records.within_ranges(tx, records.ranges_of([["name", name] for name in interest["pools"]])))
    claims = [record for record in near if records.is_claim(record)]
    queue = [record for record in near if records.is_waiter(record) and record["until"] > tx.now]
    return pooled.units_for(tx, interest, claims, queue) is not None


def forget_losses(tx: Transaction, agent: str, over: Sequence[Resource]) -> None:
    """Forget losses that the agent has claimed again and released now: they no longer refuse its commits."""
    for key, loss in records.losses_of(tx, agent, family=True):
        if all(any(resources.same(lost, other) for other in over) for lost in loss["resources"]):
            tx.delete(key)
