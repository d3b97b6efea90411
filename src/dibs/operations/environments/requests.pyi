"""The requests of this room. Made by `make generate` from its declarations."""

from collections.abc import Sequence
from typing import TypedDict

class EnvListRequest(TypedDict):
    """The request of `env-list`."""

    name: str

class EnvReleaseRequest(TypedDict):
    """The request of `env-release`."""

    name: str

class EnvTakeRequest(TypedDict):
    """The request of `env-take`."""

    tree: str
    name: str
    machine: str
    unusable: Sequence[str]
