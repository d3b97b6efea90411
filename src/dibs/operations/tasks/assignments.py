"""Tasks that are given to agents: `task assign`, auctions with `task bid`, preemption.

In short (strategies.py has the order of the candidates):
- success: the task waits for the chosen agent, which gets a message and is woken; no other agent gets it meanwhile.
- no fitting agent has room: the task stays in the queue for the first agent that asks, and the answer says so.
- expiry: if it is not picked up in time, it goes to the next best bidder, else back to the queue; the agent is told.
  Decided by the clock whenever an agent looks for work (due_tasks.promote).
- auction: bids are collected for a while, then the highest bidder gets the task. A bidder that is gone, keeps failing
  or has no room is skipped. Without bids the task is free for all. A task has one auction: if it comes back to the
  queue later, failed or given back, it is free for all, until `task assign --strategy auction` auctions it again.
- preemption: if no agent is free, the fitting agent with the least important running task, of lower priority than this
  one, loses that task. It is told; the lost task goes back to the queue and counts against nobody; its late result is
  refused.
- retry: the same request id gets the first answer. Assigned again to the same agent, only the deadline starts again.
"""

from __future__ import annotations

from dibs.errors import Conflict, Forbidden, Invalid, Killed, NotFound, Quota, quoted
from dibs.operations.agents import names
from dibs.operations.agents.records import get_agent, registered_agent
from dibs.operations.core.call import TOKEN, check_agent_id, iso, span
from dibs.operations.core.declare import Field, Operation
from dibs.operations.core.policy import STRATEGIES
from dibs.operations.tasks import (
    auctions,
    board,
    due_tasks,
    holders,
    lifecycle,
    placement,
    records,
    strategies,
    workforce,
)
from dibs.operations.tasks.lifecycle import PLANNED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.errors import DibsError
    from dibs.operations.core.call import Call
    from dibs.operations.tasks.answers import TaskAssignAnswer, TaskBidAnswer
    from dibs.operations.tasks.records import Task
    from dibs.operations.tasks.requests import TaskAssignRequest, TaskBidRequest
    from dibs.operations.tasks.strategies import Facts
    from dibs.stores.seam import Transaction

MAX_BID = 2**53 - 1  # the greatest number that every JSON reader reads exactly
DIRECT = "direct"  # stands for the strategy if the caller named the agent


# --- assign


def _assign(tx: Transaction, call: Call, request: TaskAssignRequest) -> TaskAssignAnswer | DibsError:
    """Choose an agent for a task, and give the task to it."""
    name, to = request["id"], request["to"]
    if request["strategy"] and to:
        raise Invalid("either --to names the agent, or --strategy says how to choose it", field="to")
    due_tasks.promote(tx, call)
    task = _assignable(tx, name)
    how = DIRECT if to else request["strategy"] or task["strategy"] or call.policy.work["tasks"]["strategy"]
    if how == "auction":
        if not task["window"]:  # a running auction stays as it is
            auctions.put_up(tx, call, task, request=call.request)
        return _answer(tx, task, None)
    facts = strategies.gather(tx, without=name)
    if to:
        refusal = _unable(tx, call, task, to, facts)
        if refusal is not None:
            tx.append("call.refused", call.agent, f"task:{name}", {"code": refusal.code})
            return refusal
        chosen: str | None = to
    else:
        chosen = _choose(tx, call, task, how, facts)
    if chosen is None:
        placement.take_back(tx, task, "no agent that fits has room; it is in the queue for the first agent that asks")
        answer = _answer(tx, task, None)
        answer["why"] = _nobody(tx, call, task, facts)
        return answer
    placement.give(tx, task, placement.new_assignment(tx, call, chosen, how, by=call.agent), request=call.request)
    if how in strategies.ROTATING_STRATEGIES:
        strategies.given(tx, chosen, facts)
    return _answer(tx, task, chosen)


def _nobody(tx: Transaction, call: Call, task: Task, facts: Facts) -> str:
    """Why no agent was found for a task."""
    others = [agent for agent in strategies.living(tx, call, facts) if agent["agent"] != call.agent]
    if not others:
        return "no other agent is there that takes tasks"
    if task["for"] and not any(agent["type"] == task["for"] for agent in others):
        return f"no agent of type {task['for']} is there"
    if not any(placement.fits(agent, task) for agent in others):
        return f"no agent{' of that type' if task['for'] else ''} with {', '.join(task['needs'])} is there"
    return "every agent that fits it has as many tasks as it may have"


def _asks(tx: Transaction, call: Call, request: TaskAssignRequest) -> tuple[str, list[str]]:
    """The agent that added a task may assign it; its assigned agent may pass it on; else an orchestrator."""
    task = holders.find(tx, request["id"])
    return ("", []) if task is None else ("orchestrator", [task["by"], *holders.having(task)])


def _assignable(tx: Transaction, identifier: str) -> Task:
    """A task that could be assigned now."""
    task = records.load_task(tx, identifier)
    if task["state"] != PLANNED:
        text = f"task {identifier} is {task['state']}; only a planned task can be assigned."
        raise Conflict(text, task=identifier, state=task["state"])
    if task["open"] or task["kids"]:
        which = "its children" if task["kids"] else "the tasks that it comes after"
        text = f"task {identifier} waits for {which}; `dibs task show {quoted(identifier)}` lists them."
        raise Conflict(text, task=identifier, state=PLANNED, waits_for=task["open"], children=task["kids"])
    return task


