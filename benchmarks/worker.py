"""One of many processes that contend: `python -m benchmarks.worker MODE FOLDER NAME SECONDS`.

It opens its store, says `ready`, waits for a line with the start time, works for SECONDS and answers with one line of
JSON; another start line is another round. Modes: `path` claims one path that all of them want, waiting in the queue;
`files` claims its own file; `busy` runs bare transactions with SQLite's busy timeout alone, which the gate improves on;
`direct` and `socket` are `files` at the store itself and through the workspace's server.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import TYPE_CHECKING, Any, TypeVar

import apsw

import dibs
from benchmarks.guard import Guard, MutualExclusionError
from dibs.client.driver import StoreLink
from dibs.client.server_link import SocketLink
from dibs.errors import DibsError

if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.client.session import Link

Way = TypeVar("Way")  # a process's open session or connection

WAIT = 120  # seconds: no process gives up, so that the longest wait is seen

SETUP = (
    "CREATE TABLE kv (k TEXT PRIMARY KEY, v TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE log (seq INTEGER PRIMARY KEY, body TEXT NOT NULL)",
)


def one_path(folder: str, name: str) -> Callable[[], float]:
    """Claim the contended path, check that there is no other holder, release it."""
    workspace = dibs.open(folder, agent=name)
    guard = Guard(os.path.join(folder, "guard"), 1)

    def act() -> float:
        before = time.perf_counter()
        claim = workspace.claim("hot.txt", wait=WAIT)
        took = time.perf_counter() - before
        with guard.standing(0, name, claim.token):
            pass
        claim.release()
        return took

    return act


def own_file(folder: str, name: str, link: Link | None = None) -> Callable[[], float]:
    """Claim the process's own file and release it: only the store is contended for."""
    workspace = dibs.open(folder, agent=name)
    if link is not None:
        workspace.session.link = link

    def act() -> float:
        before = time.perf_counter()
        claim = workspace.claim(f"{name}.txt")
        took = time.perf_counter() - before
        claim.release()
        return took

    return act


def busy_timeout(folder: str, name: str) -> Callable[[], float]:
    """Two writes in a bare transaction, each process on its own rows, with SQLite's busy handler."""
    connection = apsw.Connection(os.path.join(folder, "busy.db"))
    connection.set_busy_timeout(WAIT * 1000)
    connection.execute("PRAGMA synchronous = FULL")
    value = "v" * 400  # about the size of a claim's row and event
    number = 0

    def act() -> float:
        nonlocal number
        number += 1
        before = time.perf_counter()
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("INSERT OR REPLACE INTO kv VALUES (?, ?)", (f"{name}-{number % 10}", value))
        connection.execute("INSERT INTO log (body) VALUES (?)", (value,))
        connection.execute("COMMIT")
        return time.perf_counter() - before

    return act


def make_busy(folder: str) -> None:
    """The database of the bare transactions."""
    connection = apsw.Connection(os.path.join(folder, "busy.db"))
    connection.execute("PRAGMA journal_mode = WAL")
    for statement in SETUP:
        connection.execute(statement)
    connection.close()


def at_the_store(folder: str, name: str) -> Callable[[], float]:
    """The same, whatever serves the workspace."""
    return own_file(folder, name, StoreLink())


def through_the_socket(folder: str, name: str) -> Callable[[], float]:
    """The same through the server, also if nobody else is there."""
    return own_file(folder, name, SocketLink(os.path.join(folder, ".dibs", "local")))


MODES = {
    "path": one_path, "files": own_file, "busy": busy_timeout, "direct": at_the_store, "socket": through_the_socket,
}  # fmt: skip


def work(act: Callable[[], float], start: float, seconds: float) -> dict[str, Any]:
    """Repeat the work until the time is up. Only work within the time counts; all waits are kept."""
    waits: list[float] = []
    errors: list[str] = []
    within = 0
    end = start + seconds
    time.sleep(max(0.0, start - time.monotonic()))
    while time.monotonic() < end:
        try:
            waits.append(act())
        except (DibsError, apsw.Error, OSError, ValueError, MutualExclusionError) as error:
            errors.append(f"{type(error).__name__}: {error}")
            if isinstance(error, MutualExclusionError):
                break
            continue
        within += time.monotonic() < end
    return {"waits": waits, "within": within, "errors": errors[:5], "failed": len(errors)}


def take_part(open_way: Callable[[], Way], work: Callable[[Way, float], dict[str, Any]]) -> None:
    """Say ready; at each start line, work and answer. Common to all these processes."""
    try:
        way = open_way()
    except (DibsError, apsw.Error, OSError) as error:
        sys.stdout.write(f"{type(error).__name__}: {error}\n")
        sys.stdout.flush()
        os._exit(1)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    for start in iter(sys.stdin.readline, ""):  # until the parent has ended
        sys.stdout.write(json.dumps(work(way, float(start))) + "\n")
        sys.stdout.flush()
    os._exit(0)


def main(mode: str, folder: str, name: str, seconds: str) -> None:
    """One that contends."""
    take_part(lambda: MODES[mode](folder, name), lambda act, start: work(act, start, float(seconds)))


if __name__ == "__main__":
    main(*sys.argv[1:])
