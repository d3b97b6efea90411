"""What a server sends back: JSON objects as the CLI prints them, errors as the CLI's error object, always.

`Refusal` is an error with an HTTP status of its own, for what the protocol refuses before any operation is asked.
"""

from __future__ import annotations

from dibs import jsontext
from dibs.errors import Busy, DibsError, Invalid, Unavailable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, MutableMapping
    from typing import Any

    Scope = MutableMapping[str, Any]
    Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
    Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
    App = Callable[[Scope, Receive, Send], Awaitable[None]]
    Headers = Iterable[tuple[bytes, bytes]]

JSON = b"application/json"
POLICY = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; "
    b"form-action 'none'; frame-ancestors 'none'"
)
# No page of another site may read, frame or script what comes from here; nothing is kept by a browser or a proxy.
SECURITY: tuple[tuple[bytes, bytes], ...] = (
    (b"cache-control", b"no-store"),
    (b"content-security-policy", POLICY),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
)  # fmt: skip
BAD, SERVER_ERROR = 400, 500


class Refusal(Exception):
    """A request that is refused before it reaches an operation."""

    def __init__(self, status: int, error: DibsError, headers: Headers = ()) -> None:
        super().__init__(error.message)
        self.status, self.error, self.headers = status, error, tuple(headers)


def refusal_of(error: BaseException) -> Refusal:
    """Any error as what a caller is told. One that nobody foresaw is told without its details."""
    if isinstance(error, Refusal):
        return error
    if isinstance(error, DibsError):
        headers = [(b"www-authenticate", b'Bearer realm="dibs"')] if error.code == "unauthorized" else []
        return Refusal(error.status, error, headers)
    message = "internal error: the request may or may not have completed. The server's log has the details."
    return Refusal(SERVER_ERROR, Unavailable(message, internal=True))


def caller_gone() -> Refusal:
    """The end of a request whose caller has hung up; nobody reads it."""
    return Refusal(BAD, Invalid("the caller has gone", field="request"))


def ending() -> Busy:
    """What those are told who ask, or wait, while the server ends. dibs itself asks again (stores/far/)."""
    return Busy("the server is stopping; try again.", ending=True)


def body_of(refusal: Refusal) -> bytes:
    """The error object as text."""
    return jsontext.encode(refusal.error.as_json()).encode()


async def reply(
    send: Send, status: int, body: bytes, kind: bytes = JSON, headers: Headers = (), *, head: bool = False
) -> None:
    """One answer, complete."""
    length = (b"content-length", b"%d" % len(body))
    found = [(b"content-type", kind), length, *SECURITY, *headers]
    await send({"type": "http.response.start", "status": status, "headers": found})
    await send({"type": "http.response.body", "body": b"" if head else body})


async def refuse(send: Send, error: BaseException) -> int:
    """An error as an answer; returns its status."""
    refusal = refusal_of(error)
    await reply(send, refusal.status, body_of(refusal), headers=refusal.headers)
    return refusal.status
