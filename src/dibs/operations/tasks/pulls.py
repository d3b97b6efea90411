"""Taking tasks: the best one that is ready (`task next`), or a certain one (`task claim`).

What happens, in short:
- success: in one transaction the task is the caller's, under a claim on `task:ID` whose token finishes it.
- refusal: an agent that has a live task gets no second unless `max_tasks` allows; one whose breaker is open gets none;
  where nothing is ready the answer says so, or `--wait` waits for it.
- expiry, death: whatever ends the claim gives the task back to the queue (outcomes.py). Who finds nothing ready looks
  for tasks whose holder is gone before it gives up.
- race: one transaction decides after the other; a task is given once.
"""

from __future__ import annotations

from dibs.errors import Conflict, Deadlock, Fenced, Forbidden, Held, Invalid, Killed, NotFound, Quota
from dibs.operations.claims import endings, holds, resources
from dibs.operations.core import long_jobs
from dibs.operations.core.call import TOKEN, check_text, iso
from dibs.operations.core.declare import Field, Operation
from dibs.operations.core.policy import MAX_WAIT, MINUTE, check_duration
from dibs.operations.tasks import board, lifecycle
from dibs.operations.tasks.lifecycle import EXECUTING, PLANNED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from dibs.operations.core.call import Call, Record
    from dibs.stores.seam import Fetched, Transaction

PRESENT = 15_000  # ms that a waiting agent counts as present after it last looked
LOOK_EVERY = 1_000  # ms between two looks of one who waits: then a holder that died is noticed within seconds
DUE = 64  # tasks whose time has come, looked at in one trip
ORPHANS = 256  # tasks at work in one trip, where all are looked through for dead holders before "nothing" is answered
PRESENT_SHOWN = 64  # waiting agents that are looked at when a task becomes ready
PAGE = 32  # ready tasks in one look, where the strategy may say that the first are not for this agent
LONGEST_PAUSE = 30 * MINUTE  # of a breaker


# --- next


def _next(
    tx: Transaction, call: Call, got: Fetched, wait: int = 0, run: str = "", waiter: str = "", wake: str = ""
) -> Any:
    """The best task that is ready for this agent, in one transaction."""
    if wait:
        check_duration(wait, "wait", most=MAX_WAIT)
    agent = got.values[f"a\t{call.agent}"]
    says_it_works(tx, agent)
    due = promote(tx, call)
    refusal = _refused(tx, call, agent)
    task = None
    if refusal is None:
        task = best(tx, call, agent, run)
        jobs = long_jobs.about_tasks(call.jobs) if task is None and call.jobs else []
        if task is None and (due.more or jobs):
            if jobs:
                long_jobs.help_on(tx, jobs[0])
            return {"again": True}  # there may be something when that is done
        if task is None and _gather_orphans(tx, call):
            task = best(tx, call, agent, run)
    if task is not None:
        if waiter:
            _forget(tx, waiter)
        return grant(tx, call, task)
    if wait > 0 and not isinstance(refusal, Quota):
        return _wait(tx, call, agent, run, waiter, wake)
    if waiter:
        _forget(tx, waiter)
    if refusal is not None:
        return refusal
    return NotFound(_nothing(tx), ready=0)  # returned, not raised: what was found due or lost on the way is kept


def _nothing(tx: Transaction) -> str:
    """Why there is nothing to do: no tasks at all, or none for this agent."""
    others = board.pools(tx)
    if others:
        asks = lifecycle.pool_of(others[0]).strip("-|~").replace("|", " with ")
        return (
            f"no task is ready for you; others wait for {asks or 'somebody else'}. "
            "`dibs boot --type … --can …` says what you are."
        )
    return "no task is ready; `dibs task next --wait 60s` waits for one."


def best(tx: Transaction, call: Call, agent: Record, run: str) -> Record | None:
    """The ready task of the highest priority, the oldest of these, among those that the agent may take."""
    if agent.get("assigned", 0) > tx.now:
        mine = _first(tx, call, agent, f"mine\t{call.agent}\t", run)
        if mine is not None:
            return mine
    chosen: Record | None = None
    for head in board.pools(tx):
        if not lifecycle.fits(agent, head["needs"], head["for"]):
            continue
        if chosen is not None and _rank(head) > _rank(chosen):
            continue
        found = _first(tx, call, agent, f"ready\t{lifecycle.pool_of(head)}\t", run, head)
        if found is not None and (chosen is None or _rank(found) < _rank(chosen)):
            chosen = found
    return chosen


