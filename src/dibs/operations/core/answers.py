"""The answers: what each operation gives back, as types. One TypedDict for each answer, and for each thing shown in it.

They stand in `answers.py` of the room that gives them (`audit/` and `verify/` have those of the queries); this file has
what all rooms share. An operation's declaration names its answer (`Operation(..., answer="ClaimAnswer")`). From that
`make generate` writes the return types of the Python methods and the keys in help and docstrings (`answer_keys.py`); a
server derives JSON Schema (`interfaces/schema.py`). The functions that make an answer are annotated with it, and the
test suite holds every answer to its type. Nothing imports these modules while a command runs.

A key that is not in every answer is `NotRequired`. The name of an agent stands beside its id (`agent` and `name`,
`holder` and `holder_name`) as long as the agent is known; see agents/names.py. Times are ISO 8601 in UTC.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NotRequired, TypedDict

if TYPE_CHECKING:
    from dibs.operations.claims.answers import BlockerView


class Page(TypedDict):
    """What every listing ends with."""

    more: bool  # there are more than these
    cursor: str | None  # `after` of the next page; None if this is the last


class NoAnswer(TypedDict):
    """Of an operation that has nothing to tell. No caller sees it."""


_For = TypedDict("_For", {"for": NotRequired[str]})  # what it waits for, if that is no claim


class WaitingAnswer(_For):
    """What an operation says to a door whose caller has to wait. No caller sees it."""

    waiting: str  # the place in the queue
    look_in: int  # milliseconds until the next look
    place: NotRequired[int]  # in line, from 1
    line: NotRequired[int]  # how many stand in it
    blockers: NotRequired[list[BlockerView]]
