"""The task board: `task list`, `show`, `inputs`, `edit`, `move`, `cancel` and `note`.

additions.py has new tasks, pulls.py takes them, outcomes.py has the ends of work on them.

In short (docs/internals/promises.md has it in full):
- refusal: an unknown state, a move that is not in the table; nothing is changed.
- edit: the title and the priority, in every state but complete. What an agent works on keeps its claim; a new priority
  counts from the next choice on. What is so already writes nothing.
- children: a task waits for its children before it can be finished; its progress is theirs.
- cancelled: the agent that works on it is told and its late result is refused; the children are cancelled too.
"""

from __future__ import annotations

from dibs.errors import Conflict, Fenced, Invalid, Killed, NotFound, quoted
from dibs.operations.core import long_jobs, paging
from dibs.operations.core.call import iso, with_jobs
from dibs.operations.core.declare import PAGED, Field, Operation
from dibs.operations.tasks import cancellations, holders, lifecycle, records
from dibs.operations.tasks.lifecycle import CANCELLED, COMPLETE, EXECUTING, PLANNED
from dibs.stores.seam import prefix_range

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.operations.core.call import Call, JobsLeft
    from dibs.operations.tasks.answers import (
        BlockingTask,
        ChildrenView,
        TaskAnswer,
        TaskCancelAnswer,
        TaskDetail,
        TaskInputsAnswer,
        TaskListAnswer,
        TaskMoveAnswer,
        TaskShowAnswer,
        TaskView,
    )
    from dibs.operations.tasks.events import TaskNoted
    from dibs.operations.tasks.records import Task
    from dibs.operations.tasks.requests import (
        TaskCancelRequest,
        TaskEditRequest,
        TaskInputsRequest,
        TaskListRequest,
        TaskMoveRequest,
        TaskNoteRequest,
        TaskShowRequest,
    )
    from dibs.stores.seam import Json, Transaction

MAX_TASKS_LISTED = 1_000  # tasks in one answer
MAX_AFTER_LISTED = 100  # dependencies of one task in a list; `task show` has all
MAX_BLOCKING_SHOWN = 20  # incomplete dependencies in `task show`
MAX_NOTES = 50  # for one task; older ones are dropped


# --- looking


def _list(tx: Transaction, call: Call, request: TaskListRequest) -> TaskListAnswer:
    """Tasks, running ones first; each page by priority and age."""
    state = request["state"]
    if state:
        lifecycle.check_state(state)
    jobs = long_jobs.going(tx)

    def fitting(rows: list[tuple[str, Json]]) -> list[tuple[str, Task]]:
        tasks = [(place, long_jobs.as_counted(tx, records.with_defaults(task), jobs)) for place, task in rows]
        return [
            (place, task)
            for place, task in tasks
            if (not state or task["state"] == state) and (not request["agent"] or task["agent"] == request["agent"])
        ]

    def named(rows: list[tuple[str, Json]]) -> list[tuple[str, Task]]:
        known = records.get_tasks(tx, [records.end_of(key) for key, _ in rows])
        return fitting([(key, task) for key, _ in rows if (task := known[records.end_of(key)]) is not None])

    sections: list[paging.Section]
    if request["parent"]:
        sections = [(paging.KEYS, records.child_prefix(records.load_task(tx, request["parent"])["task"]), named)]
    elif request["run"]:
        sections = [(paging.KEYS, records.run_prefix(lifecycle.check_word(request["run"], "run")), named)]
    else:
        others = [other for other in lifecycle.STATES if other not in {EXECUTING, PLANNED}]
        states = (state,) if state else (EXECUTING, PLANNED, *others)
        sections = [(paging.INDEX, place, fitting) for name in states for place in records.PLACES[name]]
    page = paging.read(tx, sections, paging.check_limit(request["limit"]), request["after"])
    rank = {name: place for place, name in enumerate((EXECUTING, PLANNED))}
    page.records.sort(key=lambda task: (rank.get(task["state"], 2), -task["priority"], records.order_of(task)))
    return {"tasks": _with_after(tx, page.records), **page.answer()}


def _with_after(tx: Transaction, tasks: Sequence[Task]) -> list[TaskView]:
    """Tasks as a list shows them, with the ids of what each comes after."""
    dependencies = tx.get_many([records.dependencies_key(task["task"]) for task in tasks])
    expired = holders.expired(tx, tasks)
    shown = []
    for task in tasks:
        after = dependencies[records.dependencies_key(task["task"])]
        view = lifecycle.shown(tx, task)
        if after is not None:
            view["after"] = after["after"][:MAX_AFTER_LISTED]
        if task["task"] in expired:
            view["expired"] = True
        shown.append(view)
    return shown


