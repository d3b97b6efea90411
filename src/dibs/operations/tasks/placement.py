"""Placement of tasks: an assignment is given, taken back when it is not picked up, or made by preemption.

assignments.py has the operations `task assign` and `task bid`, strategies.py the order of the candidates.
"""

from __future__ import annotations

from dibs.errors import quoted
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

    from dibs.operations.agents.records import Agent
    from dibs.operations.claims.records import Claim
    from dibs.operations.core.call import Call, Record
    from dibs.operations.tasks.strategies import Facts
    from dibs.stores.seam import Transaction


MAX_RUNNERS_UP = 16  # bidders that are kept in case the winner does not come


PREEMPTION_INTERVAL_MS = 5 * SECOND  # between two tries of a waiting preemptive task to displace another


def fits(agent: Agent, task: Record) -> bool:
    """Does the agent have the type and the capabilities that the task needs?"""
    return lifecycle.fits(agent, task["needs"], task["for"])


def give(
    tx: Transaction, call: Call, task: Record, agent: str, how: str, *, by: str, request: str = "",
    amount: int | None = None, runners_up: Sequence[str] = (),
) -> None:  # fmt: skip
    """Assign the task to this agent, for a limited time."""
    before = task["assigned"]
    until = tx.now + call.policy.work["tasks"]["assign_wait"]
    auctions.drop_bids(tx, task)
    task.update(assigned={"agent": agent, "until": until, "strategy": how, "by": by}, window=0, not_before=0)
    workforce.expect(tx, agent, until)
    if runners_up:
        task["assigned"]["next"] = list(runners_up[:MAX_RUNNERS_UP])
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
            f"Task {task['task']} is yours: {task['title']}. Take it with `dibs task claim {quoted(task['task'])}` "
            f"before {iso(tx, until)}; after that it goes to other agents."
        )
        payload = {"task": task["task"], "title": task["title"], "priority": task["priority"]}
        mailbox.post(tx, agent, by, "task_assignment", text, payload=payload, task=task["task"])
    workforce.wake(tx, [task])


def take_back(tx: Transaction, task: Record, why: str) -> None:
    """Put the task back into the queue, for the first agent that asks."""
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
        _preempt(tx, call, task)


def _lapse(tx: Transaction, call: Call, task: Record) -> None:
    """Assign it to the next best bidder; without one it is free for all."""
    before = task["assigned"]
    tx.append("task.lapsed", before["agent"], task["task"], {"strategy": before["strategy"], "until": before["until"]})
    bidders = before.get("next", [])
    facts = strategies.gather(tx, without=task["task"])
    able = _able(tx, call, task, bidders, facts)
    if able:
        rest = bidders[bidders.index(able[0]) + 1 :]
        give(tx, call, task, able[0], before["strategy"], by=before["by"], runners_up=rest)
        return
    take_back(tx, task, "you did not take it in time, so it is in the queue again")


def _able(tx: Transaction, call: Call, task: Record, names: Sequence[str], facts: Facts) -> list[str]:
    """The agents among these, in their order, that are there, fit and have room."""
    there = [one for one in strategies.living(tx, call, facts, names) if fits(one, task)]
    return [one["agent"] for one in there if has_room(tx, call, one, task, "auction", facts)]


def _close(tx: Transaction, call: Call, task: Record) -> None:
    """Close an auction: the best bidder that is still there gets the task. A window that passed unseen opens again."""
    until = _ready_since(tx, task) + auctions.length(call, task)
    if until > task["window"] and until > tx.now:  # the task waited for others during its window
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
    """When the last dependency of this task was finished; 0 if it had none."""
    names: list[str] = []
    if task["after"]:
        kept = tx.get(f"ta\t{task['task']}")
        names += kept["after"] if kept is not None else []
    if task["total_kids"]:
        prefix = f"tc\t{task['task']}\t"
        names += [key[len(prefix) :] for key, _ in tx.fetch([prefix_range(prefix)], board.MAX_TASKS_LISTED).rows]
    return max([task["finished"] for task in lifecycle.load_all(tx, names).values() if task is not None], default=0)


def _preempt(tx: Transaction, call: Call, task: Record) -> None:
    """A preemptive task is in the queue: leave it to a waiting agent with room, else displace a running task."""
    chosen = _displaced_agent(tx, call, task) if _is_head(tx, task) else None
    if chosen is not None:
        give(tx, call, task, chosen, "preemptive", by="dibs")
        return
    task.update(pressed=tx.now + PREEMPTION_INTERVAL_MS, not_before=0)
    lifecycle.put(tx, task)
    workforce.wake(tx, [task])


def _is_head(tx: Transaction, task: Record) -> bool:
    """Is it the first task of its pool? If that finds no agent, the tasks after it find none either."""
    rows = tx.scan(1, f"ready\t{lifecycle.pool_of(task)}\t", 1).rows
    return not rows or rows[0][1] == lifecycle.key_of(task["task"])


def _displaced_agent(tx: Transaction, call: Call, task: Record) -> str | None:
    """The agent that loses its running task to this one; None if an agent waits for work, or none can be displaced."""
    facts = strategies.gather(tx, without=task["task"])
    there = [one for one in strategies.living(tx, call, facts) if fits(one, task)]
    for one in there:
        if one["agent"] in facts.waiting and has_room(tx, call, one, task, "preemptive", facts):
            return None
    return displace(tx, call, task, there)


def displace(tx: Transaction, call: Call, task: Record, there: Sequence[Agent]) -> str | None:
    """Take the least important running task, below this priority, from one of these agents; the newest of equals."""
    found: list[tuple[tuple[int, int, str], Claim, Record]] = []
    for agent in there:
        live = {claim["claim"]: claim for claim in workforce.live_tasks(tx, agent["agent"])}
        values = tx.get_many([lifecycle.key_of(claim["task"]) for claim in live.values()])
        for other in [lifecycle.full(record) for record in values.values() if record is not None]:
            held = live.get(other["claim"]) if other["state"] == EXECUTING else None
            if held is not None and other["priority"] < task["priority"]:
                found.append(((other["priority"], -other["started"], agent["agent"]), held, other))
    if not found:
        return None
    _, claim, other = min(found, key=lambda one: one[0])
    loser = str(claim["agent"])
    endings.end(tx, claim, "preempted")
    endings.serve(tx, claim["resources"])
    text = (
        f"Task {other['task']} ({other['title'][:200]}) was taken from you for {task['task']} ({task['title'][:200]}), "
        f"which matters more: priority {task['priority']}, not {other['priority']}. It is in the queue again and token "
        f"{claim['token']} is void. Stop working on it."
    )
    mailbox.post(tx, loser, call.agent, "preempted", text, task=other["task"], by=task["task"])
    return loser


def has_room(tx: Transaction, call: Call, agent: Agent, task: Record, how: str, facts: Facts) -> bool:
    """May the agent have one more? For a preemptive task, less important assigned tasks do not count."""
    name = agent["agent"]
    waiting = facts.assigned.get(name, [])
    if how == "preemptive":
        waiting = [priority for priority in waiting if priority >= task["priority"]]
    return len(workforce.live_tasks(tx, name)) + len(waiting) < workforce.limit_of(tx, call, agent)
