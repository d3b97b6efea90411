"""What is stored about tasks: the types of the records, their keys and index entries, reading and writing them.

Nothing is decided here. A planned task lies where agents that look for work find it at once: ready (by its demands,
then by priority, then by age), with the agent that it is assigned to, or with the tasks that wait: for other tasks, for
a time, for bids.
"""

from __future__ import annotations

from dibs.errors import NotFound
from dibs.operations.claims import records as claim_records
from dibs.operations.core.call import due
from dibs.operations.tasks.lifecycle import (
    FINAL_STATES,
    MAX_PRIORITY,
    PLANNED,
    PREEMPTION_DELAY_MS,
    STATES,
    check_id,
)
from dibs.stores.seam import AFTER_KEY, COMMIT, COMMIT_DIGITS, KEYS_PER_FETCH, prefix_range, walk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import NotRequired, TypedDict, TypeGuard

    from dibs.operations.agents.records import Worker
    from dibs.operations.tasks.answers import TaskState
    from dibs.stores.seam import Json, Range, Transaction

    Demand = TypedDict("Demand", {"for": str})  # the type of its agents; "" for any
    ErrorClass = TypedDict("ErrorClass", {"class": str})  # transient, permanent, poison or lost

    class TaskError(ErrorClass):
        """Why the last attempt at a task failed."""

        why: str  # as its agent says, or as the claim ended
        at: int  # ms
        agent: str  # that had it

    class Assignment(TypedDict):
        """The agent that a planned task waits for."""

        agent: str
        until: int  # ms: when it goes to the next bidder, or back to the queue
        strategy: str  # by which the agent was chosen; `direct` if it was named
        by: str  # the agent that assigned it; `dibs` after an auction or a preemption
        next: NotRequired[list[str]]  # the bidders that follow, best first

    class Usage(TypedDict):
        """The usage of the last attempt at a task."""

        cpu: float  # seconds
        memory: int  # bytes
        seconds: float  # elapsed

    class Task(Demand):
        """A task, with its defaults; the stored record leaves them out."""

        task: str  # its id
        title: str
        by: str  # the agent that added it
        created: int  # ms
        order: list[int | str] | str  # time, commit, place among those added together; a text in earlier versions
        max_attempts: int  # failed or lost ones, before it is quarantined
        state: TaskState
        priority: int  # higher comes first
        needs: list[str]  # capabilities that its agent must have, sorted
        open: int  # dependencies that are not complete yet
        kids: int  # children that are not complete or cancelled yet
        total_kids: int
        after: bool  # it has a record of its dependencies
        parent: str
        run: str
        key: str  # idempotency key
        expect: int  # ms that it should take; 0 if not known
        failures: int  # in a row: failed and lost attempts
        losses: int  # lost attempts among them
        not_before: int  # ms: the end of the pause after a failure
        assigned: Assignment | None
        window: int  # ms: the end of its auction; 0 without one
        bid_window: int  # ms that an auction collects bids; 0 for the config's
        strategy: str  # "" for the config's
        race: str  # its race group
        require: list[str]  # keys that its result must have
        sticky: str  # affinity key
        payload: bool  # it has a record of its payload
        named: bool  # its name was claimed before the task existed
        agent: str  # that works on it, or finished it
        claim: str  # the id of the present or last claim on its name
        started: int  # ms: the present or last attempt
        finished: int  # ms
        error: TaskError | None
        note: str  # the last one
        note_by: str
        progress: int  # percent, as its agent says
        result: bool  # it has a record of its result
        origin: str  # the state to which it returns unfinished (registries.py)
        used: Usage | None
        verified: bool  # it has a record of its verification
        auctioned: bool  # it had its auction
        awaited: int  # ms: until then it is kept for the agents that wait for it
        pressed: int  # ms: the next try of a preemptive task to displace another

    class Verification(TypedDict):
        """The command that was run before a task was finished."""

        command: str
        exit: int  # its exit code; below 0 the signal that killed it
        seconds: float
        output: str  # the end of it
        at: int  # ms

    class Dependencies(TypedDict):
        """The tasks that a task comes after, complete ones, too."""

        after: list[str]

    class Note(TypedDict):
        """Where the work on a task stood."""

        text: str
        by: str
        at: int  # ms

    class KeyOwner(TypedDict):
        """The task that was added under an idempotency key."""

        task: str

    class WorkWaiter(Worker):
        """An agent that waits for work."""

        agent: str
        run: str  # only work of this run; "" for any
        wake: str  # the name that wakes its process
        until: int  # ms: after that it counts as absent
        turn: int | str  # the commit with which it began to wait

    class TaskWant(TypedDict):
        """A task that an agent waits for, in the words of claims: deadlocks.py follows it."""

        resources: list[list[str]]  # the task's name
        mode: str  # write
        tree: str  # ""
        ticket: int  # 0

    class TaskWaiter(WorkWaiter, TaskWant):
        """An agent that waits for one task."""

        task: str
        waiter: str  # its own id

    class Bid(TypedDict):
        """A bid for an auctioned task."""

        agent: str
        amount: int
        commit: int | str  # that it came with: the earlier of equal bids wins

    class WorkHistory(TypedDict):
        """When an agent last got a task and asked for work: for the strategies."""

        given: list[int | str] | int  # time, commit, place of its last task; a time in earlier versions
        asked: dict[str, int]  # run → ms

    class ParentCursor(TypedDict):
        """How far a job has cancelled the children of a task."""

        after: str  # the key of the last child; "" for none


