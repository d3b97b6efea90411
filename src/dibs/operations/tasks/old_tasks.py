"""Old tasks: a finished task outside any run is forgotten `[tasks] keep` after its end (30 days). A run's go with it.

- kept: a failed or cancelled task that others wait for, and a child whose parent is still known. A day later it is
  looked at again.
- afterwards: its id and its idempotency key are free. The log has what it did, and its archives after that.
- many: a sweep drops up to TASKS_PER_SWEEP, and no more than ROWS_PER_SWEEP rows; the next one continues.
"""

from __future__ import annotations

from dibs.operations.tasks import records

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.operations.core.call import Call
    from dibs.operations.tasks.records import Task
    from dibs.stores.seam import Transaction

TASKS_PER_SWEEP = 32
ROWS_PER_SWEEP = 200  # notes, dependents and bids go with it
LOOK_AGAIN_MS = 86_400_000  # at a task that had to stay


def is_due(tx: Transaction, call: Call) -> bool:
    """Is a task old enough to be forgotten?"""
    return bool(tx.scan(2, records.OVER, 1, before=_limit(tx, call)).rows)


def some(tx: Transaction, call: Call) -> tuple[int, bool]:
    """Forget old tasks; returns how many, and whether there are more."""
    page = tx.scan(2, records.OVER, TASKS_PER_SWEEP, before=_limit(tx, call))
    gone: list[str] = []
    room = ROWS_PER_SWEEP
    for _, _, stored in page.rows:
        task = records.with_defaults(stored)
        if _is_needed(tx, task):
            keep: int = call.policy.work["tasks"]["keep"]
            records.put_task(tx, task, ended=tx.now - keep + LOOK_AGAIN_MS)
            continue
        room -= records.delete_task(tx, task, room)
        if room <= 0:  # the rest of its rows goes with the next sweep
            break
        gone.append(task["task"])
    if gone:
        tx.append("task.forgotten", call.agent, "", {"tasks": gone})
    return len(gone), page.truncated or room <= 0


def _limit(tx: Transaction, call: Call) -> str:
    keep: int = call.policy.work["tasks"]["keep"]
    return records.over(max(0, tx.now - keep + 1))


def _is_needed(tx: Transaction, task: Task) -> bool:
    """Would another task miss it?"""
    if records.has_dependents(tx, task["task"]):
        return True  # others wait for it, or a job has yet to unblock them
    return bool(task["parent"]) and records.get_task(tx, task["parent"]) is not None
