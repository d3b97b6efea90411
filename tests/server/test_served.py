"""The real `dibs serve` with its near and far callers: socket, TLS with a private authority, hooks, its own start."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dibs.client.server_link import SocketLink
from dibs.client.session import Session
from dibs.errors import Unavailable
from dibs.interfaces.serve import files as serve_files
from dibs.interfaces.serve import near
from dibs.workspace import auto_serve, serve_file
from tests.scratch import DIBS, Shell
from tests.server.far import clone
from tests.server.test_far import keys
from tests.stores.redis_server import free_port
from tests.waiting import LIMIT_S, until


class Served:
    """A workspace with a running `dibs serve`, and a clone elsewhere."""

    def __init__(self, shell: Shell, folder: Path, *words: str) -> None:
        self.home = shell
        # Not one of the kernel's: while no server runs here, it could give the port to another process.
        self.about = shell.json("serve", "--detach", "--port", str(free_port()), *words, exit=0)
        self.away = clone(shell, folder / "elsewhere")
        token = shell.json("token", "new", "--machine", "laptop", exit=0)["token"]
        self.away.environment.update(DIBS_STORE=self.about["url"], DIBS_TOKEN=token)

    def stop(self) -> None:
        self.home.json("serve", "--stop", exit=0)


@pytest.fixture
def served(shell: Shell, tmp_path: Path) -> Iterator[Served]:
    made = Served(shell, tmp_path)
    yield made
    made.stop()


@pytest.fixture
def secured(shell: Shell, tmp_path: Path) -> Iterator[Served]:
    """The same with TLS; the authority's certificate is in `ca.pem`."""
    made = Served(shell, tmp_path, *authority(tmp_path))
    yield made
    made.stop()


def authority(folder: Path) -> list[str]:
    """A private authority, and the words that make a server use a certificate of it."""
    name = ["-subj", "/CN=dibs"]
    days = ["-days", "2", "-nodes", "-newkey", "rsa:2048"]

    def run(*words: str) -> None:
        subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)

    signs = ["-addext", "keyUsage=critical,keyCertSign"]  # Python 3.13 asks for it, and for the issuer's key below
    run("req", "-x509", *days, "-keyout", "ca.key", "-out", "ca.pem", *name, *signs)
    run("req", *days[2:], "-keyout", "key.pem", "-out", "request.pem", *name)
    extensions = "subjectAltName=IP:127.0.0.1,DNS:localhost\nauthorityKeyIdentifier=keyid\n"
    (folder / "names").write_text(extensions, encoding="ascii")
    sign = ["x509", "-req", "-in", "request.pem", "-CA", "ca.pem", "-CAkey", "ca.key", "-days", "2"]
    run(*sign, "-CAcreateserial", "-extfile", "names", "-out", "cert.pem")
    return ["--tls-cert", str(folder / "cert.pem"), "--tls-key", str(folder / "key.pem")]


COMMANDS: list[tuple[str, ...]] = [
    ("claim", "a{n}.txt", "--as", "ann{n}"),
    ("claim", "held.txt", "--as", "ann{n}"),
    ("claim", "held.txt", "--wait", "300ms", "--as", "ann{n}"),
    ("claim", "../outside", "--as", "ann{n}"),
    ("status",),
    ("boot", "--as", "ann{n}"),
    ("send", "bob", "hello {n}", "--as", "ann{n}"),
    ("task", "add", "work {n}", "--as", "ann{n}"),
    ("task", "next", "--as", "ann{n}"),
    ("state", "get", "nothing{n}"),
    ("log", "--after", "0", "--limit", "3"),  # the first ones: a server may append some in between
    ("verify",),
    ("release", "a{n}.txt", "--as", "ann{n}"),
]