ANY_AGENT_POOL = "~"  # the pool of tasks without demands on an agent; it sorts after all other pools
# Defaults that a record leaves out, since most tasks have them: a shorter row is written and read twice for each task.
DEFAULTS = {
    "state": PLANNED, "priority": 0, "needs": [], "for": "", "open": 0, "kids": 0, "total_kids": 0, "after": False,
    "parent": "", "run": "", "key": "", "expect": 0, "failures": 0, "losses": 0, "not_before": 0, "assigned": None,
    "window": 0, "bid_window": 0, "strategy": "", "race": "", "require": [], "sticky": "", "payload": False,
    "named": False, "agent": "", "claim": "", "started": 0, "finished": 0, "error": None, "note": "", "note_by": "",
    "progress": 0, "result": False, "origin": "", "used": None, "verified": False, "auctioned": False, "awaited": 0,
    "pressed": 0,
}  # fmt: skip


# --- keys


def task_key(task: str) -> str:
    """A task."""
    return f"t\t{task}"


def payload_key(task: str) -> str:
    """A task's payload: any JSON value."""
    return f"tp\t{task}"


def result_key(task: str) -> str:
    """A task's result: any JSON value."""
    return f"tr\t{task}"


def verification_key(task: str) -> str:
    """The verification that a task passed."""
    return f"tv\t{task}"


def dependencies_key(task: str) -> str:
    """A task's dependencies."""
    return f"ta\t{task}"


def owner_key(key: str) -> str:
    """The task of an idempotency key."""
    return f"tk\t{key}"


def note_prefix(task: str) -> str:
    """The notes on a task, by their time."""
    return f"tn\t{task}\t"


def dependent_prefix(task: str) -> str:
    """The tasks that wait for this one; the records are empty."""
    return f"td\t{task}\t"


def child_prefix(parent: str) -> str:
    """The children of a task; the records are empty."""
    return f"tc\t{parent}\t"


def race_prefix(race: str) -> str:
    """The tasks of a race; the records are empty."""
    return f"tg\t{race}\t"


def run_prefix(run: str) -> str:
    """The tasks of a run; the records are empty."""
    return f"ut\t{run}\t"


def bid_prefix(task: str) -> str:
    """The bids on a task, by bidder."""
    return f"tb\t{task}\t"


def waiter_key(waiter: str) -> str:
    """An agent that waits for work, or for one task."""
    return f"tw\t{waiter}"


def history_key(agent: str) -> str:
    """When an agent last got a task, and asked for work."""
    return f"tl\t{agent}"


def job_parent_prefix(job: str) -> str:
    """The tasks whose children a job cancels."""
    return f"jp\t{job}\t"


def end_of(key: str) -> str:
    """The last part of a key: a child, a dependent, a task of a run or a race, a waiter, an agent."""
    return key.rpartition("\t")[2]


def task_of(key: str) -> str:
    """The task in a key that has more parts: whose dependent, child, note or bid it is."""
    return key.split("\t")[1]


def dependent_range(task: str) -> Range:
    """The tasks that wait for this one, as a range."""
    return prefix_range(dependent_prefix(task))


# --- entries in the first index

READY = "ready\t"  # planned tasks that an agent may take: by pool, priority, order
ASSIGNED = "mine\t"  # planned tasks that are assigned: by agent, priority, order
BLOCKED, AUCTIONED, DELAYED = "tasks\tblocked\t", "tasks\tauction\t", "tasks\tdelayed\t"  # other planned ones


