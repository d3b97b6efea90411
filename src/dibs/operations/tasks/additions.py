"""New tasks, one or many: the checks before a task exists, and its dependencies.

- success: the task exists, and agents find it as soon as its dependencies are complete.
- retry: the same key, or the same request id, returns the existing task.
- refusal: a state in which no task begins, a dependency on itself or on an unknown task, a dependency cycle; nothing is
  changed.
- dependencies: a task waits for the tasks in `after` until they are complete. They must exist when it is added, which
  rules out cycles; tasks that are added together are checked for cycles. A parent waits for its children, so a child
  can wait neither for its parent nor for a task that waits for the parent.
"""

from __future__ import annotations

from dibs.errors import Conflict, Invalid, NotFound, Quota
from dibs.operations.claims import records as claim_records
from dibs.operations.core import long_jobs
from dibs.operations.core.declare import Field, Operation
from dibs.operations.core.policy import MAX_DURATION_MS, STRATEGIES
from dibs.operations.tasks import lifecycle, records
from dibs.operations.tasks.lifecycle import COMPLETE, PLANNED
from dibs.stores.seam import COMMIT, KEYS_PER_FETCH

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypedDict

    from dibs.operations.core.call import Call
    from dibs.operations.tasks.answers import TaskAddAnswer
    from dibs.operations.tasks.records import Task
    from dibs.operations.tasks.requests import TaskAddRequest
    from dibs.stores.seam import Json, Range, Transaction

    SpecType = TypedDict("SpecType", {"for": str}, total=False)  # only for agents of this type

    class TaskSpec(SpecType, total=False):
        """A task that is to be added, by ADD_FIELDS."""

        title: str
        id: str  # "": one is made
        priority: int
        needs: Sequence[str]
        after: Sequence[str]
        parent: str
        key: str
        expect: int  # ms
        state: str
        payload: Json
        attempts: int
        strategy: str
        sticky: str
        bid_window: int  # ms
        race: str
        require: Sequence[str]
        run: str


MAX_TASKS_TOGETHER = 1_000  # in one transaction: all other calls wait for it, some 0.2 ms for each task
MAX_DEPENDENCIES = 10_000  # of one task: all the maps of a reduce
MAX_CAPABILITIES = 16  # that one task may need
MAX_POOLS = 256  # different demands on agents among the waiting tasks: `next` reads the head of each
INITIAL_STATES = (lifecycle.DISCOVERY, lifecycle.SCOPED, PLANNED)  # the states in which a task may begin


def _add(tx: Transaction, call: Call, request: TaskAddRequest) -> TaskAddAnswer:
    """Add one task; a key that was used before returns its first task."""
    task, existing = create(tx, call, {**request})
    from dibs.operations.tasks import workforce

    if not existing:
        workforce.wake(tx, [task])
    return {"task": lifecycle.shown(tx, task), "existing": existing}


def create(
    tx: Transaction,
    call: Call,
    spec: TaskSpec,
    place: int = 0,
    *,
    complete: bool = False,
    pools: set[str] | None = None,
) -> tuple[Task, bool]:
    """Make one task from its fields; `place` keeps the order of tasks made in one transaction.

    `complete`: it was finished elsewhere, before it was added here. `pools`: those that this transaction checked.

    Returns the task, and whether it existed already.
    """
    key = lifecycle.check_word(spec.get("key", ""), "key")
    if key:
        owner = records.get_owner(tx, key)
        if owner is not None:
            return records.load_task(tx, owner), True
    task = _record(tx, call, spec, place)
    identifier = task["task"]
    after = _check_after(tx, spec.get("after") or (), identifier)
    parent = _adopt(tx, task)
    if parent and after:
        _refuse_circle(tx, task, after)
    if complete:
        task.update({"state": COMPLETE, "finished": tx.now, "progress": lifecycle.MAX_PERCENT})
    _check_pools(tx, task, set() if pools is None else pools)
    _put_parts(tx, task, key, after, spec.get("payload"))
    tx.append("task.added", call.agent, identifier, _added(call, task, key, after, place, complete=complete))
    if task["strategy"] == "auction" and task["state"] == PLANNED:
        task["window"] = tx.now + (task["bid_window"] or call.policy.work["tasks"]["bid_window"])
    records.put_task(tx, task)
    return task, False


