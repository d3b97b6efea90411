"""The serving process: one a workspace, ready when it says so, gone when it is told, harmless when it is killed."""

from __future__ import annotations

import http.client
import json
import os
import shutil
import signal
import socket
import ssl
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
import uvicorn

import dibs
from dibs.interfaces.http import wire
from dibs.interfaces.http.operations import PATHS
from dibs.interfaces.mcp import mount
from dibs.interfaces.serve import files, process
from dibs.workspace.config_server import read as settings_of
from tests.interfaces.http.web import PORT, SOURCE, Server, Web
from tests.scratch import Shell
from tests.stores.redis_server import free_port
from tests.waiting import LIMIT_S, until


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    dibs.init(str(tmp_path))
    return tmp_path


def ask(server: Server, path: str = "/healthz", body: bytes | None = None) -> tuple[int, Any]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=LIMIT_S)
    try:
        headers = {**server.head, "content-type": "application/json"}
        connection.request("GET" if body is None else "POST", path, body, headers)
        found = connection.getresponse()
        return found.status, json.loads(found.read())
    finally:
        connection.close()


def test_it_says_where_it_is_keeps_its_files_to_its_owner_and_takes_them_away_at_the_end(folder: Path) -> None:
    local = folder / ".dibs" / "local"
    with Server(folder) as server:
        about = json.loads((local / "serve.json").read_text())
        assert set(about) == {"pid", "start", "url", "socket", "version", "build", "token_file"}
        assert (about["pid"], about["url"]) == (server.process.pid, server.about["url"])
        for name in ("serve.json", "serve.token", "serve.lock", "serve.log"):
            assert stat.S_IMODE((local / name).stat().st_mode) == 0o600, name
        assert ask(server) == (200, {"ok": True})
        assert ask(server, "/v1/claim", b'{"resources": ["x"]}')[0] == 200
        assert server.stop() == 0
        assert not (local / "serve.json").exists()
    assert (local / "serve.log").read_text() == ""


