"""`/link/…`: the store of this server for dibs on other machines (`DIBS_STORE=https://…`); client/far_link.py asks.

The functions are in server/remote_endpoint.py; here they are behind HTTP. They block, so each runs in a thread: those
that wait in the pool for that. No route has an effect on GET.
"""

from __future__ import annotations

import asyncio
from urllib.parse import parse_qsl

from starlette.routing import Mount

from dibs import jsontext
from dibs.errors import Invalid, NotFound
from dibs.interfaces.http import body
from dibs.interfaces.http.operations import NOT_ALLOWED, check_type
from dibs.interfaces.http.replies import Refusal, reply
from dibs.server.remote_endpoint import RemoteEndpoint

TYPE_CHECKING = False
if TYPE_CHECKING:
    from starlette.routing import BaseRoute

    from dibs.interfaces.http.app import Application
    from dibs.interfaces.http.replies import Receive, Scope, Send

MAX_BODY = 4 * 1024 * 1024  # as long as a line of a near caller
MAX_WORDS = 16  # of a query
LONG = frozenset(("/link/follow", "/link/wait"))


class LinkRoutes:
    """The endpoint of all routes below `/link`."""

    def __init__(self, app: Application) -> None:
        self.half = RemoteEndpoint(app.host)
        self._app = app
        self._routes = self.half.routes()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path, method = scope["path"], scope["method"]
        wanted, function = self._routes.get(path, ("", None))
        if function is None:
            raise NotFound(f"there is nothing at {path[:200]}.", what="path")
        if method != wanted:
            why = Invalid(f"{path}: {wanted} alone", field="method")
            raise Refusal(NOT_ALLOWED, why, [(b"allow", wanted.encode())])
        given: dict[str, object]
        if method == "POST":
            headers = scope["headers_by_name"]
            check_type(headers)
            given = body.parse(await body.read(receive, headers, MAX_BODY))
        else:
            given = _words(scope["query_string"])
        pool = self._app.waiting if path in LONG else self._app.pool
        identity = scope["identity"]
        if scope.get("client") and scope.get("server"):
            identity = identity.at((tuple(scope["client"]), tuple(scope["server"])))
        found = await asyncio.get_running_loop().run_in_executor(pool, function, identity, given)
        await reply(send, 200, jsontext.encode(found).encode())


def _words(query: bytes) -> dict[str, object]:
    try:
        return dict(parse_qsl(query.decode("ascii"), max_num_fields=MAX_WORDS))
    except ValueError:
        raise Invalid("the query cannot be read", field="query") from None


def routes(app: Application) -> list[BaseRoute]:
    """For the application."""
    link = LinkRoutes(app)
    app.at_stop.append(link.half.stop)  # those who wait are answered when the server ends
    return [Mount("/link", app=link)]
