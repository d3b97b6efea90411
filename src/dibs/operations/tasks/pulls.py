"""Pulls: an agent takes the best ready task (`task next`), or a specific one (`task claim`).

- success: in one transaction the task is the caller's, under a claim on `task:ID` whose token finishes it.
- refusal: an agent with a live task gets no second unless `max_tasks` allows; an agent whose breaker is open gets none;
  if nothing is ready the answer says so, or `--wait` waits.
- expiry, death: the end of the claim gives the task back to the queue (outcomes.py). A caller that finds nothing ready
  looks for tasks of dead holders before it gives up.
- race: transactions are decided one after the other; a task is given once.
"""

from __future__ import annotations

import itertools

from dibs.errors import Conflict, Deadlock, Fenced, Forbidden, Held, Invalid, Killed, NotFound, Quota, quoted
from dibs.operations.agents.records import get_agent, registered_agent
from dibs.operations.claims import endings, views
from dibs.operations.claims import records as claim_records
from dibs.operations.core import long_jobs
from dibs.operations.core.call import FOLLOW_UPS, TOKEN, Continue, Wait, iso, span
from dibs.operations.core.declare import WAITING, Field, Operation
from dibs.operations.core.policy import MAX_WAIT_MS
from dibs.operations.tasks import board, due_tasks, holders, lifecycle, records, workforce
from dibs.operations.tasks.lifecycle import EXECUTING, PLANNED
from dibs.stores.seam import COMMIT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dibs.errors import DibsError
    from dibs.operations.agents.records import Agent
    from dibs.operations.claims.records import Claim, Terms, Waiter, Want
    from dibs.operations.core.call import Call
    from dibs.operations.tasks.answers import HeldTask, TakenTask, TaskTakeAnswer
    from dibs.operations.tasks.records import Task, TaskWaiter, TaskWant, WorkWaiter
    from dibs.operations.tasks.requests import TaskClaimRequest, TaskNextRequest
    from dibs.stores.seam import Json, Transaction

POLL_MS = 1_000  # of a waiter: it notices a dead holder within seconds
ORPHANS_PER_TRIP = 256  # running tasks, all of which are checked for dead holders before the answer is "nothing"
READY_TASKS_PER_TRIP = 32  # where the strategy may skip the first ones for this agent


# --- next


def _next(tx: Transaction, call: Call, request: TaskNextRequest) -> TaskTakeAnswer | Continue | Wait | DibsError:
    """The best task that is ready for this agent, in one transaction."""
    run, waiter = request["run"], request["waiter"]
    agent = registered_agent(tx, call.agent)
    workforce.mark_as_worker(tx, agent)
    due = due_tasks.promote(tx, call)
    if due.done:  # one of them may be assigned to this agent now
        agent = registered_agent(tx, call.agent)
    refusal = _refused(tx, call, agent)
    task = None
    if refusal is None:
        task = best(tx, call, agent, run)
        jobs = long_jobs.about_tasks(call.jobs) if task is None and call.jobs else []
        if task is None and (due.more or jobs):
            if jobs:
                long_jobs.take_step(tx, jobs[0])
            return Continue()  # the next step may find something
        if task is None and _gather_orphans(tx, call):
            task = best(tx, call, agent, run)
        handed = FOLLOW_UPS.started(tx, call, "") if task is None else []
        if handed:
            return _handed(tx, records.load_task(tx, handed[0]), waiter)
    if task is not None:
        if waiter:
            records.delete_waiter(tx, waiter)
        return grant(tx, call, task)
    if request["wait"] > 0 and not isinstance(refusal, Quota):
        return _wait(tx, call, agent, request, run=run)
    if waiter:
        records.delete_waiter(tx, waiter)
    if refusal is not None:
        return refusal
    return NotFound(_nothing(tx, run), ready=0)  # returned, not raised: the handled due and lost tasks are kept


def _handed(tx: Transaction, task: Task, waiter: str) -> TaskTakeAnswer:
    """A task that the caller took over from another agent just now."""
    if waiter:
        records.delete_waiter(tx, waiter)
    claim = holders.live_claim(tx, task)
    assert claim is not None, "it was just granted"
    return taken(tx, task, claim)


def _nothing(tx: Transaction, run: str) -> str:
    """Why there is nothing to do: no task at all, none of this run, or none for this agent."""
    others = [head for head in records.pool_heads(tx) if not run or head["run"] == run]
    if others:
        return f"no task is ready for you; {lifecycle.unfit(others[0])}"
    if run:
        return f"no task of run {run} is ready; `dibs task next --run {quoted(run)} --wait 60s` waits for one."
    return "no task is ready; `dibs task next --wait 60s` waits for one."


