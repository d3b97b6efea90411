"""Alerts about claims: when a long hold, a long wait, a deadlock or an expired claim is one, and when that is over.

For each kind one function judges a suspicion: what the alert says, or None. The other says why the cause of an alert is
gone, "" while it stands. They only read.
"""

from __future__ import annotations

from dibs.errors import asking, counted, quoted
from dibs.operations.agents.records import get_agent
from dibs.operations.alerts.audience import FEW, few, name_of
from dibs.operations.alerts.records import ERROR, INFO, WARNING, get_alert
from dibs.operations.claims import endings, resources
from dibs.operations.claims import records as claim_records
from dibs.operations.core.call import process_name, span

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.operations.agents.records import Agent
    from dibs.operations.alerts.records import (
        Alert,
        Cause,
        DeadlockFacts,
        DelayFacts,
        ExpiryFacts,
        Facts,
        Finding,
        Suspicion,
        WaitFacts,
    )
    from dibs.operations.claims.records import Claim, Waiter
    from dibs.operations.core.call import Call
    from dibs.stores.seam import Json, Transaction

RECENT_MS = 120_000  # twice the interval at which an agent's activity is recorded: it is at work
MAX_EXPIRED = 200  # claims and resources that one alert names; the latest
MAX_PLACES = 64  # of an agent in queues: further ones are not looked at


def _live_claim(tx: Transaction, agent: str, claim: str) -> Claim | None:
    """A live claim by its id; under another agent it is another hold."""
    record = claim_records.get_claim(tx, agent, claim)
    return record if record is not None and record["claim"] == claim and record["until"] > tx.now else None


def _live_place(tx: Transaction, agent: str, waiter: str) -> Waiter | None:
    record = claim_records.get_waiter(tx, agent, waiter)
    return record if record is not None and record["waiter"] == waiter and record["until"] > tx.now else None


# --- hold


def hold(tx: Transaction, call: Call, suspicion: Suspicion[DelayFacts]) -> Finding[Facts] | None:
    """A claim is held for too long."""
    facts, agent = suspicion["facts"], suspicion["agent"]
    if _live_claim(tx, agent, suspicion["subject"]) is None:
        return None
    actual, names = tx.now - suspicion["since"], facts["resources"]
    text = f"{name_of(tx, agent)} has held {few(names)} for more than twice the expected {span(facts['expected'])}."
    return {
        "severity": INFO, "text": text, "remedy": asking(names[0], "how much longer?"), "tell": [agent],
        "resources": names, "expected": facts["expected"], "actual": actual, "facts": {},
    }  # fmt: skip


def hold_gone(tx: Transaction, call: Call, alert: Alert[Facts]) -> str:
    """The claim ended."""
    return "" if _live_claim(tx, alert["agent"], alert["subject"]) is not None else "the claim ended"


def hold_releasable(alert: Alert[Facts], agent: str) -> list[str]:
    """The holder can release it."""
    return alert["resources"] if agent == alert["agent"] else []


# --- wait


def wait(tx: Transaction, call: Call, suspicion: Suspicion[DelayFacts]) -> Finding[WaitFacts] | None:
    """An agent waits for too long."""
    facts, agent = suspicion["facts"], suspicion["agent"]
    place = _live_place(tx, agent, suspicion["subject"])
    if place is None:
        return None
    actual, names = tx.now - suspicion["since"], facts["resources"]
    holders = list(dict.fromkeys(record["agent"] for record in _in_the_way(tx, place)))
    held = f", which {few([name_of(tx, holder) for holder in holders])} holds" if holders else ""
    text = (
        f"{name_of(tx, agent)} has waited for {few(names)}{held}, for more than twice the expected "
        f"{span(facts['expected'])}."
    )
    return {
        "severity": WARNING, "text": text, "remedy": asking(names[0], "please release it"),
        "tell": [agent, *holders], "resources": names, "expected": facts["expected"], "actual": actual,
        "facts": {"holders": holders},
    }  # fmt: skip


def _in_the_way(tx: Transaction, place: Waiter) -> list[Claim]:
    """The live claims that a waiter waits for."""
    return [
        claim
        for claim in claim_records.overlapping_claims(tx, place["resources"], place["tree"])
        if claim["until"] > tx.now and endings.blocks(claim, place["mode"], place["agent"])
    ]


def wait_gone(tx: Transaction, call: Call, alert: Alert[WaitFacts]) -> str:
    """The wait ended; one that was asked for again has the same turn under a new id."""
    if _live_place(tx, alert["agent"], alert["subject"]) is not None:
        return ""
    places = claim_records.waiters_of(tx, alert["agent"], limit=MAX_PLACES)
    same = any(place["since"] == alert["since"] for place in places if place["until"] > tx.now)
    return "" if same else "the wait ended"


def wait_releasable(alert: Alert[WaitFacts], agent: str) -> list[str]:
    """The holders can release it."""
    return alert["resources"] if agent in alert["facts"]["holders"] else []


# --- deadlock


