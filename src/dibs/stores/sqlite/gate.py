"""The gate: an advisory file lock in front of SQLite's own, with a memory of the last answered commit.

With SQLite's busy handler alone, a hundred processes sleep and retry past each other, and some starve for seconds; on a
kernel lock they queue. The kernel drops the lock when its holder dies, however it dies.

The gate file also holds one short line, `PID COMMIT`: the process inside (so that a caller
that timed out can name it) and the last commit that was answered. The number is written after the commit is durable, so
it is never ahead of the database; a database with a lower number was truncated or replaced by an older copy.

A mark stands between the two last parts. `c`: dibs itself has folded the WAL into the database; until the next process
comes in. Without it another program did that, if there is no WAL; `m`: a process makes the page checksums anew that
such a program has left out, or was killed while it did (foreign_close.py).

The line may have a second copy elsewhere (`kept`): a `git clean` that deletes the database deletes the gate too, and
the copy still has the last answered commit. The gate's own line counts; the copy counts where the gate has none, or has
a lower number for the same database. A sandbox may forbid writing the copy; then it has an older number.
"""

from __future__ import annotations

import _thread
import os
from _io import FileIO
from fcntl import LOCK_EX, LOCK_NB, LOCK_UN, flock

from dibs.errors import Busy, Unavailable
from dibs.machine import processes

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal as _signal  # the same functions, with types
    from collections.abc import Callable
    from types import FrameType
    from typing import NoReturn
else:
    import _signal  # `signal` itself imports enum

MAX_COMMIT = 2**62  # no real commit is above this: such a line is damaged and ignored
TIMER_INTERVAL_S = 0.05  # between two signals of the timer that ends a wait
HANDOVER_TIMEOUT_S = 1.0  # for the waiter to take the lock from its helper thread; later, the waiter has given up
LINE_BYTES = 48  # ten digits of pid, a blank, twenty digits of commit, a blank, the id (fifteen), a newline
MARK_AT = 31  # the mark has the place of the second blank
CLOSED, MENDING, NO_MARK = b"c", b"m", b" "


