"""A task is given to an agent: handed over, taken back when nobody picks it up, pressed where it matters most.

assignments.py has the operations `task assign` and `task bid`, strategies.py who is first.
"""

from __future__ import annotations

from dibs.operations.claims import endings
from dibs.operations.core.call import iso
from dibs.operations.core.policy import SECOND
from dibs.operations.messages import mailbox
from dibs.operations.tasks import auctions, board, lifecycle, strategies, workforce
from dibs.operations.tasks.lifecycle import EXECUTING
from dibs.stores.seam import prefix_range

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from dibs.operations.core.call import Call, Record
    from dibs.operations.tasks.strategies import Facts
    from dibs.stores.seam import Transaction


RUNNERS_UP = 16  # bidders that are remembered in case the winner does not come


PRESS_EVERY = 5 * SECOND  # how often a waiting preemptive task looks for somebody to displace


def fits(agent: Record, task: Record) -> bool:
    """Is the agent of the type, and able to do what the task needs?"""
    return lifecycle.fits(agent, task["needs"], task["for"])


def give(
    tx: Transaction, call: Call, task: Record, agent: str, how: str, *, by: str, request: str = "",
    amount: int | None = None, runners_up: Sequence[str] = (),
) -> None:  # fmt: skip
    """From now on the task waits for this agent, for a while."""
    before = task["assigned"]
    until = tx.now + call.policy.work["tasks"]["assign_wait"]
    auctions.drop_bids(tx, task)
    task.update(assigned={"agent": agent, "until": until, "strategy": how, "by": by}, window=0, not_before=0)
    workforce.expect(tx, agent, until)
    if runners_up:
        task["assigned"]["next"] = list(runners_up[:RUNNERS_UP])
    lifecycle.put(tx, task)
    event: dict[str, Any] = {"to": agent, "strategy": how, "until": until}
    if amount is not None:
        event["amount"] = amount
    if request:
        event["request"] = ["task assign", request]
    tx.append("task.assigned", by, task["task"], event)
    if before is None or before["agent"] != agent:
        auctions.tell_lost(tx, task, before, f"{agent} has it now")
        text = (
            f"Task {task['task']} is yours: {task['title']}. Take it with `dibs task claim {task['task']}` "
            f"before {iso(tx, until)}; then it goes to others."
        )
        payload = {"task": task["task"], "title": task["title"], "priority": task["priority"]}
        mailbox.post(tx, agent, by, "task_assignment", text, payload=payload)
    workforce.wake(tx, [task])


def take_back(tx: Transaction, task: Record, why: str) -> None:
    """Into the queue, for whoever asks first."""
    before = task["assigned"]
    if before is None and not task["window"]:
        return
    auctions.drop_bids(tx, task)
    task.update(assigned=None, window=0, auctioned=True)
    lifecycle.put(tx, task)
    auctions.tell_lost(tx, task, before, why)
    workforce.wake(tx, [task])


def over(tx: Transaction, call: Call, task: Record) -> None:
    """An assignment was not picked up, an auction ends, or a preemptive task waits too long."""
    if task["assigned"]:
        _lapse(tx, call, task)
    elif task["window"]:
        _close(tx, call, task)
    else:
        _press(tx, call, task)


def _lapse(tx: Transaction, call: Call, task: Record) -> None:
    """The next best bidder gets its turn; else it is anybody's."""
    before = task["assigned"]
    tx.append("task.lapsed", before["agent"], task["task"], {"strategy": before["strategy"], "until": before["until"]})
    bidders = before.get("next", [])
    facts = strategies.gather(tx, without=task["task"])
    able = _able(tx, call, task, bidders, facts)
    if able:
        rest = bidders[bidders.index(able[0]) + 1 :]
        give(tx, call, task, able[0], before["strategy"], by=before["by"], runners_up=rest)
        return
    take_back(tx, task, f"you did not take it before {iso(tx, before['until'])}, so it is in the queue again")


def _able(tx: Transaction, call: Call, task: Record, names: Sequence[str], facts: Facts) -> list[str]:
    """Those of these agents, in their order, that are there, fit and have room."""
    there = [one for one in strategies.living(tx, call, facts, names) if fits(one, task)]
    return [one["agent"] for one in there if has_room(tx, call, one, task, "auction", facts)]