def best(tx: Transaction, call: Call, agent: Agent, run: str) -> Task | None:
    """The ready task of the highest priority, then the oldest, among those that the agent may take."""
    if agent.get("assigned", 0) > tx.now:
        assigned = _first(tx, call, agent, records.assigned_to(call.agent), run)
        if assigned is not None:
            return assigned
    chosen: Task | None = None
    for head in records.pool_heads(tx):
        if not lifecycle.fits(agent, head["needs"], head["for"]):
            continue
        if chosen is not None and _rank(head) > _rank(chosen):
            continue
        task = _first(tx, call, agent, records.ready(records.pool_of(head)), run, head)
        if task is not None and (chosen is None or _rank(task) < _rank(chosen)):
            chosen = task
    return chosen


def _rank(task: Task) -> tuple[int, str]:
    return -task["priority"], records.order_of(task)


def _first(tx: Transaction, call: Call, agent: Agent, prefix: str, run: str, head: Task | None = None) -> Task | None:
    """The first task below a prefix that this agent may have; `head` is the very first, if it was read already."""
    if head is not None and _may_have(tx, call, agent, head, run):
        return head
    after = ""
    while True:
        rows, truncated = records.scan_tasks(tx, prefix, READY_TASKS_PER_TRIP, after)
        for _, task in rows:
            if _may_have(tx, call, agent, task, run):
                return task
        if not truncated or (call.jobs and long_jobs.covering(tx, task, call.jobs) is not None):
            return None  # a job is cancelling these tasks; its next step comes before the next look
        after = rows[-1][0]


def _may_have(tx: Transaction, call: Call, agent: Agent, task: Task, run: str) -> bool:
    """May this agent have this task now, by its run, its strategy, and the holder of its name?"""
    if (run and task["run"] != run) or task["awaited"] > tx.now:
        return False
    if call.jobs and long_jobs.covering(tx, task, call.jobs) is not None:
        return False
    strategy = task["strategy"] or call.policy.work["tasks"]["strategy"]
    if strategy != "priority" and not task["assigned"]:
        from dibs.operations.tasks import strategies

        if not strategies.may_pull(tx, call, agent, task, strategy):
            return False
    return workforce.early_claim(tx, call, task) is None


def grant(
    tx: Transaction, call: Call, task: Task, *, agent: str = "", left: int = 0, held: int = 0, origin: str = ""
) -> TaskTakeAnswer:
    """Grant the task to the caller, or to `agent`: a claim on its name, and the state executing.

    The agent may have had the task before by other means: since `held`, and this much of its time is `left`.
    `origin`: see registries.py.
    """
    holder = agent or call.agent
    wanted = [lifecycle.resource_of(task["task"])]
    ttl, life = call.policy.lifetime(wanted, None)
    terms: Terms = {
        "agent": holder, "mode": "write", "tree": "", "resources": wanted, "reason": task["title"],
        "task": task["task"], "expect": task["expect"], "ttl": ttl, "life": life, "fixed": False, "by": "task",
        "tied": call.from_current_process and not agent,
    }  # fmt: skip
    alert_at = tx.now + 2 * task["expect"] if task["expect"] else 0
    until = tx.now + min(left or ttl, ttl)
    claim = claim_records.new_claim(tx, terms, until=until, pending=False, alert_at=alert_at, base={}, ends="")
    claim["since"] -= held
    endings.grant(tx, claim, "request", [call.operation, call.request] if call.request else None)
    lifecycle.move(tx, holder, task, EXECUTING, claim=claim["claim"], token=TOKEN)
    task.update({
        "agent": holder, "claim": claim["claim"], "started": tx.now - held, "finished": 0, "assigned": None,
        "window": 0, "not_before": 0, "progress": 0, "origin": origin,
    })  # fmt: skip
    records.put_task(tx, task)
    return taken(tx, task, claim)


def taken(tx: Transaction, task: Task, claim: Claim) -> TaskTakeAnswer:
    """The answer to an agent that takes a task: everything needed to work on it."""
    view: Json = lifecycle.shown(tx, task)
    shown: TakenTask = view
    if task["payload"]:
        shown["payload"] = tx.get(records.payload_key(task["task"]))
    if task["after"] or task["total_kids"]:
        shown["inputs"] = True  # `task inputs` has them
    return {"task": shown, "token": claim["token"], "claim": claim["claim"], "expires_at": iso(tx, claim["until"])}


