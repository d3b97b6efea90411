"""The requests of this room. Made by `make generate` from its declarations."""

from collections.abc import Sequence
from typing import Any, Literal, TypedDict

class BatchAddRequest(TypedDict):
    """The request of `batch add`."""

    tasks: Sequence[Any]
    run: str
    missing: bool

class BatchOutlookRequest(TypedDict):
    """The request of `batch outlook`."""

    run: str
    tasks: Sequence[str]

class OutlookRequest(TypedDict):
    """The request of `outlook`."""

    agent: str
    run: str

class RegistryAdoptRequest(TypedDict):
    """The request of `registry adopt`."""

    spec: Any
    left: int
    held: int

class RegistryImportRequest(TypedDict):
    """The request of `registry import`."""

    tasks: Sequence[Any]

class RegistryLookRequest(TypedDict):
    """The request of `registry look`."""

    ids: Sequence[str]

class RegistryMoveRequest(TypedDict):
    """The request of `registry move`."""

    id: str
    state: str

class RegistryReleaseRequest(TypedDict):
    """The request of `registry release`."""

    id: str
    state: str

class RegistrySettleRequest(TypedDict):
    """The request of `registry settle`."""

    ids: Sequence[str]

class RegistryTakeRequest(TypedDict):
    """The request of `registry take`."""

    spec: Any

TaskAddRequest = TypedDict(  # the request of `task add`
    "TaskAddRequest",
    {
        "title": str,
        "id": str,
        "priority": int,
        "needs": Sequence[str],
        "after": Sequence[str],
        "parent": str,
        "for": str,
        "key": str,
        "expect": int,
        "state": Literal["discovery", "scoped", "planned"],
        "payload": Any,
        "attempts": int,
        "strategy": Literal[
            "priority",
            "round_robin",
            "load_balanced",
            "capability",
            "sticky",
            "auction",
            "preemptive",
            "",
        ],
        "sticky": str,
        "bid_window": int,
        "race": str,
        "require": Sequence[str],
        "run": str,
    },
)

class TaskAssignRequest(TypedDict):
    """The request of `task assign`."""

    id: str
    strategy: Literal["priority", "round_robin", "load_balanced", "capability", "sticky", "auction", "preemptive", ""]
    to: str

class TaskBidRequest(TypedDict):
    """The request of `task bid`."""

    id: str
    amount: int

class TaskCancelRequest(TypedDict):
    """The request of `task cancel`."""

    id: str
    why: str

class TaskClaimRequest(TypedDict):
    """The request of `task claim`."""

    id: str
    wait: int
    waiter: str
    wake: str

class TaskDoneRequest(TypedDict):
    """The request of `task done`."""

    id: str
    token: int | None
    result: Any
    next: bool
    run: str
    not_done: str
    verify: str
    verified: Any
    left: Sequence[str]
    used: Any

class TaskEditRequest(TypedDict):
    """The request of `task edit`."""

    id: str
    title: str | None
    priority: int | None

TaskFailRequest = TypedDict(  # the request of `task fail`
    "TaskFailRequest",
    {
        "id": str,
        "token": int | None,
        "class": Literal["transient", "permanent"],
        "why": str,
        "used": Any,
    },
)

class TaskInputsRequest(TypedDict):
    """The request of `task inputs`."""

    id: str

class TaskKeepRequest(TypedDict):
    """The request of `task keep`."""

    id: str
    token: int | None

class TaskListRequest(TypedDict):
    """The request of `task list`."""

    state: Literal["discovery", "scoped", "planned", "executing", "complete", "failed", "quarantined", "cancelled", ""]
    run: str
    parent: str
    agent: str
    limit: int
    after: str

class TaskMoveRequest(TypedDict):
    """The request of `task move`."""

    id: str
    state: Literal["discovery", "scoped", "planned", "executing", "complete", "failed", "quarantined", "cancelled"]

class TaskNextRequest(TypedDict):
    """The request of `task next`."""

    wait: int
    run: str
    waiter: str
    wake: str

class TaskNoteRequest(TypedDict):
    """The request of `task note`."""

    id: str
    text: str

class TaskProgressRequest(TypedDict):
    """The request of `task progress`."""

    id: str
    percent: int
    token: int | None
    note: str

class TaskReleaseRequest(TypedDict):
    """The request of `task release`."""

    id: str
    token: int | None
    note: str

class TaskShowRequest(TypedDict):
    """The request of `task show`."""

    id: str

class TaskSplitRequest(TypedDict):
    """The request of `task split`."""

    id: str
    token: int | None
    children: Sequence[Any]

class TaskTurnRequest(TypedDict):
    """The request of `task turn`."""

    done: Sequence[Any] | None
    take: int
    run: str
