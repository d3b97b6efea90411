"""A scratch repository that is a workspace, and the real command as a new process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import declared, warm
from tests.interfaces.repository import Repository

DIBS = str(Path(sys.executable).parent / "dibs")


class Shell:
    """Runs `dibs` in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = {**os.environ, "PATH": f"{Path(DIBS).parent}:{os.environ['PATH']}"}

    def run(self, *words: str, cwd: Path | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
        """The command with these words; what it printed and its exit code."""
        return warm.dibs(words, cwd or self.folder, {**self.environment, **environment})

    def json(self, *words: str, exit: int | None = None, **more: Any) -> dict[str, Any]:
        """The same with `--json`: the one object that was printed."""
        done = self.run(*words, "--json", **more)
        lines = done.stdout.splitlines()
        assert len(lines) == 1, (words, done.stdout, done.stderr)
        found: dict[str, Any] = json.loads(lines[0])
        assert found["ok"] is (done.returncode == 0), (words, found, done.returncode)
        if exit is not None:
            assert done.returncode == exit, (words, done.returncode, done.stdout, done.stderr)
        assert "Traceback" not in done.stderr
        declared.hold_command(words, found)
        return found

    def commit(self) -> str:
        """An empty commit in the folder's repository, unseen by its hooks; its id."""
        git = ["git", "-c", "user.name=x", "-c", "user.email=x@x", "-c", "core.hooksPath=/dev/null"]
        subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "x"], cwd=self.folder, check=True)
        done = subprocess.run(["git", "rev-parse", "HEAD"], cwd=self.folder, stdout=subprocess.PIPE, check=True)
        return done.stdout.decode().strip()


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    folder = tmp_path / "repo"
    folder.mkdir()
    subprocess.run(["git", "init", "-q", "."], cwd=folder, check=True)
    made = Shell(folder)
    made.json("init", "--clients", "none", exit=0)
    return made


@pytest.fixture
def repo(tmp_path: Path) -> Iterator[Repository]:
    made = Repository(tmp_path)
    yield made
    made.close()