def follow_up(tx: Transaction, call: Call, run: str) -> TaskTakeAnswer | None:
    """The next task for an agent that has just finished one; None if nothing is ready."""
    return next(iter(take_some(tx, call, run, 1)), None)


def take_some(tx: Transaction, call: Call, run: str, count: int) -> list[TaskTakeAnswer]:
    """The best tasks: as many as are ready, were asked for, and this agent may have."""
    agent = get_agent(tx, call.agent)
    if agent is None:
        return []
    workforce.mark_as_worker(tx, agent)
    if _refused(tx, call, agent) is not None:
        return []
    if due_tasks.promote(tx, call).done:
        agent = registered_agent(tx, call.agent)
    room = 1  # there is room for one, or the call would have been refused
    if count > 1:
        room = min(count, workforce.limit_of(tx, call, agent) - len(workforce.live_tasks(tx, call.agent)))
    grants: list[TaskTakeAnswer] = []
    while len(grants) < room:
        task = best(tx, call, agent, run)
        if task is None:
            break
        grants.append(grant(tx, call, task))
    return grants


# --- who may


def _refused(tx: Transaction, call: Call, agent: Agent) -> Forbidden | Quota | None:
    """Why this agent gets no task now: it has one already, or its breaker is open."""
    state, until = workforce.breaker(tx, call, agent)
    if state == "open":
        text = (
            f"your last {agent['strikes']} tasks failed or were lost, so you get none for another "
            f"{span(until - tx.now)}; then you get one to try."
        )
        return Forbidden(text, breaker="open", until=iso(tx, until))
    limit, live = workforce.limit_of(tx, call, agent), workforce.live_tasks(tx, call.agent)
    if len(live) < limit:
        return None
    names = ", ".join(claim["task"] for claim in live[:5])
    text = f"you work on {names} already; finish it (`dibs task done`), give it back (`dibs task release`), or fail it."
    held: list[HeldTask] = [{"id": claim["task"], "token": claim["token"]} for claim in live]
    return Quota(text, what="live tasks for one agent", limit=limit, tasks=held)


# --- due tasks, and tasks of dead holders


def _gather_orphans(tx: Transaction, call: Call) -> bool:
    """Give back some tasks whose claim ended unnoticed or whose holder's local process is dead."""
    after, count = "", 0
    while True:
        rows, truncated = records.scan_tasks(tx, records.in_state(EXECUTING), ORPHANS_PER_TRIP, after)
        if not rows:
            return False
        claims = {f"task:{task['task']}": task["claim"] for _, task in rows}
        suspects = [
            record
            for record in claim_records.within_ranges(tx, claim_records.ranges_of([["name", name] for name in claims]))
            if claim_records.is_claim(record)
            and any(claims.get(name) == record["claim"] for _, name in record["resources"])
        ]
        over = [claim for claim in suspects if claim["until"] <= tx.now]
        lost = endings.gone(tx, call, [claim for claim in suspects if claim["until"] > tx.now])
        endings.clear(tx, call, over, lost)
        if lost:
            from dibs.operations.agents import deaths

            deaths.tell_of(tx, call, lost)
        count += len(over) + len(lost)
        if count or not truncated:
            return bool(count)
        after = rows[-1][0]


# --- waiting for work


def _wait(
    tx: Transaction,
    call: Call,
    agent: Agent,
    request: TaskNextRequest | TaskClaimRequest,
    *,
    run: str = "",
    task: str = "",
) -> Wait:
    """A waiter's place for any task. It is written seldom: it only says which process to wake."""
    waiter, wake = request["waiter"], request["wake"]
    known = records.get_waiter(tx, waiter) if waiter else None
    identifier = waiter or f"{tx.now:015d}-{tx.id()}"
    if known is None or known["wake"] != wake or known["until"] - tx.now < workforce.WAITER_LEASE_MS // 2:
        record: WorkWaiter = {
            "agent": call.agent, "type": agent["type"], "can": agent["can"], "run": run,
            "wake": wake, "until": tx.now + workforce.WAITER_LEASE_MS, "turn": workforce.turn_of(known) or COMMIT,
        }  # fmt: skip
        if task:
            for_one: TaskWaiter = {**record, "task": task, "waiter": identifier, **_want(task)}
            record = for_one
        records.put_waiter(tx, identifier, record)
    return Wait(identifier, POLL_MS, {"for": "a task that is ready for you"})


# --- claim


