"""Claims: taking them, keeping them, giving them back, and asking about them.

What happens, in short (docs/PROMISES.md has it in full):
- success: all resources or none; the token is the number of the commit that granted it.
- again: claiming what one holds refreshes it and returns the same token; after it ended, it is a new claim.
- refusal: names each blocker; it is a decision, so its event is kept.
- expiry: decided by the store's clock whenever anybody looks. Nothing that ended is ever taken up again.
- death: a local holder whose process is gone loses its claims as soon as anybody wants them.
- race: one transaction decides after the other; the second one sees what the first one did.
"""

from __future__ import annotations

from dibs.errors import Deadlock, Fenced, Held, Invalid, Killed, NotFound, Order, Quota
from dibs.operations import ending, holds, resources, sweeps
from dibs.operations.call import check_agent_id, check_text, iso, lineage_of, related, within
from dibs.operations.declare import Field, Operation
from dibs.operations.policy import MAX_WAIT, ROOT_GLOBS, check_duration

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from dibs.operations.call import Call, Record
    from dibs.stores.seam import Fetched, Range, Transaction

SHOWN = 16  # blockers named in a refusal; more are counted
ENOUGH = 16  # waiters that a patient caller needs to meet to know that it will wait
ROUNDS = 8  # times a claim looks again after it ended something in its way; each round ends all that it saw


class _Found:
    """What a request meets, sorted."""

    __slots__ = ("cut", "ended", "gone", "holders", "me", "mine", "queue", "root_globs", "watchers")

    def __init__(self) -> None:
        self.mine: list[Record] = []  # the agent's own live claims that overlap
        self.holders: list[Record] = []  # live claims in the way
        self.queue: list[Record] = []  # present waiters in the way, whoever came first
        self.watchers: list[Record] = []  # the other side of an advisory claim
        self.ended: list[Record] = []  # claims and waiters past their end
        self.gone: list[Record] = []  # claims whose holder's process is dead
        self.me: Record | None = None  # the place in the queue that this call holds already
        self.root_globs = 0
        self.cut = False  # there may be more


# --- claim


def _claim(
    tx: Transaction,
    call: Call,
    got: Fetched,
    resources: Sequence[Sequence[str]],
    mode: str = "write",
    ttl: int | None = None,
    wait: int = 0,
    reason: str = "",
    task: str = "",
    expect: int = 0,
    tree: str = "",
    by: str = "hand",
    interest: bool = False,
    waiter: str = "",
    wake: str = "",
) -> Any:
    wish = _wish(tx, call, resources, mode, ttl, wait, reason, task, expect, tree, by)
    wish["wake"] = check_text(wake, "wake")
    if waiter:
        handed = _handed_over(tx, wish)
        if handed is not None:
            return _refresh(tx, call, handed, wish, ttl, _Found())
    first: Fetched | None = None if waiter else got
    if sweeps.on_the_way(tx, call):
        first = None  # what was read on the way in may be over by now
    for _ in range(ROUNDS):
        found = _meet(tx, call, wish, waiter, first, patient=wait > 0)
        if not found.ended and not found.gone:
            break
        first = None
        _clear(tx, call, found, wish)
    covering = _covering(found.mine, wish)
    if covering is not None:
        return _refresh(tx, call, covering, wish, ttl, found)
    upgrade = _all_mine(found.mine, wish)
    in_the_way = found.holders if upgrade else found.holders + _before(found)
    refusal = _out_of_order(tx, call, wish) or _too_many_globs(wish, found)
    if refusal is not None:
        tx.append("claim.refused", call.agent, _first(wish), _refused(wish, refusal.code, []))
        if found.me is not None:
            ending.drop_waiter(tx, found.me, "gave_up")
        return refusal
    if in_the_way:
        if wait > 0:
            return _queue(tx, call, wish, found, waiter)
        if found.me is not None:
            ending.drop_waiter(tx, found.me, "gave_up")
            ending.serve(tx, call, wish["resources"])
        return _refuse(tx, wish, in_the_way, interest=interest)
    if upgrade and found.queue:
        cycle = _cycle_through(tx, wish, found.queue)
        if cycle:
            return _deadlock(tx, wish, cycle)
    return _grant(tx, call, wish, found)


