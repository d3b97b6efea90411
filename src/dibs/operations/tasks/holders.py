"""The holder of a task: its live claim, and what happens when that claim gets another holder."""

from __future__ import annotations

from dibs.operations.tasks import lifecycle, records
from dibs.operations.tasks.lifecycle import EXECUTING

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.operations.claims.records import Claim
    from dibs.operations.tasks.records import Task
    from dibs.stores.seam import Transaction


def live_claim(tx: Transaction, task: Task, *, over: bool = False) -> Claim | None:
    """The live claim on an executing task; with `over`, also one past its deadline that was not ended yet."""
    from dibs.operations.claims import records as claim_records

    if task["state"] != EXECUTING:
        return None
    for claim in claim_records.overlapping_claims(tx, [lifecycle.resource_of(task["task"])], ""):
        if claim["claim"] == task["claim"] and (over or claim["until"] > tx.now):
            return claim
    return None


def expired(tx: Transaction, tasks: Sequence[Task]) -> set[str]:
    """Those at work whose claim is past its deadline. Whoever looks for work next, or sweeps, returns them."""
    from dibs.operations.claims import records as claim_records

    executing = [task for task in tasks if task["state"] == EXECUTING]
    if not executing:
        return set()
    names = {
        claim_records.claim_key(lifecycle.resource_of(task["task"]), task["agent"], task["claim"]): task["task"]
        for task in executing
    }
    claims = tx.get_many(list(names))
    return {names[key] for key, claim in claims.items() if claim is not None and claim["until"] <= tx.now}


def find(tx: Transaction, identifier: str) -> Task | None:
    """A task, if there is one of this id; the id comes from a caller."""
    return records.get_task(tx, lifecycle.check_id(identifier))


def having(task: Task) -> list[str]:
    """The agent that works on a task, or that it is assigned to."""
    if task["state"] == EXECUTING:
        return [task["agent"]]
    return [task["assigned"]["agent"]] if task["assigned"] else []


def follow(tx: Transaction, claim: Claim) -> None:
    """The task's claim has another holder, or another id: the task follows it."""
    for resource in claim["resources"]:
        task = records.get_task(tx, resource[1][5:]) if resource[1].startswith("task:") else None
        if task is not None and task["state"] == EXECUTING:
            task["agent"], task["claim"] = claim["agent"], claim["claim"]
            records.put_task(tx, task)
            tx.append("task.passed", claim["agent"], task["task"], {"claim": claim["claim"]})
