"""Alerts about agents: when a dead or silent agent, old rules or an open breaker is one, and when that is over.

claim_causes.py says what the functions are.
"""

from __future__ import annotations

from dibs.errors import quoted
from dibs.operations.agents.records import get_agent
from dibs.operations.alerts.audience import coordinators, few, name_of
from dibs.operations.alerts.claim_causes import is_dead, present
from dibs.operations.alerts.records import ERROR, INFO, WARNING
from dibs.operations.claims import endings, resources
from dibs.operations.claims import records as claim_records
from dibs.operations.core.call import process_name, related, span

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.operations.alerts.records import (
        Alert,
        Cause,
        DeadFacts,
        DeathFacts,
        Facts,
        Finding,
        SilenceFacts,
        SilentFacts,
        Suspicion,
    )
    from dibs.operations.core.call import Call
    from dibs.stores.seam import Transaction

MAX_CLAIMS = 64  # of an agent: whether others want further ones is not looked at


# --- dead


def dead(tx: Transaction, call: Call, suspicion: Suspicion[DeathFacts]) -> Finding[DeadFacts] | None:
    """An agent's process is gone, and it held something or another agent coordinates it."""
    facts, agent = suspicion["facts"], suspicion["agent"]
    held, kept = resources.shown(facts["held"]), resources.shown(facts.get("kept", ()))
    if not held and not kept and not coordinators(tx, call, agent, persons=False):
        return None  # no agent depends on it
    what = f" It held {few(held)}: released." if held else ""
    if kept:  # a claim that was made by hand, by no process of its own, ends by its deadline
        what += f" It {'also ' if held else ''}holds {few(kept)} until the deadline: not tied to that process."
    text = f"agent {name_of(tx, agent)} (pid {facts['pid']}) exited without signing off.{what}"
    remedy = " && ".join(  # by their tokens: not from the next holder
        f"dibs release {' '.join(map(quoted, names))} --force --why 'its agent is dead' --token {token}"
        for token, names in facts.get("left", ())
    )
    return {
        "severity": ERROR if held or kept else WARNING, "text": text,
        "remedy": remedy or f"dibs log --agent {quoted(name_of(tx, agent))} --limit 20", "resources": [*held, *kept],
        "facts": {"dead": agent, "pid": facts["pid"], "process": facts["process"]},
    }  # fmt: skip


def dead_gone(tx: Transaction, call: Call, alert: Alert[DeadFacts]) -> str:
    """The agent is back, or ended in order after all."""
    agent = get_agent(tx, alert["agent"])
    if agent is None:
        return "the agent was forgotten"
    if agent["killed"] or agent["left"]:
        return "the agent was killed" if agent["killed"] else "the agent left"
    now = agent["process"]
    return "" if now is not None and process_name(now) == alert["facts"]["process"] else "the agent is back"


# --- silent


def silent(tx: Transaction, call: Call, suspicion: Suspicion[SilenceFacts]) -> Finding[SilentFacts] | None:
    """An agent is alive, gave no sign for long, and holds what others want."""
    facts, agent = suspicion["facts"], suspicion["agent"]
    silence, limit = tx.now - suspicion["since"], call.policy.work["alerts"]["silent"]
    text = (
        f"{name_of(tx, agent)} (pid {facts['pid']}) is alive and gave no sign for more than {span(limit)}; it holds "
        f"{few(facts['resources'])}, which {few([name_of(tx, other) for other in facts['wanted_by']])} wants."
    )
    remedy = f"dibs release {quoted(facts['resources'][0])} --force --why 'its agent is silent'"
    return {
        "severity": ERROR, "text": text, "remedy": remedy, "tell": [agent, *facts["wanted_by"]],
        "resources": facts["resources"], "expected": limit, "actual": silence, "facts": {"pid": facts["pid"]},
    }  # fmt: skip


def silent_gone(tx: Transaction, call: Call, alert: Alert[SilentFacts]) -> str:
    """It gave a sign, ended, or nobody wants what it holds."""
    agent = present(get_agent(tx, alert["agent"]))
    if agent is None or agent["process"] is None or is_dead(call, agent):
        return "the agent is gone"
    if agent["seen"] > alert["since"]:
        return "the agent gave a sign of life"
    return "" if wanted_of(tx, alert["agent"]) else "nobody wants what it holds"


def wanted_of(tx: Transaction, agent: str) -> list[tuple[str, str]]:
    """What others want of what an agent holds, as (resource, agent that wants it)."""
    wanted = []
    for claim in claim_records.claims_of(tx, agent, limit=MAX_CLAIMS):
        if claim["until"] <= tx.now:
            continue
        for record in claim_records.overlapping(tx, claim["resources"], claim["tree"]):
            if claim_records.is_claim(record) or record["until"] <= tx.now or related(record["agent"], agent):
                continue
            if endings.blocks(claim, record["mode"], record["agent"]):
                overlap = resources.any_overlap(claim["resources"], record["resources"])
                wanted.append((resources.show(overlap or claim["resources"][0]), record["agent"]))
    return wanted


# --- rules


def rules(tx: Transaction, call: Call, suspicion: Suspicion[Facts]) -> Finding[Facts] | None:
    """An agent was active after the rules changed, and was not told."""
    agent = suspicion["agent"]
    text = f"{name_of(tx, agent)} works by old rules: it has been active and was not told the current ones."
    remedy = f"dibs send {quoted(name_of(tx, agent))} 'the rules changed: dibs rules --ack'"
    return {"severity": INFO, "text": text, "remedy": remedy, "tell": [agent], "facts": {}}


def rules_gone(tx: Transaction, call: Call, alert: Alert[Facts]) -> str:
    """It was told, or is gone."""
    agent = present(get_agent(tx, alert["agent"]))
    if agent is None or is_dead(call, agent):
        return "the agent is gone"
    return "the agent was told the rules" if not call.rules or agent.get("rules") == call.rules else ""


# --- an open breaker


def breaker(tx: Transaction, call: Call, suspicion: Suspicion[Facts]) -> Finding[Facts] | None:
    """An agent failed several tasks in a row."""
    if breaker_gone(tx, call, suspicion):
        return None
    agent = suspicion["agent"]
    text = f"{name_of(tx, agent)} failed several tasks in a row and gets no work for now."
    remedy = f"dibs log --agent {quoted(name_of(tx, agent))} --kind task. --limit 20"
    return {"severity": WARNING, "text": text, "remedy": remedy, "tell": [agent], "facts": {}}


def breaker_gone(tx: Transaction, call: Call, cause: Cause[Facts]) -> str:
    """It gets work again, or is gone."""
    from dibs.operations.tasks import workforce

    agent = present(get_agent(tx, cause["agent"]))
    if agent is None:
        return "the agent is gone"
    return "the breaker is closed" if workforce.breaker(tx, call, agent)[0] == "closed" else ""
