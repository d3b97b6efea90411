"""`dibs undo` of what an agent's commands did to modes and to git's index: nothing of it is left."""

from __future__ import annotations

import subprocess

import pytest

from tests.interfaces.repository import Repository

COMMANDS = (
    ("chmod -x run.sh",),
    ("chmod +x a.py",),
    ("chmod 755 a.py b.py",),
    ("chmod +x a.py", "echo more >> b.py"),
    ("chmod +x a.py", "echo more >> a.py"),
    ("chmod +x a.py; echo more >> a.py",),
    ("chmod -R +x d",),
    ("chmod +x *.py",),
    ("cd d && chmod a+x f",),
    ("chmod +x a.py && git add a.py",),
    ("chmod +x a.py", "git add a.py", "chmod -x a.py"),
    ("git mv d/f d/g",),
    ("git mv d/f d/g", "rm -r d"),
    ("echo n > n.txt", "git add n.txt", "rm n.txt"),
    ("echo n > n.txt", "git add n.txt"),
    ("git rm -q a.py",),
    ("rm a.py", "git add -u"),
)


@pytest.mark.parametrize("commands", COMMANDS, ids=" ; ".join)
def test_modes_and_the_index_come_back_as_they_were(repo: Repository, commands: tuple[str, ...]) -> None:
    repo.write("run.sh", "#!/bin/sh\n").chmod(0o755)
    repo.write("d/f", "deep\n")
    repo.git("add", "-A")
    repo.git("commit", "-q", "-m", "base")
    ada = repo.agent("ada")
    ada.boot()
    for command in commands:
        ada.bash(command)
    assert repo.git("status", "--porcelain"), "there is something to undo"
    ada.dibs("release", "--all")
    assert ada.dibs("undo", "ada", "--yes")["done"]
    assert repo.git("status", "--porcelain") == ""


def test_a_mode_that_git_does_not_keep_is_no_change(repo: Repository) -> None:
    repo.git("config", "core.fileMode", "false")
    ada = repo.agent("ada")
    ada.boot()
    ada.bash("chmod +x a.py")
    ada.edit("b.py", "ada's\n")
    ada.dibs("release", "--all")
    assert [one["path"] for one in ada.dibs("undo", "ada", "--dry-run")["files"]] == ["b.py"]
    assert subprocess.run(["test", "-x", repo.folder / "a.py"], check=False).returncode == 0
