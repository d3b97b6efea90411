"""The events of tasks, as types of their data. operations/core/events.py says how to add one."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

from dibs.operations.core.events import Requested, Token
from dibs.operations.tasks.answers import TaskState


class TaskAdded(Requested):
    """task.added: A task was added. Subject: task."""

    title: str
    state: TaskState
    priority: NotRequired[int]
    after: NotRequired[list[str]]  # the first hundred
    parent: NotRequired[str]
    run: NotRequired[str]
    key: NotRequired[str]
    imported: NotRequired[bool]  # it was complete when it was added (`dibs import`)


Move = TypedDict(
    "Move", {"from": TaskState, "to": TaskState, "class": NotRequired[Literal["transient", "lost", "poison"]]}
)


class Proof(TypedDict):
    """How a command ended that verified a task."""

    command: str
    exit: int
    seconds: float


class TaskMoved(Requested, Move):
    """task.moved: A task changed its state. Subject: task."""

    claim: NotRequired[str]  # into executing
    token: NotRequired[Token]  # into executing, and out of it by its holder's word
    why: NotRequired[str]
    verified: NotRequired[Proof]


class TaskPassed(TypedDict):
    """task.passed: A task has another claim from now on, held by the event's agent. Subject: task."""

    claim: str


class TaskForgotten(TypedDict):
    """task.forgotten: The records of finished tasks outside any run were removed after `[tasks] keep`.

    Subject: `""`.
    """

    tasks: list[str]


class TaskKept(TypedDict):
    """task.kept: A run was purged and this task of it stays.

    Other tasks wait for it, or it was planned again. Subject: task.
    """

    run: str


class TaskNoted(TypedDict):
    """task.noted: A note was added to a task, or its title or priority was changed. Subject: task."""

    text: str  # the note; of a change, what it is now and what it was
    title: NotRequired[str]  # the new one
    priority: NotRequired[int]


class TaskAssigned(Requested):
    """task.assigned: A task was assigned to an agent. Subject: task."""

    to: str
    strategy: str  # `direct`: named
    until: int
    amount: NotRequired[int]  # of the bid that won


class TaskLapsed(TypedDict):
    """task.lapsed: An assigned task was not picked up. Subject: task."""

    strategy: str
    until: int


class TaskAuctioned(Requested):
    """task.auctioned: An auction of a task was opened. Subject: task."""

    until: int


class TaskBid(Requested):
    """task.bid: An agent bid for a task. Subject: task."""

    amount: int