def _put_parts(tx: Transaction, task: Task, key: str, after: dict[str, str], payload: Json) -> None:
    """Write the records that belong to a task: payload, dependencies, key, race and run."""
    identifier = task["task"]
    if payload is not None:
        tx.put(records.payload_key(identifier), payload)
        task["payload"] = True
    if after:
        records.put_dependencies(tx, identifier, list(after))
        waited = [name for name, state in after.items() if state != COMPLETE]
        for name in waited:
            records.put_member(tx, records.dependent_prefix(name), identifier)
        task["open"], task["after"] = len(waited), True
    if key:
        records.put_owner(tx, key, identifier)
    if task["race"]:
        records.put_member(tx, records.race_prefix(task["race"]), identifier)
    if task["run"]:
        records.put_member(tx, records.run_prefix(task["run"]), identifier)


def _added(call: Call, task: Task, key: str, after: dict[str, str], place: int, *, complete: bool) -> dict[str, object]:
    """The data of the event that a task was added."""
    event: dict[str, object] = {
        "title": task["title"], "state": task["state"], "priority": task["priority"], "after": list(after)[:100],
        "parent": task["parent"], "run": task["run"], "key": key,
    }  # fmt: skip
    event = {name: value for name, value in event.items() if value}
    if complete:
        event["imported"] = True
    if call.request:
        event["request"] = [call.operation, f"{call.request}#{place}"]
    return event


def create_all(tx: Transaction, call: Call, specs: Sequence[TaskSpec]) -> list[Task]:
    """Make many tasks in one transaction. They may name each other in `after`, in any order, without a cycle."""
    by_id: dict[str, TaskSpec] = {}
    for spec in specs:
        name = spec.get("id") or f"t{tx.id()}"
        if name in by_id:
            raise Conflict(f"two tasks are called {name}", task=name)
        by_id[name] = {**spec, "id": name}
    tasks = []
    pools: set[str] = set()
    order = _in_order(by_id)
    _prefetch(tx, list(by_id.values()))
    for place, name in enumerate(order):
        task, _ = create(tx, call, by_id[name], place, pools=pools)
        tasks.append(task)
    return tasks


def _prefetch(tx: Transaction, specs: Sequence[TaskSpec]) -> None:
    """Read what `create` will read for each of these tasks, in a few trips: one for each task takes too long."""
    ids = sorted({lifecycle.check_id(spec["id"]) for spec in specs})
    before = {lifecycle.check_id(name, "after") for spec in specs for name in spec.get("after") or ()}
    parents = {lifecycle.check_id(spec["parent"], "parent") for spec in specs if spec.get("parent")}
    keys = {records.owner_key(lifecycle.check_word(spec["key"], "key")) for spec in specs if spec.get("key")}
    wanted = sorted(keys.union([records.task_key(name) for name in before.union(parents, ids)]))
    for start in range(0, len(wanted), KEYS_PER_FETCH):
        tx.prefetch(wanted[start : start + KEYS_PER_FETCH])
    for start in range(0, len(ids), KEYS_PER_FETCH):
        tx.prefetch((), _name_ranges(ids[start : start + KEYS_PER_FETCH]))


def _name_ranges(names: Sequence[str]) -> list[Range]:
    """The claims on the names of these tasks, and the places of those who wait for them."""
    return claim_records.ranges_of([lifecycle.resource_of(name) for name in names])


def _in_order(specs: dict[str, TaskSpec]) -> list[str]:
    """The ids, each after its dependencies; a cycle is refused with its members.

    A parent must exist before its children, so it counts as a dependency here.
    """
    waits = {
        name: {other for other in (*(spec.get("after") or ()), spec.get("parent", "")) if other in specs}
        for name, spec in specs.items()
    }
    users: dict[str, list[str]] = {name: [] for name in specs}
    for name, before in waits.items():
        for other in before:
            users[other].append(name)
    free = [name for name, before in waits.items() if not before]
    order: list[str] = []
    for name in free:  # grows while it is walked
        order.append(name)
        for user in users[name]:
            waits[user].discard(name)
            if not waits[user]:
                free.append(user)
    if len(order) < len(specs):
        circle = sorted(set(specs) - set(order))
        text = f"these tasks depend on each other in a cycle: {', '.join(circle[:10])}"
        raise Invalid(text, field="after", tasks=circle[:100])
    return order


