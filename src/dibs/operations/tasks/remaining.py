"""What may still come for an agent that finds no task: for a worker that should exit when its work is done.

Read-only; the worker decides. Internal: no command.
"""

from __future__ import annotations

from dibs.operations.agents.records import get_agent
from dibs.operations.core.declare import ANYWHERE, Field, Operation
from dibs.operations.tasks import lifecycle, records

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.operations.core.call import Call
    from dibs.operations.runs.answers import OutlookAnswer
    from dibs.operations.tasks.answers import TaskAtWork
    from dibs.operations.tasks.requests import OutlookRequest
    from dibs.stores.seam import Transaction

TASKS_PER_TRIP = 256
MAX_TASKS_NAMED = 5  # running tasks; a person wants to know whom to look at, not all of them
# in one place, in the search for a run's tasks; if there are more, the answer is "more may come"
MAX_TASKS_READ = 4_096


def _outlook(tx: Transaction, call: Call, request: OutlookRequest) -> OutlookAnswer:
    """Is a task ready for this agent, running anywhere (`at_work` names some), or scheduled?"""
    run = request["run"]
    who = get_agent(tx, request["agent"])
    pools = [records.ready(records.pool_of(head)) for head in records.pool_heads(tx)
             if lifecycle.fits(who, head["needs"], head["for"])]  # fmt: skip
    return {
        "ready": any(_any(tx, place, run) for place in pools),
        "executing": _any(tx, records.in_state(lifecycle.EXECUTING), run),
        "later": any(_any(tx, place, run) for place in (records.DELAYED, records.AUCTIONED, records.ASSIGNED)),
        "at_work": _at_work(tx, run),
    }


def _at_work(tx: Transaction, run: str) -> list[TaskAtWork]:
    """Some of the running tasks, and their agents."""
    rows, _ = records.scan_tasks(tx, records.in_state(lifecycle.EXECUTING), TASKS_PER_TRIP)
    tasks = [task for _, task in rows if not run or task["run"] == run]
    return [{"task": task["task"], "agent": task["agent"]} for task in tasks[:MAX_TASKS_NAMED]]


def _any(tx: Transaction, place: str, run: str) -> bool:
    """Does a task of this run (without a run: any task) lie in this place of the index?"""
    after, seen = "", 0
    while seen < MAX_TASKS_READ:
        rows, truncated = records.scan_tasks(tx, place, TASKS_PER_TRIP if run else 1, after)
        if any(not run or task["run"] == run for _, task in rows):
            return True
        if not truncated:
            return False
        seen += len(rows)
        after = rows[-1][0]
    return True


OUTLOOK = Operation(
    "outlook",
    _outlook,
    "What may still come for an agent that finds no task.",
    sent_by=ANYWHERE,
    fields=(
        Field("agent", "agent", "who found nothing", required=True),
        Field("run", "text", "only of this run", default=""),
    ),
    answer="OutlookAnswer",
    writes=False,
)

INTERNAL = (OUTLOOK,)
