"""The workspace of a server on stdio: found from its folder, opened when a tool first needs it.

Where there is no workspace yet, each call says so and looks again: `dibs init` may make one meanwhile. Where its store
is a server's, elsewhere (`DIBS_STORE=https://…`), each call asks that server, as every other door does.
"""

from __future__ import annotations

import os

from dibs.client.far_link import FarLink
from dibs.client.session import Session
from dibs.errors import DibsError
from dibs.interfaces.mcp.callers import Process
from dibs.machine import processes
from dibs.server.host import Host
from dibs.server.requests import Requests
from dibs.stores import opening
from dibs.workspace import config, location

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from starlette.requests import Request

    from dibs.interfaces.mcp.callers import Who
    from dibs.stores.seam import Store
    from dibs.workspace.location import Place


FAR_TIMEOUT_S = 5.0  # how long a call waits for a server elsewhere, as a command does


class FolderHost(Host):
    """A workspace whose callers are all in one folder: relative paths begin there."""

    def __init__(self, place: Place, cwd: str) -> None:
        super().__init__(place)
        self._cwd = cwd

    def session(self, cwd: str = "", place: Place | None = None, *, asked: bool = True) -> Session:
        """A session in that folder."""
        return super().session(cwd or self._cwd, place, asked=asked)


class FarHost(FolderHost):
    """A workspace whose store a server has, elsewhere: calls share the connections, and nothing is decided here."""

    def __init__(self, place: Place, cwd: str) -> None:
        super().__init__(place, cwd)
        self.timeout = FAR_TIMEOUT_S
        self.link = FarLink()

    @property
    def store(self) -> Store:
        """What can be read of that store from here."""
        with self._mutex:
            if self._store is None:
                settings = self.config(self.place)
                self._store = opening.open_store(
                    self.place.local, settings.store, settings.id, self.timeout, shared=self.place.shared
                )
            return self._store

    def session(self, cwd: str = "", place: Place | None = None, *, asked: bool = True) -> Session:  # noqa: ARG002 - no server that could be idle
        """A session in that folder, whose requests go to the server."""
        return _FarSession(self, cwd or self._cwd, place or self.place)

    def close(self) -> None:
        """Close the connections."""
        with self._mutex:
            store, self._store = self._store, None
        if store is not None:
            store.close()


class _FarSession(Session):
    """One call's way to the server; the connections are its host's."""

    def __init__(self, host: FarHost, cwd: str, place: Place) -> None:
        super().__init__(cwd, None, timeout=host.timeout, place=place)
        self._host = host
        self.link = host.link

    @property
    def store(self) -> Store:
        """The host's: opened by the first call that needs it."""
        return self._host.store


class LocalWorkspace:
    """One client's workspace, in the client's own process tree."""

    def __init__(self, given: str = "", *, cwd: str = "", process: Process | None = None) -> None:
        self._given = given
        self._process = process or Process()
        self._cwd = cwd or os.getcwd()
        self._requests: Requests | None = None

    @property
    def requests(self) -> Requests:
        """How operations are asked for; raises Invalid where there is no workspace."""
        if self._requests is None:
            place = location.find(self._cwd, self._given or None)
            cwd = place.top if self._given else self._cwd
            host = (FarHost if _is_far(place) else FolderHost)(place, cwd)
            host.session()  # refuses where it is no workspace yet
            self._requests = Requests(host)
        return self._requests

    @property
    def host(self) -> Host:
        """The workspace; raises Invalid where there is none."""
        return self.requests.host

    def who(self, meta: Mapping[str, Any], client: str, _: Request | None) -> Who:
        """Who makes a call: see callers.py."""
        return self._process.who(self.host.place.local, meta, client)

    def end(self) -> None:
        """Note that the client closes its connection in order: it is still there, and not about to be found dead."""
        client = self._process.client
        if self._requests is None or client is None or not processes.alive(client):
            return
        from dibs.operations.agents.deaths import ENDED

        session = self.host.session()
        try:
            session.run(ENDED, self.who({}, "", None).identity.call(session), {})
        except DibsError:
            pass  # an alert too many

    def close(self) -> None:
        """Close the store."""
        if self._requests is not None:
            self._requests.host.close()


def _is_far(place: Place) -> bool:
    """Has a server elsewhere the store of this workspace?"""
    if not place.exists:
        return False
    settings = config.load(place.config, place.local, place.top, place.shared)
    return opening.is_far(opening.configured_url(settings.store))
