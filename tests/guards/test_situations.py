"""Situations in which work was once lost without a word: each is refused, or noticed and undone to the byte."""

from __future__ import annotations

import os
import re

import pytest

from tests.interfaces.repository import Agent, Answer, Repository

SCRIPT = "import sys; open(sys.argv[1], 'w').write(sys.argv[2] if len(sys.argv) > 2 else 'overwritten')"
GENERATES = "open('b.py', 'a').write('generated')\nopen('new.txt', 'w').write('generated')\n"


@pytest.fixture
def two(repo: Repository) -> tuple[Agent, Agent]:
    """Ada and Bob at work in one repository, and a script that overwrites whatever it is told to."""
    repo.write("x.py", SCRIPT)
    repo.write("gen.py", GENERATES)
    repo.git("add", "-A")
    repo.git("commit", "-qm", "scripts")
    ada, bob = repo.agent("ada"), repo.agent("bob")
    ada.boot()
    bob.boot()
    return ada, bob


def noticed(repo: Repository, path: str) -> list[str]:
    """The ids of the changes of a path that were told to somebody."""
    found = repo.events("edit.violated", "edit.unattributed")
    return [event["data"]["id"] for event in found if event["subject"] == path]


def told(agent: Agent) -> str:
    """What the agent hears at its next prompt."""
    return agent.hook("UserPromptSubmit", prompt="go on").told


def restores(agent: Agent, repo: Repository, path: str, content: str | bytes) -> None:
    """The newest copy that is kept brings back what was there."""
    assert agent.dibs("restore", noticed(repo, path)[-1])["restored"] == path
    found = (repo.folder / path).read_bytes()
    assert found == (content.encode() if isinstance(content, str) else content)


# --- a call without an end


def test_an_edit_that_the_person_declined_does_not_hide_what_another_does(
    repo: Repository, two: tuple[Agent, Agent]
) -> None:
    ada, bob = two
    ada.edit("a.py", "ada's\n")
    assert ada.may("Edit", "declined", file_path=str(repo.folder / "a.py"), old_string="ada", new_string="x").silent
    bob.bash("python3 x.py a.py")
    assert len(noticed(repo, "a.py")) == 1
    assert "a.py" in told(ada)
    restores(ada, repo, "a.py", "ada's\n")


@pytest.mark.parametrize("then", [(), ("stop",), ("prompt",), ("stop", "prompt")])
def test_a_command_that_was_broken_off_does_not_hide_what_another_does(
    repo: Repository, two: tuple[Agent, Agent], then: tuple[str, ...]
) -> None:
    ada, bob = two
    ada.edit("a.py", "ada's\n")
    assert ada.may_run("make test", "broken off").allowed
    if "stop" in then:
        ada.stop()
    if "prompt" in then:
        told(ada)
    bob.bash("python3 x.py a.py")
    assert len(noticed(repo, "a.py")) == 1
    assert "a.py" in told(ada)


def test_a_long_command_of_the_holder_does_not_hide_what_another_does(
    repo: Repository, two: tuple[Agent, Agent]
) -> None:
    ada, bob = two
    assert ada.may_run("npm run dev", "long").allowed
    ada.edit("a.py", "ada's\n")
    bob.bash("python3 x.py a.py")
    assert len(noticed(repo, "a.py")) == 1
    assert "a.py" in told(ada)
    restores(ada, repo, "a.py", "ada's\n")


# --- whose own next call comes first


@pytest.mark.parametrize("calls", [("ls",), ("read",), ("ls", "read", "make")])
def test_the_holders_own_next_call_does_not_make_anothers_content_its_own(
    repo: Repository, two: tuple[Agent, Agent], calls: tuple[str, ...]
) -> None:
    ada, bob = two
    ada.edit("a.py", "ada's\n")
    assert bob.may_run("python3 x.py a.py; sleep 5", "long").allowed
    repo.write("a.py", "overwritten")
    for call in calls:
        if call == "read":
            ada.read("a.py")
        else:
            ada.bash(call if call == "ls" else "python3 --version")
    assert "a.py" in bob.did("Bash", "long", command="python3 x.py a.py; sleep 5").told
    assert len(noticed(repo, "a.py")) == 1
    done = ada.client.run("git", "commit", "-qam", "mine?", cwd=repo.folder, CLAUDE_CODE_SESSION_ID="ada")
    assert done.code != 0, "nobody commits it before it is settled"
    restores(ada, repo, "a.py", "ada's\n")
    done = ada.client.run("git", "commit", "-qm", "mine", "a.py", cwd=repo.folder, CLAUDE_CODE_SESSION_ID="ada")
    assert done.code == 0, done


