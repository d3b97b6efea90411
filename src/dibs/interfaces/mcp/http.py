"""`/mcp`: the tools over streamable HTTP, inside the app of `dibs serve`. Both eras of the protocol.

The app that mounts it runs `lifespan()` with its own, and may have named the caller already (`scope["identity"]`);
else the bearer token of each request does. A session of the older eras belongs to the credential that opened it.
"""

from __future__ import annotations

import contextlib
import json
from typing import TYPE_CHECKING, Any

import anyio.to_thread
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings

from dibs.errors import DibsError, Unauthorized
from dibs.interfaces.mcp import callers
from dibs.interfaces.mcp.mount import MAX_BODY_BYTES
from dibs.interfaces.mcp.server import Door, quiet
from dibs.operations.agents.credentials import AGENT_KIND
from dibs.operations.core.call import within
from dibs.server.identity import Identity, of_token

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

    from starlette.requests import Request

    from dibs.interfaces.http.replies import Receive, Scope, Send
    from dibs.server.host import Host
    from dibs.server.requests import Requests

IDENTITY = "identity"  # in a request's scope: who calls
BEARER = "bearer "
MAX_SESSIONS = 1_000  # of the older eras; the newest one keeps none
SESSION_IDLE_S = 1_800.0
LOOPBACK = ("127.0.0.1:*", "localhost:*", "[::1]:*", "localhost")


class Far:
    """The workspace of a server, asked over HTTP."""

    def __init__(self, requests: Requests) -> None:
        self.requests = requests

    @property
    def host(self) -> Host:
        """The workspace."""
        return self.requests.host

    def who(self, meta: Mapping[str, Any], client: str, request: Request | None) -> callers.Who:
        """The credential's agent; or, for one that speaks for several, the agent of this session."""
        assert request is not None, "a call over HTTP"
        found: Identity = request.scope[IDENTITY]
        agent, _ = callers.named(self.host.place.local, meta)
        fleeting = False
        if found.bearer != AGENT_KIND and agent in {"", found.agent}:  # no model is the person or the machine itself
            session = request.headers.get("mcp-session-id")  # the newest era of the protocol has none
            fleeting = not session
            connection = request.scope.get("connection") or request.scope["client"]
            agent = callers.unnamed(f"{found.id} {session or connection}")
        elif found.bearer == AGENT_KIND and agent and not within(agent, found.agent):
            agent = ""  # only a subagent may be told apart
        kind = callers.kind_of(client)
        named = Identity(agent=found.agent, credential=found.credential, kind=kind, bearer=found.bearer, model=True)
        return callers.Who(named, agent, fleeting=fleeting)


class Endpoint:
    """The ASGI endpoint of `/mcp`, and its life."""

    def __init__(
        self,
        requests: Requests,
        *,
        hosts: Sequence[str] | None = LOOPBACK,
        make: type[Door] = Door,
    ) -> None:
        """An endpoint for these Hosts and the origins of their own; None: the app in front checks both."""
        self.door = make(Far(requests))
        self._requests = requests
        security = None
        if hosts is not None:
            origins = [f"{scheme}://{host}" for host in hosts for scheme in ("http", "https")]
            security = TransportSecuritySettings(allowed_hosts=list(hosts), allowed_origins=origins)
        # Not `json_response`, which is a millisecond faster in the older eras: a call that waits could tell no progress
        # there, and in the newest era nobody would notice that a client closed its stream, which cancels a call.
        self._manager = StreamableHTTPSessionManager(
            app=self.door.server(),
            security_settings=security,
            max_sessions=MAX_SESSIONS,
            session_idle_timeout=SESSION_IDLE_S,
            max_request_body_size=MAX_BODY_BYTES,
        )
        quiet()

    @contextlib.asynccontextmanager
    async def lifespan(self) -> AsyncIterator[None]:
        """Serve until the app ends; open streams end with it."""
        async with self._manager.run():
            try:
                yield
            finally:
                self.door.close()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        try:
            found: Identity | None = scope.get(IDENTITY)
            if found is None:
                found = await anyio.to_thread.run_sync(of_token, self._requests.host, _token(scope))
        except DibsError as error:
            await _refuse(send, error)
            return
        token = AccessToken(token=found.id or "local", client_id=found.id or "local", scopes=[])
        await self._manager.handle_request({**scope, IDENTITY: found, "user": AuthenticatedUser(token)}, receive, send)


def _token(scope: Scope) -> str:
    """The bearer token of a request."""
    text = next((value.decode("latin-1") for name, value in scope["headers"] if name == b"authorization"), "")
    if text[: len(BEARER)].lower() != BEARER:
        raise Unauthorized(why="missing")
    return text[len(BEARER) :].strip()


async def _refuse(send: Send, error: DibsError) -> None:
    """A refusal before the protocol begins: the CLI's error object."""
    body = json.dumps(error.as_json()).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    if error.status == Unauthorized.status:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": error.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