def _rank(task: Record) -> tuple[int, str]:
    return -task["priority"], task["order"]


def _first(
    tx: Transaction, call: Call, agent: Record, prefix: str, run: str, head: Record | None = None
) -> Record | None:
    """The first task in one place that this agent may have; `head` is the first of all, if it was read already."""
    if head is not None and _may_have(tx, call, agent, head, run):
        return head
    after = ""
    while True:
        page = tx.scan(1, prefix, PAGE, after)
        for _, _, found in page.rows:
            task = lifecycle.full(found)
            if _may_have(tx, call, agent, task, run):
                return task
        if not page.truncated or (call.jobs and long_jobs.covering(tx, task, call.jobs) is not None):
            return None  # a job is calling off what lies here; it goes on before this is looked at again
        after = page.rows[-1][0]


def _may_have(tx: Transaction, call: Call, agent: Record, task: Record, run: str) -> bool:
    """May this agent have this task now, by its run, its strategy, and by who holds its name?"""
    if (run and task["run"] != run) or task.get("awaited", 0) > tx.now:
        return False
    if call.jobs and long_jobs.covering(tx, task, call.jobs) is not None:
        return False
    strategy = task["strategy"] or call.policy.work["tasks"]["strategy"]
    if strategy != "priority" and not task["assigned"]:
        from dibs.operations.tasks import strategies

        if not strategies.may_pull(tx, call, agent, task, strategy):
            return False
    return in_the_way(tx, call, task) is None


def in_the_way(tx: Transaction, call: Call, task: Record) -> Record | None:
    """Somebody who claimed the task's name before there was a task of it; nobody else can hold a planned one's."""
    if not task["named"]:
        return None
    wanted = [lifecycle.resource_of(task["task"])]
    while True:  # each round ends at least one record, and whoever waited for it comes first
        met = [record for record in holds.meeting(tx, wanted, "") if holds.INTEREST not in record]
        over = [record for record in met if record["until"] <= tx.now]
        dead = endings.gone(tx, call, [record for record in met if holds.CLAIM in record and record not in over])
        if not over and not dead:
            return next((record for record in met if endings.blocks(record, "write", call.agent)), None)
        endings.clear(tx, over, dead)


def grant(
    tx: Transaction, call: Call, task: Record, *, agent: str = "", left: int = 0, origin: str = ""
) -> dict[str, Any]:
    """The task is the caller's, or `agent`'s: a claim on its name, and the state that says so.

    `left`: it had the task before by other means, and so much of its time is left. `origin`: see registries.py.
    """
    holder = agent or call.agent
    wanted = [lifecycle.resource_of(task["task"])]
    ttl, life = call.policy.lifetime(wanted, None)
    wish = {
        "agent": holder, "mode": "write", "tree": "", "resources": wanted, "reason": task["title"],
        "task": task["task"], "expect": task["expect"], "ttl": ttl, "life": life, "fixed": False, "by": "task",
        "tied": call.tied and not agent,
    }  # fmt: skip
    alert_at = tx.now + 2 * task["expect"] if task["expect"] else 0
    claim = holds.new_claim(tx, wish, until=tx.now + min(left or ttl, ttl), pending=False, alert_at=alert_at)
    endings.grant(tx, claim, "request", [call.operation, call.request] if call.request else None)
    lifecycle.move(tx, holder, task, EXECUTING, claim=claim["claim"], token=TOKEN)
    task.update(
        agent=holder, claim=claim["claim"], started=tx.now, finished=0, assigned=None, window=0, not_before=0,
        progress=0, origin=origin,
    )  # fmt: skip
    lifecycle.put(tx, task)
    return taken(tx, task, claim)


def taken(tx: Transaction, task: Record, claim: Record, **more: Any) -> dict[str, Any]:
    """The answer to whoever takes a task: all that is needed to work on it."""
    shown = lifecycle.shown(tx, task)
    if task["payload"]:
        key = f"tp\t{task['task']}"
        shown["payload"] = tx.fetch([key]).values[key]
    if task["after"] or task["total_kids"]:
        shown["inputs"] = True  # `task inputs` has them
    answer = {"task": shown, "token": claim["token"], "claim": claim["claim"], "expires_at": iso(tx, claim["until"])}
    answer.update(more)
    return answer


