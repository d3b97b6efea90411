"""The kinds of alert: when each is raised, whom it is told to, what to do about it, and when its cause is gone.

| kind | raised when | severity | cleared when |
| --- | --- | --- | --- |
| hold | a claim is held beyond twice its expected time | warning | the claim ended |
| wait | an agent waits beyond twice the expected time | warning | the wait ended |
| deadlock | a request was refused because it would have closed a cycle | error | one of the others' waits ended, or what the refused agent wanted is free of the others |
| expired | a claim expired while its holder is alive | warning | the holder has it again, settled the loss, or is gone |
| dead | an agent's process is gone, and it held something or another agent coordinates it | error, warning if it held nothing | the agent booted again, left, was killed or forgotten |
| silent | an agent is alive, gave no sign for `[alerts] silent`, and holds what others wait for | error | it gave a sign, ended, or nobody wants it any more |
| violation | a file was changed although another agent held it | error, warning if the actor is not certain | the path is settled: restored, accepted, edited |
| bypass | a commit or a push bypassed the guards | error if it is a push or has files that others held, else warning | a day after it was acknowledged |
| removed | a working tree was removed with unfinished work in it | error | all of it was restored; else a day after it was acknowledged |
| deploy_stale | a deploy ended that was not compared with the remote (`--unsynced`) | warning | a later deploy of the target was compared and is good |
| deploy_unverified | a deploy ended unverified, interrupted, or without its claim | error, warning if nothing was to be checked | a later deploy of the target is good |
| poison | a task failed too often and is quarantined | error | the task is in another state, or gone |
| breaker | an agent failed several tasks in a row and gets no work | warning | the breaker is closed |
| store | the store lost commits, was replaced, fell back to SQLite, or warns | error, warning for a warning | the fallback or the warning ended; else a day after it was acknowledged |
| rules | an agent was active for `[alerts] rules` after the rules changed, and was not told | warning | it was told, or is gone |

A kind that nothing observes for certain (bypass, removed, dead, a store's lost commits) also clears a day after it was acknowledged. An alert that is
never acknowledged clears after `[alerts] keep`.

`look_into` makes an alert of a suspicion, or drops it. `gone` says why the cause of an alert is gone, "" while it
stands. Both only read, but for what `records.py` writes.
"""  # noqa: E501 - a table

from __future__ import annotations

from dibs.errors import quoted
from dibs.operations.agents.records import get_agent
from dibs.operations.alerts import records
from dibs.operations.alerts.records import ERROR, WARNING, name_of
from dibs.operations.claims import endings, resources
from dibs.operations.claims import records as claim_records
from dibs.operations.core.call import process_name, related, span

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from dibs.operations.agents.records import Agent
    from dibs.operations.claims.records import Claim, Waiter
    from dibs.operations.core.call import Call, Record
    from dibs.stores.seam import Transaction

    Judged = dict[str, Any] | None  # what `records.raise_` gets; None: no alert

RECENT_MS = 120_000  # twice the interval at which an agent's activity is recorded: it is at work
SETTLED_MS = 86_400_000  # after it was acknowledged, an alert without an observable cause is cleared
FEW = 3  # names in a sentence


def look_into(tx: Transaction, call: Call, key: str, suspicion: Record) -> bool:
    """Raise an alert for a suspicion, or count it, or drop it; returns whether an alert was raised."""
    tx.delete(key)
    kind = suspicion["suspicion"]
    judged = _KINDS[kind][0](tx, call, suspicion)
    if judged is None:
        return False
    known = tx.get(records.key_of(kind, suspicion["subject"]))
    if known is not None:
        why = gone(tx, call, known)
        if not why:
            records.repeat(tx, known, suspicion["commits"])
            return False
        records.clear(tx, call, known, why)
    return bool(records.raise_(tx, call, suspicion, **judged))


