"""The answers of the room of guards, as types. operations/core/answers.py says how they are used."""

from __future__ import annotations

from typing import NotRequired, TypedDict


class HolderView(TypedDict):
    """An agent that holds a file."""

    agent: str
    name: str


class AtWorkView(TypedDict):
    """An agent that holds files that are to be restored or undone."""

    agent: str
    name: NotRequired[str]
    files: list[str]  # those that are meant
    holds: list[str]  # all that its claims on them have
    loses: bool  # the claims end; else they are kept, and the agent is notified


class KeptView(TypedDict):
    """An overwritten content that can be restored."""

    id: str
    path: str
    tree: str
    holder: str
    holder_name: NotRequired[str]
    by: str | None
    by_name: NotRequired[str]
    at: str
    blob: str
    how: str
