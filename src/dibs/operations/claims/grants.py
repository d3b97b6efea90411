"""Claims are taken here; releases.py renews and releases them, tokens.py answers questions about them.

In short (docs/internals/promises.md has it in full):
- success: all resources or none; the token is the number of the commit that granted the claim.
- retry: claiming a held resource refreshes the claim and returns the same token; after its end, it is a new claim.
- refusal: names each blocker; it is a decision, so the log keeps its event.
- expiry: decided by the store's clock at every read. An ended claim is never revived.
- death: a local holder whose process is dead loses its claims at the next request for them; a waiter checks the
  holder's process 100 ms after the claim was granted.
- race: transactions are decided one after the other; the second sees the first.
"""

from __future__ import annotations

from dibs.errors import Deadlock, DibsError, Fenced, Held, Invalid, Killed, NotFound, Order, Quota, quoted
from dibs.operations.agents.records import get_agent
from dibs.operations.claims import endings, records, resources
from dibs.operations.claims.records import ranges_for
from dibs.operations.core.call import FOLLOW_UPS, Continue, Undecided, Wait, check_text, iso, related, within
from dibs.operations.core.declare import ANYWHERE, WAITING, Field, Operation
from dibs.operations.core.policy import HOLDER_CHECK_DELAY_MS, MAX_DURATION_MS, MAX_ROOT_GLOBS, MAX_UNITS, MAX_WAIT_MS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import TypeVar

    from dibs.operations.claims.answers import BlockerView, ClaimAnswer
    from dibs.operations.claims.events import ClaimRenewed
    from dibs.operations.claims.pooled import UnitOverlaps
    from dibs.operations.claims.records import Claim, ClaimTerms, Interest, Stored, Waiter
    from dibs.operations.claims.requests import ClaimRequest
    from dibs.operations.core.call import Call
    from dibs.operations.core.declare import Ahead
    from dibs.stores.seam import Json, Transaction

    S = TypeVar("S", Claim, Waiter, Interest, Claim | Waiter)


MAX_BLOCKERS_SHOWN = 16  # blockers named in a refusal; more are counted
MAX_WAITERS_READ = 16  # a caller that can wait and meets this many waiters will wait: it reads no more
SWEEP_ONE_IN = 16  # one claim in 16 sweeps a few due records; the others save the read
MAX_DUE_SWEPT = 32  # by such a claim: two for each claim, as many as a claim adds
LEADER_PREFIXES = ("deploy:", "role:")  # names of the claims for deploys and leaders
MAX_HOLDERS_READ = 64  # a request with this many live holders in its way is refused in any case: it reads no more
MAX_HOLDERS_CHECKED = 256  # of the units of a pool, the earliest deadline first: who is dead renews nothing
MAX_ENDED = 100  # records that one transaction ends before it decides; with more, the next one continues
MAX_ROUNDS = 8  # retries after a claim ended something in its way; each round ends all that it saw


class _Overlaps:
    """The records that overlap a request, sorted."""

    __slots__ = (
        "dead",
        "ended",
        "holders",
        "interests",
        "own_claims",
        "own_place",
        "owns_place",
        "places",
        "pools",
        "queue",
        "subagents",
        "truncated",
        "unfinished",
        "watchers",
    )

    def __init__(self) -> None:
        self.own_claims: list[Claim] = []  # live ones of the agent itself
        self.subagents: list[Claim] = []  # live claims of the agent's own subagents, which block it only here
        self.holders: list[Claim] = []  # live claims in the way
        self.queue: list[Waiter] = []  # present waiters in the way, in any order
        self.interests: list[Interest] = []  # the agent's own interests from earlier refusals
        self.watchers: list[Claim] = []  # claims that watch what is claimed, or that are watched
        self.ended: list[Claim | Waiter] = []  # expired
        self.dead: list[Claim] = []  # claims of holders whose process is dead
        self.places: list[Waiter] = []  # the agent's own places in a queue here
        self.pools: UnitOverlaps | None = None  # what a request for units meets
        self.own_place: Waiter | None = None  # the agent's existing place in the queue for this same request
        self.owns_place = False  # this call may leave that place: no other process of the agent took it over
        self.truncated = False  # not all were read: there may be more
        self.unfinished = False  # so many of them have ended that one transaction does not end them all


