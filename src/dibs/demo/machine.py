"""`dibs demo --machine`: ten agents run their test suites on this machine, first all at once, then through slots.

A short suite alone shows how fast the machine is now; the suites are as long as PLAYED_S allows. Then one runs alone:
what it takes, times LIMIT_FACTOR, is the time limit of every suite. Then two rounds: all agents start at once, without
slots and with a pool of SLOTS units. What is shown is what was seen in this run.
However it ends (Ctrl-C, SIGTERM, an error), no process and no folder is left behind.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys

from dibs.demo import files, play, scratch
from dibs.errors import Unavailable
from dibs.machine import clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.demo.files import JournalLine
    from dibs.demo.results import MachineResult, SuiteRound, SuiteRun

AGENTS, MAX_AGENTS = 10, 32
SLOTS = 2
PLAYED_S = 40.0  # in all, about; the two rounds and the one suite alone are shares of it
PROBE_S, LEAST_S = 0.3, 0.05  # of CPU time for each worker: of the short suite, and of the others at least
LIMIT_FACTOR = 4.0
ALONE_LIMIT_S = 60.0  # a machine on which one suite takes longer has no processor to spare
MAX_WORKERS = 32
STALL_TIMEOUT_MS = 180_000  # no sign of any agent for that long
NAMES = ("ada", "ben", "cleo", "dov", "eve", "finn", "gus", "hana", "ivo", "jo")
POOL = "\n[pools]\nbuild = {{ size = {slots} }}\n"
OVER = ("passed", "failed", "refused")


def play_machine(agents: int, seconds: float = PLAYED_S, *, quiet: bool = False) -> MachineResult:
    """Play it all; returns what was seen."""
    begun = clock.since_boot()
    workers = processors()
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, *play.STOP_SIGNALS)}
    for number in play.STOP_SIGNALS:
        signal.signal(number, play.stop)
    set_aside = {name: os.environ.pop(name) for name in list(os.environ) if name.startswith("DIBS_")}
    place = scratch.Scratch()
    try:
        place.prepare()
        # without slots all end at the time limit; with them one after the other, as far as the processors are shared
        shares = 1 + LIMIT_FACTOR + agents
        speed = _alone(place, "probe", workers, PROBE_S) / PROBE_S
        work = max(LEAST_S, seconds / shares / speed)
        took = _alone(place, "alone", workers, work)
        limit = round(took * LIMIT_FACTOR, 1)
        _say(f"One suite alone: {workers} workers, {took:.1f} s. The time limit of each: {limit:g} s.", quiet=quiet)
        _say(f"{agents} agents start theirs at once, without slots …", quiet=quiet)
        without = _Suites(place, "without", agents, workers, work, limit).play()
        place.init()
        with open(f"{place.repo}/.dibs/config.toml", "a", encoding="utf-8") as config:
            config.write(POOL.format(slots=SLOTS))
        _say(f"{agents} agents start theirs at once, with {SLOTS} slots …", quiet=quiet)
        guarded = _Suites(place, "with", agents, workers, work, limit, repo=place.repo).play()
    except OSError as error:
        raise Unavailable(f"the demo cannot play in {place.folder}: {error.strerror or error}") from None
    finally:
        play.ignore_interrupts()
        place.remove()
        os.environ.update(set_aside)
        for number, handler in handlers.items():
            signal.signal(number, handler)
    return {
        "ok": not guarded["failed"], "agents": agents, "processors": workers, "slots": SLOTS, "alone": took,
        "limit": limit, "without": without, "with": guarded, "seconds": (clock.since_boot() - begun) / 1000,
    }  # fmt: skip


def _alone(place: scratch.Scratch, which: str, workers: int, work: float) -> float:
    """How many seconds one suite takes that nothing of the demo runs next to."""
    seen = _Suites(place, which, 1, workers, work, ALONE_LIMIT_S).play()
    if not seen["passed"]:
        message = f"one suite alone did not end within {ALONE_LIMIT_S:g} s: this machine has no processor to spare"
        raise Unavailable(message)
    return seen["runs"][0]["ended"] - seen["runs"][0]["began"]


def processors() -> int:
    """The workers of a suite: as many as processors that this process may use."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(usable, MAX_WORKERS)


