"""A person's uncommitted changes in a working tree of agents: no command of an agent drops what a person is at, unread.

What a person left before the agent began goes, and the agent is told how to bring it back.
"""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

import pytest

from dibs.ledger import compaction, ledger_files
from dibs.ledger.working_tree import Tree

if TYPE_CHECKING:
    from tests.interfaces.repository import Agent, Repository

SWEEPS = (
    "git checkout .",
    "git restore .",
    "git checkout -f",
    "git reset --hard",
    "git stash",
    "git stash -u",
    "git checkout HEAD -- .",
)


@pytest.fixture
def ada(repo: Repository) -> Agent:
    """The only agent."""
    made = repo.agent("ada")
    made.boot()
    return made


@pytest.mark.parametrize("command", SWEEPS)
def test_a_sweep_leaves_what_a_person_changed_and_the_agent_has_not_read(
    command: str, repo: Repository, ada: Agent
) -> None:
    repo.write("b.py", "of a person\n")
    ada.edit("a.py", "of ada\n")
    refused = ada.may_run(command).refusal
    assert "no agent made" in refused
    assert "b.py" in refused
    safe = re.search(r"Run `(.+?)` instead", refused)
    assert safe is not None, refused
    done, _ = ada.bash(safe[1])
    assert done.code == 0, done
    assert (repo.folder / "a.py").read_text() == "a.py at first\n"
    assert (repo.folder / "b.py").read_text() == "of a person\n"
    ada.read("b.py")
    assert ada.may_run(command).silent


@pytest.mark.parametrize("boots", [True, False])
@pytest.mark.parametrize("command", [*SWEEPS, "git clean -fd", "git checkout -- b.py", "rm -rf b.py notes"])
def test_what_a_person_left_before_the_agent_began_goes_and_can_be_brought_back(
    command: str, boots: bool, repo: Repository
) -> None:
    repo.write("b.py", "of a person\n")
    for name in ("one", "two"):
        repo.write(f"notes/{name}.txt", "of a person\n")
    before = {path: path.read_text() for path in repo.folder.rglob("*") if path.name in {"b.py", "one.txt", "two.txt"}}
    ada = repo.agent("ada")
    if boots:
        ada.boot()
    allowed, after = ada.bash(command)
    assert allowed.code == 0
    gone = [path for path, text in before.items() if not path.exists() or path.read_text() != text]
    assert gone
    if "stash" in command:  # git keeps them itself
        assert "dibs undo " not in after.out
        return
    told = re.findall(r"dibs (undo .+?)`", after.out)
    assert len(told) == 1, after.out
    assert ada.dibs(*shlex.split(told[0]))["ok"] is True
    assert {path: path.read_text() for path in before} == before


def test_many_files_that_a_person_left_are_told_in_one_message_of_bounded_length(repo: Repository) -> None:
    for number in range(60):
        repo.write(f"notes/{number:02}.txt", "of a person\n")
    ada = repo.agent("ada")
    ada.boot()
    _, after = ada.bash("git clean -fd")
    assert "60 files had uncommitted changes" in after.out
    assert "and 40 more" in after.out
    assert "notes/19.txt" in after.out
    assert "notes/20.txt" not in after.out


def test_an_untracked_file_of_a_person_is_not_cleaned_away(repo: Repository, ada: Agent) -> None:
    repo.write("notes.txt", "of a person\n")
    repo.write("drafts/one.txt", "of a person\n")
    ada.edit("mine.txt", "of ada\n")
    refused = ada.may_run("git clean -fd").refusal
    assert "notes.txt" in refused
    assert "drafts/one.txt" in refused
    safe = re.search(r"Run `(.+?)` instead", refused)
    assert safe is not None
    assert ada.bash(safe[1])[0].code == 0
    assert (repo.folder / "notes.txt").exists()
    assert (repo.folder / "drafts" / "one.txt").exists()
    assert not (repo.folder / "mine.txt").exists()
    ada.bash("cat notes.txt drafts/one.txt")
    assert ada.may_run("git clean -fd").silent


def test_what_takes_in_or_moves_no_file_passes_with_a_persons_changes_there(repo: Repository, ada: Agent) -> None:
    repo.write("b.py", "of a person\n")
    repo.write("notes.txt", "of a person\n")
    ada.edit("a.py", "of ada\n")
    for command in (
        "git add -A && git checkout -- a.py",
        "git add -A",
        "git commit -am x",
        "git switch -c topic",
        "git stash list",
        "git reset",
        "git diff",
    ):
        assert ada.may_run(command).silent, command


def test_a_file_that_the_command_names_is_no_less_a_persons(repo: Repository, ada: Agent) -> None:
    repo.write("c.py", "of a person\n")
    assert "c.py" in ada.may_run("git checkout -- c.py").refusal
    ada.read("c.py")
    assert ada.may_run("git checkout -- c.py").silent


@pytest.mark.parametrize("command", SWEEPS)
def test_a_lone_agent_drops_whatever_it_or_its_programs_changed(command: str, repo: Repository, ada: Agent) -> None:
    repo.write("gen.sh", '. "$HOME/plan"\n')
    repo.git("add", "-A")
    repo.git("commit", "-qm", "a script")
    (repo.scratch / "home" / "plan").write_text("echo made > made.txt; sed -i s/first/FIRST/ b.py")
    ada.bash("sh gen.sh")
    ada.edit("a.py", "of ada\n")
    repo.write("a.py", "of ada\n\n")  # its client formats it
    ada.may("Bash", "server", command="npm run dev", run_in_background=True)
    repo.write("c.py", "of its server\n")
    ada.did("Bash", "server", command="npm run dev")
    repo.write("c.py", "of its server, later\n")
    assert ada.may_run(command).silent
    assert ada.may_run("git clean -fd").silent