# --- claim


def claim(
    tx: Transaction, call: Call, request: ClaimRequest, base: dict[str, str] | None = None, *, is_first: bool = False
) -> ClaimAnswer | Undecided | DibsError:
    """Grant a request, or refuse it and name the blockers, or put it into the queue.

    `base`: path → content that the agent has seen, when an edit asks. `is_first`: it comes before all waiters.
    """
    terms = _terms_of(tx, call, request, base or {})
    _refuse_tasks(tx, terms)
    waiter = request["waiter"]
    handed = _handed_over(tx, terms["agent"], waiter) if waiter else None
    if handed is not None:
        return _refresh(tx, call, handed, terms, _Overlaps())
    if request["units"] > 1 or any(map(resources.pool_of, terms["resources"])):
        refusal = _add_wishes(tx, call, terms, request)
        if refusal is not None:
            return refusal
    by_hand = terms["by"] == endings.BY_HAND  # guards sweep after a call, not before
    if by_hand and tx.now % SWEEP_ONE_IN == 0:
        FOLLOW_UPS.sweep(tx, call, MAX_DUE_SWEPT)  # so that a store in use needs no sweeper
    will_wait = terms["deadline"] > tx.now
    overlaps = _live_overlaps_of(tx, call, terms, waiter, will_wait=will_wait, figures=request["pressure"])
    if waiter and overlaps.own_place is None:  # its turn came just now, with the end of what was in its way
        handed = _handed_over(tx, terms["agent"], waiter)
        if handed is not None:
            return _refresh(tx, call, handed, terms, _Overlaps())
    if overlaps.unfinished and by_hand:
        return Continue()  # what has ended so far is committed; the next transaction ends more
    if call.shell_owner and by_hand and overlaps.subagents:
        _leave_queue(tx, overlaps)
        return _refuse(tx, terms, overlaps.subagents, interest=False)
    covering = _covering(overlaps, terms)
    if covering is not None:
        return _refresh(tx, call, covering, terms, overlaps)
    return _refused_by_order(tx, call, terms, overlaps) or _decide(
        tx, call, terms, overlaps, request, is_first=is_first
    )


def _decide(
    tx: Transaction, call: Call, terms: ClaimTerms, overlaps: _Overlaps, request: ClaimRequest, *, is_first: bool
) -> ClaimAnswer | Undecided | DibsError:
    """Grant what nothing is in the way of; else queue the request, or refuse it."""
    blockers = overlaps.holders if is_first else _blockers(overlaps, terms)
    if blockers or (overlaps.pools is not None and not overlaps.pools.is_free):
        if terms["deadline"] > tx.now:
            return _queue(tx, call, terms, overlaps, request["waiter"])
        _leave_queue(tx, overlaps)
        return _refuse(tx, terms, blockers, interest=request["interest"], pools=overlaps.pools)
    return _deadlock_of_upgrade(tx, call, terms, overlaps) or _grant(tx, call, terms, overlaps)


def claim_at_once(
    tx: Transaction, call: Call, request: ClaimRequest, base: dict[str, str] | None = None, *, is_first: bool = False
) -> ClaimAnswer | DibsError:
    """Claim for a guard or a lander, which does not wait; `is_first` for a person, who passes those that do."""
    answer = claim(tx, call, request, base, is_first=is_first)
    assert not isinstance(answer, Undecided), "only a claim by hand is put off"
    return answer


def _terms_of(tx: Transaction, call: Call, request: ClaimRequest, base: dict[str, str]) -> ClaimTerms:
    """The terms of a request, checked."""
    wanted, ttl = resources.normal(request["resources"]), request["ttl"]
    lifetime, life = call.policy.lifetime(wanted, ttl)
    terms: ClaimTerms = {
        "agent": call.agent, "mode": request["mode"], "tree": request["tree"], "resources": wanted,
        "reason": request["reason"], "task": request["task"], "expect": request["expect"], "ttl": lifetime,
        "life": life, "fixed": ttl is not None, "by": request["by"], "tied": call.from_current_process,
        "deadline": tx.now + request["wait"], "request": ["claim", call.request] if call.request else None,
        "ends": "", "keep": request["keep"], "wake": check_text(request["wake"], "wake"), "base": base,
    }  # fmt: skip
    if not terms["keep"] and _ends_with_commit(call, terms):
        terms["ends"] = endings.ENDS_WITH_COMMIT
    return terms


