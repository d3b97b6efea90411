"""One workspace, opened once for all callers of a server: its store, its settings, a session for each request.

A server decides nothing: each request runs through a `Session` like any other caller's, on the one store that this file
keeps open. Requests that arrive together share one commit (group_commit.py). If the database was replaced or the
workspace moved to another store, the next request opens it again, as a process of its own would. Thread-safe.
"""

from __future__ import annotations

import threading

from dibs.client.session import Door, Session
from dibs.error_subtypes import Stale
from dibs.errors import DibsError, Invalid
from dibs.machine import clock
from dibs.server.group_commit import GroupCommit
from dibs.server.group_store import GroupStore
from dibs.stores import opening
from dibs.stores.seam import Unsettled
from dibs.workspace import config, location

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.operations.core.call import Answer, Call, Fields
    from dibs.operations.core.declare import Around
    from dibs.stores.seam import Store
    from dibs.workspace.location import Place

STORE_TIMEOUT_S = 3.0  # how long a request waits for a busy store, as a hook does
KEPT_CONFIGS = 64  # working trees whose settings are kept; the oldest goes first
RETIRED = 4  # stores that were replaced and are not closed yet: a request that began on one ends there


class Host:
    """A workspace, with what a server has opened of it."""

    def __init__(self, place: Place, *, timeout: float = STORE_TIMEOUT_S) -> None:
        self.place = place
        self.timeout = timeout
        self._mutex = threading.Lock()
        self._group: GroupCommit | None = None
        self._store: Store | None = None
        self._retired: list[GroupCommit] = []
        self._configs: dict[str, tuple[tuple[object, ...], config.Config]] = {}
        self.used = clock.since_boot()  # when the last request came
        self.working = 0  # the server's own jobs under way: it is not idle meanwhile

    @property
    def store(self) -> Store:
        """The store that all requests share; opened when it is first needed. Its `run` joins a group."""
        with self._mutex:
            if self._store is None:
                settings = self.config(self.place)
                opened = opening.open_store(
                    self.place.local, settings.store, settings.id, self.timeout, shared=self.place.shared
                )
                self._group = GroupCommit(opened)
                self._store = GroupStore(self._group)
            return self._store

    @property
    def group(self) -> GroupCommit:
        """The group commit of that store, for ports that hand in requests without blocking."""
        assert self.store is not None
        with self._mutex:
            assert self._group is not None
            return self._group

    def config(self, place: Place) -> config.Config:
        """The settings of a working tree, read again when its file has changed."""
        signature = config.signature(place.config)
        known = self._configs.get(place.top)
        if known is not None and known[0] == signature:
            return known[1]
        read = config.load(place.config, place.local, place.top, place.shared)
        while len(self._configs) >= KEPT_CONFIGS:
            self._configs.pop(next(iter(self._configs)), None)
        self._configs[place.top] = signature, read
        return read

    def session(self, cwd: str = "", place: Place | None = None, *, asked: bool = True) -> Session:
        """A session for one request, of a caller in that directory; without one, at the top of the workspace.

        `asked=False` is for the server's own work: it may still count as idle.
        """
        if asked:
            self.used = clock.since_boot()
        found = place or (self.place if not cwd else location.find(cwd, self.place.root))
        if found.root != self.place.root:
            raise Invalid(f"{cwd} belongs to another workspace, {found.root}", path=cwd)
        return Session(cwd or found.top, None, timeout=self.timeout, place=found, shared=self, door=_ServerDoor())

    def reopen_after(self, error: BaseException) -> bool:
        """After a request failed: was the store replaced or moved? Then the next request reopens it: worth a retry."""
        if not isinstance(error, Stale):
            return False
        with self._mutex:
            if self._group is not None and _is_gone(self._group.store):  # else another request has reopened it
                self._retired.append(self._group)
                self._group = self._store = None
            oldest = self._retired.pop(0) if len(self._retired) > RETIRED else None
        if oldest is not None:
            _close(oldest)
        return True

    def close(self) -> None:
        """Close the store. A request after that opens it again."""
        with self._mutex:
            groups = [*self._retired, *([self._group] if self._group is not None else [])]
            self._group = self._store = None
            self._retired = []
        for group in groups:
            _close(group)


class _ServerDoor(Door):
    """The door of a server's sessions: no command of a caller is run here."""

    __slots__ = ()

    def run_around(self, name: Around, session: Session, call: Call, fields: Fields) -> Answer:
        from dibs.audit import build

        answer: Answer = build.AROUND[name](session, call, fields)
        return answer


def _is_gone(store: Store) -> bool:
    try:
        store.look(lambda _: None)
    except Stale:
        return True
    except (DibsError, Unsettled):
        pass
    return False


def _close(group: GroupCommit) -> None:
    group.close()
    group.store.close()
