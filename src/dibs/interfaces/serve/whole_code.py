"""A part of a serving process: soon after the start it loads all of the code that a request may need.

Much of it is loaded only when it is first asked for. If dibs is upgraded meanwhile, a server would mix the old version
with parts of the new one, or not find a file at all. With all of it loaded it answers as before, until it is restarted.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
import threading

import dibs
from dibs.stores import ENGINES

AFTER_S = 3.0  # not at once: callers wait for the start, and many a server of a test lives shorter than this
# No server asks for these, or they bring large libraries that most servers never use: MCP's own, which its first
# request loads, and redis-py, which is loaded already where the store needs it.
OTHERS = (
    "dibs.__main__", "dibs.demo", "dibs.interfaces.cli", "dibs.interfaces.mcp", "dibs.interfaces.top", "dibs.patterns",
    "dibs.stores.redis.client",
)  # fmt: skip


class WholeCode:
    """The part."""

    about: dict[str, str] = {}  # noqa: RUF012 - nothing is said of it

    def __init__(self) -> None:
        self._timer = threading.Timer(AFTER_S, load)
        self._timer.daemon = True

    def start(self) -> None:
        """Load it in a while."""
        self._timer.start()

    def stop(self) -> None:
        """No longer."""
        self._timer.cancel()


def load() -> None:
    """Load it now, but for the engines that this server does not use.

    What needs a library that is not installed is left out: nobody can ask for it.
    """
    engines = [f"dibs.stores.{folder}" for folder in ENGINES.values()]
    unused = [engine for engine in engines if f"{engine}.store" not in sys.modules]
    for found in pkgutil.walk_packages(dibs.__path__, "dibs.", onerror=lambda _: None):
        if not found.name.startswith((*OTHERS, *unused)):
            try:
                importlib.import_module(found.name)
            except ImportError:
                pass
