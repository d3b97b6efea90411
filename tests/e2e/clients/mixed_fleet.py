"""The mixed fleet: real clients of several kinds that bump one counter and add lines to two files, all at once."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.e2e.clients.kinds import CLAUDE, CODEX, COPILOT, GEMINI
from tests.e2e.clients.mixed import BUMP, EDIT, HEREDOC, WHOLE, MixedWorker, Step

if TYPE_CHECKING:
    from tests.e2e.clients.fleet import Fleet
    from tests.e2e.clients.kinds import Client

BUMPS = LINES = 24
FIVE: tuple[Client, ...] = (CLAUDE, CODEX, CLAUDE, CODEX, CLAUDE)
SEVEN: tuple[Client, ...] = (*FIVE, GEMINI, COPILOT)
WAYS = {"claude": (EDIT, WHOLE, HEREDOC), "codex": (EDIT, HEREDOC), "gemini": (WHOLE, EDIT), "copilot": (EDIT, HEREDOC)}
LONGEST = 600.0  # seconds
DOUBTS = {
    "edit.violated",
    "edit.unattributed",
    "edit.doubted",
}  # in this fleet nobody writes past a guard: all are wrong


@dataclass
class Outcome:
    """What came of it."""

    bumps_lost: int = 0
    lines_lost: list[str] = field(default_factory=list)
    given_up: list[str] = field(default_factory=list)
    refused: int = 0
    stale: int = 0
    unsettled: int = 0  # commits that were refused until somebody said what is to stand there
    doubts: int = 0
    seconds: float = 0.0
    told: list[str] = field(default_factory=list)


def play(
    fleet: Fleet, clients: tuple[Client, ...], *, think: float, releases: bool = True, dibs: bool = True
) -> Outcome:
    """Let them all work to their end."""
    counter = fleet.file("n.txt", "0\n")
    files = [fleet.file(name, "begin file\n") for name in ("a.txt", "b.txt")]
    fleet.commit()
    if dibs:
        fleet.dibs("init", "--no-mcp", "--clients", ",".join(dict.fromkeys(client.name for client in clients)))
        fleet.commit("dibs")
    workers = []
    for number, client in enumerate(clients):
        bumps = range(number, BUMPS, len(clients))
        ways = WAYS[client.name]
        steps: list[Step] = []
        for place, at in enumerate(bumps):
            how = ways[(number // 2 + place) % len(ways)]
            bump = Step(counter, BUMP)
            line = Step(files[at % 2], how, f"line {client.name}-{number}-{place}", quiet=place % 2 == 1)
            steps += [bump, line] if number % 2 else [line, bump]
        workers.append(MixedWorker(f"{client.name}-{number}", client, steps, think=think, releases=releases and dibs))
    together = tuple(f"{worker.name} is here" for worker in workers)
    for worker, client in zip(workers, clients, strict=True):
        script = fleet.script(worker.name, rest=worker)
        script.turn(client.shell("true"), then=f"{worker.name} is here").turn(client.shell("true"), after=together)
        fleet.start(client, script)
    fleet.stub.wait(*together)
    began = time.monotonic()
    fleet.wait(seconds=LONGEST)
    outcome = Outcome(seconds=time.monotonic() - began)
    outcome.bumps_lost = sum(step.how == BUMP for worker in workers for step in worker.done) - int(counter.read_text())
    for worker in workers:
        for step in worker.done:
            if step.line and step.line not in step.file.read_text().splitlines():
                outcome.lines_lost.append(step.line)
        outcome.given_up += worker.given_up
        outcome.refused += worker.refused
        outcome.stale += worker.stale
        outcome.unsettled += worker.unsettled
        outcome.told += worker.told
    if dibs:
        outcome.doubts = sum(event["kind"] in DOUBTS for event in fleet.log())
    return outcome