def ready(pool: str) -> str:
    """The ready tasks of a pool."""
    return f"{READY}{pool}\t"


def assigned_to(agent: str) -> str:
    """The tasks that are assigned to an agent."""
    return f"{ASSIGNED}{agent}\t"


def in_state(state: str) -> str:
    """The tasks in a state other than planned: by order."""
    return f"tasks\t{state}\t"


# Where the tasks of one state lie.
PLACES: dict[str, tuple[str, ...]] = {state: (in_state(state),) for state in STATES}
PLACES[PLANNED] = (READY, ASSIGNED, BLOCKED, AUCTIONED, DELAYED)


# --- entries in the second index

LATER = "later\t"  # running jobs, then due tasks: by time
OVER = "over\t"  # finished tasks outside any run: by their end


def later(when: int) -> str:
    """A task that is due at that time."""
    return f"{LATER}{when:015d}"


def later_job(job: str) -> str:
    """A running job: before all due tasks, so that a caller that reads those finds the jobs, too."""
    return f"{later(0)}\t{job}"


def over(when: int) -> str:
    """A finished task outside any run that ended then (old_tasks.py)."""
    return f"{OVER}{when:015d}"


def _entries(task: Task, now: int, ended: int | None) -> tuple[str, str | None]:
    """The entries in the two indexes: what the task waits for, and when a sweep should look at it."""
    state, order = task["state"], f"{order_of(task)}\t{task['task']}"
    if state in FINAL_STATES and not task["run"]:
        return in_state(state) + order, over(task["finished"] or now if ended is None else ended)
    if state != PLANNED:
        return in_state(state) + order, None
    if task["open"] or task["kids"]:
        return BLOCKED + order, None
    place = f"{MAX_PRIORITY - task['priority']:07d}\t{order}"
    if task["assigned"]:
        return assigned_to(task["assigned"]["agent"]) + place, later(task["assigned"]["until"])
    if task["window"]:
        return AUCTIONED + order, later(task["window"])
    if task["not_before"] > now:
        return DELAYED + order, later(task["not_before"])
    when = max(task["created"] + PREEMPTION_DELAY_MS, task["pressed"]) if task["strategy"] == "preemptive" else 0
    return ready(pool_of(task)) + place, later(when) if when else None


def order_of(task: Task) -> str:
    """A task's place among tasks of its priority, as text that sorts: time, commit, place among those added with it.

    Tasks of earlier versions have the text.
    """
    if isinstance(task["order"], str):
        return task["order"]
    at, commit, place = task["order"]
    number = commit if commit == COMMIT else f"{commit:0{COMMIT_DIGITS}d}"
    return f"{at:015d}{number}{place:05d}"


def pool_of(task: Task) -> str:
    """A task's demands on an agent; tasks with the same demands share a pool, tasks without any sort last."""
    if not task["for"] and not task["needs"]:
        return ANY_AGENT_POOL
    return f"-{task['for']}|{','.join(task['needs'])}"


# --- tasks


def with_defaults(stored: Json) -> Task:
    """A stored task, with its defaults filled in."""
    task: Task = DEFAULTS | stored
    return task


def get_task(tx: Transaction, task: str) -> Task | None:
    """A task by its id."""
    stored = tx.get(task_key(task))
    return None if stored is None else with_defaults(stored)


def load_task(tx: Transaction, task: str) -> Task:
    """A task that has to exist, by its id."""
    record = get_task(tx, check_id(task))
    if record is None:
        raise NotFound(f"there is no task {task}; `dibs task list` shows them", task=task)
    return record


def get_tasks(tx: Transaction, names: Sequence[str]) -> dict[str, Task | None]:
    """Any number of tasks by their ids; None for unknown ones."""
    stored = tx.get_many([task_key(name) for name in names])
    return {name: None if (record := stored[task_key(name)]) is None else with_defaults(record) for name in names}


def tasks_below(tx: Transaction, prefix: str) -> Iterator[Task]:
    """The tasks that the rows below a prefix name, in the order of their ids: a task's children, or a run's tasks."""
    names = list(ids_below(tx, prefix))
    for start in range(0, len(names), KEYS_PER_FETCH):
        yield from [task for task in get_tasks(tx, names[start : start + KEYS_PER_FETCH]).values() if task is not None]


def ids_below(tx: Transaction, prefix: str) -> Iterator[str]:
    """The ids that the rows below a prefix end with, in order."""
    return (key[len(prefix) :] for key, _ in walk(tx, prefix))


