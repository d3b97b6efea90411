"""A linked working tree that is removed takes nothing of what dibs kept with it."""

from __future__ import annotations

import fcntl
import os
import shutil
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from tests.interfaces.repository import Agent, Repository
from tests.waiting import until


def at_work(repo: Repository, name: str = "tree") -> tuple[Agent, Path]:
    """Ada, with something uncommitted in a working tree of its own."""
    tree = repo.worktree(name)
    ada = repo.agent("ada", cwd=tree)
    ada.boot()
    ada.edit("a.py", "precious\n")
    return ada, tree


def remove(repo: Repository, tree: Path) -> None:
    repo.git("worktree", "remove", "--force", str(tree))


def delete(_: Repository, tree: Path) -> None:
    shutil.rmtree(tree)


def delete_and_prune(repo: Repository, tree: Path) -> None:
    shutil.rmtree(tree)
    repo.git("worktree", "prune")


@pytest.mark.parametrize("how", [remove, delete, delete_and_prune])
def test_what_was_uncommitted_in_a_removed_tree_is_listed_told_and_restored(repo: Repository, how: Any) -> None:
    _, tree = at_work(repo)
    assert repo.claims() == {"ada": ["a.py"]}
    how(repo, tree)
    (kept,) = repo.person.dibs("restore", "--list")["kept"]
    assert (kept["path"], kept["tree"], kept["holder"], kept["how"]) == ("a.py", str(tree), "ada", "removed")
    assert repo.claims() == {}
    (alert,) = repo.person.dibs("alerts")["alerts"]
    assert (alert["kind"], alert["severity"]) == ("removed", "error")
    assert "unfinished work of ada: a.py" in alert["text"]
    assert "was removed with what you had not committed" in repo.terminal("inbox", "--as", "ada")["messages"][0]["text"]
    assert repo.person.dibs("restore", kept["id"])["restored"] == "a.py"
    assert (repo.folder / "a.py").read_text() == "precious\n"
    assert repo.person.dibs("verify")["ok"]


@pytest.mark.parametrize("within", [False, True])
@pytest.mark.parametrize("spelled", ["a.py", "{tree}/a.py", "sub/../a.py"])
def test_it_is_restored_by_its_path_in_this_tree_or_in_the_removed_one(
    spelled: str, within: bool, repo: Repository
) -> None:
    tree = repo.folder / ".trees" / "inner" if within else repo.folder.parent / "outer"
    repo.git("worktree", "add", "-q", "-b", "side", str(tree))
    ada = repo.agent("ada", cwd=tree)
    ada.boot()
    ada.edit("a.py", "precious\n")
    ada.edit("b.py", "also\n")
    remove(repo, tree)
    (repo.folder / "sub").mkdir()
    answer = repo.person.dibs("restore", spelled.format(tree=tree))
    assert (answer["restored"], (repo.folder / "a.py").read_text()) == ("a.py", "precious\n")
    assert [alert["kind"] for alert in repo.person.dibs("status")["alerts"]] == ["removed"], "b.py is not back yet"
    repo.person.dibs("restore", answer["id"])
    assert repo.person.dibs("status")["alert_count"] == 1, "the same file a second time is no other one"
    repo.person.dibs("restore", "b.py")
    assert repo.person.dibs("status")["alerts"] == []
    assert repo.events("alert.cleared")[-1]["data"]["why"] == "all of it was restored"
    assert repo.person.dibs("verify")["ok"]


def test_what_is_kept_of_the_path_s_own_tree_comes_first(repo: Repository) -> None:
    other = repo.worktree("other")
    for name, cwd in (("bob", repo.folder), ("cyd", other)):
        agent = repo.agent(name, cwd=cwd)
        agent.boot()
        agent.edit("a.py", f"of {name}\n")
        assert repo.terminal("release", str(cwd / "a.py"), "--force", "--why", "to test")["ok"]
        (cwd / "a.py").write_text("of nobody\n")
    _, gone = at_work(repo, "gone")
    remove(repo, gone)
    assert len(repo.person.dibs("restore", "--list")["kept"]) == 3
    assert repo.person.dibs("restore", str(other / "a.py"))["ok"]
    assert ((repo.folder / "a.py").read_text(), (other / "a.py").read_text()) == ("of nobody\n", "of cyd\n")
    assert repo.person.dibs("restore", "a.py")["ok"]
    assert ((repo.folder / "a.py").read_text(), (other / "a.py").read_text()) == ("of bob\n", "of cyd\n")
    assert repo.person.dibs("restore", str(other / "b.py"))["error"]["code"] == "not_found"