def _add_wishes(tx: Transaction, call: Call, terms: ClaimTerms, request: ClaimRequest) -> DibsError | None:
    """Complete the terms of a request that names pools.

    What makes no sense is raised. For a caller that waits it is a refusal: the config has changed, and its place ends.
    """
    from dibs.operations.claims import pooled

    try:
        pooled.add_wishes(call, terms, request)
    except (Invalid, NotFound) as error:
        place = records.get_waiter(tx, terms["agent"], request["waiter"]) if request["waiter"] else None
        if place is None:
            raise
        endings.drop_waiter(tx, place, "gave_up")
        endings.serve(tx, place["resources"])
        return error
    return None


def _live_overlaps_of(
    tx: Transaction, call: Call, terms: ClaimTerms, waiter: str, *, will_wait: bool, figures: Mapping[str, float] | None
) -> _Overlaps:
    """The overlapping records, after those that have expired or whose process is dead were ended."""
    ended = 0
    for _ in range(MAX_ROUNDS):
        overlaps = _overlaps_of(tx, call, terms, waiter, will_wait=will_wait, figures=figures)
        if not overlaps.ended and not overlaps.dead:
            break
        endings.clear(tx, call, overlaps.ended, overlaps.dead, call.agent)
        ended += len(overlaps.ended) + len(overlaps.dead)
        if overlaps.dead:
            from dibs.operations.agents import deaths

            deaths.tell_of(tx, call, overlaps.dead)
        overlaps.unfinished = ended >= MAX_ENDED
        if overlaps.unfinished:
            break
    return overlaps


def _blockers(overlaps: _Overlaps, terms: ClaimTerms) -> list[Claim | Waiter]:
    """Holders, and earlier waiters for what the agent does not hold yet: an upgrade passes the waiters."""
    missing = endings.missing(overlaps.own_claims, _outside_pools(terms))
    earlier = _before(overlaps.queue, overlaps) if missing else ()
    blockers: list[Claim | Waiter] = [*overlaps.holders]
    blockers += [waiter for waiter in earlier if endings.is_before(waiter, terms, missing)]
    if overlaps.pools is not None:
        blockers += _others(overlaps.pools.blockers, blockers)
    return blockers


def _deadlock_of_upgrade(
    tx: Transaction, call: Call, terms: ClaimTerms, overlaps: _Overlaps
) -> Deadlock | Quota | None:
    """The refusal of a grant that would cause a deadlock with the waiters it passes."""
    outside = _outside_pools(terms)
    if not overlaps.queue or endings.missing(overlaps.own_claims, outside) == outside["resources"]:
        return None
    from dibs.operations.claims import deadlocks

    refusal = deadlocks.refusal_of(tx, call, terms, lambda: deadlocks.find_past(tx, terms, overlaps.queue))
    if refusal is not None:
        _leave_queue(tx, overlaps)
    return refusal


def _leave_queue(tx: Transaction, overlaps: _Overlaps) -> None:
    """A refused call leaves no place in the queue; the waiters after it move up."""
    if overlaps.own_place is not None and overlaps.owns_place:
        endings.drop_waiter(tx, overlaps.own_place, "gave_up")
        endings.serve(tx, overlaps.own_place["resources"])


def _ends_with_commit(call: Call, terms: ClaimTerms) -> bool:
    """Does the claim end before its deadline? An agent's manual claim on a file ends with its commit of that file.

    A model that was refused, waits and commits has no reason to think of a release; a person or a script has.
    """
    plain = all(resources.kind_of(resource) in {"file", "inode"} for resource in terms["resources"])
    by_hand = terms["by"] == endings.BY_HAND and bool(call.shell_owner) and terms["mode"] == resources.WRITE
    return by_hand and plain and not terms["task"]


