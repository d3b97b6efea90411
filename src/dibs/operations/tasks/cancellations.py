"""Cancellations: a task with everything below it, a run's tasks, or the losers of a race. In steps, if there are many.

- success: the task is cancelled, and so is every open task below it. The agents that work on them are told; their late
  results are refused. Nothing below a task that was finished already is touched.
- many: the first commit cancels the task itself and leaves a job (long_jobs.py). From then on every task below it
  counts as cancelled, although the steps reach it later; a parent counts its open children as the steps proceed.
- retry: cancelling a cancelled task changes nothing; while its job runs, the call continues the job.
"""

from __future__ import annotations

from dibs.operations.core import long_jobs
from dibs.operations.tasks import lifecycle
from dibs.operations.tasks.lifecycle import CANCELLED, COMPLETE, PLANNED
from dibs.stores.seam import AFTER_KEY, prefix_range

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dibs.operations.core.call import Record
    from dibs.stores.seam import Transaction

# additional records of a running task: its claim and the claim's event, a message and its mailbox
RECORDS_PER_RUNNING_TASK = 4


def cancel_all(tx: Transaction, by: str, task: Record, why: str) -> dict[str, Any]:
    """Cancel a task and all below it. The answer has the ids, their number, and the job if there is more."""
    job = long_jobs.new(tx, "cancel", by, task=task["task"], why=why)
    _one(tx, job, task)
    if task["parent"]:
        count_child(tx, task["parent"], -1)
    jobs = long_jobs.begin(tx, job)
    return long_jobs.with_jobs({"cancelled": list(job["names"]), "count": job["done"]}, jobs)


def end_race(tx: Transaction, winner: Record, room: int) -> list[str]:
    """The first valid result wins: the other tasks of the race are cancelled, and late results refused."""
    job = long_jobs.new(
        tx, "race", winner["agent"], race=winner["race"], winner=winner["task"], after="",
        why=f"{winner['task']} was first",
    )  # fmt: skip
    return long_jobs.begin(tx, job, room)


def step(tx: Transaction, job: Record, room: int) -> int:
    """Cancel up to `room` tasks of a job."""
    used = 0
    if job["kind"] == "race":
        used = members_step(tx, job, f"tg\t{job['race']}\t", room)
    used += below(tx, job, room - used)
    if job["kind"] == "cancel":
        job["answer"] = {"cancelled": job["names"], "count": job["done"]}
    return used


def members_step(tx: Transaction, job: Record, prefix: str, room: int) -> int:
    """Cancel up to `room` of the tasks after the job's cursor: those of a race, or of a run."""
    low, high = prefix_range(prefix)
    page = tx.fetch([(job["after"] + AFTER_KEY if job["after"] else low, high)], room)
    if not page.rows:
        return 0
    tasks = lifecycle.load_all(tx, [key[len(prefix) :] for key, _ in page.rows])
    used = 0
    lost: dict[str, int] = {}
    for key, _ in page.rows:
        if used >= room:
            break
        job["after"], name = key, key[len(prefix) :]
        task = tasks[name]
        used += 1
        if task is None or task["state"] in lifecycle.FINAL_STATES or name == job.get("winner"):
            continue
        if job["kind"] == "race" and task["created"] > job["at"]:  # added after the race was won: another race
            continue
        used += _one(tx, job, task)
        if task["parent"]:
            lost[task["parent"]] = lost.get(task["parent"], 0) + 1
    for parent, number in lost.items():
        count_child(tx, parent, -number)
    return used


def below(tx: Transaction, job: Record, room: int) -> int:
    """Cancel up to `room` of the children whose parents the job has cancelled."""
    used = 0
    prefix = f"jp\t{job['job']}\t"
    while used < room:
        part = tx.fetch([prefix_range(prefix)], 1).rows
        if not part:
            break
        key, cursor = part[0]
        parent = key[len(prefix) :]
        low, high = prefix_range(f"tc\t{parent}\t")
        page = tx.fetch([(cursor["after"] + AFTER_KEY if cursor["after"] else low, high)], room - used)
        children = lifecycle.load_all(tx, [row[len(low) :] for row, _ in page.rows])
        lost, last = 0, ""
        for row, _ in page.rows:
            if used >= room:
                break
            last, child = row, children[row[len(low) :]]
            used += 1
            if child is not None and child["state"] not in lifecycle.FINAL_STATES:
                used += _one(tx, job, child)
                lost += 1
        if lost:
            count_child(tx, parent, -lost)
        if page.truncated or (page.rows and last != page.rows[-1][0]):
            tx.put(key, {"after": last})
        else:
            tx.delete(key)
            used += not page.rows
    return used


def _one(tx: Transaction, job: Record, task: Record) -> int:
    """Cancel one task; the job does its children. The caller counts it in its parent.

    Returns how many records that took in addition to the task's own: a running task's claim ends and its holder is
    told.
    """
    from dibs.operations.claims import endings
    from dibs.operations.messages import mailbox
    from dibs.operations.tasks import holders

    by, why = job["by"], job["why"]
    claim = holders.live_claim(tx, task, over=True)
    holder = task["agent"]
    lifecycle.move(tx, by, task, CANCELLED, why=why)
    task.update(assigned=None, window=0, not_before=0, finished=tx.now)
    lifecycle.put(tx, task)
    long_jobs.count(job, task["task"])
    if claim is not None:
        endings.end(tx, claim, "cancelled")
        endings.serve(tx, claim["resources"])
        if holder != by and claim["until"] > tx.now:
            text = f"Task {task['task']} ({task['title']}) was cancelled: {why}. Stop working on it."
            mailbox.post(tx, holder, by, "cancelled", text, task=task["task"])
    if task["total_kids"]:
        tx.put(f"jp\t{job['job']}\t{task['task']}", {"after": ""})
    return RECORDS_PER_RUNNING_TASK if claim is not None else 0


def count_child(tx: Transaction, parent: str, change: int) -> None:
    """Change the number of open children that a parent waits for."""
    kept = tx.get(lifecycle.key_of(parent))
    if kept is None or kept.get("state") == COMPLETE:
        return
    record = lifecycle.full(kept)
    record["kids"] = max(0, record["kids"] + change)
    lifecycle.put(tx, record)
    if not record["kids"] and record["state"] == PLANNED:
        from dibs.operations.tasks import workforce

        workforce.wake(tx, [record])
