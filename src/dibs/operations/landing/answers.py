"""The answers of the room of landing, as types. operations/core/answers.py says how they are used."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

from dibs.operations.core.answers import Page

LandingState = Literal["queued", "landed", "refused", "cancelled"]


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
    agents_name: NotRequired[list[str]]  # what people call them


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