def test_the_same_content_a_second_time_is_a_second_change(repo: Repository, two: tuple[Agent, Agent]) -> None:
    ada, bob = two
    for time in (1, 2):
        ada.read("a.py")
        ada.edit("a.py", "ada's\n")
        bob.bash("python3 x.py a.py")
        assert len(noticed(repo, "a.py")) == time
        assert "a.py" in told(ada)


# --- what nobody named


@pytest.mark.parametrize(
    "sweep",
    ["git checkout .", "git restore .", "git reset --hard", "git stash", "git add -A", "git commit -am x", "git add ."],
)
def test_what_an_agents_script_changed_is_its_work(two: tuple[Agent, Agent], sweep: str) -> None:
    ada, bob = two
    ada.bash("python3 gen.py")
    refusal = bob.may_run(sweep).refusal
    assert "b.py" in refusal
    assert "uncommitted work of ada" in refusal
    assert ada.may_run(sweep).allowed, "its own"


def test_a_new_file_of_a_script_is_not_cleaned_away(two: tuple[Agent, Agent]) -> None:
    ada, bob = two
    ada.bash("python3 gen.py")
    assert "new.txt" in bob.may_run("git clean -fd").refusal
    assert "new.txt" in bob.may_run("git stash -u").refusal


@pytest.mark.parametrize("how", ["ends", "dies"])
def test_work_that_an_agent_left_is_not_swept_away_and_can_be_taken_over(
    repo: Repository, two: tuple[Agent, Agent], how: str
) -> None:
    ada, bob = two
    ada.edit("a.py", "ada's\n")
    if how == "ends":
        ada.end()
    else:
        ada.client.kill()
    for sweep in ("git checkout .", "git reset --hard", "git stash"):
        assert "uncommitted work that ada left" in bob.may_run(sweep).refusal, sweep
    cal = repo.agent("cal")
    assert "ada left uncommitted work in a.py" in cal.boot()
    assert cal.dibs("claim", "a.py")["ok"]
    assert cal.may_run("git checkout a.py").allowed


def test_what_an_ended_agent_left_can_be_committed(repo: Repository, two: tuple[Agent, Agent]) -> None:
    ada, bob = two
    ada.edit("a.py", "ada's\n")
    ada.end()
    bob.bash("git commit -qam 'what was left'")
    assert repo.git("show", "HEAD:a.py") == "ada's\n"


# --- claims by hand on more than one file


@pytest.mark.parametrize("claim", ["src/", "src/**/*.py", "src/*.py"])
def test_a_file_below_a_folder_or_a_glob_that_is_held_is_looked_at(
    repo: Repository, two: tuple[Agent, Agent], claim: str
) -> None:
    ada, bob = two
    repo.write("src/z.py", "z at first\n")
    repo.git("add", "-A")
    repo.git("commit", "-qm", "z")
    assert ada.dibs("claim", claim)["ok"]
    bob.bash("python3 x.py src/z.py")
    assert len(noticed(repo, "src/z.py")) == 1
    restores(ada, repo, "src/z.py", "z at first\n")


# --- sizes and times


def test_a_file_of_more_than_four_megabytes_is_looked_at_and_kept(repo: Repository, two: tuple[Agent, Agent]) -> None:
    ada, bob = two
    big = b"x" * (5 * 1024 * 1024)
    path = repo.folder / "big.bin"
    assert ada.may("Write", "big", file_path=str(path), content="x").silent
    path.write_bytes(big)
    ada.did("Write", "big", file_path=str(path), content="x")
    bob.bash("python3 x.py big.bin")
    assert len(noticed(repo, "big.bin")) == 1
    restores(ada, repo, "big.bin", big)


def test_a_change_with_the_old_size_and_the_old_time_is_seen(repo: Repository, two: tuple[Agent, Agent]) -> None:
    ada, bob = two
    ada.edit("a.py", "ada's\n")
    before = os.stat(repo.folder / "a.py")
    times = f"({before.st_atime_ns}, {before.st_mtime_ns})"
    repo.write("same.py", f"import os; open('a.py', 'r+').write('bob s'); os.utime('a.py', ns={times})")
    bob.bash("python3 same.py")
    assert len(noticed(repo, "a.py")) == 1
    restores(ada, repo, "a.py", "ada's\n")


