"""Tasks whose time has come: a pause after a failure, an auction, an assignment that nobody took up."""

from __future__ import annotations

from dibs.operations.core import long_jobs
from dibs.operations.tasks import lifecycle, workforce

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.operations.core.call import Call, Record
    from dibs.stores.seam import Transaction


DUE = 64  # tasks whose time has come, looked at in one trip


class Due:
    """What came of the tasks whose time has come."""

    __slots__ = ("done", "more")

    def __init__(self) -> None:
        self.done = 0  # tasks that were looked at
        self.more = False  # there are more of them than one transaction looks at


def promote(tx: Transaction, call: Call) -> Due:
    """Look at the tasks whose time has come: a pause after a failure, an auction, an assignment that nobody took up.

    The jobs that are going (long_jobs.py) lie before them; `call.jobs` has them from now on.
    """
    found = Due()
    jobs: list[Record] = []
    after = ""
    while True:
        page = tx.scan(2, "later\t", DUE, after, lifecycle.later(tx.now + 1))
        for entry, _, kept in page.rows:
            if long_jobs.is_job(kept):
                jobs.append(kept)
                after = entry
                continue
            _came(tx, call, lifecycle.full(kept))
            found.done += 1
        if not page.truncated:
            break
        if found.done >= long_jobs.STEP:
            found.more = True
            break
    abandoned = next((job for job in jobs if long_jobs.is_abandoned(tx, job)), None)
    if abandoned is not None and long_jobs.help_on(tx, abandoned):  # one step is enough for a transaction
        jobs.remove(abandoned)
    call.jobs = jobs
    return found


def _came(tx: Transaction, call: Call, task: Record) -> None:
    """A task's time has come."""
    if task["assigned"] or task["window"] or task["strategy"] == "preemptive":
        from dibs.operations.tasks import placement

        placement.over(tx, call, task)
    else:
        task["not_before"] = 0
        lifecycle.put(tx, task)
        workforce.wake(tx, [task])
