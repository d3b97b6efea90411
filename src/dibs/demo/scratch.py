"""The place where the demo plays: a scratch git repository in a temporary folder, and an environment without DIBS_*.

Nothing outside this folder is written. It is removed at the end, also after an error, unless it is to be kept.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile

from dibs.demo import files, plan
from dibs.errors import Unavailable

START, RESULT = "start", "{}-dibs"  # the branches: one for the beginning, one for each round's result
COMMAND_TIMEOUT_S = 60  # for git or `dibs init`; both take well under a second


class Scratch:
    """The folder, its repository, and a folder for each round's journals and markers."""

    def __init__(self, *, hosts: int = 0) -> None:
        self.hosts = hosts  # folders that simulate machines; with none, all agents work in the repository itself
        self.folder = os.path.realpath(tempfile.mkdtemp(prefix="dibs-demo-"))
        self.repo = f"{self.folder}/repo"

    def prepare(self) -> None:
        """Make the repository with the shared files, all counters at 0."""
        for file in plan.FILES:
            os.makedirs(os.path.dirname(f"{self.repo}/{file}"), exist_ok=True)
            files.write(f"{self.repo}/{file}", files.Shared(), f"{self.folder}/making")
        self.git("init", "-q")
        self.git("checkout", "-q", "-b", START)
        self.commit("The shared files, untouched")

    def round(self, which: str) -> str:
        """Begin a round from the untouched files, on a new branch; returns the folder for its journals."""
        self.git("checkout", "-q", "-b", RESULT.format(which), START)
        folder = f"{self.folder}/{which}"
        os.mkdir(folder)
        return folder

    def init(self) -> None:
        """Make the repository a workspace, as people do."""
        self._run([*python(), "-m", "dibs", "init"])
        for number in range(self.hosts):  # a clone has the workspace's id, but no local files of the others
            os.makedirs(f"{self.host(number)}/.dibs")
            shutil.copy(f"{self.repo}/.dibs/config.toml", f"{self.host(number)}/.dibs/config.toml")

    def host(self, index: int) -> str:
        """The folder from which an agent coordinates: that of its machine, or the repository."""
        return f"{self.folder}/host-{index % self.hosts + 1}" if self.hosts else self.repo

    def commit(self, message: str) -> str:
        """Commit everything; returns the commit's short id."""
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message)
        return self.git("rev-parse", "--short", "HEAD")

    def git(self, *words: str) -> str:
        """Run git with only our own settings."""
        settings = (
            "user.name=dibs demo",
            "user.email=demo@localhost",
            "commit.gpgsign=false",
            "core.hooksPath=/dev/null",
        )
        return self._run(["git", *[word for setting in settings for word in ("-c", setting)], *words])

    def _run(self, command: list[str]) -> str:
        try:
            done = subprocess.run(
                command,
                cwd=self.repo,
                env=environment(),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                check=False,
                timeout=COMMAND_TIMEOUT_S,
            )
        except FileNotFoundError:
            message = f"the demo needs `{command[0]}`, which is not on the PATH"
            raise Unavailable(message, command=command[0]) from None
        except subprocess.TimeoutExpired:
            message = f"`{command[0]}` did not end within {COMMAND_TIMEOUT_S} s"
            raise Unavailable(message, command=command[0]) from None
        if done.returncode:
            said = (done.stderr or done.stdout).strip().splitlines() or ["no output"]
            message = f"`{' '.join(command[-3:])}` failed in the scratch repository: {said[-1]}"
            raise Unavailable(message, command=command[0])
        return done.stdout.strip()

    def remove(self) -> None:
        """Remove the folder."""
        shutil.rmtree(self.folder, ignore_errors=True)


def python() -> list[str]:
    """This interpreter; -P: a `random.py` in the folder it runs in is not imported."""
    return [sys.executable, "-P"]


def environment() -> dict[str, str]:
    """The environment of everything that the demo starts: no DIBS_* and no GIT_* of the caller's.

    Except DIBS_STORE, which names the server of this demo if it has one.
    """
    kept = {
        name: value
        for name, value in os.environ.items()
        if name == "DIBS_STORE" or not name.startswith(("DIBS_", "GIT_"))
    }
    kept.update(GIT_CONFIG_GLOBAL=os.devnull, GIT_CONFIG_NOSYSTEM="1", GIT_TERMINAL_PROMPT="0", LC_ALL="C")
    if kept.get("PYTHONPATH"):  # the children run elsewhere
        parts = kept["PYTHONPATH"].split(os.pathsep)
        kept["PYTHONPATH"] = os.pathsep.join(os.path.abspath(part) for part in parts if part)
    return kept
