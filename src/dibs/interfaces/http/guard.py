"""What every request passes before anything is done for it: where it is addressed, where it comes from, who it is.

In this order: the Host is one of the server's own names (else a page of another site could reach a server on loopback
under its own name: 421), the Origin is the server's own (403), the credential counts (401; 429 for an address that
failed too often), it does not call too often (429), and the caller is still there: a server that was stopped does
nothing for those who have given up. A credential is a token in the header, or below `/s/` the cookie of a session
(sessions.py). `/healthz` and the files of the page need none. A WebSocket is refused.
Errors of all that come after are answered here: never a stack trace, always the CLI's error object.
"""

from __future__ import annotations

import asyncio
import logging
from math import ceil

from dibs.errors import DibsError, Forbidden, Invalid, NotFound, Quota, Unauthorized
from dibs.interfaces.http.bearers import Bearers
from dibs.interfaces.http.limits import Buckets
from dibs.interfaces.http.replies import Refusal, caller_gone, ending, refuse
from dibs.interfaces.http.sessions import PREFIX, Sessions
from dibs.server import locations
from dibs.server.identity import Identity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Executor

    from dibs.interfaces.http.replies import App, Receive, Scope, Send
    from dibs.server.host import Host

LOG = logging.getLogger("dibs.serve")
HEALTH = "/healthz"
PAGE, FILES = "/", "/page/"  # files that are the same for everybody and tell nothing of the workspace
SIGN_IN = "/session"  # a code in the body takes the place of a credential; the route reads it
BAD, FORBIDDEN, MISDIRECTED, TOO_MANY = 400, 403, 421, 429
ONCE = (b"authorization", b"content-type", b"content-encoding", b"idempotency-key", b"last-event-id", b"origin",
        b"sec-fetch-site", b"transfer-encoding")  # fmt: skip
# Each call of these verifies its credential in the transaction that decides. All else is verified here, first.
IN_ITS_TRANSACTION = ("/v1/", "/link/run")
# Wrong credentials of one address: fifty are told so, then two a second. A secret has 256 bits: nobody guesses it.
# A good one is never refused for them: on loopback all callers share the address.
FAILURES_RATE, FAILURES_BURST = 2.0, 50.0
BEARER = b"bearer "


