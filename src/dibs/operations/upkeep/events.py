"""The events of the log and the store, as types of their data. operations/core/events.py says how to add one."""

from __future__ import annotations

from typing import TypedDict


class LogSealed(TypedDict):
    """log.sealed: The live claims at an event were sealed, so that earlier events can be pruned. Subject: `""`."""

    through: int
    link: str
    digest: str  # SHA-256 of the seal's body


class Archive(TypedDict):
    """The file that pruned events were moved to."""

    file: str
    first: int
    last: int
    link: str
    sha256: str
    size: int
    host: str


class LogPruned(TypedDict):
    """log.pruned: The events up to this number were moved to an archive; a seal is there. Subject: `""`."""

    through: int
    archive: Archive


class LogDropped(TypedDict):
    """log.dropped: An archive was dropped.

    The archives of its machine were over their limit, or a person gave it up. Subject: `""`.
    """

    first: int  # of its events
    last: int  # of its events
    why: str


class StoreRecovered(TypedDict):
    """store.recovered: A new database took the place of a damaged one.

    Subject: the folder the damaged database was moved to, `""` if it was gone.
    """

    killed: list[str]  # agents that stay killed


class StoreMoving(TypedDict):
    """store.moving: The workspace is about to be moved to another store. Subject: where to."""

    move: str  # its id


From = TypedDict("From", {"from": str})  # the earlier store


class StoreMoved(From):
    """store.moved: The first event in the new store. Subject: where to."""

    move: str
    digest: str
    events: int


class StoreFallback(TypedDict):
    """store.fallback: SQLite replaces a server that did not start. Subject: the server that did not start."""


class StoreEpoch(TypedDict):
    """store.epoch: The server lost answered commits, or may have: the claims that depended on them ended.

    Subject: `""`.
    """

    since: int  # the first commit of the new epoch
    claims: int  # how many were ended
