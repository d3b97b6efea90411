"""The answers: what each operation gives back, as types. One TypedDict for each answer, and for each thing shown in it.

An operation's declaration names its answer (`Operation(..., answer="ClaimAnswer")`). From that `make generate` writes
the return types of the Python methods and the keys in help and docstrings (`answer_keys.py`); a server derives JSON
Schema (`schema.py`). The test suite holds every answer to its type. Nothing imports this module while a command runs.

A key that is not in every answer is `NotRequired`. The name of an agent stands beside its id (`agent` and `name`,
`holder` and `holder_name`) as long as the agent is known; see names.py. Times are ISO 8601 in UTC.
"""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict

Mode = Literal["write", "read", "watch"]
AgentState = Literal["alive", "gone", "unknown", "left", "killed"]
Health = Literal["dead", "seen", "idle", "silent"]
Breaker = Literal["closed", "open", "half-open"]
TaskState = Literal[
    "discovery", "scoped", "planned", "executing", "complete", "failed", "cancelled", "quarantined"
]  # fmt: skip
RunState = Literal["active", "ended"]
AlertKind = Literal[
    "hold", "wait", "deadlock", "expired", "dead", "silent", "violation", "bypass", "removed",
    "deploy_stale", "deploy_unverified", "poison", "breaker", "store", "rules",
]  # fmt: skip
AlertState = Literal["open", "acknowledged", "cleared"]
Severity = Literal["warning", "error"]
VoteState = Literal["open", "decided", "undecided", "lapsed"]
LandingState = Literal["queued", "landed", "refused", "cancelled"]


class Page(TypedDict):
    """What every listing ends with."""

    more: bool  # there are more than these
    cursor: str | None  # `after` of the next page; None if this is the last


class WaitingAnswer(TypedDict):
    """What an operation says to a door whose caller has to wait. No caller sees it."""

    waiting: str  # the place in the queue
    look_in: int  # milliseconds until the next look
    place: NotRequired[int]  # in line, from 1
    line: NotRequired[int]  # how many stand in it
    blockers: NotRequired[list[BlockerView]]


_For = TypedDict("_For", {"for": NotRequired[str]})


class WaitingForAnswer(WaitingAnswer, _For):
    """The same where it waits for something else than a claim."""


# --- claims


class BlockerView(TypedDict):
    """Somebody in the way of a claim."""

    agent: str
    name: NotRequired[str]
    resource: str
    mode: Mode
    since: NotRequired[str | None]
    until: NotRequired[str | None]
    reason: NotRequired[str]
    left: NotRequired[str]
    waiting: NotRequired[bool]  # it waits, too, and came first
    subagent: NotRequired[bool]  # of the agent that is refused
    dead: NotRequired[bool]  # its process is gone, and the claim is not tied to it
    task: NotRequired[str]
    title: NotRequired[str]  # the task's
    paths: NotRequired[list[str]]
    more_paths: NotRequired[int]
    pid: NotRequired[int]


class WaitingStep(TypedDict):
    """One agent in a circle of agents that wait for each other."""

    agent: str
    name: NotRequired[str]
    resource: str
    holder: str
    holder_name: NotRequired[str]
    since: NotRequired[str]


class GrantView(TypedDict):
    """A claim, as the agent that took it is told."""

    claim: str
    token: int
    resources: list[str]
    mode: Mode
    expires_at: str
    agent: str
    name: NotRequired[str]
    ends: NotRequired[Literal["commit"]]  # what ends it before its time


class ClaimAnswer(GrantView):
    """Of `claim`."""

    renewed: NotRequired[bool]  # the agent held it already; False for a turn in the queue that has come
    watch: NotRequired[list[BlockerView]]  # who watches it, or whom this claim watches
    note: NotRequired[str]


class RenewAnswer(TypedDict):
    """Of `renew`."""

    renewed: list[GrantView]


class ForcedHolder(TypedDict):
    """Somebody whose claim was taken away."""

    agent: str
    name: NotRequired[str]
    resources: list[str]
    token: int


