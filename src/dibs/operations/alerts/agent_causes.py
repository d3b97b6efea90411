"""Alerts about agents: when a dead or silent agent, old rules or an open breaker is one, and when that is over.

claim_causes.py says what the functions are.
"""

from __future__ import annotations

from dibs.errors import quoted, taking_away
from dibs.operations.agents.records import get_agent
from dibs.operations.alerts.audience import coordinators, few, name_of
from dibs.operations.alerts.claim_causes import is_dead, present
from dibs.operations.alerts.records import ERROR, INFO, WARNING
from dibs.operations.claims import contention, endings, resources
from dibs.operations.claims import records as claim_records
from dibs.operations.core.call import MINUTE_MS, in_words, process_name, related, span

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
        UnfinishedFacts,
    )
    from dibs.operations.claims.answers import AlertAction
    from dibs.operations.core.call import Call
    from dibs.stores.seam import Transaction

TASK = "task:"  # before the name of a task's claim
EXITED = "exited without signing off"
MAX_CLAIMS = 64  # of an agent: whether others want further ones is not looked at


# --- dead


def dead(tx: Transaction, call: Call, suspicion: Suspicion[DeathFacts]) -> Finding[DeadFacts] | None:
    """An agent's process is gone, and it held something or another agent coordinates it."""
    facts, agent = suspicion["facts"], suspicion["agent"]
    record = get_agent(tx, agent)
    if record is not None and record.get("handed") == facts["process"]:
        return None  # another agent has its work
    held, kept = resources.shown(facts["held"]), resources.shown(facts.get("kept", ()))
    if not held and not kept and not coordinators(tx, call, agent, persons=False):
        return None  # no agent depends on it
    name = name_of(tx, agent)
    tasks = [text.removeprefix(TASK) for text in held if text.startswith(TASK)]
    freed = [text for text in held if not text.startswith(TASK)]
    parts = [f"{name} {EXITED}.", *_back(tx, tasks)]
    parts += [f"Released: {few(freed)}."] if freed else []
    if kept:  # a claim that was made by hand, by no process of its own, ends by its deadline
        parts.append(f"It still holds {few(kept)} until the deadline: not tied to its process.")
    remedy = " && ".join(  # by their tokens: not from the next holder
        taking_away(names, "its agent is dead", token) for token, names in facts.get("left", ())
    )
    return {
        "severity": ERROR if held or kept else WARNING, "text": " ".join(parts),
        "remedy": remedy or f"dibs diff {quoted(name)}", "resources": [*held, *kept],
        "facts": {"dead": agent, "pid": facts["pid"], "process": facts["process"]},
    }  # fmt: skip


def _back(tx: Transaction, tasks: list[str]) -> list[str]:
    """What became of its tasks."""
    from dibs.operations.tasks.records import get_task

    found = [(task, record["state"]) for task in tasks for record in [get_task(tx, task)] if record is not None]
    queued = [task for task, state in found if state == "planned"]
    said = [f"Task {task} is {state}." for task, state in found if state not in {"planned", "executing"}]
    if len(queued) == 1:
        said.insert(0, f"Task {queued[0]} is back in the queue.")
    elif queued:
        said.insert(0, f"Tasks {few(queued)} are back in the queue.")
    return said


def dead_text(tx: Transaction, alert: Alert[DeadFacts]) -> str:
    """With how long ago that was noticed."""
    ago = tx.now - alert["raised"]
    since = f"{in_words(ago)} ago" if ago >= MINUTE_MS else "just now"
    return alert["text"].replace(EXITED, f"exited {since} without signing off", 1)


def dead_actions(tx: Transaction, alert: Alert[DeadFacts]) -> list[AlertAction]:
    """Look at its work, pass it on, undo it, or leave it. To kill it would say nothing that is not so already."""
    name = quoted(name_of(tx, alert["agent"]))
    return [
        {"act": "diff", "label": "Show diff", "command": f"dibs diff {name}"},
        {"act": "handover", "label": "Hand to …", "command": f"dibs handover {name} --to NEXT"},
        {"act": "undo", "label": "Undo …", "command": f"dibs undo {name}"},
        {"act": "dismiss", "label": "Dismiss", "command": f"dibs alerts ack {quoted(alert['alert'])}"},
    ]


