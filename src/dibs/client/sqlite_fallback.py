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
from dibs.machine import clock
from dibs.stores import autostart, local_server, opening
from dibs.stores.urls import hidden

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dibs.client.session import Session


def is_fallback(session: Session) -> bool:
    """Is SQLite the fallback for a server?"""
    return bool(opening.read_pin(session.place.local).fallback)


def possible(session: Session, url: str) -> bool:
    """Refuse a fallback for a server that other machines can reach."""
    return local_server.place_of(url) is not None and not is_fallback(session)


def fall_back(session: Session, url: str, agent: str | None) -> dict[str, Any]:
    """Fall back to SQLite: the database first, then the mark for other clones, then the pin, which decides."""
    from dibs.operations.upkeep.store_moves import FALLEN_BACK
    from dibs.stores.redis import epoch
    from dibs.stores.sqlite import database_file, store
    from dibs.stores.sqlite.gate import Gate

    local = session.place.local
    path = opening.sqlite_path(local, "sqlite:")
    remembered = epoch.Remembered(f"{local}/redis-commit").number
    kept = opening.kept_line(local, session.place.shared)
    gate = Gate(f"{path}.gate", max(session.timeout, 1.0), kept)
    answered, _ = gate.enter()
    try:
        start = max(clock.wall() // 1000 << epoch.EPOCH_BITS, remembered + 1, answered + 1)
        start = max(start, ((remembered >> epoch.EPOCH_BITS) + 1) << epoch.EPOCH_BITS)
        if os.path.exists(path):
            database_file.set_aside(path, "former")
        identifier = store.create(path, start)
        gate.leave(start, identifier)
    except BaseException:
        gate.leave()
        raise
    finally:
        gate.close()
    _write_mark(session, url)
    pin = opening.Pin("sqlite:")
    former = opening.read_pin(local)
    pin.former, pin.fallback = [one for one in former.former if one != "sqlite:"], url
    opening.write_pin(local, pin)
    session.close()
    call = session.identify(agent)
    store_move.run_pinned(session, FALLEN_BACK, call, {"left": hidden(url)})
    return {"store": "sqlite:", "fallback": True, "instead": hidden(url), "commit": start, "started": False}


def return_to_server(session: Session, url: str, agent: str | None) -> dict[str, Any]:
    """The server answers again: move the database to it."""
    call = session.identify(agent)
    result = store_move.move(session, url, call, replaces=True)
    remove_mark(session)
    return {"store": hidden(url), "came_back": True, **result}


def remove_mark(session: Session) -> None:
    """Remove the mark: other clones may use the server again."""
    path = opening.fallback_mark(session.config.id)
    try:
        with open(path, encoding="utf-8") as file:
            mine = file.read().split("\n")[1:2] == [os.path.realpath(session.place.local)]
        if mine:
            os.unlink(path)
    except OSError:
        pass


def _write_mark(session: Session, url: str) -> None:
    path = opening.fallback_mark(session.config.id)
    try:
        os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"{autostart.place_text(url)}\n{os.path.realpath(session.place.local)}\n")
    except OSError as error:
        message = (
            f"{path} cannot be written: {error.strerror}. It tells other clones on this machine; nothing was changed."
        )
        raise Unavailable(message, path=path) from None