class KeptContent(TypedDict):
    """What a file of that holder was, kept for `dibs restore`."""

    id: str
    path: str
    tree: str
    blob: str


class ReleaseAnswer(TypedDict):
    """Of `release`."""

    released: list[str]
    count: NotRequired[int]  # with --all: how many there were; `released` has the first
    to: NotRequired[str]
    to_name: NotRequired[str]
    claims: NotRequired[list[GrantView]]  # handed over
    holders: NotRequired[list[ForcedHolder]]  # with --force
    kept: NotRequired[list[KeptContent]]  # with --force


class ConfirmAnswer(TypedDict):
    """Of `confirm`."""

    holder: str
    holder_name: NotRequired[str]
    token: int
    expires_at: str


class AskAnswer(TypedDict):
    """Of `ask`."""

    message: str
    to: list[str]
    to_name: NotRequired[list[str]]
    resource: str


class ClaimView(TypedDict):
    """A live claim."""

    claim: str
    agent: str
    name: NotRequired[str]
    resources: list[str]
    mode: Mode
    token: int
    since: str
    expires_at: str
    left: str  # how much longer, in words
    reason: str
    task: str
    ttl: float  # seconds: how long it lasts from its last renewal on
    renewed_at: str  # the last renewal, or the grant
    expected: NotRequired[float]  # seconds
    tree: NotRequired[str]  # the working tree that it is confined to


class WaiterView(TypedDict):
    """An agent that waits for a claim."""

    agent: str
    name: NotRequired[str]
    resources: list[str]
    mode: Mode
    since: str
    until: str
    reason: str
    holders: list[WaitedForView]


class WaitedForView(TypedDict):
    """A claim that a waiter waits for."""

    agent: str
    name: NotRequired[str]
    claim: str
    resource: str
    since: str
    expires_at: str


class AlertShort(TypedDict):
    """An alert in one line."""

    id: str
    kind: AlertKind
    severity: Severity
    state: AlertState
    subject: str
    agent: str
    name: NotRequired[str]
    text: str
    remedy: str  # a command
    since: str  # of the cause


class Undelivered(TypedDict):
    """An alert whose delivery failed; `pending` while there are further attempts."""

    id: str
    kind: AlertKind
    state: Literal["pending", "failed"]
    tries: int
    why: str


class StatusAnswer(Page):
    """Of `status`."""

    claims: list[ClaimView]
    waiting: list[WaiterView]
    agents: list[AgentView]
    tasks: list[TaskView]
    alerts: list[AlertShort]  # open and acknowledged, the gravest first; the first 20
    alert_count: int
    undelivered: NotRequired[list[Undelivered]]  # alerts that the command or webhook of the config did not take
    warnings: NotRequired[list[str]]  # the store needs attention


# --- agents


class AgentView(TypedDict):
    """An agent, or a person."""

    agent: str
    name: str
    kind: Literal["agent", "person"]
    type: str
    can: list[str]
    state: AgentState
    health: Health
    incarnation: int
    client: str  # the kind of its client (`claude`), "" if that is not known
    host: str | None
    host_name: str | None  # for people
    pid: int | None
    since: str
    last_seen: str
    left_at: NotRequired[str]
    breaker: Breaker
    killed: NotRequired[str]  # why
    also: NotRequired[list[str]]  # its other ids
    rules: NotRequired[Literal["current", "old", "not told"]]
    tasks: NotRequired[list[str]]  # that it works on; in `agents`
    assigned: NotRequired[list[str]]  # that wait for it to take them; in `agents`, if there are any
    cpu: NotRequired[float]  # percent of one core, with --usage, on this machine
    memory: NotRequired[int]  # bytes, the same


class AgentsAnswer(Page):
    """Of `agents`."""

    agents: list[AgentView]
    usage: NotRequired[bool]  # it was asked for; `cpu` and `memory` are there where they could be measured


