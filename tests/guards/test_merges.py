"""A merge, rebase, cherry-pick or revert that stopped on a conflict is its agent's until it is over."""

from __future__ import annotations

import pytest

from tests.interfaces.repository import Agent, Repository


def sides(repo: Repository) -> None:
    """`main` and `side` changed a.py differently; `side` brings c.py as well."""
    repo.git("checkout", "-q", "-b", "side")
    repo.write("a.py", "side\n")
    repo.write("c.py", "side\n")
    repo.git("commit", "-q", "-am", "side")
    repo.git("checkout", "-q", "main")
    repo.write("a.py", "main\n")
    repo.git("commit", "-q", "-am", "main")


def stopped(repo: Repository, command: str) -> tuple[Agent, Agent]:
    sides(repo)
    ada, bob = repo.agent("ada"), repo.agent("bob")
    ada.boot()
    bob.boot()
    done, _ = bob.bash(command)
    assert done.code != 0, "there is a conflict"
    return ada, bob


@pytest.mark.parametrize("command", ["git merge side", "git cherry-pick side", "git rebase side", "git pull -q . side"])
def test_the_files_of_a_conflict_are_held_for_the_agent_that_merges(repo: Repository, command: str) -> None:
    if "pull" in command:
        repo.git("config", "pull.rebase", "false")
    ada, bob = stopped(repo, command)
    assert "a.py" in repo.claims()["bob"]
    assert "bob holds a.py" in ada.may_edit("a.py").refusal
    bob.read("a.py")
    bob.edit("a.py", "both\n")
    done, _ = bob.bash("git add a.py && GIT_EDITOR=true git -c core.editor=true " + ending(command))
    assert done.code == 0, done
    assert repo.claims() == {}, "it is over"
    assert ada.may_edit("a.py").allowed


LEAVE_CONFLICTS = ["git merge --squash side", "git cherry-pick -n side", "git stash pop -q", "git stash apply",
                   "git apply -3 p.patch", "git checkout -q -m side"]  # fmt: skip


@pytest.mark.parametrize("command", LEAVE_CONFLICTS)
def test_the_files_of_a_conflict_that_git_does_not_continue_are_held_until_it_is_resolved(
    repo: Repository, command: str
) -> None:
    sides(repo)
    ada, bob = repo.agent("ada"), repo.agent("bob")
    bob.boot()
    if "checkout" in command:
        bob.read("a.py")
        bob.edit("a.py", "bob's\n")
        bob.dibs("release", "--all")
    if "stash" in command or "apply" in command:
        repo.git("checkout", "-q", "HEAD~1")
        repo.write("a.py", "put aside\n")
        (repo.folder.parent / "p.patch").write_text(repo.git("diff"))
        repo.git("stash", "-q")
        repo.git("checkout", "-q", "main")
    done, after = bob.bash(command.replace("p.patch", str(repo.folder.parent / "p.patch")))
    assert "a.py" in repo.git("diff", "--name-only", "--diff-filter=U"), done
    assert "formatter" not in after.told
    ada.boot()
    ada.edit("b.py", "ada's\n")
    ada.bash("git add b.py")
    assert repo.claims() == {"bob": ["a.py"], "ada": ["b.py"]}
    assert "bob holds a.py" in ada.may_edit("a.py").refusal
    bob.read("a.py")
    bob.edit("a.py", "both\n")
    bob.bash("git status")
    assert repo.claims()["bob"] == ["a.py"], "it is not resolved yet"
    bob.bash("git add a.py && git commit -q -m both -- a.py")
    bob.bash("git add a.py")
    assert repo.claims() == {"ada": ["b.py"]}
    assert repo.events("edit.violated", "edit.unattributed") == []


def ending(command: str) -> str:
    kind = command.split()[1]
    return "commit --no-edit" if kind in {"merge", "pull"} else f"{kind} --continue"


@pytest.mark.parametrize("kind", ["merge", "cherry-pick", "rebase"])
def test_an_aborted_one_holds_nothing(repo: Repository, kind: str) -> None:
    _, bob = stopped(repo, f"git {kind} side")
    assert repo.claims()["bob"]
    bob.bash(f"git {kind} --abort")
    assert repo.claims() == {}


def test_what_others_are_told_to_do_meanwhile_is_what_git_accepts(repo: Repository) -> None:
    ada, _ = stopped(repo, "git merge side")
    ada.edit("b.py", "ada's\n")
    refusal = ada.may_run("git add b.py && git commit -m b").refusal
    assert "A merge is under way here" in refusal
    assert "git worktree add" in refusal
    assert "git commit -m b --" not in refusal, "git commits no single files in a merge"
    done = ada.client.run("git", "commit", "-m", "b", cwd=repo.folder, CLAUDE_CODE_SESSION_ID="ada")
    assert done.code != 0
    assert "restore --staged" not in done.err


def test_another_agents_git_command_does_not_make_the_merge_its_own(repo: Repository) -> None:
    ada, _ = stopped(repo, "git merge side")
    ada.edit("b.py", "ada's\n")
    ada.bash("git add b.py")
    assert repo.claims()["ada"] == ["b.py"]
    assert "a.py" in repo.claims()["bob"]


def test_a_persons_merge_is_no_agents(repo: Repository) -> None:
    sides(repo)
    ada = repo.agent("ada")
    ada.boot()
    ada.edit("b.py", "ada's\n")
    repo.person.client.run("git", "-c", "core.hooksPath=/dev/null", "merge", "side", cwd=repo.folder)
    ada.bash("git add b.py")
    assert repo.claims() == {"ada": ["b.py"]}