def gone(tx: Transaction, call: Call, alert: Record) -> str:
    """Why the cause of an alert is gone; "" while it stands."""
    why = _KINDS[alert["kind"]][1](tx, call, alert)
    if why:
        return why
    if alert["acknowledged"] and alert["kind"] in UNOBSERVED and not _observed(alert):
        return "it was acknowledged a day ago" if tx.now - alert["acknowledged"]["at"] >= SETTLED_MS else ""
    if not alert["acknowledged"] and tx.now - alert["last"] >= call.policy.work["alerts"]["keep"]:
        return "nobody acknowledged it, and it is old"
    return ""


def recheck(tx: Transaction, call: Call, kind: str, subject: str) -> None:
    """Clear an alert whose cause this very transaction took away: what is read next no longer has it."""
    key = records.key_of(kind, subject)
    alert = tx.get(key)
    why = "" if alert is None else gone(tx, call, alert)
    if alert is not None and why:
        records.clear(tx, call, alert, why)


def _observed(alert: Record) -> bool:
    """Does something say when this alert's cause is gone, although that is not so for all of its kind?"""
    return "lasts" in alert["facts"]


def _is_there(agent: Agent | None) -> bool:
    return agent is not None and not agent["left"] and not agent["killed"]


def _few(names: list[str]) -> str:
    more = f" and {len(names) - FEW} more" if len(names) > FEW else ""
    return ", ".join(names[:FEW]) + more


# --- hold, wait, deadlock


def _claim(tx: Transaction, agent: str, claim: str) -> Claim | None:
    """A live claim by its id; under another agent it is another hold."""
    record = claim_records.get_claim(tx, agent, claim)
    return record if record is not None and record["claim"] == claim and record["until"] > tx.now else None


def _place(tx: Transaction, agent: str, waiter: str) -> Waiter | None:
    record = claim_records.get_waiter(tx, agent, waiter)
    return record if record is not None and record["waiter"] == waiter and record["until"] > tx.now else None


def _hold(tx: Transaction, call: Call, suspicion: Record) -> Judged:
    facts, agent = suspicion["facts"], suspicion["agent"]
    if _claim(tx, agent, suspicion["subject"]) is None:
        return None
    actual, names = tx.now - suspicion["since"], facts["resources"]
    text = f"{name_of(tx, agent)} has held {_few(names)} for more than twice the expected {span(facts['expected'])}."
    return {
        "severity": WARNING, "text": text, "remedy": f"dibs ask {quoted(names[0])} 'how much longer?'", "tell": [agent],
        "resources": names, "expected": facts["expected"], "actual": actual,
    }  # fmt: skip


def _hold_gone(tx: Transaction, call: Call, alert: Record) -> str:
    return "" if _claim(tx, alert["agent"], alert["subject"]) is not None else "the claim ended"


def _in_the_way(tx: Transaction, place: Waiter) -> list[Claim]:
    """The live claims that a waiter waits for."""
    return [
        record
        for record in claim_records.overlapping_claims(tx, place["resources"], place["tree"])
        if record["until"] > tx.now and endings.blocks(record, place["mode"], place["agent"])
    ]


def _wait(tx: Transaction, call: Call, suspicion: Record) -> Judged:
    facts, agent = suspicion["facts"], suspicion["agent"]
    place = _place(tx, agent, suspicion["subject"])
    if place is None:
        return None
    actual, names = tx.now - suspicion["since"], facts["resources"]
    holders = list(dict.fromkeys(record["agent"] for record in _in_the_way(tx, place)))
    held = f", which {_few([name_of(tx, one) for one in holders])} holds" if holders else ""
    text = (
        f"{name_of(tx, agent)} has waited for {_few(names)}{held}, for more than twice the expected "
        f"{span(facts['expected'])}."
    )
    return {
        "severity": WARNING, "text": text, "remedy": f"dibs ask {quoted(names[0])} 'please release it'",
        "tell": [agent, *holders], "resources": names, "expected": facts["expected"], "actual": actual,
        "holders": holders,
    }  # fmt: skip


def _wait_gone(tx: Transaction, call: Call, alert: Record) -> str:
    if _place(tx, alert["agent"], alert["subject"]) is not None:
        return ""
    mine = [one for one in claim_records.waiters_of(tx, alert["agent"], limit=64) if one["until"] > tx.now]
    same = any(one["since"] == alert["since"] for one in mine)  # asked again: the same turn under a new id
    return "" if same else "the wait ended"


