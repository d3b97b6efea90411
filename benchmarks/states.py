"""`python -m benchmarks.states`: what the states of working trees take after a day of ten agents, and what hooks pay.

The day is simulated, the states are not: ten agents, each in a working tree of its own, change files of a repository of
a thousand, commit now and then, and have a state anchored at each change; the clock jumps from one to the next, and the
clean-up runs every hour, as in the process behind the hooks. Then the sizes are looked at: dibs' store, the
repository's own objects, the refs.

The hooks: an Edit with both of its hooks, as a client runs them, with anchoring and without, one after the other in
turn. The process that anchors runs meanwhile, on the same machine.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from functools import partial
from typing import Any

from benchmarks import hooks
from benchmarks.figures import median, timed
from benchmarks.place import Bench
from dibs.ledger import working_tree
from dibs.machine import clock
from dibs.states import anchor, request, retention, store
from dibs.workspace import location

AGENTS, HOURS, FILES = 10, 8, 1_000
LINES = 200  # of a file
COMMIT_EVERY = 30  # states
KEEP_MS, MOST = 7 * 86_400_000, 1 << 30


def git(folder: str, *words: str) -> str:
    """Run git."""
    done = subprocess.run(["git", "-C", folder, *words], check=True, capture_output=True, text=True)
    return done.stdout.strip()


class Day:
    """The repository and its trees."""

    def __init__(self, folder: str, seed: int = 1) -> None:
        self.chance = random.Random(seed)  # noqa: S311 - the same day each time
        self.main = f"{folder}/repo"
        os.makedirs(f"{self.main}/.dibs")
        git(self.main, "init", "-q", "-b", "main", ".")
        git(self.main, "config", "user.name", "somebody")
        git(self.main, "config", "user.email", "somebody@example.com")
        for number in range(FILES):
            self.write(self.main, self.name(number), [self.line() for _ in range(LINES)])
        git(self.main, "add", "-A")
        git(self.main, "commit", "-qm", "first")
        self.tops = [f"{folder}/agent{number}" for number in range(AGENTS)]
        for number, top in enumerate(self.tops):
            git(self.main, "worktree", "add", "-q", "-b", f"agent{number}", top)
            working_tree.of(location.find(top, None))
        self.places = [location.find(top, None) for top in self.tops]

    @staticmethod
    def name(number: int) -> str:
        """A file's path."""
        return f"src/part{number % 20}/module{number}.py"

    def line(self) -> str:
        """Some text."""
        return "    " + " ".join(
            self.chance.choices(("value", "result", "index", "return", "self.find", "=", "+"), k=8)
        )

    @staticmethod
    def write(top: str, name: str, lines: list[str]) -> None:
        """Make a file."""
        os.makedirs(os.path.dirname(f"{top}/{name}"), exist_ok=True)
        with open(f"{top}/{name}", "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")

    def edit(self, top: str) -> None:
        """One to three files get some new lines."""
        for _ in range(self.chance.randint(1, 3)):
            name = self.name(self.chance.randrange(FILES))
            with open(f"{top}/{name}", encoding="utf-8") as file:
                lines = file.read().split("\n")
            at = self.chance.randrange(len(lines))
            lines[at : at + 2] = [self.line() for _ in range(self.chance.randint(1, 6))]
            self.write(top, name, lines)