def _claim(tx: Transaction, call: Call, request: TaskClaimRequest) -> TaskTakeAnswer | Wait | DibsError:
    """Take a specific task, or wait for it: first come, first served, before waiters for any task."""
    name, waiter = request["id"], request["waiter"]
    agent = registered_agent(tx, call.agent)
    workforce.mark_as_worker(tx, agent)
    due_tasks.promote(tx, call)
    try:
        answer = take(tx, call, records.load_task(tx, name), waiter=waiter, will_wait=request["wait"] > 0)
    except Conflict as error:
        if not waiter and (not request["wait"] or error.fields.get("state") != PLANNED):
            raise
        answer = error
    if request["wait"] > 0 and (
        isinstance(answer, Held) or (isinstance(answer, Conflict) and answer.fields.get("state") == PLANNED)
    ):
        from dibs.operations.claims import deadlocks

        want: Want = {
            "agent": call.agent, "mode": "write", "tree": "", "resources": [lifecycle.resource_of(name)],
        }  # fmt: skip
        refusal = deadlocks.refusal_of(tx, call, want, lambda: deadlocks.find(tx, want, _holding(tx, want)))
        if refusal is None:
            return _wait_for(tx, call, agent, request, answer)
        answer = refusal
    if waiter:
        _give_up(tx, waiter, name)
    return answer


def _wait_for(tx: Transaction, call: Call, agent: Agent, request: TaskClaimRequest, refusal: Held | Conflict) -> Wait:
    """A waiter's place for one task; while there is one, `next` gives the task to nobody else."""
    name = request["id"]
    wait = _wait(tx, call, agent, request, task=name)
    task = records.load_task(tx, name)
    if task["awaited"] - tx.now < workforce.WAITER_LEASE_MS // 2:
        task["awaited"] = tx.now + workforce.WAITER_LEASE_MS
        records.put_task(tx, task)
    wait.answer = {"for": f"task {name}: {refusal.message}", "blockers": refusal.fields.get("blockers", [])}
    return wait


def _give_up(tx: Transaction, waiter: str, identifier: str) -> None:
    """Remove a waiter; after the last one, the task is free for all."""
    records.delete_waiter(tx, waiter)
    task = records.get_task(tx, identifier)
    if task is not None and task["awaited"] and next(_in_line(tx, identifier), None) is None:
        task["awaited"] = 0
        records.put_task(tx, task)


def withdraw(tx: Transaction, agent: str, waiter: str) -> None:
    """An interrupted caller no longer waits for a task."""
    known = records.get_waiter(tx, waiter)
    if known is None or known["agent"] != agent:
        return
    if records.is_for_one_task(known):
        _give_up(tx, waiter, known["task"])
    else:
        records.delete_waiter(tx, waiter)


def _in_line(tx: Transaction, identifier: str) -> Iterator[TaskWaiter]:
    """The present waiters for this task, in order; absent ones are dropped."""
    after = ""
    while True:
        rows, truncated = records.scan_line(tx, identifier, workforce.MAX_WAITERS_READ, after)
        for _, waiter in rows:
            if waiter["until"] > tx.now:
                yield waiter
            else:
                records.delete_waiter(tx, waiter["waiter"])
        if not truncated:
            return
        after = rows[-1][0]


def _want(identifier: str) -> TaskWant:
    """What a waiter for a task wants, in the words of claims: deadlocks.py follows it."""
    return {"resources": [lifecycle.resource_of(identifier)], "mode": "write", "tree": "", "ticket": 0}


def _holding(tx: Transaction, want: Want) -> list[Claim]:
    """The live claims on a task's name that keep this agent from it."""
    return [
        record
        for record in claim_records.overlapping_claims(tx, want["resources"], "")
        if record["until"] > tx.now and endings.blocks_request(record, want)
    ]


def take(
    tx: Transaction,
    call: Call,
    task: Task,
    origin: str = "",
    *,
    waiter: str = "",
    will_wait: bool = False,
) -> TaskTakeAnswer | DibsError:
    """Take this task, refresh it if it is the caller's, or name its holder. From `origin` it is planned on the way."""
    name = task["task"]
    if task["state"] == EXECUTING:
        claim = holders.live_claim(tx, task)
        is_own = claim is not None and claim["agent"] == call.agent
        if claim is not None and is_own and (call.from_current_process or not endings.gone(tx, call, [claim])):
            answer = taken(tx, task, endings.renew(tx, claim))
            answer["renewed"] = True
            return answer
        if claim is not None and not endings.gone(tx, call, [claim]):
            return _held_by(tx, call, task, claim, told=not will_wait)
        _gather_orphans(tx, call)
        task = records.load_task(tx, name)
    task = long_jobs.as_counted(tx, task, call.jobs)
    if task["state"] not in {PLANNED, origin}:
        raise Conflict(
            f"task {name} is {task['state']}; only a planned task can be taken.", task=name, state=task["state"]
        )
    refusal = _cannot(tx, call, registered_agent(tx, call.agent), task, told=not will_wait) or _after_others(
        tx, call, task, waiter
    )
    if refusal is not None:
        return refusal
    task["awaited"] = 0
    if waiter:
        records.delete_waiter(tx, waiter)
    if task["state"] != PLANNED:
        lifecycle.move(tx, call.agent, task, PLANNED)
        return grant(tx, call, task, origin=origin)
    return grant(tx, call, task, origin=task["origin"] if origin else "")


