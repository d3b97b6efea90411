"""The workspace of a server on stdio: found from its folder, opened when a tool first needs it.

Where there is no workspace yet, each call says so and looks again: `dibs init` may make one meanwhile.
"""

from __future__ import annotations

import os

from dibs.doors.mcp.callers import Process
from dibs.facts import workspace
from dibs.server.host import Host
from dibs.server.requests import Requests

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from dibs.doors.mcp.callers import Who
    from dibs.facts.workspace import Place
    from dibs.session.session import Session


class FolderHost(Host):
    """A workspace whose callers are all in one folder: relative paths begin there."""

    def __init__(self, place: Place, cwd: str) -> None:
        super().__init__(place)
        self._cwd = cwd

    def session(self, cwd: str = "", place: Place | None = None, *, asked: bool = True) -> Session:
        """A session in that folder."""
        return super().session(cwd or self._cwd, place, asked=asked)


class Near:
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
            place = workspace.find(self._cwd, self._given or None)
            host = FolderHost(place, place.top if self._given else self._cwd)
            host.session()  # refuses where it is no workspace yet
            self._requests = Requests(host)
        return self._requests

    @property
    def host(self) -> Host:
        """The workspace; raises Invalid where there is none."""
        return self.requests.host

    def who(self, meta: Mapping[str, Any], client: str, _: Any) -> Who:
        """Who makes a call: see callers.py."""
        return self._process.who(self.host.place.local, meta, client)

    def close(self) -> None:
        """Close the store."""
        if self._requests is not None:
            self._requests.host.close()
