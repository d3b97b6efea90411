"""The requests of this room. Made by `make generate` from its declarations."""

from typing import Literal, TypedDict

class AlertReportRequest(TypedDict):
    """The request of `alert-report`."""

    alert: str
    lease: str
    why: str

class AlertTakeRequest(TypedDict):
    """The request of `alert-take`."""

    limit: int

class AlertsAckRequest(TypedDict):
    """The request of `alerts ack`."""

    id: str
    kind: Literal[
        "hold",
        "wait",
        "deadlock",
        "expired",
        "dead",
        "asks",
        "silent",
        "unfinished",
        "violation",
        "bypass",
        "removed",
        "deploy_stale",
        "deploy_unverified",
        "poison",
        "breaker",
        "store",
        "rules",
        "",
    ]
    why: str

class AlertsRequest(TypedDict):
    """The request of `alerts`."""

    state: Literal["open", "acknowledged", "cleared", "all", ""]
    kind: Literal[
        "hold",
        "wait",
        "deadlock",
        "expired",
        "dead",
        "asks",
        "silent",
        "unfinished",
        "violation",
        "bypass",
        "removed",
        "deploy_stale",
        "deploy_unverified",
        "poison",
        "breaker",
        "store",
        "rules",
        "",
    ]
    limit: int
    after: str
