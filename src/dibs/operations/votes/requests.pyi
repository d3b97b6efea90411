"""The requests of this room. Made by `make generate` from its declarations."""

from collections.abc import Sequence
from typing import TypedDict

class VoteCastRequest(TypedDict):
    """The request of `vote cast`."""

    id: str
    option: str

class VoteListRequest(TypedDict):
    """The request of `vote list`."""

    open: bool
    limit: int
    after: str

class VoteOpenRequest(TypedDict):
    """The request of `vote open`."""

    title: str
    electorate: Sequence[str]
    options: Sequence[str]
    deadline: int
    id: str
    key: str

class VoteShowRequest(TypedDict):
    """The request of `vote show`."""

    id: str
