"""The records that `dibs top` shows: the answers of operations, and what it adds to them. Types alone."""

from __future__ import annotations

from typing import NotRequired, TypedDict

from dibs.audit.answers import EventView
from dibs.operations.agents.answers import AgentView
from dibs.operations.alerts.answers import AlertView
from dibs.operations.claims.answers import ClaimView, WaiterView  # noqa: TC001 - bases and fields of types


class Agent(AgentView):
    """An agent with the word for what it does."""

    shown: str


class Event(EventView):
    """An event with its time in ms, and all that it says in small letters, as soon as somebody searched."""

    ms: int
    words: NotRequired[str]


class OpenAlert(AlertView):
    """Equal alerts as one."""

    times: int
    ids: list[str]


class TreeRow(TypedDict):
    """A row of the tree of held paths: of a claim, of a waiter, or of a folder alone."""

    id: str
    depth: int
    name: str
    path: str
    claim: NotRequired[ClaimView]
    wait: NotRequired[WaiterView]
    waits: list[WaiterView]
