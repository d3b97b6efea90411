"""The answers of the room of tasks, as types. operations/core/answers.py says how they are used."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict

from dibs.operations.core.answers import Page, _For

TaskState = Literal[
    "discovery", "scoped", "planned", "executing", "complete", "failed", "cancelled", "quarantined"
]  # fmt: skip
_Class = TypedDict("_Class", {"class": str})


class TaskError(_Class):
    """Why a task failed last."""

    why: str
    at: str
    agent: str
    name: NotRequired[str]


class Assignment(TypedDict):
    """To whom a task is assigned."""

    agent: str
    name: NotRequired[str]
    until: str
    strategy: str


class ChildrenView(TypedDict):
    """A task's children. All but the first two: only in `task show`, with those states that there are."""

    total: int
    open: int
    progress: NotRequired[int]
    ids: NotRequired[list[str]]
    more: NotRequired[bool]
    discovery: NotRequired[int]
    scoped: NotRequired[int]
    planned: NotRequired[int]
    executing: NotRequired[int]
    complete: NotRequired[int]
    failed: NotRequired[int]
    cancelled: NotRequired[int]
    quarantined: NotRequired[int]


class TaskUse(TypedDict):
    """What the last attempt used, as the kernel counted it."""

    cpu: NotRequired[float]  # seconds
    memory: NotRequired[int]  # bytes
    seconds: NotRequired[float]


class TaskView(_For):
    """A task."""

    id: str
    title: str
    state: TaskState
    priority: int
    agent: str | None
    name: NotRequired[str]
    by: str
    by_name: NotRequired[str]
    created_at: str
    attempt: int
    max_attempts: int
    needs: NotRequired[list[str]]
    parent: NotRequired[str]
    run: NotRequired[str]
    key: NotRequired[str]
    strategy: NotRequired[str]
    race: NotRequired[str]
    note: NotRequired[str]
    note_by: NotRequired[str]
    note_by_name: NotRequired[str]
    progress: NotRequired[int]
    expected: NotRequired[float]  # seconds
    started_at: NotRequired[str]
    expired: NotRequired[bool]  # at work by its state, but its claim is past its deadline: it goes back to the queue
    finished_at: NotRequired[str]
    waits_for: NotRequired[int]
    after: NotRequired[list[str]]  # of a list, and of `task show`
    children: NotRequired[ChildrenView]
    not_before: NotRequired[str]
    assigned: NotRequired[Assignment]
    bids_until: NotRequired[str]
    error: NotRequired[TaskError]
    used: NotRequired[TaskUse]


class Verification(TypedDict):
    """What came of the command of `task done --verify`."""

    command: str
    exit: int
    seconds: float
    output: str  # the end of it
    at: str


class TakenTask(TaskView):
    """A task, as the agent that takes it is told."""

    payload: NotRequired[Any]
    inputs: NotRequired[bool]  # `task inputs` has results of the tasks that it comes after


class BlockingTask(TypedDict):
    """A task that another one waits for."""

    id: str
    state: TaskState


class TaskNote(TypedDict):
    """A note on a task."""

    text: str
    by: str
    by_name: NotRequired[str]
    at: str


class TaskDetail(TaskView):
    """A task with all that belongs to it."""

    payload: NotRequired[Any]
    result: NotRequired[Any]
    blocked_by: NotRequired[list[BlockingTask]]
    notes: NotRequired[list[TaskNote]]
    token: NotRequired[int]
    expires_at: NotRequired[str]
    verified: NotRequired[Verification]


class TaskAnswer(TypedDict):
    """Of `task fail`, `task note`, `task release`."""

    task: TaskView


class TaskAddAnswer(TaskAnswer):
    """Of `task add`."""

    existing: bool


class TaskAssignAnswer(TaskAnswer):
    """Of `task assign`."""

    agent: str | None
    name: NotRequired[str]
    queued: bool
    why: NotRequired[str]  # no agent was found


class TaskBidAnswer(TaskAnswer):
    """Of `task bid`."""

    amount: int
    bids: int
    bids_until: str


class TaskCancelAnswer(TaskAnswer):
    """Of `task cancel`."""

    cancelled: list[str]
    count: int


class TaskMoveAnswer(TaskAnswer):
    """Of `task move`."""

    cancelled: NotRequired[list[str]]
    count: NotRequired[int]


class TaskTakeAnswer(TypedDict):
    """Of `task next` and `task claim`."""

    task: TakenTask
    token: int
    claim: str
    expires_at: str
    renewed: NotRequired[bool]


class TaskDoneAnswer(TaskAnswer):
    """Of `task done`."""

    next: NotRequired[TaskTakeAnswer | None]
    verified: NotRequired[Verification]
    unfinished: NotRequired[list[str]]  # files with uncommitted work of the caller
    check: NotRequired[str]  # the project's own check ([land] check), which `--verify` could have run


class TaskInputsAnswer(TypedDict):
    """Of `task inputs`."""

    inputs: dict[str, Any]  # task → its result


class TaskListAnswer(Page):
    """Of `task list`."""

    tasks: list[TaskView]


class TaskProgressAnswer(TaskAnswer):
    """Of `task progress`."""

    expires_at: str


class TaskShowAnswer(TypedDict):
    """Of `task show`."""

    task: TaskDetail


class TaskSplitAnswer(TaskAnswer):
    """Of `task split`."""

    tasks: list[str]


class HeldTask(TypedDict):
    """A task that an agent has already, in the refusal of another one."""

    id: str
    token: int


class RefusedTask(TypedDict):
    """A task that was handed in and not accepted."""

    id: str
    code: str
    message: str


class TaskTurnAnswer(TypedDict):
    """Of `task turn`."""

    done: list[str]
    refused: list[RefusedTask]
    tasks: list[TaskTakeAnswer]


class FailedTask(TypedDict):
    """A task that will not go on by itself."""

    id: str
    state: TaskState
    race: str
    why: str | None


class TaskAtWork(TypedDict):
    """A task that somebody works on."""

    task: str
    agent: str
    name: NotRequired[str]
