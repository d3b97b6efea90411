"""Alerts about work: changed files, bypassed guards, removed trees, deploys, tasks, the store; and when that is over.

claim_causes.py says what the functions are.
"""

from __future__ import annotations

from dibs.errors import quoted, settling
from dibs.operations.alerts.audience import FEW, few, name_of
from dibs.operations.alerts.records import ERROR, WARNING, is_push
from dibs.operations.guards.records import get_deploy, get_unsettled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.operations.alerts.records import (
        Alert,
        Cause,
        CommitFacts,
        DeployFacts,
        Facts,
        FailureFacts,
        Finding,
        LastingFacts,
        PathFacts,
        PushFacts,
        RemainderFacts,
        RemovalFacts,
        StoreFacts,
        Suspicion,
        ViolationFacts,
    )
    from dibs.operations.core.call import Call
    from dibs.stores.seam import Transaction

DEPLOY_FAULTS = {  # what is wrong with a deploy → the end of a sentence about it
    "unsynced": "was not compared with the remote", "unverified": "failed its verification",
    "unchecked": "was not verified", "interrupted": "was interrupted", "fenced": "continued without its claim",
}  # fmt: skip


def never_gone(tx: Transaction, call: Call, alert: Alert[Facts]) -> str:
    """Nothing observes when this is over."""
    return ""


# --- violation


def violation(tx: Transaction, call: Call, suspicion: Suspicion[ViolationFacts]) -> Finding[PathFacts] | None:
    """A file was changed although another agent held it."""
    facts, path = suspicion["facts"], suspicion["facts"]["path"]
    if violation_gone(tx, call, suspicion):
        return None
    sure, remedy = facts["how"] == "violated", settling(facts["id"], is_kept=bool(facts["blob"]))
    return {
        "severity": ERROR if sure else WARNING, "text": facts["text"], "remedy": remedy, "resources": [path],
        "facts": {"tree": facts["tree"], "path": path},
    }  # fmt: skip


def violation_gone(tx: Transaction, call: Call, cause: Cause[PathFacts]) -> str:
    """The path is settled: restored, accepted, edited."""
    unsettled = get_unsettled(tx, cause["facts"]["tree"], cause["facts"]["path"])
    return "" if unsettled is not None and unsettled["until"] > tx.now else "the change is settled"


# --- bypass


def bypass(tx: Transaction, call: Call, suspicion: Suspicion[CommitFacts | PushFacts]) -> Finding[Facts] | None:
    """A commit or a push bypassed the guards."""
    facts = suspicion["facts"]
    if is_push(facts):
        push, commit = facts["push"], facts["commit"][:12]
        by = f"; git names {push['by']}" if push["by"] else ""
        text = f"a push to {push['remote']}/{push['branch']} ({commit}) bypassed the guard{by}."
        return {"severity": ERROR, "text": text, "remedy": f"git log -1 {quoted(commit)}", "facts": {}}
    names, commit = facts["paths"], suspicion["subject"][:12]
    holders = [name_of(tx, holder) for holder in facts["holders"]]
    what = f"; it has {few(names)}, held by {few(holders)}" if names else ""
    suspects = facts.get("suspects")
    who = name_of(tx, suspicion["agent"])
    if suspects:  # no words of theirs make a commit
        who = f"a program or a person, while a command of {' or '.join(suspects)} ran,"
    text = f"{who} committed past the guard ({commit}){what}."
    return {
        "severity": ERROR if names else WARNING, "text": text, "remedy": f"git show --stat {quoted(commit)}",
        "resources": names, "facts": {},
    }  # fmt: skip


# --- removed


