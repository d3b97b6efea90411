"""The requests of this room. Made by `make generate` from its declarations."""

from typing import TypedDict

class CheckSettleRequest(TypedDict):
    """The request of `check settle`."""

    what: str
    why: str
    undo: bool

class TestRecordRequest(TypedDict):
    """The request of `test record`."""

    what: str
    agents: int
    edits: int
    lost: int
    clean: bool
    seconds: float
    version: str
    store: str
