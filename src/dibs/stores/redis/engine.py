"""The Redis engine besides its store: dibs can start a server, and move a workspace to one and from one."""

from __future__ import annotations

from dibs.stores.redis import local_server
from dibs.stores.redis.move_side import RedisSide
from dibs.stores.redis.store import connect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.stores.engines import Database, LocalServer
    from dibs.stores.opening import Opening

DATABASE: Database | None = None
SERVER: LocalServer | None = local_server


def open_side(opening: Opening, *, replaces: bool) -> RedisSide:
    """The workspace on a server as a move sees it."""
    return RedisSide(connect(opening), replaces=replaces)