def _deadlock(tx: Transaction, call: Call, suspicion: Record) -> Judged:
    cycle = suspicion["facts"]["cycle"]
    agents = list(dict.fromkeys(step["agent"] for step in cycle))
    steps = "; ".join(
        f"{name_of(tx, step['agent'])} wants {step['resource']} of {name_of(tx, step['holder'])}" for step in cycle
    )
    text = f"deadlock, refused to {name_of(tx, suspicion['agent'])}: {steps}."
    wanted = cycle[0]["resource"]
    return {
        "severity": ERROR, "text": text, "remedy": f"dibs ask {quoted(wanted)} 'please release it: deadlock'",
        "tell": agents, "resources": [step["resource"] for step in cycle], "cycle": cycle,
    }  # fmt: skip


def _deadlock_gone(tx: Transaction, call: Call, alert: Record) -> str:
    """The refused agent's edge was never there; the cycle opens when one of the other edges goes."""
    first, *rest = alert["facts"]["cycle"]
    for step in rest:
        places = claim_records.waiters_of(tx, step["agent"], limit=64)
        if not any(place["until"] > tx.now for place in places):
            return f"{name_of(tx, step['agent'])} no longer waits"
    for step in (first, *rest):
        held = [claim for claim in claim_records.claims_of(tx, step["holder"]) if claim["until"] > tx.now]
        queued = claim_records.waiters_of(tx, step["holder"], limit=64)
        if not held and not queued:
            return f"{name_of(tx, step['holder'])} holds nothing any more"
        if step is first and not any(step["resource"] in resources.shown(one["resources"]) for one in (*held, *queued)):
            return f"{name_of(tx, step['holder'])} released {step['resource']}"
    return ""


# --- expired, dead, silent, rules


def _expired(tx: Transaction, call: Call, suspicion: Record) -> Judged:
    """Is the holder alive? A process that cannot be seen from here counts as alive if its agent acted lately."""
    agent = get_agent(tx, suspicion["agent"])
    if not _is_there(agent) or _expired_gone(tx, call, suspicion):
        return None
    assert agent is not None
    alive = call.alive(agent["process"])
    if alive is False or (alive is None and tx.now - agent["seen"] > RECENT_MS):
        return None
    names = resources.shown(suspicion["facts"]["held"])
    text = f"the claim of {name_of(tx, suspicion['agent'])} on {_few(names)} expired, and its holder is alive."
    return {
        "severity": WARNING, "text": text, "tell": [suspicion["agent"]],
        "remedy": f"dibs claim {' '.join(map(quoted, names[:FEW]))} --as {quoted(suspicion['agent'])}",
        "resources": names, "held": suspicion["facts"]["held"],
    }  # fmt: skip


def _expired_gone(tx: Transaction, call: Call, alert: Record) -> str:
    agent = get_agent(tx, alert["agent"])
    if not _is_there(agent):
        return "the agent is gone"
    assert agent is not None
    if agent["process"] is not None and call.facts.get(process_name(agent["process"])) is False:
        return "the agent is gone"
    loss = claim_records.get_loss(tx, alert["agent"], alert["subject"])
    if loss is None or loss.get("settled"):
        return "the loss is settled"
    held = [claim for claim in claim_records.claims_of(tx, alert["agent"]) if claim["until"] > tx.now]
    mine = [resource for claim in held for resource in claim["resources"]]
    return "the agent holds it again" if mine and resources.all_covered(alert["facts"]["held"], mine) else ""