def _say(text: str, *, quiet: bool) -> None:
    """Progress, for whoever waits."""
    if not quiet:
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()


def name_of(index: int) -> str:
    """An agent's id."""
    return NAMES[index] if index < len(NAMES) else f"agent-{index + 1:02d}"


class _Suites:
    """One round: agents as processes, each with one suite."""

    def __init__(
        self, place: scratch.Scratch, which: str, agents: int, workers: int, seconds: float, limit: float, *,
        repo: str = "",
    ) -> None:  # fmt: skip
        self.which, self.repo = which, repo
        self.folder = f"{place.folder}/suites-{which}"
        self.words = [str(workers), str(seconds), str(limit), repo]
        self.names = [name_of(index) for index in range(agents)]
        self.fleet: list[subprocess.Popen[bytes]] = []
        self.seen: dict[str, dict[str, JournalLine]] = {name: {} for name in self.names}

    def play(self) -> SuiteRound:
        """From the start to the end of the last suite."""
        os.mkdir(self.folder)
        try:
            for name in self.names:
                command = [*scratch.python(), "-m", "dibs.demo.suite", self.folder, name, *self.words]
                self.fleet.append(subprocess.Popen(
                    command, cwd=self.folder, env=scratch.environment(), stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, process_group=0,
                ))  # fmt: skip
            self._listen()
        finally:
            self._end()
        return self._result()

    def _listen(self) -> None:
        readers = {name: files.JournalReader(f"{self.folder}/{name}.jsonl") for name in self.names}
        heard, started = clock.since_boot(), False
        while not all(any(kind in lines for kind in OVER) for lines in self.seen.values()):
            for name, reader in readers.items():
                for line in reader.more():
                    heard = clock.since_boot()
                    self.seen[name][line["kind"]] = line
            if not started and all("ready" in lines for lines in self.seen.values()):
                started = True
                files.Markers(self.folder).put("go")
            for name, child in zip(self.names, self.fleet, strict=True):
                if child.poll() is not None and not any(kind in self.seen[name] for kind in OVER):
                    self._give_up(readers[name].more(), name)
            if clock.since_boot() - heard > STALL_TIMEOUT_MS:
                raise Unavailable(f"the round {self.which} made no progress for {STALL_TIMEOUT_MS // 1000} s")
            clock.sleep(files.POLL_S)

    def _give_up(self, last: Sequence[JournalLine], name: str) -> None:
        """An agent ended without a result; its last words may have come just now."""
        for line in last:
            self.seen[name][line["kind"]] = line
        if not any(kind in self.seen[name] for kind in OVER):
            raise Unavailable(f"{name} ended before its suite did, in the round {self.which}")

    def _result(self) -> SuiteRound:
        refused = next((lines["refused"] for lines in self.seen.values() if "refused" in lines), None)
        if refused is not None:
            raise Unavailable(f"no slot could be had in the round {self.which}: {refused['message']}")
        begin = min(lines["asks"]["at"] for lines in self.seen.values())
        runs: list[SuiteRun] = []
        for name, lines in self.seen.items():
            end = lines["passed"] if "passed" in lines else lines["failed"]
            asked, began, ended = (
                round((line["at"] - begin) / 1000, 3) for line in (lines["asks"], lines["begins"], end)
            )
            runs.append({"agent": name, "asked": asked, "began": began, "ended": ended, "passed": "passed" in lines})
        passed = sum(run["passed"] for run in runs)
        return {
            "passed": passed, "failed": len(runs) - passed, "seconds": max(run["ended"] for run in runs), "runs": runs,
        }  # fmt: skip

    def _end(self) -> None:
        """Kill what is left: each agent with the workers of its suite."""
        for child in self.fleet:
            try:
                os.killpg(child.pid, signal.SIGKILL)
            except OSError:
                pass  # nothing is left of it
        for child in self.fleet:
            child.wait()