class WhoamiAnswer(TypedDict):
    """Of `whoami`."""

    agent: str
    name: str
    role: str
    type: str
    incarnation: int
    known: bool
    held: int
    by: str


class CredentialView(TypedDict):
    """A credential for a server's caller."""

    id: str
    kind: Literal["agent", "person", "machine"]
    who: str  # the agent, person or machine
    who_name: NotRequired[str]
    role: str  # "": what the config says
    state: Literal["live", "expired", "revoked"]
    by: str
    by_name: NotRequired[str]
    note: str
    since: str
    until: str
    fingerprint: str  # of the secret's hash
    revoked_at: NotRequired[str]


class TokenNewAnswer(TypedDict):
    """Of `token new`."""

    credential: CredentialView
    token: NotRequired[str]  # what its owner sends; not in the answer to a retry
    file: NotRequired[str]  # where the command wrote it instead


class TokenListAnswer(Page):
    """Of `token list`."""

    credentials: list[CredentialView]


class TokenRevokeAnswer(TypedDict):
    """Of `token revoke`."""

    credential: CredentialView


class LossView(TypedDict):
    """A claim or a task that an agent may believe to have, and has not."""

    claim: str
    resources: list[str]
    ago: str
    mode: str
    token: int | None
    why: str
    at: str
    task: str
    had: bool
    holder: str | None
    holder_name: NotRequired[str]
    since: str | None
    since_ago: NotRequired[str]
    believed: NotRequired[bool]
    state: NotRequired[str | None]
    finished_by: NotRequired[str]
    finished_by_name: NotRequired[str]


class OtherAgent(TypedDict):
    """An agent that is at work, too."""

    agent: str
    name: NotRequired[str]
    resources: list[str]
    more: int
    left: str


class OtherAgents(TypedDict):
    """Some of those."""

    agents: list[OtherAgent]
    more: int


class CurrentTask(TypedDict):
    """The task that an agent works on."""

    id: str
    token: int
    expires_at: str
    title: NotRequired[str]
    run: NotRequired[str]  # that it belongs to
    progress: NotRequired[int]  # percent
    note: NotRequired[str]
    note_by: NotRequired[str]
    note_by_name: NotRequired[str]


class RulesView(TypedDict):
    """The rules, as a boot tells them."""

    digest: str
    changed: bool
    first: bool
    text: NotRequired[str]


class FileView(TypedDict):
    """A file that a boot tells of."""

    name: str
    path: str
    part: Literal["whole", "top", "end", "none"]
    text: str
    characters: int  # of the whole file
    digest: str
    change: Literal["new", "same", "changed"]  # since the agent was last told


class Rival(TypedDict):
    """Another agent whose id this process was known by."""

    id: str
    agent: str
    name: NotRequired[str]
    since: str


class RoleView(TypedDict):
    """An agent's role, and what it lets the agent do."""

    role: str
    scratch: str  # its own folder; empty for a role that writes nothing
    write: list[str]  # patterns of the paths that it may write
    commit: bool
    deploy: bool


class BootAnswer(TypedDict):
    """Of `boot`."""

    agent: str
    name: NotRequired[str]
    incarnation: int
    role: RoleView | None
    held: list[ClaimView]
    held_count: int
    lost: list[LossView]
    lost_count: int
    others: OtherAgents
    task: CurrentTask | None
    messages: list[MessageView]
    more_messages: bool
    rules: RulesView | None
    alerts: list[AlertShort]  # open ones that concern the agent
    files: NotRequired[list[FileView]]
    rival: NotRequired[Rival]


class LeaveAnswer(TypedDict):
    """Of `leave`."""

    released: list[str]
    passed: list[str]
    count: int
    to: str | None
    to_name: NotRequired[str]


class RunningView(TypedDict):
    """A process below the client of a killed agent."""

    agent: str
    name: str
    pid: int
    command: str


class KillAnswer(TypedDict):
    """Of `kill`."""

    agents: list[AgentView]  # of all: the first 200
    killed: int  # how many
    voided: list[str]
    count: int
    running: list[RunningView]  # on this machine, started before; dibs does not end these


