"""A scripted model behind a real client: an HTTP server on loopback that speaks the four model APIs.

It runs in the test's own process, so a test reads what the model was told as Python values and signals as it likes.
Every request is also appended to a file, for whoever looks into a failed run.
"""

from __future__ import annotations

import gzip
import json
import sys
import threading
import time
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, cast

from tests.e2e.clients import dialects
from tests.e2e.clients.scripts import Conversation, Heard, Say, Script, Turn, marked

if TYPE_CHECKING:
    from pathlib import Path

PATIENCE = 60.0  # seconds that a turn waits for its signals: a client that starts cold on a busy machine takes ten
SECRETS = {"authorization", "x-api-key", "x-goog-api-key"}


@dataclass(frozen=True)
class Request:
    """One request of a client to its model."""

    path: str
    scenario: str
    step: int
    heard: Conversation
    body: dict[str, Any]


class Stub:
    """The server, its scripts and its log."""

    def __init__(self, log: Path) -> None:
        self.requests: list[Request] = []
        self.faults: list[str] = []  # what went wrong inside; a test is not over before it has looked here
        self._log = log
        self._scripts: dict[str, Script] = {}
        self._signalled: set[str] = set()
        self._changed = threading.Condition()
        self._closing = False
        self._server = _Server(self)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """Where the clients find it."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def close(self) -> None:
        """Let go of whoever still waits, and stop."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    # --- for tests

    def play(self, *scripts: Script) -> None:
        """Know these scripts from now on."""
        for script in scripts:
            assert script.name not in self._scripts, f"two scripts are named {script.name}"
            self._scripts[script.name] = script

    def signal(self, name: str) -> None:
        """Let the turns go on that wait for this name."""
        with self._changed:
            self._signalled.add(name)
            self._changed.notify_all()

    def wait(self, *names: str, seconds: float = PATIENCE) -> None:
        """Wait until all of these were signalled."""
        missing = self._missing(names, seconds)
        assert not missing, f"not signalled within {seconds} s: {missing}; signalled: {sorted(self._signalled)}"

    def told(self, scenario: str) -> list[Heard]:
        """All that the model was told in the requests of that scenario, in order and each once."""
        pieces = [piece for request in self._of(scenario) for piece in request.heard.pieces if piece.role != "model"]
        return list(dict.fromkeys(pieces))

    def saw(self, scenario: str) -> str:
        """The same as one text."""
        return "\n".join(piece.text for piece in self.told(scenario))

    def briefings(self, scenario: str) -> list[str]:
        """What the model was told in that scenario beside the answers of its tools; some clients add to the prompt."""
        return [piece.text for piece in self.told(scenario) if piece.role != "result"]

    def results(self, scenario: str) -> list[str]:
        """What the tools answered in that scenario, in order."""
        asked = self._of(scenario)
        assert asked, f"nobody played {scenario}; played: {sorted({request.scenario for request in self.requests})}"
        return asked[-1].heard.results()

    def _of(self, scenario: str) -> list[Request]:
        return [request for request in self.requests if request.scenario == scenario]

    # --- for the server

    def note(self, method: str, path: str, headers: dict[str, str], body: dict[str, Any]) -> None:
        """Write a request down for people."""
        kept = {key.lower(): value for key, value in headers.items() if key.lower() not in SECRETS}
        line = json.dumps({"at": time.time(), "method": method, "path": path, "headers": kept, "body": body})
        with self._changed, self._log.open("a", encoding="utf-8") as file:
            file.write(line + "\n")

    def answer(self, path: str, heard: Conversation, body: dict[str, Any]) -> Turn:
        """The model's next turn in this conversation, when its time has come."""
        request = Request(path, heard.scenario, heard.step, heard, body)
        with self._changed:
            self.requests.append(request)
        script = self._scripts.get(request.scenario)
        if script is None:
            return self._fault(f"a prompt names no known script: {request.scenario or 'none'}")
        over = script.signal_of(request.step - 1)
        if over:
            self.signal(over)
        try:
            turn = script.at(request.step, heard)
        except AssertionError as error:
            return self._fault(f"{script.name}, turn {request.step}: {error}")
        missing = self._missing(turn.after, PATIENCE)
        if missing:
            return self._fault(f"{script.name}, turn {request.step}: nobody signalled {', '.join(missing)}")
        if turn.thinks:
            with self._changed:
                self._changed.wait_for(lambda: self._closing, turn.thinks)
        return turn

    def _missing(self, names: tuple[str, ...], seconds: float) -> list[str]:
        """Those of the names that were not signalled, after waiting for them that long."""
        with self._changed:
            self._changed.wait_for(lambda: self._closing or self._signalled.issuperset(names), seconds)
            return [name for name in names if name not in self._signalled]

    def _fault(self, text: str) -> Turn:
        if not self._closing:
            self.faults.append(text)
        return Turn((Say(f"stub: {text}"),))


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False  # a client that was killed may leave its connection open

    def __init__(self, stub: Stub) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.stub = stub

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that was killed hangs up in the middle; all else is a fault."""
        error = sys.exception()
        if not isinstance(error, ConnectionError):
            self.stub.faults.append(f"{client_address}: {error!r}")
        del request


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    @property
    def stub(self) -> Stub:
        return cast("_Server", self.server).stub

    def log_message(self, format: str, *args: Any) -> None:
        """The stub keeps its own log."""

    def do_HEAD(self) -> None:
        self._note({})
        self._send({})

    def do_GET(self) -> None:
        self._note({})
        if self._path().endswith("/models"):
            model = {"id": "scripted", "object": "model", "type": "model", "display_name": "scripted"}
            self._send({"object": "list", "data": [model], "has_more": False, "models": []})
        else:
            self._send({})

    def do_POST(self) -> None:
        body = self._body()
        self._note(body)
        path = self._path()
        dialect = dialects.of(path)
        if dialect is None:
            counted = {"input_tokens": 10, "totalTokens": 10}
            self._send(counted if path.endswith(("/count_tokens", ":countTokens")) else {})
            return
        aside, heard = dialect.aside(body), dialect.read(body)
        if aside == dialects.SUMMARY:  # the script goes on under another name: what was said before counts no more
            aside = f"<summary>{aside} {marked(f'{heard.scenario}-compacted')}</summary>"
        turn = Turn((Say(aside),)) if aside else self.stub.answer(path, heard, body)
        if body.get("stream") or path.endswith(":streamGenerateContent"):
            self._stream(dialect, body, turn)
        else:
            self._send(dialect.whole(body, turn))

    def _path(self) -> str:
        return self.path.partition("?")[0]

    def _note(self, body: dict[str, Any]) -> None:
        self.stub.note(self.command, self.path, dict(self.headers.items()), body)

    def _body(self) -> dict[str, Any]:
        length = self.headers.get("content-length")
        raw = self.rfile.read(int(length)) if length else self._chunks()
        encoding = self.headers.get("content-encoding", "identity")
        if encoding == "gzip":
            raw = gzip.decompress(raw)
        elif encoding != "identity":
            self.stub.faults.append(f"{self.path} came as {encoding}, which is not read here")
            return {}
        found = json.loads(raw or b"{}")
        return found if isinstance(found, dict) else {"body": found}

    def _chunks(self) -> bytes:
        raw = b""
        if self.headers.get("transfer-encoding", "").lower() == "chunked":
            size = -1
            while size:
                size = int(self.rfile.readline().partition(b";")[0], 16)
                raw += self.rfile.read(size)
                self.rfile.readline()
        return raw

    def _send(self, found: dict[str, Any]) -> None:
        raw = json.dumps(found).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(raw)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(raw)

    def _stream(self, dialect: dialects.Dialect, body: dict[str, Any], turn: Turn) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("cache-control", "no-cache")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True
        for name, data in dialect.stream(body, turn):
            event = f"event: {name}\n" if name else ""
            text = data if isinstance(data, str) else json.dumps(data)
            self.wfile.write(f"{event}data: {text}\n\n".encode())
            self.wfile.flush()
