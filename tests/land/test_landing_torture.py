"""kill -9 anywhere in a landing: main is as it was or landed, never half; nothing is lost; the queue continues.

A `git` before the real one on PATH counts the lander's calls of git. At a random one it kills the lander: before git
runs (and git does not run, or runs on as an orphan), or after. So each step is met, however busy the machine is. Git's
own children count too: then git itself is killed in the middle.
"""

from __future__ import annotations

import json
import random
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.land.landing_repo import LandingRepo
from tests.scratch import DIBS

pytestmark = pytest.mark.slow

BRANCHES = 5
STEPS = 45  # calls of git in about one batch
KILLED = -9
SHIM = """#!/bin/sh
n=$(($(cat "$SHIM_COUNT") + 1)); echo $n > "$SHIM_COUNT"
if [ $n = "$SHIM_AT" ]; then
  case "$SHIM_HOW" in
    never) kill -9 $PPID; exit 137 ;;
    orphan) kill -9 $PPID ;;
    after) {git} "$@"; kill -9 $PPID; exit 137 ;;
  esac
fi
exec {git} "$@"
"""


class Rounds:
    """One repository whose landers are killed."""

    def __init__(self, folder: Path, seed: int, *, remote: bool) -> None:
        self.chance = random.Random(seed)
        method = self.chance.choice(("merge", "merge", "rebase", "squash"))
        settings = [f'method = "{method}"', f"batch = {self.chance.choice((1, 3, 8))}"]
        settings += ['remote = "origin"'] if remote else []
        self.repo = LandingRepo(folder / "repo", *settings)
        self.there = folder / "there.git" if remote else None
        if remote:
            self.repo.git("init", "-q", "--bare", "-b", "main", str(self.there))
            self.repo.git("remote", "add", "origin", str(self.there))
            self.repo.git("push", "-q", "origin", "main")
        lines = [str(line) for line in range(1, 21)]
        base = {name: "\n".join([*lines[:4], name, *lines[5:], ""]) for name in ("one", "two")}
        files = {f"b{place}": {f"f{place}.txt": "1\n"} for place in range(BRANCHES)}
        files |= {"conflicts": {"base.txt": base["one"]}, "conflicts-too": {"base.txt": base["two"]}}
        self.tips = self.repo.branches(**files, breaks={"x.txt": "broken\n"})
        self.repo.queue(*self.chance.sample(sorted(self.tips), len(self.tips)))
        self.shims = folder / "shims"
        self.shims.mkdir()
        self.count = folder / "count"
        self.removed: list[str] = []  # lock files, because the lander said so
        shim = self.shims / "git"
        shim.write_text(SHIM.replace("{git}", shutil.which("git") or "git"))
        shim.chmod(0o755)

    def run(self, most: int) -> int:
        """Kill landers until the queue is empty, `most` of them; returns how many were."""
        killed = 0
        for number in range(100):
            if "queued" not in self.repo.states().values():
                return killed
            self.count.write_text("0\n")
            how = {"SHIM_AT": str(self.chance.randint(1, STEPS)) if number < most else "0",
                   "SHIM_HOW": self.chance.choice(("never", "orphan", "after"))}  # fmt: skip
            env = {**self.repo.environment, **how, "SHIM_COUNT": str(self.count)}
            env["PATH"] = f"{self.shims}:{env['PATH']}"
            done = subprocess.run([DIBS, "land", "--all", "--json", "--as", f"lander-{number}"], cwd=self.repo.folder,
                                  env=env, capture_output=True, check=False, timeout=300)  # fmt: skip
            killed += done.returncode == KILLED
            assert b"Traceback" not in done.stderr, done.stderr.decode()
            self.obey(done.stdout.decode())
            self.check()
        raise AssertionError(self.repo.run("land", "--status").stdout)

    def obey(self, printed: str) -> None:
        """Do what the lander says of a lock file that a killed git left, and nothing else."""
        error = json.loads(printed or "{}").get("error") or {}
        if "lock" in error and f"Remove it: `rm {error['lock']}`." in error["message"]:
            Path(error["lock"]).unlink()
            self.removed.append(error["lock"])

    def check(self) -> None:
        """Main is whole and green at every commit, and every branch is where its agent left it."""
        self.repo.git("fsck", "--connectivity-only", "main")
        assert self.repo.git("grep", "-lx", "broken", *self.repo.line_of_main(), "--", exit=None) == ""
        rows = self.repo.git("for-each-ref", "--format=%(refname:lstrip=2) %(objectname)", "refs/heads").splitlines()
        assert {**dict(row.split() for row in rows), **self.tips} == dict(row.split() for row in rows)

    def finish(self) -> None:
        """Everything was decided once and rightly, and told once."""
        states = self.repo.states()
        assert {name for name in self.tips if states[name] == "landed"} >= {f"b{place}" for place in range(BRANCHES)}
        assert states["breaks"] == "refused"
        assert sorted((states["conflicts"], states["conflicts-too"])) == ["landed", "refused"]
        names = set(self.repo.git("ls-tree", "--name-only", "main").split())
        assert {f"f{place}.txt" for place in range(BRANCHES)} <= names
        for branch in self.tips:
            assert len(self.repo.told(f"ag-{branch}")) == 1, branch
        for _ in range(5):
            done = self.repo.run("land", "--all", "--json")
            self.obey(done.stdout)
            if done.returncode == 0:
                break
        self.repo.json("verify", exit=0)
        assert self.repo.git("status", "--porcelain", "--untracked-files=no") == ""
        if self.there is not None:
            assert self.repo.git("rev-parse", "main", cwd=self.there) == self.repo.main()


def _round(folder: Path, seed: int, most: int) -> int:
    rounds = Rounds(folder, seed, remote=seed % 4 == 0)
    killed = rounds.run(most)
    rounds.finish()
    return killed


def test_a_killed_lander_leaves_main_as_it_was_or_landed_and_the_queue_continues(tmp_path: Path) -> None:
    assert _round(tmp_path, seed=4, most=4) > 0


@pytest.mark.torture
@pytest.mark.parametrize("seed", range(100, 300))
def test_two_hundred_rounds_of_killed_landers(tmp_path: Path, seed: int) -> None:
    _round(tmp_path, seed, most=8)