def keys_below(tx: Transaction, prefix: str, limit: int, after: str = "") -> tuple[list[str], bool]:
    """Up to `limit` keys that begin with a prefix, after a key; and whether there are more."""
    low, high = prefix_range(prefix)
    page = tx.fetch([(after + AFTER_KEY if after else low, high)], limit)
    return [key for key, _ in page.rows], page.truncated


def scan_tasks(tx: Transaction, place: str, limit: int, after: str = "") -> tuple[list[tuple[str, Task]], bool]:
    """Up to `limit` tasks of a place in the first index, each with its entry, after an entry; and are there more?"""
    page = tx.scan(1, place, limit, after)
    return [(entry, with_defaults(stored)) for entry, _, stored in page.rows], page.truncated


def tasks_in_state(tx: Transaction, state: str, limit: int) -> list[Task]:
    """The tasks in one state, up to a limit."""
    tasks: list[Task] = []
    for place in PLACES[state]:
        after = ""
        while True:
            rows, truncated = scan_tasks(tx, place, min(512, limit - len(tasks) + 1), after)
            tasks += [task for _, task in rows]
            if len(tasks) > limit:
                return tasks[:limit]
            if not truncated:
                break
            after = rows[-1][0]
    return tasks


def pool_heads(tx: Transaction) -> list[Task]:
    """The first task of each pool of ready ones."""
    heads: list[Task] = []
    after = ""
    while True:
        rows, _ = scan_tasks(tx, READY, 1, after)
        if not rows:
            return heads
        heads.append(rows[0][1])
        pool = pool_of(rows[0][1])
        if pool == ANY_AGENT_POOL:
            return heads
        after = f"{ready(pool)}~"  # after every place in this pool: those are digits


def put_task(tx: Transaction, task: Task, ended: int | None = None) -> None:
    """Write a task under the entries where agents look for it; a finished one as if it had `ended` then."""
    stored = {name: value for name, value in task.items() if name not in DEFAULTS or value != DEFAULTS[name]}
    tx.put(task_key(task["task"]), stored, *_entries(task, tx.now, ended))


def delete_task(tx: Transaction, task: Task, room: int) -> int:
    """Delete a task and its rows, up to `room` of them; returns how many, and fewer than `room` means all."""
    identifier = task["task"]
    used = 0
    for prefix_of in (note_prefix, dependent_prefix, child_prefix, bid_prefix):
        keys, _ = keys_below(tx, prefix_of(identifier), room - used)
        for key in keys:
            tx.delete(key)
        used += len(keys)
        if used >= room:
            return used
    keys = [task_key(identifier)]
    keys += [payload_key(identifier)] if task["payload"] else []
    keys += [result_key(identifier)] if task["result"] else []
    keys += [dependencies_key(identifier)] if task["after"] else []
    keys += [verification_key(identifier)] if task["verified"] else []
    keys += [owner_key(task["key"])] if task["key"] else []
    keys += [child_prefix(task["parent"]) + identifier] if task["parent"] else []
    keys += [race_prefix(task["race"]) + identifier] if task["race"] else []
    keys += [run_prefix(task["run"]) + identifier] if task["run"] else []
    for key in keys:
        tx.delete(key)
    return used


# --- what belongs to a task


def get_dependencies(tx: Transaction, task: str) -> list[str]:
    """The tasks that a task comes after."""
    record: Dependencies | None = tx.get(dependencies_key(task))
    return record["after"] if record is not None else []


def put_dependencies(tx: Transaction, task: str, after: list[str]) -> None:
    """Write the tasks that a task comes after."""
    record: Dependencies = {"after": after}
    tx.put(dependencies_key(task), record)


def get_results(tx: Transaction, names: Sequence[str]) -> dict[str, Json]:
    """The results of these tasks; None where there is no result."""
    stored = tx.get_many([result_key(name) for name in names])
    return {name: stored[result_key(name)] for name in names}


def get_owner(tx: Transaction, key: str) -> str | None:
    """The task that was added under an idempotency key."""
    owner: KeyOwner | None = tx.get(owner_key(key))
    return None if owner is None else owner["task"]


def put_owner(tx: Transaction, key: str, task: str) -> None:
    """Write the task that is added under an idempotency key."""
    owner: KeyOwner = {"task": task}
    tx.put(owner_key(key), owner)


def put_member(tx: Transaction, prefix: str, task: str) -> None:
    """Write the row of a child, a dependent, or a task of a race or a run."""
    tx.put(prefix + task, {})