def _asks(tx: Transaction, call: Call, request: ClaimRequest) -> tuple[str, list[str]]:
    """A worker claims only what it may write, so that it does not block the agents that integrate.

    A watch claim blocks nobody. Where there is an orchestrator, only it claims the names of roles and of deploys.
    """
    given = call.policy.guards["roles"]
    if not given["default"] and not given["assign"]:
        return "", []
    from dibs.operations.agents import roles
    from dibs.operations.core import authority

    wanted = request["resources"]
    for_leaders = any(resource[0] == "name" and resource[1].startswith(LEADER_PREFIXES) for resource in wanted)
    if for_leaders and authority.has_orchestrator(call):
        return "orchestrator", []
    allowed = roles.of(call, get_agent(tx, call.agent))[1]
    if request["mode"] == resources.WATCH or allowed is None:
        return "", []
    return ("" if all(roles.may_hold(allowed, resource) for resource in wanted) else "agent"), []


def _refuse_tasks(tx: Transaction, terms: ClaimTerms) -> None:
    """Refuse a task's name: only `task claim` takes a task, because it checks more than the holder."""
    for resource in terms["resources"]:
        text = resources.text_of(resource)
        if (
            resources.kind_of(resource) == "name"
            and text.startswith("task:")
            and records.title_of_task(tx, text[5:]) is not None
        ):
            raise Invalid(f"{text} is a task: take it with `dibs task claim {quoted(text[5:])}`", task=text[5:])


def _queue(tx: Transaction, call: Call, terms: ClaimTerms, overlaps: _Overlaps, waiter: str) -> Wait | DibsError:
    """Queue the request, unless that would cause a deadlock."""
    from dibs.operations.claims import deadlocks, places, waiters

    if overlaps.truncated and deadlocks.is_awaited(tx, call.agent):  # then all blockers count
        overlaps = _overlaps_of(tx, call, terms, waiter, will_wait=False, most=places.MAX_READ)
    look_in = overlaps.pools.look_in if overlaps.pools is not None else 0
    answer = waiters.queue(tx, call, terms, _blockers(overlaps, terms), overlaps.own_place, waiter, look_in)
    if isinstance(answer, Wait) and overlaps.pools is not None and not answer.answer["blockers"]:
        answer.answer["for"] = "; ".join(overlaps.pools.reasons)
    if isinstance(answer, Wait) and not overlaps.truncated:
        answer.answer.update(place=len(_earlier_waiters(overlaps)) + 1, line=len(overlaps.queue) + 1)
    return answer


def _handed_over(tx: Transaction, agent: str, waiter: str) -> Claim | None:
    """The claim that a waiter was granted while it slept. Found by its agent, without reading the other waiters."""
    for claim in records.claims_of(tx, agent):
        if claim["pending"] and claim["until"] > tx.now and claim.get("place") == waiter:
            return claim
    return None


def _overlaps_of(
    tx: Transaction,
    call: Call,
    terms: ClaimTerms,
    waiter: str,
    *,
    will_wait: bool,
    most: int = MAX_HOLDERS_READ,
    figures: Mapping[str, float] | None = None,
) -> _Overlaps:
    """Every record that overlaps the request, sorted; or as many as decide it, if `most` live holders are in its way.

    A caller that can wait, and meets a holder and a long queue, will wait in any case and reads no further. The waiters
    before it find out whether the holder's process is dead. The first waiter checks the process of a new holder at its
    next poll, 100 ms after the grant.
    """
    overlaps = _Overlaps()
    if waiter:
        overlaps.own_place = records.get_waiter(tx, call.agent, waiter)
        overlaps.owns_place = True
    for record in records.overlapping(tx, _outside_pools(terms)["resources"], terms["tree"], records.MAX_COST):
        _add(tx, terms, record, overlaps)
        waits = will_wait and overlaps.holders and len(overlaps.queue) >= MAX_WAITERS_READ
        if waits or len(overlaps.holders) >= most or len(overlaps.ended) >= MAX_ENDED:
            overlaps.truncated = True
            break
    if "pools" in terms:
        from dibs.operations.claims import pooled

        overlaps.pools = pooled.overlaps_of(tx, call, terms, figures or {})
        overlaps.places += _others(overlaps.pools.places, overlaps.places)
        overlaps.interests += _others(overlaps.pools.interests, overlaps.interests)
        overlaps.ended += _others(overlaps.pools.ended, overlaps.ended)
    if overlaps.own_place is None:
        _find_own_place(tx, terms, overlaps, first=not waiter)
    suspects = (
        [] if call.from_current_process else overlaps.own_claims
    )  # the caller's own process is known to be alive, or must be checked
    in_the_way = overlaps.holders
    if overlaps.pools is not None:
        of_units = overlaps.pools.decide(terms, overlaps.own_place)[:MAX_HOLDERS_CHECKED]
        in_the_way = in_the_way + _others(of_units, [*in_the_way, *suspects])
    if not will_wait:
        suspects = suspects + in_the_way
    elif not _earlier_waiters(overlaps):
        suspects = suspects + [claim for claim in in_the_way if tx.now - claim["since"] >= HOLDER_CHECK_DELAY_MS]
    if suspects:
        overlaps.dead = endings.gone(tx, call, suspects)
    return overlaps