def expect(tx: Transaction, agent: str, until: int) -> None:
    """A task is assigned to an agent: note in its record until when it has to look for one."""
    from dibs.operations.core.call import put_agent

    key = f"a\t{agent}"
    record: Record | None = tx.fetch([key]).values[key]
    if record is not None and record.get("assigned", 0) < until:
        record["assigned"] = until
        put_agent(tx, record)


def follow_up(tx: Transaction, call: Call, got: Fetched, run: str) -> dict[str, Any] | None:
    """The next task for one who has just finished one; None if nothing is ready."""
    return next(iter(take_some(tx, call, got, run, 1)), None)


def take_some(tx: Transaction, call: Call, got: Fetched, run: str, count: int) -> list[dict[str, Any]]:
    """As many of the best tasks as there are, as were asked for, and as this agent may have."""
    agent: Record | None = got.values[f"a\t{call.agent}"]
    if agent is None:
        return []
    says_it_works(tx, agent)
    if _refused(tx, call, agent) is not None:
        return []
    promote(tx, call)
    room = 1  # which there is, or it would have been refused
    if count > 1:
        room = min(count, limit_of(tx, call, agent) - len(live_tasks(tx, call.agent)))
    found: list[dict[str, Any]] = []
    while len(found) < room:
        task = best(tx, call, agent, run)
        if task is None:
            break
        found.append(grant(tx, call, task))
    return found


# --- who may


def _refused(tx: Transaction, call: Call, agent: Record) -> Any:
    """Why this agent gets no task now: it has one already, or keeps failing."""
    state, until = breaker(tx, call, agent)
    if state == "open":
        text = (
            f"your last {agent['strikes']} tasks failed or were lost, so you get none until {iso(tx, until)}; "
            "then you are tried with one."
        )
        return Forbidden(text, breaker="open", until=iso(tx, until))
    limit, live = limit_of(tx, call, agent), live_tasks(tx, call.agent)
    if len(live) < limit:
        return None
    names = ", ".join(claim["task"] for claim in live[:5])
    text = f"you work on {names} already; finish it (`dibs task done`), give it back (`dibs task release`), or fail it."
    held = [{"id": claim["task"], "token": claim["token"]} for claim in live]
    return Quota(text, what="live tasks for one agent", limit=limit, tasks=held)


def limit_of(tx: Transaction, call: Call, agent: Record) -> int:
    """How many tasks this agent may have; one that keeps failing is tried with one."""
    most: int = call.policy.work["tasks"]["max_tasks"]
    return 1 if breaker(tx, call, agent)[0] == "half-open" else most


def live_tasks(tx: Transaction, agent: str) -> list[Record]:
    """The live claims on tasks that an agent holds."""
    return [
        claim
        for claim in holds.of_agent(tx, holds.CLAIM, agent, limit=holds.ALL)
        if claim["by"] == "task" and claim["until"] > tx.now
    ]


def breaker(tx: Transaction, call: Call, agent: Record | None) -> tuple[str, int]:
    """Closed, open or half-open, and until when it is open: by how often the agent failed in a row, and when last."""
    strikes = agent.get("strikes", 0) if agent is not None else 0
    settings = call.policy.work["tasks"]
    if agent is None or strikes < settings["breaker_failures"]:
        return "closed", 0
    pause = min(LONGEST_PAUSE, settings["breaker_pause"] << min(16, strikes - settings["breaker_failures"]))
    until: int = agent["struck"] + pause
    return ("open", until) if until > tx.now else ("half-open", until)


def says_it_works(tx: Transaction, agent: Record) -> None:
    """The agent asks for work: from now on it may be given some. Who only looks on, or runs a script, never is."""
    if not agent.get("works"):
        from dibs.operations.core.call import put_agent

        agent["works"] = True
        put_agent(tx, agent)


# --- tasks whose time has come, and those whose holder is gone


class Due:
    """What came of the tasks whose time has come."""

    __slots__ = ("done", "more")

    def __init__(self) -> None:
        self.done = 0  # tasks that were looked at
        self.more = False  # there are more of them than one transaction looks at


