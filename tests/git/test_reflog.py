"""Commits made since a moment ago, read from git's own diary."""

from __future__ import annotations

from pathlib import Path

import pytest

from dibs.git import reflog
from tests.plain_git import git


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    folder = tmp_path / "repo"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    git(folder, "commit", "-q", "--allow-empty", "-m", "first")
    return folder


def test_commits_and_amends_are_told_and_what_only_moves_head_is_not(repo: Path) -> None:
    before = reflog.size(str(repo))
    git(repo, "checkout", "-q", "-b", "other")
    git(repo, "commit", "-q", "--allow-empty", "-m", "two")
    first = git(repo, "rev-parse", "HEAD")
    git(repo, "commit", "-q", "--amend", "--allow-empty", "-m", "two\tagain")
    second = git(repo, "rev-parse", "HEAD")
    git(repo, "checkout", "-q", "main")
    git(repo, "merge", "-q", "other")
    assert [commit for commit, _ in reflog.commits_since(str(repo), before)] == [first, second]
    assert reflog.commits_since(str(repo), reflog.size(str(repo))) == []


def test_whatever_moves_head_or_its_branch_is_told_with_both_commits(repo: Path) -> None:
    first = git(repo, "rev-parse", "HEAD")
    assert reflog.moves_since(str(repo), 0)[0][1:3] == ("", first)
    git(repo, "commit", "-q", "--allow-empty", "-m", "two")
    second = git(repo, "rev-parse", "HEAD")
    before = reflog.size(str(repo))
    git(repo, "update-ref", "refs/heads/main", first)
    git(repo, "reset", "-q", "--hard", second)
    git(repo, "update-ref", "-m", "by hand", "HEAD", first)
    git(repo, "checkout", "-q", "-b", "other")
    git(repo, "update-ref", "refs/heads/main", second)
    moves = reflog.moves_since(str(repo), before)
    assert [move[1:] for move in moves] == [
        (second, first, ""),
        (first, second, f"reset: moving to {second}"),
        (second, first, "by hand"),
        (first, first, "checkout: moving from main to other"),
    ]
    assert reflog.moves_since(str(repo), moves[1][0]) == moves[2:]
    assert reflog.moves_since(str(repo), reflog.size(str(repo))) == []
    assert reflog.moves_since(str(repo / "none"), 0) == []


def test_each_working_tree_has_its_own_diary(repo: Path) -> None:
    git(repo, "worktree", "add", "-q", "../tree")
    tree = repo.parent / "tree"
    before, here = reflog.size(str(tree)), reflog.size(str(repo))
    git(tree, "commit", "-q", "--allow-empty", "-m", "there")
    assert reflog.commits_since(str(tree), before) == [(git(tree, "rev-parse", "HEAD"), "commit: there")]
    assert reflog.commits_since(str(repo), here) == []


def test_where_there_is_no_diary_nothing_is_told(tmp_path: Path) -> None:
    assert reflog.size(str(tmp_path)) == 0
    assert reflog.commits_since(str(tmp_path), 0) == []
    (tmp_path / ".git").write_text("gitdir: nowhere\n")
    assert reflog.commits_since(str(tmp_path), 0) == []