def test_it_is_reported_once_and_undo_says_where_it_was(repo: Repository) -> None:
    _, tree = at_work(repo)
    remove(repo, tree)
    for _ in range(3):
        assert len(repo.person.dibs("restore", "--list")["kept"]) == 1
        repo.person.dibs("alerts")
    assert len(repo.events("tree.removed")) == 1
    said = repo.agent("ada").dibs("undo", "ada", "--dry-run")["error"]["message"]
    assert f"a working tree that was removed ({tree})" in said
    assert "`dibs restore`" in said


def test_a_tree_of_the_same_name_has_a_ledger_of_its_own(repo: Repository) -> None:
    _, tree = at_work(repo)
    remove(repo, tree)
    repo.git("worktree", "add", "-q", str(tree), "tree")
    bob = repo.agent("bob", cwd=tree)
    bob.boot()
    assert bob.may_write("b.py").silent
    assert len(repo.person.dibs("restore", "--list")["kept"]) == 1
    assert repo.claims() == {"bob": ["b.py"]}, "the claims in the earlier tree ended, those in this one did not"
    assert bob.may_write("a.py").silent, "nothing of the removed tree's files is known here"


def test_a_tree_that_is_there_moved_or_locked_is_left_alone(repo: Repository) -> None:
    _, tree = at_work(repo)
    assert repo.person.dibs("restore", "--list")["kept"] == []
    repo.git("worktree", "move", str(tree), str(tree.with_name("moved")))
    assert repo.person.dibs("restore", "--list")["kept"] == []
    repo.git("worktree", "lock", str(tree.with_name("moved")))
    tree.with_name("moved").rename(tree.with_name("unmounted"))
    assert repo.person.dibs("restore", "--list")["kept"] == []
    assert repo.events("tree.removed") == []


def test_a_ledger_of_an_earlier_version_is_carried_over(repo: Repository) -> None:
    ada, tree = at_work(repo)
    own = repo.folder / ".git" / "worktrees" / "tree" / "dibs"
    kept = own.resolve()
    own.unlink()
    kept.rename(own)  # as it was
    (own / "top").unlink()
    ada.edit("b.py", "more\n")
    assert own.is_symlink()
    assert own.resolve().parent == repo.private / "trees"
    remove(repo, tree)
    assert sorted(one["path"] for one in repo.person.dibs("restore", "--list")["kept"]) == ["a.py", "b.py"]


def test_a_read_before_anything_else_begins_the_ledger_in_its_place(repo: Repository) -> None:
    tree = repo.worktree("tree")
    repo.agent("ada", cwd=tree).read("a.py")
    assert (repo.folder / ".git" / "worktrees" / "tree" / "dibs").is_symlink()


@pytest.mark.skipif(not Path("/proc/locks").exists(), reason="needs Linux to see that a process waits for a lock")
def test_a_tree_whose_ledger_is_being_made_does_not_count_as_removed(repo: Repository) -> None:
    """Its ledger is there for an instant before the tree's link to it: the look waits for the process that makes it."""
    tree = repo.worktree("w1")
    trees = repo.private / "trees"
    ledger = trees / "w1-0123456789ab"
    ledger.mkdir(parents=True)
    with (trees / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        (ledger / "top").write_text(str(tree))
        looks = Thread(target=repo.person.dibs, args=("alerts",))
        looks.start()
        until(lambda: not looks.is_alive() or is_waited_for(lock.fileno()), "the look at the lock")
        (repo.folder / ".git" / "worktrees" / "w1" / "dibs").symlink_to("../../dibs/trees/w1-0123456789ab")
    looks.join()
    assert not (ledger / "removed").exists()
    shutil.rmtree(tree)
    repo.person.dibs("alerts")
    assert (ledger / "removed").exists()


def is_waited_for(fd: int) -> bool:
    """Does a process wait for the lock on this file?"""
    inode = f":{os.fstat(fd).st_ino} "
    return any("->" in line and inode in line for line in Path("/proc/locks").read_text().splitlines())
