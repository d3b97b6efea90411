"""The events of votes, as types of their data. operations/core/events.py says how to add one."""

from __future__ import annotations

from typing import Literal

from dibs.operations.core.events import Requested


class VoteOpened(Requested):
    """vote.opened: A vote began. Subject: vote id."""

    options: list[str]
    electorate: list[str]
    deadline: int


class VoteCast(Requested):
    """vote.cast: An agent voted. Subject: vote id."""

    option: str


class VoteDecided(Requested):
    """vote.decided: A vote ended; once for each vote. Subject: vote id."""

    outcome: Literal["decided", "undecided", "lapsed"]
    option: str | None  # null unless decided
