"""A process to be hurt: it opens a workspace, does what it is told, and dies, stops or fails at a chosen point.

The story. `python -m tests.faults.actor` is a nursery: one process that has imported dibs, has opened nothing, and
forks a child for each socket that it is handed. A child reads one JSON command a line and answers with one line;
whatever a test does to it (SIGKILL, SIGSTOP, a full disk), the socket's end tells. Points are numbered: one before and
one after each SQL statement, each way through the gate and each wake, so that a test can go through all of them.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import signal
import socket
import time
import traceback
from random import Random
from typing import TYPE_CHECKING, Any

import apsw

import dibs
from dibs.client import catalogue
from dibs.client.session import Session
from dibs.errors import DibsError
from dibs.machine import clock, processes
from dibs.operations.claims import endings, grants, waiters
from dibs.operations.core import index
from dibs.operations.core.call import Call, to_json
from dibs.operations.tasks import pulls
from dibs.stores.sqlite import store
from dibs.stores.sqlite.gate import Gate
from dibs.stores.sqlite.wakes import Wakes
from tests.canonical import canonical
from tests.faults import claim_worker

grants.SWEEP_ONE_IN = 1  # the same statements at every moment, so that the points can be numbered

if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.interfaces.python.workspace import Workspace


# --- points: where a process can be hurt


class Points:
    """Counts the points that are passed, and raises a signal at one of them."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.at = 0
        self.match = ""
        self.signal = 0
        self.armed = False

    def arm(self, at: int, number: int, match: str) -> None:
        """Raise a signal at the point of that number (among those whose name begins with `match`)."""
        self.names, self.at, self.signal, self.match, self.armed = [], at, number, match, True

    def passed(self, name: str) -> None:
        """One more point; perhaps the last."""
        if not self.armed or not name.startswith(self.match):
            return
        self.names.append(name)
        if len(self.names) == self.at:
            os.kill(os.getpid(), self.signal)


POINTS = Points()


def _watched(owner: type, method: str, name: Callable[..., str]) -> None:
    original = getattr(owner, method)

    def wrapped(self: Any, *given: Any, **named: Any) -> Any:
        words = name(*given)
        POINTS.passed(f"before {words}")
        result = original(self, *given, **named)
        POINTS.passed(f"after {words}")
        return result

    setattr(owner, method, wrapped)


_watched(store.SqliteStore, "_sql", lambda statement, *_: " ".join(statement.split()[:3]))
_watched(Gate, "enter", lambda *_: "gate enter")
_watched(Gate, "leave", lambda *_: "gate leave")
_watched(Wakes, "wake", lambda *_: "wake")


# --- a disk that fills up: every write of SQLite's and of dibs's own goes through here

PWRITE = ctypes.CFUNCTYPE(
    ctypes.c_ssize_t, ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int64, use_errno=True
)
TRUNCATE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_int64, use_errno=True)


class Disk:
    """Replaces the system calls of SQLite's unix VFS, below the checksums, and those that dibs itself makes."""

    def __init__(self) -> None:
        self.writes = 0
        self.at = 0
        self.how = ""  # full: this write fails; stays_full: and all that follow; kill, torn: the process dies in it
        self._kept: list[Any] = []

    def install(self) -> None:
        """Put the shim in place. Before any database is opened."""
        if self._kept:
            return
        vfs = apsw.VFS("faults", base="unix")
        for name, callback in (
            ("pwrite64", PWRITE(self._pwrite)),
            ("pwrite", PWRITE(self._pwrite)),
            ("ftruncate", TRUNCATE(self._truncate)),
        ):
            vfs.xSetSystemCall(name, ctypes.cast(callback, ctypes.c_void_p).value or 0)
            self._kept += [vfs, callback]
        for name in ("open", "mkdir", "mkfifo", "link"):
            self._own(name)
        os.pwrite = self._write  # type: ignore[assignment]

    def arm(self, at: int, how: str) -> None:
        """Let the write of that number fail."""
        self.writes, self.at, self.how = 0, at, how

    def _failing(self) -> bool:
        self.writes += 1
        if not self.at:
            return False
        return self.writes == self.at or (self.how == "stays_full" and self.writes > self.at)

    def _die(self) -> None:
        if self.how in {"kill", "torn"}:
            os.kill(os.getpid(), signal.SIGKILL)

    def _write(self, fd: int, data: bytes, offset: int) -> int:
        if self._failing():
            if self.how == "torn":
                real_pwrite(fd, data[: len(data) // 2], offset)
            self._die()
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real_pwrite(fd, data, offset)

    def _pwrite(self, fd: int, buffer: int, count: int, offset: int) -> int:
        try:
            return self._write(fd, ctypes.string_at(buffer, count), offset)
        except OSError as error:
            ctypes.set_errno(error.errno or errno.EIO)
            return -1

    def _truncate(self, fd: int, length: int) -> int:
        if self._failing():
            self._die()
            ctypes.set_errno(errno.ENOSPC)
            return -1
        os.ftruncate(fd, length)
        return 0

    def _own(self, name: str) -> None:
        original = getattr(os, name)

        def wrapped(*given: Any, **named: Any) -> Any:
            writing = name != "open" or (given[1] & os.O_CREAT and not os.path.exists(given[0]))
            if writing and self._failing():
                self._die()
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), given[0])
            return original(*given, **named)

        setattr(os, name, wrapped)


