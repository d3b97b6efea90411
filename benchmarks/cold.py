"""Cold: a new process for each claim, as an agent's shell or hook starts it.

The floor is the interpreter itself, `python -I -S -c pass`: nothing written in Python starts faster. A claim is the
installed `dibs claim … --json`, on a new path each time, its fsync included.
"""

from __future__ import annotations

import os
import sys
from functools import partial
from typing import TYPE_CHECKING

from benchmarks.figures import AT_MOST, Row, Target, above_floor, alternate, not_measured, timed
from benchmarks.place import script

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.environment import Environment
    from benchmarks.figures import Burst
    from benchmarks.place import Bench

GROUP = "cold"
TARGET = Target(AT_MOST, 3.0)
BURST = 2  # starts in a row; a machine's speed changes within a second
FLOOR, CLAIM, MV, HUB = "interpreter -I -S (the floor)", "dibs claim --json", "bash mv script", "CoordinationHub CLI"

# A script that a team without dibs might write: a task's file is moved from the free ones to the taken ones, and
# the mover writes its name and the time into it. `mv` within one filesystem is atomic; nothing is synced or expires.
MV_SCRIPT = """\
#!/bin/bash
task=$1 agent=$2
[ -n "$task" ] && [ -n "$agent" ] || { echo "usage: $0 TASK AGENT"; exit 1; }
free=registry/free/$task taken=registry/taken/$task
if [ ! -f "$free" ]; then
    [ -f "$taken" ] || { echo "no such task: $task"; exit 1; }
    owner=$(cat "$taken")
    [ "${owner%%:*}" == "$agent" ] || { echo "$task is taken by $owner"; exit 1; }
    echo "$agent:$(date +%s)" > "$taken"
    exit 0
fi
mv "$free" "$taken" || { echo "$task was taken meanwhile"; exit 1; }
echo "$agent:$(date +%s)" > "$taken"
echo "$task is yours, $agent"
"""


def measure(bench: Bench, environment: Environment | None) -> list[Row]:
    """The rows of this group."""
    rounds = bench.count(40, 5)
    bench.say(f"cold: {rounds * BURST} starts of each")
    workspace = bench.workspace("cold")
    sides: dict[str, Burst] = {
        FLOOR: _starts(lambda _: [sys.executable, "-I", "-S", "-c", "pass"], workspace),
        CLAIM: _starts(lambda n: [script(), "claim", f"src/file{n}.py", "--as", "bench", "--json"], workspace),
    }
    if environment is not None:
        sides[MV] = _mv(bench)
        if "coordinationhub" in environment.versions:
            sides[HUB] = _hub(bench, environment)
    taken = alternate(sides, rounds, BURST)
    rows = above_floor(GROUP, taken, FLOOR, {CLAIM: TARGET}, dict.fromkeys((MV, HUB), "no fsync"))
    if environment is not None and HUB not in sides:
        rows.append(not_measured(GROUP, HUB, environment.absent))
    return rows


def _starts(command: Callable[[int], list[str]], folder: str) -> Burst:
    """Start a command that many times, each with a new number."""
    number = 0

    def burst(times: int) -> list[float]:
        nonlocal number
        taken = []
        before = os.getcwd()
        os.chdir(folder)  # posix_spawn cannot change directory, and a wrapper would be measured too
        try:
            for _ in range(times):
                number += 1
                words = command(number)
                taken.append(timed(partial(_start, words)))
        finally:
            os.chdir(before)
        return taken

    return burst


def _start(words: list[str]) -> None:
    """Start, wait, check the exit code; the output is discarded."""
    quiet = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    pid = os.posix_spawnp(words[0], words, os.environ, file_actions=quiet)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if code:
        message = f"`{' '.join(words)}` ended with {code}"
        raise RuntimeError(message)


def _mv(bench: Bench) -> Burst:
    """The script, with tasks laid out for it before each burst."""
    folder = bench.sub("mv")
    for name in ("free", "taken"):
        os.makedirs(os.path.join(folder, "registry", name))
    path = os.path.join(folder, "claim.sh")
    with open(path, "w", encoding="utf-8") as file:
        file.write(MV_SCRIPT)
    os.chmod(path, 0o755)  # noqa: S103 - a script that the bench itself runs
    laid = 0
    starts = _starts(lambda n: ["bash", path, f"task{n}", "bench"], folder)

    def burst(times: int) -> list[float]:
        nonlocal laid
        for _ in range(times):
            laid += 1
            with open(os.path.join(folder, "registry", "free", f"task{laid}"), "w", encoding="utf-8") as file:
                file.write("a task\n")
        return starts(times)

    return burst


def _hub(bench: Bench, environment: Environment) -> Burst:
    """CoordinationHub's own command, on a registered agent."""
    folder = bench.workspace("hub-cli")
    places = ["--project-root", folder, "--storage-dir", os.path.join(folder, "hub"), "--json"]
    program = environment.program("coordinationhub")
    before = _starts(lambda _: [program, "register", "hub.bench", *places], folder)
    before(1)
    return _starts(lambda n: [program, "acquire-lock", f"src/file{n}.py", "hub.bench", *places], folder)