def _others(some: list[S], known: Sequence[Stored]) -> list[S]:
    """Those that are not known already: a record on a file and a unit is met twice."""
    identifiers = {records.id_of(record) for record in known}
    return [record for record in some if records.id_of(record) not in identifiers]


def _find_own_place(tx: Transaction, terms: ClaimTerms, overlaps: _Overlaps, *, first: bool) -> None:
    """An agent that waits for the same resources already keeps that place.

    The place becomes this call's own if this is its first poll and it wants to wait; otherwise it belongs to another
    process.
    """
    places = overlaps.places
    if overlaps.truncated:  # the place may be among the records that were not read
        places = [place for place in records.waiters_of(tx, terms["agent"]) if place["until"] > tx.now]
    for place in places:
        if _is_same_request(place, terms):
            overlaps.own_place, overlaps.owns_place = place, first and terms["deadline"] > tx.now
            return


def _is_same_request(place: Waiter, terms: ClaimTerms) -> bool:
    """Does a place stand for this request, whichever of the agent's processes asks? A command has its own units."""
    if "pools" in terms and (place["by"] != terms["by"] or terms["by"] != endings.BY_HAND):
        return False
    same = place["mode"] == terms["mode"] and place["tree"] == terms["tree"]
    return same and place["resources"] == terms["resources"] and place.get("units") == terms.get("units")


def _outside_pools(terms: ClaimTerms) -> ClaimTerms:
    """What a request names outside pools: that is decided by overlap."""
    return {**terms, "resources": resources.without_pools(terms["resources"])} if "pools" in terms else terms


def _add(tx: Transaction, terms: ClaimTerms, record: Stored, overlaps: _Overlaps) -> None:
    """Put one overlapping record into its list."""
    if records.is_interest(record):
        if record["agent"] == terms["agent"]:
            overlaps.interests.append(record)
        return
    if record["until"] <= tx.now:
        overlaps.ended.append(record)
    elif records.is_waiter(record):
        if record["agent"] == terms["agent"]:
            overlaps.places.append(record)
        elif endings.blocks(record, terms["mode"], terms["agent"]):
            overlaps.queue.append(record)
    elif record["agent"] == terms["agent"]:
        overlaps.own_claims.append(record)
    elif within(record["agent"], terms["agent"]) and resources.conflict(record["mode"], terms["mode"]):
        overlaps.subagents.append(record)
    elif endings.blocks(record, terms["mode"], terms["agent"]):
        overlaps.holders.append(record)
    elif resources.WATCH in {record["mode"], terms["mode"]} and not related(record["agent"], terms["agent"]):
        overlaps.watchers.append(record)


def _earlier_waiters(overlaps: _Overlaps) -> list[Waiter]:
    """The earlier waiters: all of them for a new caller."""
    queue = overlaps.queue
    if overlaps.pools is not None:
        queue = queue + _others(overlaps.pools.queue, queue)
    return _before(queue, overlaps)


