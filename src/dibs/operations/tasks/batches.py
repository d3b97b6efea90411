"""Batches: many tasks are added together, all or none, and `outlook` says whether they can still finish.

For the doors that start a whole pattern of tasks (workers/run_file.py, workers/patterns/); these are no commands.

- success: all tasks of a batch exist with one commit, so no worker sees half of it. More than fit into one batch come
  in several, dependencies first; an interrupted caller adds the missing ones.
- refusal: one invalid task, or a cycle among them, and none is added; nothing is changed.
- retry: with the same request id the second call gets the first answer.
- the outlook is a snapshot: a stuck task stays stuck until a failed one is planned again by hand.
"""

from __future__ import annotations

from dibs.errors import Conflict, Invalid, NotFound, Quota
from dibs.operations.core.declare import ANYWHERE, Field, Operation
from dibs.operations.tasks import additions, lifecycle, records
from dibs.operations.tasks.lifecycle import CANCELLED, COMPLETE, EXECUTING, FINAL_STATES, PLANNED
from dibs.stores.seam import KEYS_PER_FETCH

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from dibs.operations.core.call import Call
    from dibs.operations.runs.answers import BatchAddAnswer, BatchOutlookAnswer, GroupCounts
    from dibs.operations.tasks.additions import TaskSpec
    from dibs.operations.tasks.records import Task
    from dibs.operations.tasks.requests import BatchAddRequest, BatchOutlookRequest
    from dibs.stores.seam import Transaction

MAX_TASKS = additions.MAX_TASKS_TOGETHER
MAX_TASKS_READ = 200_000  # in one outlook
MAX_FAILED_NAMED = 20  # in one outlook


def _add(tx: Transaction, call: Call, request: BatchAddRequest) -> BatchAddAnswer:
    """Add all tasks, or none."""
    from dibs.operations.tasks import workforce

    specs: list[TaskSpec] = [*request["tasks"]]
    if request["run"]:
        specs = [{**spec, "run": request["run"]} for spec in specs]
    added = additions.create_all(tx, call, _missing(tx, specs) if request["missing"] else specs)
    workforce.wake(tx, added)
    return {"tasks": [task["task"] for task in added]}


def _missing(tx: Transaction, specs: list[TaskSpec]) -> list[TaskSpec]:
    """The tasks whose id is unused; a duplicate id among them is refused later."""
    names = [lifecycle.check_id(spec.get("id") or "") for spec in specs]
    known = records.get_tasks(tx, list(dict.fromkeys(names)))
    return [spec for name, spec in zip(names, specs, strict=True) if known[name] is None]


def _outlook(tx: Transaction, call: Call, request: BatchOutlookRequest) -> BatchOutlookAnswer:
    """The progress of these tasks (or of a run's), and whether any of them can still continue without help."""
    wanted = list(request["tasks"]) or _named(tx, records.run_prefix(request["run"]))
    known, before = _closure(tx, wanted)
    stuck = _stuck(known, before)
    states: dict[str, int] = {}
    groups: dict[str, GroupCounts] = {}
    going, failed = 0, []
    for name in wanted:
        task = known[name]
        state = task["state"]
        states[state] = states.get(state, 0) + 1
        group = groups.setdefault(name.rpartition("/")[0], {"total": 0, "begun": 0, "over": 0})
        group["total"] += 1
        group["begun"] += state in FINAL_STATES or state == EXECUTING
        group["over"] += state in FINAL_STATES or name in stuck
        going += state not in FINAL_STATES and name not in stuck
        if state in {lifecycle.FAILED, lifecycle.QUARANTINED}:
            failed.append(task)
    return {
        "total": len(wanted), "states": states, "going": going, "stuck": len([n for n in wanted if n in stuck]),
        "groups": groups, "progress": lifecycle.progress(known[name] for name in wanted),
        "failed": [
            {"id": task["task"], "state": task["state"], "race": task["race"],
             "why": task["error"]["why"] if task["error"] else None}
            for task in failed[:MAX_FAILED_NAMED]
        ],
    }  # fmt: skip


