"""Connections to a server elsewhere: which are kept for the next request, and which are closed."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from dibs.stores.far.connection import FarConnection
from tests.waiting import LIMIT_S


class Server(ThreadingHTTPServer):
    """Answers a request when it is let."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.came, self.let = threading.Event(), threading.Event()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        assert isinstance(self.server, Server)
        self.server.came.set()
        assert self.server.let.wait(LIMIT_S)
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as made:
        thread = threading.Thread(target=made.serve_forever)
        thread.start()
        yield made
        made.let.set()
        made.shutdown()
        thread.join()


def test_a_connection_that_is_in_use_at_the_close_is_closed_after_its_answer(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DIBS_TOKEN", "x.y")
    connection = FarConnection(f"http://127.0.0.1:{server.server_address[1]}", LIMIT_S)
    found: list[object] = []
    thread = threading.Thread(target=lambda: found.append(connection.ask("GET", "/x")))
    thread.start()
    assert server.came.wait(LIMIT_S)
    connection.close()
    server.let.set()
    thread.join()
    assert (found, connection._idle) == ([{}], [])
