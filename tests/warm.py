"""The command and stand-in clients without a cold start: asks tests/warm_process.py, one for each process of pytest.

Where that cannot stand for a real start (another interpreter's environment, another locale, an order too long), and in
the full run (DIBS_TORTURE=1), the real command is started.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from tests import leftovers
from tests.warm_process import LONGEST

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

DIBS = str(Path(sys.executable).with_name("dibs"))
PROCESS = str(Path(__file__).with_name("warm_process.py"))
POSSIBLE = sys.platform == "linux" and hasattr(os, "pidfd_open") and not os.environ.get("DIBS_TORTURE")
# What only a start of the interpreter takes notice of.
AT_START = ("PYTHON", "LD_", "TZ")


class Warm:
    """The process, and how it is asked."""

    def __init__(self) -> None:
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._lock = threading.Lock()
        self._process = subprocess.Popen(
            [sys.executable, "-X", "utf8", PROCESS, str(theirs.fileno())],
            stdin=subprocess.DEVNULL, pass_fds=[theirs.fileno()],
        )  # fmt: skip
        theirs.close()

    def order(self, order: dict[str, Any], files: Sequence[int]) -> bool:
        """Send it, if it is not too long."""
        said = json.dumps(order).encode()
        if len(said) > LONGEST:
            return False
        with self._lock:
            socket.send_fds(self._control, [said], files)
        return True

    def close(self) -> None:
        """It ends when nobody is there any more to ask."""
        self._control.close()
        self._process.wait()


_warm: dict[int, Warm] = {}  # by the pid: a fork of pytest has none


def _started() -> Warm:
    found = _warm.get(os.getpid())
    if found is None:
        _warm.clear()
        found = _warm[os.getpid()] = Warm()
        leftovers.at_end(found.close)
    return found


def can(environment: Mapping[str, str]) -> bool:
    """Would a real start in this environment be no different?"""
    return POSSIBLE and not any(
        name.startswith(AT_START) and value != os.environ.get(name) for name, value in environment.items()
    )


def dibs(
    words: Sequence[str], cwd: Path, env: Mapping[str, str], *, given: bytes = b"", timeout: float = 60
) -> subprocess.CompletedProcess[str]:
    """`dibs` with these words, to its end: what it printed and its exit code."""
    done = _run(list(words), cwd, env, given, timeout) if can(env) else None
    return done or subprocess.run(
        [DIBS, *words], cwd=cwd, env=dict(env), input=given.decode(), capture_output=True, text=True, check=False,
        timeout=timeout,
    )  # fmt: skip


def _run(
    words: list[str], cwd: Path, env: Mapping[str, str], given: bytes, timeout: float
) -> subprocess.CompletedProcess[str] | None:
    order = {"do": "dibs", "words": [DIBS, *words], "cwd": str(cwd), "env": dict(env)}
    nothing = os.open(os.devnull, os.O_RDONLY) if not given else os.memfd_create("given")
    files = [nothing, os.memfd_create("out"), os.memfd_create("err")]
    told, tell = os.pipe()
    try:
        if given:
            os.pwrite(files[0], given, 0)
        if not _started().order(order, [*files, tell]):
            return None
        os.close(tell)
        tell = -1
        pid = int.from_bytes(os.read(told, 4), "big")
        assert pid, "the warm process is gone"  # and a signal to 0 would go to all of us
        ended = select.poll()  # select() has no numbers above 1023
        ended.register(told, select.POLLIN | select.POLLHUP)
        if not ended.poll(timeout * 1000):
            os.kill(pid, signal.SIGKILL)
            raise subprocess.TimeoutExpired([DIBS, *words], timeout)
        said = os.read(told, 4)
        assert len(said) == 4, "the warm process is gone"
        code = os.waitstatus_to_exitcode(int.from_bytes(said, "big"))
        out, err = (_text(file) for file in files[1:])
        return subprocess.CompletedProcess([DIBS, *words], code, out, err)
    finally:
        for file in (*files, told, *([tell] if tell >= 0 else [])):
            os.close(file)


def _text(file: int) -> str:
    os.lseek(file, 0, os.SEEK_SET)
    with os.fdopen(os.dup(file), "r", encoding="utf-8") as read:  # and line ends as subprocess has them with `text`
        return read.read()


def client(name: str, hook: list[str], cwd: Path, env: Mapping[str, str]) -> tuple[int, IO[bytes], IO[bytes]]:
    """A stand-in client by that name: its pid, its stdin and its stdout. `hook` are the words that start a hook."""
    order = {"do": "client", "name": name, "hook": hook, "dibs": DIBS, "cwd": str(cwd), "env": dict(env)}
    read_there, write_here = os.pipe()
    read_here, write_there = os.pipe()
    assert _started().order(order, [read_there, write_there])
    os.close(read_there)
    os.close(write_there)
    asks, answers = os.fdopen(write_here, "wb"), os.fdopen(read_here, "rb")
    return int(answers.readline()), asks, answers
