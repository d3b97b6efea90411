"""What random plays of a fleet (tests/guards/fleet.py) found: one small story each, and what must be true of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dibs.ledger import ledger_files
from tests.interfaces.repository import Agent, Repository

if TYPE_CHECKING:
    from collections.abc import Sequence


@pytest.fixture
def two(repo: Repository) -> tuple[Agent, Agent]:
    """Ada and Bob at work in one repository with a script, a folder and a link."""
    repo.write("gen.sh", '. "$HOME/plan"\n')
    repo.write("lib/x.py", "x at first\n")
    (repo.folder / "link.py").symlink_to("a.py")
    repo.git("add", "-A")
    repo.git("commit", "-qm", "more files")
    ada, bob = repo.agent("ada"), repo.agent("bob")
    ada.boot()
    bob.boot()
    return ada, bob


def script(agent: Agent, plan: str) -> None:
    """A program of this agent's that nothing in its words tells of."""
    (agent.repo.scratch / "home" / "plan").write_text(plan)
    agent.bash("sh gen.sh")


def owners(repo: Repository) -> dict[str, list[str]]:
    """Whose unfinished work lies where."""
    from dibs.ledger.state import State

    return State(ledger_files.load(str(repo.private))[0]).owned()


def events(repo: Repository, path: str, *kinds: str) -> Sequence[str]:
    return [event["kind"] for event in repo.events(*kinds) if event["subject"] == path]


# --- a folder that is deleted as a whole


def test_a_folder_with_anothers_work_is_deleted_after_that_work_was_read(
    repo: Repository, two: tuple[Agent, Agent]
) -> None:
    ada, bob = two
    script(ada, "echo of ada >> lib/x.py")
    bob.may_run("git status && git stash list")  # finds it
    ada.may_run("git stash list")
    script(ada, "echo more of ada >> lib/x.py")
    assert not bob.may_run("git checkout .").allowed
    refused = bob.may_run("rm -rf lib")
    assert "changed lib/x.py, and you have not read it" in refused.refusal
    bob.read("lib/x.py")
    bob.bash("rm -rf lib")
    assert events(repo, "lib/x.py", "edit.taken", "edit.violated") == ["edit.taken"]
    kept = repo.person.dibs("restore", "--list")["kept"]
    assert [entry["path"] for entry in kept] == ["lib/x.py"]
    assert "lib/x.py" in ada.hook("UserPromptSubmit", prompt="go on").told


def test_all_files_of_a_folder_that_have_to_be_read_first_are_named_at_once(two: tuple[Agent, Agent]) -> None:
    ada, bob = two
    script(ada, "for f in x y z; do echo of ada >> lib/$f.py; done")
    refused = bob.may_run("rm -rf lib").refusal
    assert "3 files were changed" in refused
    assert all(refused.count(f"lib/{name}.py") == 1 for name in "xyz"), refused
    bob.bash("cat lib/x.py lib/y.py lib/z.py")
    assert bob.may_run("rm -rf lib").silent


def test_a_file_in_a_folder_is_named_once_in_a_refusal(two: tuple[Agent, Agent]) -> None:
    ada, bob = two
    ada.edit("lib/y.py", "of ada\n")
    assert "dibs claim lib --wait 60s`" in bob.may_run("rm -rf lib").refusal
    ada.dibs("release", "lib/y.py")
    ada.dibs("claim", "lib/")
    refused = bob.may_run("git add -A").refusal
    assert refused.count("lib/y.py") == 1, refused
    ada.dibs("release", "lib/")
    for resource in ("lib/y.py", "lib/"):
        ada.dibs("claim", resource)
    refused = bob.may_run("git add -A").refusal
    assert refused.count("lib/y.py") == 1, refused


# --- a program that the client itself leaves running


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"run_in_background": True}, {}),
        ({"is_background": True}, {}),
        ({}, {"backgroundTaskId": "b1"}),
    ],
)
def test_what_a_client_left_in_the_background_is_not_laid_at_anothers_door(
    before: dict[str, bool], after: dict[str, str], repo: Repository, two: tuple[Agent, Agent]
) -> None:
    ada, bob = two
    cyd = repo.agent("cyd")
    cyd.boot()
    given = {"command": "npm run dev", **before}
    assert ada.may("Bash", "dev", **given).silent
    ada.hook("PostToolUse", tool_name="Bash", tool_input=given, tool_response=after, tool_use_id="dev")
    cyd.edit("a.py", "of cyd\n")
    repo.later(60)
    cyd.read("a.py")
    assert bob.may_run("make", "make").silent
    repo.write("a.py", "of the program that ada left\n")
    bob.did("Bash", "make", command="make")
    assert not events(repo, "a.py", "edit.violated")
    assert events(repo, "a.py", "edit.unattributed") == ["edit.unattributed"]


