"""What processes use: cpu, memory, threads, through psutil.

Loaded where somebody asks for it, which is never the hook path. Processes that end while one looks count as nothing.
"""

from __future__ import annotations

import psutil

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


class Meter:
    """Measures this process with all below it, or the given ones with all below them.

    psutil tells how busy a process was since it was asked last, so the first look at a process says 0: keep one meter
    and ask it again.
    """

    def __init__(self, pids: Iterable[int] | None = None) -> None:
        self._roots = list(pids) if pids is not None else [psutil.Process().pid]
        self._known: dict[tuple[int, float], psutil.Process] = {}

    def read(self) -> dict[str, float | int]:
        """Percent of one core since the last look, bytes of memory, and the number of threads, all added up."""
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
            except psutil.Error:  # it ended meanwhile, or is not ours to look at
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