def _answer(tx: Transaction, task: Task, agent: str | None) -> TaskAssignAnswer:
    return {"task": lifecycle.shown(tx, task), "agent": agent, "queued": agent is None}


def _unable(tx: Transaction, call: Call, task: Task, to: str, facts: Facts) -> Forbidden | None:
    """Why the named agent cannot have the task; None if it can."""
    check_agent_id(to)
    record = get_agent(tx, to)
    if record is None:
        raise names.unknown(tx, to)
    identifier = task["task"]
    if not record.get("works") and to != call.agent:  # an agent that names itself asks for work by that
        ways = (
            "`dibs task next`" if record.get("kind") == "person" else "`dibs task next`, `dibs boot` or `dibs run join`"
        )
        text = f"{to} has not asked for work: {ways} by {to} does that."
        return Forbidden(text, task=identifier, agent=to)
    if not lifecycle.fits(record, task["needs"], task["for"]):
        return Forbidden(
            lifecycle.unfit(task, to), task=identifier, agent=to, needs=task["needs"], **{"for": task["for"]}
        )
    state, until = workforce.breaker(tx, call, record)
    if state == "open":
        left = span(until - tx.now)
        text = f"the last {record['strikes']} tasks of {to} failed or were lost: it gets none for another {left}."
        return Forbidden(text, task=identifier, agent=to, breaker=state, until=iso(tx, until))
    if not strategies.living(tx, call, facts, [to]):
        text = f"{to} is not available: killed, left, gone or silent. `dibs agents` lists those that are."
        return Forbidden(text, task=identifier, agent=to)
    return None


def _choose(tx: Transaction, call: Call, task: Task, how: str, facts: Facts) -> str | None:
    """The first candidate with room, by the strategy: agents that ask before agents that were only seen."""
    others = [agent for agent in strategies.living(tx, call, facts) if agent["agent"] != call.agent]
    fitting = [agent for agent in others if placement.fits(agent, task)]
    ranked = strategies.RANKS[how](task, fitting, facts)
    ranked.sort(key=lambda agent: not strategies.asks(facts, agent, task))
    for agent in ranked:
        # it is worth waiting for its own agent
        if how == "sticky" or placement.has_room(tx, call, agent, task, how, facts):
            return agent["agent"]
    return placement.displace(tx, call, task, fitting) if how == "preemptive" else None


# --- expired assignments and auctions: see placement.py


# --- auctions


def _bid(tx: Transaction, call: Call, request: TaskBidRequest) -> TaskBidAnswer | DibsError:
    """Offer to do a task; the highest offer gets it."""
    name, amount = request["id"], request["amount"]
    agent = registered_agent(tx, call.agent)
    workforce.mark_as_worker(tx, agent)
    due_tasks.promote(tx, call)
    task = _assignable(tx, name)
    if not task["window"]:
        how = f"`dibs task assign {quoted(name)} --strategy auction`"
        text = f"task {name} is not auctioned now; {how} lets agents bid for it."
        raise Conflict(text, task=name, state=PLANNED)
    if not placement.fits(agent, task):
        tx.append("call.refused", call.agent, f"task:{name}", {"code": "forbidden"})
        return Forbidden(lifecycle.unfit(task), task=name, needs=task["needs"], **{"for": task["for"]})
    bids = auctions.bids(tx, task)
    own_bid = bids.get(call.agent)
    if own_bid is None and len(bids) >= auctions.MAX_BIDS:
        return Quota(what="bids on one task", limit=auctions.MAX_BIDS, task=name)
    if own_bid is None or own_bid["amount"] != amount:  # the same bid again keeps its place among equal ones
        records.put_bid(tx, name, {"agent": call.agent, "amount": amount, "commit": TOKEN})
        event = {"amount": amount, **({"request": ["task bid", call.request]} if call.request else {})}
        tx.append("task.bid", call.agent, name, event)
    count = len(bids) + (own_bid is None)
    return {"task": lifecycle.shown(tx, task), "amount": amount, "bids": count, "bids_until": iso(tx, task["window"])}


# --- preemption


OPERATIONS = (
    Operation(
        "task assign",
        _assign,
        "Assign a task to an agent, named or chosen by a strategy; the agent is notified.", group="tasks",
        fields=(
            board.ID,
            Field(
                "strategy", "choice", "how to choose (default: the task's, else the config's)", default="",
                choices=STRATEGIES,
            ),
            Field("to", "agent", "the agent to give it to", default="", metavar="AGENT"),
        ),
        errors=(NotFound, Conflict, Forbidden, Invalid, Killed),
        rank="worker", max_rank="orchestrator", required_rank=_asks, answer="TaskAssignAnswer",
    ),
    Operation(
        "task bid",
        _bid,
        "Bid for a task that is auctioned; the highest bid gets it.", group="tasks",
        fields=(
            board.ID,
            Field("amount", "number", "the bid, at least 0", positional=True, required=True, least=0, most=MAX_BID,
                  metavar="AMOUNT"),
        ),
        errors=(NotFound, Conflict, Forbidden, Quota, Invalid, Killed),
        rank="worker", answer="TaskBidAnswer",
        takes=True,
    ),
)  # fmt: skip
