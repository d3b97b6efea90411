"""The accidents of the race, the same for each contestant. Every scene is bounded in time and in processes."""

from __future__ import annotations

import json
import os
import select
import signal
import statistics
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from benchmarks.race.contestants import Contestant

AGENT = str(Path(__file__).with_name("agent.py"))
ANSWER_S = 90.0  # for one request
TAKERS, ROUNDS = 16, 5
TTL_S = 2.0  # of a claim that is to expire
FREE_S = 15.0  # after a kill: longer than anybody waits for a file without looking
EDITORS, EDITS, FILES, THINK_S, FLEET_S = 8, 10, 4, 0.01, 60.0

# What one agent holds, and what another asks for; both mean the same file, so the second has to be refused.
SAME = (
    ("src/", "src/a.py"),
    ("src/**", "src/a.py"),
    ("src/*.py", "src/a*"),
    ("src/a.py", "./src/a.py"),
    ("src/a.py", "docs/../src/a.py"),
    ("src/a.py", "{place}/src/a.py"),
    ("src/a.py", "link/a.py"),
)
# These are different files, so the second has to be granted.
OTHER = (("src/a.py", "src/b.py"), ("src/*.py", "docs/*.md"), ("src/a.py", "src/a.pyi"))


class Failed(Exception):
    """A contestant's agent did not answer, or answered with an error."""


class Process:
    """One agent."""

    def __init__(self, who: Contestant, place: str, name: str, url: str) -> None:
        words = [who.python, "-I", AGENT, who.name, place, name, *([url] if url else [])]
        self._log = open(f"{place}.{name}.log", "wb")  # noqa: SIM115 - `end` closes it
        self.process = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log, text=True, bufsize=1
        )
        self.name = name

    def send(self, **request: Any) -> None:
        """Ask."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()

    def read(self) -> dict[str, Any]:
        """The answer."""
        assert self.process.stdout is not None
        if not select.select([self.process.stdout], [], [], ANSWER_S)[0]:
            message = f"no answer within {ANSWER_S:.0f} s"
            raise Failed(message)
        line = self.process.stdout.readline()
        found: dict[str, Any] = json.loads(line) if line else {"error": f"the agent ended: {self._last_words()}"}
        if "error" in found:
            raise Failed(found["error"])
        return found

    def _last_words(self) -> str:
        """The last line that it printed on stderr, and how it ended."""
        code = self.process.wait(10)
        said = Path(self._log.name).read_text(errors="replace").strip().splitlines()
        return f"exit code {code}, {said[-1][:200] if said else 'without a word'}"

    def ask(self, **request: Any) -> dict[str, Any]:
        """Ask, and wait for the answer."""
        self.send(**request)
        return self.read()

    def take(self, path: str, **more: Any) -> bool:
        """Is it granted?"""
        return bool(self.ask(do="take", path=path, **more)["granted"])

    def kill(self) -> None:
        """Kill -9."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def end(self) -> None:
        """Let it end; kill it if it does not."""
        if self.process.stdin is not None:
            self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()
        self._log.close()


class Crew:
    """Agents of one contestant in one repository."""

    def __init__(self, who: Contestant, place: str, url: str) -> None:
        self.who, self.place, self.url = who, place, url
        self.agents: list[Process] = []

    def some(self, count: int) -> list[Process]:
        """As many agents, ready."""
        made = [Process(self.who, self.place, f"racer{len(self.agents) + n}", self.url) for n in range(count)]
        self.agents += made
        for agent in made:
            agent.read()
        return made

    def end(self) -> None:
        """End them all."""
        for agent in self.agents:
            agent.end()
        self.agents.clear()


def repository(place: str) -> None:
    """The files that are raced for."""
    for folder in ("src", "docs"):
        os.makedirs(f"{place}/{folder}")
    for name in ("src/a.py", "src/b.py", "docs/a.md"):
        Path(place, name).write_text("x\n")
    os.symlink("src", f"{place}/link")
    for number in range(FILES):
        Path(place, f"src/count{number}.txt").write_text("0\n")
    git = ["git", "-c", "user.name=race", "-c", "user.email=race@example.com"]
    for words in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-q", "-m", "start"]):
        subprocess.run([*git, *words], cwd=place, check=True, capture_output=True)


def sixteen(crew: Crew) -> dict[str, Any]:
    """Sixteen takers of one path at the same moment, some rounds."""
    agents = crew.some(TAKERS)
    grants, times = [], []
    for number in range(ROUNDS):
        moment = time.time() + 0.3
        for agent in agents:
            agent.send(do="take", path=f"src/contended{number}.py", at=moment)
        found = [agent.read() for agent in agents]
        grants.append(sum(one["granted"] for one in found))
        times += [one["ms"] for one in found]
    double = sum(max(0, one - 1) for one in grants)
    return {"granted": sum(grants), "rounds": ROUNDS, "double": double, "none": grants.count(0),
            "median_ms": statistics.median(times), "max_ms": max(times)}  # fmt: skip


