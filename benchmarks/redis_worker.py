"""One of many processes that contend on Redis: `python -m benchmarks.redis_worker FOLDER NAME PATHS HELD SECONDS`.

Like worker.py, which it uses: it opens its session, says `ready`, waits for the start, then claims random paths out of
PATHS one after the other, holds each for HELD ms and releases it. The holders are noted in shared memory; a second
holder of a path, or a token that is not above the last, is an error.
"""

from __future__ import annotations

import os
import random
import sys
import time
from typing import TYPE_CHECKING

import dibs
from benchmarks.guard import Guard
from benchmarks.worker import WAIT, take_part, work

if TYPE_CHECKING:
    from collections.abc import Callable


def several_paths(folder: str, name: str, paths: int, held: float) -> Callable[[], float]:
    """Claim one of the contended paths, hold it, release it."""
    workspace = dibs.open(folder, agent=name)
    guard = Guard(os.path.join(folder, "guard"), paths)
    chance = random.Random()  # noqa: S311 - other paths in each process and each round
    workspace.claim(f"warm-{name}").release()

    def act() -> float:
        number = chance.randrange(paths)
        before = time.perf_counter()
        claim = workspace.claim(f"path{number}", wait=WAIT)
        took = time.perf_counter() - before
        with guard.standing(number, name, claim.token):
            if held:
                time.sleep(held)
        claim.release()
        return took

    return act


def main(folder: str, name: str, paths: str, held: str, seconds: str) -> None:
    """One that contends."""
    take_part(
        lambda: several_paths(folder, name, int(paths), float(held) / 1000),
        lambda act, start: work(act, start, float(seconds)),
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
