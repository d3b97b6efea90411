"""Whose token a request has, and who decides that it counts.

A token that is not known here costs a look into the store, and anybody can send one. So all that wait for a look share
it: there are a few a second, however many strangers call, and each reads all credentials. A new credential waits for
the next look and passes; no stranger can lock it out. Whether a known one still counts is decided by each call's own
transaction, or by `check` for what has none.
"""

from __future__ import annotations

import asyncio
from hmac import compare_digest

from dibs.client import secrets
from dibs.errors import Unauthorized
from dibs.operations.agents.credentials import BEARERS
from dibs.operations.core.call import Call
from dibs.server.identity import Identity, of_credential

TYPE_CHECKING = False
if TYPE_CHECKING:
    from concurrent.futures import Executor
    from typing import Any

    from dibs.server.host import Host

LOOK_EVERY_S = 0.05  # between two looks: a new credential waits no longer


class Bearers:
    """The credentials of a workspace as they were at the last look. Only the event loop calls."""

    def __init__(self, host: Host, pool: Executor) -> None:
        self._host, self._pool = host, pool
        self._known: dict[str, tuple[str, dict[str, Any]]] = {}  # id → hash of the secret, what is known of it
        self._next: asyncio.Future[None] | None = None  # the look that has not begun yet
        self._last = float("-inf")
        self._looking = asyncio.Lock()  # a later look never gives way to an earlier one

    async def identity(self, token: str) -> Identity:
        """Whose token it is; `Unauthorized` if it is none, or none that counted at the last look."""
        identifier, digest = secrets.opened(token)
        if identifier not in self._known:
            await self._look()
        if not self._has(identifier, digest):
            raise Unauthorized(why="unknown")
        found = self._known[identifier][1]
        if found["why"]:
            raise Unauthorized(why=found["why"], credential=identifier)
        return Identity.of(found, (identifier, digest))

    async def check(self, identity: Identity) -> None:
        """`Unauthorized` if the credential does not count at this moment."""
        if identity.credential is not None:
            loop = asyncio.get_running_loop()
            await loop.run_in_executor(self._pool, of_credential, self._host, *identity.credential)

    def _has(self, identifier: str, digest: str) -> bool:
        return identifier in self._known and compare_digest(self._known[identifier][0], digest)

    async def _look(self) -> None:
        """A look that begins after this moment."""
        if self._next is None:
            self._next = asyncio.ensure_future(self._read())
        await asyncio.shield(self._next)

    async def _read(self) -> None:
        loop = asyncio.get_running_loop()
        async with self._looking:
            await asyncio.sleep(self._last + LOOK_EVERY_S - loop.time())
            self._next = None  # who comes from now on may have a credential that this look does not see
            self._last = loop.time()
            self._known = await loop.run_in_executor(self._pool, self._all)

    def _all(self) -> dict[str, tuple[str, dict[str, Any]]]:
        session = self._host.session()
        found = session.run(BEARERS, Call(session.config.policy), {})
        return {one["id"]: (one["hash"], one) for one in found["bearers"]}
