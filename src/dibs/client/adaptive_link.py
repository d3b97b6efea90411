"""The link of a long-lived program: to the store itself while it is alone there, to a server while there is a crowd.

A program alone is faster at the store: no second process has to be woken. Where many processes queue at the store, a
server that decides them together, with one commit for all, serves each of them sooner. So a program counts how many of
its last transactions had to wait for another process, and goes to the server when that is the rule; there the server
tells how many requests it decided together, and when that is mostly one, the program goes back.
"""

from __future__ import annotations

from dibs.client.driver import StoreLink

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.client.server_link import SocketLink
    from dibs.client.session import Session
    from dibs.operations.core.call import Call, Fields
    from dibs.operations.core.declare import Operation
    from dibs.stores.seam import Json

LOOK_EVERY = 16  # transactions at the store between two looks
CROWDED = 8  # of these had to wait for another process: time to go to the server
ASKED_EVERY = 64  # requests to the server between two looks
COMPANY = 96  # requests decided in all, for 64 of one's own, below which nobody else was there


class AdaptiveLink:
    """The store's half of a request, at the store or at the server, whichever is sooner. Threads may share it."""

    def __init__(self, local: str) -> None:
        self._local = local
        self._direct = StoreLink()
        self._socket: SocketLink | None = None
        self._through = False  # does it go through the server?
        self._count = self._company = 0
        self._queued = -1  # what the store counted at the last look

    def attempt(self, session: Session, operation: Operation, call: Call, fields: Fields) -> Json:
        """Let it be decided once; see `Link`."""
        if not operation.writes:
            return self._direct.attempt(session, operation, call, fields)
        if self._through:
            assert self._socket is not None
            try:
                return self._socket.attempt(session, operation, call, fields)
            finally:
                self._after_server(self._socket.group)
        try:
            return self._direct.attempt(session, operation, call, fields)
        finally:
            self._count += 1
            if self._count >= LOOK_EVERY:
                self._look(session)

    def recall(self, session: Session, call: Call) -> bool:
        """Take back the request that is under way; False if there is none."""
        return self._socket is not None and self._socket.recall(session, call)

    def close(self) -> None:
        """Close the connections to a server."""
        if self._socket is not None:
            self._socket.close()

    def _look(self, session: Session) -> None:
        queued, before, self._count = session.store.queued, self._queued, 0
        self._queued = queued
        if before < 0 or queued - before < CROWDED:
            return
        if self._socket is None:
            from dibs.client.server_link import SocketLink

            self._socket = SocketLink(self._local, self._direct)
        if self._socket.is_near():
            self._through, self._company = True, 0

    def _after_server(self, group: int) -> None:
        self._count += 1
        self._company += group
        if group and self._count < ASKED_EVERY:
            return
        if not group or self._company < COMPANY:  # the server is gone, or nobody else is there
            self._through, self._queued = False, -1
        self._count = self._company = 0