class Gate:
    """At most one process is inside at a time. In one process one thread at a time uses a gate: see turns.py.

    An interrupt may come at any bytecode, so nothing here has to be undone. The kernel's lock belongs to the open file:
    `flock` on a file that has it already succeeds, and a file object without references closes itself and drops
    it. A caller that is done calls `flock(gate.file, LOCK_UN)` in its own `finally`: a signal's handler runs after a C
    function has returned, not before it was called.
    """

    def __init__(self, path: str, timeout: float, kept: str = "") -> None:
        self.path = path
        self.kept = kept
        self.timeout = timeout
        self.file: FileIO | None = None
        self.queued = 0  # how often another process was inside
        self.mark = NO_MARK  # as the last `enter` found it
        self._pid = 0
        self._commit = 0
        self._id = ""

    def enter(self) -> tuple[int, str]:
        """Enter, or raise Busy after the timeout.

        Returns the last answered commit and the database that answered it.
        """
        if self.file is None:
            self.file = self._open()
        try:
            try:
                flock(self.file, LOCK_EX | LOCK_NB)
            except BlockingIOError:
                self.queued += 1
                if not self._queue_with_timer():
                    self._queue_in_thread()
            line = os.pread(self.file.fileno(), LINE_BYTES, 0)
            self.mark = line[MARK_AT : MARK_AT + 1]
            self._pid, self._commit, self._id = self._known(_read(line))
            if self._pid != os.getpid():
                self._write()
        except OSError as error:
            flock(self.file, LOCK_UN)
            message = f"{self.path} cannot be read: {error.strerror}. Nothing was changed."
            raise Unavailable(message, path=self.path) from None
        except BaseException:  # also after Ctrl-C between the kernel's grant and our return
            flock(self.file, LOCK_UN)
            raise
        return self._commit, self._id

    def is_free(self) -> bool:
        """Is nobody inside? The gate is left as it was: nobody of this process may be inside, either."""
        if self.file is None:
            self.file = self._open()
        try:
            flock(self.file, LOCK_EX | LOCK_NB)
        except BlockingIOError:
            return False
        flock(self.file, LOCK_UN)
        return True

    def leave(self, commit: int = 0, identifier: str = "") -> None:
        """Leave; `commit` is the number that was just made durable, if any, in the database of that id."""
        try:
            if commit:
                self._commit, self._id = commit, identifier
                self._write()
                self._keep()
        finally:
            if self.file is not None:
                flock(self.file, LOCK_UN)

    def remembered(self) -> tuple[int, str]:
        """The last answered commit and its database, read without entering."""
        try:
            with open(self.path, "rb") as file:
                own = _read(file.read(LINE_BYTES))
        except OSError:
            own = 0, 0, ""
        return self._known(own)[1:]

    def note(self, mark: bytes) -> None:
        """Write the mark."""
        self.mark = mark
        try:
            fd = os.open(self.path, os.O_WRONLY | os.O_CLOEXEC)
            try:
                os.pwrite(fd, mark, MARK_AT)
            finally:
                os.close(fd)
        except OSError:
            pass  # then the next one looks at every page

    def holder(self) -> int:
        """The pid that entered last."""
        try:
            with open(self.path, "rb") as file:
                return int(file.read(10) or b"0")
        except (OSError, ValueError):
            return 0

    def close(self) -> None:
        """Close the file."""
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
        # The line decides nothing here: a full disk must not stop a release.
        try:
            assert self.file is not None
            mark = MENDING if self.mark == MENDING else NO_MARK
            line = b"%-10d %-20d%s%-15s\n" % (os.getpid(), self._commit, mark, self._id.encode())
            os.pwrite(self.file.fileno(), line, 0)
        except OSError:
            pass

    def _known(self, own: tuple[int, int, str]) -> tuple[int, int, str]:
        """The last answered commit, from the gate's line and its copy."""
        if not self.kept:
            return own
        try:
            fd = os.open(self.kept, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return own
        try:
            _, commit, identifier = _read(os.read(fd, LINE_BYTES))
        except OSError:
            return own
        finally:
            os.close(fd)
        if identifier and (identifier == own[2] or not own[2]) and commit > own[1]:
            return own[0], commit, identifier
        return own

    def _keep(self) -> None:
        """Write the copy, if the system allows it."""
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

    def _queue_with_timer(self) -> bool:
        """Wait in the kernel's queue until the timeout; False where a timer cannot end the wait."""
        assert self.file is not None
        file = self.file
        try:
            return _timed(lambda: flock(file, LOCK_EX), self.timeout)
        except _TimerExpiredError:
            flock(file, LOCK_UN)  # the timer may have fired right after the lock was granted
            self._give_up()

    def _queue_in_thread(self) -> None:
        """Wait in the kernel's queue, from a helper thread so that the wait can end at the timeout.

        The helper waits on its own open file and puts it into the tray once it has the lock. The waiter that takes the
        file out of the tray has the lock. A file not taken out within HANDOVER_TIMEOUT_S is closed, which frees the
        lock: its waiter has given up or was interrupted.
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
                taken.acquire(timeout=HANDOVER_TIMEOUT_S)
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
        except IndexError:  # the helper put it there after the timeout
            pass
        finally:
            waits.clear()
            taken.release()
        self._give_up()

    def _give_up(self) -> NoReturn:
        pid = self.holder()
        raise Busy(pid=pid, stopped=processes.stopped(pid), waited=self.timeout)


class _TimerExpiredError(Exception):
    """The timer expired during the wait."""


def _timed(wait: Callable[[], None], seconds: float) -> bool:
    """Wait for the kernel, with a timer that ends the wait by _TimerExpiredError; False where no timer can be set.

    That is the case outside the main thread, and in a program that uses SIGALRM itself. A handler of dibs that an
    interrupt left behind does not count as one of the program.
    """
    try:
        handler = _signal.getsignal(_signal.SIGALRM)
        ours = handler == _signal.SIG_DFL or handler is _on_timer
        if not ours or _signal.getitimer(_signal.ITIMER_REAL)[0]:
            return False
        _signal.signal(_signal.SIGALRM, _on_timer)
    except ValueError:  # not the main thread
        return False
    try:
        # It fires repeatedly: a signal between Python's last check and the kernel's wait would be lost.
        _signal.setitimer(_signal.ITIMER_REAL, max(0.001, seconds), TIMER_INTERVAL_S)
        wait()
        _signal.setitimer(_signal.ITIMER_REAL, 0)  # here too: if it fired below, the handler would stay
    finally:
        _signal.setitimer(_signal.ITIMER_REAL, 0)
        _signal.signal(_signal.SIGALRM, _signal.SIG_DFL)
    return True


def _on_timer(_number: int, frame: FrameType | None) -> None:
    """End the wait, if it is still running: a timer left behind by an interrupt fires once and does nothing."""
    _signal.setitimer(_signal.ITIMER_REAL, 0)
    while frame is not None:
        if frame.f_code is _timed.__code__:
            raise _TimerExpiredError
        frame = frame.f_back


def _read(line: bytes) -> tuple[int, int, str]:
    """The pid, commit and id in the gate's line; empty values if it cannot be read."""
    try:
        pid, commit, identifier = int(line[:10] or b"0"), int(line[11:31] or b"0"), line[32:47].decode().strip()
    except ValueError:
        return 0, 0, ""
    return (pid, commit, identifier) if 0 <= commit < MAX_COMMIT else (0, 0, "")
