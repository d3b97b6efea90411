"""The requests of this room. Made by `make generate` from its declarations."""

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
