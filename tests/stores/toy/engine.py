"""The toy besides its store: it is no database that dibs can replace, it has no server, and it cannot be moved."""

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
    """Refuse."""
    raise Unavailable("a toy cannot be moved", store=opening.url)