def _named(tx: Transaction, prefix: str) -> list[str]:
    """The ids of the tasks that the rows below a prefix name."""
    names: list[str] = []
    for name in records.ids_below(tx, prefix):
        names.append(name)
        _bound(len(names))
    return names


def _closure(tx: Transaction, wanted: Iterable[str]) -> tuple[dict[str, Task], dict[str, list[str]]]:
    """The tasks, all their dependencies, and the edges between them. A finished task waits for nothing."""
    known: dict[str, Task] = {}
    before: dict[str, list[str]] = {}
    left = list(dict.fromkeys(wanted))
    while left:
        page, left = left[:KEYS_PER_FETCH], left[KEYS_PER_FETCH:]
        for name, task in records.get_tasks(tx, page).items():
            if task is None:
                raise NotFound(f"there is no task {name}", task=name)
            known[name] = task
        _bound(len(known))
        waiting = [known[name] for name in page if known[name]["state"] == PLANNED]
        for task in waiting:
            if task["open"] or task["kids"]:
                before[task["task"]] = _waits_for(tx, task)
        queued = set(left)
        for name in page:
            fresh = [other for other in before.get(name, ()) if other not in known and other not in queued]
            left += fresh
            queued.update(fresh)
    return known, before


def _waits_for(tx: Transaction, task: Task) -> list[str]:
    """The tasks that a planned one waits for: its dependencies and its children."""
    names = records.get_dependencies(tx, task["task"]) if task["open"] else []
    return names + _named(tx, records.child_prefix(task["task"])) if task["kids"] else names


def _stuck(known: dict[str, Task], before: dict[str, list[str]]) -> set[str]:
    """Tasks that wait for one that will not complete without help, and tasks that wait for those."""
    users: dict[str, list[str]] = {}
    dead: list[str] = []
    for name, names in before.items():
        for other in names:
            users.setdefault(other, []).append(name)
    for other in users:
        state = known[other]["state"]
        if state in FINAL_STATES and state != COMPLETE:
            dead.append(other)
    stuck: set[str] = set()
    for name in dead:  # grows while it is walked
        for user in users.get(name, ()):
            child = known[name]["parent"] == user
            if child and known[name]["state"] == CANCELLED:
                continue  # a parent does not wait for a cancelled child
            if user not in stuck:
                stuck.add(user)
                dead.append(user)
    return stuck


def _bound(count: int) -> None:
    if count > MAX_TASKS_READ:
        raise Quota(f"more than {MAX_TASKS_READ} tasks belong to it", what="tasks in one outlook", limit=MAX_TASKS_READ)


_RUN = Field("run", "text", "their run", default="", metavar="RUN")

# Not in OPERATIONS: for doors, no commands of their own.
ADD = Operation(
    "batch add",
    _add,
    "Add many tasks, all or none.",
    sent_by=ANYWHERE,
    fields=(
        Field(
            "tasks",
            "json",
            "JSON list of tasks, same fields as `task add`",
            required=True,
            least=1,
            most=MAX_TASKS,
            items=additions.ADD_FIELDS,
        ),
        _RUN,
        Field("missing", "flag", "only tasks whose id is unused", default=False),
    ),
    errors=(Invalid, NotFound, Conflict, Quota),
    rank="agent",
    answer="BatchAddAnswer",
)
OUTLOOK = Operation(
    "batch outlook",
    _outlook,
    "The progress of many tasks, and whether any can still continue.",
    sent_by=ANYWHERE,
    fields=(_RUN, Field("tasks", "words", "these tasks, instead of a run's", default=())),
    errors=(NotFound, Quota),
    answer="BatchOutlookAnswer",
    writes=False,
)

INTERNAL = (ADD, OUTLOOK)
