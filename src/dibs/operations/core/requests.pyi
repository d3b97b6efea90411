"""The requests of this room. Made by `make generate` from its declarations."""

from typing import Literal, TypedDict

class GoOnRequest(TypedDict):
    """The request of `go on`."""

    job: str
    room: int

class MayRequest(TypedDict):
    """The request of `may`."""

    act: Literal["kill", "revive", "seal", "prune", "init --uninstall", "store move"]
