"""One agent of the fleet, a separate process.

    python -m dibs.demo.agent REPO FOLDER ROUND INDEX AGENTS EDITS SEED HOST

For each edit of its plan it reads a file, thinks, and writes the file back. Without dibs that is all. With dibs it
claims the file first, checks its token right before it writes, and repeats the edit if the token is stale.
"""

from __future__ import annotations

import os
import sys

import dibs
from dibs.demo import files, plan
from dibs.errors import DibsError, Fenced, Held, NotFound
from dibs.machine import clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

WITH, WITHOUT = "with", "without"

CUE_TIMEOUT_S = 60.0  # for an agent's cue: far longer than needed, so that a broken play ends too
BUSY_TRIES = 20  # retries of a call when the store is busy
BUSY_PAUSE_S = 0.1  # between them
STORE_TIMEOUT_S = 10.0  # a dozen processes start at once, perhaps on one core


class Agent:
    """The common part of an agent; the two subclasses make an edit with or without dibs."""

    def __init__(self, repo: str, folder: str, size: plan.Size, index: int, host: str) -> None:
        self.repo, self.host = repo, host
        self.name = plan.name_of(index)
        self.steps = plan.steps(size, index)
        self.journal = files.Journal(f"{folder}/{self.name}.jsonl")
        self.markers = files.Markers(folder)
        self._making = f"{folder}/{self.name}.making"
        self._parent = os.getppid()

    def run(self) -> None:
        """Make all edits, once all agents are ready."""
        self.open()
        self.journal.note("ready")
        self.cue("go")
        for step in self.steps:
            if os.getppid() != self._parent:  # the demo itself was killed
                return
            if step.part == plan.OVERTAKES:
                self.cue("paused")
            elif step.part == plan.DIES:  # its heir is ready to measure how soon the file is free
                self.cue("heir")
            elif step.part == plan.INHERITS:
                self.markers.put("heir")
                self.cue("dead")
            self.edit(step)
        self.journal.note("done")

    def open(self) -> None:
        """Get ready."""

    def edit(self, step: plan.Step) -> None:
        """Make one edit."""
        raise NotImplementedError

    def cue(self, marker: str) -> None:
        """Wait for a marker of the parent or of another agent."""
        if not self.markers.wait(marker, CUE_TIMEOUT_S):
            message = f"{self.name} timed out while it waited for {marker!r}"
            raise TimeoutError(message)

    def path(self, step: plan.Step) -> str:
        """The path of a step's file."""
        return f"{self.repo}/{step.file}"

    def think(self, step: plan.Step, part: str) -> None:
        """Between reading and writing: think; one agent is killed here, and one is paused."""
        clock.sleep(step.think)
        if part == plan.DIES:
            self.markers.put(plan.CUE_MARKERS[part])
            self.cue("never")
        elif part == plan.PAUSES:
            self.markers.put(plan.CUE_MARKERS[part])
            self.cue("resumed")

    def write(self, step: plan.Step, copy: files.Shared) -> None:
        """Write the copy back with one more edit, and note it."""
        copy.add(step.id)
        files.write(self.path(step), copy, self._making)
        self.journal.note("wrote", edit=step.id, file=step.file)


class Plain(Agent):
    """An agent without dibs: reads, thinks, writes."""

    def edit(self, step: plan.Step) -> None:
        self.journal.note("edits", file=step.file)
        copy = files.read(self.path(step))
        self.think(step, step.part)
        if step.part == plan.PAUSES:
            gone = set(files.read(self.path(step)).edits) - set(copy.edits)
            self.journal.note("overwrites", file=step.file, edits=len(gone))
        self.write(step, copy)
        if step.part == plan.OVERTAKES:
            self.markers.put("overtaken")


class Guarded(Agent):
    """An agent with dibs: claims, reads, thinks, checks its token, writes, releases."""

    workspace: dibs.Workspace

    def open(self) -> None:
        self.workspace = self.with_retries(dibs.open, self.host, agent=self.name, timeout=STORE_TIMEOUT_S)

    def edit(self, step: plan.Step) -> None:
        part = step.part
        while True:
            claim = self.claim(step, part)
            copy = files.read(self.path(step))
            self.think(step, part)
            if part == plan.OVERTAKES:  # keep the file until the paused agent has tried to write it
                self.markers.put("overtaken")
                self.cue("refused")
            part = ""
            try:
                self.with_retries(claim.check)
            except Fenced as stale:  # another agent has it now: this copy must not be written
                self.journal.note(
                    "stale", message=stale.message, token=claim.token, holder=stale.holder, file=step.file
                )
                self.markers.put("refused")
                continue
            self.write(step, copy)
            try:
                self.with_retries(claim.release)
            except (Fenced, NotFound) as late:  # the token was live when the file was written
                self.journal.note("late", message=late.message, file=step.file)
            return

    def claim(self, step: plan.Step, part: str) -> dibs.Claim:
        """Claim the file: sometimes first without waiting, to see the holder; then in the queue."""
        ttl = plan.SHORT_TTL_S if part == plan.PAUSES else None if part == plan.DIES else plan.TTL_S
        wait = 0.0 if step.try_first else plan.WAIT_S
        while True:
            self.journal.note("waits" if wait else "tries", file=step.file)
            try:
                claim: dibs.Claim = self.with_retries(
                    self.workspace.claim, step.file, wait=wait, ttl=ttl, reason=f"edit {step.id}"
                )
            except Held as refusal:
                self.journal.note("refused", message=refusal.message, blockers=refusal.blockers, file=step.file)
                wait = plan.WAIT_S
                continue
            self.journal.note("edits", file=step.file, token=claim.token, expires_at=claim.expires_at)
            return claim

    def with_retries(self, call: Any, *words: Any, **fields: Any) -> Any:
        """Retry a call when the store is busy or unavailable: these calls may run twice."""
        for _ in range(BUSY_TRIES):
            try:
                return call(*words, **fields)
            except (dibs.Busy, dibs.Unavailable) as busy:
                self.journal.note("busy", message=busy.message)
                clock.sleep(BUSY_PAUSE_S)
        return call(*words, **fields)


def main(words: list[str]) -> int:
    """Play one agent; returns the exit code."""
    repo, folder, which = words[:3]
    index, agents, edits, seed = (int(word) for word in words[3:7])
    kind = Guarded if which == WITH else Plain
    agent = kind(repo, folder, plan.Size(agents, edits, seed), index, words[7])
    try:
        agent.run()
    except DibsError as error:
        agent.journal.note("failed", code=error.code, message=error.message)
        return 1
    except (OSError, ValueError) as error:
        agent.journal.note("failed", code="unexpected", message=f"{type(error).__name__}: {error}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
