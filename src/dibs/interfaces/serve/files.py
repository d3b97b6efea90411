"""The files of a serving process, below `.dibs/local/`: its lock, and where it can be reached.

The lock decides whether a server lives: the kernel drops it with its holder, also after `kill -9`. `serve.json` says
where it is; it may be older than the process, so a reader checks the lock, or asks the server.
"""

from __future__ import annotations

import fcntl
import json
import os

from dibs.errors import Unavailable
from dibs.machine import atomic_write, clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypedDict

    class ServerAddress(TypedDict):
        """What `serve.json` says: which process serves, and where it can be reached."""

        pid: int
        start: str  # of the process, by which it is told from a later one with its pid
        url: str
        socket: str  # the path of the Unix socket
        token_file: str  # has the credential of the local user
        version: str
        build: str  # tells this installation of dibs from another one


LOCK, ABOUT, TOKEN, LOG, PORT = "serve.lock", "serve.json", "serve.token", "serve.log", "serve.port"
POLL_S = 0.02


class Lock:
    """The lock of the one server of a workspace, held for its life. It names its holder for people."""

    def __init__(self, local: str) -> None:
        self._path = f"{local}/{LOCK}"
        self._fd = -1

    def take(self) -> bool:
        """Take it, unless another process has it."""
        try:
            self._fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise Unavailable(f"{self._path} cannot be written: {error.strerror}", path=self._path) from None
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._fd)
            self._fd = -1
            return False
        try:
            os.ftruncate(self._fd, 0)
            os.write(self._fd, f"{os.getpid()}\n".encode())
        except OSError as error:
            self.drop()
            raise Unavailable(f"{self._path} cannot be written: {error.strerror}", path=self._path) from None
        return True

    def drop(self) -> None:
        """Give it back."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def holder(local: str) -> int:
    """The process that serves this workspace, or 0 if none does."""
    path = f"{local}/{LOCK}"
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return 0
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        text = os.read(fd, 32).decode("ascii", "replace").strip()
        return int(text) if text.isdigit() else -1
    finally:
        os.close(fd)
    return 0


def about(local: str) -> ServerAddress | None:
    """Where the server of this workspace is, if one lives and is ready."""
    pid = holder(local)
    if not pid:
        return None
    try:
        with open(f"{local}/{ABOUT}", encoding="utf-8") as file:
            address: ServerAddress = json.load(file)
        return address if address["pid"] == pid else None
    except (OSError, ValueError, KeyError, TypeError):  # none, or not written by a server
        return None


def wait_for(local: str, seconds: float) -> ServerAddress | None:
    """The same, once it is ready; None if none lives, or it takes longer."""
    end = clock.since_boot() + int(seconds * 1000)
    while clock.since_boot() < end:
        address = about(local)
        if address is not None or not holder(local):
            return address
        clock.sleep(POLL_S)
    return None


def answers(found: ServerAddress, seconds: float) -> bool:
    """Does the server answer its near callers? One that was stopped (SIGSTOP) lives and does not."""
    import socket

    try:
        with socket.socket(socket.AF_UNIX) as near:
            near.settimeout(seconds)
            near.connect(found["socket"])
            near.sendall(b"{}\n")  # no request: it says so
            return bool(near.recv(1))
    except (OSError, KeyError, TypeError):
        return False


def wait_until_gone(local: str, seconds: float) -> bool:
    """Has it ended?"""
    end = clock.since_boot() + int(seconds * 1000)
    while holder(local):
        if clock.since_boot() >= end:
            return False
        clock.sleep(POLL_S)
    return True


def write(path: str, text: str) -> None:
    """A file that its owner alone may read, written in one step."""
    try:
        atomic_write.replace(path, text, mode=atomic_write.PRIVATE_MODE)
    except OSError as error:
        raise Unavailable(f"{path} cannot be written: {error.strerror}", path=path) from None


def read(path: str) -> str:
    """A small file, or "" if there is none."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(4096).strip()
    except OSError:
        return ""


def remove(path: str) -> None:
    """Remove a file, if it is there."""
    try:
        os.unlink(path)
    except OSError:
        pass