def test_near_and_far_commands_answer_and_exit_alike(secured: Served, tmp_path: Path) -> None:
    secured.away.environment["DIBS_CA_FILE"] = str(tmp_path / "ca.pem")
    secured.home.json("claim", "held.txt", "--as", "bob", exit=0)
    for words in COMMANDS:
        ways: list[Any] = []
        for number, way in enumerate((secured.home, secured.away)):
            done = way.run(*[word.format(n=number) for word in words], "--json")
            assert "Traceback" not in done.stderr, (words, done.stderr)
            ways.append((done.returncode, keys(json.loads(done.stdout))))
        assert ways[0] == ways[1], words


def test_a_certificate_of_an_unknown_authority_is_refused_with_what_to_do(secured: Served) -> None:
    found = secured.away.json("claim", "a.txt", "--as", "far", exit=2)
    assert "DIBS_CA_FILE" in found["error"]["message"]


def test_a_near_command_goes_through_the_socket_that_serve_names(served: Served) -> None:
    assert serve_file.socket_of(str(served.home.folder / ".dibs/local")) == served.about["socket"]
    session = Session(str(served.home.folder), None)
    link = session.link = SocketLink(session.place.local)
    resources = session.paths.expanded("a.txt", session.cwd)
    session.answer(session.operation("claim"), session.identify("ann"), {"resources": resources})
    assert link.group == 1
    assert session._store is None
    session.close()


@pytest.mark.slow
def test_a_server_ends_soon_although_a_far_caller_waits(served: Served) -> None:
    with far_waiter(served) as waiting:
        served.home.json("serve", "--stop", exit=0)
        out, _ = waiting.communicate(timeout=LIMIT_S)
        assert waiting.returncode == 2, out


def test_a_far_caller_that_waits_is_served_by_the_next_server(served: Served) -> None:
    with far_waiter(served) as waiting:
        served.home.json("serve", "--stop", exit=0)
        served.home.json("serve", "--detach", exit=0)
        served.home.json("release", "db:x", "--as", "bob", exit=0)
        out, _ = waiting.communicate(timeout=LIMIT_S)
        assert waiting.returncode == 0, out
        assert json.loads(out)["agent"] == "far"
    log = Path(served.home.folder, ".dibs/local/serve.log").read_text(encoding="utf-8")
    assert "Traceback" not in log, log


def test_a_far_caller_that_waits_keeps_asking_for_as_long_as_its_place_in_line_lasts(served: Served) -> None:
    port = int(served.about["url"].rpartition(":")[2])
    with far_waiter(served, "--timeout", "0.1s") as waiting:
        os.kill(served.home.json("serve", "--detach", exit=0)["pid"], signal.SIGKILL)
        until(lambda: serve_files.holder(f"{served.home.folder}/.dibs/local") == 0)
        with socket.create_server(("127.0.0.1", port)) as mute:
            mute.settimeout(LIMIT_S)
            for _ in range(10):  # many more attempts than the timeout of one request has room for
                mute.accept()[0].close()
        served.home.json("serve", "--detach", exit=0)
        served.home.json("release", "db:x", "--as", "bob", exit=0)
        out, _ = waiting.communicate(timeout=LIMIT_S)
        assert waiting.returncode == 0, out


def test_a_server_that_was_stopped_does_nothing_for_far_callers_who_have_given_up(served: Served) -> None:
    process = served.about["pid"]
    served.away.json("claim", "db:x", "--as", "far", exit=0)
    os.kill(process, signal.SIGSTOP)
    try:
        served.away.json("claim", "db:y", "--as", "far", "--timeout", "0.3s", exit=2)
    finally:
        os.kill(process, signal.SIGCONT)
    served.away.json("whoami", exit=0)  # asked after it, and answered
    assert [one["resources"] for one in served.home.json("status")["claims"]] == [["db:x"]]


