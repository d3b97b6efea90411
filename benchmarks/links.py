"""Claims of many processes through a server's socket, compared with the same processes at the store itself.

Each process claims and releases a file of its own, so that they meet at the store alone. Both sides run on one
workspace, one after the other, in several rounds: only ratios inside one run count.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from typing import TYPE_CHECKING

from benchmarks.contention import Outcome, answer_of
from benchmarks.crowd import Crowd
from benchmarks.figures import AT_LEAST, AT_MOST, Row, Target, median

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.place import Bench

GROUP = "links"
PROCESSES, QUICK = (1, 32, 64), (2,)
ROUNDS = 4
ROUND_S = 2.0  # at most: some thousand claims, and what counts is a ratio of rounds next to each other
RATES = {32: Target(AT_LEAST, 2.5, "value"), 64: Target(AT_LEAST, 3.0, "value")}
LATEST = {32: Target(AT_MOST, 0.5, "value"), 64: Target(AT_MOST, 0.3, "value")}
SIDES = {"direct": "at the store", "socket": "through the server"}
SERVE = "from dibs.interfaces.cli.main import entry; entry()"


def measure(bench: Bench, seconds: float) -> list[Row]:
    """The rows of this group: both sides for each number of processes, then how they compare."""
    rows: list[Row] = []
    folder = bench.workspace("links")
    with serving(folder):
        for number in QUICK if bench.quick else PROCESSES:
            rounds, lasts = (1, seconds) if bench.quick else (ROUNDS, min(seconds, ROUND_S))
            bench.say(f"links: {number} processes, {rounds} rounds of {lasts:g} s for each side")
            taken: dict[str, list[Outcome]] = {side: [] for side in SIDES}
            with contextlib.ExitStack() as stack:  # both sides stand ready; one works at a time
                crowds = {side: _crowd(folder, side, number, lasts) for side in SIDES}
                for crowd in crowds.values():
                    stack.callback(crowd.close)
                for _ in range(rounds):
                    for side, crowd in crowds.items():
                        taken[side].append(Outcome([answer_of(line) for line in crowd.go()[1]], lasts))
            rows += _rows(number, taken)
    return rows


def _rows(number: int, taken: dict[str, list[Outcome]]) -> list[Row]:
    rows = []
    for side, title in SIDES.items():
        more = {
            "processes": float(number),
            "p50_ms": median([one.p50 for one in taken[side]]),
            "p99_ms": median([one.p99 for one in taken[side]]),
            "longest_ms": max(one.longest for one in taken[side]),
            "slowest": median([one.share for one in taken[side]]),
            "errors": float(sum(one.failed for one in taken[side])),
        }
        rows.append(
            Row(GROUP, f"{number} processes {title}", median([one.rate for one in taken[side]]), "/s", more=more)
        )
    pairs = list(zip(taken["socket"], taken["direct"], strict=True))
    rate = median([one.rate / max(other.rate, 0.001) for one, other in pairs])
    latest = median([one.p99 / max(other.p99, 0.001) for one, other in pairs])
    rows.append(Row(GROUP, f"{number} processes: rate through the server", rate, "of direct", target=RATES.get(number)))
    rows.append(
        Row(GROUP, f"{number} processes: p99 through the server", latest, "of direct", target=LATEST.get(number))
    )
    return rows


@contextlib.contextmanager
def serving(folder: str, environment: dict[str, str] | None = None) -> Iterator[None]:
    """A `dibs serve` for that workspace; its environment has these as well."""
    server = subprocess.Popen(
        [sys.executable, "-c", SERVE, "serve", "--json"], cwd=folder, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, text=True, env={**os.environ, **(environment or {})},
    )  # fmt: skip
    assert server.stdout is not None
    try:
        assert '"ok":true' in server.stdout.readline(), "the server did not start"
        yield
    finally:
        server.terminate()
        server.wait(30)
        server.stdout.close()


def _crowd(folder: str, side: str, number: int, seconds: float) -> Crowd:
    """That many processes of one side, each with an agent and a file of its own."""
    commands = [
        [sys.executable, "-m", "benchmarks.worker", side, folder, f"{side}{place}", str(seconds)]
        for place in range(number)
    ]
    return Crowd(commands, folder, [])
