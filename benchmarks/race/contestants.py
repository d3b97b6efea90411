"""Who takes part: how each is installed (in an environment of its own, never a dependency of dibs) and started.

Installed below `.clients/race/`. What does not install or start is left out of the table and named with the reason.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import IO

INSTALL_S = 1_800  # an installation: one of them brings a hundred packages
START_S = 180  # a server: one loads a hundred packages first
VERSIONS = {"coordinationhub": "0.8.0", "mcp-agent-mail": "0.1.0"}  # the newest on PyPI when the table was made


class Left(Exception):
    """A contestant that cannot take part here; the text says why."""


class Contestant:
    """One that needs nothing but this interpreter."""

    package = ""

    def __init__(self, name: str, title: str) -> None:
        self.name, self.title = name, title
        self.python = sys.executable
        self.version = ""

    def install(self, folder: Path) -> None:
        """Make its environment; `Left` if that fails."""

    def prepare(self, place: str) -> None:
        """What its users do once in a repository."""

    def start(self, home: str) -> str:  # noqa: ARG002 - a server's
        """Start its server, if it has one, with its files in a new folder; its URL."""
        return ""

    def stop(self) -> None:
        """End what `start` started."""


class Dibs(Contestant):
    """This one."""

    def install(self, folder: Path) -> None:  # noqa: ARG002 - it is there
        from dibs import __version__

        self.version = __version__

    def prepare(self, place: str) -> None:
        import dibs

        dibs.init(place)


class FromPyPI(Contestant):
    """A package in a virtual environment of its own."""

    package = ""

    def install(self, folder: Path) -> None:
        home = folder / self.name
        self.python = str(home / "bin" / "python")
        mark, self.version = home / "installed", VERSIONS[self.package]
        if mark.exists() and mark.read_text() == self.version:
            return
        wanted = f"{self.package}=={self.version}"
        for words in ([sys.executable, "-m", "venv", str(home)], [self.python, "-m", "pip", "install", "-q", wanted]):
            try:
                done = subprocess.run(words, capture_output=True, text=True, timeout=INSTALL_S, check=False)
            except subprocess.TimeoutExpired:
                message = f"{wanted} did not install within {INSTALL_S} s"
                raise Left(message) from None
            if done.returncode:
                said = (done.stderr or done.stdout).strip().splitlines() or [f"exit code {done.returncode}"]
                message = f"{wanted} does not install here: {said[-1]}"
                raise Left(message)
        mark.write_text(self.version)


class Hub(FromPyPI):
    """CoordinationHub: a library, no server."""

    package = "coordinationhub"


class Mail(FromPyPI):
    """mcp_agent_mail: one HTTP server for all agents, on loopback."""

    package = "mcp-agent-mail"
    _server: subprocess.Popen[bytes] | None = None
    _log: IO[bytes] | None = None

    def start(self, home: str) -> str:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        os.makedirs(home)
        settings = {
            "DATABASE_URL": f"sqlite+aiosqlite:///{home}/storage.sqlite3", "STORAGE_ROOT": f"{home}/mailbox",
            "LLM_ENABLED": "false", "LITELLM_LOCAL_MODEL_COST_MAP": "True", "HTTP_PORT": str(port),
            "MCP_TOOLS_MODE": "extended",  # reservations are not among its core tools
        }  # fmt: skip
        words = [self.python, "-m", "mcp_agent_mail.cli", "serve-http", "--host", "127.0.0.1", "--port", str(port)]
        self._log = open(f"{home}/server.log", "wb")  # noqa: SIM115 - `stop` closes it
        self._server = subprocess.Popen(
            words,
            cwd=home,
            env={**os.environ, **settings},
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
        )
        end = time.monotonic() + START_S
        while time.monotonic() < end and self._server.poll() is None:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/health/liveness", timeout=1).close()
            except urllib.error.HTTPError:
                pass
            except OSError:
                time.sleep(0.2)
                continue
            return f"http://127.0.0.1:{port}/mcp/"
        self.stop()
        message = f"its server did not start within {START_S} s: {Path(home, 'server.log').read_text()[-300:]}"
        raise Left(message)

    def stop(self) -> None:
        if self._server is not None:
            self._server.terminate()
            try:
                self._server.wait(10)
            except subprocess.TimeoutExpired:
                self._server.kill()
                self._server.wait()
            self._server = None
        if self._log is not None:
            self._log.close()
            self._log = None


def everyone() -> list[Contestant]:
    """All of them, in the order of the table."""
    return [
        Dibs("dibs", "dibs"),
        Mail("mcp_agent_mail", "mcp_agent_mail"),
        Hub("coordinationhub", "CoordinationHub"),
        Contestant("flock", "flock(2)"),
        Contestant("mkdir", "rules file: mkdir"),
        Contestant("none", "no coordination"),
    ]
