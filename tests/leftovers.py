"""What a run of the tests leaves behind, found at its end: processes, with the sockets they listen on, and folders.

A run knows its own, whatever else runs on the machine. Its processes inherit a variable of the environment, or work in
one of its folders, or name one in their words. Its temporary folders and its home lie in a folder of the run. The run
that began this looks when all of its workers have ended; it names what it finds, ends and removes it, and fails. Each
worker notes the processes in the folders of its tests before pytest renames and removes those.
"""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Container

RUN = "TESTS_OF_DIBS"  # the variable that all processes of a run inherit: the run's folder
GRACE_S = 10.0  # for a process that is about to end, on a machine that has other work as well
NOTES = "processes-"  # the name of a worker's note begins with it
PROCESSES = Path("/proc")
MAX_NAMED = 40  # of each kind
MAX_WORDS = 200  # letters of a command
_ENDS: list[Callable[[], None]] = []


def begin(*, own_home: bool) -> Path | None:
    """Begin a run: from now on its temporary folders, and its home, lie in a folder of its own. None inside a run."""
    if RUN in os.environ:
        return None
    folder = Path(tempfile.mkdtemp(prefix="dibs-run-"))
    folder.chmod(0o755)  # some tests act as another user
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", tempfile.gettempdir())  # what failed tests leave is kept there
    os.environ[RUN] = os.environ["TMPDIR"] = str(folder)
    tempfile.tempdir = None
    if own_home:
        (folder / "home").mkdir()
        os.environ["HOME"] = str(folder / "home")
        for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME"):
            os.environ.pop(name, None)
    return folder


def at_end(act: Callable[[], None]) -> None:
    """Do this at the end of this process's part of the run: for helpers that serve all of its tests."""
    atexit.register(act)
    _ENDS.append(act)


def note(tests: Path) -> None:
    """End the helpers, and note the processes in the folders of this worker's tests, for the end of the run."""
    while _ENDS:
        act = _ENDS.pop()
        atexit.unregister(act)
        act()
    folder = Path(os.environ[RUN])
    lines = [f"{pid} {_start(pid)}\n" for pid in _processes(folder, tests)]
    (folder / f"{NOTES}{os.getpid()}").write_text("".join(lines))


def found(folder: Path) -> list[str]:
    """Name what is left of the run. Ends and removes it."""
    notes = [*folder.glob(f"{NOTES}*")]
    noted = {line for one in notes for line in one.read_text().splitlines()}
    end = time.monotonic() + GRACE_S
    while (processes := _processes(folder, None, noted)) and time.monotonic() < end:
        time.sleep(0.05)
    said = [f"process {pid}: {words}" for pid, words in processes.items()][:MAX_NAMED]
    for pid in processes:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    # The folder of a user's sockets stays. One of a server that a test killed may be in it: who listens is a process.
    home, sockets = folder / "home", folder / f"dibs-{os.getuid()}"
    left = [one for one in folder.iterdir() if one not in (home, sockets, *notes)] + [*home.rglob("*")]
    said += [f"{'folder' if one.is_dir() else 'file'} {one}" for one in sorted(left)][:MAX_NAMED]
    shutil.rmtree(folder, ignore_errors=True)
    return said


def _processes(folder: Path, tests: Path | None, noted: Container[str] = ()) -> dict[int, str]:
    """The processes that belong to the run, without this one: pid and command."""
    mark = f"{RUN}={folder}".encode()
    names = [str(one).encode() for one in (folder, tests) if one is not None]
    mine: dict[int, str] = {}
    for entry in PROCESSES.glob("[0-9]*"):
        pid = int(entry.name)
        if pid == os.getpid():
            continue
        try:
            words, variables = (entry / "cmdline").read_bytes(), (entry / "environ").read_bytes()
            place = os.fsencode(os.readlink(entry / "cwd"))
        except OSError:  # it has ended, or is another user's
            continue
        is_below = any(name in words or place == name or place.startswith(name + b"/") for name in names)
        if words and (is_below or mark in variables.split(b"\0") or f"{pid} {_start(pid)}" in noted):
            mine[pid] = words.replace(b"\0", b" ").decode(errors="replace").strip()[:MAX_WORDS]
    return mine


def _start(pid: int) -> str:
    """When a process started: with its pid, it is no other; empty once it has ended."""
    try:
        return (PROCESSES / str(pid) / "stat").read_text(errors="replace").rpartition(")")[2].split()[19]
    except OSError:
        return ""
