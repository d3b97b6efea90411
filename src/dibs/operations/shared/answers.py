"""The answers of the room of shared, as types. operations/core/answers.py says how they are used."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict

from dibs.operations.core.answers import Page

VoteState = Literal["open", "decided", "undecided", "lapsed"]


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


class VoteView(TypedDict):
    """A vote."""

    id: str
    title: str
    options: list[str]
    electorate: list[str]
    electorate_name: NotRequired[list[str]]
    by: str
    by_name: NotRequired[str]
    at: str
    deadline: str
    state: VoteState
    option: str | None
    closed: str | None
    tally: dict[str, int]
    missing: list[str]


class VoteShowAnswer(TypedDict):
    """Of `vote show`."""

    vote: VoteView


class VoteOpenAnswer(VoteShowAnswer):
    """Of `vote open`."""

    repeated: NotRequired[bool]


class VoteCastAnswer(VoteShowAnswer):
    """Of `vote cast`."""

    option: str
    repeated: NotRequired[bool]


class VoteListAnswer(Page):
    """Of `vote list`."""

    votes: list[VoteView]
