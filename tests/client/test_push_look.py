"""Pushes past git's hook: git's own log has them, and whoever looks for trouble finds them, once."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.scratch import Shell


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(["git", "-C", str(folder), *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture
def clone(shell: Shell, tmp_path: Path) -> Shell:
    """A workspace with a remote, a commit that is there, and the hook of git before a push."""
    remote = tmp_path / "remote.git"
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(remote)], check=True)
    git(shell.folder, "checkout", "-q", "-B", "main")
    git(shell.folder, "remote", "add", "origin", str(remote))
    commit(shell, "first")
    git(shell.folder, "push", "-q", "--no-verify", "origin", "main")
    begin(shell)
    return shell


def begin(shell: Shell) -> None:
    """Set dibs up: what was pushed before is nobody's concern."""
    shutil.rmtree(shell.folder / ".dibs")
    shutil.rmtree(shell.folder / ".git" / "dibs", ignore_errors=True)
    shell.json("init", "--clients", "none", exit=0)


def commit(shell: Shell, name: str) -> str:
    (shell.folder / name).write_text(name)
    git(shell.folder, "add", name)
    git(shell.folder, "-c", "user.name=Ann", "-c", "user.email=ann@x", "commit", "-q", "--no-verify", "-m", name)
    return git(shell.folder, "rev-parse", "HEAD")


def bypasses(shell: Shell) -> list[str]:
    found = shell.json("alerts", "--kind", "bypass", exit=0)["alerts"]
    return [alert["text"] for alert in found if "a push" in alert["text"]]


def test_a_push_past_the_hook_is_an_alert_with_its_event_once(clone: Shell) -> None:
    pushed = commit(clone, "second")
    git(clone.folder, "push", "-q", "--no-verify", "origin", "main")
    (text,) = bypasses(clone)
    assert text.startswith(f"a push to origin/main ({pushed[:12]}) bypassed the guard")
    (event,) = clone.json("log", "--kind", "push.", exit=0)["events"]
    assert (event["kind"], event["subject"], event["data"]["branch"]) == ("push.unverified", pushed, "main")
    (alert,) = [one for one in clone.json("alerts", exit=0)["alerts"] if "a push" in one["text"]]
    assert alert["severity"] == "error"
    assert event["seq"] in alert["evidence"]
    assert alert["repeats"] == 0
    assert len(bypasses(clone)) == 1
    assert any("a push" in one["text"] for one in clone.json("status", exit=0)["alerts"])
    clone.json("verify", exit=0)


def test_the_first_push_past_the_hook_of_a_clone_is_noticed_whoever_looks_first(clone: Shell) -> None:
    first = git(clone.folder, "rev-parse", "HEAD")
    commit(clone, "second")
    git(clone.folder, "push", "-q", "origin", "main")  # through the hook
    git(clone.folder, "push", "-q", "-f", "--no-verify", "origin", f"{first}:main")
    (text,) = bypasses(clone)
    assert text.startswith(f"a push to origin/main ({first[:12]}) bypassed the guard")


def test_a_push_that_the_hook_let_pass_a_fetch_and_another_branch_are_none(clone: Shell) -> None:
    commit(clone, "second")
    git(clone.folder, "push", "-q", "origin", "main")  # through the hook
    git(clone.folder, "checkout", "-q", "-b", "topic")
    commit(clone, "third")
    git(clone.folder, "push", "-q", "--no-verify", "origin", "topic")  # not protected
    git(clone.folder, "fetch", "-q", "origin")
    assert bypasses(clone) == []
    assert clone.json("log", "--kind", "push.", exit=0)["events"] == []
