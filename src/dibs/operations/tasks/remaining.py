"""What may still come to an agent that finds no task to take: asked by a worker that is to end when its work is done.

Looks only; what comes of it is the worker's business. Internal: no command of its own.
"""

from __future__ import annotations

from dibs.operations.core.declare import Field, Operation
from dibs.operations.tasks import board, lifecycle

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dibs.operations.core.call import Call, Record
    from dibs.stores.seam import Transaction

PAGE = 256
NAMED = 5  # tasks at work that are named; a person wants to know whom to look at, not all of them
LOOKED_AT = 4_096  # tasks in one place that are looked through for those of a run; where there are more, more will come


def _outlook(tx: Transaction, call: Call, agent: str, run: str = "") -> dict[str, Any]:
    """Is something ready for this agent, at work with anybody (`at_work` names some), or planned for a later time?"""
    key = f"a\t{agent}"
    who: Record | None = tx.fetch([key]).values[key]
    pools = [f"ready\t{lifecycle.pool_of(head)}\t" for head in board.pools(tx)
             if lifecycle.fits(who, head["needs"], head["for"])]  # fmt: skip
    later = ("tasks\tdelayed\t", "tasks\tauction\t", "mine\t")
    return {
        "ready": any(_any(tx, place, run) for place in pools),
        "executing": _any(tx, f"tasks\t{lifecycle.EXECUTING}\t", run),
        "later": any(_any(tx, place, run) for place in later),
        "at_work": _at_work(tx, run),
    }


def _at_work(tx: Transaction, run: str) -> list[dict[str, str]]:
    """Some of the tasks that are being worked on, and by whom."""
    page = tx.scan(1, f"tasks\t{lifecycle.EXECUTING}\t", PAGE)
    found = [task for _, _, task in page.rows if not run or task.get("run") == run]
    return [{"task": task["task"], "agent": task["agent"]} for task in found[:NAMED]]


def _any(tx: Transaction, place: str, run: str) -> bool:
    """Does a task of this run (of any, without one) lie in this place of the index?"""
    after, seen = "", 0
    while seen < LOOKED_AT:
        page = tx.scan(1, place, PAGE if run else 1, after)
        if any(not run or task.get("run") == run for _, _, task in page.rows):
            return True
        if not page.truncated:
            return False
        seen += len(page.rows)
        after = page.rows[-1][0]
    return True


OUTLOOK = Operation(
    "outlook",
    _outlook,
    "What may still come to an agent that finds nothing to do.",
    fields=(
        Field("agent", "agent", "who found nothing", required=True),
        Field("run", "text", "only of this run", default=""),
    ),
    answer="OutlookAnswer",
    writes=False,
)