def _members(tx: Transaction, prefix: str) -> tuple[list[Task], bool]:
    """The first tasks below a prefix, and whether there are more."""
    keys, truncated = records.keys_below(tx, prefix, MAX_TASKS_LISTED)
    tasks = records.get_tasks(tx, [records.end_of(key) for key in keys])
    return [task for task in tasks.values() if task is not None], truncated


def _show(tx: Transaction, call: Call, request: TaskShowRequest) -> TaskShowAnswer:
    """One task with everything that belongs to it."""
    name = request["id"]
    task = records.load_task(tx, name)
    shown: Json = lifecycle.shown(tx, long_jobs.as_counted(tx, task, long_jobs.going(tx)))
    view: TaskDetail = shown
    parts = (records.payload_key, records.result_key, records.dependencies_key, records.verification_key)
    keys = [key_of(name) for key_of in parts]
    tx.prefetch(keys, [prefix_range(records.note_prefix(name))], MAX_NOTES + 1)
    payload, result, after, proof = tx.get_many(keys).values()
    if payload is not None:
        view["payload"] = payload
    if result is not None:
        view["result"] = result
    if proof is not None:
        verified: Json = {**proof, "at": iso(tx, proof["at"])}
        view["verified"] = verified
    if after is not None:
        view["after"] = after["after"]
    if task["open"]:
        view["blocked_by"] = _blocking(tx, view["after"])
    if task["total_kids"]:
        view["children"] = _children(tx, task)
        view["progress"] = view["children"]["progress"]
    notes = records.get_notes(tx, name, MAX_NOTES + 1)
    if notes:
        view["notes"] = [{"text": note["text"], "by": note["by"], "at": iso(tx, note["at"])} for _, note in notes]
    live = holders.live_claim(tx, task)
    if live is not None:
        view["token"], view["expires_at"] = live["token"], iso(tx, live["until"])
    elif holders.expired(tx, [task]):
        view["expired"] = True
    return {"task": view}


def _blocking(tx: Transaction, after: Sequence[str]) -> list[BlockingTask]:
    """Some incomplete dependencies, first those that will never complete without help."""
    tasks = [task for task in records.get_tasks(tx, after).values() if task is not None]
    blocking: list[BlockingTask] = [
        {"id": task["task"], "state": task["state"]} for task in tasks if task["state"] != COMPLETE
    ]
    blocking.sort(key=lambda view: view["state"] not in lifecycle.FINAL_STATES)
    return blocking[:MAX_BLOCKING_SHOWN]


def _children(tx: Transaction, task: Task) -> ChildrenView:
    """A parent's progress is that of its children."""
    members, more = _members(tx, records.child_prefix(task["task"]))
    view: ChildrenView = {"total": task["total_kids"], "open": task["kids"]}
    for child in members:
        view[child["state"]] = view.get(child["state"], 0) + 1
    view["progress"] = lifecycle.progress(members)
    view["ids"], view["more"] = [child["task"] for child in members[:100]], more
    return view


def _inputs(tx: Transaction, call: Call, request: TaskInputsRequest) -> TaskInputsAnswer:
    """The results of a task's dependencies and children: its inputs."""
    task = records.load_task(tx, request["id"])
    names = records.get_dependencies(tx, task["task"])
    children = records.tasks_below(tx, records.child_prefix(task["task"])) if task["total_kids"] else ()
    names += [child["task"] for child in children if child["state"] == COMPLETE]
    return {"inputs": records.get_results(tx, names)}


# --- editing, moving, calling off, notes


def _edit(tx: Transaction, call: Call, request: TaskEditRequest) -> TaskAnswer:
    """Change a task's title and priority."""
    task = records.load_task(tx, request["id"])
    title, priority = request["title"], request["priority"]
    if title is None and priority is None:
        raise Invalid("say what changes: `--title TEXT`, `--priority N`", field="title", task=task["task"])
    if title is not None and not title.strip():
        raise Invalid("the title says what is to be done", field="title", task=task["task"])
    if task["state"] == COMPLETE:
        text = f"task {task['task']} is complete; nothing of it changes any more"
        raise Conflict(text, task=task["task"], state=task["state"])
    changed: list[str] = []
    event: TaskNoted = {"text": ""}
    if title is not None and (words := title.strip()) != task["title"]:
        changed.append(f"title {words!r}, was {task['title']!r}")
        event["title"] = task["title"] = words
    if priority is not None and priority != task["priority"]:
        changed.append(f"priority {priority}, was {task['priority']}")
        event["priority"] = task["priority"] = priority
    if changed:
        records.put_task(tx, task)
        event["text"] = "; ".join(changed)
        tx.append("task.noted", call.agent, task["task"], event)
    return {"task": lifecycle.shown(tx, task)}