def has_dependents(tx: Transaction, task: str) -> bool:
    """Do other tasks wait for this one?"""
    return bool(tx.fetch([dependent_range(task)], 1).rows)


def get_notes(tx: Transaction, task: str, limit: int) -> list[tuple[int, Note]]:
    """The first notes on a task, each with its stamp."""
    prefix = note_prefix(task)
    return [(int(key[len(prefix) :]), note) for key, note in tx.fetch([prefix_range(prefix)], limit).rows]


def put_note(tx: Transaction, task: str, stamp: int, note: Note) -> None:
    """Write a note; stamps are times, and rise."""
    tx.put(f"{note_prefix(task)}{stamp:015d}", note)


def delete_note(tx: Transaction, task: str, stamp: int) -> None:
    """Delete a note."""
    tx.delete(f"{note_prefix(task)}{stamp:015d}")


def get_bids(tx: Transaction, task: str, limit: int) -> dict[str, Bid]:
    """The bids on a task, by bidder."""
    return {bid["agent"]: bid for _, bid in tx.fetch([prefix_range(bid_prefix(task))], limit).rows}


def put_bid(tx: Transaction, task: str, bid: Bid) -> None:
    """Write a bid on a task."""
    tx.put(bid_prefix(task) + bid["agent"], bid)


def delete_bid(tx: Transaction, task: str, agent: str) -> None:
    """Delete an agent's bid on a task."""
    tx.delete(bid_prefix(task) + agent)


# --- agents that wait for work


def is_for_one_task(waiter: WorkWaiter) -> TypeGuard[TaskWaiter]:
    """Does this agent wait for one task, and not for any?"""
    return "task" in waiter


def get_waiter(tx: Transaction, waiter: str) -> WorkWaiter | None:
    """An agent that waits, by the id of its place."""
    record: WorkWaiter | None = tx.get(waiter_key(waiter))
    return record


def get_waiters(tx: Transaction, limit: int) -> list[tuple[str, WorkWaiter]]:
    """Some waiting agents, each with the id of its place."""
    return [(end_of(key), waiter) for key, waiter in tx.fetch([prefix_range(waiter_key(""))], limit).rows]


def scan_line(tx: Transaction, task: str, limit: int, after: str) -> tuple[list[tuple[str, TaskWaiter]], bool]:
    """Up to `limit` agents that wait for one task, each with its entry, after an entry; and are there more?"""
    page = tx.scan(1, claim_records.task_line(task), limit, after)
    return [(entry, waiter) for entry, _, waiter in page.rows], page.truncated


def put_waiter(tx: Transaction, identifier: str, waiter: WorkWaiter) -> None:
    """Write an agent's place; one for a single task is in that task's line."""
    if not is_for_one_task(waiter):
        tx.put(waiter_key(identifier), waiter)
        return
    turn = waiter["turn"] if isinstance(waiter["turn"], str) else f"{waiter['turn']:0{COMMIT_DIGITS}d}"
    entry = claim_records.task_line(waiter["task"], turn, identifier)
    tx.put(waiter_key(identifier), waiter, entry, claim_records.task_wait(waiter["agent"], identifier))


def delete_waiter(tx: Transaction, waiter: str) -> None:
    """Delete an agent's place."""
    tx.delete(waiter_key(waiter))


def get_histories(tx: Transaction) -> Iterator[tuple[str, WorkHistory]]:
    """When each agent last got a task, and asked for work."""
    prefix = history_key("")
    return ((key[len(prefix) :], history) for key, history in walk(tx, prefix))


def put_history(tx: Transaction, agent: str, history: WorkHistory, until: int) -> None:
    """Write an agent's history; a sweep deletes it after `until`."""
    tx.put(history_key(agent), history, i2=due(until))


# --- jobs that cancel tasks


def next_job_parent(tx: Transaction, job: str) -> tuple[str, str] | None:
    """The first task whose children a job has yet to cancel, and the key of the last child that it has done."""
    rows = tx.fetch([prefix_range(job_parent_prefix(job))], 1).rows
    if not rows:
        return None
    cursor: ParentCursor = rows[0][1]
    return end_of(rows[0][0]), cursor["after"]


def put_job_parent(tx: Transaction, job: str, task: str, after: str) -> None:
    """A job has yet to cancel the children of a task, after this key."""
    cursor: ParentCursor = {"after": after}
    tx.put(job_parent_prefix(job) + task, cursor)


def delete_job_parent(tx: Transaction, job: str, task: str) -> None:
    """A job has cancelled the children of a task."""
    tx.delete(job_parent_prefix(job) + task)
