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
from dibs.operations.claims import endings
from dibs.operations.core.call import TOKEN, check_agent_id, iso
from dibs.operations.core.declare import Field, Operation
from dibs.operations.core.policy import SECOND, STRATEGIES
from dibs.operations.messages import mailbox
from dibs.operations.tasks import board, lifecycle, pulls, strategies
from dibs.operations.tasks.lifecycle import EXECUTING, PLANNED
from dibs.stores.seam import prefix_range

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from dibs.operations.core.call import Call, Record
    from dibs.operations.tasks.strategies import Facts
    from dibs.stores.seam import Fetched, Transaction

BIDS = 256  # bids on one task
HIGHEST = 2**53 - 1  # what every JSON reader takes for the same number
RUNNERS_UP = 16  # bidders that are remembered in case the winner does not come
PRESS_EVERY = 5 * SECOND  # how often a waiting preemptive task looks for somebody to displace
DIRECT = "direct"  # what stands for the strategy where somebody named the agent


# --- assign


def _assign(tx: Transaction, call: Call, got: Fetched, id: str, strategy: str = "", to: str = "") -> Any:
    """Choose who shall do a task, and give it to that agent."""
    if strategy and to:
        raise Invalid("either --to names the agent, or --strategy says how to choose it", field="to")
    if strategy and strategy not in strategies.RANKS:
        raise Invalid(f"strategy: one of {', '.join(strategies.RANKS)}, not {strategy!r}", field="strategy")
    pulls.promote(tx, call)
    task = _open(tx, id)
    how = DIRECT if to else strategy or task["strategy"] or call.policy.work["tasks"]["strategy"]
    if how == "auction":
        if not task["window"]:  # one that runs stays as it is
            put_up(tx, call, task, request=call.request)
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
        _take_back(tx, task, "nobody who fits it has room; it is in the queue for whoever asks first")
        return _answer(tx, task, None)
    give(tx, call, task, chosen, how, by=call.agent, request=call.request)
    if how in strategies.ROTATING:
        strategies.given(tx, chosen, facts)
    return _answer(tx, task, chosen)


def _asks(tx: Transaction, call: Call, id: str, **_: Any) -> tuple[str, list[str]]:
    """Who added a task may give it to somebody, and whom it waits for may pass it on; else it is an orchestrator's."""
    task = board.known(tx, id)
    return ("", []) if task is None else ("orchestrator", [task["by"], *board.having(task)])


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
    state, until = pulls.breaker(tx, call, record)
    if state == "open":
        text = f"the last {record['strikes']} tasks of {to} failed or were lost: it gets none until {iso(tx, until)}."
        return Forbidden(text, task=identifier, agent=to, breaker=state, until=iso(tx, until))
    if not strategies.living(tx, call, facts, [to]):
        text = f"{to} is not there: killed, left, gone or long not seen. `dibs agents` shows who is."
        return Forbidden(text, task=identifier, agent=to)
    return None


def _choose(tx: Transaction, call: Call, task: Record, how: str, facts: Facts) -> str | None:
    """The first by the strategy who has room. Whoever asks goes before who was only seen, and not the caller itself."""
    there = [one for one in strategies.living(tx, call, facts) if one["agent"] != call.agent and _fits(one, task)]
    ranked = strategies.RANKS[how](task, there, facts)
    ranked.sort(key=lambda one: not strategies.asks(facts, one, task))
    for one in ranked:
        if how == "sticky" or _has_room(tx, call, one, task, how, facts):  # its own agent is worth waiting for
            return str(one["agent"])
    return _displace(tx, call, task, there) if how == "preemptive" else None


def _fits(agent: Record, task: Record) -> bool:
    return lifecycle.fits(agent, task["needs"], task["for"])


def _has_room(tx: Transaction, call: Call, agent: Record, task: Record, how: str, facts: Facts) -> bool:
    """May the agent have one more? What waits for it and matters less than a preemptive task does not count there."""
    name = agent["agent"]
    waiting = facts.assigned.get(name, [])
    if how == "preemptive":
        waiting = [priority for priority in waiting if priority >= task["priority"]]
    return len(pulls.live_tasks(tx, name)) + len(waiting) < pulls.limit_of(tx, call, agent)


