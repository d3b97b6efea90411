"""After a call, at the hook: what a command did to others' files, and what was claimed for as long as it ran."""

from __future__ import annotations

import os
import re
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.interfaces.repository import LIMIT, Repository

# --- the audit


SCRIPT = "import sys; open(sys.argv[1], 'w').write('overwritten')"


def test_an_opaque_command_that_changed_a_held_file_is_told_to_both_and_can_be_undone(repo: Repository) -> None:
    ada, bob = repo.agent("ada"), repo.agent("bob")
    ada.boot()
    bob.boot()
    ada.edit("a.py", "ada's\n")
    repo.later()
    repo.write("x.py", SCRIPT)
    _, after = bob.bash("python3 x.py a.py")
    assert "your command changed a.py, which ada holds" in after.told
    assert "dibs restore" not in after.told, "it would be refused to bob"
    told = ada.hook("UserPromptSubmit", prompt="go").told
    found = re.search(r"bob changed a\.py, which you hold, by a command\..*dibs restore (v\w+)` brings back", told)
    assert found is not None, told
    assert repo.git("cat-file", "blob", f"refs/dibs/kept/{found[1]}") == "ada's\n"
    [event] = repo.events("edit.violated")
    assert (event["agent"], event["subject"], event["data"]["holder"]) == ("bob", "a.py", "ada")
    assert [kept["id"] for kept in ada.dibs("restore", "--list")["kept"]] == [found[1]]
    assert ada.dibs("restore", found[1])["restored"] == "a.py"
    assert (repo.folder / "a.py").read_text() == "ada's\n"


def test_right_after_the_holders_own_edit_a_change_may_have_been_its_formatter_and_is_only_probably_the_commands(
    repo: Repository,
) -> None:
    ada, bob = repo.agent("ada"), repo.agent("bob")
    ada.boot()
    bob.boot()
    ada.edit("a.py", "ada's\n")
    repo.write("x.py", SCRIPT)
    _, after = bob.bash("python3 x.py a.py")
    assert "your command probably changed a.py, which ada holds" in after.told
    told = ada.hook("UserPromptSubmit", prompt="go").told
    found = re.search(r"which you hold, was changed; probably bob did it\..*dibs restore (v\w+)`", told)
    assert found is not None, told
    [event] = repo.events("edit.unattributed")
    assert (event["subject"], event["data"]["holder"], event["data"]["suspects"]) == ("a.py", "ada", ["bob"])
    assert ada.dibs("restore", found[1])["restored"] == "a.py"
    assert (repo.folder / "a.py").read_text() == "ada's\n"


def test_a_violation_is_told_once_and_the_holders_next_write_is_no_violation(repo: Repository) -> None:
    ada, bob = repo.agent("ada"), repo.agent("bob")
    bob.boot()
    ada.edit("a.py", "ada's\n")
    repo.write("x.py", SCRIPT)
    assert bob.bash("python3 x.py a.py")[1].told
    assert bob.bash("python3 --version")[1].told == ""
    ada.read("a.py")
    ada.edit("a.py", "ada's again\n")
    assert bob.bash("python3 --version")[1].told == ""
    assert len(repo.events("edit.violated", "edit.unattributed")) == 1


def test_a_held_file_that_an_opaque_command_deleted_can_be_restored(repo: Repository) -> None:
    ada, bob = repo.agent("ada"), repo.agent("bob")
    bob.boot()
    ada.edit("a.py", "ada's\n")
    repo.later()
    repo.write("x.py", "import os; os.unlink('a.py')")
    assert "your command changed a.py" in bob.bash("python3 x.py")[1].told
    assert ada.dibs("restore", "a.py")["restored"] == "a.py"
    assert (repo.folder / "a.py").read_text() == "ada's\n"


