"""The requests of this room. Made by `make generate` from its declarations."""

from collections.abc import Sequence
from typing import TypedDict

class DiffRequest(TypedDict):
    """The request of `diff`."""

    agent: str
    paths: Sequence[Sequence[str]]
    at: str
    stat: bool

class RestoreRequest(TypedDict):
    """The request of `restore`."""

    what: str
    list: bool
    tree: str
    at: str
    to: str
    overwrite: bool
    merge: bool
    limit: int
    after: str

class TimelineRequest(TypedDict):
    """The request of `timeline`."""

    what: str
    limit: int
