"""Parity of the ways to a store: the same random trace decides and logs the same directly, by socket and by HTTP."""

from __future__ import annotations

import http.client
import json
import os
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from dibs import jsontext
from dibs.client import wire
from dibs.operations.core.declare import SOCKET
from dibs.server.identity import Identity
from dibs.server.remote_endpoint import RemoteEndpoint
from dibs.server.socket_port import SocketPort
from tests.simulation.traces import on_sqlite, same
from tests.simulation.world import World

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from dibs.operations.core.call import Call

TORTURE = bool(os.environ.get("DIBS_TORTURE"))
OPERATIONS = 10_000 if TORTURE else 600
SEEDS = [int(os.environ["DIBS_SEED"])] if "DIBS_SEED" in os.environ else [201, 202]


class Stand:
    """As much of a host as the ports ask for, around a world's store; its sessions are itself."""

    place: Any = SimpleNamespace(root="", top="")

    def __init__(self, world: World) -> None:
        self.store, self.policy = world.store, world.policy

    def config(self, _: Any) -> Stand:
        return self

    def session(self, *_: Any) -> Stand:
        return self

    def reopen_after(self, _: BaseException) -> bool:
        return False


class Sent(World):
    """A world whose calls are sent to a port and come back as text, under names as a near caller gives them."""

    send: Callable[[dict[str, Any]], dict[str, Any]]
    number = 0

    def decide(self, operation: Any, call: Call, fields: dict[str, Any], *_: Any) -> Any:
        self.number += 1
        message = {"n": self.number, "op": operation.name, "call": wire.call_out(call), "fields": fields}
        if operation.writes:
            message["via"] = self.name
        return wire.answer_in(self.send(message))

    name: Any = "a" * 32


@pytest.fixture
def by_socket(tmp_path: Path) -> Iterator[Callable[[Sent], None]]:
    """Makes a world send its calls through a real socket."""
    ends: list[Callable[[], None]] = []

    def attach(world: Sent) -> None:
        port = SocketPort(Stand(world), str(tmp_path / "s"))  # type: ignore[arg-type]
        port.start()
        peer = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        peer.settimeout(30)
        peer.connect(str(tmp_path / "s"))
        lines = peer.makefile("rb")

        def send(message: dict[str, Any]) -> dict[str, Any]:
            peer.sendall(jsontext.encode({**message, "store": None}).encode() + b"\n")
            answer: dict[str, Any] = json.loads(lines.readline())
            assert answer["n"] == message["n"]
            return answer

        world.send = send
        ends.extend((lines.close, peer.close, port.stop))

    yield attach
    for end in ends:
        end()


@pytest.fixture
def by_http() -> Iterator[Callable[[Sent], None]]:
    """Makes a world send its calls over HTTP, as a far caller does."""
    ends: list[Callable[[], None]] = []

    def attach(world: Sent) -> None:
        half = RemoteEndpoint(Stand(world))  # type: ignore[arg-type]

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_POST(self) -> None:
                given = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                text = jsontext.encode(half.run(Identity(bearer=SOCKET), given)).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_: Any) -> None:
                """Nothing is printed."""

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        connection = http.client.HTTPConnection("127.0.0.1", server.server_address[1], timeout=30)

        def send(message: dict[str, Any]) -> dict[str, Any]:
            via = {"via": [message["via"], message["n"]]} if "via" in message else {}
            here = {**message["call"], "here": ["host", "boot", "0"]}
            connection.request("POST", "/link/run", jsontext.encode({**message, "call": here, **via}))
            answer: dict[str, Any] = json.loads(connection.getresponse().read())
            return answer

        world.send = send
        ends.extend((connection.close, server.shutdown, thread.join, server.server_close))

    yield attach
    for end in ends:
        end()


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("way", ["by_socket", "by_http"])
def test_a_trace_decides_and_logs_the_same_by_every_way(
    seed: int, way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    attach = request.getfixturevalue(way)

    def sent() -> World:
        world = Sent(seed, on_sqlite(tmp_path, monkeypatch), aborts=0)
        attach(world)
        return world

    same(lambda: World(seed, aborts=0), sent, OPERATIONS)
