"""Placement of tasks: an assignment is given, taken back when it is not picked up, or made by preemption.

assignments.py has the operations `task assign` and `task bid`, strategies.py the order of the candidates.
"""

from __future__ import annotations

from dibs.errors import quoted
from dibs.operations.claims import endings
from dibs.operations.core.call import iso
from dibs.operations.core.policy import SECOND
from dibs.operations.messages import mailbox
from dibs.operations.tasks import auctions, board, lifecycle, records, strategies, workforce
from dibs.operations.tasks.lifecycle import EXECUTING

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.operations.agents.records import Agent
    from dibs.operations.claims.records import Claim
    from dibs.operations.core.call import Call
    from dibs.operations.tasks.events import TaskAssigned
    from dibs.operations.tasks.records import Assignment, Task
    from dibs.operations.tasks.strategies import Facts
    from dibs.stores.seam import Transaction


MAX_RUNNERS_UP = 16  # bidders that are kept in case the winner does not come


PREEMPTION_INTERVAL_MS = 5 * SECOND  # between two tries of a waiting preemptive task to displace another


def fits(agent: Agent, task: Task) -> bool:
    """Does the agent have the type and the capabilities that the task needs?"""
    return lifecycle.fits(agent, task["needs"], task["for"])


def new_assignment(
    tx: Transaction, call: Call, agent: str, strategy: str, *, by: str, runners_up: Sequence[str] = ()
) -> Assignment:
    """An assignment to this agent, from now on, for a limited time."""
    until = tx.now + call.policy.work["tasks"]["assign_wait"]
    assignment: Assignment = {"agent": agent, "until": until, "strategy": strategy, "by": by}
    if runners_up:
        assignment["next"] = list(runners_up[:MAX_RUNNERS_UP])
    return assignment


def give(tx: Transaction, task: Task, assignment: Assignment, *, amount: int | None = None, request: str = "") -> None:
    """Assign the task."""
    before, agent, until, by = task["assigned"], assignment["agent"], assignment["until"], assignment["by"]
    auctions.drop_bids(tx, task)
    task.update({"assigned": assignment, "window": 0, "not_before": 0})
    workforce.expect(tx, agent, until)
    records.put_task(tx, task)
    event: TaskAssigned = {"to": agent, "strategy": assignment["strategy"], "until": until}
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


def take_back(tx: Transaction, task: Task, why: str) -> None:
    """Put the task back into the queue, for the first agent that asks."""
    before = task["assigned"]
    if before is None and not task["window"]:
        return
    auctions.drop_bids(tx, task)
    task.update({"assigned": None, "window": 0, "auctioned": True})
    records.put_task(tx, task)
    auctions.tell_lost(tx, task, before, why)
    workforce.wake(tx, [task])


def over(tx: Transaction, call: Call, task: Task) -> None:
    """An assignment was not picked up, an auction ends, or a preemptive task waits too long."""
    if task["assigned"]:
        _lapse(tx, call, task, task["assigned"])
    elif task["window"]:
        _close(tx, call, task)
    else:
        _preempt(tx, call, task)


def _lapse(tx: Transaction, call: Call, task: Task, before: Assignment) -> None:
    """Assign it to the next best bidder; without one it is free for all."""
    tx.append("task.lapsed", before["agent"], task["task"], {"strategy": before["strategy"], "until": before["until"]})
    bidders = before.get("next", [])
    facts = strategies.gather(tx, without=task["task"])
    able = _able(tx, call, task, bidders, facts)
    if able:
        rest = bidders[bidders.index(able[0]) + 1 :]
        give(tx, task, new_assignment(tx, call, able[0], before["strategy"], by=before["by"], runners_up=rest))
        return
    take_back(tx, task, "you did not take it in time, so it is in the queue again")


def _able(tx: Transaction, call: Call, task: Task, names: Sequence[str], facts: Facts) -> list[str]:
    """The agents among these, in their order, that are there, fit and have room."""
    fitting = [agent for agent in strategies.living(tx, call, facts, names) if fits(agent, task)]
    return [agent["agent"] for agent in fitting if has_room(tx, call, agent, task, "auction", facts)]


