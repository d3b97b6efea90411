"""Contention: many real processes at once, from 2 to 100.

Each is a separate interpreter, started and waiting before the clock starts. Three scenes: all processes queue for one
path; each claims its own file, so that they contend only for the store; and the same number of processes on bare SQLite
transactions with only its busy timeout, to show the effect of dibs' gate. In the first scene the holder is noted in a
shared file; a second holder, or a token that is not above the last, is an error.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from benchmarks import worker
from benchmarks.crowd import let_loose
from benchmarks.figures import AT_LEAST, AT_MOST, Row, Target, median, quantile, slowest_share

if TYPE_CHECKING:
    from benchmarks.place import Bench

GROUP = "contention"
PROCESSES, QUICK = (2, 8, 32, 100), (2, 8)
HELD_TO = 100  # processes at which the targets below hold
# If every process has its own file, a claim waits only for the store. On one path it also waits for up to a hundred
# earlier processes: each of them claims, works and releases first.
P99 = {"files": Target(AT_MOST, 500, "value"), "path": Target(AT_MOST, 1_000, "value")}
SHARE = Target(AT_LEAST, 0.5, "value")
NO_ERROR = Target(AT_MOST, 0, "value")

SCENES = {
    "path": "one path",
    "files": "own files",
    "busy": "bare SQLite, busy timeout only",
}


class Outcome:
    """The result of several processes together."""

    def __init__(self, answers: list[dict[str, Any]], seconds: float) -> None:
        waits = [wait * 1000 for answer in answers for wait in answer["waits"]]
        self.counts = [answer["within"] for answer in answers]
        self.rate = sum(self.counts) / seconds
        self.p50, self.p99 = (median(waits), quantile(waits, 0.99)) if waits else (0.0, 0.0)
        self.longest = max(waits, default=0.0)
        self.share = slowest_share(self.counts)
        self.failed = sum(answer["failed"] for answer in answers)
        self.errors = [error for answer in answers for error in answer["errors"]]

    def row(self, title: str, number: int) -> Row:
        """All of it in one row."""
        return Row(
            GROUP,
            title,
            self.rate,
            "/s",
            more={
                "processes": float(number),
                "p50_ms": self.p50,
                "p99_ms": self.p99,
                "longest_ms": self.longest,
                "slowest": self.share,
                "errors": float(self.failed),
            },
        )


def measure(bench: Bench, seconds: float) -> list[Row]:
    """The rows of this group: one for each scene and number of processes, then the targets of dibs."""
    rows: list[Row] = []
    held: list[Row] = []
    failed, first = 0, ""
    for number in QUICK if bench.quick else PROCESSES:
        for scene, title in SCENES.items():
            bench.say(f"contention: {number} processes, {title}, {seconds:g} s")
            outcome = contend(bench, scene, number, seconds)
            for error in outcome.errors[:3]:
                bench.say(f"contention: {error}")
            rows.append(outcome.row(f"{number} processes, {title}", number))
            if scene != "busy":
                failed += outcome.failed
                first = first or "; ".join(outcome.errors[:1])
                if number == HELD_TO:
                    held += _held_to(f"{number} processes, {title}", outcome, P99[scene])
    return [*rows, *held, Row(GROUP, "errors in all of dibs' scenes", float(failed), "", target=NO_ERROR, note=first)]


def _held_to(title: str, outcome: Outcome, p99: Target) -> list[Row]:
    return [
        Row(GROUP, f"{title}: p99 of a claim", outcome.p99, "ms", target=p99),
        Row(GROUP, f"{title}: slowest process", outcome.share, "of mean", target=SHARE),
    ]


def contend(bench: Bench, scene: str, number: int, seconds: float) -> Outcome:
    """Run that many processes on a new store."""
    name = f"{scene}-{number}"
    if scene == "busy":
        folder = bench.sub(name)
        worker.make_busy(folder)
    else:
        folder = bench.workspace(name)
    commands = [
        [sys.executable, "-m", "benchmarks.worker", scene, folder, f"worker{place}", str(seconds)]
        for place in range(number)
    ]
    failed: list[str] = []
    _, lines = let_loose(commands, folder, failed)
    answers = [answer_of(line) for line in lines]
    return Outcome([*answers, *[_nothing(word or "a worker died at its start") for word in failed]], seconds)


def answer_of(line: str) -> dict[str, Any]:
    """A worker's answer; for a dead worker, an error."""
    if not line:
        return _nothing("a worker died")
    answer: dict[str, Any] = json.loads(line)
    return answer


def _nothing(error: str) -> dict[str, Any]:
    return {"waits": [], "within": 0, "errors": [error], "failed": 1}