def _queue(tx: Transaction, call: Call, wish: Record, found: _Found, waiter: str) -> Any:
    """Wait in line, unless that would close a cycle."""
    from dibs.operations import waiting

    if found.cut and waiting.waited_for(tx, call.agent, waiter):  # then every one of them counts
        found = _meet(tx, call, wish, waiter, None, patient=False)
    in_the_way = found.holders if _all_mine(found.mine, wish) else found.holders + _before(found)
    return waiting.queue(tx, call, wish, in_the_way, found.me)


def _handed_over(tx: Transaction, wish: Record) -> Record | None:
    """What a waiter was granted while it slept. Found by its agent, without a look at everybody else who waits."""
    for claim in holds.of_agent(tx, holds.CLAIM, wish["agent"], limit=holds.PAGE):
        if claim["pending"] and claim["until"] > tx.now and claim["resources"] == wish["resources"]:
            return claim if claim["mode"] == wish["mode"] and claim["tree"] == wish["tree"] else None
    return None


def _wish(
    tx: Transaction,
    call: Call,
    wanted: Sequence[Sequence[str]],
    mode: str,
    ttl: int | None,
    wait: int,
    reason: str,
    task: str,
    expect: int,
    tree: str,
    by: str,
) -> Record:
    """The request, checked, in the shape of the records that may come of it."""
    if mode not in resources.MODES:
        raise Invalid(f"mode: one of {', '.join(resources.MODES)}, not {mode!r}", field="mode")
    normal = resources.normal(wanted)
    lifetime, life = call.policy.lifetime(normal, ttl)
    if wait:
        check_duration(wait, "wait", most=MAX_WAIT)
    if expect:
        check_duration(expect, "expect")
    return {
        "agent": call.agent, "mode": mode, "tree": tree, "resources": normal, "reason": check_text(reason, "reason"),
        "task": check_text(task, "task"), "expect": expect or 0, "ttl": lifetime, "life": life,
        "fixed": ttl is not None, "by": by, "tied": call.tied, "deadline": tx.now + wait,
        "request": ["claim", call.request] if call.request else None,
    }  # fmt: skip


def _meet(tx: Transaction, call: Call, wish: Record, waiter: str, got: Fetched | None, *, patient: bool) -> _Found:
    """Sort everything that overlaps the wish.

    A patient caller who meets a holder and a long queue will wait, whoever else is there, and does not read on. Whether
    the holder's process is dead is then not its to find out, but of those who are in line before it.
    """
    found = _Found()
    if waiter:
        found.me = next((row[2] for row in tx.scan(1, f"waits\t{call.agent}\t{waiter}", 1).rows), None)
    counting = any(resources.root_glob(resource) for resource in wish["resources"])
    for record in holds.meeting(tx, wish["resources"], wish["tree"], got):
        if counting and any(resources.root_glob(resource) for resource in record["resources"]):
            found.root_globs += 1
        _sort(tx, wish, record, found)
        if patient and found.holders and len(found.queue) >= ENOUGH:
            found.cut = True
            break
    suspects = [] if call.tied else found.mine  # one's own process is seen to be alive, or it is to be looked up
    if not (patient and _before(found)):
        suspects = suspects + found.holders
    if suspects:
        found.gone = gone(tx, call, suspects)
    if counting and wish["resources"] and found.root_globs < ROOT_GLOBS:
        found.root_globs = _root_globs(tx)
    return found


def _sort(tx: Transaction, wish: Record, record: Record, found: _Found) -> None:
    """Where one record that overlaps belongs."""
    if holds.INTEREST in record:
        return
    if record["until"] <= tx.now:
        found.ended.append(record)
    elif holds.WAITER in record:
        if ending.blocks(record, wish["mode"], wish["agent"]):
            found.queue.append(record)
    elif record["agent"] == wish["agent"]:
        found.mine.append(record)
    elif ending.blocks(record, wish["mode"], wish["agent"]):
        found.holders.append(record)
    elif resources.WATCH in {record["mode"], wish["mode"]} and not related(record["agent"], wish["agent"]):
        found.watchers.append(record)


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