def _close(tx: Transaction, call: Call, task: Task) -> None:
    """Close an auction: the best bidder that is still there gets the task. A window that passed unseen opens again."""
    until = _ready_since(tx, task) + auctions.length(call, task)
    if until > task["window"] and until > tx.now:  # the task waited for others during its window
        task["window"] = until
        records.put_task(tx, task)
        tx.append("task.auctioned", call.agent, task["task"], {"until": until})
        return
    facts = strategies.gather(tx, without=task["task"])
    facts.bids = auctions.bids(tx, task)
    bidders = strategies.living(tx, call, facts, facts.bids)
    order = [agent["agent"] for agent in strategies.auction(task, bidders, facts)]
    able = _able(tx, call, task, order, facts)
    task["auctioned"] = True
    if not able:
        take_back(tx, task, "")
        return
    rest = order[order.index(able[0]) + 1 :]
    amount = facts.bids[able[0]]["amount"]
    give(tx, task, new_assignment(tx, call, able[0], "auction", by="dibs", runners_up=rest), amount=amount)


def _ready_since(tx: Transaction, task: Task) -> int:
    """When the last dependency of this task was finished; 0 if it had none."""
    names = records.get_dependencies(tx, task["task"]) if task["after"] else []
    if task["total_kids"]:
        names += [
            records.end_of(key)
            for key in records.keys_below(tx, records.child_prefix(task["task"]), board.MAX_TASKS_LISTED)[0]
        ]
    return max([task["finished"] for task in records.get_tasks(tx, names).values() if task is not None], default=0)


def _preempt(tx: Transaction, call: Call, task: Task) -> None:
    """A preemptive task is in the queue: leave it to a waiting agent with room, else displace a running task."""
    chosen = _displaced_agent(tx, call, task) if _is_head(tx, task) else None
    if chosen is not None:
        give(tx, task, new_assignment(tx, call, chosen, "preemptive", by="dibs"))
        return
    task.update({"pressed": tx.now + PREEMPTION_INTERVAL_MS, "not_before": 0})
    records.put_task(tx, task)
    workforce.wake(tx, [task])


def _is_head(tx: Transaction, task: Task) -> bool:
    """Is it the first task of its pool? If that finds no agent, the tasks after it find none either."""
    rows, _ = records.scan_tasks(tx, records.ready(records.pool_of(task)), 1)
    return not rows or rows[0][1]["task"] == task["task"]


def _displaced_agent(tx: Transaction, call: Call, task: Task) -> str | None:
    """The agent that loses its running task to this one; None if an agent waits for work, or none can be displaced."""
    facts = strategies.gather(tx, without=task["task"])
    fitting = [agent for agent in strategies.living(tx, call, facts) if fits(agent, task)]
    for agent in fitting:
        if agent["agent"] in facts.waiting and has_room(tx, call, agent, task, "preemptive", facts):
            return None
    return displace(tx, call, task, fitting)


def displace(tx: Transaction, call: Call, task: Task, agents: Sequence[Agent]) -> str | None:
    """Take the least important running task, below this priority, from one of these agents; the newest of equals."""
    candidates: list[tuple[tuple[int, int, str], Claim, Task]] = []
    for agent in agents:
        live = {claim["claim"]: claim for claim in workforce.live_tasks(tx, agent["agent"])}
        for other in records.get_tasks(tx, [claim["task"] for claim in live.values()]).values():
            held = live.get(other["claim"]) if other is not None and other["state"] == EXECUTING else None
            if other is not None and held is not None and other["priority"] < task["priority"]:
                candidates.append(((other["priority"], -other["started"], agent["agent"]), held, other))
    if not candidates:
        return None
    _, claim, other = min(candidates, key=lambda candidate: candidate[0])
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


def has_room(tx: Transaction, call: Call, agent: Agent, task: Task, how: str, facts: Facts) -> bool:
    """May the agent have one more? For a preemptive task, less important assigned tasks do not count."""
    name = agent["agent"]
    waiting = facts.assigned.get(name, [])
    if how == "preemptive":
        waiting = [priority for priority in waiting if priority >= task["priority"]]
    return len(workforce.live_tasks(tx, name)) + len(waiting) < workforce.limit_of(tx, call, agent)