def _after_others(tx: Transaction, call: Call, task: Task, waiter: str) -> Held | None:
    """Does an earlier waiter wait for this task?"""
    if task["awaited"] <= tx.now:
        return None
    name = task["task"]
    before = itertools.takewhile(lambda place: place["waiter"] != waiter, _in_line(tx, name))
    first = next((place["agent"] for place in before if place["agent"] != call.agent), "")
    blocker = {"agent": first, "resource": f"task:{name}", "mode": "write", "waiting": True, "task": name}
    return Held(blockers=[blocker], more=0) if first else None


def _held_by(tx: Transaction, call: Call, task: Task, claim: Claim | Waiter, *, told: bool = True) -> Held:
    """Another agent has it. A waiter polls often, and only its first and last poll is worth an event."""
    wanted = [lifecycle.resource_of(task["task"])]
    blockers = [views.blocker(tx, claim, wanted)]
    if not told:
        return Held(blockers=blockers, more=0)
    data = {"code": "held", "resources": wanted, "mode": "write", "tree": "", "blockers": blockers}
    tx.append("claim.refused", call.agent, f"task:{task['task']}", data)
    return Held(blockers=blockers, more=0)


def _cannot(tx: Transaction, call: Call, agent: Agent, task: Task, *, told: bool) -> Held | Forbidden | Quota | None:
    """Why this agent may not take this planned task; None if it may."""
    identifier = task["task"]
    if task["open"] or task["kids"]:
        names = "its children" if task["kids"] else "the tasks that it comes after"
        text = f"task {identifier} waits for {names}; `dibs task show {quoted(identifier)}` lists them."
        raise Conflict(text, task=identifier, state=PLANNED, waits_for=task["open"], children=task["kids"])
    if task["window"]:
        left = span(task["window"] - tx.now)
        text = f"task {identifier} is auctioned for another {left}; bid with `dibs task bid {quoted(identifier)} N`."
        raise Conflict(text, task=identifier, state=PLANNED, bids_until=iso(tx, task["window"]))
    if task["assigned"] and task["assigned"]["agent"] != call.agent:
        until = iso(tx, task["assigned"]["until"])
        left = span(task["assigned"]["until"] - tx.now)
        text = f"task {identifier} is assigned to {task['assigned']['agent']}, which has another {left} to take it."
        raise Conflict(text, task=identifier, state=PLANNED, assigned=task["assigned"]["agent"], until=until)
    if not lifecycle.fits(agent, task["needs"], task["for"]):
        raise Forbidden(lifecycle.unfit(task), task=identifier, needs=task["needs"], **{"for": task["for"]})
    held = workforce.early_claim(tx, call, task)
    if held is not None:
        return _held_by(tx, call, task, held, told=told)
    return _refused(tx, call, agent)


OPERATIONS = (
    Operation(
        "task next",
        _next,
        "Take the next task that is ready for you.",
        group="tasks",
        fields=(
            Field("wait", "duration", "wait up to D for one", default=0, most=MAX_WAIT_MS, metavar="D"),
            Field("run", "text", "only of this run", default="", metavar="RUN"),
            *WAITING,
        ),
        errors=(NotFound, Quota, Forbidden, Fenced, Killed, Invalid),
        rank="worker",
        answer="TaskTakeAnswer",
        takes=True,
        withdraws=True,
    ),
    Operation(
        "task claim",
        _claim,
        "Take a specific task.",
        group="tasks",
        fields=(
            board.ID,
            Field("wait", "duration", "wait up to D until it can be taken", default=0, most=MAX_WAIT_MS, metavar="D"),
            *WAITING,
        ),
        errors=(NotFound, Held, Conflict, Deadlock, Forbidden, Quota, Fenced, Killed, Invalid),
        rank="worker",
        answer="TaskTakeAnswer",
        takes=True,
        withdraws=True,
    ),
)
