"""The answer of `handover`, as a type. operations/core/answers.py says how it is used."""

from __future__ import annotations

from typing import TYPE_CHECKING, NotRequired, TypedDict

if TYPE_CHECKING:
    from dibs.operations.agents.answers import AgentState
    from dibs.operations.claims.answers import GrantView, UnfinishedFile


class LeftBehind(TypedDict):
    """What did not pass, and why."""

    resource: str
    why: str
    holder: NotRequired[str]
    holder_name: NotRequired[str]


class ToldWaiter(TypedDict):
    """An agent that waits for some of it."""

    agent: str
    name: NotRequired[str]


class HandoverAnswer(TypedDict):
    """Of `handover`."""

    handover: str  # its id; "" where it is only shown
    agent: str  # whose work it was
    name: NotRequired[str]
    state: AgentState  # of that agent
    own: bool  # it is the caller, or a subagent of it
    to: str | None  # None: the next agent that starts
    to_name: NotRequired[str]
    until: NotRequired[str]  # then an offer lapses
    cancelled: NotRequired[bool]  # the offer was taken back: what it kept is released
    claims: list[GrantView]  # under new tokens; of an offer, kept by the caller
    tasks: list[str]
    files: list[UnfinishedFile]
    left: list[LeftBehind]
    waiting: list[ToldWaiter]  # they are told; their turn stays