DISK = Disk()
real_pwrite = os.pwrite


# --- what a child can be told


class Child:
    """One process of one agent."""

    def __init__(self) -> None:
        self.workspace: Workspace | None = None
        self.session: Session | None = None
        self.claims: dict[str, Any] = {}

    def open(self, folder: str, agent: str, timeout: float | None) -> Any:
        """Open the workspace as an agent, whose incarnation this process then is."""
        self.workspace = dibs.open(folder, agent, timeout=timeout)
        return self.workspace.briefing

    def call(self, name: str, given: list[Any], named: dict[str, Any]) -> Any:
        """One method of the Python API."""
        assert self.workspace is not None
        answer = getattr(self.workspace, name)(*given, **named)
        return answer.answer if isinstance(answer, dibs.Claim) else answer

    def floor(self, folder: str, agent: str, name: str, fields: dict[str, Any], request: str, timeout: float) -> Any:
        """One operation as a caller without a client process makes it, and once only: a wait is not waited for."""
        if self.session is None:
            self.session = Session(folder, None, timeout=timeout)
        call = Call(self.session.config.policy, agent=agent, request=request)
        operation = self.session.operation(name)
        return to_json(self.session.run(operation, call, canonical(operation, fields)))

    def arm(self, at: int, number: int, match: str) -> None:
        """Be hurt at a point."""
        POINTS.arm(at, number, match)

    def points(self) -> list[str]:
        """The points passed since armed."""
        return POINTS.names

    def shim(self) -> None:
        """Get between dibs and the disk."""
        DISK.install()

    def fill(self, at: int, how: str) -> None:
        """The write of that number fails."""
        DISK.arm(at, how)

    def writes(self) -> int:
        """How many writes there were since the disk was armed."""
        return DISK.writes

    def patch(self, **what: Any) -> None:
        """Another clock, another boot, another lease."""
        for name, value in what.items():
            PATCHES[name](value)

    def shut(self) -> None:
        """Close the workspace."""
        if self.workspace is not None:
            self.workspace.close()
        if self.session is not None:
            self.session.close()
        self.workspace = self.session = None

    def job(self, name: str, **named: Any) -> Any:
        """A longer piece of work."""
        return JOBS[name](**named)


real_wall, real_since_boot = clock.wall, clock.since_boot


def _patch_wall(offset: int) -> None:
    clock.wall = lambda: real_wall() + offset


def _patch_since_boot(offset: int) -> None:
    clock.since_boot = lambda: real_since_boot() + offset


def _patch_boot(name: str) -> None:
    clock.boot_id = lambda: name
    processes._cache["boot"] = name


def _patch_lease(ms: int) -> None:
    endings.WAITER_LEASE_MS = ms


def _patch_look(ms: int) -> None:
    waiters.POLL_MS = pulls.POLL_MS = ms


def _patch_pages(pages: int) -> None:
    store.LONG_LIVED_WAL_PAGES = store.SHORT_LIVED_WAL_PAGES = pages


PATCHES: dict[str, Callable[[Any], None]] = {
    "wall": _patch_wall,
    "since_boot": _patch_since_boot,
    "boot": _patch_boot,
    "lease": _patch_lease,
    "look": _patch_look,
    "pages": _patch_pages,
}


# --- longer pieces of work