def _clear(tx: Transaction, call: Call, found: _Found, wish: Record) -> None:
    """End what is past its end or whose holder is dead; whoever waited for it comes first."""
    freed: list[Any] = []
    for record in found.ended:
        if holds.WAITER in record:
            ending.drop_waiter(tx, record, "lapsed")
        else:
            ending.end(tx, record, "unclaimed" if record["pending"] else "expired")
        freed += record["resources"]
    for claim in found.gone:
        ending.end(tx, claim, "gone")
        freed += claim["resources"]
    ending.serve(tx, call, freed)


def _before(found: _Found) -> list[Record]:
    """The waiters who came first: all of them for a newcomer."""
    if found.me is None:
        return found.queue
    return [record for record in found.queue if record["ticket"] < found.me["ticket"]]


def _covering(mine: list[Record], wish: Record) -> Record | None:
    """One live claim of the agent's own that already gives all that is wished for."""
    for claim in mine:
        if (
            resources.enough(claim["mode"], wish["mode"])
            and (not claim["tree"] or claim["tree"] == wish["tree"])
            and resources.all_covered(wish["resources"], claim["resources"])
        ):
            return claim
    return None


def _all_mine(mine: list[Record], wish: Record) -> bool:
    """Does the agent hold everything already, in whatever mode? Then who waits for it waits for this agent anyway."""
    held = [resource for claim in mine if claim["mode"] != resources.WATCH for resource in claim["resources"]]
    return bool(held) and resources.all_covered(wish["resources"], held)


def _refresh(
    tx: Transaction, call: Call, claim: Record, wish: Record, ttl: int | None, found: _Found
) -> dict[str, Any]:
    """Claiming what one holds: the same token, a new deadline. A hand-over is picked up in the same way."""
    if found.me is not None:
        ending.drop_waiter(tx, found.me, "granted")
    if ttl is not None:
        claim["ttl"], claim["fixed"] = wish["ttl"], True
    claim["tied"] = claim["tied"] or call.tied
    claim["reason"], claim["task"] = wish["reason"] or claim["reason"], wish["task"] or claim["task"]
    until = min(tx.now + claim["ttl"], claim["life"])
    renewed = not claim["pending"]
    if claim["pending"]:
        claim["pending"] = False
        claim["since"] = tx.now
        claim["alert_at"] = tx.now + 2 * claim["expect"] if claim["expect"] else 0
    elif ttl is None:
        until = max(until, claim["until"])
    claim["until"] = until
    holds.put(tx, claim)
    event: dict[str, Any] = {"until": until}
    if not renewed and wish["request"]:
        event["request"] = wish["request"]
    tx.append("claim.renewed", call.agent, claim["claim"], event)
    return _granted(tx, claim, renewed=renewed)


def _grant(tx: Transaction, call: Call, wish: Record, found: _Found) -> dict[str, Any]:
    """Everything is free: take it."""
    for claim in found.mine:  # a weaker claim on the very same resource is taken up into the new one
        if not resources.enough(claim["mode"], wish["mode"]) and claim["tree"] == wish["tree"]:
            upgraded = [r for r in claim["resources"] if any(resources.same(r, w) for w in wish["resources"])]
            if upgraded:
                ending.give_back(tx, claim, upgraded, "upgraded")
    if found.me is not None:
        ending.drop_waiter(tx, found.me, "granted")
    claim = {
        key: wish[key]
        for key in ("agent", "mode", "tree", "resources", "reason", "task", "expect", "ttl", "fixed", "by", "tied")
    }
    claim.update(
        claim=f"c{tx.id()}",
        since=tx.now,
        until=tx.now + wish["ttl"],
        life=tx.now + wish["life"],
        pending=False,
        alert_at=tx.now + 2 * wish["expect"] if wish["expect"] else 0,
    )
    ending.grant(tx, claim, "request", wish["request"])
    answer = _granted(tx, claim)
    if found.watchers:
        from dibs.operations import messages

        answer["watch"] = [holds.blocker(tx, record, wish["resources"]) for record in found.watchers[:SHOWN]]
        for record in found.watchers[:SHOWN]:
            text = f"{call.agent} now has a {wish['mode']} claim on {', '.join(answer['resources'][:3])}."
            messages.post(tx, record["agent"], "dibs", "watch", text, resources=answer["resources"])
    return answer


