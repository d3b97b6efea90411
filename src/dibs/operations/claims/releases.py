"""Renewals, releases and hand-overs of claims.

Each compares what the caller believes to hold with the live record. An ended claim or a stale token is refused with the
present holder's name, and then nothing is changed at all.
"""

from __future__ import annotations

from dibs.errors import NEVER_HELD, Deadlock, Fenced, Forbidden, Held, Invalid, Killed, NotFound, Quota, quoted
from dibs.operations.agents.records import get_agents
from dibs.operations.claims import endings, records, resources, views
from dibs.operations.claims.records import ranges_for
from dibs.operations.core.call import (
    FOLLOW_UPS,
    Continue,
    check_agent_id,
    check_text,
    iso,
    lineage_of,
    related,
    with_jobs,
    within,
)
from dibs.operations.core.declare import ANYWHERE, PREFETCH_ROWS, Field, Operation
from dibs.stores.seam import prefix_range

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.errors import DibsError
    from dibs.operations.claims.answers import GrantView, ReleaseAnswer, RenewAnswer
    from dibs.operations.claims.records import Claim, Loss
    from dibs.operations.claims.requests import ReleaseRequest, RenewRequest
    from dibs.operations.claims.resources import Resource
    from dibs.operations.core.call import Call, JobsLeft
    from dibs.operations.core.declare import Ahead
    from dibs.stores.seam import Fetched, Range, Transaction

    Chosen = list[tuple[Claim, Sequence[Resource]]]  # claims, each with those of its resources that were named

MAX_BLOCKERS_SHOWN = 16  # blockers named in a refusal
MAX_RENEWED = 500  # claims that one transaction renews; with more, the next one continues
MAX_HANDED_OVER = 500  # claims: all in one transaction, and some 200 µs each


# --- renew


def _renew(tx: Transaction, call: Call, request: RenewRequest) -> RenewAnswer | Continue | DibsError:
    """New deadlines for what the agent holds. If any of it was lost, the call names it and renews nothing."""
    suspects = [  # the process that took them may be dead while the family continues elsewhere
        claim
        for claim in records.claims_of(tx, call.agent, family=True)
        if not call.from_current_process or claim["agent"] != call.agent
    ]
    endings.clear(tx, call, (), endings.gone(tx, call, suspects))
    chosen = _held_by(tx, call, request["resources"])
    if not isinstance(chosen, list):
        return chosen
    call.began = call.began or tx.now
    due = [claim for claim, _ in chosen if claim.get("renewed", 0) < call.began or len(chosen) <= MAX_RENEWED]
    for claim in due[:MAX_RENEWED]:
        claim["tied"] = claim["tied"] or (call.from_current_process and claim["agent"] == call.agent)
        claim["renewed"] = tx.now
        renew_one(tx, claim)
    if len(due) > MAX_RENEWED:
        return Continue()
    return {"renewed": [endings.grant_answer(tx, claim) for claim, _ in chosen]}


def renew_one(tx: Transaction, claim: Claim, **why: str) -> Claim:
    """A full ttl from now on, but never beyond `life`: after that it is a new claim, and queues after the waiters."""
    until = max(claim["until"], min(tx.now + claim["ttl"], claim["life"]))
    claim["pending"] = False
    if until != claim["until"]:
        claim["until"], claim["renewed"] = until, tx.now
        tx.append("claim.renewed", claim["agent"], claim["claim"], {"until": until, **why})
    records.put(tx, claim)
    return claim


def renew_active(tx: Transaction, call: Call) -> None:
    """An agent that acts keeps what it holds: claims past half their life get a full one, unless their ttl was given.

    Claims of a process that this call was not seen to come from are left out: that process may be dead.
    """
    for claim in records.claims_of(tx, call.agent):
        past_half = 0 < claim["until"] - tx.now < claim["ttl"] // 2
        if (
            (past_half or (claim["until"] <= tx.now and endings.keepable(tx, claim)))
            and not claim["fixed"]
            and not claim["pending"]
            and (call.from_current_process or not claim["tied"])
        ):
            renew_one(tx, claim)