def uncontended(crew: Crew) -> dict[str, Any]:
    """One agent takes twenty free paths, one after the other."""
    (agent,) = crew.some(1)
    times = [agent.ask(do="take", path=f"src/free{number}.py")["ms"] for number in range(20)]
    return {"median_ms": statistics.median(times[2:])}


def expired(crew: Crew) -> dict[str, Any]:
    """A claim expires; another agent asks for it, then the first one finishes late and asks again."""
    first, second = crew.some(2)
    assert first.take("src/old.py", ttl=TTL_S)
    time.sleep(TTL_S + 1.5)
    regained = second.take("src/old.py")
    told = first.ask(do="finish", path="src/old.py")["told"]
    again = first.take("src/old.py")
    return {"regained": regained, "told": told, "double": regained and again}


def readers(crew: Crew) -> dict[str, Any]:
    """Two readers, and one of them wants to write."""
    first, second = crew.some(2)
    both = first.take("src/read.py", mode="read") and second.take("src/read.py", mode="read")
    early = both and first.take("src/read.py", mode="write")
    second.ask(do="release", path="src/read.py") if both else None
    late = both and (early or first.take("src/read.py", mode="write"))
    return {"both": both, "double": bool(early), "upgraded": bool(late)}


def overlaps(crew: Crew) -> dict[str, Any]:
    """Directories, globs and other spellings of one path; and paths that differ."""
    first, second = crew.some(2)
    double: list[str] = []
    wrong: list[str] = []
    for pairs, found, bad in ((SAME, double, True), (OTHER, wrong, False)):
        for held, asked in pairs:
            wanted = asked.format(place=crew.place)
            assert first.take(held), held
            granted = second.take(wanted)
            if granted is bad:
                found.append(asked)
            if granted:
                second.ask(do="release", path=wanted)
            first.ask(do="release", path=held)
    return {"pairs": len(SAME), "double": len(double), "missed": double, "refused": len(wrong)}


def killed(crew: Crew) -> dict[str, Any]:
    """Kill -9 of a holder: when does the next agent get the path?"""
    first, second = crew.some(2)
    assert first.take("src/dead.py")
    first.kill()
    began = time.monotonic()
    while time.monotonic() - began < FREE_S:
        if second.take("src/dead.py"):
            return {"seconds": round(time.monotonic() - began, 2)}
        time.sleep(0.1)
    return {"seconds": None}


def fleet(crew: Crew) -> dict[str, Any]:
    """Scripted editors: read, think, write. How many updates are lost?"""
    files = [f"src/count{number}.txt" for number in range(FILES)]
    agents = crew.some(EDITORS)
    began = time.monotonic()
    for number, agent in enumerate(agents):
        agent.send(do="edit", files=files, times=EDITS, think=THINK_S, seconds=FLEET_S, seed=number)
    found = [agent.read() for agent in agents]
    seconds = time.monotonic() - began
    done = sum(one["done"] for one in found)
    there = sum(int(Path(crew.place, name).read_text() or 0) for name in files)
    times = [ms for one in found for ms in one["ms"]]
    return {"wanted": EDITORS * EDITS, "done": done, "lost": done - there, "seconds": round(seconds, 1),
            "median_ms": statistics.median(times)}  # fmt: skip


def worktrees(place: str) -> dict[str, Any]:
    """Git worktrees: each editor in a tree of its own, merged at the end. Conflicts are what is found then."""
    git = ["git", "-c", "user.name=race", "-c", "user.email=race@example.com"]

    def run(*words: str, cwd: str = place) -> int:
        return subprocess.run([*git, *words], cwd=cwd, capture_output=True, check=False).returncode

    import random

    began = time.monotonic()
    for number in range(EDITORS):
        run("worktree", "add", "-q", "-b", f"editor{number}", f"{place}.tree{number}")
        chance = random.Random(number)  # noqa: S311 - the same edits as the fleet's
        for _ in range(EDITS):
            path = Path(f"{place}.tree{number}", f"src/count{chance.choice(range(FILES))}.txt")
            path.write_text(f"{int(path.read_text()) + 1}\n")
        run("commit", "-qam", "work", cwd=f"{place}.tree{number}")
    conflicts = 0
    for number in range(EDITORS):
        if run("merge", "-q", "--no-edit", f"editor{number}"):
            conflicts += 1
            run("merge", "--abort")
    there = sum(int(Path(place, f"src/count{number}.txt").read_text()) for number in range(FILES))
    return {"wanted": EDITORS * EDITS, "done": EDITORS * EDITS, "merges": EDITORS, "conflicts": conflicts,
            "unmerged": EDITORS * EDITS - there, "seconds": round(time.monotonic() - began, 1)}  # fmt: skip


SCENES = {"uncontended": uncontended, "sixteen": sixteen, "expired": expired, "readers": readers,
          "overlaps": overlaps, "killed": killed, "fleet": fleet}  # fmt: skip