def _record(tx: Transaction, call: Call, spec: TaskSpec, place: int) -> Task:
    title = spec["title"].strip()
    if not title:
        raise Invalid("a task needs a title: what is to be done", field="title")
    identifier = spec.get("id") or f"t{tx.id()}"
    key = records.task_key(lifecycle.check_id(identifier))
    holders = _name_ranges([identifier])
    tx.prefetch([key], holders, 1)
    if tx.get(key) is not None:
        raise Conflict(
            f"there is a task {identifier} already; with `--key`, adding it again returns the first task",
            task=identifier,
        )
    state, priority = spec.get("state") or PLANNED, spec.get("priority") or 0
    default = call.policy.work["tasks"]["strategy"]
    sticky = lifecycle.check_word(spec.get("sticky", ""), "sticky")
    strategy = spec.get("strategy") or ("sticky" if sticky else default if default == "auction" else "")
    needs = sorted({lifecycle.check_word(word, "needs") for word in spec.get("needs") or ()})
    require = [lifecycle.check_word(word, "require") for word in spec.get("require") or ()]
    if len(needs) > MAX_CAPABILITIES or len(require) > MAX_CAPABILITIES:
        raise Invalid(
            f"at most {MAX_CAPABILITIES} of these", field="needs" if len(needs) > MAX_CAPABILITIES else "require"
        )
    run = spec.get("run") or ""
    if run:
        from dibs.operations.runs import runs

        runs.active(tx, run)
    return records.with_defaults({
        "task": identifier, "title": title, "state": state, "priority": priority, "needs": needs,
        "for": lifecycle.check_word(spec.get("for", ""), "for"), "by": call.agent, "created": tx.now,
        "order": [tx.now, COMMIT, place], "parent": spec.get("parent") or "", "run": run,
        "key": spec.get("key") or "", "expect": spec.get("expect") or 0,
        "max_attempts": spec.get("attempts") or call.policy.work["tasks"]["max_attempts"],
        "bid_window": spec.get("bid_window") or 0, "strategy": strategy, "require": require, "sticky": sticky,
        "race": lifecycle.check_word(spec.get("race", ""), "race"),
        "named": bool(tx.fetch(holders, 1).rows),  # the name was claimed before the task existed
    })  # fmt: skip


def _check_after(tx: Transaction, after: Sequence[str], identifier: str) -> dict[str, str]:
    """The dependencies of a task, with their states: they exist, and the task itself is not among them."""
    if len(after) > MAX_DEPENDENCIES:
        raise Quota(what="tasks that one task waits for", limit=MAX_DEPENDENCIES)
    states: dict[str, str] = {}
    names = list(dict.fromkeys(after))
    for name in names:
        if lifecycle.check_id(name, "after") == identifier:
            raise Invalid(f"task {identifier} cannot wait for itself", field="after", task=identifier)
    for name, task in records.get_tasks(tx, names).items():
        if task is None:
            raise NotFound(f"after: there is no task {name}", field="after", task=name)
        states[name] = task["state"]
    return states


def _adopt(tx: Transaction, task: Task) -> str:
    """Make a task its parent's child; the parent waits for it and gives it its run."""
    if not task["parent"]:
        return ""
    if task["parent"] == task["task"]:
        raise Invalid("a task cannot be its own parent", field="parent")
    parent = records.load_task(tx, task["parent"])
    parent["state"] = long_jobs.as_counted(tx, parent, long_jobs.going(tx))["state"]
    if parent["state"] in lifecycle.FINAL_STATES:
        text = f"task {parent['task']} is {parent['state']}; it gets no more children"
        raise Conflict(text, task=parent["task"], state=parent["state"])
    task["run"] = task["run"] or parent["run"]
    parent["kids"] += 1
    parent["total_kids"] += 1
    records.put_task(tx, parent)
    records.put_member(tx, records.child_prefix(parent["task"]), task["task"])
    return parent["task"]


