"""The requests of this room. Made by `make generate` from its declarations."""

from typing import TypedDict

class RestoreRequest(TypedDict):
    """The request of `restore`."""

    what: str
    list: bool
    limit: int
    after: str