@contextlib.contextmanager
def far_waiter(served: Served, *words: str) -> Iterator[subprocess.Popen[str]]:
    """A far caller that waits for what bob holds."""
    served.home.json("claim", "db:x", "--as", "bob", exit=0)
    with subprocess.Popen(
        [DIBS, "claim", "db:x", "--wait", "60s", "--as", "far", "--json", *words], cwd=served.away.folder,
        env=served.away.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as waiting:  # fmt: skip
        until(lambda: served.home.json("status")["waiting"])
        try:
            yield waiting
        finally:
            waiting.kill()


def test_a_far_hook_claims_refuses_and_fails_closed(served: Served) -> None:
    away, home = served.away, served.home
    (away.folder / "a.txt").write_text("a\n", encoding="utf-8")
    (away.folder / "b.txt").write_text("b\n", encoding="utf-8")
    home.json("claim", "b.txt", "--as", "bob", exit=0)

    def hook(name: str, **more: Any) -> subprocess.CompletedProcess[bytes]:
        said = {"session_id": "far-session", "hook_event_name": name, "cwd": str(away.folder), **more}
        return subprocess.run(
            [DIBS, "hook", "claude"], cwd=away.folder, env=away.environment, input=json.dumps(said).encode(),
            capture_output=True, timeout=60, check=False,
        )  # fmt: skip

    def edit(name: str) -> subprocess.CompletedProcess[bytes]:
        given = {"file_path": str(away.folder / name), "old_string": name[0], "new_string": "x"}
        return hook("PreToolUse", tool_name="Edit", tool_input=given, tool_use_id=f"call-{name}")

    assert hook("SessionStart", source="startup").returncode == 0
    allowed = edit("a.txt")
    assert allowed.returncode == 0, allowed
    assert b"deny" not in allowed.stdout
    held = home.json("status")["claims"]
    assert {one["agent"] for one in held if one["resources"] == ["a.txt"]} == {"far-session"}
    refused = edit("b.txt")
    assert refused.returncode == 2 or b"deny" in refused.stdout
    assert b"bob" in refused.stdout + refused.stderr
    home.json("serve", "--stop", exit=0)
    closed = edit("c.txt")
    assert closed.returncode == 2 or b"deny" in closed.stdout, closed
    assert b"Traceback" not in closed.stderr


def test_the_first_boot_starts_a_server_that_ends_when_nobody_asks(shell: Shell) -> None:
    config = shell.folder / ".dibs/config.toml"
    text = config.read_text(encoding="utf-8")
    config.write_text(f'{text}\n[server]\nstart = "auto"\nidle = "2s"\n', encoding="utf-8")
    local = str(shell.folder / ".dibs/local")
    shell.json("boot", "--as", "ann", exit=0)
    until(lambda: serve_file.socket_of(local))
    pid = json.loads(Path(local, "serve.json").read_text(encoding="utf-8"))["pid"]
    shell.json("boot", "--as", "bob", exit=0)
    assert json.loads(Path(local, "serve.json").read_text(encoding="utf-8"))["pid"] == pid, "one is enough"
    until(lambda: not auto_serve.is_served(local))
    assert not Path(local, "serve.json").exists()


def test_no_server_is_started_unless_the_config_says_so(shell: Shell) -> None:
    shell.json("boot", "--as", "ann", exit=0)
    assert not (shell.folder / ".dibs/local/serve.lock").exists()


def test_a_server_that_is_killed_leaves_a_workspace_that_works_at_once(served: Served) -> None:
    os.kill(served.about["pid"], signal.SIGKILL)
    served.home.json("claim", "a.txt", "--as", "ann", exit=0)
    assert served.home.json("serve", "--detach", exit=0)["pid"] != served.about["pid"]
    served.home.json("verify", exit=0)


def test_a_workspace_whose_path_is_too_long_for_a_socket_has_it_in_a_private_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / ("y" * 100)))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / ("z" * 100)))
    monkeypatch.setattr(near, "TEMPORARY", str(tmp_path))
    monkeypatch.setattr(near, "MAX_SOCKET_PATH", len(str(tmp_path)) + 60)
    path = near.socket_path(str(tmp_path / ("x" * 100)))
    folder = Path(path).parent
    assert folder.parent == tmp_path
    assert folder.stat().st_mode & 0o077 == 0
    assert near.socket_path(str(tmp_path / ("w" * 100))) != path
    folder.chmod(0o755)
    with pytest.raises(Unavailable):
        near.socket_path(str(tmp_path / ("x" * 100)))
