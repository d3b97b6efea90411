"""Ends a process of this machine that is named in full: host, boot, namespace, pid and start time; never a pid alone.

It is asked to end (SIGTERM), and killed if it does not within a few seconds. On Linux the signal goes to a file
descriptor of the process (pidfd), so that a pid that is reused in between is not hit.
"""

from __future__ import annotations

import os
import select
import signal
from time import monotonic, sleep

from dibs.machine import processes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

TERM_TIMEOUT_S = 5.0  # a client saves its session in this time
KILL_TIMEOUT_S = 5.0  # the kernel needs longer only for a process that hangs in a system call
POLL_S = 0.02


def end(process: list[Any], timeout: float = TERM_TIMEOUT_S) -> str:
    """End it: the signal that did, "" if it was gone before. Raises OSError if it may not be ended, or does not end."""
    fd = _opened(process[3])
    try:
        for number, seconds in ((signal.SIGTERM, timeout), (signal.SIGKILL, KILL_TIMEOUT_S)):
            if processes.alive(process) is not True:  # asked after the descriptor was opened: both mean one process
                return ""
            try:
                if fd >= 0:
                    signal.pidfd_send_signal(fd, number)
                else:
                    os.kill(process[3], number)
            except ProcessLookupError:
                return ""
            if _has_ended(process, fd, seconds):
                return signal.Signals(number).name
    finally:
        if fd >= 0:
            os.close(fd)
    raise TimeoutError(f"process {process[3]} does not end")


def _opened(pid: int) -> int:
    """A descriptor of the process; -1 where the system has none."""
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        return -1


def _has_ended(process: list[Any], fd: int, seconds: float) -> bool:
    if fd >= 0:
        return bool(select.select([fd], [], [], seconds)[0])
    end = monotonic() + seconds
    while processes.alive(process) is True:
        if monotonic() >= end:
            return False
        sleep(POLL_S)
    return True
