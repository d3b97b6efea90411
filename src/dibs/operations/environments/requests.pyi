"""The requests of this room. Made by `make generate` from its declarations."""

from collections.abc import Sequence
from typing import TypedDict

class EnvLeaseRequest(TypedDict):
    """The request of `env-lease`."""

    tree: str
    name: str
    unusable: Sequence[str]

class EnvListRequest(TypedDict):
    """The request of `env-list`."""

    name: str

class EnvReleaseRequest(TypedDict):
    """The request of `env-release`."""

    name: str