def promote(tx: Transaction, call: Call) -> Due:
    """Look at the tasks whose time has come: a pause after a failure, an auction, an assignment that nobody took up.

    The jobs that are going (long_jobs.py) lie before them; `call.jobs` has them from now on.
    """
    found = Due()
    jobs: list[Record] = []
    after = ""
    while True:
        page = tx.scan(2, "later\t", DUE, after, lifecycle.later(tx.now + 1))
        for entry, _, kept in page.rows:
            if long_jobs.is_job(kept):
                jobs.append(kept)
                after = entry
                continue
            _came(tx, call, lifecycle.full(kept))
            found.done += 1
        if not page.truncated:
            break
        if found.done >= long_jobs.STEP:
            found.more = True
            break
    call.jobs = [job for job in jobs if not long_jobs.pass_by(tx, job)] if jobs else jobs
    return found


def _came(tx: Transaction, call: Call, task: Record) -> None:
    """A task's time has come."""
    if task["assigned"] or task["window"] or task["strategy"] == "preemptive":
        from dibs.operations.tasks import assignments

        assignments.over(tx, call, task)
    else:
        task["not_before"] = 0
        lifecycle.put(tx, task)
        wake(tx, [task])


def _gather_orphans(tx: Transaction, call: Call) -> bool:
    """Give back the tasks whose claim ended unseen or whose holder's local process is dead, up to so many at once."""
    after, found = "", 0
    while True:
        page = tx.scan(1, f"tasks\t{EXECUTING}\t", ORPHANS, after)
        if not page.rows:
            return False
        names = {f"task:{record['task']}": record for _, _, record in page.rows}
        suspects = [
            record
            for record in holds.rows(tx, resources.ranges_of([["name", name] for name in names]))
            if holds.CLAIM in record
            and any(names.get(one[1], {}).get("claim") == record["claim"] for one in record["resources"])
        ]
        over = [claim for claim in suspects if claim["until"] <= tx.now]
        lost = endings.gone(tx, call, [claim for claim in suspects if claim["until"] > tx.now])
        endings.clear(tx, over, lost)
        if lost:
            from dibs.operations.agents import deaths

            deaths.tell_of(tx, call, lost)
        found += len(over) + len(lost)
        if found or not page.truncated:
            return bool(found)
        after = page.rows[-1][0]


# --- waiting for work


def _wait(
    tx: Transaction, call: Call, agent: Record, run: str, waiter: str, wake: str, task: str = ""
) -> dict[str, Any]:
    """A place among those who wait for work. It is written seldom: it only says whom to wake."""
    key = f"tw\t{waiter}" if waiter else f"tw\t{tx.now:015d}-{tx.id()}"
    known: Record | None = tx.fetch([key]).values[key] if waiter else None
    if known is None or known["wake"] != wake or known["until"] - tx.now < PRESENT // 2:
        record = {
            "agent": call.agent, "type": agent["type"], "can": agent["can"], "run": check_text(run, "run"),
            "wake": check_text(wake, "wake"), "until": tx.now + PRESENT,
        }  # fmt: skip
        if task:
            record["task"] = task
        tx.put(key, record)
    return {"waiting": key[3:], "look_in": LOOK_EVERY, "for": "a task that is ready for you"}


def _forget(tx: Transaction, waiter: str) -> None:
    tx.delete(f"tw\t{check_text(waiter, 'waiter')}")


def present(tx: Transaction) -> list[Record]:
    """The agents that wait for work now, the one that has waited longest first; absent ones are dropped."""
    found = []
    for key, record in tx.fetch((), [("tw\t", "tw\n")], PRESENT_SHOWN).rows:
        if record["until"] <= tx.now:
            tx.delete(key)
        else:
            found.append(record)
    return found


def wake(tx: Transaction, ready: Sequence[Record]) -> None:
    """Tasks became ready: wake as many who wait for such work. A wake is a hint; each looks for itself."""
    waiting: Iterable[Record] | None = None
    for task in ready:
        if task["state"] != PLANNED or task["open"] or task["kids"] or task["window"] or task["not_before"] > tx.now:
            continue
        if waiting is None:
            waiting = present(tx)
        for record in list(waiting):
            fitting = lifecycle.fits(record, task["needs"], task["for"]) and record["run"] in {"", task["run"]}
            fitting = fitting and record.get("task") in {None, task["task"]}
            if fitting and record["wake"] and (not task["assigned"] or task["assigned"]["agent"] == record["agent"]):
                tx.wake(record["wake"])
                waiting = [other for other in waiting if other is not record]
                break


# --- claim


