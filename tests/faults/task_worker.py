"""A worker to be killed: takes tasks, has its effect elsewhere by the task's key, finishes them; and a sweeper.

    python -m tests.faults.task_worker work FOLDER AGENT EFFECTS STOP
    python -m tests.faults.task_worker sweep FOLDER AGENT STOP

The effect is a row in another database, whose key is the task's: that is what an idempotency key is for. How often it
was attempted is in a file beside it. The process ends when nothing is ready and STOP exists.
"""

from __future__ import annotations

import contextlib
import os
import random
import sys
import time
from typing import Any

import apsw

import dibs

LONGEST = 0.02  # seconds of work on one task
PATIENCE = 60.0


class Effects:
    """What work on tasks leads to, outside of dibs."""

    def __init__(self, path: str) -> None:
        self._database = apsw.Connection(path)
        self._database.set_busy_timeout(int(PATIENCE * 1000))
        self._database.execute("PRAGMA journal_mode = WAL")
        self._database.execute("CREATE TABLE IF NOT EXISTS effects (key TEXT PRIMARY KEY, agent TEXT)")
        self._attempts = os.open(f"{path}.attempts", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def have(self, key: str, agent: str) -> None:
        """Once for each key, however often it is asked for."""
        os.write(self._attempts, f"{key} {agent}\n".encode())
        self._database.execute("INSERT OR IGNORE INTO effects VALUES (?, ?)", (key, agent))


def work(folder: str, agent: str, effects: str, stop: str) -> None:
    """Take, do, finish, until there is nothing more."""
    elsewhere = Effects(effects)
    with dibs.open(folder, agent, timeout=PATIENCE) as workspace:
        held = workspace.briefing["task"]
        current: Any = None
        if held is not None:  # an earlier process of this agent died at it, and it came to this one under a new token
            current = {"task": workspace.task_show(held["id"])["task"], "token": held["token"]}
        while True:
            if current is None:
                try:
                    current = workspace.task_next(wait=1)
                except (dibs.Busy, dibs.Unavailable):  # no turn in time, or the server is down: as a worker, ask again
                    continue
                except dibs.Quota as full:  # taken with a finish whose answer was lost
                    (mine,) = full.fields["tasks"]
                    current = {"task": workspace.task_show(mine["id"])["task"], "token": mine["token"]}
                except dibs.NotFound:
                    if os.path.exists(stop):
                        return
                    continue
            task, token = current["task"], current["token"]
            time.sleep(random.random() * LONGEST)
            elsewhere.have(task["key"], agent)
            try:
                answer = workspace.task_done(
                    task["id"], token=token, result={"by": agent}, next=random.random() < 0.5
                )  # fmt: skip
            except (dibs.Busy, dibs.Unavailable):  # whether it was done is not known: with the token it counts once
                continue
            except dibs.Fenced:  # too late: it is somebody else's, or done
                current = None
                continue
            current = answer.get("next")


def sweep(folder: str, agent: str, stop: str) -> None:
    """End what came due, again and again."""
    with dibs.open(folder, agent, timeout=PATIENCE) as workspace:
        while not os.path.exists(stop):
            with contextlib.suppress(dibs.Busy, dibs.Unavailable):
                workspace.sweep()
            time.sleep(0.5)


if __name__ == "__main__":
    if sys.argv[1] == "work":
        work(*sys.argv[2:])
    else:
        sweep(*sys.argv[2:])