class ReviveAnswer(TypedDict):
    """Of `revive`."""

    agents: list[AgentView]  # of all: the first 200
    revived: int  # how many; an agent that was not killed does not count


class RulesAnswer(TypedDict):
    """Of `rules`."""

    digest: str
    acknowledged: str
    current: bool
    text: NotRequired[str]


class ScratchAnswer(TypedDict):
    """Of `scratch`."""

    agent: str
    name: NotRequired[str]
    scratch: str


# --- messages

_From = TypedDict("_From", {"from": str})


class MessageView(_From):
    """A message. From `resource` on: what dibs' own messages tell."""

    from_name: NotRequired[str]
    message: str
    type: str
    text: str
    at: str
    delivery: int  # how often it was shown before
    expires_at: NotRequired[str]
    ack: NotRequired[bool]  # it is shown again until it is acknowledged
    thread: NotRequired[str]
    reply_to: NotRequired[str]
    payload: NotRequired[Any]
    resource: NotRequired[str]
    resources: NotRequired[list[str]]
    violation: NotRequired[str]
    undo: NotRequired[str]
    tree: NotRequired[str]
    commit: NotRequired[str]
    task: NotRequired[str]
    acknowledged: NotRequired[str]
    by: NotRequired[str]
    by_name: NotRequired[str]
    undelivered: NotRequired[str]
    recipient: NotRequired[str]
    dead: NotRequired[str]
    pid: NotRequired[int]
    alert: NotRequired[str]
    kind: NotRequired[str]
    subject: NotRequired[str]
    seq: NotRequired[int]
    data: NotRequired[Any]
    cut: NotRequired[bool]
    dropped: NotRequired[list[int]]
    state: NotRequired[str]
    vote: NotRequired[str]
    options: NotRequired[list[str]]
    outcome: NotRequired[str]
    option: NotRequired[str | None]
    landing: NotRequired[str]
    branch: NotRequired[str]
    code: NotRequired[str]
    paths: NotRequired[list[str]]
    conflict: NotRequired[str]
    files: NotRequired[list[str]]


class InboxAnswer(Page):
    """Of `inbox`."""

    messages: list[MessageView]


class AckAnswer(TypedDict):
    """Of `ack`."""

    message: str
    path: NotRequired[str]  # of a change to a file that may stay


class SendAnswer(TypedDict):
    """Of `send`."""

    message: str
    to: list[str]
    to_name: NotRequired[list[str]]
    count: int  # agents that got it
    thread: str
    full: NotRequired[list[str]]  # whose inboxes have no room
    later: NotRequired[bool]  # it is kept for agents that come later


class EmitAnswer(TypedDict):
    """Of `emit`."""

    event: str


class SubscribeAnswer(TypedDict):
    """Of `subscribe`."""

    subscription: str
    cursor: int
    off: NotRequired[bool]


class SubscriptionView(TypedDict):
    """What an agent subscribes to."""

    subscription: str
    cursor: int


class SubscriptionsAnswer(Page):
    """Of `subscriptions`."""

    subscriptions: list[SubscriptionView]
    through: int


# --- tasks

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


# --- shared state, votes


class StateGetAnswer(TypedDict):
    """Of `state get`."""

    key: str
    value: Any
    version: int
    by: str
    by_name: NotRequired[str]
    at: str


class StateSetAnswer(TypedDict):
    """Of `state set`."""

    key: str
    value: Any
    version: int


class StateDeleteAnswer(TypedDict):
    """Of `state delete`."""

    key: str
    version: int


class DocumentView(TypedDict):
    """A document without its value."""

    key: str
    version: int
    by: str
    by_name: NotRequired[str]
    at: str


class StateListAnswer(Page):
    """Of `state list`."""

    documents: list[DocumentView]


class VoteView(TypedDict):
    """A vote."""

    id: str
    title: str
    options: list[str]
    electorate: list[str]
    electorate_name: NotRequired[list[str]]
    by: str
    by_name: NotRequired[str]
    at: str
    deadline: str
    state: VoteState
    option: str | None
    closed: str | None
    tally: dict[str, int]
    missing: list[str]


