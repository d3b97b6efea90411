"""The events of hand-overs, as types of their data. operations/core/events.py says how to add one."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

from dibs.operations.core.events import Requested


class HandoverOffered(Requested):
    """handover.offered: An agent's work waits for the next agent that starts. Subject: the agent whose work it is."""

    handover: str  # id
    claims: list[str]
    tasks: list[str]
    files: int  # with unfinished work: how many
    until: int
    note: NotRequired[str]


class HandoverMade(Requested):
    """handover.made: An agent's work passed to another agent. Subject: the agent whose work it was."""

    handover: str  # id
    to: str  # agent
    claims: list[str]  # under new tokens
    tasks: list[str]
    files: int  # with unfinished work: how many
    note: NotRequired[str]


class HandoverEnded(TypedDict):
    """handover.ended: Nobody took the offered work. Subject: the agent whose work it is."""

    handover: str  # id
    why: Literal[
        "lapsed",  # no agent started in time
        "replaced",  # by another hand-over
        "cancelled",  # taken back
    ]
