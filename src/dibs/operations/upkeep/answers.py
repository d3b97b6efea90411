"""The answers of the room of upkeep, as types. operations/core/answers.py says how they are used."""

from __future__ import annotations

from typing import NotRequired, TypedDict


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
