"""The parts of a serving process besides HTTP: each is started before the server says that it is ready.

A part has `start()` and `stop()`, and may say where it is reached (`about`: keys of `serve.json`) and which routes it
adds to the HTTP application (`routes`).
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    from starlette.routing import BaseRoute

    from dibs.interfaces.http.app import Application

    class Part(Protocol):
        """One part."""

        def start(self) -> None:
            """Begin; raises a DibsError if it cannot."""

        def stop(self) -> None:
            """End, within a second."""

        @property
        def about(self) -> dict[str, str]:
            """What `serve.json` says of it."""


def all_of(app: Application) -> list[Part]:
    """The parts of this version, in the order of their start."""
    from dibs.interfaces.serve.near import SocketPart
    from dibs.interfaces.serve.whole_code import WholeCode
    from dibs.server.hook_port.port import HookPort
    from dibs.server.land_loop import LandLoop
    from dibs.server.radar_loop import RadarLoop
    from dibs.server.upkeep_loop import UpkeepLoop

    near, hooks = SocketPart(app), HookPort(app.host)
    app.metrics.add("dibs_socket_requests", "Requests through the Unix socket.", lambda: near.port.requests)
    app.metrics.add("dibs_hook_requests", "Calls of clients' hooks that were answered.", lambda: hooks.answered)
    return [near, hooks, UpkeepLoop(app.host), RadarLoop(app.host), LandLoop(app.host), WholeCode()]


def routes(app: Application) -> list[BaseRoute]:
    """The routes that parts add."""
    from dibs.interfaces.http import link_routes
    from dibs.interfaces.mcp import mount
    from dibs.interfaces.page import mount as page

    return [*link_routes.routes(app), *mount.routes(app), *page.routes(app)]