def _held_by(
    tx: Transaction, call: Call, named: Sequence[Resource], near: Fetched | None = None, token: int = 0
) -> Chosen | DibsError:
    """The caller's live claims on the named resources (without names: all), each with its named resources.

    The family counts as one here: a CLI call from a subagent's shell carries only the parent's id. `near`: the rows
    near the named resources, if they were read. A claim lies where its resources do, so all of it is there.
    """
    if not named:
        claims = records.claims_of(tx, call.agent, family=True)
        own = [claim for claim in claims if claim["until"] > tx.now and (not token or claim["token"] == token)]
        return [(claim, claim["resources"]) for claim in own] if own or not token else _stale(tx, call, token)
    normal = resources.normal(named)
    if near is None or near.truncated:
        here = [*records.within_ranges(tx, records.places_of(normal))]
    else:
        here = records.whole(tx, [row for key, row in near.rows if not records.is_loss_key(key)])
    own = [
        record
        for record in here
        if records.is_claim(record) and within(record["agent"], call.agent) and record["until"] > tx.now
    ]
    chosen: dict[str, tuple[Claim, list[Resource]]] = {}
    for wanted in normal:
        if resources.is_alias(wanted):
            continue
        hits = 0
        for claim in own:
            if token and claim["token"] != token:
                continue
            for place, resource in enumerate(claim["resources"]):
                if resources.same(resource, wanted) or resources.is_unit_of(resource, wanted):
                    hits += 1
                    picked = chosen.setdefault(claim["claim"], (claim, []))[1]
                    picked.append(resource)
                    picked += filter(resources.is_alias, claim["resources"][place + 1 : place + 2])
        if not hits:
            return _not_held(tx, call, wanted, token)
    return [*chosen.values()]


def _stale(tx: Transaction, call: Call, token: int) -> DibsError:
    """The refusal of a token under which the caller holds nothing."""
    for loss in _losses_of(tx, call.agent):
        if loss["token"] == token:
            return _not_held(tx, call, loss["resources"][0], token)
    tx.append("call.refused", call.agent, "", {"code": "fenced"})
    text = f"token {token} is no longer live: you hold nothing under it. Nothing was released."
    return Fenced(text, given=token, holder=None, token=None, since=None)


def _losses_of(tx: Transaction, agent: str) -> list[Loss]:
    return [loss for _, loss in tx.fetch([prefix_range(records.losses_prefix(agent))]).rows]


def _not_held(tx: Transaction, call: Call, wanted: Resource, token: int) -> DibsError:
    """Why the caller does not hold a resource: another agent has it now, it was lost, or it was never held."""
    name = resources.show(wanted)
    live = None if resources.is_pool(wanted) else _live_holder(tx, wanted)
    lost = [
        loss
        for loss in _losses_of(tx, call.agent)
        if any(
            resources.same(resource, wanted) or resources.is_unit_of(resource, wanted) for resource in loss["resources"]
        )
    ]
    tx.append("call.refused", call.agent, name, {"code": "fenced" if live or lost or token else "not_found"})
    if live is not None and not within(live["agent"], call.agent):
        facts = {} if lost or token else {"why": NEVER_HELD}
        return Fenced(
            resource=name, given=token or None, holder=live["agent"], token=live["token"],
            since=iso(tx, live["since"]), **facts,
        )  # fmt: skip
    if lost or token:
        return Fenced(resource=name, given=token or None, holder=None, token=None, since=None)
    claims = records.claims_of(tx, call.agent, family=True)
    held = [text for claim in claims if claim["until"] > tx.now for text in resources.shown(claim["resources"])]
    hint = f"; you hold {', '.join(held[:5])}" if held else "; you hold nothing"
    return NotFound(f"you do not hold {name}{hint}.", resource=name)


def _live_holder(tx: Transaction, wanted: Resource) -> Claim | None:
    for claim in records.overlapping_claims(tx, [wanted], ""):
        if claim["until"] > tx.now and claim["mode"] != resources.WATCH:
            return claim
    return None


# --- release


def _release(tx: Transaction, call: Call, request: ReleaseRequest) -> ReleaseAnswer | JobsLeft | DibsError:
    """Release claims, or hand them over; the next waiters are served in the same transaction."""
    named, commit = request["resources"], request["commit"]
    if request["force"]:
        return _force(tx, call, request)
    _check_release(request)
    key = ["release", call.request] if call.request else None
    if request["all"] and not request["to"] and not request["token"]:
        from dibs.operations.agents import departures

        job, jobs = departures.begin(
            tx, call.agent, call.agent, departures.RELEASED, family=True, commit=commit, request=key
        )
        return with_jobs(departures.released(job), jobs)
    near = tx.fetch(_near(call, named), PREFETCH_ROWS)
    chosen = _held_by(tx, call, named, near, request["token"])
    if not isinstance(chosen, list):
        return chosen
    if request["to"]:
        return _hand_to(tx, call, chosen, request["to"], commit)
    freed: list[Resource] = []
    for claim, released in chosen:
        endings.give_back(tx, claim, released, "released", commit=commit, request=key)
        freed += released
    if not (named and _nothing_else(near, chosen)):
        endings.forget_losses(tx, call.agent, freed)
        endings.serve(tx, freed)
    return {"released": resources.shown(freed)}