def test_a_copy_of_a_served_workspace_asks_its_own_store_and_doctor_says_that_it_is_a_copy(
    folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    copy = tmp_path_factory.mktemp("copy") / "workspace"
    with Server(folder):
        shutil.copytree(
            folder, copy, symlinks=True, ignore=lambda _, names: [one for one in names if one.endswith(".sock")]
        )
        there, here = Shell(folder), Shell(copy)
        assert here.json("claim", "b.py", "--as", "ann", exit=0)["resources"] == ["b.py"]
        assert here.json("task", "add", "t", "--as", "ann", exit=0)["ok"]
        with dibs.open(str(copy), agent="bob") as workspace:
            assert workspace.claim("c.py").token
        assert there.json("status", exit=0)["claims"] == []
        found = [one["message"] for one in here.json("doctor")["checks"] if one["check"] == "serve"]
        assert len(found) == 1
        assert "is a copy" in found[0]
        assert "serve" not in [one["check"] for one in there.json("doctor")["checks"] if not one["ok"]]


def test_the_next_start_has_a_new_credential_and_the_old_one_is_revoked(folder: Path) -> None:
    with Server(folder, "--port", str(free_port())) as first:
        before, port = first.token, first.port
        first.stop()
    with Server(folder) as second:
        assert second.token != before
        assert second.port == port, "its callers find it where it was"
        assert ask(second, "/readyz")[0] == 200
        connection = http.client.HTTPConnection("127.0.0.1", second.port, timeout=LIMIT_S)
        connection.request("GET", "/readyz", headers={"authorization": f"Bearer {before}"})
        assert json.loads(connection.getresponse().read())["error"]["why"] == "revoked"
        connection.close()


def test_of_two_that_start_at_once_one_serves_and_the_other_names_it(folder: Path) -> None:
    with Server(folder, wait=False) as one, Server(folder, wait=False) as two:
        said = [one.line(), two.line()]
        served, refused = sorted(said, key=lambda line: not line["ok"])
        assert (served["ok"], refused["ok"]) == (True, False)
        assert refused["error"]["code"] == "conflict"
        assert refused["error"]["url"] == served["url"]
        assert (one if said[0] is refused else two).process.wait(LIMIT_S) == 1


def test_detach_returns_when_it_answers_a_second_one_names_the_first_and_stop_waits_for_its_end(folder: Path) -> None:
    shell = Shell(folder)
    try:
        first = shell.json("serve", "--detach", exit=0)
        second = shell.json("serve", "--detach", exit=0)
        assert second == first
        with socket.create_connection(("127.0.0.1", int(first["url"].rpartition(":")[2])), 5):
            pass
        assert "serve" not in {check["check"] for check in shell.json("doctor")["checks"]}
        about = folder / ".dibs/local/serve.json"
        about.write_text(json.dumps({**json.loads(about.read_text()), "build": "before an upgrade"}))
        third = shell.run("serve", "--detach", "--json")
        assert (json.loads(third.stdout), third.returncode) == (first, 0)
        assert f"process {first['pid']} serves this workspace with another dibs" in third.stderr
        checks = {check["check"]: check for check in shell.json("doctor")["checks"]}
        assert (checks["serve"]["ok"], checks["serve"]["severity"]) == (False, "warning")
    finally:
        stopped = shell.json("serve", "--stop", exit=0)
    assert stopped["stopped"] == first["pid"]
    assert not files.holder(str(folder / ".dibs/local"))
    assert shell.json("serve", "--stop", exit=0)["stopped"] == 0


def test_detach_says_that_a_server_is_stopped_and_that_one_is_not_as_this_call_wants_it(folder: Path) -> None:
    shell = Shell(folder)
    first = shell.json("serve", "--detach", exit=0)
    port = first["url"].rpartition(":")[2]
    try:
        assert shell.run("serve", "--detach", "--port", port).stderr == ""
        for words in (("--port", "1"), ("--tls-cert", "cert.pem")):
            other = shell.run("serve", "--detach", "--json", *words)
            assert (json.loads(other.stdout), other.returncode) == (first, 0)
            assert f"already, at {first['url']}: the words of this call were not used" in other.stderr
        os.kill(first["pid"], signal.SIGSTOP)
        error = shell.json("serve", "--detach", exit=2)["error"]
        assert error["stopped"]
        assert f"kill -CONT {first['pid']}" in error["message"]
    finally:
        os.kill(first["pid"], signal.SIGCONT)
        shell.json("serve", "--stop", exit=0)


def test_a_caller_that_sends_a_huge_body_before_it_reads_gets_the_refusal_and_goes_on(folder: Path) -> None:
    with Server(folder) as server:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=LIMIT_S)
        for path in ("/v1/claim", "/link/run", "/mcp"):
            connection.request("POST", path, b"x" * 20_000_000, {**server.head, "content-type": "application/json"})
            reply = connection.getresponse()
            assert (reply.status, json.loads(reply.read())["error"]["code"]) == (413, "invalid"), path
        connection.request("GET", "/healthz")
        assert connection.getresponse().status == 200
        connection.close()


def test_what_a_killed_server_answered_is_kept_and_the_next_one_starts_at_once(folder: Path) -> None:
    with Server(folder) as server:
        answered = ask(server, "/v1/claim", b'{"resources": ["x"], "as": "bob"}')[1]
        server.stop(signal.SIGKILL)
    assert (folder / ".dibs/local/serve.json").exists()
    assert files.about(str(folder / ".dibs/local")) is None
    with Server(folder) as server:
        shown = ask(server, "/v1/status", b"{}")[1]["claims"]
        assert [(one["agent"], one["token"]) for one in shown] == [("bob", answered["token"])]
        assert server.stop(signal.SIGINT) == 0


def test_an_occupied_port_and_a_wrong_one_are_said_in_a_sentence(folder: Path) -> None:
    shell = Shell(folder)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        for words in (("--port", str(port)), ("--port", str(port), "--detach")):
            refused = shell.json("serve", *words, exit=2)
            assert str(port) in refused["error"]["message"]
    for port_ in ("99999", "x", "-1"):
        assert shell.json("serve", f"--port={port_}", exit=64)["error"]["field"] == "port"
    assert not files.holder(str(folder / ".dibs/local"))


