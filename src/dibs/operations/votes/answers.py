"""The answers of the room of votes, as types. operations/core/answers.py says how they are used."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

from dibs.operations.core.answers import Page

VoteState = Literal["open", "decided", "undecided", "lapsed"]


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