def _granted(tx: Transaction, claim: Record, **more: Any) -> dict[str, Any]:
    answer = {
        "claim": claim["claim"],
        "token": claim["token"],
        "resources": resources.shown(claim["resources"]),
        "mode": claim["mode"],
        "expires_at": iso(tx, claim["until"]),
        "agent": claim["agent"],
    }
    answer.update(more)
    return answer


def _refuse(tx: Transaction, wish: Record, in_the_way: list[Record], *, interest: bool) -> Any:
    """Say who is in the way; for a caller that cannot wait, remember the wish."""
    if interest:
        from dibs.operations import waiting

        cycle = waiting.find_cycle(tx, wish, in_the_way)
        if cycle:
            return waiting.refuse_cycle(tx, wish, cycle)
        waiting.leave_interest(tx, wish)
    blockers = [holds.blocker(tx, record, wish["resources"]) for record in in_the_way[:SHOWN]]
    tx.append("claim.refused", wish["agent"], _first(wish), _refused(wish, "held", blockers))
    return Held(blockers=blockers, more=max(0, len(in_the_way) - SHOWN))


def _deadlock(tx: Transaction, wish: Record, cycle: list[dict[str, Any]]) -> Deadlock:
    from dibs.operations import waiting

    return waiting.refuse_cycle(tx, wish, cycle)


def _refused(wish: Record, code: str, blockers: list[Any]) -> dict[str, Any]:
    return {
        "code": code, "resources": wish["resources"], "mode": wish["mode"], "tree": wish["tree"], "blockers": blockers,
    }  # fmt: skip


def _first(wish: Record) -> str:
    return resources.shown(wish["resources"])[0]


def _out_of_order(tx: Transaction, call: Call, wish: Record) -> Order | None:
    """With `ordering = "enforce"`: nothing that comes before what one holds already."""
    if call.policy.ordering != "enforce" or wish["mode"] == resources.WATCH:
        return None
    lowest = min(wish["resources"], key=resources.order_of)
    for claim in holds.of_agent(tx, holds.CLAIM, call.agent):
        if claim["until"] <= tx.now or claim["mode"] == resources.WATCH:
            continue
        highest = max(claim["resources"], key=resources.order_of)
        if resources.order_of(highest) > resources.order_of(lowest):
            return Order(held=resources.show(highest), resource=resources.show(lowest))
    return None


def _too_many_globs(wish: Record, found: _Found) -> Quota | None:
    if found.root_globs >= ROOT_GLOBS and any(resources.root_glob(resource) for resource in wish["resources"]):
        return Quota(what="globs that begin with a wildcard in a workspace", limit=ROOT_GLOBS)
    return None


def _root_globs(tx: Transaction) -> int:
    """How many globs beginning with a wildcard are kept, whomever they meet."""
    rows = holds.rows(tx, [("r\t", "r\n")])
    return sum(any(resources.root_glob(resource) for resource in record["resources"]) for record in rows)


def _cycle_through(tx: Transaction, wish: Record, queue: list[Record]) -> list[dict[str, Any]]:
    """Would those who wait for me after this grant be people whom I wait for, elsewhere?"""
    from dibs.operations import waiting

    targets = {record["agent"] for record in queue}
    for wait in holds.of_agent(tx, holds.WAITER, wish["agent"]):
        if wait["until"] > tx.now:
            in_the_way = [
                record
                for record in holds.meeting(tx, wait["resources"], wait["tree"])
                if holds.INTEREST not in record and ending.blocks(record, wait["mode"], wait["agent"])
            ]
            if any(record["agent"] in targets for record in in_the_way):
                return waiting.find_cycle(tx, {**wait, "agent": wish["agent"]}, in_the_way) or [
                    {"agent": wish["agent"], "resource": _first(wait), "holder": in_the_way[0]["agent"], "since": ""}
                ]
    return []


def _claim_ahead(call: Call, resources: Sequence[Sequence[str]], waiter: str = "", **_: Any) -> list[Range]:
    return [] if waiter else _ranges(resources)


def _ranges(wanted: Sequence[Sequence[str]]) -> list[Range]:
    return resources.ranges_of(resources.normal(wanted))


# --- renew


