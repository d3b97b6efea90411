"""The caller of dibs: its environment, its working directory, the process that the search for its client begins at.

Usually that is this process. A server answers for other processes: a thread of it says for whom it works
(`work_for`), and everything that asks here gets that caller's answers. So a hook's code is the same in both places.

Every hook loads this file: it imports nothing more, and nothing is made before a server asks for it.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from dibs.machine.other_caller import Caller

_threads: Any = None  # for whom each thread works, in a server


def work_for(caller: Caller | None) -> None:
    """From now on this thread works for that caller; None: for this process itself again."""
    global _threads  # noqa: PLW0603 - made once, by the first thread of a server
    if _threads is None:
        from _thread import _local

        _threads = _local()
    _threads.caller = caller


def other() -> Caller | None:
    """The caller that this thread of a server works for; None: this process."""
    return None if _threads is None else getattr(_threads, "caller", None)


def environ() -> Mapping[str, str]:
    """The caller's environment."""
    if _threads is None:
        return os.environ
    found = other()
    return os.environ if found is None else found.environ


def cwd() -> str:
    """The caller's working directory."""
    found = other()
    return os.getcwd() if found is None else found.cwd()


def above() -> int:
    """The pid with which the processes above the caller begin.

    Of this process that is its parent. A server's caller is a shell, which asks in the place of a program that it would
    have started: so it begins with the shell itself.
    """
    found = other()
    return os.getppid() if found is None else found.pid