def _dead(tx: Transaction, call: Call, suspicion: Record) -> Judged:
    facts, agent = suspicion["facts"], suspicion["agent"]
    held, kept = resources.shown(facts["held"]), resources.shown(facts.get("kept", ()))
    if not held and not kept and not records.coordinators(tx, call, agent, persons=False):
        return None  # no agent depends on it
    what = f" It held {_few(held)}: released." if held else ""
    if kept:  # a claim that was made by hand, by no process of its own, ends by its deadline
        what += f" It {'also ' if held else ''}holds {_few(kept)} until the deadline: not tied to that process."
    text = f"agent {name_of(tx, agent)} (pid {facts['pid']}) is not responding: its process is gone.{what}"
    remedy = " && ".join(  # by their tokens: not from the next holder
        f"dibs release {' '.join(map(quoted, names))} --force --why 'its agent is dead' --token {token}"
        for token, names in facts.get("left", ())
    )
    return {
        "severity": ERROR if held or kept else WARNING, "text": text,
        "remedy": remedy or f"dibs log --agent {quoted(agent)} --limit 20", "resources": [*held, *kept],
        "dead": agent, "pid": facts["pid"], "process": facts["process"],
    }  # fmt: skip


def _dead_gone(tx: Transaction, call: Call, alert: Record) -> str:
    agent = get_agent(tx, alert["agent"])
    if agent is None:
        return "the agent was forgotten"
    if agent["killed"] or agent["left"]:
        return "the agent was killed" if agent["killed"] else "the agent left"
    now = agent["process"]
    return "" if now is not None and process_name(now) == alert["facts"]["process"] else "the agent is back"


def _silent(tx: Transaction, call: Call, suspicion: Record) -> Judged:
    facts, agent = suspicion["facts"], suspicion["agent"]
    silence, limit = tx.now - suspicion["since"], call.policy.work["alerts"]["silent"]
    text = (
        f"{name_of(tx, agent)} (pid {facts['pid']}) is alive and gave no sign for more than {span(limit)}; it holds "
        f"{_few(facts['resources'])}, which {_few([name_of(tx, one) for one in facts['wanted_by']])} wants."
    )
    remedy = f"dibs release {quoted(facts['resources'][0])} --force --why 'its agent is silent'"
    return {
        "severity": ERROR, "text": text, "remedy": remedy, "tell": [agent, *facts["wanted_by"]],
        "resources": facts["resources"], "pid": facts["pid"], "actual": silence,
        "expected": limit,
    }  # fmt: skip


def _silent_gone(tx: Transaction, call: Call, alert: Record) -> str:
    agent = get_agent(tx, alert["agent"])
    if not _is_there(agent):
        return "the agent is gone"
    assert agent is not None
    if agent["process"] is None or call.facts.get(process_name(agent["process"])) is False:
        return "the agent is gone"
    if agent["seen"] > alert["since"]:
        return "the agent gave a sign of life"
    return "" if wanted_of(tx, alert["agent"]) else "nobody wants what it holds"


def wanted_of(tx: Transaction, agent: str) -> list[tuple[str, str]]:
    """What others want of what an agent holds, as (resource, agent that wants it)."""
    found = []
    for claim in claim_records.claims_of(tx, agent, limit=64):
        if claim["until"] <= tx.now:
            continue
        for record in claim_records.overlapping(tx, claim["resources"], claim["tree"]):
            if claim_records.is_claim(record) or record["until"] <= tx.now or related(record["agent"], agent):
                continue
            if endings.blocks(claim, record["mode"], record["agent"]):
                met = resources.any_overlap(claim["resources"], record["resources"])
                found.append((resources.show(met or claim["resources"][0]), record["agent"]))
    return found


def _rules(tx: Transaction, call: Call, suspicion: Record) -> Judged:
    agent = suspicion["agent"]
    text = f"{name_of(tx, agent)} works by old rules: it has been active and was not told the current ones."
    remedy = f"dibs send {quoted(agent)} 'the rules changed: dibs rules --ack'"
    return {"severity": WARNING, "text": text, "remedy": remedy, "tell": [agent]}


def _rules_gone(tx: Transaction, call: Call, alert: Record) -> str:
    agent = get_agent(tx, alert["agent"])
    if not _is_there(agent):
        return "the agent is gone"
    assert agent is not None
    if agent["process"] is not None and call.facts.get(process_name(agent["process"])) is False:
        return "the agent is gone"
    return "the agent was told the rules" if not call.rules or agent.get("rules") == call.rules else ""


