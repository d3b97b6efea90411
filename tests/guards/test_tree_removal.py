"""No agent deletes a working tree with unfinished work in it, nor a branch that never landed; each way out works."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.interfaces.repository import Agent, Repository

WAYS = ("git worktree remove --force {tree}", "rm -rf {tree}", "rm -rf {tree}/", "cd .. && rm -r topic",
        "git -C {tree} worktree remove -f {tree}")  # fmt: skip


def at_work(repo: Repository) -> tuple[Agent, Path]:
    tree = repo.worktree("topic")
    ada = repo.agent("ada", cwd=tree)
    ada.boot()
    ada.edit("a.py", "committed\n")
    ada.bash("git commit -qam one")
    ada.edit("b.py", "unfinished\n")
    return ada, tree


@pytest.mark.parametrize("way", WAYS)
def test_its_author_is_refused_too_and_each_way_out_works(repo: Repository, way: str) -> None:
    ada, tree = at_work(repo)
    command = way.format(tree=tree)
    told = ada.may_run(command).refusal
    assert f"would delete the working tree {tree} with work in it that is not committed: b.py." in told
    assert f"`git -C {tree} stash push -u`" in told
    out = f"git -C {tree} stash push -u" if "remove" in way else f"git -C {tree} add -A && git -C {tree} commit -qm two"
    ada.bash(out)
    assert ada.may_run(command).allowed
    assert repo.git("stash", "list") or repo.git("log", "--format=%s", "-1", "topic").strip() == "two"


@pytest.mark.parametrize("ended", [False, True])
@pytest.mark.parametrize("way", [*WAYS[:3], "git worktree remove {tree}", "mv {tree} /elsewhere"])
def test_another_agent_is_refused_while_there_is_work_in_it(repo: Repository, way: str, *, ended: bool) -> None:
    ada, tree = at_work(repo)
    bob = repo.agent("bob")
    bob.boot()
    if ended:
        ada.end()
    told = bob.may_run(way.format(tree=tree)).refusal
    assert "files that others hold: b.py (" in told
    assert ("uncommitted work that ada left" in told) is ended


def test_a_tree_without_unfinished_work_goes(repo: Repository) -> None:
    ada, tree = at_work(repo)
    ada.bash("git commit -qam two")
    bob = repo.agent("bob")
    bob.boot()
    for way in WAYS[:3]:
        assert bob.may_run(way.format(tree=tree)).allowed, way


def test_a_folder_above_several_trees_is_refused_for_any_of_them(repo: Repository) -> None:
    folder = repo.scratch / "trees"
    folder.mkdir()
    for name in ("one", "two"):
        repo.git("worktree", "add", "-q", "-b", name, str(folder / name))
    ada = repo.agent("ada", cwd=folder / "two")
    ada.boot()
    ada.edit("b.py", "unfinished\n")
    bob = repo.agent("bob")
    bob.boot()
    assert "b.py (ada" in bob.may_run(f"rm -rf {folder}").refusal
    assert bob.may_run(f"rm -rf {folder}/one").allowed


@pytest.mark.parametrize("way", ["git branch -D topic", "git update-ref -d refs/heads/topic"])
def test_what_was_never_landed_stays_although_its_agent_is_gone(repo: Repository, way: str) -> None:
    ada, tree = at_work(repo)
    ada.bash("git checkout -q b.py")
    ada.end()
    repo.git("worktree", "remove", "--force", str(tree))
    bob = repo.agent("bob")
    bob.boot()
    told = bob.may_run(way).refusal
    assert "a commit of ada that was never landed and that nothing else has" in told
    ada.cwd = repo.folder
    assert ada.may_run(way).allowed, "its own"
    repo.git("branch", "-q", "kept", "topic")
    assert bob.may_run(way).allowed, "another branch has it"


@pytest.mark.parametrize("how", ["merge --squash", "cherry-pick"])
def test_what_was_landed_as_another_commit_may_go(repo: Repository, how: str) -> None:
    ada, tree = at_work(repo)
    ada.bash("git checkout -q b.py")
    ada.end()
    repo.git("worktree", "remove", "--force", str(tree))
    repo.git(*how.split(), "topic")
    if "squash" in how:
        repo.git("commit", "-qm", "landed")
    bob = repo.agent("bob")
    bob.boot()
    assert bob.may_run("git branch -D topic").allowed
