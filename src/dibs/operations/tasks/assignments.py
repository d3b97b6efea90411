"""Giving tasks to agents instead of waiting for them to ask: `task assign`, auctions with `task bid`, preemption.

What happens, in short (strategies.py says who is first):
- success: the task waits for the chosen agent, which gets a message and is woken; nobody else gets it meanwhile.
- nobody fits or has room: it stays in the queue for whoever asks first, and the answer says so.
- expiry: not picked up in time, it goes to the next best bidder, else back to the queue; the agent is told. Decided by
  the clock whenever anybody looks for work (taking.promote).
- auction: bids are collected for a while, then the highest one has it. A bidder that vanished meanwhile, keeps failing
  or has all that it may have is skipped. Without bids the task is anybody's. A task has one auction: what comes back to
  the queue later, failed or given back, is anybody's too, until `task assign --strategy auction` puts it up anew.
- preemption: where nobody is free, the fitting agent at work on what matters least, and less than this, loses that. It
  is told, the task it loses returns to the queue and counts against nobody, and its late result is refused.
- again: with the same request id the same answer. Assigned again to the same agent, only the time begins anew.
"""

from __future__ import annotations

from dibs.errors import Conflict, Forbidden, Invalid, Killed, NotFound, Quota
from dibs.operations.agents import names
from dibs.operations.core.call import TOKEN, check_agent_id, iso
from dibs.operations.core.declare import Field, Operation
from dibs.operations.core.policy import STRATEGIES
from dibs.operations.tasks import auctions, board, due_tasks, holders, lifecycle, placement, strategies, workforce
from dibs.operations.tasks.lifecycle import PLANNED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dibs.operations.core.call import Call, Record
    from dibs.operations.tasks.strategies import Facts
    from dibs.stores.seam import Fetched, Transaction

HIGHEST = 2**53 - 1  # what every JSON reader takes for the same number
DIRECT = "direct"  # what stands for the strategy where somebody named the agent


# --- assign


def _assign(tx: Transaction, call: Call, got: Fetched, id: str, strategy: str = "", to: str = "") -> Any:
    """Choose who shall do a task, and give it to that agent."""
    if strategy and to:
        raise Invalid("either --to names the agent, or --strategy says how to choose it", field="to")
    due_tasks.promote(tx, call)
    task = _open(tx, id)
    how = DIRECT if to else strategy or task["strategy"] or call.policy.work["tasks"]["strategy"]
    if how == "auction":
        if not task["window"]:  # one that runs stays as it is
            auctions.put_up(tx, call, task, request=call.request)
        return _answer(tx, task, None)
    facts = strategies.gather(tx, without=id)
    if to:
        refusal = _unable(tx, call, task, to, facts)
        if refusal is not None:
            tx.append("call.refused", call.agent, f"task:{id}", {"code": refusal.code})
            return refusal
        chosen: str | None = to
    else:
        chosen = _choose(tx, call, task, how, facts)
    if chosen is None:
        placement.take_back(tx, task, "nobody who fits it has room; it is in the queue for whoever asks first")
        return _answer(tx, task, None)
    placement.give(tx, call, task, chosen, how, by=call.agent, request=call.request)
    if how in strategies.ROTATING:
        strategies.given(tx, chosen, facts)
    return _answer(tx, task, chosen)


def _asks(tx: Transaction, call: Call, id: str, **_: Any) -> tuple[str, list[str]]:
    """Who added a task may give it to somebody, and whom it waits for may pass it on; else it is an orchestrator's."""
    task = holders.known(tx, id)
    return ("", []) if task is None else ("orchestrator", [task["by"], *holders.having(task)])


def _open(tx: Transaction, identifier: str) -> Record:
    """A task that could be given to somebody now."""
    task = lifecycle.load(tx, identifier)
    if task["state"] != PLANNED:
        text = f"task {identifier} is {task['state']}; only a planned one can be given to somebody."
        raise Conflict(text, task=identifier, state=task["state"])
    if task["open"] or task["kids"]:
        which = "its children" if task["kids"] else "the tasks that it comes after"
        text = f"task {identifier} waits for {which}; `dibs task show {identifier}` lists them."
        raise Conflict(text, task=identifier, state=PLANNED, waits_for=task["open"], children=task["kids"])
    return task


def _answer(tx: Transaction, task: Record, agent: str | None) -> dict[str, Any]:
    return {"task": lifecycle.shown(tx, task), "agent": agent, "queued": agent is None}