def _refuse_circle(tx: Transaction, task: Task, after: dict[str, str]) -> None:
    """Refuse a child that waits for its parent, or for a task that waits for its parent."""
    waiting = [task["parent"]]
    known = {task["parent"]}
    for name in waiting:  # grows during the loop: its parent waits for it, and so do the tasks after it
        above = records.get_task(tx, name)
        for user in (
            above["parent"] if above is not None else "",
            *records.ids_below(tx, records.dependent_prefix(name)),
        ):
            if user and user not in known:
                known.add(user)
                waiting.append(user)
        if len(waiting) > MAX_DEPENDENCIES:
            raise Quota(what="tasks that wait for a task that gets a child", limit=MAX_DEPENDENCIES)
    circle = [name for name in after if name in known]
    if circle:
        text = (
            f"task {task['task']} cannot wait for {circle[0]}: that waits for it, through its parent {task['parent']}"
        )
        raise Invalid(text, field="after", tasks=circle[:100])


def _check_pools(tx: Transaction, task: Task, checked: set[str]) -> None:
    """`next` reads the head of each pool, so their number is limited. `checked` has those that this call looked at."""
    pool = records.pool_of(task)
    if pool == records.ANY_AGENT_POOL or pool in checked:
        return
    checked.add(pool)
    if not records.scan_tasks(tx, records.ready(pool), 1)[0] and len(records.pool_heads(tx)) >= MAX_POOLS:
        raise Quota(what="different demands (--for, --needs) among the waiting tasks", limit=MAX_POOLS)


ADD_FIELDS = (
    Field("title", "text", "what is to be done", positional=True, required=True, metavar="TITLE"),
    Field("id", "text", "its id (else one is made)", default="", metavar="ID"),
    Field(
        "priority",
        "number",
        "higher comes first (default 0)",
        default=0,
        least=-lifecycle.MAX_PRIORITY,
        most=lifecycle.MAX_PRIORITY,
        metavar="N",
    ),
    Field("needs", "words", "capabilities that its agent must have", default=(), metavar="C,…"),
    Field("after", "words", "tasks that must be complete first", default=(), metavar="ID,…"),
    Field("parent", "text", "its parent task", default="", metavar="ID"),
    Field("for", "text", "only for agents of this type", default="", metavar="TYPE"),
    Field("key", "text", "idempotency key: adding it again returns the first task", default="", metavar="K"),
    Field(
        "expect",
        "duration",
        "how long it should take; an alert is raised after twice that",
        default=0,
        most=MAX_DURATION_MS,
        metavar="D",
    ),
    Field("state", "choice", "where it begins", default=PLANNED, choices=INITIAL_STATES, metavar="S"),
    Field("payload", "json", "what it is about", metavar="JSON|@FILE"),
    Field("attempts", "integer", "give up (quarantine) after N failed or lost attempts", default=0, metavar="N"),
    Field("strategy", "choice", "how its agent is chosen (default: the config's)", default="", choices=STRATEGIES),
    Field("sticky", "text", "affinity key: tasks with the same word go to the same agent", default="", metavar="WORD"),
    Field("bid_window", "duration", "how long an auction collects bids", default=0, most=MAX_DURATION_MS, metavar="D"),
    Field(
        "race",
        "text",
        "race group: the first task in the group to finish cancels the others",
        default="",
        metavar="WORD",
    ),
    Field("require", "words", "keys that its result must have", default=(), metavar="NAME,…"),
    Field("run", "text", "the run that it belongs to", default="", metavar="RUN"),
)

OPERATIONS = (
    Operation(
        "task add",
        _add,
        "Add a task.",
        group="tasks",
        fields=ADD_FIELDS,
        errors=(Invalid, NotFound, Conflict, Quota),
        rank="agent",
        answer="TaskAddAnswer",
    ),
)