# --- families


def test_the_work_of_a_subagent_that_ended_is_not_its_siblings(two: tuple[Agent, Agent]) -> None:
    ada, _ = two
    one, other = ada.born("one"), ada.born("other")
    one.edit("a.py", "one's\n")
    assert one.hook("SubagentStop").code == 0
    assert "a.py" in other.may_run("git checkout .").refusal
    assert ada.may_run("git checkout .").allowed, "its parent's it is"


# --- unseen contents


def whole(agent: Agent, name: str) -> Answer:
    """The hook before a write of a whole file."""
    return agent.may("Write", file_path=str(agent.cwd / name), content="from what I knew\n")


@pytest.mark.parametrize("reads", ["Read", "cat a.py", "head -5 a.py", "sed -n 1,20p a.py", "nl a.py"])
@pytest.mark.parametrize("between", [(), ("ls",), ("ls", "git status", "python3 --version")])
def test_a_whole_write_over_what_another_committed_meanwhile_is_refused_until_it_was_read(
    two: tuple[Agent, Agent], reads: str, between: tuple[str, ...]
) -> None:
    ada, bob = two
    if reads == "Read":
        bob.read("a.py")
    else:
        bob.bash(reads)
    ada.edit("a.py", "ada's\n")
    ada.bash('git commit -qam "ada\'s"')
    for command in between:
        bob.bash(command)
    heredoc = "cat > a.py <<'EOF'\nfrom what I knew\nEOF"
    assert re.search(r"ada changed a\.py since you last read", whole(bob, "a.py").refusal)
    assert "ada changed a.py" in bob.may_run(heredoc).refusal
    assert bob.may_run('v=$(cat a.py); echo "$v more" > a.py').allowed, "it reads what it writes"
    bob.bash("cat a.py")
    assert whole(bob, "a.py").allowed


def test_a_file_that_was_changed_since_the_agent_began_has_to_be_read_before_it_is_written_whole(
    repo: Repository, two: tuple[Agent, Agent]
) -> None:
    ada, bob = two
    ada.edit("a.py", "ada's\n")
    ada.bash('git commit -qam "ada\'s"')
    assert "ada changed a.py, and you have not read it" in whole(bob, "a.py").refusal
    cal = repo.agent("cal")
    cal.boot()
    assert whole(repo.agent("dan"), "b.py").allowed, "nobody changed it"


def test_an_agent_alone_is_never_told_to_read_its_own_work(two: tuple[Agent, Agent]) -> None:
    ada, _ = two
    ada.bash("python3 gen.py")
    assert whole(ada, "b.py").allowed
    ada.edit("b.py", "ada's\n")
    ada.bash("sed -i s/ada/Ada/ b.py")
    ada.edit("b.py", "again\n")
    ada.bash("git stash -q && git stash pop -q")
    assert whole(ada, "b.py").allowed
    ada.bash("git checkout -q b.py")
    assert whole(ada, "b.py").allowed


# --- whose shell it is


@pytest.mark.parametrize(
    "command",
    [
        "dibs release a.py --as ada", "dibs release --all --as ada", "DIBS_AGENT=ada dibs release a.py",
        "env DIBS_AGENT=ada dibs leave", "export DIBS_AGENT=ada; dibs release --all", "dibs kill ada --why x",
        "dibs init --uninstall --yes", "bash -c 'dibs release a.py --as ada'", ".dibs/dibs leave --as ada",
    ],
)  # fmt: skip
def test_a_shell_that_would_speak_for_another_agent_is_refused(
    repo: Repository, two: tuple[Agent, Agent], command: str
) -> None:
    ada, bob = two
    ada.edit("a.py", "ada's\n")
    assert bob.may_run(command).refusal
    bob.client.run("bash", "-c", command, cwd=repo.folder, CLAUDE_CODE_SESSION_ID="bob", PATH=repo.path)
    assert repo.claims() == {"ada": ["a.py"]}, "and if it is run all the same, it is refused there"
    assert (repo.folder / ".dibs" / "config.toml").exists()
