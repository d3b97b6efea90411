"""The requests of this room. Made by `make generate` from its declarations."""

from collections.abc import Sequence
from typing import TypedDict

class HandoverRequest(TypedDict):
    """The request of `handover`."""

    agent: str
    to: str
    cancel: bool
    note: str
    dry_run: bool
    files: Sequence[tuple[str, str]]

class WorkOfRequest(TypedDict):
    """The request of `work-of`."""

    agent: str
