"""The requests of this room. Made by `make generate` from its declarations."""

from collections.abc import Sequence
from typing import Any, Literal, TypedDict

from dibs.operations.core.call import Process

class LandBackRequest(TypedDict):
    """The request of `land-back`."""

    onto: str
    token: int
    turn: int

class LandBatchRequest(TypedDict):
    """The request of `land-batch`."""

    onto: str
    token: int
    turn: int
    size: int
    without: Sequence[str]

class LandConfirmRequest(TypedDict):
    """The request of `land-confirm`."""

    onto: str
    token: int
    turn: int

class LandDoneRequest(TypedDict):
    """The request of `land-done`."""

    onto: str
    token: int
    turn: int
    note: str

class LandLeaveRequest(TypedDict):
    """The request of `land-leave`."""

    onto: str
    token: int
    turn: int

class LandMoveRequest(TypedDict):
    """The request of `land-move`."""

    onto: str
    token: int
    turn: int
    base: str
    commit: str
    moves: Sequence[tuple[str, str, str]]

class LandRefuseRequest(TypedDict):
    """The request of `land-refuse`."""

    onto: str
    token: int
    turn: int
    landing: str
    code: Literal["conflict", "check", "missing", "tree", "forbidden"]
    why: str
    output: str
    paths: Sequence[str]
    log: str

class LandRequest(TypedDict):
    """The request of `land`."""

    branch: str
    commit: str
    onto: str
    priority: int
    again: bool
    home: str

class LandStopRequest(TypedDict):
    """The request of `land-stop`."""

    onto: str
    token: int
    turn: int
    what: str
    why: str
    landings: Sequence[str]

class LandTakeRequest(TypedDict):
    """The request of `land-take`."""

    onto: str
    lander: Process
    pushes: bool

class LandTurnRequest(TypedDict):
    """The request of `land-turn`."""

    onto: str
    landing: str

class LandingsCancelRequest(TypedDict):
    """The request of `landings cancel`."""

    landing: str
    onto: str

class LandingsRequest(TypedDict):
    """The request of `landings`."""

    onto: str
    queue: bool
    limit: int
    after: str

class RadarReportRequest(TypedDict):
    """The request of `radar-report`."""

    place: str
    pairs: Sequence[Any]
    looked: int
    left_off: int

class RadarRequest(TypedDict):
    """The request of `radar`."""

    limit: int
    after: str