def dead_gone(tx: Transaction, call: Call, alert: Alert[DeadFacts]) -> str:
    """The agent is back, or ended in order after all."""
    agent = get_agent(tx, alert["agent"])
    if agent is None:
        return "the agent was forgotten"
    if agent["killed"] or agent["left"]:
        return "the agent was killed" if agent["killed"] else "the agent left"
    if agent.get("handed") == alert["facts"]["process"]:
        return "its work was handed over"
    now = agent["process"]
    return "" if now is not None and process_name(now) == alert["facts"]["process"] else "the agent is back"


# --- silent


def silent(tx: Transaction, call: Call, suspicion: Suspicion[SilenceFacts]) -> Finding[SilentFacts] | None:
    """An agent is alive, gave no sign for long, and holds what others want."""
    facts, agent = suspicion["facts"], suspicion["agent"]
    silence, limit = tx.now - suspicion["since"], call.policy.work["alerts"]["silent"]
    record = get_agent(tx, agent)
    idle = record is not None and "rested" in record
    how = "is idle" if idle else "is stalled" if record is not None and "stalled" in record else "is alive"
    text = (
        f"{name_of(tx, agent)} (pid {facts['pid']}) {how} and gave no sign for more than {span(limit)}; it holds "
        f"{few(facts['resources'])}, which {few([name_of(tx, other) for other in facts['wanted_by']])} wants."
    )
    remedy = taking_away(facts["resources"][:1], "its agent is silent")
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


# --- waits for a person


def asks(tx: Transaction, call: Call, suspicion: Suspicion[SilenceFacts]) -> Finding[SilentFacts] | None:
    """An agent waits for a person, and others wait for what it holds."""
    facts, agent = suspicion["facts"], get_agent(tx, suspicion["agent"])
    if agent is None or "waits" not in agent:
        return None
    what = f" ({agent['waits']['what']})" if agent["waits"]["what"] else ""
    text = (
        f"{name_of(tx, agent['agent'])} waits for a person{what} and holds {few(facts['resources'])}, which "
        f"{few([name_of(tx, other) for other in facts['wanted_by']])} wants: answer it in its own window."
    )
    remedy = f"dibs release {quoted(facts['resources'][0])} --force --why 'its agent waits for a person'"
    return {
        "severity": ERROR, "text": text, "remedy": remedy, "resources": facts["resources"],
        "facts": {"pid": facts["pid"]},
    }  # fmt: skip


def asks_gone(tx: Transaction, call: Call, alert: Alert[SilentFacts]) -> str:
    """It was answered, or ended; or nobody wants what it holds."""
    agent = present(get_agent(tx, alert["agent"]))
    if agent is None or is_dead(call, agent):
        return "the agent is gone"
    if "waits" not in agent:
        return "it was answered"
    return "" if wanted_of(tx, alert["agent"]) else "nobody wants what it holds"


# --- unfinished


def unfinished(tx: Transaction, call: Call, suspicion: Suspicion[UnfinishedFacts]) -> Finding[UnfinishedFacts] | None:
    """A turn ended with unfinished work, although its agent was sent back."""
    facts, agent = suspicion["facts"], suspicion["agent"]
    name = name_of(tx, agent)
    text = f"{name} ended its turn although it was told {facts['sent']} times: {'; '.join(facts['missing'])}."
    return {"severity": INFO, "text": text, "remedy": f"dibs diff {quoted(name)}", "facts": facts}


def unfinished_gone(tx: Transaction, call: Call, alert: Alert[UnfinishedFacts]) -> str:
    """Its next turn began. One that left, or whose process exited, leaves the work unfinished all the same."""
    agent = get_agent(tx, alert["agent"])
    if agent is None:
        return "the agent was forgotten"
    return "" if "gate" in agent else "another turn of it began"


def wanted_of(tx: Transaction, agent: str) -> list[tuple[str, str]]:
    """What others want of what an agent holds, as (resource, agent that wants it)."""
    wanted = []
    for claim in claim_records.claims_of(tx, agent, limit=MAX_CLAIMS):
        if not contention.is_counted(tx, claim):
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
