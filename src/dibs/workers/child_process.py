"""Commands that end with their owner, as a whole process group. held_command.py adds the claim.

Each command has its own process group. The keeper (child_keeper.py) knows the group and the claim's deadline before the
command's first instruction runs. So the command ends when its owner dies, by any signal, and when the claim expires
while the owner is stopped. A process that leaves the group (`setsid`) is not covered.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from threading import RLock

from dibs.machine import clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from resource import struct_rusage
    from typing import Any

KILL_GRACE_MS = 5_000  # between SIGTERM and SIGKILL
FIRST_PAUSE_S, MAX_PAUSE_S = 0.0005, 0.05  # between two polls of a command, as in Popen.wait
# Waits for the owner's go, which is sent once the keeper knows the group; if the owner dies before, it ends.
WAIT_FOR_GO = 'read -r _ </dev/fd/"$1" && shift && exec "$@"'


def exit_text(code: int) -> str:
    """How a command ended, in words."""
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"killed by signal {-code}"


class Keeper:
    """The owner's connection to its keeper, which is started when it is first needed."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self.lock = RLock()  # the heartbeat's thread, the main thread, and a signal handler in the main thread

    @property
    def pid(self) -> int:
        """The keeper's pid; 0 while there is none."""
        return self._process.pid if self._process is not None else 0

    def tell(self, group: int, until: int) -> None:
        """Tell the keeper the running group and its claim's deadline; a dead keeper is replaced."""
        line = b"%d %d\n" % (group, until)
        with self.lock:
            for _ in range(2):
                process = self._process or self._start()
                assert process.stdin is not None
                try:
                    process.stdin.write(line)
                except BrokenPipeError:
                    self._drop()
                else:
                    return

    def close(self) -> None:
        """Nothing runs any more: let the keeper end."""
        if self._process is not None:
            self.tell(0, 0)
            self._drop()

    def _start(self) -> subprocess.Popen[bytes]:
        script = os.path.join(os.path.dirname(__file__), "child_keeper.py")
        self._process = subprocess.Popen(  # noqa: S603 - this interpreter on a file of ours
            [sys.executable, "-I", "-S", script],
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        return self._process

    def _drop(self) -> None:
        process, self._process = self._process, None
        if process is not None and process.stdin is not None:
            process.stdin.close()
            try:
                process.wait(KILL_GRACE_MS / 1000)
            except subprocess.TimeoutExpired:  # it was killed
                process.kill()
                process.wait()


class Child:
    """One running command."""

    __slots__ = ("_asked", "_keeper", "_over", "_process", "_word", "used")

    def __init__(
        self, keeper: Keeper, command: Sequence[str], *, until: int, waits: bool = False, **settings: Any
    ) -> None:
        """Start it. `settings` are those of subprocess.Popen: the environment, the folder, the three streams.

        `waits`: it starts only at `go`; if this process dies before, it never starts.
        """
        self._keeper = keeper
        self._asked = 0  # when it got SIGTERM
        self._over = False  # from then on its pid may be reused
        self.used: struct_rusage | None = None  # by it and the children it waited for, once it has ended
        reading, self._word = os.pipe()
        try:
            words = ["/bin/sh", "-c", WAIT_FOR_GO, "dibs", str(reading), *command]
            self._process = subprocess.Popen(words, pass_fds=(reading,), start_new_session=True, **settings)  # noqa: S603 - running a given command is the purpose
            try:
                keeper.tell(self._process.pid, until)
                if not waits:
                    self.go()
            except BaseException:
                self._process.kill()
                self._process.wait()
                raise
        except BaseException:
            self._close_word()
            raise
        finally:
            os.close(reading)

    def go(self) -> None:
        """It may begin."""
        word, self._word = self._word, -1
        try:
            os.write(word, b"\n")
        except BrokenPipeError:  # it was ended before it began
            pass
        finally:
            os.close(word)

    def cancel(self) -> None:
        """Cancel it before it begins."""
        self._close_word()
        self._process.kill()
        self._process.wait()
        with self._keeper.lock:
            self._over = True
            self._keeper.tell(0, 0)

    def _close_word(self) -> None:
        word, self._word = self._word, -1
        if word >= 0:
            os.close(word)

    @property
    def pid(self) -> int:
        """The process, and its group."""
        return self._process.pid

    @property
    def stderr(self) -> Any:
        """Its standard error, if that is a pipe."""
        return self._process.stderr

    @property
    def asked(self) -> bool:
        """Was it asked to end?"""
        return self._asked > 0

    def keep(self, until: int) -> None:
        """Note its claim's new deadline."""
        with self._keeper.lock:
            if not self._over:
                self._keeper.tell(self.pid, until)

    def end(self, number: int = signal.SIGTERM) -> None:
        """Send SIGTERM; the second call sends SIGKILL."""
        self._signal(signal.SIGKILL if self._asked else number)
        self._asked = self._asked or clock.since_boot()

    def kill_after_grace(self) -> None:
        """Kill it after the grace period."""
        if self._asked and clock.since_boot() - self._asked >= KILL_GRACE_MS:
            self._signal(signal.SIGKILL)

    def wait(self, timeout: float | None = None, *, leaves: bool = False) -> int | None:
        """Its exit code (minus a signal's number), or None if it still runs.

        Its remaining group is killed, unless it succeeded and `leaves`.
        """
        code = self._reap(timeout)
        if code is None:
            return None
        with self._keeper.lock:
            if code or not leaves:
                self._signal(signal.SIGKILL)
            self._over = True
            self._keeper.tell(0, 0)
        return code

    def _reap(self, timeout: float | None) -> int | None:
        """Wait as Popen does, and also get the kernel's usage counts: a short command's cannot be read later."""
        if self._process.returncode is not None:
            return self._process.returncode
        end, pause = None if timeout is None else time.monotonic() + timeout, FIRST_PAUSE_S
        while True:
            try:
                pid, status, used = os.wait4(self.pid, 0 if end is None else os.WNOHANG)
            except ChildProcessError:  # it was reaped elsewhere; Popen returns 0, too
                return self._process.wait()
            if pid:
                self._process.returncode, self.used = os.waitstatus_to_exitcode(status), used
                return self._process.returncode
            assert end is not None, "a wait without an end does not return without a process"
            left = end - time.monotonic()
            if left <= 0:
                return None
            pause = min(pause * 2, left, MAX_PAUSE_S)
            time.sleep(pause)

    def _signal(self, number: int) -> None:
        with self._keeper.lock:
            if self._over:
                return
            try:
                os.killpg(self.pid, number)
            except (
                ProcessLookupError,
                PermissionError,
            ):  # the group is empty (macOS raises the second error for zombies)
                pass
