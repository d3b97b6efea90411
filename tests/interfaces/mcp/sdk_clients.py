"""MCP servers for tests, and clients of the official SDK to talk to them: in process, on stdio, over HTTP."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx2
import uvicorn
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from starlette.applications import Starlette
from starlette.routing import Route

from dibs.interfaces.mcp.callers import Process
from dibs.interfaces.mcp.http import Endpoint
from dibs.interfaces.mcp.near import LocalWorkspace
from dibs.interfaces.mcp.server import Door
from dibs.machine import processes
from dibs.operations.core.call import Call
from dibs.server.host import Host
from dibs.server.requests import Requests
from dibs.workspace import location
from tests.waiting import LIMIT_S, until

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Coroutine, Iterator

OLD, NEW = "legacy", "2026-07-28"  # the eras: by a handshake, and stateless
ERAS = (OLD, NEW)
PATIENCE = LIMIT_S
DIBS = str(Path(sys.executable).parent / "dibs")


def play(story: Coroutine[Any, Any, Any]) -> Any:
    """Run it to its end, in a loop of its own."""
    return asyncio.run(asyncio.wait_for(story, 4 * PATIENCE))


def as_claude(call: str) -> Any:
    """The metadata of Claude Code's call with this id."""
    return {"claudecode/toolUseId": call}


def as_codex(agent: str) -> Any:
    """The metadata of a call by Codex in this session."""
    return {"x-codex-turn-metadata": {"session_id": agent}}


async def ask(client: Client, tool: str, agent: str = "", /, **given: Any) -> dict[str, Any]:
    """Call a tool; its structured content."""
    result = await client.call_tool(tool, given, meta=as_codex(agent) if agent else None)
    found = result.structured_content
    assert isinstance(found, dict)
    return found


def parameters(folder: Path, *words: str, **variables: str) -> StdioServerParameters:
    """`dibs mcp` in a folder, with an environment of its own."""
    mine = {"PATH": os.environ["PATH"], "HOME": str(folder)}
    return StdioServerParameters(command=DIBS, args=["mcp", *words], cwd=folder, env={**mine, **variables})


@asynccontextmanager
async def inside(folder: Path, era: str = NEW, *, every: bool = False, **more: Any) -> AsyncIterator[Client]:
    """A server in this process, whose client is this process too; agents are told apart as Codex's sessions."""
    near = LocalWorkspace(cwd=str(folder), process=Process([(processes.this(), "pytest")]))
    door = Door(near, every=every)
    try:
        async with Client(door.server(), mode=era, cache=None, **more) as client:
            yield client
    finally:
        door.close()
        near.close()


@contextmanager
def serving(folder: Path) -> Iterator[tuple[str, Host]]:
    """`/mcp` of a workspace on loopback; its URL, and the workspace."""
    host = Host(location.find(str(folder), None))
    endpoint = Endpoint(Requests(host))

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with endpoint.lifespan():
            yield

    app = Starlette(routes=[Route("/mcp", endpoint)], lifespan=lifespan)
    config = uvicorn.Config(app, port=0, log_level="critical", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    until(lambda: server.started, "the server")
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}/mcp", host
    finally:
        server.should_exit = True
        thread.join(PATIENCE)
        assert not thread.is_alive(), "the server did not end"
        host.close()


@asynccontextmanager
async def connected(url: str, token: str, era: str = NEW, **more: Any) -> AsyncIterator[Client]:
    """A client over HTTP with a credential."""
    headers = {"Authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=PATIENCE) as web,
        Client(streamable_http_client(url, http_client=web), mode=era, cache=None, **more) as client,
    ):
        yield client


def token_of(host: Host, **given: Any) -> str:
    """A new credential: its token."""
    session = host.session()
    operation = session.operation("token new")
    person = Call(session.config.policy, agent="tess", identified_by="user")
    return str(session.answer(operation, person, given)["token"])