class VoteShowAnswer(TypedDict):
    """Of `vote show`."""

    vote: VoteView


class VoteOpenAnswer(VoteShowAnswer):
    """Of `vote open`."""

    repeated: NotRequired[bool]


class VoteCastAnswer(VoteShowAnswer):
    """Of `vote cast`."""

    option: str
    repeated: NotRequired[bool]


class VoteListAnswer(Page):
    """Of `vote list`."""

    votes: list[VoteView]


# --- worktrees: landings and coming conflicts


class LandingView(TypedDict):
    """A branch that is queued to land, or was decided."""

    id: str
    branch: str
    commit: str  # "": the branch's last one at the time it is landed
    onto: str  # the branch that it lands on
    agent: str  # the agent that queued it last
    name: NotRequired[str]
    at: str  # when it was queued
    priority: int
    state: LandingState
    home: NotRequired[str]  # the clone that it was queued in
    decided_at: NotRequired[str]
    landed: NotRequired[str]  # its commit on the target
    token: NotRequired[int]  # of the lander
    code: NotRequired[str]  # of a refusal: conflict, check, missing, tree, forbidden
    why: NotRequired[str]
    paths: NotRequired[list[str]]  # that conflict
    output: NotRequired[str]  # the end of the check's output
    log: NotRequired[str]  # the file with all of it, on the lander's machine


class LandAnswer(TypedDict):
    """Of `land`."""

    landing: LandingView
    place: NotRequired[int]  # in the queue, from 1, while it is queued
    repeated: NotRequired[bool]  # it was queued already
    lands: NotRequired[str]  # of `dibs land --wait 0`: an agent, `server`, "" if nobody lands at the moment


class LandingCancelAnswer(TypedDict):
    """Of `landings cancel`."""

    landing: LandingView


class LanderView(TypedDict):
    """The agent that lands, or that keeps others from landing."""

    agent: str
    name: NotRequired[str]
    token: int
    since: str
    reason: str
    stage: str  # checking, moving; "" if it only holds the claim
    landings: list[str]


class LastLandingView(TypedDict):
    """The last time that the target moved."""

    commit: str
    at: str
    agent: str
    name: NotRequired[str]
    token: int


class StoppedLandingView(TypedDict):
    """Why nothing lands, although something is queued: a lock file of git, a remote that refuses, and the like."""

    since: str
    why: str


class LandingsAnswer(Page):
    """Of `landings`."""

    onto: str
    queued: int
    lander: LanderView | None
    last: LastLandingView | None
    stopped: StoppedLandingView | None
    landings: list[LandingView]


class HunkView(TypedDict):
    """Lines that both sides changed: [first line, number of lines] in the version of each."""

    one: list[int]
    other: list[int]


class ConflictFileView(TypedDict):
    """A file that git could not merge."""

    path: str
    kind: str  # content, add/add, modify/delete, rename/rename …
    hunks: list[HunkView]


class SideView(TypedDict):
    """A working tree or a branch."""

    side: str
    name: str
    branch: str
    tree: str  # the top of the working tree; "" for a branch without one
    commit: str
    agents: list[str]  # whose work it is


class ComingConflictView(TypedDict):
    """Two sides that would conflict if they were merged now."""

    id: str
    since: str
    sides: list[SideView]
    files: list[ConflictFileView]
    count: int  # of files, also of those that are not listed


class RadarAnswer(Page):
    """Of `radar`."""

    conflicts: list[ComingConflictView]
    looked_at: str | None  # the last look
    looked: int  # sides that it looked at
    pairs: NotRequired[int]  # of the command, which looks first: pairs of sides,
    merged: NotRequired[int]  # of these merged now, because a side had changed,
    seconds: NotRequired[float]  # and how long it took


# --- runs


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


# --- alerts