def _move(tx: Transaction, call: Call, request: TaskMoveRequest) -> TaskMoveAnswer | TaskCancelAnswer | JobsLeft:
    """Move a task by hand, as the table allows; into and out of executing only with a token."""
    name = request["id"]
    task = records.load_task(tx, name)
    to = lifecycle.check_state(request["state"])
    hints = {EXECUTING: "task claim", COMPLETE: "task done", lifecycle.FAILED: "task fail"}
    if to in hints:
        raise Invalid(f"a task gets there by `dibs {hints[to]} {quoted(name)}`, not by hand", field="state", task=name)
    if to == CANCELLED:
        return _cancelled(tx, call, task)
    allowed = lifecycle.MOVES[task["state"]]
    if to not in lifecycle.MANUAL_STATES or to not in allowed or task["state"] == EXECUTING:
        raise lifecycle.refuse_move(task, to)
    job = long_jobs.covering(tx, task, long_jobs.going(tx))
    if job is not None:
        text = f"task {name} is being cancelled with others ({job['why']}); it can be moved when that is done."
        raise Conflict(text, task=name, state=CANCELLED, to=to)
    before = task["state"]
    lifecycle.move(tx, call.agent, task, to)
    if before in lifecycle.FINAL_STATES:  # a retry, from the start
        task.update({"failures": 0, "losses": 0, "not_before": 0, "finished": 0, "progress": 0})
        if before == CANCELLED and task["parent"]:
            cancellations.count_child(tx, task["parent"], 1)
    task.update({"assigned": None, "window": 0})
    records.put_task(tx, task)
    if to == PLANNED:
        from dibs.operations.tasks import workforce

        workforce.wake(tx, [task])
    return {"task": lifecycle.shown(tx, task)}


def _cancel(tx: Transaction, call: Call, request: TaskCancelRequest) -> TaskCancelAnswer | JobsLeft:
    """Cancel a task and its children."""
    return _cancelled(tx, call, records.load_task(tx, request["id"]), request["why"])


def _cancelled(tx: Transaction, call: Call, task: Task, why: str = "") -> TaskCancelAnswer | JobsLeft:
    """The answer that a task and its children are cancelled now, or that they were before."""
    name = task["task"]
    if task["state"] == CANCELLED:
        jobs = [job["job"] for job in long_jobs.going(tx) if long_jobs.is_cancel(job) and job["task"] == name]
        before: TaskCancelAnswer = {"task": lifecycle.shown(tx, task), "cancelled": [], "count": 0}
        return with_jobs(before, jobs)
    if CANCELLED not in lifecycle.MOVES[task["state"]]:
        raise lifecycle.refuse_move(task, CANCELLED)
    done, jobs = cancellations.cancel_all(tx, call.agent, task, why or f"{call.agent} cancelled it")
    answer: TaskCancelAnswer = {"task": lifecycle.shown(tx, records.load_task(tx, name)), **done}
    return with_jobs(answer, jobs)


def _asks_to_cancel(tx: Transaction, call: Call, request: TaskCancelRequest | TaskMoveRequest) -> tuple[str, list[str]]:
    """The agent that added or has a task may cancel it; otherwise an orchestrator."""
    task = holders.find(tx, request["id"])
    return ("", []) if task is None else ("orchestrator", [task["by"], *holders.having(task)])


def _asks_to_move(tx: Transaction, call: Call, request: TaskMoveRequest) -> tuple[str, list[str]]:
    """Any agent may move a task that no agent has."""
    if request["state"] == CANCELLED:
        return _asks_to_cancel(tx, call, request)
    return _asks_to_edit(tx, call, request)


def _asks_to_edit(tx: Transaction, call: Call, request: TaskEditRequest | TaskMoveRequest) -> tuple[str, list[str]]:
    """Any agent may edit a task that no agent has; the agent that added or has it may, too; else an orchestrator."""
    task = holders.find(tx, request["id"])
    if task is None:
        return "", []
    having = holders.having(task)
    return ("orchestrator" if having else "agent"), [task["by"], *having]