@pytest.mark.parametrize("name", ["serve.log", "serve.token", "serve.json"])
def test_a_file_that_cannot_be_written_is_said_in_a_sentence_and_leaves_nothing(folder: Path, name: str) -> None:
    local = folder / ".dibs" / "local"
    (local / name).mkdir()
    started = subprocess.run(
        [sys.executable, "-m", "dibs", "serve", "--json"], cwd=folder, capture_output=True, text=True, check=False,
        timeout=LIMIT_S,
    )  # fmt: skip
    refused = json.loads(started.stdout.splitlines()[0])["error"]
    assert (started.returncode, refused["code"], started.stderr) == (2, "unavailable", "")
    assert f"{name} cannot be" in refused["message"]
    assert [one.name for one in local.iterdir() if one.name.startswith(f"{name}.")] == []
    (local / name).rmdir()
    with Server(folder) as server:
        assert ask(server) == (200, {"ok": True})


def test_a_public_address_needs_tls(folder: Path) -> None:
    shell = Shell(folder)
    # The first one is nobody's, so that a server which did not refuse it ends all the same.
    for host in ("192.0.2.1", "0.0.0.0", "::", "example.com"):  # noqa: S104 - that it is refused is the point
        refused = shell.json("serve", "--host", host, exit=64)
        assert "--tls-cert" in refused["error"]["message"]
    assert shell.json("serve", "--tls-cert", "nowhere.pem", exit=64)["error"]["field"] == "tls-cert"
    assert shell.json("serve", "--tls-key", "nowhere.pem", exit=64)["error"]["field"] == "tls-cert"


def test_with_tls_it_is_reached_by_https_and_by_nothing_else(folder: Path) -> None:
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "key.pem", "-out", "cert.pem",
         "-days", "1", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"],
        cwd=folder, check=True, capture_output=True,
    )  # fmt: skip
    with Server(folder, "--host", "0.0.0.0", "--tls-cert", "cert.pem", "--tls-key", "key.pem") as server:  # noqa: S104
        assert server.about["url"].startswith("https://localhost:")
        context = ssl.create_default_context(cafile=str(folder / "cert.pem"))
        connection = http.client.HTTPSConnection("localhost", server.port, timeout=LIMIT_S, context=context)
        connection.request("GET", "/readyz", headers=server.head)
        assert connection.getresponse().status == 200
        connection.close()
        with socket.create_connection(("127.0.0.1", server.port), 10) as plain:
            plain.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert b"200" not in plain.recv(1_000)
    below = folder / "below"
    below.mkdir()
    shell = Shell(below)
    detached = shell.json("serve", "--detach", "--tls-cert", "../cert.pem", "--tls-key", "../key.pem", exit=0)
    assert detached["url"].startswith("https://")
    shell.json("serve", "--stop", exit=0)
    locked = ["openssl", "rsa", "-aes128", "-passout", "pass:x", "-in", "key.pem", "-out", "locked.pem"]
    subprocess.run(locked, cwd=folder, check=True, capture_output=True)
    refused = shell.json("serve", "--tls-cert", "../cert.pem", "--tls-key", "../locked.pem", exit=64)
    assert "passphrase" in refused["error"]["message"]
    refused = shell.json("serve", "--tls-cert", "../cert.pem", exit=64)
    assert "--tls-key" in refused["error"]["message"]


def test_without_its_packages_it_says_what_to_install(folder: Path) -> None:
    code = (
        "import sys; sys.modules['uvicorn'] = None; sys.argv = ['dibs', 'serve', '--json']\n"
        "from dibs.interfaces.cli.main import entry; entry()"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "FOLDER[all]" in json.loads(done.stdout)["error"]["message"]


def test_a_wrong_setting_is_said_with_its_name() -> None:
    assert settings_of({}, "c")["port"] == 0
    for table in ({"port": 70_000}, {"port": "x"}, {"start": "maybe"}, {"idle": "soon"}, {"names": "x"}, {"nope": 1},
                  {"host": ""}, {"rate": 0}, {"body": True}):  # fmt: skip
        with pytest.raises(dibs.errors.Invalid, match=f"server.{next(iter(table))}|server.nope"):
            settings_of({"server": table}, "c")


# --- connections


class Running:
    """The application behind a socket, in a thread of this process."""

    def __init__(self, web: Web, connections: int = 100) -> None:
        self.socket = socket.socket()
        self.socket.bind(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        web.app.asgi._names |= {f"127.0.0.1:{self.port}"}
        self.token = web.token(person="me")
        config = process._config(web.app, process.Options(), connections)
        self.server = uvicorn.Server(config)
        self.thread = threading.Thread(target=lambda: self.server.run([self.socket]))
        self.thread.start()
        until(lambda: self.server.started, "the server")

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), LIMIT_S)

    def close(self) -> None:
        self.server.should_exit = True
        self.thread.join(LIMIT_S)
        self.socket.close()