def busy(folder: str, agent: str, journal: str, seed: int, paths: int) -> None:
    """Claim, renew and release at random for ever. What was answered is in the journal, on the disk, right after."""
    dice = Random(seed)
    fd = os.open(journal, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def note(**what: Any) -> None:
        os.write(fd, json.dumps(what).encode() + b"\n")
        os.fsync(fd)

    workspace = dibs.open(folder, agent, timeout=30)
    note(did="boot", incarnation=workspace.briefing["incarnation"])
    mine: list[tuple[list[str], int]] = []
    while True:
        chance = dice.random()
        try:
            if mine and chance < 0.5:
                names, token = mine.pop(dice.randrange(len(mine)))
                workspace.release(*names, token=token)
                note(did="release", token=token, resources=names)
            elif mine and chance < 0.6:
                workspace.renew()
                note(did="renew")
            else:
                names = sorted({f"p{dice.randrange(paths)}.py" for _ in range(dice.choice((1, 1, 2, 3)))})
                claim = workspace.claim(*names, ttl=dice.choice((0.05, 60)), wait=dice.choice((None, None, 0.2)))
                if not claim.answer.get("renewed"):
                    mine.append((names, claim.token))
                note(did="claim", token=claim.token, resources=names, renewed=bool(claim.answer.get("renewed")))
        except (dibs.Held, dibs.Deadlock, dibs.NotFound):
            pass
        except dibs.Fenced:
            mine.clear()


def contend(folder: str, agent: str, marker: str, until: int) -> dict[str, Any]:
    """Take the same path again and again until a time. While it is held, a file says so that nobody else may make."""
    wins, longest, last, waited = 0, 0, 0, []
    workspace = dibs.open(folder, agent, timeout=60)
    while clock.since_boot() < until or not wins:
        began = clock.since_boot()
        with workspace.claim("hot.py", wait=60, ttl=60) as claim:
            waited.append(clock.since_boot() - began)
            os.close(os.open(marker, os.O_CREAT | os.O_EXCL))  # fails if anybody else holds it
            with open(f"{marker}.token", "a+", encoding="ascii") as file:
                file.seek(0)
                tokens = file.read().split()
                assert not tokens or int(tokens[-1]) < claim.token, (tokens[-1:], claim.token)
                file.write(f"{claim.token}\n")
            assert claim.token > last
            last = claim.token
            claim.check()
            os.unlink(marker)
        wins += 1
        longest = max(longest, waited[-1])
    workspace.close()
    return {"wins": wins, "longest": longest, "waited": waited}


def at_once(folder: str, agent: str, when: int, resource: str) -> Any:
    """Claim at an agreed moment."""
    workspace = dibs.open(folder, agent, timeout=30)
    time.sleep(max(0, when - clock.since_boot()) / 1000)
    while clock.since_boot() < when:
        pass
    return workspace.claim(resource).answer


def wander(folder: str, agent: str, seed: int, seconds: float) -> list[Any]:
    """Claim and release for a while, while the wall clock jumps; returns the tokens, in order."""
    dice = Random(seed)
    workspace = dibs.open(folder, agent, timeout=30)
    got: list[Any] = []
    end = real_since_boot() + seconds * 1000
    while real_since_boot() < end:
        if dice.random() < 0.4:
            _patch_wall(dice.choice((-1, 1)) * dice.choice((3_600_000, 315_576_000_000, 0)))
        name = f"p{dice.randrange(3)}.py"
        try:
            with workspace.claim(name, wait=dice.choice((None, 0.3)), ttl=60) as claim:
                _patch_wall(dice.choice((-315_576_000_000, -3_600_000, 3_600_000, 315_576_000_000)))
                claim.check()
                claim.renew()
                got.append((name, claim.token))
        except (dibs.Held, dibs.Deadlock):
            pass
    return got


JOBS: dict[str, Callable[..., Any]] = {
    "busy": busy, "contend": contend, "at_once": at_once, "wander": wander, "claim_at_random": claim_worker.work,
}  # fmt: skip


# --- the nursery


def serve(channel: socket.socket) -> None:
    """Do what is said, one line at a time, until the other end is closed."""
    child = Child()
    with channel.makefile("r", encoding="utf-8") as lines:
        for line in lines:
            command, named = json.loads(line)
            try:
                answer: dict[str, Any] = {"ok": getattr(child, command)(**named)}
            except DibsError as error:
                answer = {"error": [error.code, error.message, error.fields]}
            except Exception:  # noqa: BLE001 - the test is told
                answer = {"crash": traceback.format_exc()}
            channel.sendall(json.dumps(answer).encode() + b"\n")
            if command in {"call", "floor", "open"}:
                POINTS.passed("after answer")


def main() -> None:
    """Fork a child for each socket handed over, until the other end is closed."""
    control = socket.socket(fileno=os.dup(0))
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for them: the socket tells
    for name in index.FILES:  # imported once, not by each child
        catalogue.operation(name)
    while True:
        message, handed, _, _ = socket.recv_fds(control, 1, 1)
        if not message:
            return
        pid = os.fork()
        if pid == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            control.close()
            try:
                serve(socket.socket(fileno=handed[0]))
            finally:
                os._exit(0)
        os.close(handed[0])
        control.sendall(pid.to_bytes(8, "big"))


if __name__ == "__main__":
    main()
