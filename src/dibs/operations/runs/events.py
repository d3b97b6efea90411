"""The events of runs, as types of their data. operations/core/events.py says how to add one."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict


class RunStarted(TypedDict):
    """run.started: A run began. Subject: run."""

    operation: str
    phase: str
    spec: NotRequired[str]
    tasks: NotRequired[int]  # how many it brought


class RunJoined(TypedDict):
    """run.joined: An agent joined a run. Subject: run."""

    type: str
    can: list[str]


From = TypedDict("From", {"from": str})  # the phase before


class RunPhased(From):
    """run.phased: A run moved to another phase. Subject: run."""

    to: str


class RunNoted(TypedDict):
    """run.noted: An error or a warning was added to a run. Subject: run."""

    what: Literal["error", "warning"]
    number: int
    text: str


class RunHandled(TypedDict):
    """run.handled: An error was handled. Subject: run."""

    number: int
    how: str


class RunEnded(TypedDict):
    """run.ended: A run ended. Subject: run."""

    cancelled: NotRequired[int]  # how many tasks
    released: NotRequired[list[str]]  # the coordinator's claims for it


class RunRefused(TypedDict):
    """run.refused: A run did not end, or was not purged. Subject: run."""

    code: str


class RunArchived(TypedDict):
    """run.archived: A run's records were written to a file. Subject: run."""

    file: str
    sha256: str
    size: int


class RunPurged(TypedDict):
    """run.purged: A run's records were removed. Subject: run."""

    tasks: int  # how many went with it
