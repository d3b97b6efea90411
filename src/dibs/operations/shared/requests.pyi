"""The requests of this room. Made by `make generate` from its declarations."""

from collections.abc import Sequence
from typing import Any, TypedDict

class StateDeleteRequest(TypedDict):
    """The request of `state delete`."""

    key: str
    version: int | None
    token: int | None

class StateGetRequest(TypedDict):
    """The request of `state get`."""

    key: str

class StateListRequest(TypedDict):
    """The request of `state list`."""

    prefix: str
    after: str
    limit: int

class StateSetRequest(TypedDict):
    """The request of `state set`."""

    key: str
    value: Any
    version: int | None
    token: int | None

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
