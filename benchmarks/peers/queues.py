"""The peers' own queues on SQLite: tasks taken and finished as often as stdin says. Imports nothing of dibs.

Run by the bench with the interpreter of its own environment:

    python -I queues.py NAME FOLDER serve          a number on stdin: that many are taken and finished, the µs of each
                                                   go to stdout as JSON; `twice`: how many came more than once
    python -I queues.py NAME FOLDER load COUNT     add COUNT tasks
    python -I queues.py NAME FOLDER drain          say `ready`, wait for the moment to start, take and finish until
                                                   nothing is left, and answer with what was taken as one line of JSON

Each peer is used as its documentation shows. While it serves, as many tasks as before are put back between two bursts
and finished ones cleared away, neither of them timed, so that no peer pays for a long queue. litequeue asks
SQLite for synchronous=NORMAL, which does not wait for the disk: `litequeue` is measured at FULL like dibs and
the others, `litequeue-default` as it comes. huey removes a task from its queue permanently, and its finish is the
stored result; after a crash in between, the task is lost.
"""

from __future__ import annotations

import importlib
import json
import os
import sqlite3
import sys
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    Taken = tuple[str, Any]  # the task's text, and what the peer wants back to finish it

WAITING_TASKS = 100  # in the queue while it serves
MAX_ERRORS = 100  # a process gives up after this many


class LiteQueue:
    """litequeue: pop and done, at synchronous=FULL."""

    synchronous = "FULL"

    def __init__(self, folder: str) -> None:
        self._queue = importlib.import_module("litequeue").LiteQueue(os.path.join(folder, "litequeue.db"))
        self._queue.conn.execute(f"PRAGMA synchronous = {self.synchronous}")

    def put(self, text: str) -> None:
        """Add one task."""
        self._queue.put(text)

    def take(self) -> Taken | None:
        """Take one."""
        message = self._queue.pop()
        return (message.data, message.message_id) if message is not None else None

    def finish(self, handle: str) -> None:
        """Finish it."""
        self._queue.done(handle)

    def tidy(self) -> None:
        """Drop finished tasks."""
        self._queue.prune()


class LiteQueueDefault(LiteQueue):
    """litequeue as it comes."""

    synchronous = "NORMAL"


class PersistQueue:
    """persist-queue's SQLiteAckQueue: get and ack. Its SQLite commits at FULL by default."""

    def __init__(self, folder: str) -> None:
        library = importlib.import_module("persistqueue")
        self._queue, self._empty = library.SQLiteAckQueue(os.path.join(folder, "persist-queue")), library.Empty

    def put(self, text: str) -> None:
        """Add one task."""
        self._queue.put(text)

    def take(self) -> Taken | None:
        """Take one."""
        try:
            item = self._queue.get(block=False)
        except self._empty:
            return None
        return item, item

    def finish(self, handle: str) -> None:
        """Finish it."""
        self._queue.ack(handle)

    def tidy(self) -> None:
        """Drop finished tasks."""
        self._queue.clear_acked_data(keep_latest=0)


class Huey:
    """huey's storage on SQLite with an fsync at each commit: dequeue, and store a result."""

    def __init__(self, folder: str) -> None:
        storage = importlib.import_module("huey.storage").SqliteStorage
        self._storage = storage("bench", filename=os.path.join(folder, "huey.db"), fsync=True)

    def put(self, text: str) -> None:
        """Add one task."""
        self._storage.enqueue(text.encode())

    def take(self) -> Taken | None:
        """Take one."""
        data = self._storage.dequeue()
        return (data.decode(), data.decode()) if data is not None else None

    def finish(self, handle: str) -> None:
        """Store its result."""
        self._storage.put_data(handle, b"null")

    def tidy(self) -> None:
        """Drop the results."""
        self._storage.flush_results()


QUEUES: dict[str, Callable[[str], Any]] = {
    "litequeue": LiteQueue,
    "litequeue-default": LiteQueueDefault,
    "persist-queue": PersistQueue,
    "huey": Huey,
}


def serve(queue: Any) -> None:
    """Take and finish as told, until stdin ends."""
    added = 0
    taken: list[str] = []
    for line in sys.stdin:
        if line.strip() == "twice":
            _answer([len(taken) - len(set(taken))])
            continue
        queue.tidy()
        while added < len(taken) + WAITING_TASKS:
            added += 1
            queue.put(f"task {added}")
        times = []
        for _ in range(int(line)):
            before = time.perf_counter_ns()
            text, handle = queue.take()
            queue.finish(handle)
            times.append((time.perf_counter_ns() - before) / 1000)
            taken.append(text)
        _answer(times)


def drain(queue: Any) -> None:
    """One of several: take and finish until nothing is left."""
    _say("ready")
    start = sys.stdin.readline()
    if not start:  # the parent has ended
        return
    time.sleep(max(0.0, float(start) - time.monotonic()))
    taken: list[str] = []
    errors: list[str] = []
    while len(errors) < MAX_ERRORS:
        try:
            found = queue.take()
            if found is None:
                break
            taken.append(found[0])
            queue.finish(found[1])
        except sqlite3.Error as error:
            errors.append(f"{type(error).__name__}: {error}")
    _answer({"tasks": taken, "end": time.monotonic(), "errors": errors[:5], "failed": len(errors)})


def _answer(value: Any) -> None:
    _say(json.dumps(value))


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def main(name: str, folder: str, verb: str, count: str = "0") -> None:
    """Do one of the three."""
    queue = QUEUES[name](folder)
    if verb == "serve":
        serve(queue)
    elif verb == "drain":
        drain(queue)
    else:
        for number in range(int(count)):
            queue.put(f"task {number}")


if __name__ == "__main__":
    main(*sys.argv[1:])