def _renew(tx: Transaction, call: Call, got: Fetched, resources: Sequence[Sequence[str]] = ()) -> Any:
    """New deadlines for what one holds; what was lost meanwhile is refused by name and nothing is renewed."""
    suspects = [  # the process that took them may be dead while the family goes on elsewhere
        claim
        for claim in holds.of_agent(tx, holds.CLAIM, call.agent, family=True)
        if not call.tied or claim["agent"] != call.agent
    ]
    freed: list[Any] = []
    for claim in gone(tx, call, suspects):
        ending.end(tx, claim, "gone")
        freed += claim["resources"]
    ending.serve(tx, call, freed)
    chosen = _held_by(tx, call, resources)
    if not isinstance(chosen, list):
        return chosen
    for claim, _ in chosen:
        claim["tied"] = claim["tied"] or (call.tied and claim["agent"] == call.agent)
    renewed = [renew_one(tx, claim) for claim, _ in chosen]
    return {"renewed": [_granted(tx, claim) for claim in renewed]}


def renew_one(tx: Transaction, claim: Record) -> Record:
    """A full life from now on, but never beyond `life`: after that it is a new claim, behind whoever waits."""
    until = max(claim["until"], min(tx.now + claim["ttl"], claim["life"]))
    claim["pending"] = False
    if until != claim["until"]:
        claim["until"] = until
        tx.append("claim.renewed", claim["agent"], claim["claim"], {"until": until})
    holds.put(tx, claim)
    return claim


def _held_by(tx: Transaction, call: Call, named: Sequence[Sequence[str]], token: int = 0) -> Any:
    """The caller's live claims on the named resources (all without names), as (claim, its resources named).

    The family counts as one here: a CLI call from a subagent's shell carries only the parent's id.
    """
    mine = [c for c in holds.of_agent(tx, holds.CLAIM, call.agent, family=True) if c["until"] > tx.now]
    if not named:
        return [(claim, claim["resources"]) for claim in mine if not token or claim["token"] == token]
    chosen: dict[str, tuple[Record, list[Any]]] = {}
    for wanted in resources.normal(named):
        if wanted[0] == "inode":
            continue
        hits = 0
        for claim in mine:
            if token and claim["token"] != token:
                continue
            for place, resource in enumerate(claim["resources"]):
                if resources.same(resource, wanted):
                    hits += 1
                    picked = chosen.setdefault(claim["claim"], (claim, []))[1]
                    picked.append(resource)
                    following = claim["resources"][place + 1 : place + 2]
                    if following and following[0][0] == "inode":
                        picked.append(following[0])
        if not hits:
            return _not_held(tx, call, wanted, token, mine)
    return list(chosen.values())


def _not_held(tx: Transaction, call: Call, wanted: Sequence[str], token: int, mine: list[Record]) -> Any:
    """Why a resource is not the caller's: somebody else's by now, lost, or never held."""
    name = resources.show(wanted)
    live = _live_holder(tx, wanted)
    lost = [
        record
        for _, record in tx.fetch((), [(f"l\t{call.agent}\t", f"l\t{call.agent}\n")]).rows
        if any(resources.same(resource, wanted) for resource in record["resources"])
    ]
    tx.append("call.refused", call.agent, name, {"code": "fenced" if live or lost or token else "not_found"})
    if live is not None and not within(live["agent"], call.agent):
        return Fenced(
            resource=name, given=token or None, holder=live["agent"], token=live["token"], since=iso(tx, live["since"])
        )
    if lost or token:
        return Fenced(resource=name, given=token or None, holder=None, token=None, since=None)
    held = [text for claim in mine for text in resources.shown(claim["resources"])]
    hint = f"; you hold {', '.join(held[:5])}" if held else "; you hold nothing"
    return NotFound(f"you do not hold {name}{hint}.", resource=name)


def _live_holder(tx: Transaction, wanted: Sequence[str]) -> Record | None:
    for record in holds.meeting(tx, [wanted], ""):
        if holds.CLAIM in record and record["until"] > tx.now and record["mode"] != resources.WATCH:
            return record
    return None


# --- release


