"""Lock files of git: which one stopped a command, how old it is, and which processes may still need it.

Git makes `X.lock` next to a file that it is about to write (an index, a ref, HEAD) and renames or removes it in the
end. A git that is killed, or whose machine is, leaves it, and every later git refuses. Whether one is left over cannot
be known by the file: git closes it while it still needs it. So nothing is removed here; what is known is told.
"""

from __future__ import annotations

import os

from dibs.errors import quoted
from dibs.machine import clock
from dibs.machine.relative_times import short

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

HAS_PROC = os.path.isdir("/proc/self/fd")
REFUSAL, REASON = "Unable to create '", "': File exists"  # around the path, in git's message (C locale)
MAX_NAMED = 3  # processes in a message
MAX_COMMAND_CHARS = 60


def named(said: str, cwd: str) -> str:
    """The lock file that git's message says was in its way; "" if it says nothing of the kind."""
    path, reason, _ = said.partition(REFUSAL)[2].partition(REASON)
    return os.path.normpath(os.path.join(cwd, path)) if reason else ""


def age_ms(path: str) -> int | None:
    """How old a file is; None if it is gone."""
    try:
        return max(0, clock.wall() - os.lstat(path).st_mtime_ns // 1_000_000)
    except OSError:
        return None


def describe(path: str, tops: Sequence[str]) -> str:
    """A lock file that stays, and what to do. `tops`: the working trees of its repository."""
    age = age_ms(path)
    if age is None:
        return f"{path} was in the way; it is gone now: try again."
    facts = f"{path}, {short(age)} old"
    if not HAS_PROC:
        return f"{facts}. If no git runs in this repository, it is left from one that was killed: `rm {quoted(path)}`."
    openers, gits = _processes(path, tops)
    if openers:
        return f"{facts}, which {_some(openers)} has open. Wait until it has ended, then try again."
    if gits:
        return (
            f"{facts}. No process has it open, but {_some(gits)} runs in this repository: wait until it has ended. "
            f"If the file is still there then, it is left from a git that was killed: `rm {quoted(path)}`."
        )
    return (
        f"{facts}. No process has it open and no git of yours runs in this repository on this machine: it is left from "
        f"a git that was killed. Remove it: `rm {quoted(path)}`."
    )


def _some(found: Sequence[str]) -> str:
    more = len(found) - MAX_NAMED
    return " and ".join(found[:MAX_NAMED]) + (f" and {more} more" if more > 0 else "")


def _processes(path: str, tops: Sequence[str]) -> tuple[list[str], list[str]]:
    """The processes that have a file open, and the gits in these working trees; of those that this user may look at."""
    roots = tuple(f"{top}/" for top in (*tops, os.path.dirname(path)))
    openers, gits = [], []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        if int(pid) == os.getpid():
            continue
        try:
            words = _words(pid)
            if any(_link(f"/proc/{pid}/fd/{fd}") == path for fd in os.listdir(f"/proc/{pid}/fd")):
                openers.append(_shown(pid, words))
            elif os.path.basename(words[0]).startswith("git") and _is_below(pid, words, roots):
                gits.append(_shown(pid, words))
        except (OSError, IndexError):  # it ended, it is another user's, it is the kernel's
            continue
    return openers, gits


def _is_below(pid: str, words: Sequence[str], roots: tuple[str, ...]) -> bool:
    places = [f"{_link(f'/proc/{pid}/cwd')}/", *[f"{word}/" for word in words]]
    return any(place.startswith(roots) for place in places)


def _words(pid: str) -> list[str]:
    """The command line of a process; its name alone for a moment of its start, in which it has none."""
    with open(f"/proc/{pid}/cmdline", "rb") as file:
        words = [os.fsdecode(word) for word in file.read().split(b"\0") if word]
    if words:
        return words
    with open(f"/proc/{pid}/comm", "rb") as file:
        return [os.fsdecode(file.read()).strip()]


def _link(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""


def _shown(pid: str, words: Sequence[str]) -> str:
    return f"`{' '.join(words)[:MAX_COMMAND_CHARS]}` (pid {pid})"
