"""The answers of the room of documents, as types. operations/core/answers.py says how they are used."""

from __future__ import annotations

from typing import Any, NotRequired, TypedDict

from dibs.operations.core.answers import Page


class StateGetAnswer(TypedDict):
    """Of `state get`."""

    key: str
    value: Any
    version: int
    by: str
    by_name: NotRequired[str]
    at: str


class StateSetAnswer(TypedDict):
    """Of `state set`."""

    key: str
    value: Any
    version: int


class StateDeleteAnswer(TypedDict):
    """Of `state delete`."""

    key: str
    version: int


class DocumentView(TypedDict):
    """A document without its value."""

    key: str
    version: int
    by: str
    by_name: NotRequired[str]
    at: str


class StateListAnswer(Page):
    """Of `state list`."""

    documents: list[DocumentView]
