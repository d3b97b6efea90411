"""SQLite as a fallback for a local server that does not start, after a person agreed; and the way back.

The fallback covers the whole workspace: the pin tells every process of this clone, a mark in the user's state folder
tells other clones on this machine, and a server on loopback or a socket has no users elsewhere. The server's data is
out of reach, so the new database begins empty, with tokens above every one that was answered here. When the server
answers again, the database is moved to it; its earlier data is set aside there, not deleted.
"""

from __future__ import annotations

import os

from dibs.client import store_move
from dibs.errors import Unavailable
from dibs.stores import DEFAULT_URL, opening
from dibs.stores.engines import database_of, server_of
from dibs.stores.urls import hidden

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dibs.client.session import Session
    from dibs.stores.engines import LocalServer


def _server(url: str) -> LocalServer:
    server = server_of(url)
    assert server is not None, url
    return server


def is_fallback(session: Session) -> bool:
    """Is SQLite the fallback for a server?"""
    return bool(opening.read_pin(session.place.local).fallback)


def possible(session: Session, url: str) -> bool:
    """Refuse a fallback for a server that other machines can reach."""
    return _server(url).is_local(url) and not is_fallback(session)


def fall_back(session: Session, url: str, agent: str | None) -> dict[str, Any]:
    """Fall back to SQLite: the database first, then the mark for other clones, then the pin, which decides."""
    from dibs.operations.upkeep.store_moves import FALLEN_BACK

    local, database = session.place.local, database_of(DEFAULT_URL)
    assert database is not None
    place = opening.Opening(local, DEFAULT_URL, timeout=session.timeout, shared=session.place.shared)
    start = database.begin(place, _server(url).next_epoch(local))
    _write_mark(session, url)
    pin = opening.Pin(DEFAULT_URL)
    former = opening.read_pin(local)
    pin.former, pin.fallback = [known for known in former.former if known != DEFAULT_URL], url
    opening.write_pin(local, pin)
    session.close()
    call = session.identify(agent)
    store_move.run_pinned(session, FALLEN_BACK, call, {"left": hidden(url)})
    return {"store": DEFAULT_URL, "fallback": True, "instead": hidden(url), "commit": start, "started": False}


def return_to_server(session: Session, url: str, agent: str | None) -> dict[str, Any]:
    """The server answers again: move the database to it."""
    call = session.identify(agent)
    result = store_move.move(session, url, call, replaces=True)
    remove_mark(session, url)
    return {"store": hidden(url), "came_back": True, **result}


def remove_mark(session: Session, url: str) -> None:
    """Remove the mark: other clones may use the server again."""
    path = _server(url).fallback_mark(session.config.id)
    try:
        with open(path, encoding="utf-8") as file:
            mine = file.read().split("\n")[1:2] == [os.path.realpath(session.place.local)]
        if mine:
            os.unlink(path)
    except OSError:
        pass


def _write_mark(session: Session, url: str) -> None:
    server = _server(url)
    path = server.fallback_mark(session.config.id)
    try:
        os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"{server.place_text(url)}\n{os.path.realpath(session.place.local)}\n")
    except OSError as error:
        message = (
            f"{path} cannot be written: {error.strerror}. It tells other clones on this machine; nothing was changed."
        )
        raise Unavailable(message, path=path) from None
