"""`dibs undo` at the command line: shows, asks, does it with `--yes`, refuses with who and since when, reverts."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.scratch import Shell


def git(shell: Shell, *words: str, **environment: str) -> str:
    who = ("-c", "user.name=eve", "-c", "user.email=e@x")
    env = {**shell.environment, "GIT_AUTHOR_NAME": "eve", "GIT_AUTHOR_EMAIL": "e@x", **environment}
    done = subprocess.run(["git", *who, *words], cwd=shell.folder, env=env, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def work(shell: Shell) -> Shell:
    """Ann changed a.txt, removed b.txt and made c.txt under a claim, without hooks."""
    Path(shell.folder, "a.txt").write_text("one\ntwo\nthree\nfour\nfive\n")
    Path(shell.folder, "b.txt").write_text("b\n")
    git(shell, "config", "user.name", "eve")
    git(shell, "config", "user.email", "e@x")
    git(shell, "add", "-A")
    git(shell, "commit", "-qm", "first")
    return shell


def change(shell: Shell, agent: str, **files: str | None) -> str:
    names = [name.replace("_", ".") for name in files]
    claim: str = shell.json("claim", *names, "--as", agent, exit=0)["claim"]
    for name, text in zip(names, files.values(), strict=True):
        path = Path(shell.folder, name)
        path.unlink() if text is None else path.write_text(text)
    return claim


def test_without_a_terminal_it_shows_the_difference_and_changes_nothing_until_yes(work: Shell) -> None:
    claim = change(work, "ann", a_txt="ONE\n", b_txt=None, c_txt="new\n")
    work.json("release", "--all", "--as", "ann", exit=0)
    seen = work.run("undo", claim, "--dry-run")
    assert seen.returncode == 0
    assert "restore a.txt" in seen.stdout
    assert "  -ONE\n  +one\n" in seen.stdout
    assert "bring back b.txt" in seen.stdout
    assert "remove c.txt" in seen.stdout
    asked = work.run("undo", claim)
    assert asked.returncode == 1
    assert "--yes" in asked.stderr
    shown = work.json("undo", claim, exit=1)
    assert (shown["ok"], shown["done"]) == (False, False)
    assert "--yes" in shown["notes"][-1], "the answer itself says why nothing was done"
    assert Path(work.folder, "c.txt").exists()
    done = json.loads(work.run("undo", claim, "--yes", "--json").stdout)
    assert (done["ok"], done["done"], sorted(done["restored"])) == (True, True, ["a.txt", "b.txt", "c.txt"])
    assert git(work, "status", "--porcelain") == ""
    again = work.run("undo", claim, "--yes")
    assert again.returncode == 1
    assert "nothing that claim" in again.stderr
    assert work.run("undo", done["undo"], "--yes").returncode == 0
    assert Path(work.folder, "a.txt").read_text() == "ONE\n"
    assert "undid what ann changed in 3 files" in work.run("explain", "a.txt").stdout
    work.json("verify", exit=0)


def test_an_undo_that_was_killed_is_named_by_doctor_and_finished_by_the_same_command(work: Shell) -> None:
    claim = change(work, "ann", a_txt="ONE\n", c_txt="new\n")
    work.json("release", "--all", "--as", "ann", exit=0)
    dying = (
        "import os, signal, sys; from dibs.ledger import file_writes; from dibs.interfaces.cli.main import main;"
        "file_writes.put = lambda *words: os.kill(os.getpid(), signal.SIGKILL); main(sys.argv[1:])"
    )
    words = [sys.executable, "-c", dying, "undo", claim, "--yes"]
    assert subprocess.run(words, cwd=work.folder, env=work.environment, check=False).returncode == -9
    (found,) = [one for one in work.json("doctor")["checks"] if one["check"] == "undo"]
    assert f"`dibs undo claim:{claim} --yes` finishes it" in found["message"]
    done = work.run("undo", f"claim:{claim}", "--yes")
    assert "which was interrupted, is done: undone in 2 files" in done.stderr
    assert git(work, "status", "--porcelain") == ""
    assert not [one for one in work.json("doctor")["checks"] if one["check"] == "undo"]


def test_only_some_paths_and_what_a_held_file_says(work: Shell) -> None:
    claim = change(work, "ann", a_txt="ONE\n", c_txt="new\n")
    work.json("release", "--all", "--as", "ann", exit=0)
    assert work.run("undo", claim, "c.txt", "--yes").returncode == 0
    assert Path(work.folder, "a.txt").read_text() == "ONE\n"
    assert not Path(work.folder, "c.txt").exists()
    work.json("claim", "a.txt", "--as", "bob", exit=0)
    refused = work.run("undo", claim, "--yes", "--as", "cid")
    assert refused.returncode == 1
    assert "bob holds a.txt" in refused.stderr
    assert work.run("undo", "nobody-here").returncode == 1


def test_what_others_built_on_is_refused_with_who_and_merged_with_theirs(work: Shell) -> None:
    claim = change(work, "ann", a_txt="ONE\ntwo\nthree\nfour\nfive\n")
    work.json("release", "--all", "--as", "ann", exit=0)
    change(work, "bob", a_txt="ONE\ntwo\nthree\nfour\nFIVE\n")
    work.json("release", "--all", "--as", "bob", exit=0)
    refused = work.json("undo", claim, "--yes", exit=1)["error"]
    assert (refused["code"], refused["path"]) == ("conflict", "a.txt")
    assert "a.txt: " in refused["message"]
    assert "--theirs" in refused["message"]
    assert work.run("undo", claim, "--yes", "--theirs").returncode == 0
    assert Path(work.folder, "a.txt").read_text() == "one\ntwo\nthree\nfour\nFIVE\n"


def test_a_commit_is_reverted_through_the_guards_and_names_who_did_it(work: Shell) -> None:
    work.json("task", "add", "shout", "--id", "T1", "--as", "boss", exit=0)
    token = work.json("task", "claim", "T1", "--as", "ann", exit=0)["token"]
    change(work, "ann", a_txt="ONE\n")
    git(work, "add", "-A")
    git(work, "commit", "-qm", "ann's", DIBS_AGENT="ann")
    work.json("task", "done", "T1", "--token", str(token), "--as", "ann", exit=0)
    work.run("release", "--all", "--as", "ann")
    done = json.loads(work.run("undo", "T1", "--yes", "--as", "boss", "--json").stdout)
    assert done["commit"] == git(work, "rev-parse", "HEAD")
    assert git(work, "show", "HEAD:a.txt") == "one\ntwo\nthree\nfour\nfive"
    assert git(work, "status", "--porcelain") == ""
    message = git(work, "log", "-1", "--format=%B")
    assert "Dibs-Agent: boss" in message
    assert "Undo task T1" in message
    work.json("verify", exit=0)