# --- violation, bypass, deploys


def _violation(tx: Transaction, call: Call, suspicion: Record) -> Judged:
    facts, path = suspicion["facts"], suspicion["facts"]["path"]
    if _violation_gone(tx, call, suspicion):
        return None
    holder, sure = name_of(tx, facts["holder"]), facts["how"] == "violated"
    how = "restore" if facts["blob"] else "ack"
    remedy = f"dibs {how} {quoted(facts['id'])} --as {quoted(holder)}"  # the holder's to do, or a person's for it
    return {
        "severity": ERROR if sure else WARNING, "text": facts["text"], "remedy": remedy, "resources": [path],
        "tree": facts["tree"], "path": path,
    }  # fmt: skip


def _violation_gone(tx: Transaction, call: Call, alert: Record) -> str:
    unsettled = tx.get(f"vu\t{alert['facts']['tree']}\t{alert['facts']['path']}")
    return "" if unsettled is not None and unsettled["until"] > tx.now else "the change is settled"


def _bypass(tx: Transaction, call: Call, suspicion: Record) -> Judged:
    facts = suspicion["facts"]
    if "push" in facts:
        push, commit = facts["push"], facts["commit"][:12]
        by = f"; git names {push['by']}" if push["by"] else ""
        text = f"a push to {push['remote']}/{push['branch']} ({commit}) bypassed the guard{by}."
        return {"severity": ERROR, "text": text, "remedy": f"git log -1 {quoted(commit)}", "resources": []}
    names, commit = facts["paths"], suspicion["subject"][:12]
    what = f"; it has {_few(names)}, held by {_few([name_of(tx, one) for one in facts['holders']])}" if names else ""
    suspects = facts.get("suspects")
    who = name_of(tx, suspicion["agent"])
    if suspects:  # no words of theirs make a commit
        who = f"a program or a person, while a command of {' or '.join(suspects)} ran,"
    text = f"{who} committed past the guard ({commit}){what}."
    return {
        "severity": ERROR if names else WARNING, "text": text, "remedy": f"git show --stat {quoted(commit)}",
        "resources": names,
    }  # fmt: skip


def _removed(tx: Transaction, call: Call, suspicion: Record) -> Judged:
    facts = suspicion["facts"]
    more = facts["count"] - len(facts["paths"])
    files = _few(facts["paths"]) + (f" and {more} more" if more and len(facts["paths"]) <= FEW else "")
    text = f"the working tree {facts['tree']} was removed with unfinished work of {_few(facts['owners'])}: {files}."
    return {
        "severity": ERROR, "text": text, "remedy": "dibs restore --list", "resources": facts["paths"],
        "left": facts["count"],
    }  # fmt: skip


def _removed_gone(tx: Transaction, call: Call, alert: Record) -> str:
    return "all of it was restored" if alert["facts"].get("left") == 0 else ""


def note_restored(tx: Transaction, call: Call, ledger: str) -> None:
    """One more content of a removed working tree was restored; with the last one its alert ends."""
    key = records.key_of("removed", ledger)
    alert = tx.get(key)
    if alert is not None and "left" in alert["facts"]:  # an earlier version did not count
        alert["facts"]["left"] -= 1
        records.put(tx, alert)
        recheck(tx, call, "removed", ledger)


def _never(tx: Transaction, call: Call, alert: Record) -> str:
    return ""


DEPLOY_FAULTS = {  # what is wrong with a deploy → the end of a sentence about it
    "unsynced": "was not compared with the remote", "unverified": "failed its verification",
    "unchecked": "was not verified", "interrupted": "was interrupted", "fenced": "continued without its claim",
}  # fmt: skip


def _deploy(tx: Transaction, call: Call, suspicion: Record) -> Judged:
    facts, target = suspicion["facts"], suspicion["subject"]
    who, commit = name_of(tx, suspicion["agent"]), facts["commit"][:12] or "something"
    severe = suspicion["suspicion"] == "deploy_unverified" and facts["how"] != "unchecked"
    text = f"the deploy of {commit} to {target} by {who} {DEPLOY_FAULTS[facts['how']]}."
    return {
        "severity": ERROR if severe else WARNING, "text": text,
        "remedy": f"dibs log {quoted(f'deploy:{target}')} --limit 20", "resources": [f"deploy:{target}"],
    }  # fmt: skip