def test_a_folder_goes_only_after_what_a_person_made_in_it_was_read(repo: Repository, ada: Agent) -> None:
    repo.write("lib/x.py", "x at first\n")
    repo.git("add", "lib")
    repo.git("commit", "-qm", "a folder")
    repo.write("lib/new.py", "of a person\n")
    repo.write("lib/x.py", "of a person\n")
    refused = ada.may_run("rm -rf lib").refusal
    assert "lib/new.py" in refused
    assert "lib/x.py" in refused
    ada.read("lib/new.py")
    ada.read("lib/x.py")
    assert ada.may_run("rm -rf lib").silent


def test_a_sweep_in_another_working_tree_leaves_what_lies_there(repo: Repository, ada: Agent) -> None:
    other = repo.worktree("other")
    bob = repo.agent("bob", cwd=other)
    bob.boot()
    bob.edit("a.py", "of bob\n")
    bob.end()
    (other / "b.py").write_text("of a person\n")
    refused = ada.may_run(f"git -C {other} reset --hard").refusal
    assert "a.py (uncommitted work that bob left)" in refused
    assert "b.py" in refused


@pytest.mark.parametrize("command", ["sed -i s/of/OF/ b.py", "echo more >> b.py", "sh gen.sh"])
def test_what_an_agent_added_to_a_persons_unread_change_is_not_dropped_with_it(
    command: str, repo: Repository, ada: Agent
) -> None:
    repo.write("gen.sh", "sed -i s/of/OF/ *.py\n")
    repo.git("add", "gen.sh")
    repo.git("commit", "-qm", "a formatter")
    repo.write("b.py", "of a person\n")
    ada.boot("compact")  # looks at it
    ada.bash(command)
    ada.bash(command)
    tree = Tree(str(repo.folder), str(repo.private))
    assert ledger_files.replace(tree.folder, compaction.compacted(tree.state, tree.now), tree._known)  # it is compacted
    assert "b.py" in ada.may_run("git checkout .").refusal
    assert "b.py" in ada.may_run("git checkout -- b.py").refusal
    ada.read("b.py")
    assert ada.may_run("git checkout -- b.py").silent
    ada.edit("b.py", "of ada\n")
    assert ada.may_run("git checkout .").silent


def test_a_working_tree_with_work_in_it_is_not_removed_by_force(repo: Repository, ada: Agent) -> None:
    other = repo.worktree("other")
    bob = repo.agent("bob", cwd=other)
    bob.boot()
    bob.edit("a.py", "of bob\n")
    bob.client.kill()
    refused = ada.may_run(f"git worktree remove --force {other}").refusal
    assert "a.py (uncommitted work that bob left)" in refused
    assert f"claim a.py` in {other}" in refused
    there = repo.agent("ada", client=ada.client, cwd=other)
    there.dibs("claim", "a.py")
    assert "not committed: a.py" in ada.may_run(f"git worktree remove --force {other}").refusal
    repo.git("-C", str(other), "stash", "push", "-u")
    (other / "b.py").write_text("of a person\n")
    assert "b.py" in ada.may_run(f"git worktree remove --force {other}").refusal
    there.read("b.py")
    assert ada.may_run(f"git worktree remove --force {other}").silent


def test_what_a_person_left_in_a_working_tree_goes_with_it_only_after_a_read(repo: Repository) -> None:
    other = repo.worktree("other")
    (other / "b.py").write_text("of a person\n")
    cyd = repo.agent("cyd", cwd=other)
    cyd.boot()
    cyd.bash("true")
    remove = f"cd {repo.folder} && git worktree remove --force {other}"
    assert "b.py" in cyd.may_run(remove).refusal, "nothing could bring it back"
    cyd.read("b.py")
    assert cyd.may_run(remove).silent


def test_who_writes_over_what_a_person_left_is_told_how_to_bring_it_back(repo: Repository) -> None:
    repo.write("todo.txt", "of a person\n")
    ada = repo.agent("ada")
    ada.boot()
    _, after = ada.bash("rm todo.txt")
    back = re.search(r"`\S*dibs (undo ada todo.txt --yes)`", after.told)
    assert back is not None, after
    ada.dibs(*back[1].split())
    assert (repo.folder / "todo.txt").read_text() == "of a person\n"


def test_a_persons_change_is_settled_by_reading_and_editing_also_after_an_edit_that_merged(
    repo: Repository, ada: Agent
) -> None:
    ada.edit("a.py", "of ada\n")
    repo.later()
    repo.write("a.py", "of ada\nof a person\n")
    ada.boot("compact")
    ada.bash("sed -i s/ada/ADA/ a.py")
    commit = "git commit -qam done"
    assert ada.bash(commit)[0].code == 1  # not settled
    ada.read("a.py")
    ada.bash("sed -i s/ADA/Ada/ a.py")
    done = ada.client.run("bash", "-c", commit, cwd=repo.folder, CLAUDE_CODE_SESSION_ID="ada", PATH=repo.path)
    assert done.code == 0, done


def test_a_lone_agent_changes_the_branch_with_work_of_an_ended_session_there(repo: Repository) -> None:
    bob = repo.agent("bob")
    bob.boot()
    bob.edit("a.py", "of bob\n")
    bob.end()
    ada = repo.agent("ada")
    ada.boot()
    for command in ("git checkout -b topic", "git switch -c other", "git branch -m main trunk"):
        assert ada.may_run(command).silent, command