def _before(queue: list[Waiter], overlaps: _Overlaps) -> list[Waiter]:
    """Those in a queue whose turn is before the request's own place."""
    if overlaps.own_place is None:
        return queue
    return [record for record in queue if record["ticket"] < overlaps.own_place["ticket"]]


def _covering(overlaps: _Overlaps, terms: ClaimTerms) -> Claim | None:
    """A live claim of the agent's own that already covers the request."""
    for claim in overlaps.own_claims if overlaps.pools is None else overlaps.pools.own_claims:
        if (
            resources.enough(claim["mode"], terms["mode"])
            and (not claim["tree"] or claim["tree"] == terms["tree"])
            and resources.all_covered(terms["resources"], claim["resources"])
            and (overlaps.pools is None or overlaps.pools.has_enough(claim, terms))
        ):
            return claim
    return None


def _refresh(tx: Transaction, call: Call, claim: Claim, terms: ClaimTerms, overlaps: _Overlaps) -> ClaimAnswer:
    """Refresh a claim that the agent holds: the same token, a new deadline. A hand-over is picked up the same way.

    A claim is never shortened by another one inside it, or by the same one again: the code around it relies on its
    deadline and on its renewals.
    """
    if overlaps.own_place is not None:
        endings.drop_waiter(tx, overlaps.own_place, "granted")
    if terms["fixed"]:
        claim["ttl"] = max(claim["ttl"], terms["ttl"])
    if terms["keep"]:
        claim["ends"], claim["by"] = "", terms["by"]
    claim["tied"] = claim["tied"] or call.from_current_process
    if terms["by"] in {endings.BY_HAND, endings.BY_TASK}:  # what dibs says of a restore is not why the agent holds it
        claim["reason"] = terms["reason"] or claim["reason"]
    claim["task"] = terms["task"] or claim["task"]
    renewed, least = not claim["pending"], claim["until"]
    if claim["pending"]:  # it begins now; until now, its deadline was that of its place in the queue
        least = _merge_weaker_claims(tx, records.claims_of(tx, call.agent), terms, claim)
        claim["pending"] = False
        claim["since"] = tx.now
        claim["alert_at"] = tx.now + 2 * claim["expect"] if claim["expect"] else 0
    claim["until"], claim["renewed"] = max(least, min(tx.now + claim["ttl"], claim["life"])), tx.now
    records.put(tx, claim)
    event: ClaimRenewed = {"until": claim["until"]}
    if not renewed and terms["request"]:
        event["request"] = terms["request"]
    tx.append("claim.renewed", call.agent, claim["claim"], event)
    answer = endings.grant_answer(tx, claim)
    answer["renewed"] = renewed
    return answer


def _grant(tx: Transaction, call: Call, terms: ClaimTerms, overlaps: _Overlaps) -> ClaimAnswer:
    """Nothing is in the way: grant the claim."""
    for interest in overlaps.interests:  # the agent has now what it was refused
        if resources.all_covered(interest["resources"], terms["resources"]):
            endings.end_interest(tx, interest, "granted")
    if overlaps.own_place is not None:
        endings.drop_waiter(tx, overlaps.own_place, "granted")
    asked, sizes = terms, {}
    if overlaps.pools is not None:
        terms, sizes = overlaps.pools.resolved(terms), overlaps.pools.given_sizes
    alert_at = tx.now + 2 * terms["expect"] if terms["expect"] else 0
    claim = records.new_claim(
        tx, terms, until=tx.now + terms["ttl"], pending=False, alert_at=alert_at,
        base=terms["base"], ends=terms["ends"],
    )  # fmt: skip
    least = _merge_weaker_claims(tx, overlaps.own_claims, terms, claim)
    claim["until"] = max(least, min(tx.now + claim["ttl"], claim["life"]))
    endings.grant(tx, claim, "request", terms["request"], sizes)
    answer = endings.grant_answer(tx, claim)
    used_up = overlaps.pools.pay(tx, asked) if overlaps.pools is not None else []
    if used_up:
        answer["used_up"] = resources.shown(used_up)
        if not endings.give_back(tx, claim, used_up, "released"):
            answer["expires_at"] = iso(tx, tx.now)
    if call.shell_owner and terms["by"] == endings.BY_HAND:
        from dibs.operations.agents import speech

        if speech.subagents(tx, call.agent):
            answer["note"] = (
                f"this claims for {call.name}, not for its subagent; a subagent's files are claimed when it edits them"
            )
    if overlaps.watchers:
        from dibs.operations.claims import views
        from dibs.operations.messages import mailbox

        answer["watch"] = [
            views.blocker(tx, record, terms["resources"]) for record in overlaps.watchers[:MAX_BLOCKERS_SHOWN]
        ]
        for record in overlaps.watchers[:MAX_BLOCKERS_SHOWN]:
            text = f"{call.name} now has a {terms['mode']} claim on {', '.join(answer['resources'][:3])}."
            mailbox.post(tx, record["agent"], "dibs", "watch", text, resources=answer["resources"])
    return answer


