"""From a hook: the state of a working tree is to be anchored. On the hook path: mostly one file's time, and no import.

A process that anchors stays for some seconds and sees the time; where none runs for that tree, the hook starts one. The
lock that such a process has is given up before it looks for the last time, so no request falls between two of them.
"""

from __future__ import annotations

import os

from dibs.machine import caller

WANTED, TURN = "anchor", "anchor.lock"  # files in a tree's ledger
OFF = "DIBS_STATES"  # "off": no hook asks
CODE = "import sys; sys.path.insert(0, sys.argv.pop(1)); from dibs.states.anchor import stay; stay(sys.argv[1])"


def wanted(folder: str, top: str) -> None:
    """This tree has news."""
    if caller.environ().get(OFF) == "off":
        return
    try:
        fd = os.open(f"{folder}/{WANTED}", os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        os.utime(fd)
        os.close(fd)
        mine = turn(folder)
        if mine is None:
            return
        os.close(mine)
        from dibs.machine import background

        background.start(top, code=CODE)
    except OSError:
        pass  # a sandbox, a full disk: the ledger has the contents


def turn(folder: str) -> int | None:
    """The right to anchor this tree, as an open file; None if another process has it."""
    import fcntl

    fd = os.open(f"{folder}/{TURN}", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(fd)
        return None
    return fd