def _asks_to_note(tx: Transaction, call: Call, request: TaskNoteRequest) -> tuple[str, list[str]]:
    """A worker writes notes only on its own tasks."""
    task = holders.find(tx, request["id"])
    return ("", []) if task is None else ("agent", [task["by"], *holders.having(task)])


def count_completed_child(tx: Transaction, task: Task) -> None:
    """A child is complete: its parent waits for one task less."""
    if task["parent"]:
        cancellations.count_child(tx, task["parent"], -1)


def _note(tx: Transaction, call: Call, request: TaskNoteRequest) -> TaskAnswer:
    """Keep a note on a task's progress; the next agent that takes the task sees the last note."""
    task = records.load_task(tx, request["id"])
    keep_note(tx, call, task, request["text"])
    records.put_task(tx, task)
    return {"task": lifecycle.shown(tx, task)}


def keep_note(tx: Transaction, call: Call, task: Task, text: str) -> None:
    """Add a note to a task; the caller writes the record."""
    words = text.strip()
    if not words:
        raise Invalid("say where it stands", field="text")
    stamps = [stamp for stamp, _ in records.get_notes(tx, task["task"], MAX_NOTES + 1)]
    for stamp in stamps[: max(0, len(stamps) - MAX_NOTES + 1)]:
        records.delete_note(tx, task["task"], stamp)
    stamp = max(tx.now, stamps[-1] + 1) if stamps else tx.now
    records.put_note(tx, task["task"], stamp, {"text": words, "by": call.agent, "at": tx.now})
    task["note"], task["note_by"] = words, call.agent
    tx.append("task.noted", call.agent, task["task"], {"text": words})


ID = Field("id", "text", "the task's id", positional=True, required=True, metavar="ID")

OPERATIONS = (
    Operation(
        "task list",
        _list,
        "List tasks.",
        group="tasks",
        fields=(
            Field("state", "choice", "only in this state", default="", choices=lifecycle.STATES, metavar="S"),
            Field("run", "text", "only of this run", default="", metavar="RUN"),
            Field("parent", "text", "only the children of this task", default="", metavar="ID"),
            Field("agent", "agent", "only tasks that this agent works on or finished", default="", metavar="AGENT"),
            *PAGED,
        ),
        errors=(Invalid, NotFound),
        answer="TaskListAnswer",
        writes=False,
    ),
    Operation(
        "task show", _show, "Show one task with all that belongs to it.",
        group="tasks", fields=(ID,), errors=(NotFound,),
        answer="TaskShowAnswer", writes=False,
    ),
    Operation(
        "task inputs", _inputs, "Show the results that a task builds on: of the tasks before it, and of its children.",
        group="tasks", fields=(ID,),
        errors=(NotFound,), answer="TaskInputsAnswer", writes=False,
    ),
    Operation(
        "task edit",
        _edit,
        "Change a task's title or priority.",
        group="tasks",
        fields=(
            ID,
            Field("title", "text", "what is to be done", metavar="TEXT"),
            Field(
                "priority", "number", "higher comes first", least=-lifecycle.MAX_PRIORITY, most=lifecycle.MAX_PRIORITY,
                metavar="N",
            ),
        ),
        errors=(NotFound, Conflict, Invalid),
        rank="worker", max_rank="orchestrator", required_rank=_asks_to_edit, answer="TaskAnswer",
        idempotent=True,
    ),
    Operation(
        "task move",
        _move,
        "Move a task by hand to another state.",
        group="tasks",
        fields=(ID, Field("state", "choice", "where to", positional=True, required=True, choices=lifecycle.STATES)),
        errors=(NotFound, Conflict, Invalid),
        rank="worker", max_rank="orchestrator", required_rank=_asks_to_move, answer="TaskMoveAnswer",
    ),
    Operation(
        "task cancel",
        _cancel,
        "Cancel a task and its children.",
        group="tasks",
        fields=(ID, Field("why", "text", "the reason; the agent working on it is notified", default="", metavar="T")),
        errors=(NotFound, Conflict),
        rank="worker", max_rank="orchestrator", required_rank=_asks_to_cancel, answer="TaskCancelAnswer",
        idempotent=True, destructive=True,
    ),
    Operation(
        "task note",
        _note,
        "Leave a note on a task: where the work stands.",
        group="tasks",
        fields=(ID, Field("text", "text", "where it stands", positional=True, required=True, metavar="TEXT")),
        errors=(NotFound, Invalid, Fenced, Killed),
        rank="worker", max_rank="agent", required_rank=_asks_to_note, answer="TaskAnswer",
    ),
)  # fmt: skip
