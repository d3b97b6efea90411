"""The peers' own locks, acquired and released as often as stdin says; the µs of each go to stdout as JSON.

Run by the bench with the interpreter of its own environment: `python -I locks.py NAME FOLDER`. It imports nothing of
dibs. Each peer is used as its documentation shows, with its own defaults. Those differ in what is safe on the disk:
huey's SQLite commits with an fsync as dibs does, CoordinationHub's does not (synchronous=NORMAL), filelock writes
nothing.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    Act = Callable[[int], object]


def of_filelock(folder: str) -> tuple[Act, Act]:
    """One lock file, an object kept: acquire and release."""
    lock = importlib.import_module("filelock").FileLock(os.path.join(folder, "filelock"))
    return lambda _: lock.acquire(), lambda _: lock.release()


def of_huey(folder: str) -> tuple[Act, Act]:
    """A task lock of huey on its SQLite storage, each on a new name."""
    huey = importlib.import_module("huey").SqliteHuey(filename=os.path.join(folder, "huey.db"))
    locks: dict[int, object] = {}

    def acquire(number: int) -> object:
        lock = locks[number] = huey.lock_task(f"src/file{number}.py")
        return lock.acquire()

    return acquire, lambda number: huey.delete(f"{huey.name}.lock.src/file{number}.py")


def of_coordinationhub(folder: str) -> tuple[Act, Act]:
    """A document lock of CoordinationHub's library, each on a new path, by a registered agent."""
    core = importlib.import_module("coordinationhub.core")
    engine = core.CoordinationEngine(storage_dir=Path(folder, "hub"), project_root=Path(folder))
    engine.start()
    engine.register_agent("hub.bench")

    def acquire(number: int) -> object:
        answer = engine.acquire_lock(f"src/file{number}.py", "hub.bench")
        assert answer["acquired"], answer
        return answer

    return acquire, lambda number: engine.release_lock(f"src/file{number}.py", "hub.bench")


# Is giving it back part of the time? filelock is known by the pair; the others are held against one claim.
MAKERS = {"filelock": (of_filelock, True), "huey": (of_huey, False), "coordinationhub": (of_coordinationhub, False)}


def main(name: str, folder: str) -> None:
    """Serve until stdin ends."""
    maker, pair = MAKERS[name]
    acquire, release = maker(folder)
    number = 0
    for line in sys.stdin:
        taken = []
        for _ in range(int(line)):
            number += 1
            before = time.perf_counter_ns()
            acquire(number)
            held = time.perf_counter_ns()
            release(number)
            taken.append(((time.perf_counter_ns() if pair else held) - before) / 1000)
        sys.stdout.write(json.dumps(taken) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