# --- links


@pytest.mark.parametrize(
    "command",
    [
        "rm link.py",
        "rm link.py && echo mine > link.py",
        "ln -sf b.py link.py",
        "mv c.py link.py",
        "sed -i s/at/AT/ link.py",
        "git rm -qf link.py",
    ],
)
def test_a_link_that_an_agent_replaces_is_its_work(command: str, repo: Repository, two: tuple[Agent, Agent]) -> None:
    ada, bob = two
    ada.bash(command)
    assert owners(repo)["link.py"] == ["ada"]
    assert "link.py" in bob.may_run("git checkout HEAD -- .").refusal
    assert "link.py" in repo.claims()["ada"]


@pytest.mark.parametrize(
    "command", ["rm link.py", "ln -sf b.py link.py", "git rm -q --cached link.py", "mv link.py l.py"]
)
def test_who_replaces_a_link_needs_nothing_of_the_file_that_it_leads_to(
    command: str, repo: Repository, two: tuple[Agent, Agent]
) -> None:
    ada, bob = two
    bob.edit("a.py", "of bob\n")
    ada.bash(command)
    assert repo.claims()["bob"] == ["a.py"]
    assert owners(repo)["a.py"] == ["bob"]


def test_nobody_is_asked_to_read_a_link_that_can_only_be_read_through(two: tuple[Agent, Agent]) -> None:
    ada, bob = two
    ada.bash("ln -sf b.py link.py")
    ada.bash("git commit -qm link -- link.py")
    bob.bash("ln -sf c.py link.py")
    bob.bash("git commit -qm link -- link.py")
    assert ada.may_run("rm link.py").allowed


# --- knowledge


def test_who_undoes_its_change_of_what_it_never_read_has_still_to_read_it(
    repo: Repository, two: tuple[Agent, Agent]
) -> None:
    ada, _ = two
    ada.read("a.py")
    repo.write("a.py", "of somebody on another machine\n")
    repo.git("commit", "-qam", "pulled by a person")
    ada.bash("sed -i s/of/OF/ a.py")
    ada.bash("git checkout -q a.py")
    assert "read it again" in ada.may_write("a.py").refusal
    ada.read("a.py")
    assert ada.may_write("a.py").silent


def test_what_git_brings_back_has_to_be_read_by_who_has_never_seen_it(
    repo: Repository, two: tuple[Agent, Agent]
) -> None:
    ada, _ = two
    repo.write("a.py", "a later\n")
    repo.git("commit", "-qam", "later")
    ada.read("a.py")
    ada.bash("git checkout -q HEAD~1 -- a.py")
    assert "your own command changed a.py and you have not read what is there now" in ada.may_write("a.py").refusal
    ada.bash("git checkout -q HEAD -- a.py")
    assert ada.may_write("a.py").silent


def test_a_lone_agents_own_programs_and_git_leave_nothing_to_be_read(
    repo: Repository, two: tuple[Agent, Agent]
) -> None:
    ada, bob = two
    bob.end()
    repo.git("rm", "-q", "c.py")
    repo.git("commit", "-qm", "gone")
    script(ada, "echo made > c.py")
    ada.bash("git reset -q --hard HEAD~1")
    script(ada, "sed -i s/at/AT/ *.py")
    ada.bash("rm c.py")
    ada.bash("git checkout -q c.py")
    assert ada.may_write("c.py").silent


# --- what is staged


@pytest.mark.parametrize(
    ("command", "paths"),
    [
        ("echo staged > new.txt && git add new.txt", ["new.txt"]),
        ("git mv a.py moved.py", ["a.py", "moved.py"]),
        ("git rm -q a.py", ["a.py"]),
        ("git checkout -q HEAD~1 -- a.py", ["a.py"]),
        ("sh gen.sh", ["b.py", "lib/x.py", "s.txt"]),
    ],
)
def test_what_an_agent_staged_and_did_not_commit_is_its_work_also_after_its_end(
    command: str, paths: list[str], repo: Repository, two: tuple[Agent, Agent]
) -> None:
    ada, bob = two
    repo.write("a.py", "a later\n")
    repo.git("commit", "-qam", "later")
    script = "echo x > s.txt; echo y >> b.py; git rm -q lib/x.py; git add s.txt b.py"
    (repo.scratch / "home" / "plan").write_text(script)
    ada.bash(command)
    ada.end()
    for sweep in ("git reset --hard", "git stash", "git checkout HEAD -- ."):
        refused = bob.may_run(sweep).refusal
        assert all(f"{path} (uncommitted work that ada left)" in refused for path in paths), (sweep, refused)
    assert owners(repo) == {path: ["ada"] for path in paths}


