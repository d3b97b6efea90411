"""One round: starts the fleet, kills one agent, pauses another, and listens to the journals until all are done.

The parent uses markers instead of the clock where it can: it kills an agent when its marker says that it has read its
file, and continues the paused one when another agent has the file and the deadline has passed.
"""

from __future__ import annotations

import os
import signal
import subprocess

from dibs.demo import agent, files, plan, scratch
from dibs.errors import Unavailable
from dibs.machine import clock, processes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.demo.files import JournalLine
    from dibs.demo.screen import Screen

POLL_S = 0.02  # between two looks at the journals
STALL_TIMEOUT_MS = 60_000  # without a new line, a round is given up


class Played:
    """What was seen of one agent so far."""

    __slots__ = ("doing", "done", "file", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self.done = 0
        self.doing = "starts"
        self.file = ""


class Round:
    """One round of the fleet and everything from its journals."""

    def __init__(self, place: scratch.Scratch, which: str, size: plan.Size, screen: Screen) -> None:
        self.which, self.size, self.screen = which, size, screen
        self.repo, self.folder = place.repo, place.round(which)
        self.place = place
        self.markers = files.Markers(self.folder)
        self.agents = [Played(name) for name in size.names]
        self.wrote: list[JournalLine] = []
        self.refused: list[JournalLine] = []
        self.stale: list[JournalLine] = []
        self.failed: list[JournalLine] = []
        self.busy = self.overwritten = 0
        self.killed_at = 0  # wall clock, ms
        self.deadline_of_killed = ""  # of its claim, from the answer
        self.paused_for = 0  # ms
        self.milliseconds = 0
        self._readers = [files.JournalReader(f"{self.folder}/{name}.jsonl") for name in size.names]
        self._fleet: list[subprocess.Popen[bytes]] = []
        self._paused_at = self._heard_at = 0
        self._started = self._resumed = False

    @property
    def guarded(self) -> bool:
        """Is this the round with dibs?"""
        return self.which == agent.WITH

    def play(self) -> None:
        """Play it to the end. No process is left behind, whatever happens."""
        self._heard_at = begun = clock.since_boot()
        try:
            self._start()
            while any(child.poll() is None for child in self._fleet):
                self._listen()
                self._direct()
                self.screen.update(self)
                clock.sleep(POLL_S)
            self._listen()
            self.screen.update(self)
        finally:
            self._end()
        self.milliseconds = clock.since_boot() - begun
        self._judge()

    def _start(self) -> None:
        words = [str(word) for word in (self.size.agents, self.size.edits, self.size.seed)]
        for index, name in enumerate(self.size.names):
            command = [
                *scratch.python(),
                "-m",
                "dibs.demo.agent",
                self.repo,
                self.folder,
                self.which,
                str(index),
                *words,
                self.place.host(index),
            ]
            with open(f"{self.folder}/{name}.err", "wb") as said:
                child = subprocess.Popen(
                    command,
                    cwd=self.repo,
                    env=scratch.environment(),
                    stdin=subprocess.DEVNULL,
                    stdout=said,
                    stderr=said,
                    process_group=0,  # Ctrl-C reaches only the parent, which ends all agents
                )
            self._fleet.append(child)

    def _listen(self) -> None:
        """Read the new lines of the journals."""
        for played, reader in zip(self.agents, self._readers, strict=True):
            for line in reader.more():
                self._heard_at = clock.since_boot()
                self._note(played, line)

    def _note(self, played: Played, line: JournalLine) -> None:
        kind = line["kind"]
        line["agent"] = played.name
        if kind == "wrote":
            played.done += 1
            self.wrote.append(line)
        elif kind == "refused":
            self.refused.append(line)
        elif kind == "stale":
            self.stale.append(line)
            self.screen.say(f"{played.name} continues and wants to write: refused, its token {line['token']} is stale")
        elif kind == "overwrites":
            self.overwritten = line["edits"]
            self.screen.say(f"{played.name} continues and writes its stale copy over {line['edits']} edits of others")
        elif kind == "failed":
            self.failed.append(line)
        elif kind == "busy":
            self.busy += 1
        if kind in {"ready", "tries", "waits", "edits", "done"}:
            played.doing, played.file = kind, line.get("file", "")
        if played.name == plan.agent_with(plan.DIES) and "expires_at" in line:
            self.deadline_of_killed = line["expires_at"]

    def _direct(self) -> None:
        """Give the cues that are due."""
        now = clock.since_boot()
        if not self._started and all(played.doing == "ready" for played in self.agents):
            self._started = True
            self.markers.put("go")
        if not self.killed_at and self.markers.there(plan.CUE_MARKERS[plan.DIES]):
            self._kill()
        if not self._paused_at and self.markers.there(plan.CUE_MARKERS[plan.PAUSES]):
            self._pause()
        elif (
            self._paused_at and not self._resumed and now - self._paused_at >= plan.PAUSE_S * 1000 and self._overtaken()
        ):
            self._resume()
        if now - self._heard_at > STALL_TIMEOUT_MS or self.failed:
            self._give_up()

    def _kill(self) -> None:
        played, child = self._cast(plan.DIES)
        self.killed_at = clock.wall()
        child.send_signal(signal.SIGKILL)
        child.wait()
        played.doing = "killed"
        self.markers.put("dead")
        holding = "holds" if self.guarded else "edits"
        self.screen.say(f"{played.name} is killed with SIGKILL while it {holding} {played.file}")

    def _pause(self) -> None:
        played, child = self._cast(plan.PAUSES)
        child.send_signal(signal.SIGSTOP)
        while not processes.stopped(child.pid) and child.poll() is None:
            clock.sleep(files.POLL_S)
        self._paused_at = clock.since_boot()
        played.doing = "paused"
        self.markers.put("paused")
        beyond = f", beyond the {plan.SHORT_TTL_S:g} s of its claim" if self.guarded else ""
        self.screen.say(f"{played.name} is paused between reading and writing {played.file}{beyond}")

    def _resume(self) -> None:
        played, child = self._cast(plan.PAUSES)
        self.paused_for = clock.since_boot() - self._paused_at
        self._resumed = True
        played.doing = "edits"
        self.markers.put("resumed")
        child.send_signal(signal.SIGCONT)

    def _overtaken(self) -> bool:
        """Has another agent written the paused one's file (without dibs), or got it (with dibs)?"""
        return self.markers.there("overtaken")

    def _cast(self, part: str) -> tuple[Played, subprocess.Popen[bytes]]:
        index = plan.PARTS[part]
        return self.agents[index], self._fleet[index]

    def _give_up(self) -> None:
        """Raise for a failed or stalled round, with the agent and what it was doing."""
        if self.failed:
            first = self.failed[0]
            message = f"{first['agent']} failed in the round {self.which} dibs: {first['message']}"
        else:
            doing = ", ".join(f"{a.name} {a.doing} {a.file}".rstrip() for a in self.agents if a.doing != "done")
            message = f"the round {self.which} dibs made no progress for {STALL_TIMEOUT_MS // 1000} s: {doing}"
        raise Unavailable(message, round=self.which)

    def _judge(self) -> None:
        """Check that every agent except the killed one finished."""
        for played, child in zip(self.agents, self._fleet, strict=True):
            if child.returncode and played.doing != "killed" and not self.failed:
                said = _last_line(f"{self.folder}/{played.name}.err")
                self.failed.append({"agent": played.name, "message": f"it ended with {child.returncode}: {said}"})
        if self.failed:
            self._give_up()

    def _end(self) -> None:
        """Kill the remaining processes; SIGKILL also ends a paused one."""
        for child in self._fleet:
            if child.poll() is None:
                child.kill()
        for child in self._fleet:
            child.wait()


def _last_line(path: str) -> str:
    if not os.path.exists(path):
        return "no output"
    with open(path, encoding="utf-8", errors="replace") as file:
        lines = file.read().strip().splitlines()
    return lines[-1] if lines else "no output"
