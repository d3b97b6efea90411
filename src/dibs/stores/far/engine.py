"""A server elsewhere, besides its store: everything is done where it runs."""

from __future__ import annotations

from dibs.errors import Unavailable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

    from dibs.stores.engines import Database, LocalServer
    from dibs.stores.opening import Opening

DATABASE: Database | None = None
SERVER: LocalServer | None = None


def open_side(opening: Opening, *, replaces: bool) -> NoReturn:  # noqa: ARG001 - there is none
    """Refuse: nothing of a far store is read or written but by operations."""
    message = f"{opening.url} is a server, whose store is moved where it runs: `dibs store move` there."
    raise Unavailable(message, store=opening.url)
