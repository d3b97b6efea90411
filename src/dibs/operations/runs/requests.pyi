"""The requests of this room. Made by `make generate` from its declarations."""

from collections.abc import Sequence
from typing import Any, Literal, TypedDict

class RunArchivedRequest(TypedDict):
    """The request of `run archived`."""

    run: str
    file: str
    sha256: str
    size: int

class RunChosenRequest(TypedDict):
    """The request of `run chosen`."""

    run: str

class RunEndRequest(TypedDict):
    """The request of `run end`."""

    run: str
    archive: bool
    keep: int | None
    force: bool
    strict: bool

class RunErrorRequest(TypedDict):
    """The request of `run error`."""

    text: str
    run: str

class RunGatesRequest(TypedDict):
    """The request of `run gates`."""

    run: str
    at: Literal["setup", "during", "cleanup", ""]
    within: int
    facts: dict[str, str] | None

class RunHandledRequest(TypedDict):
    """The request of `run handled`."""

    number: int
    how: str
    run: str

class RunJoinRequest(TypedDict):
    """The request of `run join`."""

    run: str
    type: str
    can: Sequence[str]

class RunListRequest(TypedDict):
    """The request of `run list`."""

    limit: int
    after: str

class RunPhaseRequest(TypedDict):
    """The request of `run phase`."""

    phase: Literal["discovery", "analysis", "execution", "validation"]
    run: str

class RunProgressRequest(TypedDict):
    """The request of `run progress`."""

    run: str

class RunPurgeRequest(TypedDict):
    """The request of `run purge`."""

    run: str

class RunShowRequest(TypedDict):
    """The request of `run show`."""

    run: str

class RunStartRequest(TypedDict):
    """The request of `run start`."""

    name: str
    id: str
    phase: Literal["discovery", "analysis", "execution", "validation"]
    spec: str
    tasks: Sequence[Any] | None

class RunTasksRequest(TypedDict):
    """The request of `run tasks`."""

    run: str
    after: str

class RunUsageRequest(TypedDict):
    """The request of `run usage`."""

    run: str
    cpu: Any
    memory: int
    threads: int

class RunWarnRequest(TypedDict):
    """The request of `run warn`."""

    text: str
    run: str