def _claim(tx: Transaction, call: Call, got: Fetched, id: str, wait: int = 0, waiter: str = "", wake: str = "") -> Any:
    """Take a certain task, or wait until it can be had: first come, first served, before those who take any task."""
    if wait:
        check_duration(wait, "wait", most=MAX_WAIT)
    agent = got.values[f"a\t{call.agent}"]
    says_it_works(tx, agent)
    promote(tx, call)
    try:
        answer = take(tx, call, got, lifecycle.load(tx, id), waiter=waiter, patient=wait > 0)
    except Conflict as error:
        if not waiter and (not wait or error.fields.get("state") != PLANNED):
            raise
        answer = error
    hopeful = isinstance(answer, Held) or (isinstance(answer, Conflict) and answer.fields.get("state") == PLANNED)
    if wait > 0 and hopeful:
        cycle = _circle(tx, call, lifecycle.load(tx, id))
        if not cycle:
            return _wait_for(tx, call, agent, id, waiter, wake, answer)
        data = {
            "code": "deadlock",
            "resources": [lifecycle.resource_of(id)],
            "mode": "write",
            "tree": "",
            "blockers": [],
        }
        tx.append("claim.refused", call.agent, f"task:{id}", data)
        answer = Deadlock(cycle=cycle)
    if waiter:
        _give_up(tx, waiter, id)
    return answer


def _wait_for(
    tx: Transaction, call: Call, agent: Record, identifier: str, waiter: str, wake: str, refusal: Held | Conflict
) -> dict[str, Any]:
    """A place in line for one task; while somebody stands there, `next` gives it to nobody."""
    answer = _wait(tx, call, agent, "", waiter, wake, identifier)
    task = lifecycle.load(tx, identifier)
    if task.get("awaited", 0) - tx.now < PRESENT // 2:
        task["awaited"] = tx.now + PRESENT
        lifecycle.put(tx, task)
    return {**answer, "for": f"task {identifier}: {refusal.message}", "blockers": refusal.fields.get("blockers", [])}


def _give_up(tx: Transaction, waiter: str, identifier: str) -> None:
    """Out of the line; the last one leaves the task to anybody."""
    _forget(tx, waiter)
    kept = board.known(tx, identifier)
    if kept is not None and kept.get("awaited") and not _in_line(tx, identifier):
        kept["awaited"] = 0
        lifecycle.put(tx, kept)


def _in_line(tx: Transaction, identifier: str) -> list[tuple[str, Record]]:
    """Who waits for this task now, in order."""
    rows = tx.fetch((), [("tw\t", "tw\n")], PRESENT_SHOWN).rows
    return [(key, record) for key, record in rows if record.get("task") == identifier and record["until"] > tx.now]


def _circle(tx: Transaction, call: Call, task: Record) -> list[dict[str, Any]]:
    """The circle of agents that each wait for the other's task, if this wait would close one."""
    waits = {record["agent"]: record["task"] for record in present(tx) if record.get("task")}
    steps: list[dict[str, Any]] = []
    agent = call.agent
    for _ in range(len(waits) + 1):
        holder = next(iter(board.having(task)), "")
        if not holder:
            return []
        steps.append({"agent": agent, "resource": f"task:{task['task']}", "holder": holder})
        if holder == call.agent:
            return steps
        following = board.known(tx, waits[holder]) if holder in waits else None
        if following is None:
            return []
        agent, task = holder, following
    return []


def take(
    tx: Transaction,
    call: Call,
    got: Fetched,
    task: Record,
    origin: str = "",
    *,
    waiter: str = "",
    patient: bool = False,
) -> Any:
    """Take this one, refresh it if it is the caller's, or say who has it. From `origin` it is planned on the way."""
    name = task["task"]
    if task["state"] == EXECUTING:
        claim = board.live_claim(tx, task)
        mine = claim is not None and claim["agent"] == call.agent
        if claim is not None and mine and (call.tied or not endings.gone(tx, call, [claim])):
            from dibs.operations.claims import releases

            return taken(tx, task, releases.renew_one(tx, claim), renewed=True)
        if claim is not None and not endings.gone(tx, call, [claim]):
            return _held_by(tx, call, task, claim, told=not patient)
        _gather_orphans(tx, call)
        task = lifecycle.load(tx, name)
    task = long_jobs.called_off(tx, task, call.jobs)
    if task["state"] not in {PLANNED, origin}:
        raise Conflict(
            f"task {name} is {task['state']}; only a planned one can be taken.", task=name, state=task["state"]
        )
    refusal = _cannot(tx, call, got.values[f"a\t{call.agent}"], task, told=not patient) or _after_others(
        tx, call, task, waiter
    )
    if refusal is not None:
        return refusal
    task.pop("awaited", None)
    if waiter:
        _forget(tx, waiter)
    if task["state"] != PLANNED:
        lifecycle.move(tx, call.agent, task, PLANNED)
        return grant(tx, call, task, origin=origin)
    return grant(tx, call, task, origin=task["origin"] if origin else "")


