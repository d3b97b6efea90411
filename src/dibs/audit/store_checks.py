"""Checks of a workspace's store: the engine's own checks, and the record of a server that dibs started.

For `dibs doctor`. The engine's checks are in the engine (`store.check()`).
"""

from __future__ import annotations

from dibs.errors import DibsError
from dibs.stores import local_server, opening
from dibs.stores.seam import ERROR

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dibs.client.session import Session
    from dibs.stores.seam import Check

SERVER, DATABASE = "server", "database"  # checks: does the server answer; is the workspace there


def examine(session: Session) -> Iterator[Check]:
    """Run each check of the store; only one if it cannot be opened or does not answer."""
    local = session.place.local
    url = opening.read_pin(local).url or opening.configured_url(session.config.store)
    try:
        store = session.store
    except DibsError as error:
        name, hint = (SERVER, _hint(local, url)) if opening.is_redis(url) else (DATABASE, "")
        yield name, False, error.message + hint, ERROR
        return
    for name, ok, message, severity in store.check():
        more = "" if name != SERVER else _started(local) if ok else _hint(local, url)
        yield name, ok, message + more, severity


def _started(local: str) -> str:
    known = local_server.running(local)
    return f"; started by dibs ({known['how']}), data in {known['folder']}" if known else ""


def _hint(local: str, url: str) -> str:
    """How to start a server that is down, if dibs can."""
    why = local_server.answers(url) if local_server.place_of(url) is not None else ""
    if not why or why.startswith(("ERR", "LOADING")):  # a server answers there and refuses
        return ""
    if local_server.noted(local):
        return " dibs started one there before; `dibs up` starts it again."
    return " `dibs up` starts one here."
