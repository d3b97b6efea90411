"""A server's application in this process, called without a socket; and a real one, in a process of its own."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dibs
from dibs.client import read_fields
from dibs.interfaces.http.app import Application, Settings
from dibs.interfaces.http.guard import names_of
from dibs.interfaces.page import mount as page
from dibs.operations.core.call import Call
from dibs.server.host import Host
from dibs.workspace import location

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Self

SOURCE = Path(dibs.__file__).parent.parent
PORT = 7_400
READY_S = 90


class Reply:
    """What came back."""

    def __init__(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def code(self) -> str:
        """The code of the error object, whose shape every refusal has."""
        found = self.json
        assert found["ok"] is False, found
        assert set(found) == {"ok", "error"}, found
        assert found["error"]["message"]
        return str(found["error"]["code"])


class Web:
    """A workspace and the application that serves it."""

    def __init__(self, folder: Path, **settings: Any) -> None:
        self.folder = folder
        if not (folder / ".dibs").exists():
            dibs.init(str(folder))
        self.host = Host(location.find(str(folder), None))
        names = names_of(["127.0.0.1", "localhost"], PORT)
        self.app = Application(
            self.host, Settings(names, frozenset(f"http://{name}" for name in names), **{"rate": 1e6, **settings})
        )
        self.app.add(page.routes(self.app))
        self.workspace = dibs.open(str(folder), agent="me")

    def close(self) -> None:
        self.app.feed.stop()
        self.app.pool.shutdown(cancel_futures=True)
        self.app.waiting.shutdown(cancel_futures=True)
        self.workspace.close()
        self.host.close()

    def token(self, **fields: Any) -> str:
        return str(self.made(**fields)["token"])

    def made(self, **fields: Any) -> Any:
        """A new credential, made by a person."""
        session = self.host.session()
        operation = session.operation("token new")
        values = read_fields.request(session, operation, fields, typed=True)
        return session.answer(operation, Call(session.config.policy, agent="me"), values)

    def call(
        self,
        method: str,
        path: str,
        body: bytes | str | dict[str, Any] | None = None,
        *,
        token: str = "",
        headers: Iterable[tuple[str, str]] = (),
        host: str = f"127.0.0.1:{PORT}",
        kind: str = "application/json",
    ) -> Reply:
        """One request, complete."""
        content = json.dumps(body).encode() if isinstance(body, dict) else (body or b"")
        content = content.encode() if isinstance(content, str) else content
        found = [("host", host)] if host else []
        found += [("authorization", f"Bearer {token}")] if token else []
        found += [("content-type", kind)] if kind and method == "POST" else []
        raw = [(name.lower().encode(), value.encode("latin-1")) for name, value in [*found, *headers]]
        plain, _, query = path.partition("?")
        scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method, "path": plain,
            "raw_path": plain.encode(), "query_string": query.encode(), "headers": raw, "scheme": "http",
            "root_path": "", "client": ("127.0.0.1", 1), "server": ("127.0.0.1", PORT),
        }  # fmt: skip
        return asyncio.run(self._exchange(scope, content))

    def post(self, path: str, body: Any = None, **given: Any) -> Reply:
        """An operation."""
        return self.call("POST", f"/v1/{path}", {} if body is None else body, **given)

    async def _exchange(self, scope: dict[str, Any], content: bytes) -> Reply:
        sent: list[dict[str, Any]] = []
        waiting = [{"type": "http.request", "body": content, "more_body": False}]

        async def receive() -> dict[str, Any]:
            if waiting:
                return waiting.pop()
            await asyncio.Event().wait()
            raise AssertionError

        async def send(message: Any) -> None:
            sent.append(message)

        await self.app.asgi(scope, receive, send)
        headers = {name.decode(): value.decode("latin-1") for name, value in sent[0]["headers"]}
        return Reply(sent[0]["status"], headers, b"".join(one.get("body", b"") for one in sent[1:]))


class Server:
    """`dibs serve` in a process of its own."""

    def __init__(self, folder: Path, *words: str, wait: bool = True, source: Path = SOURCE) -> None:
        """`source` is where its dibs comes from."""
        self.folder = folder
        self.opened: list[socket.socket] = []  # connections of the test, closed at its end
        self.process = subprocess.Popen(
            [sys.executable, "-m", "dibs", "serve", "--json", *words], cwd=folder, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(source)},
        )  # fmt: skip
        self.about: dict[str, Any] = self.line() if wait else {}

    def line(self) -> dict[str, Any]:
        """The line that it prints when it is ready, or when it cannot be."""
        assert self.process.stdout is not None
        text = self.process.stdout.readline()
        assert text, self.process.communicate()[1]
        found: dict[str, Any] = json.loads(text)
        return found

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for one in self.opened:
            one.close()
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()

    @property
    def port(self) -> int:
        return int(self.about["url"].rpartition(":")[2])

    @property
    def token(self) -> str:
        return Path(self.about["token_file"]).read_text(encoding="utf-8").strip()

    @property
    def head(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self.token}"}

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Send the signal and wait for the end."""
        self.process.send_signal(number)
        return self.process.wait(READY_S)