def test_who_has_sent_its_next_request_already_and_goes_leaves_its_stream_and_its_queue(tmp_path: Path) -> None:
    web = Web(tmp_path)
    running = Running(web)
    token = web.token(agent="ann")
    web.workspace.claim("x", auto_renew=False)
    head = f"Host: 127.0.0.1:{running.port}\r\nAuthorization: Bearer {token}\r\n"
    body = json.dumps({"resources": ["x"], "wait": 300})
    asked = (
        f"POST /v1/claim HTTP/1.1\r\n{head}Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}"
    )
    following = f"GET /healthz HTTP/1.1\r\n{head}\r\n"
    with running.connect() as listener, running.connect() as waiter:
        listener.sendall(f"GET /events HTTP/1.1\r\n{head}\r\n{following}".encode())
        waiter.sendall(f"{asked}{following}".encode())
        until(lambda: web.app.events.listeners and web.workspace.status()["waiting"])
    until(lambda: not web.app.events.listeners and not web.workspace.status()["waiting"])
    running.close()
    web.close()


@pytest.fixture
def running(tmp_path: Path) -> Any:
    web = Web(tmp_path)
    made = Running(web, connections=5)
    yield made
    made.close()
    web.close()


def answered(connection: socket.socket) -> bytes:
    """All that comes until the end."""
    text = b""
    while got := connection.recv(65_536):
        text += got
    return text


@pytest.mark.parametrize("sent", [b"", b"G", b"GET / HTTP/1.1\r\nHo", b"POST / HTTP/1.1\r\nHost: x\r\nX-A: "])
def test_a_caller_that_sends_its_headers_slowly_is_cut_off(
    running: Running, sent: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wire, "HEADERS_TIMEOUT_S", 0.4)
    with running.connect() as connection:
        connection.sendall(sent)
        try:
            assert answered(connection) == b""
        except ConnectionResetError:
            pass


