"""The requests of this room. Made by `make generate` from its declarations."""

from collections.abc import Sequence
from typing import Any, TypedDict

class ArchiveDropRequest(TypedDict):
    """The request of `archive drop`."""

    through: int
    host: str
    why: str

class KnownChangesRequest(TypedDict):
    """The request of `known changes`."""

    ids: Sequence[str]

class LogPruneRequest(TypedDict):
    """The request of `log prune`."""

    archive: Any

class NamedFilesRequest(TypedDict):
    """The request of `named files`."""

    names: Sequence[str]
    folder: str
    low: str

class PrunePlanRequest(TypedDict):
    """The request of `prune plan`."""

    keep: int | None

class PruneRequest(TypedDict):
    """The request of `prune`."""

    keep: int | None
    archive: Any

class RecoveredRequest(TypedDict):
    """The request of `recovered`."""

    agents: Any
    aside: str

class StoreFallbackRequest(TypedDict):
    """The request of `store fallback`."""

    left: str

class StoreMoveRequest(TypedDict):
    """The request of `store move`."""

    to: str
    move: str

class StoreMovedRequest(TypedDict):
    """The request of `store moved`."""

    to: str
    left: str
    move: str
    digest: str
    events: int

class UpkeepDueRequest(TypedDict):
    """The request of `upkeep-due`."""

    store: Any

class UpkeepRequest(TypedDict):
    """The request of `upkeep`."""

    store: Any

class WakeRequest(TypedDict):
    """The request of `wake`."""

    channel: str