def test_what_is_committed_at_once_is_nobodys_work(repo: Repository, two: tuple[Agent, Agent]) -> None:
    ada, bob = two
    ada.bash("echo x > new.txt && git add new.txt && git rm -q a.py && git mv b.py c2.py && git commit -qm done")
    ada.bash("git reset -q --hard HEAD~1")
    ada.bash("git cherry-pick HEAD@{1}")
    assert owners(repo) == {}
    assert bob.may_run("git reset --hard").silent


def test_what_another_agent_staged_before_any_look_is_still_its_makers_work(
    repo: Repository, two: tuple[Agent, Agent]
) -> None:
    ada, bob = two
    command = "git add -A && git commit -qm all"
    assert bob.may_run(command, "all").silent
    assert ada.may_run("make", "make").silent
    repo.write("new.txt", "of ada\n")  # its program runs
    done = bob.client.run("bash", "-c", command, cwd=repo.folder, CLAUDE_CODE_SESSION_ID="bob", PATH=repo.path)
    assert "new.txt" in done.err, done
    bob.did("Bash", "all", command=command)
    assert owners(repo) == {"new.txt": ["ada"]}
    assert "ada changed new.txt, and you have not read it" in bob.may_write("new.txt").refusal


# --- a person's file


def test_a_file_that_a_person_makes_where_an_agent_named_a_missing_one_is_not_the_agents(
    repo: Repository, two: tuple[Agent, Agent]
) -> None:
    ada, bob = two
    ada.bash("git mv a.py moved.py")
    edit = {"file_path": str(repo.folder / "a.py"), "old_string": "a", "new_string": "b"}
    assert ada.may("Edit", "edit", **edit).silent
    ada.did("Edit", "edit", **edit)  # it failed: there is no such file
    bob.stop()  # looks at it
    repo.write("a.py", "of a person\n")
    bob.may_run("make")
    assert "read it" in ada.may_write("a.py").refusal
    ada.read("a.py")
    assert ada.may_write("a.py").silent


# --- large files


def test_a_large_file_that_git_has_is_nobodys_work(repo: Repository, two: tuple[Agent, Agent]) -> None:
    ada, bob = two
    path = repo.write("big.bin", "0123456789abcde\n" * 300_000)
    repo.git("add", "-A")
    repo.git("commit", "-qm", "a large file")
    ada.may_run("make", "make")
    bob.bash("sed -i 1s/0/1/ big.bin")
    assert owners(repo) == {"big.bin": ["bob"]}
    changes = [line for line in repo.ledger.read_text().splitlines() if line.startswith("T")]
    assert len(changes) == 1
    bob.bash("git checkout -q big.bin")
    assert owners(repo) == {}
    assert path.read_bytes().startswith(b"0123")


def test_a_large_file_that_is_staged_and_not_committed_is_kept(repo: Repository, two: tuple[Agent, Agent]) -> None:
    ada, bob = two
    ada.bash("yes of ada | head -c 5000000 > big.bin && git add big.bin")
    script(bob, "echo of bob > big.bin")
    (kept,) = repo.person.dibs("restore", "--list")["kept"]
    ada.dibs("restore", kept["id"])
    assert (repo.folder / "big.bin").read_bytes().startswith(b"of ada\n" * 1000)


def test_who_deletes_a_folder_is_the_one_who_deleted_the_files_in_it(
    repo: Repository, two: tuple[Agent, Agent]
) -> None:
    ada, bob = two
    cyd = repo.agent("cyd")
    cyd.boot()
    cyd.read("lib/x.py")
    assert bob.may_run("make", "make").silent
    ada.bash("rm -rf lib")
    cyd.may_run("cat lib/x.py")  # looks at it, while bob's command still runs
    bob.did("Bash", "make", command="make")
    assert not repo.events("edit.violated", "edit.unattributed")
    assert owners(repo) == {"lib/x.py": ["ada"]}


# --- mail


def test_a_refused_command_swallows_no_message(two: tuple[Agent, Agent]) -> None:
    ada, bob = two
    ada.edit("a.py", "of ada\n")
    bob.edit("b.py", "of bob\n")
    script(bob, "echo of bob > a.py")
    assert not ada.may_run("git rm -f b.py").allowed  # it had git's index by then, and gives it back
    assert "a.py" in ada.hook("UserPromptSubmit", prompt="go on").told


