"""The answers of the room of alerts, as types. operations/core/answers.py says how they are used."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

from dibs.operations.claims.answers import AlertShort
from dibs.operations.core.answers import Page

AlertKind = Literal[
    "hold", "wait", "deadlock", "expired", "dead", "asks", "silent", "unfinished", "violation", "bypass", "removed",
    "deploy_stale", "deploy_unverified", "poison", "breaker", "store", "rules",
]  # fmt: skip
AlertState = Literal["open", "acknowledged", "cleared"]
Severity = Literal["info", "warning", "error"]


class AlertGroup(TypedDict):
    """The open alerts of one kind."""

    kind: AlertKind
    label: str  # what people call it
    severity: Severity  # of the most severe
    needs_you: bool  # has a person to act? Not on `info`
    count: int
    text: str  # of the most severe, the newest of these; and how many more
    remedy: str  # a command
    dismiss: str  # a command: all of them
    agents: list[str]
    agents_name: list[str]  # what people call them
    ids: list[str]
    since: str  # of the first cause


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
    groups: list[AlertGroup]  # the open ones among them, by kind
    not_kept: int  # for which there was no room
    deliveries: Deliveries
    looker: NotRequired[Looker | None]


class AlertAckAnswer(TypedDict):
    """Of `alerts ack`."""

    alerts: list[AlertView]  # that were acknowledged, now or before