def _close(tx: Transaction, call: Call, task: Record) -> None:
    """The window is over: the best bidder that is still there gets the task. It opened anew if it passed unseen."""
    until = _ready_since(tx, task) + auctions.length(call, task)
    if until > task["window"] and until > tx.now:  # it waited for other tasks while its window ran
        task["window"] = until
        lifecycle.put(tx, task)
        tx.append("task.auctioned", call.agent, task["task"], {"until": until})
        return
    facts = strategies.gather(tx, without=task["task"])
    facts.bids = auctions.bids(tx, task)
    there = strategies.living(tx, call, facts, facts.bids)
    order = [one["agent"] for one in strategies.auction(task, there, facts)]
    able = _able(tx, call, task, order, facts)
    task["auctioned"] = True
    if not able:
        take_back(tx, task, "")
        return
    rest = order[order.index(able[0]) + 1 :]
    amount = facts.bids[able[0]]["amount"]
    give(tx, call, task, able[0], "auction", by="dibs", amount=amount, runners_up=rest)


def _ready_since(tx: Transaction, task: Record) -> int:
    """When the last task that this one waited for was over; 0 if it waited for none."""
    names: list[str] = []
    if task["after"]:
        kept = tx.fetch([f"ta\t{task['task']}"]).values[f"ta\t{task['task']}"]
        names += kept["after"] if kept is not None else []
    if task["total_kids"]:
        prefix = f"tc\t{task['task']}\t"
        names += [key[len(prefix) :] for key, _ in tx.fetch((), [prefix_range(prefix)], board.LISTED).rows]
    return max([task["finished"] for task in lifecycle.load_all(tx, names).values() if task is not None], default=0)


def _press(tx: Transaction, call: Call, task: Record) -> None:
    """A preemptive task lies in the queue: leave it to whoever waits and has room, else make somebody free for it."""
    chosen = _hard_pressed(tx, call, task) if _is_head(tx, task) else None
    if chosen is not None:
        give(tx, call, task, chosen, "preemptive", by="dibs")
        return
    task.update(pressed=tx.now + PRESS_EVERY, not_before=0)
    lifecycle.put(tx, task)
    workforce.wake(tx, [task])


def _is_head(tx: Transaction, task: Record) -> bool:
    """Is it the first of those that ask the same of an agent? Where that one finds nobody, none behind it does."""
    rows = tx.scan(1, f"ready\t{lifecycle.pool_of(task)}\t", 1).rows
    return not rows or rows[0][1] == lifecycle.key_of(task["task"])


def _hard_pressed(tx: Transaction, call: Call, task: Record) -> str | None:
    """The agent that loses what it works on to this task; None if somebody waits for work, or nobody can be pressed."""
    facts = strategies.gather(tx, without=task["task"])
    there = [one for one in strategies.living(tx, call, facts) if fits(one, task)]
    for one in there:
        if one["agent"] in facts.waiting and has_room(tx, call, one, task, "preemptive", facts):
            return None
    return displace(tx, call, task, there)


def displace(tx: Transaction, call: Call, task: Record, there: Sequence[Record]) -> str | None:
    """Take from one of these agents what matters least, and less than this task; of equal ones what began last."""
    found: list[tuple[tuple[int, int, str], Record, Record]] = []
    for agent in there:
        live = {claim["claim"]: claim for claim in workforce.live_tasks(tx, agent["agent"])}
        values = tx.fetch([lifecycle.key_of(claim["task"]) for claim in live.values()]).values
        for other in [lifecycle.full(record) for record in values.values() if record is not None]:
            behind = live.get(other["claim"]) if other["state"] == EXECUTING else None
            if behind is not None and other["priority"] < task["priority"]:
                found.append(((other["priority"], -other["started"], agent["agent"]), behind, other))
    if not found:
        return None
    _, claim, other = min(found, key=lambda one: one[0])
    loser = str(claim["agent"])
    endings.end(tx, claim, "preempted")
    endings.serve(tx, claim["resources"])
    text = (
        f"Task {other['task']} ({other['title'][:200]}) was taken from you for {task['task']} ({task['title'][:200]}), "
        f"which matters more: priority {task['priority']}, not {other['priority']}. It is in the queue again and token "
        f"{claim['token']} no longer counts. Stop working on it."
    )
    mailbox.post(tx, loser, call.agent, "preempted", text, task=other["task"], by=task["task"])
    return loser


def has_room(tx: Transaction, call: Call, agent: Record, task: Record, how: str, facts: Facts) -> bool:
    """May the agent have one more? What waits for it and matters less than a preemptive task does not count there."""
    name = agent["agent"]
    waiting = facts.assigned.get(name, [])
    if how == "preemptive":
        waiting = [priority for priority in waiting if priority >= task["priority"]]
    return len(workforce.live_tasks(tx, name)) + len(waiting) < workforce.limit_of(tx, call, agent)