# --- advice


def test_what_a_gone_session_left_can_be_taken_over_also_if_others_are_at_work(two: tuple[Agent, Agent]) -> None:
    ada, bob = two
    cyd = ada.repo.agent("cyd")
    ada.edit("a.py", "of ada\n")
    bob.edit("b.py", "of bob\n")
    ada.client.kill()
    refused = cyd.may_run("git checkout .").refusal
    assert "What was left can be taken over" in refused
    assert "claim a.py`" in refused
    cyd.dibs("claim", "a.py")
    assert "Run `git restore -- a.py` instead" in cyd.may_run("git checkout .").refusal
    cyd.bash("git restore -- a.py")


# --- a long command that brings back what git has


@pytest.mark.parametrize(
    "command",
    [
        "git checkout -q -- a.py",
        "git checkout -q HEAD -- a.py",
        "git restore a.py",
        "git restore --source=HEAD~1 a.py",
        "git restore -SW a.py",
        "cd lib && git checkout -q HEAD~1 ../a.py",
    ],
)
def test_what_another_wrote_while_git_was_to_bring_back_a_file_is_kept_and_told(
    command: str, repo: Repository, two: tuple[Agent, Agent]
) -> None:
    ada, bob = two
    assert bob.may_run(command, "back").allowed  # nobody has changed it
    script(ada, "echo of ada >> a.py")
    ada.may_run("make")  # looks at it
    ada.bash("echo more of ada >> a.py")
    assert "ada" in owners(repo)["a.py"]
    bob.client.run("bash", "-c", command, cwd=repo.folder)
    assert "of ada" not in (repo.folder / "a.py").read_text()
    bob.did("Bash", "back", command=command)
    told = ada.hook("UserPromptSubmit", prompt="go on").told
    assert "bob changed a.py, which you hold, by a command" in told
    (kept,) = [one for one in repo.person.dibs("restore", "--list")["kept"] if one["by"] == "bob"]
    assert "more of ada" in repo.git("cat-file", "blob", kept["blob"])


@pytest.mark.parametrize(
    "command",
    [
        "git checkout lib",
        "git restore lib",
        "git checkout HEAD -- lib",
        "git checkout HEAD~1 -- lib",
        "git stash push -u -- lib",
        "git stash push -k -- lib",
        "git clean -fd",
        "git clean -fd lib",
        "git status && git restore lib && git clean -fd lib",
        "git checkout lib && make",
    ],
)
def test_who_sweeps_its_own_files_while_others_work_hears_of_no_doubt(
    command: str, repo: Repository, two: tuple[Agent, Agent]
) -> None:
    ada, bob = two
    assert bob.may_run("make", "make").silent
    ada.bash("sed -i s/at/AT/ lib/x.py")
    ada.bash("mkdir -p lib/sub; echo new > lib/y.py; echo new > lib/sub/z.py")
    ada.bash(command)
    assert not repo.events("edit.doubted", "edit.unattributed", "edit.violated", "edit.taken")
    assert ada.hook("UserPromptSubmit", prompt="go on").told == ""


def test_what_an_agent_removed_and_git_brings_back_is_no_longer_its_work(
    repo: Repository, two: tuple[Agent, Agent]
) -> None:
    ada, bob = two
    ada.bash("rm a.py")
    ada.bash("git checkout -q -- a.py")
    assert owners(repo) == {}
    assert not repo.events("edit.violated", "edit.unattributed")
    assert bob.may_run("git stash").silent


# --- a file that two agents have a stake in


def test_who_has_work_in_a_file_that_another_holds_hears_that_a_person_changed_it(
    repo: Repository, two: tuple[Agent, Agent]
) -> None:
    ada, bob = two
    script(bob, "echo of bob >> a.py")
    ada.dibs("claim", "a.py")
    bob.bash("sh gen.sh")
    for agent in two:
        agent.hook("UserPromptSubmit", prompt="go on")
    repo.later(60)
    repo.write("a.py", "of a person\n")
    for agent in two:
        agent.may_run("make")
        told = agent.hook("UserPromptSubmit", prompt="go on").told
        whose = "which you hold" if agent is ada else "in which you have uncommitted work"
        assert f"a.py, {whose}, was changed; no agent did it" in told, agent.id


# --- a folder that is moved


