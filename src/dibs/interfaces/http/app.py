"""The application of a server: its routes, with what all of them pass in front (guard.py).

The routes of operations come from the catalogue (operations.py); other parts of the server may bring their own.
"""

from __future__ import annotations

import asyncio
import contextlib
from concurrent.futures import ThreadPoolExecutor

from starlette.applications import Starlette
from starlette.routing import Mount, Route

from dibs import jsontext
from dibs.errors import Invalid, NotFound
from dibs.interfaces.http import metrics
from dibs.interfaces.http.events import Events
from dibs.interfaces.http.guard import Guard
from dibs.interfaces.http.operations import PREFIX, Operations
from dibs.interfaces.http.replies import Refusal, reply
from dibs.server.feed import Feed
from dibs.server.figures import Figures
from dibs.server.remote_endpoint import MAX_WAITING
from dibs.server.requests import Requests

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
    from contextlib import AbstractAsyncContextManager
    from typing import Any

    from starlette.routing import BaseRoute

    from dibs.audit.answers import EventView
    from dibs.interfaces.http.replies import App, Receive, Scope, Send
    from dibs.server.host import Host
    from dibs.stores.seam import LogEvent

WORKERS = 16  # threads for requests: the store serialises them, and one waits for the disk while others compute


class Settings:
    """What a server was started with."""

    __slots__ = ("body", "names", "origins", "rate", "streams", "waits")

    def __init__(
        self,
        names: frozenset[str],
        origins: frozenset[str],
        *,
        rate: float = 1_000.0,
        body: int = 1024 * 1024,
        waits: int = 256,
        streams: int = 1_000,
    ) -> None:
        self.names, self.origins = names, origins
        self.rate, self.body, self.waits, self.streams = rate, body, waits, streams


class Application:
    """The ASGI application of one workspace, and what it needs to start and stop."""

    def __init__(self, host: Host, settings: Settings) -> None:
        self.host, self.figures = host, Figures()
        # what other parts run for as long as the application does, entered when it starts
        self.lifespans: list[Callable[[], AbstractAsyncContextManager[Any]]] = []
        self.at_stop: list[Callable[[], None]] = []  # what ends the waits of other parts
        self.pool = ThreadPoolExecutor(WORKERS, "dibs-request")
        # for both kinds of callers that wait: those of `/v1` must not use up the threads of those of `/link`
        self.waiting = ThreadPoolExecutor(settings.waits + MAX_WAITING, "dibs-wait")
        self.requests = Requests(host, self.figures)
        self.feed = Feed(host, self._heard)
        self.events = Events(host, self.feed, self.pool, most=settings.streams)
        self.operations = Operations(
            self.requests, self.figures, self.pool, self.waiting, limit=settings.body, most_waiting=settings.waits
        )
        self.metrics = metrics.Metrics(host, self.figures, lambda: self.events.listeners)
        self._description = b""  # of all routes, once somebody has asked for it
        inner = Starlette(
            routes=[
                *[Route(path, _Get(function), methods=None) for path, function in self._gets().items()],
                Mount("/", app=_no_route),
            ],
            lifespan=self._lifespan,
        )
        self._routes = inner.router.routes
        inner.router.redirect_slashes = False
        inner.router.default = _no_route  # what is no path at all, such as `*`
        self.asgi = Guard(
            _dispatch(self.operations, inner), host, self.pool, names=settings.names, origins=settings.origins,
            rate=settings.rate, counted=self.figures.count,
        )  # fmt: skip

    def add(self, routes: Sequence[BaseRoute]) -> None:
        """Routes of another part of the server. They are guarded like all."""
        self._routes[-1:-1] = routes

    def _gets(self) -> dict[str, App]:
        return {
            "/healthz": self._health,
            "/readyz": self._ready,
            "/metrics": self._metrics,
            "/openapi.json": self._openapi,
            "/events": self.events,
        }

    @contextlib.asynccontextmanager
    async def _lifespan(self, _: Starlette) -> AsyncIterator[None]:
        await asyncio.get_running_loop().run_in_executor(self.pool, self.feed.start)
        try:
            async with contextlib.AsyncExitStack() as stack:
                for enter in self.lifespans:
                    await stack.enter_async_context(enter())
                yield
        finally:
            self.stop()
            self.feed.stop()
            self.pool.shutdown(wait=False, cancel_futures=True)
            self.waiting.shutdown(wait=False, cancel_futures=True)

    def stop(self) -> None:
        """End what would not end by itself: streams and waits. From the event loop."""
        self.events.stop()
        self.operations.stop()
        for end in self.at_stop:
            end()

    def _heard(self, event: LogEvent | EventView) -> None:
        metrics.counted(self.figures, event)
        self.events.heard(event)

    # --- routes that are no operation

    async def _health(self, scope: Scope, _: Receive, send: Send) -> None:
        await reply(send, 200, b'{"ok":true}', head=scope["method"] == "HEAD")

    async def _ready(self, scope: Scope, _: Receive, send: Send) -> None:
        await reply(send, 200, b'{"ok":true}', head=scope["method"] == "HEAD")  # the store has verified the credential

    async def _metrics(self, scope: Scope, _: Receive, send: Send) -> None:
        text = await asyncio.get_running_loop().run_in_executor(self.pool, self.metrics.text)
        await reply(send, 200, text, metrics.CONTENT_TYPE, head=scope["method"] == "HEAD")

    async def _openapi(self, scope: Scope, _: Receive, send: Send) -> None:
        if not self._description:
            self._description = await asyncio.get_running_loop().run_in_executor(self.pool, _description)
        await reply(send, 200, self._description, head=scope["method"] == "HEAD")


def _description() -> bytes:
    from dibs.interfaces.http import openapi  # it loads every operation and every type, which takes 50 ms

    return jsontext.encode(openapi.description()).encode()


class _Get:
    """A route that only reads: GET and HEAD, nothing else."""

    def __init__(self, function: App) -> None:
        self._function = function

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] not in {"GET", "HEAD"}:
            why = Invalid(f"{scope['path'][:100]}: GET alone", field="method")
            raise Refusal(405, why, [(b"allow", b"GET, HEAD")])
        await self._function(scope, receive, send)


def _dispatch(operations: App, inner: Starlette) -> App:
    """Operations at once, which are nearly all that is asked for; the rest by Starlette's routes.

    Without its middleware: guard.py answers errors.
    """
    router = inner.router

    def called(scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        if scope["type"] == "http" and scope["path"].startswith(PREFIX):
            return operations(scope, receive, send)
        return router(scope, receive, send)

    return called


async def _no_route(scope: Scope, _receive: Receive, _send: Send) -> None:
    raise NotFound(f"there is nothing at {scope['path'][:200]}; /openapi.json lists what there is.", what="path")
