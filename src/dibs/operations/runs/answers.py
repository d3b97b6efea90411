"""The answers of the room of runs, as types. operations/core/answers.py says how they are used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NotRequired, TypedDict

from dibs.operations.core.answers import Page

if TYPE_CHECKING:
    from dibs.operations.agents.answers import AgentState
    from dibs.operations.tasks.answers import FailedTask, TaskAtWork

RunState = Literal["active", "ended"]


class ArchiveView(TypedDict):
    """Where a run's archive is."""

    file: str
    sha256: str
    size: int


class RunView(TypedDict):
    """A run."""

    id: str
    operation: str
    coordinator: str
    coordinator_name: NotRequired[str]
    state: RunState
    phase: str
    started_at: str
    error_count: int
    warning_count: int
    spec: NotRequired[str]
    ended_at: NotRequired[str]
    ended_by: NotRequired[str]
    ended_by_name: NotRequired[str]
    kept_until: NotRequired[str]
    archive: NotRequired[ArchiveView]


class RunNote(TypedDict):
    """An error or a warning of a run."""

    number: int
    text: str
    by: str
    by_name: NotRequired[str]
    at: str
    handled: NotRequired[str | None]  # of an error: how


class TaskCounts(TypedDict):
    """How many tasks there are, and how many in those states that there are."""

    total: int
    discovery: NotRequired[int]
    scoped: NotRequired[int]
    planned: NotRequired[int]
    executing: NotRequired[int]
    complete: NotRequired[int]
    failed: NotRequired[int]
    cancelled: NotRequired[int]
    quarantined: NotRequired[int]


class RunProgress(RunView):
    """How far a run is."""

    progress: int
    tasks: TaskCounts
    errors: list[RunNote]
    warnings: list[RunNote]


class Usage(TypedDict):
    """What a process uses."""

    cpu: float
    memory: int
    threads: int
    at: NotRequired[str]


class RunMember(TypedDict):
    """An agent that takes part in a run."""

    agent: str
    name: NotRequired[str]
    type: str
    can: list[str]
    pid: int | None
    joined_at: str
    usage: NotRequired[Usage]
    peak: NotRequired[Usage]


class RunMemberDetail(RunMember):
    """The same with what it does."""

    state: AgentState
    tasks: list[str]
    finished: int


class PhaseView(TypedDict):
    """A phase of a run."""

    phase: str
    at: str
    by: str
    by_name: NotRequired[str]


class RunDetail(RunProgress):
    """A run with all that belongs to it."""

    phases: list[PhaseView]
    agents: list[RunMemberDetail]


class GateView(TypedDict):
    """A quality gate."""

    name: str
    at: str
    passed: bool
    why: str


class RunStartAnswer(TypedDict):
    """Of `run start`."""

    run: RunView
    tasks: NotRequired[list[str]]


class RunJoinAnswer(TypedDict):
    """Of `run join`."""

    run: RunView
    agent: RunMember


class RunPhaseAnswer(TypedDict):
    """Of `run phase`."""

    run: RunView
    before: str


class RunNoteAnswer(TypedDict):
    """Of `run error`, `run warn` and `run handled`."""

    run: RunView
    noted: RunNote


class RunListAnswer(Page):
    """Of `run list`."""

    runs: list[RunView]


class RunProgressAnswer(TypedDict):
    """Of `run progress`."""

    run: RunProgress


class RunShowAnswer(TypedDict):
    """Of `run show`."""

    run: RunDetail


class RunGatesAnswer(TypedDict):
    """Of `run gates`."""

    run: RunView
    gates: list[GateView]
    failed: int


class RunEndAnswer(TypedDict):
    """Of `run end`. From `gates` on: added once the run has ended."""

    run: RunView
    existing: bool
    cancelled: list[str]
    count: NotRequired[int]
    released: list[str]
    gates: NotRequired[list[GateView]]
    failed: NotRequired[int]
    archive: NotRequired[str]


class RunPurgeAnswer(TypedDict):
    """Of `run purge`."""

    run: RunView
    more: bool


class BatchAddAnswer(TypedDict):
    """Of `batch add`."""

    tasks: list[str]


class GroupCounts(TypedDict):
    """How far one group of tasks is."""

    total: int
    begun: int
    over: int


class BatchOutlookAnswer(TypedDict):
    """Of `batch outlook`."""

    total: int
    states: dict[str, int]
    going: int
    stuck: int
    groups: dict[str, GroupCounts]
    progress: int
    failed: list[FailedTask]


class OutlookAnswer(TypedDict):
    """Of `outlook`."""

    ready: bool
    executing: bool
    later: bool
    at_work: list[TaskAtWork]


class JobAnswer(TypedDict):
    """Of `go on`."""

    more: bool
    done: int
    answer: dict[str, Any]


class RunArchivedAnswer(TypedDict):
    """Of `run archived`."""

    run: RunView


class RunUsageAnswer(TypedDict):
    """Of `run usage`."""

    kept: bool
