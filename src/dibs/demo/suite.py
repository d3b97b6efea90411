"""A small CPU-bound test suite, and an agent that runs it once: a separate process of `dibs demo --machine`.

    python -m dibs.demo.suite FOLDER NAME WORKERS CPU_SECONDS LIMIT_SECONDS REPO

Like the usual runners of tests it starts a worker for each processor, and has a time limit of its own, at which it
fails. Each worker needs so much CPU time, whatever else the machine does. With a REPO, which may be "", the agent takes
a slot first, a unit of the workspace's pool `build`, and gives it back when the suite is over.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from contextlib import nullcontext

import dibs
from dibs.demo import files
from dibs.errors import DibsError
from dibs.machine import clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

SLOT = "pool:build"
WAIT_S = 600.0  # for a slot: far longer than the demo takes
CUE_TIMEOUT_S = 60.0
POLL_S = 0.02
STEP = 20_000  # additions between two looks at the clock: about a millisecond


def burn(seconds: float) -> None:
    """Use that much CPU time."""
    while time.process_time() < seconds:
        sum(range(STEP))


def passes(workers: int, seconds: float, limit: float) -> bool:
    """Run the suite; True if all workers were done before its time limit. None of them is left."""
    end = clock.since_boot() + int(limit * 1000)
    parent = os.getppid()
    running: set[int] = set()
    try:
        for _ in range(workers):
            pid = os.fork()
            if not pid:
                signal.signal(signal.SIGTERM, signal.SIG_DFL)
                used = time.process_time()
                burn(used + seconds)
                os._exit(0)
            running.add(pid)
        while running and clock.since_boot() < end and os.getppid() == parent:
            running -= {pid for pid in running if os.waitpid(pid, os.WNOHANG)[0]}
            clock.sleep(POLL_S)
        return not running
    finally:
        for pid in running:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def slot(repo: str, name: str) -> AbstractContextManager[object]:
    """A slot of the machine while the suite runs; without a workspace, nothing."""
    if not repo:
        return nullcontext()
    return dibs.open(repo, agent=name, timeout=30).claim(SLOT, wait=WAIT_S, reason="the suite")


def main(words: Sequence[str]) -> int:
    """Wait for the start, run the suite once, and note when."""
    folder, name, workers, seconds, limit, repo = words
    journal = files.Journal(f"{folder}/{name}.jsonl")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    journal.note("ready", at=clock.since_boot())
    if not files.Markers(folder).wait("go", CUE_TIMEOUT_S):
        return 1
    try:
        journal.note("asks", at=clock.since_boot())
        with slot(repo, name):
            journal.note("begins", at=clock.since_boot())
            passed = passes(int(workers), float(seconds), float(limit))
            journal.note("passed" if passed else "failed", at=clock.since_boot())
    except DibsError as error:
        journal.note("refused", message=error.message, at=clock.since_boot())
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