def _release(
    tx: Transaction,
    call: Call,
    got: Fetched,
    resources: Sequence[Sequence[str]] = (),
    all: bool = False,
    commit: str = "",
    to: str = "",
    token: int = 0,
) -> Any:
    """Give claims back, or hand them over; whoever waits gets them in the same transaction."""
    if not resources and not all:
        raise Invalid("name what to release, or say --all", field="resources")
    if resources and all:
        raise Invalid("either name what to release, or say --all", field="all")
    check_text(commit, "commit")
    chosen = _held_by(tx, call, resources, token)
    if not isinstance(chosen, list):
        return chosen
    if to:
        return _hand_to(tx, call, chosen, to, commit)
    freed: list[Any] = []
    request = ["release", call.request] if call.request else None
    for claim, released in chosen:
        ending.give_back(tx, claim, released, "released", commit=commit, request=request)
        freed += released
    ending.serve(tx, call, freed)
    return {"released": _shown(freed)}


def _shown(freed: list[Any]) -> list[str]:
    return resources.shown(freed)


def _hand_to(tx: Transaction, call: Call, chosen: list[Any], to: str, commit: str) -> Any:
    """Pass claims to another agent under a new token. The holder's wish goes before the queue."""
    from dibs.operations import messages

    check_agent_id(to)
    keys = [f"a\t{ancestor}" for ancestor in lineage_of(to)]
    known = tx.fetch(keys).values
    if known[keys[-1]] is None:
        raise NotFound(f"no agent {to} is known here; it must have called once", agent=to)
    for record in known.values():
        if record is not None and record["killed"]:
            return Killed(agent=record["agent"], why=record["killed"]["why"])
    handed: list[dict[str, Any]] = []
    freed: list[Any] = []
    for claim, released in chosen:
        given = {**claim, "resources": [*released]}
        ending.give_back(tx, claim, released, "handover", commit=commit, to=to)
        rest = []
        for record in list(holds.meeting(tx, released, claim["tree"])):
            if holds.CLAIM in record and ending.blocks(record, claim["mode"], to):
                if record["until"] > tx.now:
                    rest.append(record)
                else:
                    ending.end(tx, record, "unclaimed" if record["pending"] else "expired")
        if rest:  # someone of the holder's own family holds it too
            raise Held(blockers=[holds.blocker(tx, record, released) for record in rest[:SHOWN]], more=0)
        given.update(
            agent=to, claim=f"c{tx.id()}", since=tx.now, until=tx.now + claim["ttl"], pending=False, tied=False
        )
        given["life"] = tx.now + call.policy.lifetime(released, None)[1]
        given["until"] = min(given["until"], given["life"])
        _refuse_closing(tx, given)
        ending.grant(tx, given, "handover")
        handed.append(_granted(tx, given))
        freed += released
    names = resources.shown(freed)
    text = f"{call.agent} handed {', '.join(names[:5])} over to you."
    messages.post(tx, to, call.agent, "handover", text, resources=names)
    return {"released": names, "to": to, "claims": handed}


def _refuse_closing(tx: Transaction, given: Record) -> None:
    """A hand-over past the queue must not close a cycle: those who wait would then wait for the new holder."""
    from dibs.operations import waiting

    for record in list(holds.meeting(tx, given["resources"], given["tree"])):
        if holds.WAITER in record and record["until"] > tx.now and ending.blocks(record, given["mode"], given["agent"]):
            cycle = waiting.find_cycle(tx, record, [given])
            if cycle:
                raise Deadlock(cycle=cycle)


# --- confirm and ask


def _confirm(tx: Transaction, call: Call, resource: Sequence[str], token: int) -> dict[str, Any]:
    """Is this token still live for this resource?"""
    wanted = resources.normal([resource])[0]
    other: Record | None = None
    for record in holds.meeting(tx, [wanted], ""):
        if holds.CLAIM not in record or record["until"] <= tx.now:
            continue
        if record["token"] == token and resources.all_covered([wanted], record["resources"]):
            return {"holder": record["agent"], "token": token, "expires_at": iso(tx, record["until"])}
        if other is None and record["mode"] != resources.WATCH:
            other = record
    raise Fenced(
        resource=resources.show(wanted),
        given=token,
        holder=other["agent"] if other else None,
        token=other["token"] if other else None,
        since=iso(tx, other["since"]) if other else None,
    )


