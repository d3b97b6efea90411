"""Ten agents in ten worktrees land fifty changes on main, of which ten conflict and five break the check.

    python -m tests.e2e.ten_worktrees [--check SECONDS]

prints a table. The agents are processes that do what an agent's shell does: a branch, an edit, a commit, `dibs land`.
tests/e2e/clients/landing_fleet.py lets real clients do the same; both are held to the same account.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

from tests.land.landing_repo import LandingRepo
from tests.scratch import DIBS

AGENTS, CHANGES = 10, 5
CONFLICTING = 1  # the number of the change of each agent that conflicts with what has landed since it began
BREAKING = 3  # the number of the change of each agent below BREAKERS that breaks the check
BREAKERS = 5
CHECK = "sleep {seconds}; ! grep -rqx broken --include=*.txt ."


class Change(NamedTuple):
    """One change of an agent, and what has to become of it."""

    agent: int
    number: int

    @property
    def branch(self) -> str:
        return f"w{self.agent}-c{self.number}"

    @property
    def outcome(self) -> str:
        if self.number == CONFLICTING:
            return "conflict"
        return "check" if self.number == BREAKING and self.agent < BREAKERS else "landed"

    @property
    def start(self) -> str:
        """The branch that it begins at. One that conflicts has not seen what has landed since."""
        return "start" if self.outcome == "conflict" else "main"

    @property
    def file(self) -> str:
        """The file that it makes."""
        return f"taken-{self.agent}.txt" if self.outcome == "conflict" else f"{self.branch}.txt"

    @property
    def text(self) -> str:
        """What it writes."""
        return "broken" if self.outcome == "check" else f"by {self.branch}"

    def begin(self) -> str:
        """The command before the change."""
        return f"git switch -q -c {self.branch} {self.start}"

    def finish(self, wait: str) -> str:
        """The commands after the change."""
        commit = f"git add {self.file} && git commit -q -m {shlex.quote(self.branch)}"
        return f"{commit} && {self.land(wait)}"

    def land(self, wait: str) -> str:
        """The command that lands it."""
        return f"dibs land {self.branch} --json --wait {wait}"


def changes(agent: int) -> list[Change]:
    """The changes of an agent, in its order."""
    return [Change(agent, number) for number in range(CHANGES)]


class Run:
    """One run in a scratch repository."""

    def __init__(self, folder: Path, *, check: float = 0.0, clients: str = "none") -> None:
        """`clients` have their hooks there, and git has its own."""
        text = CHECK.format(seconds=check)
        self.repo = LandingRepo(folder / "repo", "batch = 8", check=text, clients=clients, hooks=clients != "none")
        self.repo.git("branch", "start")
        taken: dict[str, str | None] = {f"taken-{agent}.txt": "by main\n" for agent in range(AGENTS)}
        self.repo.commit_files("what has landed since", taken, self.repo.folder)
        self.began = len(self.repo.line_of_main())
        self.agents = [f"agent-{agent}" for agent in range(AGENTS)]  # as dibs knows them
        self.kinds = ["a shell"] * AGENTS
        self.trees = []
        for agent in range(AGENTS):
            self.trees.append(folder / f"w{agent}")
            self.repo.git("worktree", "add", "-q", "--detach", str(self.trees[-1]), "main")
        self.seconds = 0.0

    def play(self) -> None:
        """All agents at once, each one change after the other."""
        begun = monotonic()
        with ThreadPoolExecutor(AGENTS) as pool:
            list(pool.map(self._agent, range(AGENTS)))
        self.seconds = monotonic() - begun

    def _agent(self, agent: int) -> None:
        env = {
            **self.repo.environment,
            "DIBS_AGENT": self.agents[agent],
            "PATH": f"{Path(DIBS).parent}:{os.environ['PATH']}",
        }
        for change in changes(agent):
            write = f"echo {change.text} > {change.file}"
            words = " && ".join([change.begin(), write, change.finish("20m")])
            done = subprocess.run(["sh", "-c", words], cwd=self.trees[agent], env=env, capture_output=True,
                                  text=True, check=False, stdin=subprocess.DEVNULL)  # fmt: skip
            assert done.returncode in {0, 1}, (change, done.stdout, done.stderr)
            json.loads(done.stdout)

    # --- the account

    def outcomes(self) -> dict[str, str]:
        """What became of each branch: `landed`, or the code of its refusal."""
        found: list[dict[str, Any]] = self.repo.json("landings", exit=0)["landings"]
        return {one["branch"]: one.get("code") or one["state"] for one in found}

    def settle(self) -> None:
        """Everything is as it has to be."""
        wanted = {change.branch: change.outcome for agent in range(AGENTS) for change in changes(agent)}
        assert self.outcomes() == wanted
        assert self.repo.git("grep", "-lx", "broken", *self.repo.line_of_main(), "--", exit=None) == ""
        landed = [branch for branch, outcome in wanted.items() if outcome == "landed"]
        for branch in landed:
            assert self.repo.git("show", f"main:{branch}.txt") == f"by {branch}"
        for agent in range(AGENTS):
            assert len(self.told(agent)) == self.decided(agent), agent
            for change in changes(agent):  # the work is kept
                assert self.repo.git("log", "-1", "--format=%s", change.branch) == change.branch
        self.repo.clean()

    def decided(self, agent: int) -> int:
        """How many landings of an agent were decided: its changes, and what it queued again after a refusal."""
        found = self.repo.json("landings", exit=0)["landings"]
        return sum(one["agent"] == self.agents[agent] for one in found)

    def told(self, agent: int) -> list[str]:
        """The messages to an agent about its landings; it may have acknowledged them."""
        events = self.repo.json("log", "--kind", "message.posted", "--limit", "1000", exit=0)["events"]
        mine = [one for one in events if one["subject"] == self.agents[agent] and one["data"]["type"] == "landing"]
        return [one["data"]["id"] for one in mine]

    def table(self) -> str:
        """The run as a table."""
        outcomes = self.outcomes()
        rows = ["| agent | client | landed | refused: conflict | refused: check | told |", f"|{' --- |' * 6}"]
        total, heard = {"landed": 0, "conflict": 0, "check": 0}, 0
        for agent in range(AGENTS):
            mine = [outcomes[change.branch] for change in changes(agent)]
            counts = [mine.count(name) for name in total]
            for name, count in zip(total, counts, strict=True):
                total[name] += count
            heard += (told := len(self.told(agent)))
            rows.append(f"| {agent} | {self.kinds[agent]} | {' | '.join(map(str, counts))} | {told} |")
        rows.append(f"| all | | {' | '.join(map(str, total.values()))} | {heard} |")
        moved = len(self.repo.line_of_main()) - self.began
        return "\n".join([*rows, "", f"main moved {moved} times in {self.seconds:.0f} s, green at each of its commits"])


def main() -> None:
    """Play it once and print the table."""
    words = argparse.ArgumentParser(description="Ten agents in ten worktrees land fifty changes.")
    words.add_argument("--check", type=float, default=2.0, help="seconds that the project's check takes")
    asked = words.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        run = Run(Path(folder), check=asked.check)
        run.play()
        run.settle()
        print(run.table())


if __name__ == "__main__":
    main()
