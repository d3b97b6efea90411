"""The connections of a server: uvicorn's HTTP protocol with the limits that it leaves to a proxy in front.

A caller that sends its headers slowly, or too many of them, or opens too many connections, is refused before any
request exists; and what is no HTTP gets the CLI's error object, too.
"""

from __future__ import annotations

import os
import select
from itertools import count

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from dibs.errors import Busy, Invalid
from dibs.interfaces.http.replies import JSON, Refusal, body_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio
    from typing import Any

    from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

HEADERS_TIMEOUT_S = 10.0  # from the connection, or the first byte of a request, to the end of its headers
BODY_TIMEOUT_S = 15.0  # from the end of its headers to the end of a request
HUNG_UP = getattr(select, "POLLRDHUP", 0)  # Linux; elsewhere only a connection that is closed on both sides is seen
MAX_HEADER_BYTES = 32 * 1024  # of one request, with its address
BAD, TOO_LARGE, UNAVAILABLE = 400, 431, 503
WORDS = {BAD: b"Bad Request", TOO_LARGE: b"Request Header Fields Too Large", UNAVAILABLE: b"Service Unavailable"}


RUN, NUMBERS = os.urandom(8).hex(), count()  # together the name of a connection, which no later one has


class Corked:
    """A transport that puts what is written within one turn of the loop into one piece.

    uvicorn writes the head and the body of an answer one after the other; each write is a system call that wakes the
    caller, which then finds half an answer. All else is the transport's own.
    """

    __slots__ = ("_loop", "_pieces", "_transport")

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport, self._loop = transport, loop
        self._pieces: list[bytes] = []

    def write(self, data: bytes) -> None:
        """Write it at the end of this turn."""
        if not self._pieces:
            self._loop.call_soon(self.flush)
        self._pieces.append(data)

    def flush(self) -> None:
        """Write it now."""
        if self._pieces:
            pieces, self._pieces = self._pieces, []
            if self._transport.is_closing():  # the caller has gone since; uvloop raises for it
                return
            self._transport.write(b"".join(pieces) if len(pieces) > 1 else pieces[0])

    def close(self) -> None:
        """Write what is left, and close."""
        self.flush()
        self._transport.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


class Wire(HttpToolsProtocol):
    """One connection."""

    most = 1_024  # connections at once; a server sets its own

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(Corked(transport, self.loop))  # type: ignore[arg-type]  # all that is asked of it
        self._size = 0
        self._name = f"{RUN}-{next(NUMBERS)}"
        self._earlier: list[RequestResponseCycle] = []  # requests that are not answered yet, before the last one
        self._line: select.poll | None = None  # says whether the caller has hung up
        self._late: asyncio.TimerHandle | None = None  # looks at the deadline
        self._deadline = 0.0  # when it is cut; 0: nothing is due
        if len(self.connections) > self.most:
            self._refuse(UNAVAILABLE, f"at most {self.most} connections at once; try again")
        else:
            self._begin()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None
        for cycle in self._earlier:  # uvicorn tells the last request alone that its caller has gone
            cycle.disconnected = True
            cycle.message_event.set()
        super().connection_lost(exc)

    def _begin(self, seconds: float = 0.0) -> None:
        """Something is due within this time. One timer serves many requests: to make one costs as much as to parse."""
        self._deadline = self.loop.time() + (seconds or HEADERS_TIMEOUT_S)
        if self._late is not None and self._late.when() > self._deadline:
            self._late.cancel()
            self._late = None
        if self._late is None:
            self._late = self.loop.call_at(self._deadline, self._look_at_the_time)

    def _end(self) -> None:
        self._deadline = 0.0

    def _look_at_the_time(self) -> None:
        self._late = None
        if self._deadline and self.loop.time() >= self._deadline:
            self._cut()
        elif self._deadline:
            self._late = self.loop.call_at(self._deadline, self._look_at_the_time)

    def _cut(self) -> None:
        self.transport.abort()

    def _has_gone(self) -> bool:
        """Has the caller hung up? The loop may not have seen it yet, if this process was stopped or asleep."""
        if self.transport.is_closing():
            return True
        if self._line is None:
            self._line = select.poll()
            self._line.register(self.transport.get_extra_info("socket").fileno(), HUNG_UP)
        return bool(self._line.poll(0))

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._size = 0
        self.scope["abort"] = self._cut  # type: ignore[typeddict-unknown-key]
        self.scope["connection"] = self._name  # type: ignore[typeddict-unknown-key]
        self.scope["has_gone"] = self._has_gone  # type: ignore[typeddict-unknown-key]
        if not self._deadline:
            self._begin()

    def on_url(self, url: bytes) -> None:
        self._grow(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._grow(len(name) + len(value))
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._begin(BODY_TIMEOUT_S)
        if not self.transport.is_closing():
            if not self.url.startswith(b"/"):
                self._take_address()
            before: RequestResponseCycle | None = self.cycle
            super().on_headers_complete()
            if before is not None and before is not self.cycle and not before.response_complete:
                self._earlier = [one for one in (*self._earlier, before) if not one.response_complete]

    def _take_address(self) -> None:
        """The host that stands in the address itself (`GET http://HOST/…`) counts, whatever the header says."""
        _, found, rest = self.url.partition(b"://")
        if found:
            host = rest.partition(b"/")[0].partition(b"?")[0]
            self.headers[:] = [*(pair for pair in self.headers if pair[0] != b"host"), (b"host", host)]

    def on_body(self, body: bytes) -> None:
        if self.cycle is not None:
            super().on_body(body)

    def on_message_complete(self) -> None:
        self._end()
        if self.cycle is not None:
            super().on_message_complete()

    def _grow(self, by: int) -> None:
        self._size += by
        if self._size > MAX_HEADER_BYTES and not self.transport.is_closing():
            self._refuse(TOO_LARGE, f"headers: at most {MAX_HEADER_BYTES} bytes")

    def send_400_response(self, msg: str) -> None:
        """What is no HTTP."""
        if not self.transport.is_closing():
            self._refuse(BAD, msg)

    def _refuse(self, status: int, text: str) -> None:
        error = Busy(text) if status == UNAVAILABLE else Invalid(text, field="request")
        body = body_of(Refusal(status, error))
        head = b"HTTP/1.1 %d %s\r\ncontent-type: %s\r\ncontent-length: %d\r\nconnection: close\r\n\r\n"
        self.transport.write(head % (status, WORDS[status], JSON, len(body)) + body)
        self.transport.close()
