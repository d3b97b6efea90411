"""Due tasks: the end of a pause after a failure, of an auction, or of an assignment that was not picked up."""

from __future__ import annotations

from dibs.operations.core import long_jobs
from dibs.operations.tasks import records, workforce

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.operations.core.call import Call
    from dibs.operations.core.records import Job
    from dibs.operations.tasks.records import Task
    from dibs.stores.seam import Transaction


DUE_TASKS_PER_TRIP = 64


class Due:
    """The result for the due tasks."""

    __slots__ = ("done", "more")

    def __init__(self) -> None:
        self.done = 0  # due tasks that were handled
        self.more = False  # more are due than one transaction handles


def promote(tx: Transaction, call: Call) -> Due:
    """Handle the due tasks: the end of a pause after a failure, an auction, an assignment that was not picked up.

    The rows of running jobs (long_jobs.py) lie before them; `call.jobs` has them from now on.
    """
    due = Due()
    jobs: list[Job] = []
    after = ""
    while True:
        page = tx.scan(2, records.LATER, DUE_TASKS_PER_TRIP, after, records.later(tx.now + 1))
        for entry, _, stored in page.rows:
            if long_jobs.is_job(stored):
                jobs.append(stored)
                after = entry
                continue
            _handle(tx, call, records.with_defaults(stored))
            due.done += 1
        if not page.truncated:
            break
        if due.done >= long_jobs.RECORDS_PER_STEP:
            due.more = True
            break
    abandoned = next((job for job in jobs if long_jobs.is_abandoned(tx, job)), None)
    if abandoned is not None and long_jobs.take_step(tx, abandoned):  # one step is enough for a transaction
        jobs.remove(abandoned)
    call.jobs = jobs
    return due


def is_due(tx: Transaction) -> bool:
    """Is a task due, or is a job going?"""
    return bool(tx.scan(2, records.LATER, 1, before=records.later(tx.now + 1)).rows)


def _handle(tx: Transaction, call: Call, task: Task) -> None:
    """Handle one due task."""
    if task["assigned"] or task["window"] or task["strategy"] == "preemptive":
        from dibs.operations.tasks import placement

        placement.over(tx, call, task)
    else:
        task["not_before"] = 0
        records.put_task(tx, task)
        workforce.wake(tx, [task])
