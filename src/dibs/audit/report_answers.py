"""The answer of `run report`, as types. operations/core/answers.py says how they are used. Times are seconds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NotRequired, TypedDict

from dibs.operations.runs.answers import GateView, PhaseView, RunNote, RunState, Usage

if TYPE_CHECKING:
    from dibs.operations.tasks.answers import TaskError, TaskUse

# How an attempt at a task ended; `working` if it has not.
Outcome = Literal[
    "complete", "working", "retried", "returned", "passed", "cancelled", "failed", "quarantined", "lost"
]  # fmt: skip
_Period = TypedDict("_Period", {"from": float, "to": float})  # from the run's start on
_Start = TypedDict("_Start", {"from": float})
_Times = TypedDict("_Times", {"from": str, "to": str})


class ReportedRun(TypedDict):
    """The run of a report."""

    id: str
    operation: str
    coordinator: str
    coordinator_name: NotRequired[str]
    state: RunState
    phase: str
    started_at: str
    as_of: str  # its end, or the time of the report
    progress: int
    ended_at: NotRequired[str]
    ended_by: NotRequired[str]
    ended_by_name: NotRequired[str]
    spec: NotRequired[str]


class ReportSummary(TypedDict):
    """How many tasks there are, and how many in each state."""

    total: int
    complete: int
    failed: int
    cancelled: int
    quarantined: int
    open: int
    agents_used: int
    total_time: float
    work_time: float


class ReportPerformance(TypedDict):
    """How quick the work was."""

    throughput: float | None  # tasks a second
    success_rate: float | None
    average_time: float | None
    p95_time: float | None
    attempts: int


class OutcomeCounts(TypedDict):
    """How many attempts ended how: those outcomes that there are."""

    complete: int
    working: NotRequired[int]
    retried: NotRequired[int]
    returned: NotRequired[int]
    passed: NotRequired[int]
    cancelled: NotRequired[int]
    failed: NotRequired[int]
    quarantined: NotRequired[int]
    lost: NotRequired[int]


class ReportedAgent(OutcomeCounts):
    """What an agent did. From `state` on: only of agents that joined the run."""

    type: str
    can: list[str]
    attempts: int
    tasks: list[str]  # that it completed; the first ones
    work_time: float
    state: NotRequired[str]
    pid: NotRequired[int | None]
    assigned: NotRequired[list[str]]
    joined_at: NotRequired[str]
    usage: NotRequired[Usage | None]
    peak: NotRequired[Usage | None]


class ReportedTask(TypedDict):
    """What became of a task."""

    title: str
    state: str
    agent: str | None
    failures: int
    losses: int
    started_at: NotRequired[str]
    finished_at: NotRequired[str]
    time: NotRequired[float]
    parent: NotRequired[str]
    error: NotRequired[TaskError]
    result: NotRequired[Any]  # any JSON; a long one is cut: {"cut": true, "letters": N, "begins": TEXT}
    not_done: NotRequired[Any]  # what its agent says it left undone
    used: NotRequired[TaskUse]


class ReportedPhase(PhaseView, _Start):
    """A phase of the run."""

    time: float


class ReportedContention(TypedDict):
    """One resource that agents met at."""

    resource: str
    refusals: int
    waits: int
    gave_up: int
    longest_wait: float
    total_wait: float


class TaskBar(_Period):
    """An attempt at a task, or several that are merged."""

    outcome: Outcome
    task: NotRequired[str]
    title: NotRequired[str]
    why: NotRequired[str]
    count: NotRequired[int]  # of merged ones, which have no `task`, `title` and `why`
    tasks: NotRequired[list[str]]  # the first of them


class ClaimStrip(_Period):
    """A claim, or several that are merged."""

    resources: list[str]  # of the first
    mode: str
    end: str  # how it ended; `held` if it has not
    count: NotRequired[int]  # of merged ones


class TimelineMark(TypedDict):
    """A loss, a failure, or the end of an agent."""

    at: float
    what: str
    text: str


class TimelineLane(TypedDict):
    """One agent's part of a timeline."""

    agent: str
    tasks: list[TaskBar]
    claims: list[ClaimStrip]
    marks: list[TimelineMark]


class Drawing(TypedDict):
    """The lanes of a timeline."""

    seconds: float
    lanes: list[TimelineLane]
    together: bool  # bars of one outcome in one time slot are merged
    left_out: dict[str, int]  # what, and how many


class ReportTimeline(Drawing, _Times):
    """Who did what when."""


class RunReportAnswer(TypedDict):
    """Of `run report`; as a text or in a file, `run`, `format` and `text` or `file`."""

    run: ReportedRun
    summary: NotRequired[ReportSummary]
    performance: NotRequired[ReportPerformance]
    by_agent: NotRequired[dict[str, ReportedAgent]]
    by_task: NotRequired[dict[str, ReportedTask]]
    errors: NotRequired[list[RunNote]]
    warnings: NotRequired[list[RunNote]]
    phases: NotRequired[list[ReportedPhase]]
    contention: NotRequired[list[ReportedContention]]
    timeline: NotRequired[ReportTimeline]
    gates: NotRequired[list[GateView]]
    notes: NotRequired[list[str]]
    format: NotRequired[str]
    text: NotRequired[str]
    file: NotRequired[str]
