"""CPU and memory use of processes. Never loaded on the hook path.

`Meter` and `of_trees` measure running processes, through psutil; one that ends meanwhile counts as nothing.
`Stretch` and `of_command` return what the kernel counted for finished work, however short it was.
"""

from __future__ import annotations

import sys
from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage

from dibs.machine import clock

try:
    import psutil
except ImportError:  # then there is no Meter; the kernel's counts still work
    psutil = None  # type: ignore[assignment]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from resource import struct_rusage
    from typing import TypedDict

    class TreeUsage(TypedDict):
        """What a process uses with all below it."""

        cpu: float  # percent of one core
        memory: int  # bytes


CAN_METER = psutil is not None
MAXRSS_UNIT_BYTES = 1 if sys.platform == "darwin" else 1024  # bytes of one unit of ru_maxrss


def of_command(used: struct_rusage) -> dict[str, float | int]:
    """CPU seconds and peak memory of a finished command, with the children that it waited for.

    `memory` is that of its largest process. Linux includes the process that started the command, so it is never less
    than that process's memory.
    """
    return {"cpu": round(used.ru_utime + used.ru_stime, 3), "memory": used.ru_maxrss * MAXRSS_UNIT_BYTES}


class Stretch:
    """What this process and the children it waits for use from now on."""

    def __init__(self) -> None:
        self._cpu = _cpu()

    def read(self) -> dict[str, float | int]:
        """CPU seconds since the start, and the peak memory of this process."""
        return {"cpu": round(_cpu() - self._cpu, 3), "memory": getrusage(RUSAGE_SELF).ru_maxrss * MAXRSS_UNIT_BYTES}


def _cpu() -> float:
    return sum(used.ru_utime + used.ru_stime for used in map(getrusage, (RUSAGE_SELF, RUSAGE_CHILDREN)))


class Meter:
    """Measures this process with all below it, or the given ones with all below them.

    psutil returns the load since the previous call, so the first call for a process returns 0: keep one meter and reuse
    it.
    """

    def __init__(self, pids: Iterable[int] | None = None) -> None:
        self._roots = list(pids) if pids is not None else [psutil.Process().pid]
        self._known: dict[tuple[int, float], psutil.Process] = {}

    def read(self) -> dict[str, float | int]:
        """Percent of one core since the last call, bytes of memory, and the number of threads, summed up."""
        found: dict[tuple[int, float], psutil.Process] = {}
        cpu, memory, threads = 0.0, 0, 0
        for fresh in self._all():
            try:
                key = (fresh.pid, fresh.create_time())
                process = self._known.get(key, fresh)
                with process.oneshot():
                    cpu += process.cpu_percent()
                    memory += process.memory_info().rss
                    threads += process.num_threads()
            except psutil.Error:  # it ended, or access is denied
                continue
            found[key] = process
        self._known = found
        return {"cpu": round(cpu, 1), "memory": memory, "threads": threads}

    def _all(self) -> list[psutil.Process]:
        """The processes and their descendants, each once."""
        found: dict[int, psutil.Process] = {}
        for pid in self._roots:
            try:
                root = psutil.Process(pid)
                below = root.children(recursive=True)
            except psutil.Error:
                continue
            found.update({one.pid: one for one in (root, *below)})
        return list(found.values())


def of_trees(roots: Iterable[int], pause: Callable[[], None]) -> dict[int, TreeUsage]:
    """What each of these processes uses with all below it: percent of one core during the pause, bytes of memory.

    The processes of the machine are listed once, and each is measured once, however many roots there are.
    """
    wanted = set(roots)
    if not wanted:
        return {}
    trees = _trees(wanted)
    known = [(pid, made) for pid in set().union(*trees.values()) if (made := _process(pid)) is not None]
    before, began = {pid: _seconds(one) for pid, one in known}, clock.since_boot()
    pause()
    used: dict[int, tuple[float, int]] = {}
    for pid, one in known:
        after = _seconds(one)
        try:
            used[pid] = max(0.0, after - before[pid]), one.memory_info().rss
        except psutil.Error:  # it ended, or access is denied
            continue
    passed = max(1, clock.since_boot() - began) / 1000
    return {
        root: {
            "cpu": round(100 * sum(used[pid][0] for pid in pids if pid in used) / passed, 1),
            "memory": sum(used[pid][1] for pid in pids if pid in used),
        }
        for root, pids in trees.items()
    }


def seconds_of_trees(roots: Iterable[int]) -> dict[int, tuple[float, list[int]]]:
    """The CPU time so far of each of these processes with all below it, in seconds; and which these are."""
    found = {}
    for root, pids in _trees(set(roots)).items():
        known = [made for pid in sorted(pids) if (made := _process(pid)) is not None]
        found[root] = sum(map(_seconds, known)), [one.pid for one in known]
    return found


def _trees(roots: Iterable[int]) -> dict[int, set[int]]:
    """Each of these processes with all below it."""
    below: dict[int, list[int]] = {}
    for one in psutil.process_iter(["ppid"]):
        below.setdefault(one.info["ppid"], []).append(one.pid)
    return {root: _tree(root, below) for root in roots}


def _tree(root: int, below: dict[int, list[int]]) -> set[int]:
    found, left = {root}, [root]
    while left:
        for pid in below.get(left.pop(), ()):
            if pid not in found:
                found.add(pid)
                left.append(pid)
    return found


def _process(pid: int) -> psutil.Process | None:
    try:
        return psutil.Process(pid)
    except psutil.Error:
        return None


def _seconds(process: psutil.Process) -> float:
    try:
        times = process.cpu_times()
    except psutil.Error:
        return 0.0
    return float(times.user + times.system)
