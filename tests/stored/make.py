"""Makes a frozen workspace of the present version: `python -m tests.stored.make`. README.md here says when.

The play: agents of long ago whose events are archived and dropped, then a fleet at work that leaves every kind of
record, event, file and ledger line. It is played once on SQLite and once on a Redis server. A frozen folder has

    sqlite.tar.xz, redis.tar.xz   the workspace: `.dibs`, `.git`, its files
    redis.json.xz                 every key of the server
    moment.json                   the time at which the play ended, and the processes that had died
    answers.json                  what the present version answers about it (answers.py)
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import dibs
from dibs.operations.upkeep import sweeps
from dibs.operations.upkeep.log_retention import ARCHIVES, DROP
from tests.stored import acts, acts_guards, acts_ledger, acts_work, answers, frozen
from tests.stored.stage import DAY, HOST, ID, PERSON, Stage
from tests.stores.redis_server import ALWAYS, Server, running

if TYPE_CHECKING:
    from collections.abc import Callable

    Acts = tuple[Callable[[Stage], None], ...]

START = 1_700_000_000_000  # milliseconds since 1970, and since the machine started: a server has one clock for both
CONFIG = f"""\
id = "{ID}"
{{store}}
[alerts]
command = "true"

[agents]
keep = "7d"

[log]
keep = "30d"

[pools]
build = {{{{ size = 2 }}}}
api = {{{{ rate = "1/h", burst = 2 }}}}
"""
RULES = "# Rules\n\nRead before you write.\n"
OLD: Acts = (acts.old_agents, acts.old_claims, acts_work.old_work, acts_guards.old_stores)
LAST: Acts = (
    acts.waits,
    acts.pools,
    acts_work.waits,
    acts_work.jobs,
    acts_guards.suspicion,
    acts.handovers,
)  # after the last sweep: they do not last
LIVE: Acts = (
    acts.agents, acts.credentials, acts.claims, acts.requests, acts.messages, acts.shared, acts_work.states,
    acts_work.runs, acts_work.assignments, acts_guards.edits, acts_guards.undos, acts_guards.commits,
    acts_guards.deploys, acts_guards.landings, acts_guards.radar, acts_guards.oversight, acts.late_sweep,
    acts_ledger.ledger,
)  # fmt: skip


def git(folder: Path, *words: str) -> None:
    """Git, by an author and at a time that are always the same."""
    when = "2023-11-14T22:13:20Z"
    who = {"GIT_AUTHOR_NAME": "me", "GIT_AUTHOR_EMAIL": "me@here", "GIT_AUTHOR_DATE": when}
    also = {key.replace("AUTHOR", "COMMITTER"): value for key, value in who.items()}
    env = {**os.environ, **who, **also, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    subprocess.run(["git", *words], cwd=folder, env=env, check=True)


def repository(folder: Path, store: str) -> None:
    """A repository that is a workspace, before its first call."""
    folder.mkdir(parents=True)
    git(folder, "init", "-q", "-b", "main", "--template=", ".")
    (folder / ".dibs").mkdir()
    (folder / ".dibs/config.toml").write_text(CONFIG.format(store=f'store = "{store}"\n' if store else ""))
    (folder / ".dibs/rules.md").write_text(RULES)
    (folder / ".gitignore").write_text(".dibs/local/\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "first")


def month(stage: Stage) -> None:
    """The log is sealed, a month passes, and what is that old goes: agents, tasks, events to an archive."""
    stage.call(PERSON, "seal")
    stage.later(31 * DAY)
    stage.call("pia", "emit", kind="month.passed")
    for _ in range(3):
        stage.call(PERSON, "sweep")
    stage.archive()


def play(stage: Stage) -> None:
    """All acts. Three archives are written, and the first of them is given up."""
    stage.one_clock()
    stage.call("pia", "boot")
    month(stage)
    for act in OLD:
        act(stage)
    month(stage)
    month(stage)
    first = stage.internal(PERSON, ARCHIVES)["archives"][0]
    stage.internal(PERSON, DROP, through=first["last"], host=HOST["host"], why="over the limit")
    stage.archive()
    for act in LIVE:
        act(stage)
    stage.patch.setattr(sweeps, "AGENTS_PER_SWEEP", 3)  # so that it has to continue
    stage.call(PERSON, "seal")
    stage.call(PERSON, "sweep")
    stage.reopen()
    for act in LAST:
        act(stage)


def make(folder: Path, engine: str, server: Server | None = None, where: Path | None = None) -> None:
    """Play on one engine, in a scratch folder there, and freeze what it leaves."""
    with tempfile.TemporaryDirectory(dir=where) as scratch, pytest.MonkeyPatch.context() as patch:
        place = Path(scratch) / "repo"
        repository(place, server.url if server is not None else "")
        stage = Stage(place, patch, now=START, ids="0", server=server)
        play(stage)
        report = stage.verify()
        assert report.ok, report.findings
        frozen.freeze(stage, folder, engine, server)
        stage.close()


def main() -> None:
    """Make the folder of the present version; one that is there stays as it is."""
    folder = Path(__file__).parent / dibs.__version__
    if folder.exists():
        sys.exit(f"{folder} is there. A frozen folder is never made again: README.md here says what to do instead.")
    folder.mkdir()
    make(folder, "sqlite")
    with running(**ALWAYS) as server:
        make(folder, "redis", server)
    answers.freeze(folder)


if __name__ == "__main__":
    main()
