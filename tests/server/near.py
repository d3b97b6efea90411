"""A server with a socket for near callers, as a process of its own that can be told to die or to stop at a point.

    python -m tests.server.near FOLDER [POINT COUNT [SIGNAL]]

POINT is `before` (requests are read, nothing is decided) or `after` (decided and durable, nobody has an answer): there
the process sends itself SIGNAL (KILL or STOP), at the COUNT-th group of requests.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dibs
from dibs.server.host import Host
from dibs.server.socket_port import SocketPort
from dibs.workspace import location, serve_file
from tests.waiting import LIMIT_S

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent.parent


class FatefulPort(SocketPort):
    """A port that is struck at a point."""

    point, count, fate = "", 0, "KILL"

    def _strike(self, point: str) -> None:
        if point == self.point:
            self.count -= 1
            if self.count == 0:
                # to this very thread: else it may go on for a moment while another one takes the signal
                signal.pthread_kill(threading.get_ident(), getattr(signal, f"SIG{self.fate}"))

    def _decide(self) -> None:
        self._strike("before")
        super()._decide()

    def _answer(self, *given: Any) -> None:
        self._strike("after")
        super()._answer(*given)


def announce(local: str, path: str, build: str) -> None:
    """Write `serve.json`."""
    said = {"pid": os.getpid(), "socket": path, "version": dibs.__version__, "build": build}
    making = Path(f"{local}/serve.json.{os.getpid()}")
    making.write_text(json.dumps(said) + "\n", encoding="utf-8")
    making.replace(f"{local}/serve.json")


def main() -> None:
    place = location.find(sys.argv[1], None)
    host = Host(place)
    port = FatefulPort(host, f"{place.local}/serve.sock")
    if len(sys.argv) > 2:
        port.point, port.count = sys.argv[2], int(sys.argv[3])
        port.fate = sys.argv[4] if len(sys.argv) > 4 else "KILL"
    port.start()
    announce(place.local, port.path, os.environ.get("DIBS_TEST_BUILD") or serve_file.build())
    try:
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
        print("ready", flush=True)
        sys.stdin.read()  # until whoever started it closes the pipe, or ends
    finally:
        port.stop()
        host.close()


class Server:
    """A running server process."""

    def __init__(self, folder: Path, *words: str, **environment: str) -> None:
        self.folder = folder
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.server.near", str(folder), *words],
            cwd=ROOT, env={**os.environ, **environment}, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == b"ready\n"

    @property
    def is_stopped(self) -> bool:
        stat = Path(f"/proc/{self.process.pid}/stat").read_text(encoding="utf-8")
        return stat[stat.rindex(")") + 2] == "T"

    def tell(self, number: int) -> None:
        self.process.send_signal(number)

    def end(self) -> None:
        """End it, however it is."""
        if self.process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                self.process.send_signal(signal.SIGCONT)
            self.process.terminate()
            try:
                self.process.wait(LIMIT_S)
            except subprocess.TimeoutExpired:
                self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe is not None
            pipe.close()


@contextlib.contextmanager
def serving(folder: Path, *words: str, **environment: str) -> Iterator[Server]:
    """A server for the workspace in that folder."""
    server = Server(folder, *words, **environment)
    try:
        yield server
    finally:
        server.end()


if __name__ == "__main__":
    main()