def give(
    tx: Transaction, call: Call, task: Record, agent: str, how: str, *, by: str, request: str = "",
    amount: int | None = None, runners_up: Sequence[str] = (),
) -> None:  # fmt: skip
    """From now on the task waits for this agent, for a while."""
    before = task["assigned"]
    until = tx.now + call.policy.work["tasks"]["assign_wait"]
    _drop_bids(tx, task)
    task.update(assigned={"agent": agent, "until": until, "strategy": how, "by": by}, window=0, not_before=0)
    pulls.expect(tx, agent, until)
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
        _tell_lost(tx, task, before, f"{agent} has it now")
        text = (
            f"Task {task['task']} is yours: {task['title']}. Take it with `dibs task claim {task['task']}` "
            f"before {iso(tx, until)}; then it goes to others."
        )
        payload = {"task": task["task"], "title": task["title"], "priority": task["priority"]}
        mailbox.post(tx, agent, by, "task_assignment", text, payload=payload)
    pulls.wake(tx, [task])


def _take_back(tx: Transaction, task: Record, why: str) -> None:
    """Into the queue, for whoever asks first."""
    before = task["assigned"]
    if before is None and not task["window"]:
        return
    _drop_bids(tx, task)
    task.update(assigned=None, window=0, auctioned=True)
    lifecycle.put(tx, task)
    _tell_lost(tx, task, before, why)
    pulls.wake(tx, [task])


def _tell_lost(tx: Transaction, task: Record, before: Record | None, why: str) -> None:
    """The one for whom the task waited until now is told that it need not come."""
    if before is not None:
        text = f"Task {task['task']} ({task['title'][:200]}) is no longer assigned to you: {why}."
        mailbox.post(tx, before["agent"], "dibs", "task_withdrawn", text, task=task["task"])


# --- what came to its end without a word: called by taking.promote


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
    _take_back(tx, task, f"you did not take it before {iso(tx, before['until'])}, so it is in the queue again")


def _able(tx: Transaction, call: Call, task: Record, names: Sequence[str], facts: Facts) -> list[str]:
    """Those of these agents, in their order, that are there, fit and have room."""
    there = [one for one in strategies.living(tx, call, facts, names) if _fits(one, task)]
    return [one["agent"] for one in there if _has_room(tx, call, one, task, "auction", facts)]


# --- auctions


def put_up(tx: Transaction, call: Call, task: Record, request: str = "") -> None:
    """Let agents bid for a task. An earlier auction, or an assignment, is over with that."""
    before = task["assigned"]
    _drop_bids(tx, task)
    until = tx.now + _length(call, task)
    task.update(assigned=None, window=until, not_before=0)
    lifecycle.put(tx, task)
    event = {"until": until, **({"request": ["task assign", request]} if request else {})}
    tx.append("task.auctioned", call.agent, task["task"], event)
    _tell_lost(tx, task, before, f"it is auctioned until {iso(tx, until)}")


def _length(call: Call, task: Record) -> int:
    """How long bids are collected."""
    return int(task["bid_window"] or call.policy.work["tasks"]["bid_window"])


def _bid(tx: Transaction, call: Call, got: Fetched, id: str, amount: int) -> Any:
    """Offer to do a task; the highest offer gets it."""
    if not 0 <= amount <= HIGHEST:
        raise Invalid(f"amount: from 0 to {HIGHEST}", field="amount")
    pulls.says_it_works(tx, got.values[f"a\t{call.agent}"])
    pulls.promote(tx, call)
    task = _open(tx, id)
    if not task["window"]:
        text = f"task {id} is not auctioned now; `dibs task assign {id} --strategy auction` lets agents bid for it."
        raise Conflict(text, task=id, state=PLANNED)
    if not _fits(got.values[f"a\t{call.agent}"], task):
        asks = ", ".join([*([f"type {task['for']}"] if task["for"] else []), *task["needs"]])
        tx.append("call.refused", call.agent, f"task:{id}", {"code": "forbidden"})
        text = f"task {id} asks for {asks}; `dibs boot --type … --can …` says what you are."
        return Forbidden(text, task=id, needs=task["needs"], **{"for": task["for"]})
    bids = _bids(tx, task)
    mine = bids.get(call.agent)
    if mine is None and len(bids) >= BIDS:
        return Quota(what="bids on one task", limit=BIDS, task=id)
    if mine is None or mine["amount"] != amount:  # said again, it keeps its place among equal ones
        tx.put(f"tb\t{id}\t{call.agent}", {"agent": call.agent, "amount": amount, "commit": TOKEN})
        event = {"amount": amount, **({"request": ["task bid", call.request]} if call.request else {})}
        tx.append("task.bid", call.agent, id, event)
    count = len(bids) + (mine is None)
    return {"task": lifecycle.shown(tx, task), "amount": amount, "bids": count, "bids_until": iso(tx, task["window"])}


