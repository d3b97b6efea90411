"""The gate: an advisory file lock in front of SQLite's own, and what it remembers.

Why there is one: with SQLite's busy handler alone, a hundred processes sleep and retry past each other and some get
nothing for seconds; behind a kernel lock they queue. The kernel drops the lock when its holder dies, however it dies.

The gate file also holds one short line, `PID COMMIT`: who is inside (so that a caller who had to give up can say which
process is in the way) and the last commit that was answered. The number is written after the commit is durable, so it
is never ahead of the database; a database that is behind it was cut or replaced by an older copy.

The line may be kept a second time, elsewhere (`kept`): a sweep that takes the database takes the gate with it, and the
other copy still says what was answered. The gate's own line counts; the copy counts where the gate has none, or where
it knows more of the same database. It is written where that is possible: a sandbox may forbid it; then it is behind.
"""

from __future__ import annotations

import _thread
import os
from _io import FileIO
from fcntl import LOCK_EX, LOCK_NB, LOCK_UN, flock

from dibs.errors import Busy, Unavailable
from dibs.facts import processes

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal as _signal  # the same functions, with types
    from collections.abc import Callable
    from types import FrameType
    from typing import NoReturn
else:
    import _signal  # `signal` itself imports enum

LARGEST = 2**62  # a commit above this was never made: then the line is damaged, and nothing is remembered
RING_AGAIN_S = 0.05  # between two rings of the timer that ends a wait
TAKEN_WITHIN_S = 1.0  # a lock that a helper thread got is taken at once, or its waiter is gone
LINE = 48  # bytes: ten digits of pid, a blank, twenty digits of commit, a blank, the id (fifteen), a newline


