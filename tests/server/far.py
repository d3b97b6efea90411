"""A server for callers elsewhere, on loopback: the functions below `/link` behind plain HTTP, or TLS with a CA."""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit

from dibs.errors import DibsError, Invalid
from dibs.server import identity
from dibs.server.host import Host
from dibs.server.remote_endpoint import RemoteEndpoint
from dibs.workspace import location
from tests.scratch import Shell

if TYPE_CHECKING:
    from collections.abc import Iterator


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    server: Any
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        self._answer("GET")

    def do_POST(self) -> None:
        self._answer("POST")

    def _answer(self, method: str) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        status, answer = 200, {}
        try:
            parts = urlsplit(self.path)
            wanted, function = self.server.half.routes().get(parts.path, ("", None))
            if function is None or wanted != method:
                raise Invalid("no such route")
            caller = identity.of_token(self.server.half.host, self.headers.get("Authorization", "")[7:])
            given = json.loads(body) if method == "POST" else dict(parse_qsl(parts.query))
            self.server.fate(self, parts.path, given, "before")
            answer = function(caller.at((self.client_address, self.connection.getsockname())), given)
            self.server.fate(self, parts.path, given, "after")
        except DibsError as error:
            status, answer = error.status, error.as_json()
        except ConnectionAbortedError:  # the fate of this one
            self.close_connection = True
            return
        text = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_: Any) -> None:
        """Nothing is printed."""


class FarServer:
    """A running server, in a thread, and what its callers need."""

    def __init__(self, folder: Path, context: Any = None) -> None:
        self.host = Host(location.find(str(folder), None))
        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.http.half = RemoteEndpoint(self.host)  # type: ignore[attr-defined]
        self.http.fate = lambda *_: None  # type: ignore[attr-defined]
        if context is not None:
            self.http.socket = context.wrap_socket(self.http.socket, server_side=True)
        scheme = "https" if context is not None else "http"
        self.url = f"{scheme}://localhost:{self.http.server_address[1]}"
        self.thread = threading.Thread(target=self.http.serve_forever, args=(0.05,))
        self.thread.start()

    def stop(self) -> None:
        self.http.half.stop()  # type: ignore[attr-defined]
        self.http.shutdown()
        self.thread.join()
        self.http.server_close()
        self.host.close()


def clone(shell: Shell, copy: Path) -> Shell:
    """A clone of a workspace: all that is committed of it, without the folder of its machine."""
    subprocess.run(["git", "init", "-q", str(copy)], check=True)
    for one in shell.folder.iterdir():
        if one.name == ".dibs":
            shutil.copytree(one, copy / ".dibs", ignore=shutil.ignore_patterns("local"))
        elif one.is_file():
            shutil.copy(one, copy / one.name)
    return Shell(copy)


class Far:
    """Two clones: one whose machine has the store and the server, one that is elsewhere."""

    def __init__(self, shell: Shell, folder: Path) -> None:
        self.home = shell
        self.away = clone(shell, folder / "elsewhere")
        self.server = FarServer(shell.folder)
        self.use(self.token("--machine", "laptop"))

    def token(self, *words: str) -> str:
        made: str = self.home.json("token", "new", *words, exit=0)["token"]
        return made

    def use(self, token: str) -> None:
        """From now on the clone elsewhere calls with this token."""
        self.away.environment.update(DIBS_STORE=self.server.url, DIBS_TOKEN=token)

    def close(self) -> None:
        self.server.stop()


@contextlib.contextmanager
def far(shell: Shell, folder: Path) -> Iterator[Far]:
    """A server and a clone elsewhere."""
    made = Far(shell, folder)
    try:
        yield made
    finally:
        made.close()