def _bids(tx: Transaction, task: Record) -> dict[str, Record]:
    """The bids on a task by who made them."""
    rows = tx.fetch((), [prefix_range(f"tb\t{task['task']}\t")], BIDS + 1).rows
    return {bid["agent"]: bid for _, bid in rows}


def _drop_bids(tx: Transaction, task: Record) -> None:
    for agent in _bids(tx, task):
        tx.delete(f"tb\t{task['task']}\t{agent}")


def _close(tx: Transaction, call: Call, task: Record) -> None:
    """The window is over: the best bidder that is still there gets the task. It opened anew if it passed unseen."""
    until = _ready_since(tx, task) + _length(call, task)
    if until > task["window"] and until > tx.now:  # it waited for other tasks while its window ran
        task["window"] = until
        lifecycle.put(tx, task)
        tx.append("task.auctioned", call.agent, task["task"], {"until": until})
        return
    facts = strategies.gather(tx, without=task["task"])
    facts.bids = _bids(tx, task)
    there = strategies.living(tx, call, facts, facts.bids)
    order = [one["agent"] for one in strategies.auction(task, there, facts)]
    able = _able(tx, call, task, order, facts)
    task["auctioned"] = True
    if not able:
        _take_back(tx, task, "")
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


# --- preemption


def _press(tx: Transaction, call: Call, task: Record) -> None:
    """A preemptive task lies in the queue: leave it to whoever waits and has room, else make somebody free for it."""
    chosen = _hard_pressed(tx, call, task) if _is_head(tx, task) else None
    if chosen is not None:
        give(tx, call, task, chosen, "preemptive", by="dibs")
        return
    task.update(pressed=tx.now + PRESS_EVERY, not_before=0)
    lifecycle.put(tx, task)
    pulls.wake(tx, [task])


def _is_head(tx: Transaction, task: Record) -> bool:
    """Is it the first of those that ask the same of an agent? Where that one finds nobody, none behind it does."""
    rows = tx.scan(1, f"ready\t{lifecycle.pool_of(task)}\t", 1).rows
    return not rows or rows[0][1] == lifecycle.key_of(task["task"])


def _hard_pressed(tx: Transaction, call: Call, task: Record) -> str | None:
    """The agent that loses what it works on to this task; None if somebody waits for work, or nobody can be pressed."""
    facts = strategies.gather(tx, without=task["task"])
    there = [one for one in strategies.living(tx, call, facts) if _fits(one, task)]
    for one in there:
        if one["agent"] in facts.waiting and _has_room(tx, call, one, task, "preemptive", facts):
            return None
    return _displace(tx, call, task, there)


def _displace(tx: Transaction, call: Call, task: Record, there: Sequence[Record]) -> str | None:
    """Take from one of these agents what matters least, and less than this task; of equal ones what began last."""
    found: list[tuple[tuple[int, int, str], Record, Record]] = []
    for agent in there:
        live = {claim["claim"]: claim for claim in pulls.live_tasks(tx, agent["agent"])}
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
        may="worker", others="orchestrator", asks=_asks, json="task, agent, queued",
    ),
    Operation(
        "task bid",
        _bid,
        "Bid for a task that is auctioned; the highest bid gets it.", group="tasks",
        fields=(
            board.ID,
            Field("amount", "number", "the bid, at least 0", positional=True, required=True, metavar="AMOUNT"),
        ),
        errors=(NotFound, Conflict, Forbidden, Quota, Invalid, Killed),
        may="worker", json="task, amount, bids, bids_until",
        takes=True,
    ),
)  # fmt: skip
