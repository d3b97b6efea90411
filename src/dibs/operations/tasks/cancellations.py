"""Cancellations: a task with everything below it, a run's tasks, or the losers of a race. In steps, if there are many.

- success: the task is cancelled, and so is every open task below it. The agents that work on them are told; their late
  results are refused. Nothing below a task that was finished already is touched.
- many: the first commit cancels the task itself and leaves a job (long_jobs.py). From then on every task below it
  counts as cancelled, although the steps reach it later; a parent counts its open children as the steps proceed.
- retry: cancelling a cancelled task changes nothing; while its job runs, the call continues the job.
"""

from __future__ import annotations

from dibs.operations.core import long_jobs
from dibs.operations.tasks import lifecycle, records
from dibs.operations.tasks.lifecycle import CANCELLED, COMPLETE, PLANNED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypedDict

    from dibs.operations.core.records import CancelJob, CancellingJob, MembersJob, RaceJob
    from dibs.operations.tasks.records import Task
    from dibs.stores.seam import Transaction

    class Cancelled(TypedDict):
        """A part of the answer."""

        cancelled: list[str]
        count: int


# additional records of a running task: its claim and the claim's event, a message and its mailbox
RECORDS_PER_RUNNING_TASK = 4


def cancel_all(tx: Transaction, by: str, task: Task, why: str) -> tuple[Cancelled, list[str]]:
    """Cancel a task and all below it. The answer has the ids and their number; the job, if there is more."""
    job: CancelJob = long_jobs.new(tx, "cancel", by, task=task["task"], why=why)
    _cancel(tx, job, task)
    if task["parent"]:
        count_child(tx, task["parent"], -1)
    jobs = long_jobs.begin(tx, job)
    return {"cancelled": list(job["names"]), "count": job["done"]}, jobs


def end_race(tx: Transaction, winner: Task, room: int) -> list[str]:
    """The first valid result wins: the other tasks of the race are cancelled, and late results refused."""
    job: RaceJob = long_jobs.new(
        tx, "race", winner["agent"], race=winner["race"], winner=winner["task"], after="",
        why=f"{winner['task']} was first",
    )  # fmt: skip
    return long_jobs.begin(tx, job, room)


def step(tx: Transaction, job: CancelJob | RaceJob, room: int) -> int:
    """Cancel up to `room` tasks of a job."""
    used = 0
    if long_jobs.is_race(job):
        used = members_step(tx, job, records.race_prefix(job["race"]), room)
    used += below(tx, job, room - used)
    if job["kind"] == "cancel":
        job["answer"] = {"cancelled": job["names"], "count": job["done"]}
    return used


def members_step(tx: Transaction, job: MembersJob, prefix: str, room: int) -> int:
    """Cancel up to `room` of the tasks after the job's cursor: those of a race, or of a run."""
    keys, _ = records.keys_below(tx, prefix, room, job["after"])
    tasks = records.get_tasks(tx, [records.end_of(key) for key in keys])
    used = 0
    lost: dict[str, int] = {}
    for key in keys:
        if used >= room:
            break
        job["after"] = key
        task = tasks[records.end_of(key)]
        used += 1
        if task is None or task["state"] in lifecycle.FINAL_STATES:
            continue
        # one that was added after the race was won is of another race
        if long_jobs.is_race(job) and (task["task"] == job["winner"] or task["created"] > job["at"]):
            continue
        used += _cancel(tx, job, task)
        if task["parent"]:
            lost[task["parent"]] = lost.get(task["parent"], 0) + 1
    for parent, number in lost.items():
        count_child(tx, parent, -number)
    return used


def below(tx: Transaction, job: CancellingJob, room: int) -> int:
    """Cancel up to `room` of the children whose parents the job has cancelled."""
    used = 0
    while used < room:
        first = records.next_job_parent(tx, job["job"])
        if first is None:
            break
        parent, after = first
        keys, truncated = records.keys_below(tx, records.child_prefix(parent), room - used, after)
        children = records.get_tasks(tx, [records.end_of(key) for key in keys])
        lost, last = 0, ""
        for key in keys:
            if used >= room:
                break
            last, child = key, children[records.end_of(key)]
            used += 1
            if child is not None and child["state"] not in lifecycle.FINAL_STATES:
                used += _cancel(tx, job, child)
                lost += 1
        if lost:
            count_child(tx, parent, -lost)
        if truncated or (keys and last != keys[-1]):
            records.put_job_parent(tx, job["job"], parent, last)
        else:
            records.delete_job_parent(tx, job["job"], parent)
            used += not keys
    return used


def _cancel(tx: Transaction, job: CancellingJob, task: Task) -> int:
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
    task.update({"assigned": None, "window": 0, "not_before": 0, "finished": tx.now})
    records.put_task(tx, task)
    long_jobs.count(job, task["task"])
    if claim is not None:
        endings.end(tx, claim, "cancelled")
        endings.serve(tx, claim["resources"])
        if holder != by and claim["until"] > tx.now:
            text = f"Task {task['task']} ({task['title']}) was cancelled: {why}. Stop working on it."
            mailbox.post(tx, holder, by, "cancelled", text, task=task["task"])
    if task["total_kids"]:
        records.put_job_parent(tx, job["job"], task["task"], "")
    return RECORDS_PER_RUNNING_TASK if claim is not None else 0


def count_child(tx: Transaction, parent: str, change: int) -> None:
    """Change the number of open children that a parent waits for."""
    record = records.get_task(tx, parent)
    if record is None or record["state"] == COMPLETE:
        return
    record["kids"] = max(0, record["kids"] + change)
    records.put_task(tx, record)
    if not record["kids"] and record["state"] == PLANNED:
        from dibs.operations.tasks import workforce

        workforce.wake(tx, [record])