def test_a_slow_second_request_on_a_connection_is_cut_off_too(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running.connect() as connection:
        connection.sendall(f"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:{running.port}\r\n\r\n".encode())
        assert connection.recv(10_000).startswith(b"HTTP/1.1 200")
        monkeypatch.setattr(wire, "HEADERS_TIMEOUT_S", 0.4)
        connection.sendall(b"GET /hea")
        try:
            assert b"HTTP/1.1 200" not in answered(connection)
        except ConnectionResetError:
            pass


def test_what_is_no_http_and_too_many_headers_get_the_error_object(running: Running) -> None:
    many = b"GET / HTTP/1.1\r\n" + b"".join(b"x-%d: %s\r\n" % (number, b"y" * 1_000) for number in range(60)) + b"\r\n"
    for sent, status in ((b"nonsense\r\n\r\n", b"400"), (b"\x16\x03\x01\x02\x00\x01", b"400"), (many, b"431")):
        with running.connect() as connection:
            connection.sendall(sent)
            head, _, body = answered(connection).partition(b"\r\n\r\n")
        assert head.split()[1] == status
        assert json.loads(body)["error"]["code"] == "invalid"


@pytest.mark.parametrize("method", ["GET", "POST", "OPTIONS"])
def test_what_names_no_path_gets_the_error_object(running: Running, method: str) -> None:
    head = f"{method} * HTTP/1.1\r\nHost: 127.0.0.1:{running.port}\r\nConnection: close\r\n"
    with running.connect() as connection:
        connection.sendall(f"{head}Authorization: Bearer {running.token}\r\nContent-Length: 0\r\n\r\n".encode())
        text, _, body = answered(connection).partition(b"\r\n\r\n")
    assert (text.split()[1], json.loads(body)["error"]["code"]) == (b"404", "not_found")


@pytest.mark.parametrize(("host", "status"), [("evil.example", b"421"), ("127.0.0.1", b"200")])
def test_the_host_in_the_address_itself_counts_whatever_the_header_says(
    running: Running, host: str, status: bytes
) -> None:
    other = "evil.example" if host == "127.0.0.1" else f"127.0.0.1:{running.port}"
    address = f"http://{host}:{running.port}/healthz"
    with running.connect() as connection:
        connection.sendall(f"GET {address} HTTP/1.1\r\nHost: {other}\r\nConnection: close\r\n\r\n".encode())
        assert answered(connection).split()[1] == status


def test_connections_above_the_limit_are_refused_with_the_error_object(running: Running) -> None:
    head = f"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:{running.port}\r\n\r\n".encode()
    kept = [running.connect() for _ in range(5)]
    for connection in kept:
        connection.sendall(head)
        assert connection.recv(10_000).startswith(b"HTTP/1.1 200")
    with running.connect() as late:
        text, _, body = answered(late).partition(b"\r\n\r\n")
    assert text.split()[1] == b"503"
    assert json.loads(body)["error"]["code"] == "busy"
    for connection in kept:
        connection.close()


LISTEN = {
    "jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen",
    "params": {
        "notifications": {"resourceSubscriptions": ["dibs://status"]},
        "_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
                  "io.modelcontextprotocol/clientCapabilities": {}},
    },
}  # fmt: skip


def test_a_stream_of_tools_ends_with_the_credential_that_it_came_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mount, "LOOK_S", 0.2)
    web = Web(tmp_path)
    web.app.add(mount.routes(web.app))
    made, running = web.made(agent="ann"), Running(web)
    body = json.dumps(LISTEN).encode()
    lines = [
        "POST /mcp HTTP/1.1", f"Host: 127.0.0.1:{running.port}", f"Authorization: Bearer {made['token']}",
        "Accept: application/json, text/event-stream", "Content-Type: application/json",
        "Mcp-Protocol-Version: 2026-07-28", "Mcp-Method: subscriptions/listen", f"Content-Length: {len(body)}",
    ]  # fmt: skip
    with running.connect() as connection:
        connection.sendall("\r\n".join([*lines, "", ""]).encode() + body)
        text = b""
        while b"resourceSubscriptions" not in text:
            text += connection.recv(65_536)
        web.workspace.claim("x", auto_renew=False)
        while b"resources/updated" not in text:
            text += connection.recv(65_536)
        web.workspace.token_revoke(made["credential"]["id"])
        while not text.endswith(b"\r\n0\r\n\r\n"):  # the last piece
            text += connection.recv(65_536)
    running.close()
    web.close()


def test_a_websocket_is_not_spoken(running: Running) -> None:
    with running.connect() as connection:
        connection.sendall(
            f"GET /events HTTP/1.1\r\nHost: 127.0.0.1:{running.port}\r\nConnection: Upgrade, close\r\n"
            "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: x\r\n\r\n".encode()
        )
        assert connection.recv(10_000).split()[1] == b"401"
    assert PORT


@pytest.mark.slow
def test_an_upgrade_of_dibs_under_a_running_server_changes_nothing_that_it_answers(folder: Path) -> None:
    source = folder / "site-packages"
    shutil.copytree(SOURCE / "dibs", source / "dibs", ignore=shutil.ignore_patterns("__pycache__"))
    part = source / "dibs" / "interfaces" / "serve" / "whole_code.py"
    later = "self._timer.start()"
    assert later in part.read_text()
    part.write_text(part.read_text().replace(later, "load()"))
    with Server(folder, source=source) as server:
        shutil.rmtree(source)
        found = {path: ask(server, f"/v1/{path}", b"{}") for path in PATHS}
    failed = {path: said for path, (status, said) in found.items() if status >= 500}
    assert failed == {}, (folder / ".dibs" / "local" / "serve.log").read_text()
    assert {status for status, _ in found.values()} >= {200, 422}