class AlertCommit(TypedDict):
    """A commit that shows an alert's cause; `seq` is the number of its event about `subject`."""

    commit: int
    subject: str
    seq: NotRequired[int]  # not where the log was pruned


class AlertNote(TypedDict):
    """That somebody took note."""

    agent: str
    name: NotRequired[str]
    at: str
    why: str


class AlertEnd(TypedDict):
    """Why the cause is gone."""

    at: str
    why: str


class AlertDelivery(TypedDict):
    """What became of the delivery to the command or webhook of the config."""

    state: Literal["pending", "delivered", "failed"]
    tries: int
    why: str


class CycleStep(TypedDict):
    """An agent of a deadlock, and what it wants of whom."""

    agent: str
    name: NotRequired[str]
    resource: str
    holder: str
    holder_name: NotRequired[str]
    since: str


class AlertView(AlertShort):
    """An alert."""

    resources: list[str]
    raised_at: str
    repeats: int  # how often the same cause came again
    commits: list[AlertCommit]
    evidence: NotRequired[list[int]]  # the event numbers
    expected: NotRequired[float]  # seconds
    actual: NotRequired[float]  # seconds
    cycle: NotRequired[list[CycleStep]]
    pid: NotRequired[int]
    acknowledged: NotRequired[AlertNote]
    cleared: NotRequired[AlertEnd]
    delivery: NotRequired[AlertDelivery]


class Deliveries(TypedDict):
    """How many alerts wait to be delivered, and how many could not be."""

    pending: int
    failed: int


class Looker(TypedDict):
    """The last process of this machine that looked for trouble."""

    by: str  # worker, wait, sweep, server, hook
    pid: int
    ago: float  # seconds
    lasting: bool  # it is alive, and looks again by itself


class AlertsAnswer(Page):
    """Of `alerts`."""

    alerts: list[AlertView]
    not_kept: int  # for which there was no room
    deliveries: Deliveries
    looker: NotRequired[Looker | None]


class AlertAckAnswer(TypedDict):
    """Of `alerts ack`."""

    alerts: list[AlertView]  # that were acknowledged, now or before


# --- upkeep


class SweptCounts(TypedDict):
    """How many of each a sweep dealt with."""

    claims: int
    waiters: int
    interests: int
    answers: int
    alerts: int  # raised
    cleared: int  # alerts whose cause is gone
    agents: int
    sealed: int
    pruned: int
    tasks: int


class SweepAnswer(TypedDict):
    """Of `sweep`."""

    swept: SweptCounts
    more: bool
    prune: NotRequired[bool]  # events are due for an archive; the caller's machine writes it


class SealAnswer(TypedDict):
    """Of `seal`."""

    seq: int
    link: str
    claims: int


class PruneAnswer(TypedDict):
    """Of `prune`."""

    through: int
    archives: list[str]  # the files that were written


# --- not in the catalogue: what workers, patterns and the driver of runs ask


class BatchAddAnswer(TypedDict):
    """Of `batch add`."""

    tasks: list[str]


class GroupCounts(TypedDict):
    """How far one group of tasks is."""

    total: int
    begun: int
    over: int


class FailedTask(TypedDict):
    """A task that will not go on by itself."""

    id: str
    state: TaskState
    race: str
    why: str


class BatchOutlookAnswer(TypedDict):
    """Of `batch outlook`."""

    total: int
    states: dict[str, int]
    going: int
    stuck: int
    groups: dict[str, GroupCounts]
    progress: int
    failed: list[FailedTask]


class TaskAtWork(TypedDict):
    """A task that somebody works on."""

    task: str
    agent: str
    name: NotRequired[str]


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


# --- for the schema, and for tests


def hints_of(answer: str) -> dict[str, Any]:
    """The keys of an answer (or of a thing shown in one) with their types; those of every listing come last."""
    from typing import get_type_hints

    hints = get_type_hints(globals()[answer], include_extras=True)
    return {**{key: hint for key, hint in hints.items() if key not in Page.__annotations__}, **hints}