def _merge_weaker_claims(tx: Transaction, own_claims: list[Claim], terms: ClaimTerms, stronger: Claim) -> int:
    """Merge weaker claims of the same agent on the same resources into this one; returns the latest of their deadlines.

    A deadline may be later than its claim's ttl from now: that of a subagent that left, for example.
    """
    latest = 0
    for claim in own_claims:
        if not resources.enough(claim["mode"], terms["mode"]) and claim["tree"] == terms["tree"]:
            upgraded = [r for r in claim["resources"] if any(resources.same(r, w) for w in terms["resources"])]
            if upgraded:
                stronger["ttl"] = max(stronger["ttl"], claim["ttl"])
                stronger["fixed"], stronger["upgrade"] = stronger["fixed"] and claim["fixed"], True
                latest = max(latest, claim["until"])
                endings.give_back(tx, claim, upgraded, "upgraded")
    return latest


def _refuse(
    tx: Transaction,
    terms: ClaimTerms,
    in_the_way: Sequence[Claim | Waiter],
    *,
    interest: bool,
    pools: UnitOverlaps | None = None,
) -> Held:
    """Refuse and name the blockers; for a caller that cannot wait, leave an interest."""
    from dibs.operations.claims import views

    if interest:
        from dibs.operations.claims import waiters

        waiters.leave_interest(tx, terms)
    blockers = [
        views.blocker(tx, record, terms["resources"], terms["agent"]) for record in in_the_way[:MAX_BLOCKERS_SHOWN]
    ]
    contested = views.contested(in_the_way, terms["resources"])
    data = _refusal_data(terms, "held", blockers)
    if 0 < len(contested) < len(terms["resources"]):  # the others were free: nobody contends for them
        data["contested"] = contested
    tx.append("claim.refused", terms["agent"], _first_resource(terms), data)
    wanted = views.wanted(contested, terms["resources"])
    facts: Json = {"mode": terms["mode"]} if terms["mode"] != resources.WRITE else {}
    if pools is not None:
        facts.update(free=pools.free, units=terms["units"], **({"reasons": pools.reasons} if pools.reasons else {}))
    return Held(blockers=blockers, more=max(0, len(in_the_way) - MAX_BLOCKERS_SHOWN), wanted=wanted, **facts)


def _refusal_data(terms: ClaimTerms, code: str, blockers: list[BlockerView]) -> dict[str, object]:
    return {
        "code": code, "resources": terms["resources"], "mode": terms["mode"], "tree": terms["tree"],
        "blockers": blockers,
    }  # fmt: skip


def _first_resource(terms: ClaimTerms) -> str:
    return resources.shown(terms["resources"])[0]


def _refused_by_order(tx: Transaction, call: Call, terms: ClaimTerms, overlaps: _Overlaps) -> Order | Quota | None:
    """The refusal of a request that is out of order, or that is one glob too many."""
    refusal = _out_of_order(tx, call, terms) or _too_many_globs(tx, terms)
    if refusal is not None:
        tx.append("claim.refused", call.agent, _first_resource(terms), _refusal_data(terms, refusal.code, []))
        _leave_queue(tx, overlaps)
    return refusal