def test_a_file_in_a_folder_that_a_script_moved_is_still_its_writers_work(
    repo: Repository, two: tuple[Agent, Agent]
) -> None:
    ada, bob = two
    ada.edit("new/x.py", "of ada\n")
    ada.dibs("release", "new/x.py")
    script(ada, "mv new moved")
    refused = bob.may_run("git add moved").refusal
    assert "moved/x.py (uncommitted work of ada)" in refused
    assert owners(repo) == {"moved/x.py": ["ada"]}


# --- parents and subagents


@pytest.mark.parametrize(
    "sweep", ["git checkout .", "git stash -u", "git reset --hard", "git checkout a.py", "sh gen.sh"]
)
def test_who_loses_its_work_to_a_sweep_of_its_subagent_is_told_and_can_have_it_back(
    sweep: str, repo: Repository, two: tuple[Agent, Agent]
) -> None:
    ada, _ = two
    ada.edit("a.py", "of ada\n")
    child = ada.born("tests")
    (repo.scratch / "home" / "plan").write_text("git checkout -q .")
    assert child.bash(sweep)[1].silent
    assert (repo.folder / "a.py").read_text() == "a.py at first\n"
    assert "took away what you had not committed in a.py. `.dibs/dibs restore" in ada.may_run("ls").told + (
        ada.hook("UserPromptSubmit", prompt="go on").told
    )
    (kept,) = repo.person.dibs("restore", "--list")["kept"]
    ada.dibs("restore", kept["id"])
    assert (repo.folder / "a.py").read_text() == "of ada\n"


def test_a_subagent_at_work_is_told_what_its_parent_took_away_and_an_ended_one_is_not(
    repo: Repository, two: tuple[Agent, Agent]
) -> None:
    ada, _ = two
    child = ada.born("writer")
    child.edit("new.py", "of the subagent\n")
    repo.later(60)
    ada.bash("git clean -qfd")
    assert "ada took away what you had not committed in new.py" in child.did("Bash", command="ls").told
    child.edit("new.py", "once more\n")
    repo.later(60)
    child.hook("SubagentStop")
    ada.bash("git clean -qfd")
    assert len(repo.events("edit.taken")) == 1


def test_relatives_continue_each_others_work_without_a_word(repo: Repository, two: tuple[Agent, Agent]) -> None:
    ada, _ = two
    ada.edit("a.py", "of ada\n")
    child = ada.born("writer")
    child.read("a.py")
    child.edit("a.py", "of ada and the subagent\n")
    child.bash("sed -i s/and/AND/ a.py")
    script(child, "echo formatted >> a.py")
    child.read("a.py")
    child.bash("rm a.py")
    assert not repo.events("edit.taken", "edit.violated", "edit.unattributed", "edit.doubted")


# --- a program that takes everybody's changes away for a while


@pytest.mark.parametrize("edits", [False, True])
def test_what_a_program_took_away_and_put_back_can_be_committed(
    edits: bool, repo: Repository, two: tuple[Agent, Agent]
) -> None:
    ada, bob = two
    ada.edit("a.py", "of ada\n")
    ada.stop()
    repo.write("a.py", "a.py at first\n")
    ada.may_run("make")
    if edits:  # and fails, because that text is not there: its end is not reported
        assert ada.may_edit("a.py").allowed
    repo.write("a.py", "of ada\n")
    bob.bash("ls")
    assert "a.py" in ada.hook("UserPromptSubmit", prompt="go on").told
    done, _ = ada.bash("git commit -qm a -- a.py")
    assert done.code == 0, done


@pytest.mark.parametrize("edits", [False, True])
def test_what_a_commit_hook_took_away_and_put_back_can_be_committed(
    edits: bool, repo: Repository, two: tuple[Agent, Agent]
) -> None:
    ada, bob = two
    ada.edit("a.py", "of ada\n")
    bob.edit("b.py", "of bob\n")
    command = "git commit -qm b -- b.py"
    assert bob.may_run(command, "commit").silent
    repo.write("a.py", "a.py at first\n")  # as pre-commit does while its hooks run
    ada.bash("ls")
    if edits:  # and fails, because that text is not there: its end is not reported
        assert ada.may_edit("a.py").allowed
    repo.write("a.py", "of ada\n")
    bob.client.run("bash", "-c", command, cwd=repo.folder, CLAUDE_CODE_SESSION_ID="bob", PATH=repo.path)
    bob.did("Bash", "commit", command=command)
    assert ("a.py" in ada.hook("UserPromptSubmit", prompt="go on").told) is edits
    done, _ = ada.bash("git commit -qm a -- a.py")
    assert done.code == 0, done
