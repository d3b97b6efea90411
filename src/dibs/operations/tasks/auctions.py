"""Auctions: agents bid for a task until the window closes. placement.py closes an auction and assigns the task."""

from __future__ import annotations

from dibs.operations.core.call import iso
from dibs.operations.messages import mailbox
from dibs.operations.tasks import records

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.operations.core.call import Call
    from dibs.operations.tasks.records import Assignment, Bid, Task
    from dibs.stores.seam import Transaction


MAX_BIDS = 256  # on one task


def tell_lost(tx: Transaction, task: Task, before: Assignment | None, why: str) -> None:
    """Tell the agent that the task was assigned to until now that it need not come."""
    if before is not None:
        text = f"Task {task['task']} ({task['title'][:200]}) is no longer assigned to you: {why}."
        mailbox.post(tx, before["agent"], "dibs", "task_withdrawn", text, task=task["task"])


def put_up(tx: Transaction, call: Call, task: Task, request: str = "") -> None:
    """Auction a task. That ends an earlier auction or assignment."""
    before = task["assigned"]
    drop_bids(tx, task)
    until = tx.now + length(call, task)
    task.update({"assigned": None, "window": until, "not_before": 0})
    records.put_task(tx, task)
    event = {"until": until, **({"request": ["task assign", request]} if request else {})}
    tx.append("task.auctioned", call.agent, task["task"], event)
    tell_lost(tx, task, before, f"it is auctioned until {iso(tx, until)}")


def length(call: Call, task: Task) -> int:
    """How long bids are collected."""
    return int(task["bid_window"] or call.policy.work["tasks"]["bid_window"])


def bids(tx: Transaction, task: Task) -> dict[str, Bid]:
    """The bids on a task, by bidder."""
    return records.get_bids(tx, task["task"], MAX_BIDS + 1)


def drop_bids(tx: Transaction, task: Task) -> None:
    """Delete the bids on a task."""
    for agent in bids(tx, task):
        records.delete_bid(tx, task["task"], agent)
