"""The answers of the room of claims, as types. operations/core/answers.py says how they are used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NotRequired, TypedDict

from dibs.operations.core.answers import Page

if TYPE_CHECKING:
    from dibs.operations.agents.answers import AgentView
    from dibs.operations.alerts.answers import AlertGroup, AlertKind, AlertState, Severity
    from dibs.operations.tasks.answers import TaskView

Mode = Literal["write", "read", "watch"]


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
    now: NotRequired[str]  # "idle for 25 min", "has waited for a person for 4 min", "stalled for 12 min"
    doing: NotRequired[str]  # the first words of its last prompt
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
    units: NotRequired[list[str]]  # the own names of the units of pools among its resources
    unit: NotRequired[str]  # if it is exactly one
    used_up: NotRequired[list[str]]  # pools with a rate alone: a claim takes a token, and there is nothing to release


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
    units: NotRequired[int]  # of each pool that it waits for any unit of


class WaitedForView(TypedDict):
    """A claim that a waiter waits for."""

    agent: str
    name: NotRequired[str]
    claim: str
    resource: str
    since: str
    expires_at: str


class UnitView(TypedDict):
    """A unit of a pool that is taken."""

    unit: str  # its own name
    agent: str
    name: NotRequired[str]
    since: str
    until: str


class PoolWaiterView(TypedDict):
    """An agent that waits for units of a pool."""

    agent: str
    name: NotRequired[str]
    units: int
    since: str


class PoolView(TypedDict):
    """A pool of the config."""

    name: str  # `pool:NAME`
    size: int  # units; 0: it has only a rate
    free: int
    taken: list[UnitView]
    waiting: list[PoolWaiterView]  # the first one first


class AlertAction(TypedDict):
    """What a person can do about an alert: a button of a page, a key of `dibs top`, a command."""

    act: Literal["diff", "handover", "undo", "dismiss"]
    label: str  # "…" at its end: it asks for more first
    command: str  # the same at a terminal


class UnfinishedFile(TypedDict):
    """A file with uncommitted work."""

    tree: str  # its working tree
    path: str


class UnfinishedFiles(TypedDict):
    """The uncommitted work of an agent on this machine."""

    count: int
    files: list[UnfinishedFile]  # the first ones


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
    actions: NotRequired[list[AlertAction]]  # of a dead agent, in this order
    unfinished: NotRequired[UnfinishedFiles]  # the same


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
    alerts: list[AlertShort]  # open and acknowledged, the most severe first; the first 20
    alert_groups: list[AlertGroup]  # the open ones by kind: what people read
    alert_count: int
    pools: NotRequired[list[PoolView]]  # if the config has any
    undelivered: NotRequired[list[Undelivered]]  # alerts that the command or webhook of the config did not take
    warnings: NotRequired[list[str]]  # the store needs attention