def _after_others(tx: Transaction, call: Call, task: Record, waiter: str) -> Held | None:
    """Does somebody wait for this task who came before the caller?"""
    if task.get("awaited", 0) <= tx.now:
        return None
    name = task["task"]
    before = [one for key, one in _in_line(tx, name) if not waiter or key < f"tw\t{waiter}"]
    first = next((one["agent"] for one in before if one["agent"] != call.agent), "")
    blocker = {"agent": first, "resource": f"task:{name}", "mode": "write", "waiting": True}
    return Held(blockers=[blocker], more=0) if first else None


def _held_by(tx: Transaction, call: Call, task: Record, claim: Record, *, told: bool = True) -> Held:
    """Somebody else has it. Whoever waits looks often, and only its first and last look is worth an event."""
    wanted = [lifecycle.resource_of(task["task"])]
    blockers = [holds.blocker(tx, claim, wanted)]
    if not told:
        return Held(blockers=blockers, more=0)
    data = {"code": "held", "resources": wanted, "mode": "write", "tree": "", "blockers": blockers}
    tx.append("claim.refused", call.agent, f"task:{task['task']}", data)
    return Held(blockers=blockers, more=0)


def _cannot(tx: Transaction, call: Call, agent: Record, task: Record, *, told: bool) -> Any:
    """Why this agent may not take this planned task; None if it may."""
    identifier = task["task"]
    if task["open"] or task["kids"]:
        names = "its children" if task["kids"] else "the tasks that it comes after"
        text = f"task {identifier} waits for {names}; `dibs task show {identifier}` lists them."
        raise Conflict(text, task=identifier, state=PLANNED, waits_for=task["open"], children=task["kids"])
    if task["window"]:
        text = (
            f"task {identifier} is auctioned until {iso(tx, task['window'])}; bid with `dibs task bid {identifier} N`."
        )
        raise Conflict(text, task=identifier, state=PLANNED, bids_until=iso(tx, task["window"]))
    if task["assigned"] and task["assigned"]["agent"] != call.agent:
        until = iso(tx, task["assigned"]["until"])
        text = f"task {identifier} is assigned to {task['assigned']['agent']} until {until}."
        raise Conflict(text, task=identifier, state=PLANNED, assigned=task["assigned"]["agent"], until=until)
    if not lifecycle.fits(agent, task["needs"], task["for"]):
        asks = ", ".join([*([f"type {task['for']}"] if task["for"] else []), *task["needs"]])
        text = f"task {identifier} asks for {asks}; `dibs boot --type … --can …` says what you are."
        raise Forbidden(text, task=identifier, needs=task["needs"], **{"for": task["for"]})
    held = in_the_way(tx, call, task)
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
            Field("wait", "duration", "wait up to D for one", default=0, metavar="D"),
            Field("run", "text", "only of this run", default="", metavar="RUN"),
            Field("waiter", "text", "the place among those who wait", default="", hidden=True),
            Field("wake", "text", "the name under which the waiting process listens", default="", hidden=True),
        ),
        errors=(NotFound, Quota, Forbidden, Fenced, Killed, Invalid),
        may="worker",
        json="task, token, claim, expires_at",
        takes=True,
    ),
    Operation(
        "task claim",
        _claim,
        "Take a specific task.",
        group="tasks",
        fields=(
            board.ID,
            Field("wait", "duration", "wait up to D until it can be taken", default=0, metavar="D"),
            Field("waiter", "text", "the place in line", default="", hidden=True),
            Field("wake", "text", "the name under which the waiting process listens", default="", hidden=True),
        ),
        errors=(NotFound, Held, Conflict, Deadlock, Forbidden, Quota, Fenced, Killed, Invalid),
        may="worker",
        json="task, token, claim, expires_at",
        takes=True,
    ),
)
