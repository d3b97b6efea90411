"""`/mcp` in the application of a server, made at its first request: no start of a server waits for the SDK's import.

The application has checked Host, Origin, credential and rate before a request comes here (interfaces/http/guard.py).
"""

from __future__ import annotations

import asyncio
import contextlib

from starlette.routing import Route

from dibs.errors import Unauthorized, Unavailable
from dibs.interfaces.http import body
from dibs.interfaces.http.operations import check_type
from dibs.interfaces.http.replies import ending
from dibs.interfaces.install import mcp_entries

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
    from typing import Any

    from starlette.routing import BaseRoute

    from dibs.interfaces.http.app import Application
    from dibs.interfaces.http.replies import Receive, Scope, Send
    from dibs.interfaces.mcp.http import Endpoint
    from dibs.server.identity import Identity
    from dibs.server.requests import Requests

PATH = "/mcp"
LOOK_S = 15.0  # between two looks at the credential of a request that takes so long
MAX_BODY_BYTES = 1 << 20  # of one request
STOP_S = 2.0  # for open streams and waits when the server ends


def routes(app: Application) -> list[BaseRoute]:
    """The route, where the SDK is installed."""
    if not mcp_entries.is_offered():
        return []
    mounted = Mounted(app.requests, app.events.still_counts)
    app.lifespans.append(mounted.lifespan)
    app.at_stop.append(mounted.stop)
    return [Route(PATH, mounted, methods=None)]


class Mounted:
    """The endpoint; made by the first request for it."""

    def __init__(self, requests: Requests, counts: Callable[[Identity], Awaitable[bool]]) -> None:
        self._requests, self._counts = requests, counts
        self._endpoint: Endpoint | None = None
        self._wanted, self._settled, self._ending = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self._open: set[asyncio.Future[None]] = set()  # requests under way
        self._stopped = False

    def stop(self) -> None:
        """End open streams and waits: the server ends. From the event loop."""
        self._stopped = True
        for work in list(self._open):
            work.cancel()

    @contextlib.asynccontextmanager
    async def lifespan(self) -> AsyncIterator[None]:
        """For as long as the application runs."""
        keeper = asyncio.ensure_future(self._keep())
        try:
            yield
        finally:
            self._ending.set()
            self._wanted.set()
            await asyncio.wait([keeper], timeout=STOP_S)
            keeper.cancel()

    async def _keep(self) -> None:
        """Make the endpoint when it is wanted, and end it: both in one task, as its task groups need it."""
        await self._wanted.wait()
        try:
            if not self._ending.is_set():
                endpoint = await asyncio.to_thread(_made, self._requests)
                async with endpoint.lifespan():
                    self._endpoint = endpoint
                    self._settled.set()
                    await self._ending.wait()
        finally:
            self._endpoint = None
            self._settled.set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        asked = await _read(scope, receive) if scope["method"] == "POST" else receive
        self._wanted.set()
        await self._settled.wait()
        if self._endpoint is None:
            raise Unavailable("the tools cannot be served right now; try again.")
        await self._while_it_counts(self._endpoint, scope, asked, send)

    async def _while_it_counts(self, endpoint: Endpoint, scope: Scope, receive: Receive, send: Send) -> None:
        """One request, which may be a stream for hours: it ends with the credential that it came with."""
        state = {"started": False, "ended": False}

        async def sending(message: MutableMapping[str, Any]) -> None:
            state["started"] = True
            state["ended"] = message["type"] == "http.response.body" and not message.get("more_body")
            await send(message)

        work = asyncio.ensure_future(endpoint(scope, receive, sending))
        self._open.add(work)
        try:
            while not (await asyncio.wait([work], timeout=LOOK_S))[0]:
                if not await self._counts(scope["identity"]):
                    break
        finally:
            self._open.discard(work)
            if not work.done():
                work.cancel()
                await asyncio.wait([work], timeout=STOP_S)
        if not work.cancelled():
            await work
        elif not state["started"]:
            raise ending() if self._stopped else Unauthorized(why="revoked")
        elif not state["ended"]:
            await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _read(scope: Scope, receive: Receive) -> Receive:
    """The body within the limits of every route, before the SDK has it: its own refusals are no error objects."""
    headers = scope["headers_by_name"]
    check_type(headers)
    kept = [{"type": "http.request", "body": await body.read(receive, headers, MAX_BODY_BYTES), "more_body": False}]

    async def again() -> MutableMapping[str, Any]:
        return kept.pop() if kept else await receive()

    return again


def _made(requests: Requests) -> Endpoint:
    from dibs.interfaces.mcp.http import Endpoint

    return Endpoint(requests, hosts=None)
