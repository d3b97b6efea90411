"""Runs a program with input, output and a timeout.

`subprocess` costs more than 10 ms to import, more than a whole hook call has; this is the part of it that the guards
need: one program found on PATH, plain pipes, no shell. The program gets its own process group, so that its children end
with it at the timeout, or when the caller is interrupted.
"""

from __future__ import annotations

import os
import select
import time

from dibs.errors import Unavailable
from dibs.machine import caller

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

CHUNK = 65_536
POLL_MS = 50  # between two checks of whether it ended: a child may keep its pipes open
_SIGKILL, _SIGPIPE = 9, 13  # without importing signal, which imports enum


class Outcome:
    """A program's output and exit code; `code` is negative for a signal."""

    __slots__ = ("code", "err", "out")

    def __init__(self, code: int, out: bytes, err: bytes) -> None:
        self.code, self.out, self.err = code, out, err

    @property
    def ok(self) -> bool:
        """Did it succeed?"""
        return self.code == 0

    @property
    def said(self) -> str:
        """Its error message, as one line."""
        return " ".join(self.err.decode(errors="replace").split())[:500]


def run(words: Sequence[str], *, env: Mapping[str, str], given: bytes = b"", timeout: float = 10.0) -> Outcome:
    """Run one program to its end. Raises Unavailable if it cannot be started or times out."""
    ours, theirs = _pipes()
    try:
        actions = [(os.POSIX_SPAWN_DUP2, fd, place) for place, fd in enumerate(theirs)]
        try:
            program = words[0] if caller.other() is None else _found(words[0])
            pid = os.posix_spawnp(program, list(words), env, file_actions=actions, setpgroup=0, setsigdef=[_SIGPIPE])
        except OSError as error:
            raise Unavailable(f"{words[0]} cannot be started: {error.strerror}", program=words[0]) from None
        except ValueError as error:  # a word that no program can be given
            raise Unavailable(f"{words[0]} cannot be started: {error}", program=words[0]) from None
        finally:
            for fd in theirs:
                os.close(fd)
        ended = False
        try:
            code, out, err = _talk(pid, ours, given, time.monotonic() + timeout)
            ended = True
        except TimeoutError:
            shown = " ".join(words[:6])
            raise Unavailable(f"`{shown}` took longer than {timeout:g} s", program=words[0]) from None
        finally:
            if not ended:
                _end(pid)
        return Outcome(code, out, err)
    finally:
        for fd in ours:
            if fd >= 0:
                os.close(fd)


def _found(program: str) -> str:
    """A program's file by the PATH of the caller; the system itself would look in that of this process."""
    for folder in caller.environ().get("PATH", os.defpath).split(":"):
        path = f"{folder}/{program}"
        if folder.startswith("/") and os.access(path, os.X_OK) and os.path.isfile(path):
            return path
    raise FileNotFoundError(2, "No such file or directory")


def _pipes() -> tuple[list[int], list[int]]:
    """Our ends and the program's ends of its stdin, stdout and stderr; ours do not block."""
    theirs_in, ours_in = os.pipe()
    ours_out, theirs_out = os.pipe()
    ours_err, theirs_err = os.pipe()
    ours = [ours_in, ours_out, ours_err]
    for fd in ours:
        os.set_blocking(fd, False)
    return ours, [theirs_in, theirs_out, theirs_err]


def _talk(pid: int, ours: list[int], given: bytes, deadline: float) -> tuple[int, bytes, bytes]:
    """Write the input and read the output until the program has ended. A finished pipe is closed and set to -1."""
    said: dict[int, list[bytes]] = {1: [], 2: []}
    watch = select.poll()
    for place, fd in enumerate(ours):
        watch.register(fd, select.POLLIN if place else select.POLLOUT)
    todo = memoryview(given)
    status = None
    while status is None:
        if ours[0] >= 0 and not todo:
            _close(watch, ours, 0)
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        if ours[1] < 0 and ours[2] < 0:
            status = _ended(pid, left)
            continue
        ready = watch.poll(min(POLL_MS, left * 1000))
        for fd, _ in ready:
            place = ours.index(fd)
            if place == 0:
                todo = _write(watch, ours, todo)
            elif not _read(fd, said[place]):
                _close(watch, ours, place)
        if not ready:
            status = _ended(pid, 0)
    for place in (1, 2):  # its output right before it ended
        if ours[place] >= 0:
            _read(ours[place], said[place])
    return os.waitstatus_to_exitcode(status), b"".join(said[1]), b"".join(said[2])


def _write(watch: select.poll, ours: list[int], todo: memoryview) -> memoryview:
    try:
        return todo[os.write(ours[0], todo[:CHUNK]) :]
    except BlockingIOError:
        return todo
    except BrokenPipeError:  # it closed its input
        _close(watch, ours, 0)
        return todo[:0]


def _read(fd: int, said: list[bytes]) -> bool:
    """Read all available output; False at the end of the pipe."""
    while True:
        try:
            got = os.read(fd, CHUNK)
        except BlockingIOError:
            return True
        if not got:
            return False
        said.append(got)


def _close(watch: select.poll, ours: list[int], place: int) -> None:
    watch.unregister(ours[place])
    os.close(ours[place])
    ours[place] = -1


def _ended(pid: int, timeout: float) -> int | None:
    """The program's exit status, or None if it is still running; polls in small steps."""
    step, until = 0.0002, time.monotonic() + timeout
    while True:
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            return status
        if time.monotonic() >= until:
            return None
        time.sleep(step)
        step = min(step * 2, 0.02)


def _end(pid: int) -> None:
    """Kill the program and its children."""
    try:
        os.killpg(pid, _SIGKILL)
    except OSError:
        pass
    try:
        os.waitpid(pid, 0)
    except ChildProcessError:  # it ended at the same moment and was reaped
        pass
