"""Checks of a workspace's store: the engine's own checks, and the record of a server that dibs started.

For `dibs doctor`. The engine's checks are in the engine (`store.check()`).
"""

from __future__ import annotations

from dibs.errors import DibsError
from dibs.stores import opening
from dibs.stores.engines import server_of
from dibs.stores.seam import ERROR

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dibs.client.session import Session
    from dibs.stores.engines import LocalServer
    from dibs.stores.seam import Check

SERVER, DATABASE = "server", "database"  # checks: does the server answer; is the workspace there


def examine(session: Session) -> Iterator[Check]:
    """Run each check of the store; only one if it cannot be opened or does not answer."""
    local = session.place.local
    url = opening.read_pin(local).url or opening.configured_url(session.config.store)
    server = server_of(url)
    try:
        store = session.store
    except DibsError as error:
        hint = server.hint(local, url) if server else ""
        yield SERVER if server else DATABASE, False, error.message + hint, ERROR
        return
    for name, ok, message, severity in store.check():
        more = ""
        if server and name == SERVER:
            more = _started(server, local) if ok else server.hint(local, url)
        yield name, ok, message + more, severity


def _started(server: LocalServer, local: str) -> str:
    known = server.running(local)
    return f"; started by dibs ({known['how']}), data in {known['folder']}" if known else ""
