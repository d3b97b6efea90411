"""The holder of a task: its live claim, and what happens when that claim gets another holder."""

from __future__ import annotations

from dibs.operations.tasks import lifecycle
from dibs.operations.tasks.lifecycle import EXECUTING

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.operations.claims.records import Claim
    from dibs.operations.core.call import Record
    from dibs.stores.seam import Transaction


def live_claim(tx: Transaction, task: Record, *, over: bool = False) -> Claim | None:
    """The live claim on an executing task; with `over`, also one past its deadline that was not ended yet."""
    from dibs.operations.claims import records as claim_records

    if task["state"] != EXECUTING:
        return None
    for claim in claim_records.overlapping_claims(tx, [lifecycle.resource_of(task["task"])], ""):
        if claim["claim"] == task["claim"] and (over or claim["until"] > tx.now):
            return claim
    return None


def expired(tx: Transaction, tasks: Sequence[Record]) -> set[str]:
    """Those at work whose claim is past its deadline. Whoever looks for work next, or sweeps, returns them."""
    from dibs.operations.claims import records as claim_records

    at_work = [one for one in tasks if one["state"] == EXECUTING]
    if not at_work:
        return set()
    keys = {
        claim_records.claim_key(lifecycle.resource_of(one["task"]), one["agent"], one["claim"]): one for one in at_work
    }
    found = tx.get_many(list(keys))
    return {one["task"] for key, one in keys.items() if found[key] is not None and found[key]["until"] <= tx.now}


def known(tx: Transaction, identifier: str) -> Record | None:
    """A task, if there is one of this id."""
    kept = tx.get(lifecycle.key_of(lifecycle.check_id(identifier)))
    return None if kept is None else lifecycle.full(kept)


def having(task: Record) -> list[str]:
    """The agent that works on a task, or that it is assigned to."""
    if task["state"] == EXECUTING:
        return [task["agent"]]
    return [task["assigned"]["agent"]] if task["assigned"] else []


def follow(tx: Transaction, claim: Claim) -> None:
    """The task's claim has another holder, or another id: the task follows it."""
    for resource in claim["resources"]:
        kept = tx.get(lifecycle.key_of(resource[1][5:])) if resource[1].startswith("task:") else None
        task = lifecycle.full(kept) if kept is not None else None
        if task is not None and task["state"] == EXECUTING:
            task["agent"], task["claim"] = claim["agent"], claim["claim"]
            lifecycle.put(tx, task)
            tx.append("task.passed", claim["agent"], task["task"], {"claim": claim["claim"]})
