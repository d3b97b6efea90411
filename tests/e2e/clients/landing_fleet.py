"""Ten real clients in ten worktrees that land fifty changes on main, of which ten conflict and five break the check.

    python -m tests.e2e.clients.landing_fleet [--check SECONDS]

prints the table of docs/guides/worktrees.md. Each client makes its branch, writes the file with its own tool, commits,
and runs `dibs land` in its own shell, through its hooks and git's. It lands again while the answer is that it is
queued.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from tests.e2e.clients.fleet import Fleet
from tests.e2e.clients.kinds import CLAUDE, CODEX
from tests.e2e.clients.scripts import Say, Turn
from tests.e2e.ten_worktrees import AGENTS, Change, Run, changes

if TYPE_CHECKING:
    from tests.e2e.clients.kinds import Client
    from tests.e2e.clients.scripts import Block, Conversation

CLIENTS: tuple[Client, ...] = (CLAUDE, CODEX) * (AGENTS // 2)
WAIT = "25s"  # of one `dibs land`: Codex shows a command's output after 30 s at the latest
LONGEST = 600.0  # seconds
TRIES = 60  # calls of `dibs land` for one change

BEGIN, WRITE, FINISH, LAND = "begin", "write", "finish", "land"


class Committer:
    """The model of one agent: its changes, one after the other, each until it is decided."""

    def __init__(self, client: Client, tree: Path, agent: int) -> None:
        self._client, self._tree = client, tree
        self._left = changes(agent)
        self._doing, self._tries = "", 0
        self._turns: dict[int, Turn] = {}
        self.answers: dict[str, str] = {}  # branch → what the client was told of its landing
        self.refused: list[str] = []  # what went wrong on the way

    def __call__(self, heard: Conversation) -> Turn:
        """The next turn. A request that comes a second time gets the same one."""
        if heard.step not in self._turns:
            if not self._doing:
                self._doing = BEGIN
            elif self._left:  # else its hooks asked it to continue at its end
                self._take_in(heard.results()[-1])
            self._turns[heard.step] = Turn((self._call(self._left[0]) if self._left else Say("done"),))
        return self._turns[heard.step]

    def _take_in(self, result: str) -> None:
        if self._doing == BEGIN:
            self._doing = WRITE
        elif self._doing == WRITE:
            self._doing = FINISH
        elif '"state":"queued"' in result and self._tries < TRIES:
            self._doing, self._tries = LAND, self._tries + 1
        else:
            change = self._left.pop(0)
            self.answers[change.branch] = result
            if '"landing":' not in result:
                self.refused.append(f"{change.branch}: {result}")
            self._doing, self._tries = BEGIN, 0

    def _call(self, change: Change) -> Block:
        if self._doing == BEGIN:
            return self._client.shell(change.begin())
        if self._doing == WRITE:
            return self._client.write(self._tree / change.file, f"{change.text}\n")
        return self._client.shell(change.finish(WAIT) if self._doing == FINISH else change.land(WAIT))


def play(fleet: Fleet, *, check: float = 1.0) -> tuple[Run, list[Committer]]:
    """Let them all work to their end."""
    run = Run(fleet.folder / "landing", check=check, clients="claude,codex")
    fleet.repo = run.repo.folder
    CODEX.settle(fleet.home, fleet.repo, fleet.stub.url)
    models, agents = [], []
    for number, (client, tree) in enumerate(zip(CLIENTS, run.trees, strict=True)):
        name = f"{client.name}-{number}"
        model = Committer(client, tree, number)
        models.append(model)
        script = fleet.script(name, rest=model)
        script.turn(client.shell("true"), then=f"{name} is here")
        agents.append(fleet.start(client, script, cwd=tree))
    fleet.stub.wait(*[f"{agent.name} is here" for agent in agents])
    begun = time.monotonic()
    fleet.wait(seconds=LONGEST)
    run.seconds = time.monotonic() - begun
    run.agents = [agent.session for agent in agents]
    run.kinds = [{"claude": "Claude Code", "codex": "Codex"}[client.name] for client in CLIENTS]
    return run, models


def main() -> None:
    """Play it once and print the table."""
    words = argparse.ArgumentParser(description="Ten real clients in ten worktrees land fifty changes.")
    words.add_argument("--check", type=float, default=1.0, help="seconds that the project's check takes")
    asked = words.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        fleet = Fleet(Path(folder))
        try:
            run, _ = play(fleet, check=asked.check)
            run.settle()
            print(run.table())
        finally:
            fleet.close()


if __name__ == "__main__":
    main()
