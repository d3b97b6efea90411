"""The SQLite engine besides its store: a file of this machine, which can be replaced and moved."""

from __future__ import annotations

from dibs.stores.sqlite import recovery
from dibs.stores.sqlite.move_side import SqliteSide

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.stores.engines import Database, LocalServer
    from dibs.stores.opening import Opening

DATABASE: Database | None = recovery
SERVER: LocalServer | None = None


def open_side(opening: Opening, *, replaces: bool) -> SqliteSide:  # noqa: ARG001 - a database is never replaced by a move
    """The database as a move sees it."""
    return SqliteSide(recovery.path_of(opening.local, opening.url), opening.timeout)
