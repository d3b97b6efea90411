"""`dibs restore`: what it never writes, whatever the record says."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from dibs.canonical import Canonical
from dibs.client.session import Session
from dibs.operations.guards.audits import CHANGED
from tests.scratch import Shell


def _kept(shell: Shell, path: str, content: str) -> str:
    """A kept content of this path, as a hook of this machine reports it."""
    done = subprocess.run(
        ["git", "hash-object", "-w", "--stdin"], cwd=shell.folder, input=content, text=True, check=True,
        stdout=subprocess.PIPE,
    )  # fmt: skip
    session = Session(str(shell.folder), None)
    try:
        change = {
            "id": f"x{len(path)}", "resource": Canonical(("file", path, "")), "tree": str(shell.folder),
            "was": done.stdout.strip(), "now": "0" * 40, "actor": "ann", "grade": "sure", "suspects": [],
            "owners": ["bob"], "named": False, "heard": [],
        }  # fmt: skip
        (made,) = session.run(CHANGED, session.identify("ann"), {"found": [change]})["violations"]
    finally:
        session.close()
    return str(made["violation"])


@pytest.mark.parametrize(
    "path",
    [".git/hooks/pre-commit", ".GIT/hooks/pre-commit", "sub/.git/config", ".dibs/hook", ".dibs/config.toml",
     "way/pre-commit", "way2/hook"],
)  # fmt: skip
def test_nothing_is_restored_below_git_s_folder_or_over_dibs_own_files(shell: Shell, path: str) -> None:
    (shell.folder / "way").symlink_to(".git/hooks")
    (shell.folder / "way2").symlink_to(".dibs")
    victim = Path(shell.folder, path)
    before = victim.read_bytes() if victim.is_file() else None
    kept = _kept(shell, path, "#!/bin/sh\ntouch owned\n")
    refused = shell.json("restore", kept, "--as", "ann", exit=1)
    assert refused["error"]["code"] == "forbidden"
    assert (victim.read_bytes() if victim.is_file() else None) == before


def test_another_file_is_restored(shell: Shell) -> None:
    shell.json("restore", _kept(shell, "a.txt", "before"), "--as", "ann", exit=0)
    assert (shell.folder / "a.txt").read_text() == "before"
