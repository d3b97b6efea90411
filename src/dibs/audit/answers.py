"""The answers of the queries, as types. operations/core/answers.py says how they are used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NotRequired, TypedDict

from dibs.operations.messages.answers import _From

if TYPE_CHECKING:
    from dibs.operations.guards.answers import AtWorkView, HolderView, KeptView
    from dibs.operations.oversight.answers import SettledView


CheckSeverity = Literal["error", "warning", "advice"]  # of `doctor`
DoctorSection = Literal["set-up", "guards", "audit", "log", "alerts"]
FindingSeverity = Literal["low", "medium", "high"]  # of `check`
CheckStatus = Literal["ok", "fail", "warn", "n/a", "unknown"]
Access = Literal["read", "write", "read+write", "refused"]
Level = Literal["", "free", "guarded", "strict"]


class EventView(TypedDict):
    """An event of the log."""

    seq: int
    at: str
    kind: str
    agent: str
    name: str  # "" if the agent is not known any more
    subject: str
    subject_name: NotRequired[str]  # where it is another agent
    data: dict[str, Any]
    commit: int
    link: str
    text: NotRequired[str]  # the sentence of `explain`, where sentences were asked for


class MissingView(TypedDict):
    """Events that could not be read, because their archive is lost, changed or elsewhere."""

    first: int
    last: int
    why: str
    settled: bool  # a person accepted it, or another machine has them: nothing is wrong


class LogAnswer(TypedDict):
    """Of `log`."""

    events: list[EventView]
    more: bool  # with `after`: there are more than these
    cursor: int  # the last event that was looked at: `after` of the next page
    earlier: bool  # without `after`: there are some before these, or events that were not looked at
    first: int  # without `after`: the first event that was looked at, `before` of the page before; 0 if none was
    missing: list[MissingView]  # numbers between them that could not be read
    lost: int  # how many events of these are lost, and that is not settled: then the answer is a no


class RestoreAnswer(TypedDict):
    """Of `restore`: the list, or what was restored."""

    kept: NotRequired[list[KeptView]]  # the newest first
    more: NotRequired[bool]
    cursor: NotRequired[str | None]
    restored: NotRequired[str]  # the path
    id: NotRequired[str]
    undo: NotRequired[str | None]  # `restore` of this takes it back
    token: NotRequired[int]
    holders: NotRequired[list[HolderView]]  # for which a person restored it; they keep it and were notified
    tree: NotRequired[str]  # with `tree`: the top that it had
    to: NotRequired[str]  # where it is now
    at: NotRequired[str | None]  # when its state was anchored; None if none was
    head: NotRequired[str]  # the commit that it was on
    branch: NotRequired[str]  # "" if it was on none
    checkout: NotRequired[str]  # folder, the branch, or detached
    files: NotRequired[list[str]]  # that differ from that commit, the first thousand; with `at`: that were brought back
    count: NotRequired[int]  # of all
    missing: NotRequired[list[str]]  # whose content is gone
    notes: NotRequired[list[str]]  # what the state had not


class BuiltOnView(TypedDict):
    """Who built on a file that is to be undone."""

    agent: str
    name: str
    since: str


class UndoneFileView(TypedDict):
    """One file of an undo."""

    path: str
    action: str  # restore, remove, bring back, mode, merge, unstage, commit; none if it stays as it is
    likely: bool  # it is not certain that the agent made the change
    conflicts: bool  # the merge has conflict marks, or could not be made
    reverts: bool  # a commit of it is reverted
    problem: str | None  # why it stays as it is
    diff: str
    others: list[BuiltOnView]


class DiffFileView(TypedDict):
    """A file with work of an agent that no commit has."""

    path: str
    tree: str  # its working tree
    change: Literal["added", "deleted", "modified"]
    added: int  # lines
    removed: int  # lines
    likely: bool  # it is not certain that the agent made the change
    shared: bool  # others changed the file after it: their work is not in the diff
    problem: str | None  # why there is no diff
    diff: NotRequired[str]  # not with `stat`


class DiffAnswer(TypedDict):
    """Of `diff`."""

    agent: str  # "" for a file or a working tree
    name: str
    files: list[DiffFileView]
    at: NotRequired[str]  # since when


class StateView(TypedDict):
    """What a file was, or a working tree, from one moment on."""

    at: str
    tree: str  # the top of the working tree
    id: str  # the content, or the commit that keeps a tree's state
    paths: list[str]  # what differs from the state before, the first ones
    count: int  # of all
    change: Literal["added", "deleted", "modified", "anchored"]
    agents: list[str]  # that made it; none for a person or a program
    names: list[str]
    likely: bool  # it is not certain
    why: str  # the reason that was given with the claim
    head: NotRequired[str]  # of a tree
    branch: NotRequired[str]
    notes: NotRequired[list[str]]  # what is not in the state


class TimelineAnswer(TypedDict):
    """Of `timeline`."""

    kind: Literal["file", "agent", "tree"]
    name: str
    states: list[StateView]  # the newest first
    more: bool  # there are older ones


class BriefAnswer(TypedDict):
    """Of `brief`."""

    agent: str
    name: str
    text: str


class UndoneView(TypedDict):
    """What an undo has done."""

    undo: str  # its id, by which it can be undone
    claim: str
    restored: list[str]
    left: list[str]  # files that changed meanwhile
    commit: str | None  # the revert of committed work
    conflicts: int


class UndoneSubjectView(TypedDict):
    """What an undo is asked for."""

    kind: str  # claim, undo, task or agent
    id: str
    agents: list[str]  # whose work it is
    agents_name: list[str]  # what people call them


class UndoAnswer(TypedDict):
    """Of `undo`; `undo` and what follows only if it was done."""

    what: UndoneSubjectView
    others: list[str]  # what else the word could mean, as it has to be written then
    commits: list[str]  # that are reverted
    notes: list[str]  # what is not undone here
    holders: list[AtWorkView]  # who is at work on these files, and what it loses
    files: list[UndoneFileView]
    continued: list[UndoneView]  # undos that were interrupted, and that this one finished
    done: bool
    undo: NotRequired[str]
    claim: NotRequired[str]
    restored: NotRequired[list[str]]
    left: NotRequired[list[str]]
    commit: NotRequired[str | None]
    conflicts: NotRequired[int]


class SubjectView(TypedDict):
    """What a story is about."""

    kind: str  # path, name, task, agent, claim, event, alert, change, run, state, undo or channel
    id: str
    name: str  # as its sentences name it


class StepView(TypedDict):
    """One step of a story."""

    seq: int | None  # the event; null for a commit that the log does not know
    at: str
    kind: str  # the event's kind, or `git`
    agent: str
    name: str  # "" where no agent is known
    sentence: str
    data: dict[str, Any]  # the event's facts
    asked: NotRequired[bool]  # this is the event that was asked for


class ExplainAnswer(TypedDict):
    """Of `explain`."""

    what: SubjectView
    others: list[str]  # what else the word could mean, as it has to be written then
    steps: list[StepView]
    now: list[str]  # how it stands at this moment
    more: bool  # there are later ones: with `after`, or around an event that was asked for
    cursor: int  # the position after the last step: `after` of the next page
    earlier: bool  # without `after`: there are some before these
    unread: int  # events in archives of this machine, which `archives` reads
    missing: list[MissingView]  # numbers that could not be read, because their archive is lost, changed or elsewhere


class CheckView(TypedDict):
    """One check of `doctor`; `command` fixes it, where one command does."""

    check: str
    ok: bool
    severity: CheckSeverity
    message: str
    command: NotRequired[str]


class DoctorFindingView(TypedDict):
    """What `doctor` found: `also` are other checks with the same remedy, `command` can be copied ("": none does it)."""

    check: str
    severity: CheckSeverity
    message: str
    also: list[str]
    command: str
    todo: str  # the same for people, where no command does it


class DoctorSectionView(TypedDict):
    """A section of `doctor`: the worst severity in it ("ok": none), what it found, the worst first, and what passed."""

    section: DoctorSection
    status: CheckSeverity | Literal["ok"]
    findings: list[DoctorFindingView]
    passed: list[str]
    absent: list[str]  # what does not apply here


class AuditFindingView(TypedDict):
    """One thing that a check found: what `check --settle` takes (`id`), the events that show it, what to do."""

    id: str
    text: str
    severity: FindingSeverity
    events: list[int]
    remedy: str
    agent: NotRequired[str]
    name: NotRequired[str]
    settled: NotRequired[SettledView]


class AuditCheckView(TypedDict):
    """One check of `check`; `status` says more than `ok`."""

    number: int
    check: str
    title: str
    ok: bool
    status: CheckStatus
    severity: Literal["none"] | FindingSeverity
    message: str
    remedy: str
    figures: dict[str, Any]
    findings: list[AuditFindingView]


class CheckAnswer(TypedDict):
    """Of `check`. `failed` are the checks that fail, `unknown` those that could not look."""

    workspace: str
    checks: list[AuditCheckView]
    failed: list[str]
    wrong: list[str]  # as `failed`
    unknown: list[str]
    severity: Literal["none"] | FindingSeverity
    risk: str
    result: str


class MapUseView(TypedDict):
    """What one agent did with one resource; `event` is the last one that shows it."""

    agent: str
    name: str
    access: Access
    writes: int
    reads: int
    refused: int
    holds: bool
    event: int
    at: str


class MapResourceView(TypedDict):
    """One resource of `map`; `level` is what the guards ask of a path."""

    resource: str
    kind: str
    level: Level
    agents: list[MapUseView]
    writers: int
    folded: NotRequired[int]


class MapAgentView(TypedDict):
    """One agent of `map`: of how many resources."""

    agent: str
    name: str
    writes: int
    reads: int
    refused: int


class MapRoleView(TypedDict):
    """Who may write what, by the configuration."""

    who: str
    role: str
    write: list[str]


class MapAnswer(TypedDict):
    """Of `map`. `depth` is where paths were folded, 0 if they were not."""

    resources: list[MapResourceView]
    agents: list[MapAgentView]
    totals: dict[str, int]
    roles: list[MapRoleView]
    depth: int
    more: bool
    cursor: str | None


class StatsView(TypedDict):
    """Counts and times (seconds) of `stats`; audit/statistics.py has the words."""

    granted: int
    refused: int
    false_refusals: int
    waits: int
    gave_up: int
    lost_claims: int
    attempts: int
    working: int
    complete: int
    failed: int
    quarantined: int
    cancelled: int
    retried: int
    returned: int
    passed: int
    lost: int
    success_rate: float | None
    work_time: float
    lost_time: float
    wait_time: float
    hold_time: float
    lost_hold_time: float
    average_work: float | None
    p95_work: float | None
    p95_wait: float | None
    longest_wait: float | None
    average_queued: float | None
    throughput: NotRequired[float]
    agent: NotRequired[str]
    name: NotRequired[str]
    kind: NotRequired[str]


class StatsContentionView(TypedDict):
    """One resource that agents met at."""

    resource: str
    refusals: int
    false_refusals: int
    waits: int
    longest_wait: float
    total_wait: float
    agents: int


class StatsBucketView(TypedDict):
    """A part of the time."""

    at: str
    granted: int
    refused: int
    waits: int
    complete: int
    failed: int
    lost: int


class StatsAnswer(_From):
    """Of `stats`."""

    to: str
    seconds: float
    events: int
    totals: StatsView
    refusals: dict[str, int]
    by_agent: list[StatsView]
    by_kind: list[StatsView]
    contention: list[StatsContentionView]
    buckets: list[StatsBucketView]
    bucket_seconds: float
    more: bool
    cursor: str | None


class DoctorAnswer(TypedDict):
    """Of `doctor`; the command adds checks on the guards, the sections, the guarded clients, and what is left to do."""

    checks: list[CheckView]
    failed: list[str]  # only errors
    sections: NotRequired[list[DoctorSectionView]]
    guarded: NotRequired[list[str]]
    todo: NotRequired[list[str]]