def test_a_file_claimed_by_hand_is_audited_too(repo: Repository) -> None:
    ada, bob = repo.agent("ada"), repo.agent("bob")
    bob.boot()
    assert ada.dibs("claim", "a.py")["ok"]
    repo.write("x.py", SCRIPT)
    assert "your command changed a.py, which ada holds" in bob.bash("python3 x.py a.py")[1].told
    assert ada.dibs("restore", "a.py")["ok"]
    assert (repo.folder / "a.py").read_text() == "a.py at first\n"


@pytest.mark.parametrize("tool", ["mcp__files__write", "AToolOfNextYear"])
def test_a_tool_that_nobody_knows_is_audited_like_a_command(repo: Repository, tool: str) -> None:
    ada, bob = repo.agent("ada"), repo.agent("bob")
    bob.boot()
    ada.edit("a.py", "ada's\n")
    assert bob.may(tool, "call", where="a.py").silent
    repo.write("a.py", "overwritten\n")
    assert "a.py, which ada holds" in bob.did(tool, "call", where="a.py").told
    assert ada.dibs("restore", "a.py")["ok"]
    assert (repo.folder / "a.py").read_text() == "ada's\n"


def test_a_new_file_that_an_opaque_command_wrote_over_anothers_claim_is_a_violation(repo: Repository) -> None:
    ada, bob = repo.agent("ada"), repo.agent("bob")
    bob.boot()
    assert ada.may_edit("new.py").silent, "claimed, and not written yet"
    assert ada.did("Edit", "call-1", file_path=str(repo.folder / "new.py")).code == 0
    repo.later()
    repo.write("x.py", SCRIPT)
    assert "your command changed new.py, which ada holds" in bob.bash("python3 x.py new.py")[1].told


def test_a_change_while_the_holder_had_a_call_open_is_reported_as_unattributed(repo: Repository) -> None:
    ada, bob = repo.agent("ada"), repo.agent("bob")
    ada.boot()
    bob.boot()
    ada.edit("a.py", "ada's\n")
    assert ada.may_run("make", "long").allowed
    repo.write("x.py", SCRIPT)
    told = bob.bash("python3 x.py a.py")[1].told
    assert "your command may have changed a.py, which ada holds" in told
    [event] = repo.events("edit.violated", "edit.unattributed")
    assert event["kind"] == "edit.unattributed"
    told = ada.hook("UserPromptSubmit", prompt="go").told
    assert "who did it is not known: it may have been you or bob." in told, "it is not told its own name"


def test_a_change_from_before_the_command_is_not_laid_at_its_door(repo: Repository) -> None:
    ada, bob = repo.agent("ada"), repo.agent("bob")
    bob.boot()
    ada.edit("a.py", "ada's\n")
    repo.later()
    os.utime(repo.write("a.py", "a person's\n"), (1_000_000_000, 1_000_000_000))
    told = bob.bash("python3 --version")[1].told
    assert "your command changed" not in told
    [event] = repo.events("edit.violated", "edit.unattributed")
    assert event["kind"] == "edit.unattributed"


# --- git's index


def test_a_commit_holds_gits_index_while_it_runs_and_not_longer(repo: Repository) -> None:
    ada, bob = repo.agent("ada"), repo.agent("bob")
    bob.boot()
    ada.edit("a.py", "ada's\n")
    assert ada.may_run("git commit -qm x a.py", "commit").allowed
    assert repo.claims() == {"ada": ["a.py", "git:head", "git:index"]}
    bob.edit("b.py", "bob's\n")
    with ThreadPoolExecutor(1) as aside:
        waits = aside.submit(bob.may_run, "git add b.py", "add")  # how long: test_hooks_git.py
        done = ada.client.run("bash", "-c", "git commit -qm x a.py", cwd=repo.folder, CLAUDE_CODE_SESSION_ID="ada")
        assert done.code == 0, done
        assert not waits.done(), "the index is ada's until her call ends"
        assert ada.did("Bash", "commit", command="git commit -qm x a.py").code == 0
        assert waits.result(LIMIT).allowed
    assert repo.claims() == {"bob": ["b.py", "git:index"]}, "the commit released a.py, its end the index"