def _out_of_order(tx: Transaction, call: Call, terms: ClaimTerms) -> Order | None:
    """With `ordering = "enforce"`: refuse a resource that sorts before one that the agent holds already."""
    if call.policy.ordering != "enforce" or terms["mode"] == resources.WATCH:
        return None
    lowest = min(terms["resources"], key=resources.order_of)
    for claim in records.claims_of(tx, call.agent):
        if claim["until"] <= tx.now or claim["mode"] == resources.WATCH:
            continue
        highest = max(claim["resources"], key=resources.order_of)
        if resources.order_of(highest) > resources.order_of(lowest):
            return Order(held=resources.show(highest), resource=resources.show(lowest))
    return None


def _too_many_globs(tx: Transaction, terms: ClaimTerms) -> Quota | None:
    """Every claim is compared with each glob that begins with a wildcard, so their number is limited."""
    if any(map(resources.root_glob, terms["resources"])):
        at_root = records.within_ranges(tx, [records.root_range()])
        count = sum(sum(map(resources.root_glob, record["resources"])) for record in at_root)
        if count >= MAX_ROOT_GLOBS:
            return Quota(what="globs that begin with a wildcard in a workspace", limit=MAX_ROOT_GLOBS)
    return None


def _ahead(call: Call, request: ClaimRequest) -> Ahead:
    return (), [] if request["waiter"] else ranges_for(request["resources"])


_RESOURCES = "files, directories, globs, or names such as db:migrations; `pool:NAME` is any unit of a pool"

CLAIM = Operation(
    "claim",
    claim,
    "Claim resources, all of them or none.",
    group="claims",
    fields=(
        Field("resources", "resources", _RESOURCES, positional=True, required=True, metavar="RESOURCE"),
        Field(
            "mode",
            "choice",
            "write excludes all, read excludes writers, watch excludes nobody",
            default="write",
            choices=resources.MODES,
        ),
        Field("ttl", "duration", "how long it lasts without renewal (default 30m, or the config's)", metavar="D"),
        Field("wait", "duration", "wait up to D in line if it is held", default=0, most=MAX_WAIT_MS, metavar="D"),
        Field("reason", "text", "what you need it for; other agents see it", default="", metavar="TEXT"),
        Field("task", "text", "the task it serves", default="", metavar="ID"),
        Field(
            "expect",
            "duration",
            "how long you expect to need it; an alert is raised after twice that",
            default=0,
            most=MAX_DURATION_MS,
            metavar="D",
        ),
        Field(
            "units",
            "integer",
            "how many units of each pool (`pool:NAME`)",
            default=1,
            least=1,
            most=MAX_UNITS,
            metavar="N",
        ),
        Field("keep", "flag", "keep the claim after you commit the file", default=False),
        Field(
            "unusable",
            "raws",
            "units that something else on this machine uses",
            default=(),
            internal=True,
            sent_by=ANYWHERE,
        ),
        Field(
            "pressure",
            "object",
            "what the machine's work waits for, in percent",
            internal=True,
            sent_by=ANYWHERE,
            default={},
            items=tuple(Field(of, "amount", "of the last 10 seconds") for of in ("cpu", "io", "memory")),
        ),
        Field("machine", "channel", "the caller's machine", default="", internal=True, sent_by=ANYWHERE),
        Field("tree", "tree", "confine it to one working tree", default="", internal=True, sent_by=ANYWHERE),
        Field(
            "by",
            "choice",
            "hand, or what makes it",
            choices=("hand", "deploy", "edit", "shell"),
            default="hand",
            internal=True,
            sent_by=ANYWHERE,
        ),
        Field(
            "interest",
            "flag",
            "if refused, ask to be notified when it is free",
            default=False,
            internal=True,
            sent_by=ANYWHERE,
        ),
        *WAITING,
    ),
    errors=(Held, Deadlock, Order, NotFound, Quota, Fenced, Killed, Invalid),
    rank="worker",
    max_rank="orchestrator",
    required_rank=_asks,
    answer="ClaimAnswer",
    takes=True,
    ahead=_ahead,
    idempotent=True,
    destructive=False,
    wants=("units",),
    afterwards="note claim",
    withdraws=True,
)

OPERATIONS = (CLAIM,)
