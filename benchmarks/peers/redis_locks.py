"""redis-py's own Lock on a server: acquired and released as often as stdin says, or by one of many that contend.

Run by the bench with the interpreter of its own environment, it imports nothing of dibs:

    python -I redis_locks.py URL serve                     a number on stdin: that many are acquired and released, each
                                                           on a new name; the µs of each go to stdout as JSON
    python -I redis_locks.py URL contend PATHS HELD SECONDS
                                                           say `ready`, wait for the moment to start; acquire one of so
                                                           many names, hold it for so many ms, release; one line of JSON

The Lock is used as its documentation shows, with a timeout so that it ends with its holder. One that is taken is tried
again every 100 ms, which is its default. It has no fencing token, no event, no order of waiters, and no overlapping
paths.
"""

from __future__ import annotations

import importlib
import json
import random
import sys
import time
from typing import Any

LIFE_S = 60  # of a lock
WAIT_S = 120  # long enough that no process gives up


def serve(client: Any) -> None:
    """As many pairs as requested, until stdin ends."""
    number = 0
    for line in sys.stdin:
        taken = []
        for _ in range(int(line)):
            number += 1
            lock = client.lock(f"src/file{number}.py", timeout=LIFE_S)
            before = time.perf_counter_ns()
            lock.acquire()
            lock.release()
            taken.append((time.perf_counter_ns() - before) / 1000)
        _say(json.dumps(taken))


def contend(client: Any, paths: int, held: float, seconds: float) -> None:
    """One of several."""
    chance = random.Random()  # noqa: S311 - other paths in each process and each round
    client.ping()
    _say("ready")
    line = sys.stdin.readline()
    if not line:  # the parent has ended
        return
    start = float(line)
    waits: list[float] = []
    errors: list[str] = []
    within, end = 0, start + seconds
    time.sleep(max(0.0, start - time.monotonic()))
    while time.monotonic() < end:
        lock = client.lock(f"path{chance.randrange(paths)}", timeout=LIFE_S)
        before = time.perf_counter()
        try:
            if not lock.acquire(blocking_timeout=WAIT_S):
                errors.append("it was not to be had")
                continue
            waits.append(time.perf_counter() - before)
            if held:
                time.sleep(held)
            lock.release()
        except Exception as error:  # noqa: BLE001 - of whatever kind: it is counted
            errors.append(f"{type(error).__name__}: {error}")
            continue
        within += time.monotonic() < end
    _say(json.dumps({"waits": waits, "within": within, "errors": errors[:5], "failed": len(errors)}))


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def main(url: str, verb: str, paths: str = "1", held: str = "0", seconds: str = "0") -> None:
    """Do one of the two."""
    client = importlib.import_module("redis").Redis.from_url(url)
    if verb == "serve":
        serve(client)
    else:
        contend(client, int(paths), float(held) / 1000, float(seconds))


if __name__ == "__main__":
    main(*sys.argv[1:])