class Gate:
    """At most one process is inside at a time. In one process one thread at a time uses a gate: see turns.py.

    An interrupt may come at any bytecode, so nothing here has to be undone. The kernel's lock belongs to the open file:
    `flock` on a file that has it already succeeds, and a file object that nobody holds any more closes itself and drops
    it. Whoever is done calls `flock(gate.file, LOCK_UN)` in a `finally` of its own: a signal's handler runs after a C
    function has returned, not before it was called.
    """

    def __init__(self, path: str, timeout: float, kept: str = "") -> None:
        self.path = path
        self.kept = kept
        self.timeout = timeout
        self.file: FileIO | None = None
        self._pid = 0
        self._commit = 0
        self._id = ""

    def enter(self) -> tuple[int, str]:
        """Go in, or raise Busy after the timeout. Returns the last commit that was answered, and by which database."""
        if self.file is None:
            self.file = self._open()
        try:
            try:
                flock(self.file, LOCK_EX | LOCK_NB)
            except BlockingIOError:
                if not self._queue_here():
                    self._queue_elsewhere()
            self._pid, self._commit, self._id = self._known(_read(os.pread(self.file.fileno(), LINE, 0)))
            if self._pid != os.getpid():
                self._write()
        except BaseException:  # also Ctrl-C between the kernel's yes and our return
            flock(self.file, LOCK_UN)
            raise
        return self._commit, self._id

    def leave(self, commit: int = 0, identifier: str = "") -> None:
        """Go out; `commit` is the number that was just made durable, if any, in the database of that id."""
        try:
            if commit:
                self._commit, self._id = commit, identifier
                self._write()
                self._keep()
        finally:
            if self.file is not None:
                flock(self.file, LOCK_UN)

    def remembered(self) -> tuple[int, str]:
        """The last commit that was answered and by which database, read without going in."""
        try:
            with open(self.path, "rb") as file:
                own = _read(file.read(LINE))
        except OSError:
            own = 0, 0, ""
        return self._known(own)[1:]

    def holder(self) -> int:
        """The pid that went in last."""
        try:
            with open(self.path, "rb") as file:
                return int(file.read(10) or b"0")
        except (OSError, ValueError):
            return 0

    def close(self) -> None:
        """Give the file back."""
        if self.file is not None:
            self.file.close()
            self.file = None

    def __del__(self) -> None:
        self.close()

    def _open(self) -> FileIO:
        try:
            return FileIO(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600), "r+")
        except OSError as error:
            message = f"{self.path} cannot be opened for writing: {error.strerror}. Nothing was changed."
            raise Unavailable(message, path=self.path) from None

    def _write(self) -> None:
        # Without this line nothing is decided differently: a full disk must not stop a release.
        try:
            assert self.file is not None
            os.pwrite(self.file.fileno(), b"%-10d %-20d %-15s\n" % (os.getpid(), self._commit, self._id.encode()), 0)
        except OSError:
            pass

    def _known(self, own: tuple[int, int, str]) -> tuple[int, int, str]:
        """What the gate and the copy of its line say together."""
        if not self.kept:
            return own
        try:
            fd = os.open(self.kept, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return own
        try:
            _, commit, identifier = _read(os.read(fd, LINE))
        except OSError:
            return own
        finally:
            os.close(fd)
        if identifier and (identifier == own[2] or not own[2]) and commit > own[1]:
            return own[0], commit, identifier
        return own

    def _keep(self) -> None:
        """Write the copy, if that is possible here."""
        if not self.kept:
            return
        line = b"%-10d %-20d %-15s\n" % (os.getpid(), self._commit, self._id.encode())
        try:
            try:
                fd = os.open(self.kept, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
            except FileNotFoundError:
                os.mkdir(os.path.dirname(self.kept), 0o700)
                fd = os.open(self.kept, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                os.pwrite(fd, line, 0)
            finally:
                os.close(fd)
        except OSError:
            pass

    def _queue_here(self) -> bool:
        """Wait in the kernel's queue, until the timeout; False where that cannot be ended."""
        assert self.file is not None
        file = self.file
        try:
            return _timed(lambda: flock(file, LOCK_EX), self.timeout)
        except _TimeIsUpError:
            flock(file, LOCK_UN)  # it may have rung in the moment after
            self._give_up()

    def _queue_elsewhere(self) -> None:
        """Wait in the kernel's queue, from a helper thread so that the wait can end at the timeout.

        The helper waits on an open file of its own and puts it into the tray once it has the lock. Whoever takes the
        file out of the tray has the lock. A file that is not taken out within a moment is closed, and with it the lock
        is free: its waiter has given up, or was interrupted.
        """
        tray: list[FileIO] = []
        came, taken = _thread.allocate_lock(), _thread.allocate_lock()
        came.acquire()
        taken.acquire()
        waits = [True]

        def helper(file: FileIO) -> None:
            try:
                flock(file, LOCK_EX)
            except OSError:  # pragma: no cover - the kernel ran out of locks
                file.close()
                return
            tray.append(file)
            del file  # the tray alone holds it
            came.release()
            if waits:
                taken.acquire(timeout=TAKEN_WITHIN_S)
            try:
                tray.pop().close()
            except IndexError:
                pass  # it was taken out

        try:
            _thread.start_new_thread(helper, (self._open(),))
            came.acquire(timeout=self.timeout)
            if tray:
                former, self.file = self.file, tray.pop()
                if former is not None:
                    former.close()
                return
        except IndexError:  # too late by a hair
            pass
        finally:
            waits.clear()
            taken.release()
        self._give_up()

    def _give_up(self) -> NoReturn:
        pid = self.holder()
        raise Busy(pid=pid, stopped=processes.stopped(pid), waited=self.timeout)


class _TimeIsUpError(Exception):
    """The timer rang while we waited."""


def _timed(wait: Callable[[], None], seconds: float) -> bool:
    """Wait for the kernel, with a timer that ends the wait by _TimeIsUpError; False where a timer is not ours to set.

    That is the case outside the main thread, and in a program that uses SIGALRM itself. A handler of ours that an
    interrupt left behind is ours.
    """
    try:
        handler = _signal.getsignal(_signal.SIGALRM)
        ours = handler == _signal.SIG_DFL or handler is _time_is_up
        if not ours or _signal.getitimer(_signal.ITIMER_REAL)[0]:
            return False
        _signal.signal(_signal.SIGALRM, _time_is_up)
    except ValueError:  # not the main thread
        return False
    try:
        # It rings again until it was heard: a ring between Python's last look at signals and the kernel's wait is lost.
        _signal.setitimer(_signal.ITIMER_REAL, max(0.001, seconds), RING_AGAIN_S)
        wait()
        _signal.setitimer(_signal.ITIMER_REAL, 0)  # here too: were it to ring below, the handler would stay
    finally:
        _signal.setitimer(_signal.ITIMER_REAL, 0)
        _signal.signal(_signal.SIGALRM, _signal.SIG_DFL)
    return True


def _time_is_up(_number: int, frame: FrameType | None) -> None:
    """End the wait, if it still goes on: a timer that an interrupt left behind rings for nobody, and once."""
    _signal.setitimer(_signal.ITIMER_REAL, 0)
    while frame is not None:
        if frame.f_code is _timed.__code__:
            raise _TimeIsUpError
        frame = frame.f_back


def _read(line: bytes) -> tuple[int, int, str]:
    """The pid, commit and id in the gate's line; nothing is remembered where it cannot be read."""
    try:
        pid, commit, identifier = int(line[:10] or b"0"), int(line[11:31] or b"0"), line[32:47].decode().strip()
    except ValueError:
        return 0, 0, ""
    return (pid, commit, identifier) if 0 <= commit < LARGEST else (0, 0, "")