def _check_release(request: ReleaseRequest) -> None:
    """Raise if a release that is not forced names nothing, or contradicts itself."""
    if request["why"]:
        raise Invalid("--why is only for --force", field="why")
    if not request["resources"] and not request["all"]:
        raise Invalid("name the resources to release, or use --all", field="resources")
    if request["resources"] and request["all"]:
        raise Invalid("name the resources to release or use --all, not both", field="all")
    check_text(request["commit"], "commit")


def _force(tx: Transaction, call: Call, request: ReleaseRequest) -> ReleaseAnswer | DibsError:
    """Take claims away from other agents."""
    if not request["resources"] or request["all"] or request["commit"] or request["to"]:
        raise Invalid("--force takes only resource names, --why and --token", field="force")
    from dibs.operations.claims import forced_release

    return forced_release.force(tx, call, request)


def _asks(tx: Transaction, call: Call, request: ReleaseRequest) -> tuple[str, list[str]]:
    """Only an orchestrator takes a claim away from another agent."""
    return ("orchestrator" if request["force"] else ""), []


def _ahead(call: Call, request: ReleaseRequest) -> Ahead:
    """The holders and waiters of the named resources, and earlier losses."""
    return (), _near(call, request["resources"])


def _near(call: Call, resources: Sequence[Resource]) -> list[Range]:
    return sorted(
        [*(ranges_for(resources) if resources else ()), *(records.loss_ranges(call.agent) if call.agent else ())]
    )


def _nothing_else(near: Fetched, chosen: Chosen) -> bool:
    """Are there only the claims to be released: no waiter, no loss?"""
    own = {claim["claim"] for claim, _ in chosen}
    return (
        not near.truncated
        and all(records.id_of(row) in own and not records.is_loss_key(key) for key, row in near.rows)
        and not any(resources.is_alias(resource) for _, released in chosen for resource in released)
    )


def _hand_to(tx: Transaction, call: Call, chosen: Chosen, to: str, commit: str) -> ReleaseAnswer | DibsError:
    """Pass claims to another agent under a new token. The holder's choice comes before the queue."""
    from dibs.operations.messages import mailbox

    refusal = check_receiver(tx, to)
    if refusal is not None:
        return refusal
    if len(chosen) > MAX_HANDED_OVER:
        return Quota(what="claims handed over in one call", limit=MAX_HANDED_OVER)
    # all of it first: one of these claims must not be in the way of another
    given = [given_up(tx, claim, released, to, commit) for claim, released in chosen]
    distinct = without_doubles(given)
    handed: list[GrantView] = [endings.grant_answer(tx, hand_over(tx, call, claim, to)) for claim in distinct]
    names = resources.shown([resource for claim in distinct for resource in claim["resources"]])
    text = f"{call.name} handed {', '.join(names[:5])} over to you."
    mailbox.post(tx, to, call.agent, "handover", text, resources=names)
    return {"released": names, "to": to, "claims": handed}


def without_doubles(given: list[Claim]) -> list[Claim]:
    """What was given up, without what an earlier one of these has: an agent may hold a thing by several claims."""
    distinct: list[Claim] = []
    seen: set[tuple[str, ...]] = set()
    for claim in given:
        new = [resource for resource in claim["resources"] if (claim["tree"], claim["mode"], *resource) not in seen]
        seen.update((claim["tree"], claim["mode"], *resource) for resource in new)
        if not all(map(resources.is_alias, new)):
            distinct.append({**claim, "resources": new})
    return distinct


def check_receiver(tx: Transaction, to: str) -> Killed | None:
    """Raise if the receiver of a hand-over is unknown; the refusal if it or an ancestor was killed."""
    check_agent_id(to)
    known = get_agents(tx, lineage_of(to))
    if known[to] is None:
        from dibs.operations.agents import names as known_names

        raise known_names.unknown(tx, to)
    for record in known.values():
        if record is not None and record["killed"]:
            return Killed(agent=record["agent"], why=record["killed"]["why"])
    return None


