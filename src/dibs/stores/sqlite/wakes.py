"""Wakes for waiting processes of the same machine: one named pipe a waiter, in a folder next to the database.

A wake is only a hint: a woken waiter looks into the store. A lost wake costs the waiter the rest of its timeout and
nothing else, so nothing here is retried and a waker ignores its errors.
"""

from __future__ import annotations

import errno
import os
import select

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

MARK = "@"  # prefix of a mark's name
MAX_SWEPT = 1_000  # entries of the folder that a process checks before its first wait
MAX_TRIES = 100  # to make a pipe that wakers keep removing; each time a race of some microseconds is lost


class Wakes:
    """The named pipes of one store."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._open: dict[str, int] = {}
        self._swept = False

    def watch(self, name: str) -> None:
        """Open the pipe, so that a wake from now on is kept until `wait`."""
        if name in self._open:
            return
        path = self._path(name)
        try:
            os.mkdir(self._folder, 0o700)
        except FileExistsError:
            pass
        if not self._swept:
            self._swept = True
            self.sweep()
        for _ in range(MAX_TRIES):
            try:
                os.mkfifo(path, 0o600)
            except FileExistsError:
                pass
            try:
                self._open[name] = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
            except FileNotFoundError:
                continue  # a waker found the pipe before it was open and took it for a dead waiter's
            return

    def sweep(self) -> int:
        """Remove the pipes of processes that ended without `unwatch`; returns how many.

        A waiter whose new pipe is removed before it was opened makes it again.
        """
        dead = [name for name in self._names() if name not in self._open and not self._has_reader(name)]
        for name in dead:
            self._remove(name)
        return len(dead)

    def listeners(self) -> int:
        """How many pipes have a reader."""
        return sum(1 for name in self._names() if self._has_reader(name))

    def _names(self) -> list[str]:
        try:
            with os.scandir(self._folder) as entries:
                found = [entry.name for _, entry in zip(range(MAX_SWEPT), entries, strict=False)]
        except OSError:
            return []
        return [name for name in found if not name.startswith(MARK)]

    def _has_reader(self, name: str) -> bool:
        """Does any process have this pipe open for reading? True also where that is unknown."""
        try:
            os.close(os.open(self._path(name), os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC))
        except OSError as error:
            return error.errno != errno.ENXIO
        return True

    def wait(self, name: str, timeout: float) -> bool:
        """Wait for a wake. Without a pipe (a folder that cannot be written) it just waits."""
        fd = self._open.get(name)
        poll = select.poll()  # unlike select(), it takes any number of open files
        if fd is not None:
            poll.register(fd, select.POLLIN)
        if not poll.poll(max(0.0, timeout) * 1000) or fd is None:
            return False
        if self._open.get(name) != fd:  # closed meanwhile, by another thread: that number may be another file by now
            return False
        os.read(fd, 4096)
        return True

    def unwatch(self, name: str) -> None:
        """Close and remove the pipe."""
        fd = self._open.pop(name, None)
        if fd is not None:
            os.close(fd)
        self._remove(name)

    def wake(self, name: str) -> None:
        """Wake the reader of the pipe; remove the pipe if it has none (the waiter died).

        A name that begins with `@` leaves an empty file instead, for a process that looks later.
        """
        if name.startswith(MARK):
            self._mark(name)
            return
        try:
            fd = os.open(self._path(name), os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except FileNotFoundError:
            return
        except OSError:
            self._remove(name)
            return
        try:
            os.write(fd, b"!")
        except OSError:
            pass
        finally:
            os.close(fd)

    def mark(self, names: Iterable[str]) -> None:
        """Leave the marks among these, before the commit: a process that dies right after it has left them.

        After the commit they are left once more: a reader may have taken them away in between.
        """
        for name in names:
            if name.startswith(MARK):
                self._mark(name)

    def _mark(self, name: str) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC
        try:
            os.close(os.open(self._path(name), flags, 0o600))
        except FileNotFoundError:  # the first wake makes the folder
            try:
                os.mkdir(self._folder, 0o700)
                os.close(os.open(self._path(name), flags, 0o600))
            except OSError:
                pass
        except OSError:
            pass

    def close(self) -> None:
        """Close what is still open; whoever waits in another thread looks up."""
        for name in list(self._open):
            self.wake(name)  # a poll does not notice that its file is closed
            self.unwatch(name)

    def _remove(self, name: str) -> None:
        try:
            os.unlink(self._path(name))
        except OSError:
            pass

    def _path(self, name: str) -> str:
        """The pipe of this name, in the folder and nowhere else. What is no name of a file there is an OSError."""
        if name in {"", ".", ".."} or "/" in name or "\0" in name:
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL), name)
        return f"{self._folder}/{name}"