def _unable(tx: Transaction, call: Call, task: Record, to: str, facts: Facts) -> Forbidden | None:
    """Why the agent that somebody named cannot have the task; None if it can."""
    check_agent_id(to)
    record: Record | None = tx.fetch([f"a\t{to}"]).values[f"a\t{to}"]
    if record is None:
        raise names.unknown(tx, to)
    identifier = task["task"]
    if not record.get("works") and to != call.agent:  # naming itself is saying so
        text = f"{to} did not say that it works: it must ask (`dibs task next`), `dibs boot` as an agent or join a run."
        return Forbidden(text, task=identifier, agent=to)
    if not lifecycle.fits(record, task["needs"], task["for"]):
        asks = ", ".join([*([f"type {task['for']}"] if task["for"] else []), *task["needs"]])
        text = f"task {identifier} asks for {asks}, and {to} is not that; `dibs agents` shows who is."
        return Forbidden(text, task=identifier, agent=to, needs=task["needs"], **{"for": task["for"]})
    state, until = workforce.breaker(tx, call, record)
    if state == "open":
        text = f"the last {record['strikes']} tasks of {to} failed or were lost: it gets none until {iso(tx, until)}."
        return Forbidden(text, task=identifier, agent=to, breaker=state, until=iso(tx, until))
    if not strategies.living(tx, call, facts, [to]):
        text = f"{to} is not there: killed, left, gone or long not seen. `dibs agents` shows who is."
        return Forbidden(text, task=identifier, agent=to)
    return None


def _choose(tx: Transaction, call: Call, task: Record, how: str, facts: Facts) -> str | None:
    """The first by the strategy who has room. Whoever asks goes before who was only seen, and not the caller itself."""
    there = [
        one for one in strategies.living(tx, call, facts) if one["agent"] != call.agent and placement.fits(one, task)
    ]
    ranked = strategies.RANKS[how](task, there, facts)
    ranked.sort(key=lambda one: not strategies.asks(facts, one, task))
    for one in ranked:
        if how == "sticky" or placement.has_room(tx, call, one, task, how, facts):  # its own agent is worth waiting for
            return str(one["agent"])
    return placement.displace(tx, call, task, there) if how == "preemptive" else None


# --- what came to its end without a word: called by taking.promote


# --- auctions


def _bid(tx: Transaction, call: Call, got: Fetched, id: str, amount: int) -> Any:
    """Offer to do a task; the highest offer gets it."""
    workforce.says_it_works(tx, got.values[f"a\t{call.agent}"])
    due_tasks.promote(tx, call)
    task = _open(tx, id)
    if not task["window"]:
        text = f"task {id} is not auctioned now; `dibs task assign {id} --strategy auction` lets agents bid for it."
        raise Conflict(text, task=id, state=PLANNED)
    if not placement.fits(got.values[f"a\t{call.agent}"], task):
        asks = ", ".join([*([f"type {task['for']}"] if task["for"] else []), *task["needs"]])
        tx.append("call.refused", call.agent, f"task:{id}", {"code": "forbidden"})
        text = f"task {id} asks for {asks}; `dibs boot --type … --can …` says what you are."
        return Forbidden(text, task=id, needs=task["needs"], **{"for": task["for"]})
    bids = auctions.bids(tx, task)
    mine = bids.get(call.agent)
    if mine is None and len(bids) >= auctions.BIDS:
        return Quota(what="bids on one task", limit=auctions.BIDS, task=id)
    if mine is None or mine["amount"] != amount:  # said again, it keeps its place among equal ones
        tx.put(f"tb\t{id}\t{call.agent}", {"agent": call.agent, "amount": amount, "commit": TOKEN})
        event = {"amount": amount, **({"request": ["task bid", call.request]} if call.request else {})}
        tx.append("task.bid", call.agent, id, event)
    count = len(bids) + (mine is None)
    return {"task": lifecycle.shown(tx, task), "amount": amount, "bids": count, "bids_until": iso(tx, task["window"])}


# --- preemption


OPERATIONS = (
    Operation(
        "task assign",
        _assign,
        "Assign a task to an agent, named or chosen by a strategy; the agent is told.", group="tasks",
        fields=(
            board.ID,
            Field(
                "strategy", "choice", "how to choose (default: the task's, else the config's)", default="",
                choices=STRATEGIES,
            ),
            Field("to", "agent", "the agent to give it to", default="", metavar="AGENT"),
        ),
        errors=(NotFound, Conflict, Forbidden, Invalid, Killed),
        may="worker", others="orchestrator", asks=_asks, answer="TaskAssignAnswer",
    ),
    Operation(
        "task bid",
        _bid,
        "Bid for a task that is auctioned; the highest bid gets it.", group="tasks",
        fields=(
            board.ID,
            Field("amount", "number", "the bid, at least 0", positional=True, required=True, least=0, most=HIGHEST,
                  metavar="AMOUNT"),
        ),
        errors=(NotFound, Conflict, Forbidden, Quota, Invalid, Killed),
        may="worker", answer="TaskBidAnswer",
        takes=True,
    ),
)  # fmt: skip