def removed(tx: Transaction, call: Call, suspicion: Suspicion[RemovalFacts]) -> Finding[RemainderFacts] | None:
    """A working tree was removed with unfinished work in it."""
    facts = suspicion["facts"]
    more = facts["count"] - len(facts["paths"])
    files = few(facts["paths"]) + (f" and {more} more" if more and len(facts["paths"]) <= FEW else "")
    text = f"the working tree {facts['tree']} was removed with unfinished work of {few(facts['owners'])}: {files}."
    return {
        "severity": ERROR, "text": text, "remedy": f"dibs restore --tree {quoted(facts['tree'].rpartition('/')[2])}",
        "resources": facts["paths"],
        "facts": {"left": facts["count"]},
    }  # fmt: skip


def removed_gone(tx: Transaction, call: Call, alert: Alert[RemainderFacts]) -> str:
    """All of it was restored."""
    return "all of it was restored" if alert["facts"].get("left") == 0 else ""


# --- deploys


def deploy(tx: Transaction, call: Call, suspicion: Suspicion[DeployFacts]) -> Finding[Facts] | None:
    """A deploy was not compared with the remote, or not verified, or interrupted, or lost its claim."""
    facts, target = suspicion["facts"], suspicion["subject"]
    who, commit = name_of(tx, suspicion["agent"]), facts["commit"][:12] or "something"
    severe = suspicion["suspicion"] == "deploy_unverified" and facts["how"] != "unchecked"
    text = f"the deploy of {commit} to {target} by {who} {DEPLOY_FAULTS[facts['how']]}."
    return {
        "severity": ERROR if severe else WARNING, "text": text,
        "remedy": f"dibs log {quoted(f'deploy:{target}')} --limit 20", "resources": [f"deploy:{target}"], "facts": {},
    }  # fmt: skip


def deploy_gone(tx: Transaction, call: Call, alert: Alert[Facts]) -> str:
    """A later deploy of the target is good."""
    last = get_deploy(tx, alert["subject"])
    if last is None or last["at"] <= alert["last"] or last["result"] != "ok":
        return ""
    if alert["kind"] == "deploy_stale" and last.get("unsynced"):
        return ""
    return "a later deploy is good"


# --- poison


def poison(tx: Transaction, call: Call, suspicion: Suspicion[FailureFacts]) -> Finding[Facts] | None:
    """A task failed too often and is quarantined."""
    if poison_gone(tx, call, suspicion):
        return None
    task, failures = suspicion["subject"], suspicion["facts"]["failures"]
    text = f"task {task} failed or was lost {'once' if failures == 1 else f'{failures} times'} and is quarantined."
    return {"severity": ERROR, "text": text, "remedy": f"dibs task move {quoted(task)} planned", "facts": {}}


def poison_gone(tx: Transaction, call: Call, cause: Cause[Facts]) -> str:
    """The task is in another state, or gone."""
    from dibs.operations.tasks.lifecycle import QUARANTINED
    from dibs.operations.tasks.records import get_task

    task = get_task(tx, cause["subject"])
    if task is None:
        return "the task is gone"
    return "" if task["state"] == QUARANTINED else f"the task is {task['state']}"


# --- store

_STORE = {
    "epoch": "the store lost commits, or may have; claims that depended on them ended ({claims}).",
    "recovered": "a new database took the place of a damaged one; its claims are gone.",
    "fallback": "SQLite replaces {left}, which did not start.",
}
_STORE_REMEDY = {"fallback": "dibs up"}


def store(tx: Transaction, call: Call, suspicion: Suspicion[StoreFacts]) -> Finding[LastingFacts] | None:
    """The store lost commits, was replaced, fell back to SQLite, or warns."""
    facts, what = suspicion["facts"], suspicion["subject"].partition(":")[0]
    text = _STORE[what].format(**facts) if what in _STORE else facts["warning"]
    lasting: LastingFacts = {"lasts": facts["lasts"]} if "lasts" in facts else {}
    return {
        "severity": ERROR if what in _STORE else WARNING, "text": text,
        "remedy": _STORE_REMEDY.get(what, "dibs doctor"), "facts": lasting,
    }  # fmt: skip
