"""The bench's scratch folder on a real disk, the workspaces in it, and the facts of the machine.

Everything that is compared is in one scratch folder, so on one filesystem. It is made in the current directory (or
`--dir`), not below /tmp, which on many machines is memory, where fsync does nothing; it is removed at the end, also
after Ctrl-C.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from typing import TYPE_CHECKING, Any

import apsw

from benchmarks.figures import median, timed
from dibs import __version__
from dibs.errors import Invalid
from dibs.machine import filesystems
from dibs.workspace.known_clients import SESSION_VARIABLES

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

# Variables that would change the caller, the workspace, or the interpreter's start (PYTHONDONTWRITEBYTECODE makes it
# compile every edited file again at each start, which an installed package never does).
FOREIGN = ("DIBS_", "PYTHON")


class Bench:
    """One run: its scratch folder, its size, and its progress on stderr."""

    def __init__(self, folder: str, *, quick: bool) -> None:
        if not os.path.isdir(folder):
            message = f"--dir: {folder} is not a folder"
            raise Invalid(message, path=folder)
        self.parent = os.path.abspath(folder)
        self.quick = quick
        self.folder = ""
        self._environment: dict[str, str] = {}

    def __enter__(self) -> Self:
        self._environment = dict(os.environ)
        for name in [*SESSION_VARIABLES, *[name for name in os.environ if name.startswith(FOREIGN)]]:
            os.environ.pop(name, None)
        os.environ["DIBS_STATES"] = "off"  # benchmarks.states measures them; elsewhere they would outlive the folder
        self.folder = tempfile.mkdtemp(prefix=".dibs-bench-", dir=self.parent)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
        os.environ.clear()
        os.environ.update(self._environment)

    def count(self, full: int, quick: int) -> int:
        """A number of repetitions: for a full run, or for a quick one."""
        return quick if self.quick else full

    def sub(self, name: str) -> str:
        """A folder of that name in the scratch folder."""
        path = os.path.join(self.folder, name)
        os.makedirs(path, exist_ok=True)
        return path

    def workspace(self, name: str) -> str:
        """A new workspace in a new repository."""
        path = self.sub(name)
        # An empty repository, laid out by hand so that no git is needed; without it, one further up would be found.
        for part in ("objects", "refs/heads"):
            os.makedirs(os.path.join(path, ".git", part))
        with open(os.path.join(path, ".git", "HEAD"), "w", encoding="utf-8") as file:
            file.write("ref: refs/heads/main\n")
        subprocess.run([script(), "init", path], check=True, timeout=60, capture_output=True)
        return path

    def say(self, text: str) -> None:
        """Print progress."""
        sys.stderr.write(f"bench: {text}\n")
        sys.stderr.flush()


def machine(folder: str) -> dict[str, Any]:
    """The facts that the figures depend on."""
    return {
        "dibs": __version__,
        "python": platform.python_version(),
        "apsw": apsw.apsw_version(),
        "sqlite": apsw.sqlite_lib_version(),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "cpus": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "load": round(os.getloadavg()[0], 2),  # before the run: later load is in the figures
        "filesystem": filesystems.kind_of(folder) or "unknown",
        "fsync_us": round(fsync_cost(folder), 1),
        "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


def fsync_cost(folder: str, times: int = 30) -> float:
    """The cost of one small durable append here, in µs: the part of a claim that no program can make faster."""
    path = os.path.join(folder, "fsync")
    flush = getattr(os, "fdatasync", os.fsync)
    with open(path, "wb", buffering=0) as file:

        def append() -> None:
            file.write(b"x" * 4096)
            flush(file.fileno())

        return median([timed(append) for _ in range(times)])


def script() -> str:
    """The `dibs` that is installed next to this interpreter."""
    path = os.path.join(os.path.dirname(sys.executable), "dibs")
    if not os.path.exists(path):
        message = f"there is no `dibs` next to {sys.executable}; install dibs into that environment"
        raise Invalid(message, path=path)
    return path
