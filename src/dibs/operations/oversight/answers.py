"""The answers of the room of oversight, as types. operations/core/answers.py says how they are used."""

from __future__ import annotations

from typing import NotRequired, TypedDict


class SettledView(TypedDict):
    """Who accepted a finding, when and why."""

    why: str
    agent: str
    at: str
    name: NotRequired[str]


class CheckSettleAnswer(TypedDict):
    """Of `check settle`."""

    settled: str
    undone: bool
    why: NotRequired[str]
