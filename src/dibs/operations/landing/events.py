"""The events of landings and conflicts, as types of their data. operations/core/events.py says how to add one."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

from dibs.operations.core.events import Requested


class LandingQueued(Requested):
    """landing.queued: A branch was queued to land, or another commit of it took its place in the queue.

    Subject: landing id.
    """

    target: str  # the branch that it lands on
    branch: str
    commit: NotRequired[str]
    priority: NotRequired[int]


class LandingMoving(TypedDict):
    """landing.moving: The lander is about to move the target; whether it did is in the repository. Subject: target."""

    base: str
    commit: str
    landings: list[str]
    token: int


class LandingLanded(TypedDict):
    """landing.landed: A branch landed: it is a part of the target. Subject: landing id."""

    target: str
    branch: str
    base: str  # the target before
    commit: str
    token: int


class LandingRefused(TypedDict):
    """landing.refused: A branch did not land and is no longer queued; the branch is untouched. Subject: landing id."""

    target: str
    branch: str
    code: Literal["conflict", "check", "missing", "tree", "forbidden"]
    why: str
    token: int


class LandingStopped(TypedDict):
    """landing.stopped: Nothing can land now, or these cannot; everything stays queued. Subject: target."""

    why: str
    landings: list[str]
    token: int


class LandingCancelled(TypedDict):
    """landing.cancelled: A branch was taken out of the landing queue. Subject: landing id."""

    target: str
    branch: str


class RadarFound(TypedDict):
    """radar.found: A look found that two working trees or branches would conflict if they were merged now.

    Subject: conflict id.
    """

    sides: list[str]
    files: list[str]


class RadarCleared(TypedDict):
    """radar.cleared: They would no longer conflict, or nobody looks any more. Subject: conflict id."""

    sides: list[str]
