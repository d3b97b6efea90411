"""The bench's own environment: the peers, installed from PyPI, and the connection to them.

Peers never run inside dibs' interpreter. They are installed into a virtual environment of the bench (in the user's
cache, or `--env`), and are measured in a process of its interpreter, which does the requested number of acquisitions
and answers with its own timings. If the registry does not answer, their rows say so and the run continues.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from benchmarks.place import Bench

PEERS = ("celery", "coordinationhub", "filelock", "hiredis", "huey", "litequeue", "persist-queue", "redis", "rq")
ALSO_NEEDED = ("packaging",)  # by Celery on Redis, but not declared
INSTALL_TIMEOUT_S = 300  # for pip; a slower registry counts as not answering
ASK = (
    "import json, importlib.metadata as m; "
    "print(json.dumps({d.metadata['Name'].lower(): d.version for d in m.distributions()}))"
)
LOCKS, QUEUES, REDIS_LOCKS, REDIS_QUEUES = (
    os.path.join(os.path.dirname(os.path.abspath(__file__)), "peers", name)
    for name in ("locks.py", "queues.py", "redis_locks.py", "redis_queues.py")
)


def default_folder() -> str:
    """The folder of the environment, kept between runs."""
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(cache, "dibs", "bench-venv")


class Environment:
    """The virtual environment with the peers; `versions` has the installed ones."""

    def __init__(self, folder: str) -> None:
        self.folder = os.path.abspath(folder)
        self.versions: dict[str, str] = {}
        self.why = ""  # the reason why a peer is missing

    @property
    def python(self) -> str:
        """Its interpreter."""
        return self.program("python")

    def program(self, name: str) -> str:
        """A program in it."""
        return os.path.join(self.folder, "bin", name)

    def prepare(self, bench: Bench) -> None:
        """Make it and install missing peers; never fails: peers are then left out."""
        try:
            if not os.path.exists(self.python):
                bench.say(f"making {self.folder} for the peers")
                os.makedirs(os.path.dirname(self.folder), exist_ok=True)
                _run([sys.executable, "-m", "venv", self.folder], 120)
            self._look()
            missing = [name for name in PEERS if name not in self.versions]
            if missing:
                bench.say(f"installing {', '.join(missing)} from PyPI")
                _run(
                    [self.python, "-m", "pip", "install", "-q", "--disable-pip-version-check", *missing, *ALSO_NEEDED],
                    INSTALL_TIMEOUT_S,
                )
                self._look()
        except (OSError, subprocess.SubprocessError, ValueError) as error:
            self.why = _reason(error)
            bench.say(f"the peers could not be installed: {self.why}")

    def _look(self) -> None:
        found = json.loads(_run([self.python, "-I", "-c", ASK], 60))
        self.versions = {name: found[name] for name in PEERS if name in found}

    @property
    def absent(self) -> str:
        """The note for a missing peer."""
        return f"not installed{f': {self.why}' if self.why else ''}"


class Peer:
    """One peer's lock or queue, in a separate process."""

    def __init__(
        self, environment: Environment, name: str, folder: str, *, queue: bool = False, words: list[str] | None = None
    ) -> None:
        words = words or ([QUEUES, name, folder, "serve"] if queue else [LOCKS, name, folder])
        self._process = subprocess.Popen(
            [environment.python, "-I", *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=folder,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.communicate()

    def burst(self, times: int) -> list[float]:
        """Let it acquire and release, or take and finish, that many times; returns the µs of each."""
        return self.ask(str(times))

    def ask(self, word: str) -> list[float]:
        """Send it a line; returns its answer."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{word}\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            message = f"the peer ended ({self._process.wait()})"
            raise RuntimeError(message)
        figures: list[float] = json.loads(answer)
        return figures


def _run(command: list[str], timeout: float) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=timeout)
    return done.stdout


def _reason(error: Exception) -> str:
    """The reason in one line; pip prints most of it on stderr."""
    if isinstance(error, subprocess.TimeoutExpired):
        return "the registry did not answer in time"
    if isinstance(error, subprocess.CalledProcessError):
        lines = [line.strip() for line in str(error.stderr).splitlines() if line.strip()]
        errors = [line for line in lines if line.startswith("ERROR")]
        return (errors or lines or [str(error)])[-1][:160]
    return str(error)[:160]