def given_up(
    tx: Transaction, claim: Claim, released: Sequence[Resource], to: str, commit: str = "", by: str = ""
) -> Claim:
    """What is handed over of one claim, as its holder had it."""
    if claim["agent"] == to:  # a new life that passes the queue would let an agent hold it permanently
        name = resources.shown(released)[0]
        raise Invalid(f"{to} holds {name} already; `dibs renew {quoted(name)}` gives it a new deadline", field="to")
    given: Claim = {**claim, "resources": [*released]}
    endings.give_back(tx, claim, released, "handover", commit=commit, to=to, by=by)
    return given


def hand_over(tx: Transaction, call: Call, claim: Claim, to: str, *, until: int = 0, tied: bool = False) -> Claim:
    """Pass what was given up to another agent: a new claim, a new token; `until` is its deadline, if it has its own."""
    released = claim["resources"]
    near = list(records.overlapping_claims(tx, released, claim["tree"], most=records.MAX_COST))
    others = [other for other in near if endings.blocks(other, claim["mode"], to)]
    over = FOLLOW_UPS.lapse(tx, call, [other for other in others if other["until"] <= tx.now])
    blockers = [other for other in others if other not in over]
    if blockers:  # another agent of the holder's family holds it too
        raise Held(blockers=[views.blocker(tx, other, released) for other in blockers[:MAX_BLOCKERS_SHOWN]], more=0)
    given: Claim = {
        **claim, "agent": to, "claim": f"c{tx.id()}", "since": tx.now, "until": until or tx.now + claim["ttl"],
        "pending": False, "tied": tied,
    }  # fmt: skip
    if not related(claim["agent"], to):  # within a family no other agent had a turn: the claim's life continues
        given["life"] = tx.now + call.policy.lifetime(released, None)[1]
    given["until"] = min(given["until"], given["life"])
    _refuse_deadlock(tx, given)
    endings.grant(tx, given, "handover")
    if given["by"] == endings.BY_TASK:
        from dibs.operations.tasks import holders

        holders.follow(tx, given)
    return given


def _refuse_deadlock(tx: Transaction, given: Claim) -> None:
    """A hand-over that passes the queue must not cause a deadlock: its waiters would wait for the new holder."""
    from dibs.operations.claims import deadlocks

    queue = [
        record
        for record in records.overlapping(tx, given["resources"], given["tree"], most=records.MAX_COST)
        if records.is_waiter(record)
        and record["until"] > tx.now
        and endings.blocks(record, given["mode"], given["agent"])
    ]
    cycle = deadlocks.find_past(tx, given, queue) if queue else []
    if cycle:
        raise Deadlock(cycle=cycle)


OPERATIONS = (
    Operation(
        "renew",
        _renew,
        "Extend the deadline of your claims.",
        group="claims",
        fields=(
            Field(
                "resources",
                "resources",
                "only these (default: all your claims)",
                positional=True,
                default=(),
                metavar="RESOURCE",
            ),
        ),
        errors=(Fenced, NotFound, Killed),
        rank="worker",
        answer="RenewAnswer",
        idempotent=True,
    ),
    Operation(
        "release",
        _release,
        "Release claims, or hand them over to another agent.",
        group="claims",
        fields=(
            Field("resources", "resources", "what to release", positional=True, default=(), metavar="RESOURCE"),
            Field("all", "flag", "everything you hold", default=False),
            Field("commit", "commit", "the commit of this repository that has your work", default="", metavar="SHA"),
            Field("to", "agent", "hand over to this agent instead", default="", metavar="AGENT"),
            Field("token", "integer", "only if this token is still live", default=0, metavar="N"),
            Field("force", "flag", "take it away from its holder (people and orchestrators only)", default=False),
            Field(
                "why", "text", "the reason, if it is forced; the holder gets it as a message", default="", metavar="T"
            ),
            Field(
                "saved",
                "rows",
                "what was saved of the holder's files",
                default=(),
                internal=True,
                sent_by=ANYWHERE,
                items=(
                    Field("claim", "text", "its claim", required=True),
                    Field("tree", "tree", "its working tree", required=True),
                    Field("path", "raw", "its path", required=True),
                    Field("content", "text", "its content's id", required=True),
                ),
            ),
        ),
        errors=(Fenced, NotFound, Held, Deadlock, Quota, Killed, Forbidden, Invalid),
        rank="worker",
        max_rank="orchestrator",
        required_rank=_asks,
        answer="ReleaseAnswer",
        destructive=True,
        beforehand="save contents",
        afterwards="pin contents",
        ahead=_ahead,
    ),
)
