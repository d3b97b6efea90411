"""The events of shared documents and votes, as types of their data. operations/core/events.py says how to add one."""

from __future__ import annotations

from typing import Literal, NotRequired

from dibs.operations.core.events import Json, Requested


class StateSet(Requested):
    """state.set: A document of the shared state was written or deleted. Subject: key."""

    version: int  # one above the last of this key; a new key begins at 1, or above all deleted and forgotten ones
    value: NotRequired[Json]  # if it is short
    digest: NotRequired[str]  # else: SHA-256 of its JSON text
    deleted: NotRequired[bool]


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
