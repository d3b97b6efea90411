"""The end of a workspace: `dibs init --uninstall` while it is in use, damaged, or was never there."""

from __future__ import annotations

from pathlib import Path

from tests.interfaces.installation import everything, git
from tests.scratch import Shell


def test_a_workspace_in_use_is_not_taken_away_unless_somebody_says_so(plain: Shell) -> None:
    plain.json("init", "--clients", "none", exit=0)
    plain.json("claim", "a.py", "--as", "ann", exit=0)
    refused = plain.json("init", "--uninstall", "--as", "bob", exit=1)["error"]
    assert refused["code"] == "held"
    assert "ann" in refused["message"]
    assert plain.json("status", exit=0)["claims"][0]["agent"] == "ann"
    assert "dibs:begin" in (plain.folder / ".git" / "hooks" / "pre-commit").read_text()
    plain.json("init", "--uninstall", "--as", "ann", "--dry-run", exit=0)
    plain.json("init", "--uninstall", "--yes", "--as", "bob", exit=0)
    assert not (plain.folder / ".dibs").exists()


def test_ones_own_claims_do_not_keep_one_from_uninstalling(plain: Shell) -> None:
    plain.json("init", "--clients", "none", exit=0)
    plain.json("claim", "a.py", "--as", "ann", exit=0)
    plain.json("init", "--uninstall", "--as", "ann", exit=0)
    assert not (plain.folder / ".dibs").exists()
    plain.json("init", "--clients", "none", exit=0)
    plain.json("claim", "a.py", exit=0)  # by the person, who is not named here either
    plain.json("init", "--uninstall", exit=0)
    assert not (plain.folder / ".dibs").exists()


def test_a_damaged_store_does_not_hide_that_claims_may_be_held(plain: Shell) -> None:
    plain.json("init", "--clients", "none", exit=0)
    (plain.folder / ".dibs" / "local" / "dibs.db").write_bytes(b"\0" * 20_000)
    assert "--yes" in plain.json("init", "--uninstall", exit=2)["error"]["message"]
    plain.json("init", "--uninstall", "--yes", exit=0)


def test_what_was_kept_for_restoring_goes_with_the_workspace(repository: Shell) -> None:
    before = everything(repository.folder / ".git" / "refs")
    repository.json("init", "--clients", "none", exit=0)
    blob = git("hash-object", "-w", "run.py", cwd=repository.folder).stdout.strip()
    git("update-ref", "refs/dibs/kept/1", blob, cwd=repository.folder)
    assert "refs/dibs/" in repository.json("init", "--uninstall", exit=0)["changes"]
    assert git("for-each-ref", "refs/dibs/", cwd=repository.folder).stdout == ""
    assert {
        name: was
        for name, was in everything(repository.folder / ".git" / "refs").items()
        if not name.startswith("dibs")
    } == before


def test_where_there_is_no_workspace_there_is_nothing_to_uninstall(plain: Shell) -> None:
    assert plain.json("init", "--uninstall", exit=64)["error"]["code"] == "invalid"


def test_init_from_a_linked_worktree_and_for_a_bare_repository(repository: Shell, tmp_path: Path) -> None:
    git("worktree", "add", "-q", "-b", "other", str(tmp_path / "linked"), cwd=repository.folder)
    repository.json("init", "--clients", "claude", exit=0, cwd=tmp_path / "linked")
    assert (repository.folder / ".dibs/hook").exists()
    assert not (tmp_path / "linked" / ".dibs").exists()
    git("clone", "-q", "--bare", str(repository.folder), str(tmp_path / "bare.git"), cwd=tmp_path)
    git("worktree", "add", "-q", str(tmp_path / "tree"), "main", cwd=tmp_path / "bare.git")
    before = everything(tmp_path / "tree")
    repository.json("init", "--clients", "claude", exit=0, cwd=tmp_path / "tree")
    assert (tmp_path / "tree" / ".dibs/hook").exists()
    assert (tmp_path / "bare.git" / ".dibs" / "local" / "run").exists()
    assert repository.json("init", "--clients", "claude", exit=0, cwd=tmp_path / "tree")["changes"] == []
    repository.json("init", "--uninstall", exit=0, cwd=tmp_path / "tree")
    assert everything(tmp_path / "tree") == before
    assert not (tmp_path / "bare.git" / ".dibs").exists()