def _deploy_gone(tx: Transaction, call: Call, alert: Record) -> str:
    last = tx.get(f"d\t{alert['subject']}")
    if last is None or last["at"] <= alert["last"] or last["result"] != "ok":
        return ""
    if alert["kind"] == "deploy_stale" and last.get("unsynced"):
        return ""
    return "a later deploy is good"


# --- tasks, the store


def _poison(tx: Transaction, call: Call, suspicion: Record) -> Judged:
    if _poison_gone(tx, call, suspicion):
        return None
    task = suspicion["subject"]
    failures = suspicion["facts"]["failures"]
    text = f"task {task} failed or was lost {'once' if failures == 1 else f'{failures} times'} and is quarantined."
    return {"severity": ERROR, "text": text, "remedy": f"dibs task move {quoted(task)} planned"}


def _poison_gone(tx: Transaction, call: Call, alert: Record) -> str:
    from dibs.operations.tasks.lifecycle import QUARANTINED
    from dibs.operations.tasks.records import get_task

    task = get_task(tx, alert["subject"])
    if task is None:
        return "the task is gone"
    return "" if task["state"] == QUARANTINED else f"the task is {task['state']}"


def _breaker(tx: Transaction, call: Call, suspicion: Record) -> Judged:
    if _breaker_gone(tx, call, suspicion):
        return None
    agent = suspicion["agent"]
    text = f"{name_of(tx, agent)} failed several tasks in a row and gets no work for now."
    remedy = f"dibs log --agent {quoted(agent)} --kind task. --limit 20"
    return {"severity": WARNING, "text": text, "remedy": remedy, "tell": [agent]}


def _breaker_gone(tx: Transaction, call: Call, alert: Record) -> str:
    from dibs.operations.tasks import workforce

    agent = get_agent(tx, alert["agent"])
    if not _is_there(agent):
        return "the agent is gone"
    return "the breaker is closed" if workforce.breaker(tx, call, agent)[0] == "closed" else ""


_STORE = {
    "epoch": "the store lost commits, or may have; claims that depended on them ended ({claims}).",
    "recovered": "a new database took the place of a damaged one; its claims are gone.",
    "fallback": "SQLite replaces {left}, which did not start.",
}
_STORE_REMEDY = {"fallback": "dibs up"}


def _store(tx: Transaction, call: Call, suspicion: Record) -> Judged:
    facts, what = suspicion["facts"], suspicion["subject"].partition(":")[0]
    text = _STORE[what].format(**facts) if what in _STORE else facts["warning"]
    more = {"lasts": facts["lasts"]} if "lasts" in facts else {}
    return {
        "severity": ERROR if what in _STORE else WARNING, "text": text,
        "remedy": _STORE_REMEDY.get(what, "dibs doctor"), **more,
    }  # fmt: skip


_KINDS: dict[str, tuple[Callable[..., Judged], Callable[..., str]]] = {
    "hold": (_hold, _hold_gone),
    "wait": (_wait, _wait_gone),
    "deadlock": (_deadlock, _deadlock_gone),
    "expired": (_expired, _expired_gone),
    "dead": (_dead, _dead_gone),
    "silent": (_silent, _silent_gone),
    "violation": (_violation, _violation_gone),
    "bypass": (_bypass, _never),
    "removed": (_removed, _removed_gone),
    "deploy_stale": (_deploy, _deploy_gone),
    "deploy_unverified": (_deploy, _deploy_gone),
    "poison": (_poison, _poison_gone),
    "breaker": (_breaker, _breaker_gone),
    "store": (_store, _never),
    "rules": (_rules, _rules_gone),
}
KINDS = tuple(_KINDS)
UNOBSERVED = frozenset(("bypass", "removed", "store", "dead"))