def is_sometimes(hint: Any) -> bool:
    """May the key of this type be missing?"""
    from typing import get_origin

    return get_origin(hint) is NotRequired


def plain(hint: Any) -> Any:
    """The type itself, whether or not its key may be missing."""
    return hint.__args__[0] if is_sometimes(hint) else hint


# --- queries: what is asked of the log


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


class KeptView(TypedDict):
    """An overwritten content that can be restored."""

    id: str
    path: str
    tree: str
    holder: str
    holder_name: NotRequired[str]
    by: str | None
    by_name: NotRequired[str]
    at: str
    blob: str
    how: str


class RestoreAnswer(TypedDict):
    """Of `restore`: the list, or what was restored."""

    kept: NotRequired[list[KeptView]]  # the newest first
    more: NotRequired[bool]
    cursor: NotRequired[str | None]
    restored: NotRequired[str]  # the path
    id: NotRequired[str]
    undo: NotRequired[str | None]  # `restore` of this takes it back
    token: NotRequired[int]


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


class UndoAnswer(TypedDict):
    """Of `undo`; `undo` and what follows only if it was done."""

    what: UndoneSubjectView
    others: list[str]  # what else the word could mean, as it has to be written then
    commits: list[str]  # that are reverted
    notes: list[str]  # what is not undone here
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


class FindingView(TypedDict):
    """Something wrong with the record."""

    seq: int
    code: str
    message: str


class VerifyAnswer(TypedDict):
    """Of `verify`."""

    found: int  # how many; `findings` has the first of them
    events: int
    granted: int
    live: int
    token: int
    first: int
    last: int
    link: str
    archives: int  # files with earlier events, which were read first
    elsewhere: int  # of these on other machines: not read
    settled: int  # that cannot be read, and that a person settled (`check settle`)
    findings: list[FindingView]


class CheckView(TypedDict):
    """One check of `doctor`."""

    check: str
    ok: bool
    severity: Literal["error", "warning", "advice"]
    message: str


class SettledView(TypedDict):
    """Who accepted a finding, when and why."""

    why: str
    agent: str
    at: str
    name: NotRequired[str]


class AuditFindingView(TypedDict):
    """One thing that a check found: what `check settle` takes (`id`), the events that show it, what to do."""

    id: str
    text: str
    severity: Literal["low", "medium", "high"]
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
    status: Literal["ok", "fail", "warn", "n/a", "unknown"]
    severity: Literal["none", "low", "medium", "high"]
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
    severity: Literal["none", "low", "medium", "high"]
    risk: str
    result: str


class CheckSettleAnswer(TypedDict):
    """Of `check settle`."""

    settled: str
    undone: bool
    why: NotRequired[str]


class MapUseView(TypedDict):
    """What one agent did with one resource; `event` is the last one that shows it."""

    agent: str
    name: str
    access: Literal["read", "write", "read+write", "refused"]
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
    level: Literal["", "free", "guarded", "strict"]
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
    """Of `doctor`; the command adds the checks on the guards, the guarded clients, and what is left to do."""

    checks: list[CheckView]
    failed: list[str]  # only errors
    guarded: NotRequired[list[str]]
    todo: NotRequired[list[str]]


class RunReportAnswer(TypedDict):
    """Of `run report`; as a text or in a file, `run`, `format` and `text` or `file`."""

    run: dict[str, Any]
    summary: NotRequired[dict[str, Any]]
    performance: NotRequired[dict[str, Any]]
    by_agent: NotRequired[dict[str, Any]]
    by_task: NotRequired[dict[str, Any]]
    errors: NotRequired[list[dict[str, Any]]]
    warnings: NotRequired[list[dict[str, Any]]]
    phases: NotRequired[list[dict[str, Any]]]
    contention: NotRequired[list[dict[str, Any]]]
    timeline: NotRequired[Any]
    gates: NotRequired[list[dict[str, Any]]]
    notes: NotRequired[list[str]]
    format: NotRequired[str]
    text: NotRequired[str]
    file: NotRequired[str]