class Guard:
    """The outermost part of the application."""

    def __init__(
        self,
        app: App,
        host: Host,
        pool: Executor,
        *,
        names: frozenset[str],
        origins: frozenset[str],
        rate: float,
        counted: Callable[[str, str], None],
    ) -> None:
        self._app, self._host = app, host
        self._names, self._origins = names, origins
        self._calls = Buckets(rate, 2 * rate)
        self._failures = Buckets(FAILURES_RATE, FAILURES_BURST)
        self._bearers = Bearers(host, pool)
        self._counted = counted
        self.sessions = Sessions(host.place.local)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        started = False

        async def sending(message: dict[str, object]) -> None:
            nonlocal started
            started = started or message["type"] == "http.response.start"
            await send(message)

        try:
            headers = dict(scope["headers"])
            scope["headers_by_name"] = headers
            if len(headers) != len(scope["headers"]):
                _check_twice(scope)
            self._check_place(scope, headers)
            if not _is_public(scope):
                scope["identity"] = await self._counting(scope, headers)
            if scope["method"] == "POST":
                _check_presence(scope)
            await self._app(scope, receive, sending)  # type: ignore[arg-type]
        except asyncio.CancelledError:  # the server ends, and this took longer than it waits
            if started:
                raise
            self._counted("http_refusals", str(await refuse(send, ending())))
        except Exception as failed:
            error = await self._still(scope, failed)
            if isinstance(error, DibsError):
                locations.hide_in(self._host.place, error)
            if isinstance(error, Unauthorized):
                error = self._failed(scope, error)
            elif not isinstance(error, (DibsError, Refusal)):
                LOG.exception("a request failed: %s", scope["path"][:200])
            if started:
                raise error from None  # the connection is closed: half an answer is none
            self._counted("http_refusals", str(await refuse(send, error)))

    def _check_place(self, scope: Scope, headers: dict[bytes, bytes]) -> None:
        """Refuse what is not addressed to this server, or comes from a page of another site."""
        hosts = [value for name, value in scope["headers"] if name == b"host"]
        host = hosts[0].decode("latin-1").lower() if len(hosts) == 1 else ""
        if host not in self._names:
            what = f"this server is not {host[:100]}" if host else "one header that names this server is needed"
            raise Refusal(MISDIRECTED, Invalid(f"Host: {what}", field="Host"))
        origin = headers.get(b"origin")
        site = headers.get(b"sec-fetch-site", b"none")
        if (origin is not None and origin.decode("latin-1").lower() not in self._origins) or site not in {
            b"none",
            b"same-origin",
        }:
            raise Refusal(FORBIDDEN, Forbidden("Origin: no page of another site may call this server"))

    async def _counting(self, scope: Scope, headers: dict[bytes, bytes]) -> Identity:
        """Who calls, by a credential that counts."""
        found = await self._identity(scope, headers)
        if not scope["path"].startswith(IN_ITS_TRANSACTION):
            await self._bearers.check(found)
        return found

    async def _identity(self, scope: Scope, headers: dict[bytes, bytes]) -> Identity:
        """Who calls."""
        if scope["path"].startswith(PREFIX):
            return self._limited(self.sessions.enter(scope, headers).identity)
        given = _token(headers)
        if scope["path"] == SIGN_IN and not given:
            return Identity()
        if not given:
            raise Unauthorized(why="missing")
        return self._limited(await self._bearers.identity(given))

    def _limited(self, known: Identity) -> Identity:
        """The caller, unless it calls too often."""
        wait = self._calls.take(known.id)
        if wait:
            raise _too_often(wait, "calls of this credential")
        return known

    async def _still(self, scope: Scope, error: Exception) -> Exception:
        """The error, unless the credential no longer counts: what was refused before any transaction did not ask."""
        identity: Identity | None = scope.get("identity")
        if identity is None or identity.credential is None or not isinstance(error, (Refusal, Invalid, NotFound)):
            return error
        try:
            await self._bearers.check(identity)
        except Unauthorized as gone:
            return gone
        except Exception:  # noqa: BLE001 - the store does not answer: the first error is the one to tell
            return error
        return error

    def _failed(self, scope: Scope, error: Unauthorized) -> Exception:
        """The answer to a wrong credential: the address has one attempt less."""
        wait = self._failures.take(_address(scope))
        return _too_often(wait, "wrong credentials") if wait else error


def _check_presence(scope: Scope) -> None:
    """Do nothing for a caller that has hung up."""
    if "has_gone" in scope and scope["has_gone"]():
        raise caller_gone()


def _check_twice(scope: Scope) -> None:
    """Refuse a header that stands twice where one counts: a proxy in front may have believed the other one."""
    names = [name for name, _ in scope["headers"]]
    twice = next((name for name in ONCE if names.count(name) > 1), b"")
    if twice:
        shown = twice.decode().title()
        raise Refusal(BAD, Invalid(f"{shown}: this header occurs twice", field=shown))


def _too_often(wait: float, what: str) -> Refusal:
    error = Quota(f"too many {what}; try again in {wait:.1f} s.", what=what, limit=1)
    return Refusal(TOO_MANY, error, [(b"retry-after", str(max(1, ceil(wait))).encode())])


def _is_public(scope: Scope) -> bool:
    """Does this tell nothing of the workspace?"""
    return scope["path"] in {HEALTH, PAGE} or scope["path"].startswith(FILES)


def _token(headers: dict[bytes, bytes]) -> str:
    """The token of a request; "" if it has none."""
    given = headers.get(b"authorization", b"")
    return given[len(BEARER) :].decode("latin-1").strip() if given[: len(BEARER)].lower() == BEARER else ""


def _address(scope: Scope) -> str:
    return scope["client"][0] if scope.get("client") else ""


def names_of(addresses: list[str], port: int) -> frozenset[str]:
    """The Host headers that name this server."""
    found = set()
    for one in addresses:
        plain = f"[{one}]" if ":" in one else one.lower()
        found |= {f"{plain}:{port}", plain}
    return frozenset(found)
