"""Several processes that drain one queue together: dibs', the bare one's, a peer's.

Each is a separate interpreter, ready and waiting before the clock starts. They take and finish until the queue is
empty, and answer with the tasks they took: duplicates and lost tasks are counted. The time is from the start to the end
of the last process. `python -m benchmarks.work_processes KIND FOLDER NAME` is one of those processes; a peer's is in
peers/queues.py and speaks the same way.
"""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import apsw

from benchmarks.crowd import let_loose
from benchmarks.environment import QUEUES
from benchmarks.work_queues import Bare, Queue, Tasks
from benchmarks.worker import take_part
from dibs.errors import DibsError

if TYPE_CHECKING:
    from benchmarks.environment import Environment
    from benchmarks.figures import Burst
    from benchmarks.place import Bench

WORKERS = 4
MAX_ERRORS = 100  # a process gives up after this many
TEXTS = "texts.json"  # in the bare queue's folder: the rows and events to write
BARE, PAIRS, CHAINED, TURNS = "bare", "pairs", "chained", "turns"
TASKS_PER_TURN = 10  # finished and taken in one transaction


class Tally:
    """The errors of all rounds of draining a queue."""

    def __init__(self) -> None:
        self.tasks = self.twice = self.lost = self.failed = 0
        self.first = ""  # the first error

    def count(self, expected: int, answers: list[dict[str, Any]]) -> None:
        """Add one round."""
        taken = [task for answer in answers for task in answer["tasks"]]
        self.tasks += expected
        self.twice += len(taken) - len(set(taken))
        self.lost += expected - len(set(taken))
        self.failed += sum(answer["failed"] for answer in answers)
        self.first = self.first or next((error for answer in answers for error in answer["errors"]), "")

    @property
    def clean(self) -> bool:
        """Was every task taken by one worker, once?"""
        return not (self.twice or self.lost or self.failed)

    @property
    def note(self) -> str:
        """In words."""
        words = f"{self.twice:,} of {self.tasks:,} came twice" if self.twice else "none twice"
        words += f", {self.lost:,} never" if self.lost else ""
        return words + (f", {self.failed:,} errors ({self.first})" if self.failed else "")


def of_dibs(bench: Bench, kind: str, texts: dict[str, Any], count: int, tally: Tally) -> Burst:
    """Rounds of draining dibs' tasks or the bare queue, each in a new folder; µs for each task."""
    rounds = itertools.count(1)

    def once() -> float:
        name = f"{kind}-{next(rounds)}"
        folder = bench.sub(name) if kind == BARE else bench.workspace(name)
        _fill(kind, folder, texts, count)
        words = [sys.executable, "-m", "benchmarks.work_processes", kind, folder]
        return drained([[*words, f"worker{place}"] for place in range(WORKERS)], folder, count, tally)

    return lambda times: [once() for _ in range(times)]


def of_peer(bench: Bench, environment: Environment, name: str, count: int, tally: Tally) -> Burst:
    """The same for a peer."""
    rounds = itertools.count(1)

    def once() -> float:
        folder = bench.sub(f"{name}-{next(rounds)}")
        words = [environment.python, "-I", QUEUES, name, folder]
        subprocess.run([*words, "load", str(count)], check=True, timeout=300)
        return drained([[*words, "drain"]] * WORKERS, folder, count, tally)

    return lambda times: [once() for _ in range(times)]


def _fill(kind: str, folder: str, texts: dict[str, Any], count: int) -> None:
    queue: Queue
    if kind == BARE:
        with open(os.path.join(folder, TEXTS), "w", encoding="utf-8") as file:
            json.dump(texts, file)
        queue = bare = Bare(folder, texts)
        bare.make()
    else:
        queue = Tasks(folder, turn=TASKS_PER_TURN if kind == TURNS else 0)
    queue.add(count)
    queue.close()


def drained(commands: list[list[str]], folder: str, count: int, tally: Tally) -> float:
    """Run these processes on a queue of this many tasks; returns the µs for each task, all working together."""
    start, lines = let_loose(commands, folder)
    answers = [json.loads(line or _died(start)) for line in lines]
    tally.count(count, answers)
    last: float = max(answer["end"] for answer in answers)
    return (last - start) * 1e6 / count


def _died(start: float) -> str:
    return json.dumps({"tasks": [], "end": start, "errors": ["a worker died"], "failed": 1})


# --- one of the processes


def opened(kind: str, folder: str, name: str) -> Queue:
    """The queue as one worker sees it."""
    if kind != BARE:
        return Tasks(folder, name, chained=kind == CHAINED, turn=TASKS_PER_TURN if kind == TURNS else 0)
    with open(os.path.join(folder, TEXTS), encoding="utf-8") as file:
        return Bare(folder, json.load(file))


def work(queue: Queue, start: float) -> dict[str, Any]:
    """Take and finish until the queue is empty."""
    taken: list[str] = []
    errors: list[str] = []
    time.sleep(max(0.0, start - time.monotonic()))
    while len(errors) < MAX_ERRORS:
        try:
            item = queue.take()
            if item is None:
                break
            taken.append(item[0])
            queue.finish(item)
        except (DibsError, apsw.Error, OSError) as error:
            errors.append(f"{type(error).__name__}: {error}")
    return {"tasks": taken, "end": time.monotonic(), "errors": errors[:5], "failed": len(errors)}


def main(kind: str, folder: str, name: str) -> None:
    """One that drains."""
    take_part(lambda: opened(kind, folder, name), work)


if __name__ == "__main__":
    main(*sys.argv[1:])