def deadlock(tx: Transaction, call: Call, suspicion: Suspicion[DeadlockFacts]) -> Finding[DeadlockFacts] | None:
    """A request was refused because it would have closed a cycle."""
    cycle = suspicion["facts"]["cycle"]
    agents = list(dict.fromkeys(step["agent"] for step in cycle))
    steps = "; ".join(
        f"{name_of(tx, step['agent'])} wants {step['resource']}, held by {name_of(tx, step['holder'])}"
        for step in cycle
    )
    text = f"deadlock prevented: {name_of(tx, suspicion['agent'])}'s request was refused ({steps})."
    wanted = cycle[0]["resource"]
    return {
        "severity": ERROR, "text": text, "remedy": asking(wanted, "please release it: deadlock"),
        "tell": agents, "resources": [step["resource"] for step in cycle], "facts": {"cycle": cycle},
    }  # fmt: skip


def deadlock_gone(tx: Transaction, call: Call, alert: Alert[DeadlockFacts]) -> str:
    """The refused agent's edge was never there; the cycle opens when one of the other edges goes."""
    first, *rest = alert["facts"]["cycle"]
    for step in rest:
        places = claim_records.waiters_of(tx, step["agent"], limit=MAX_PLACES)
        if not any(place["until"] > tx.now for place in places):
            return f"{name_of(tx, step['agent'])} no longer waits"
    for step in (first, *rest):
        held = [claim for claim in claim_records.claims_of(tx, step["holder"]) if claim["until"] > tx.now]
        queued = claim_records.waiters_of(tx, step["holder"], limit=MAX_PLACES)
        if not held and not queued:
            return f"{name_of(tx, step['holder'])} holds nothing any more"
        if step is first and not any(
            step["resource"] in resources.shown(record["resources"]) for record in (*held, *queued)
        ):
            return f"{name_of(tx, step['holder'])} released {step['resource']}"
    return ""


def deadlock_releasable(alert: Alert[DeadlockFacts], agent: str) -> list[str]:
    """Each agent of the cycle can release what the one before it wants."""
    return [step["resource"] for step in alert["facts"]["cycle"] if step["holder"] == agent]


# --- expired


def expired(tx: Transaction, call: Call, suspicion: Suspicion[ExpiryFacts]) -> Finding[ExpiryFacts] | None:
    """Is the holder alive? A process that cannot be seen from here counts as alive if its agent acted lately."""
    agent = present(get_agent(tx, suspicion["agent"]))
    if agent is None or expired_gone(tx, call, suspicion):
        return None
    alive = call.alive(agent["process"])
    if alive is False or (alive is None and tx.now - agent["seen"] > RECENT_MS):
        return None
    facts = _with_earlier(tx, suspicion)
    names = list(dict.fromkeys(resources.shown(facts["held"])))
    name, count = name_of(tx, suspicion["agent"]), len(_claims_of(suspicion, facts))
    text = f"{name}: {counted(count, 'claim')} expired while it was still running ({few(names)})."
    return {
        "severity": INFO, "text": text, "tell": [suspicion["agent"]],
        "remedy": f"dibs claim {' '.join(map(quoted, names[:FEW]))} --as {quoted(name)}",
        "resources": names, "facts": facts,
    }  # fmt: skip


def _with_earlier(tx: Transaction, suspicion: Suspicion[ExpiryFacts]) -> ExpiryFacts:
    """What expired now, after what the agent's alert has already."""
    known: Json = get_alert(tx, "expired", suspicion["subject"])
    before: ExpiryFacts = known["facts"] if known is not None else {"held": [], "claims": []}
    now = suspicion["facts"]
    return {
        "held": [*before["held"], *now["held"]][-MAX_EXPIRED:],
        "claims": [*before.get("claims", ()), *_claims_of(suspicion, now)][-MAX_EXPIRED:],
    }


def _claims_of(cause: Cause[ExpiryFacts], facts: ExpiryFacts) -> list[str]:
    """The ids of the expired claims; in earlier versions each had an alert of its own."""
    return facts.get("claims") or [cause["subject"]]


def expired_gone(tx: Transaction, call: Call, cause: Cause[ExpiryFacts]) -> str:
    """The holder has it again, settled the loss, or is gone."""
    agent = present(get_agent(tx, cause["agent"]))
    if agent is None or is_dead(call, agent):
        return "the agent is gone"
    losses = [claim_records.get_loss(tx, cause["agent"], claim) for claim in _claims_of(cause, cause["facts"])]
    if all(loss is None or loss.get("settled") for loss in losses):
        return "the loss is settled"
    held = [claim for claim in claim_records.claims_of(tx, cause["agent"]) if claim["until"] > tx.now]
    mine = [resource for claim in held for resource in claim["resources"]]
    return "the agent holds it again" if mine and resources.all_covered(cause["facts"]["held"], mine) else ""


# --- the agent


def present(agent: Agent | None) -> Agent | None:
    """The agent, if it has neither left nor been killed."""
    return agent if agent is not None and not agent["left"] and not agent["killed"] else None


def is_dead(call: Call, agent: Agent) -> bool:
    """Is its process known to be gone?"""
    return agent["process"] is not None and call.facts.get(process_name(agent["process"])) is False