def _ask(tx: Transaction, call: Call, got: Fetched, resource: Sequence[str], text: str) -> dict[str, Any]:
    """Send every holder of a resource a request to release it."""
    from dibs.operations import messages

    wanted = resources.normal([resource])[0]
    words = check_text(text, "text")
    if not words:
        raise Invalid("say why you need it", field="text")
    name = resources.show(wanted)
    asked = [
        record["agent"]
        for record in holds.meeting(tx, [wanted], "", got)
        if holds.CLAIM in record and record["until"] > tx.now and not within(record["agent"], call.agent)
    ]
    if not asked:
        raise NotFound(f"nobody else holds {name}; claim it.", resource=name)
    message = ""
    for holder in sorted(set(asked)):
        tx.append("claim.asked", call.agent, holder, {"resource": name, "text": words})
        message = messages.post(tx, holder, call.agent, "ask", words, resource=name)
    return {"message": message, "to": sorted(set(asked)), "resource": name}


def _ask_ahead(call: Call, resource: Sequence[str], **_: Any) -> list[Range]:
    return _ranges([resource])


_RESOURCES = "files, directories, globs, or names such as db:migrations"

OPERATIONS = (
    Operation(
        "claim",
        _claim,
        "Claim resources, all of them or none.",
        fields=(
            Field("resources", "resources", _RESOURCES, positional=True, required=True, metavar="RES"),
            Field("mode", "choice", "write excludes all, read excludes writers, watch excludes nobody", default="write",
                  choices=resources.MODES),
            Field("ttl", "duration", "how long it lasts without renewal (default 30m, or the config's)", metavar="D"),
            Field("wait", "duration", "wait that long in the queue if it is not free", default=0, metavar="D"),
            Field("reason", "text", "what for; others see it", default="", metavar="TEXT"),
            Field("task", "text", "the task it serves", default="", metavar="ID"),
            Field("expect", "duration", "how long you expect to need it; twice that raises an alert", default=0,
                  metavar="D"),
            Field("tree", "text", "confine it to one working tree", default="", hidden=True),
            Field("by", "text", "hand, or the guard that makes it", default="hand", hidden=True),
            Field("interest", "flag", "if refused, leave a wish to be told", default=False, hidden=True),
            Field("waiter", "text", "the place in the queue held already", default="", hidden=True),
            Field("wake", "text", "the name under which the waiting process listens", default="", hidden=True),
        ),
        errors=(Held, Deadlock, Order, Quota, Fenced, Killed, Invalid),
        json="claim, token, resources[], mode, expires_at; refused: error.blockers[]",
        takes=True,
        ahead=_claim_ahead,
    ),
    Operation(
        "renew",
        _renew,
        "Give what you hold a new deadline.",
        fields=(
            Field("resources", "resources", "only these (default: all you hold)", positional=True, default=(),
                  metavar="RES"),
        ),
        errors=(Fenced, NotFound, Killed),
        json="renewed[]",
    ),
    Operation(
        "release",
        _release,
        "Give claims back, or hand them over to another agent.",
        fields=(
            Field("resources", "resources", "what to release", positional=True, default=(), metavar="RES"),
            Field("all", "flag", "everything you hold", default=False),
            Field("commit", "text", "the commit that the work led to", default="", metavar="SHA"),
            Field("to", "agent", "hand over to this agent instead", default="", metavar="AGENT"),
            Field("token", "integer", "only if this token is still live", default=0, metavar="N"),
        ),
        errors=(Fenced, NotFound, Held, Deadlock, Killed, Invalid),
        json="released[]",
    ),
    Operation(
        "confirm",
        _confirm,
        "Ask whether a token is still live for a resource.",
        fields=(
            Field("resource", "resource", "the resource", positional=True, required=True, metavar="RES"),
            Field("token", "integer", "the token", required=True, metavar="N"),
        ),
        errors=(Fenced,),
        json="holder, token",
        writes=False,
    ),
    Operation(
        "ask",
        _ask,
        "Ask whoever holds a resource to release it.",
        fields=(
            Field("resource", "resource", "the resource", positional=True, required=True, metavar="RES"),
            Field("text", "text", "why you need it", positional=True, required=True, metavar="TEXT"),
        ),
        errors=(NotFound, Invalid),
        json="message",
        ahead=_ask_ahead,
    ),
)  # fmt: skip