def day(folder: str, an_hour: int) -> dict[str, Any]:
    """Play it; the sizes in bytes, the times in ms."""
    played = Day(folder)
    wall, now = clock.wall, [clock.wall() - HOURS * 3_600_000]
    clock.wall = lambda: now[0]
    took: list[float] = []
    tidied: list[float] = []
    peak = 0
    try:
        for hour in range(HOURS):
            for step in range(an_hour):
                now[0] += 3_600_000 // an_hour
                for place in played.places:
                    played.edit(place.top)
                    if (hour * an_hour + step) % COMMIT_EVERY == COMMIT_EVERY - 1:
                        git(place.top, "commit", "-qam", "step")
                    begun = time.perf_counter()
                    anchor.take(place)
                    took.append((time.perf_counter() - begun) * 1000)
            kept = store.Store(played.places[0])
            peak = max(peak, kept.bytes())
            begun = time.perf_counter()
            retention.tidy(played.places[0], KEEP_MS, MOST)
            tidied.append((time.perf_counter() - begun) * 1000)
    finally:
        clock.wall = wall
    kept = store.Store(played.places[0])
    return {
        "states": sum(len(store.records(ledger)) for ledger, _ in kept.ledgers()),
        "store_bytes": kept.bytes(),
        "peak_bytes": peak,
        "record_bytes": sum(
            os.path.getsize(f"{ledger}/{store.RECORDS}") for ledger, _ in kept.ledgers()
            if os.path.exists(f"{ledger}/{store.RECORDS}")
        ),
        "refs": len(git(played.main, "for-each-ref", "refs/dibs").splitlines()),
        "anchor_ms": round(median(took), 1),
        "clean_up_ms": round(max(tidied), 1),
    }  # fmt: skip


def edits(parent: str, rounds: int) -> dict[str, Any]:
    """An Edit with both its hooks, with anchoring and without, in ms; and the one by the other."""
    with Bench(parent, quick=False) as bench:
        folders = {side: hooks.repository(bench, f"states-{side}") for side in ("with", "without")}
        taken: dict[str, list[float]] = {side: [] for side in folders}
        cpu: dict[str, list[float]] = {side: [] for side in folders}
        ratios: list[float] = []
        for number in range(rounds + 2):
            for side in sorted(folders, reverse=bool(number % 2)):
                folder = folders[side]
                os.environ[request.OFF] = "off" if side == "without" else ""
                path = f"{folder}/src/f{number % 20}.py"
                use = f"toolu_{number}"
                sent = [
                    hooks.payload(folder, "Edit", {"file_path": path}, event=event, use=use)
                    for event in ("PreToolUse", "PostToolUse")
                ]
                run = partial(hooks.through_a_socket, hooks.command_of(folder), sent[0], folder)
                after = partial(hooks.through_a_socket, hooks.command_of(folder, "PostToolUse"), sent[1], folder)
                used = _cpu_ms()
                before = timed(run)
                with open(path, "a", encoding="utf-8") as file:
                    file.write("bench\n")
                taken[side].append((before + timed(after)) / 1000)
                cpu[side].append(_cpu_ms() - used)
            ratios.append(taken["with"][-1] / taken["without"][-1])
        _wait_for_anchors(f"{folders['with']}/.git/dibs")
        spent = {f"cpu_{side}": round(median(values[2:]), 2) for side, values in cpu.items()}
        found = {side: round(median(values[2:]), 2) for side, values in taken.items()}
        return {
            **found,
            **spent,
            "ratio": round(found["with"] / found["without"], 3),
            "median_of_ratios": round(median(ratios[2:]), 3),
            "ratio_cpu": round(spent["cpu_with"] / spent["cpu_without"], 3),
        }


def _wait_for_anchors(ledger: str) -> None:
    """Until the process behind the hooks has ended, and writes nothing into the folder any more."""
    end = time.monotonic() + 60
    while (mine := request.turn(ledger)) is None and time.monotonic() < end:
        time.sleep(0.1)
    if mine is not None:
        os.close(mine)


def _cpu_ms() -> float:
    """The processor time of the hooks so far: on a busy machine it says more than the clock on the wall."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (used.ru_utime + used.ru_stime) * 1000


def main() -> int:
    """Run both."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.states", description=__doc__)
    parser.add_argument("--states", type=int, default=60, help="an hour and agent (default 60)")
    parser.add_argument("--rounds", type=int, default=100, help="edits with and without (default 100)")
    parser.add_argument("--dir", default=".", help="where the scratch folder is made")
    parser.add_argument("--only", choices=("day", "edits"), help="one of the two")
    asked = parser.parse_args()
    found: dict[str, Any] = {}
    if asked.only != "edits":
        folder = tempfile.mkdtemp(prefix=".dibs-bench-states-", dir=os.path.abspath(asked.dir))
        try:
            found["day"] = day(folder, asked.states)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    if asked.only != "day":
        found["edit_ms"] = edits(os.path.abspath(asked.dir), asked.rounds)
    sys.stdout.write(json.dumps(found, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