def test_gits_index_of_another_working_tree_is_another_one(repo: Repository) -> None:
    tree = repo.worktree("tree")
    ada, bob = repo.agent("ada"), repo.agent("bob", cwd=tree)
    assert ada.may_run("git add -A").allowed
    assert bob.may_run("git add -A").allowed


def test_a_git_command_whose_files_are_refused_leaves_the_index_free(repo: Repository) -> None:
    repo.agent("ada").edit("a.py", "ada's\n")
    bob = repo.agent("bob")
    assert bob.may_run("git add b.py && echo x > a.py").refusal
    assert repo.claims() == {"ada": ["a.py"]}


def test_a_command_that_was_broken_off_holds_gits_index_only_until_the_turn_is_over(repo: Repository) -> None:
    """A call that a person breaks off has no second hook."""
    ada = repo.agent("ada")
    assert ada.may_run("git commit -m x").allowed
    ada.stop()
    assert repo.claims() == {}


@pytest.mark.slow
def test_a_client_that_died_in_a_commit_leaves_the_index_free(repo: Repository) -> None:
    ada, bob = repo.agent("ada"), repo.agent("bob")
    assert ada.may_run("git commit -m x").allowed
    ada.client.kill()
    assert bob.may_run("git add -A").allowed


def test_what_the_holder_itself_is_writing_right_now_is_no_violation(repo: Repository) -> None:
    """An audit may come between the holder's write and its own hook after it."""
    ada, bob = repo.agent("ada"), repo.agent("bob")
    bob.boot()
    ada.edit("a.py", "ada's\n")
    path = str(repo.folder / "a.py")
    assert ada.may("Edit", "open", file_path=path, old_string="a", new_string="b").silent
    repo.write("a.py", "ada's, just written\n")
    assert bob.bash("python3 --version")[1].told == ""
    assert ada.did("Edit", "open", file_path=path).code == 0
    assert bob.bash("python3 --version")[1].told == ""
    assert repo.events("edit.violated", "edit.unattributed") == []


def test_a_commit_in_a_shell_without_gits_hooks_is_noticed_and_those_it_concerns_are_told(repo: Repository) -> None:
    ada, bob = repo.agent("ada"), repo.agent("bob")
    ada.boot()
    bob.boot()
    ada.edit("a.py", "ada's\n")
    repo.write("x.sh", "git -c core.hooksPath= commit -qam 'all of it'\n")
    bob.bash("sh x.sh")
    [event] = repo.events("commit.unverified")
    assert (event["agent"], event["data"]["how"], event["data"]["paths"]) == ("bob", "past", ["a.py"])
    assert "a.py" in ada.hook("UserPromptSubmit", prompt="go").told
    bob.bash("python3 --version")
    assert len(repo.events("commit.unverified")) == 1, "told once"


@pytest.mark.parametrize("undo", ["git checkout a.py", "git checkout HEAD -- a.py", "git restore a.py"])
def test_who_undoes_a_file_of_its_own_by_git_is_its_changer_and_may_go_on(repo: Repository, undo: str) -> None:
    ada, bob = repo.agent("ada"), repo.agent("bob")
    ada.boot()
    bob.boot()
    bob.edit("b.py", "bob\n")
    assert ada.read("a.py").silent
    ada.edit("a.py", "ada\n")
    ada.bash("git diff a.py > ../own.diff")
    assert ada.bash(undo)[1].silent
    assert (repo.folder / "a.py").read_text() == "a.py at first\n"
    assert ada.bash("true")[1].silent
    ada.bash("git apply ../own.diff")
    assert (repo.folder / "a.py").read_text() == "ada\n"
    assert ada.dibs("restore", "--list")["kept"] == []
    assert bob.may_run("git checkout a.py").refusal, "ada is at work on it"
