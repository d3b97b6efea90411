"""Commits next to other agents: what the repository's own hooks stage, whose a commit is that no hook has reported."""

from __future__ import annotations

import json
import threading
from typing import Any

from tests.interfaces.repository import Agent, Answer, Repository
from tests.waiting import until

LONG = "sh x.sh"  # a program of an agent's: what it writes and commits is not in these words


def two(repo: Repository) -> tuple[Agent, Agent]:
    ada, bob = repo.agent("ada"), repo.agent("bob")
    ada.boot()
    bob.boot()
    return ada, bob


def own_hook(repo: Repository, name: str, lines: str, *, first: bool = False) -> None:
    """Lines of the repository's own in a hook, after those of dibs or before them."""
    path = repo.folder / ".git" / "hooks" / name
    head, _, rest = path.read_text().partition("\n")
    path.write_text(f"{head}\n{lines}\n{rest}" if first else f"{head}\n{rest}{lines}\n")


def test_what_the_repositorys_own_hook_stages_of_another_agent_is_not_committed(repo: Repository) -> None:
    own_hook(repo, "pre-commit", "git add -u")
    ada, bob = two(repo)
    ada.edit("a.py", "ada's, half done\n")
    bob.edit("b.py", "bob's\n")
    done, _ = bob.bash("git add b.py && git commit -q -m b")
    assert done.code == 1
    assert "a.py: ada holds it" in done.err
    assert "This repository's own pre-commit hook staged a.py after you did" in done.err
    assert "git restore --staged -- a.py" in done.err
    assert repo.git("log", "-1", "--format=%s").strip() == "first"
    assert repo.events("commit.refused")[-1]["data"]["paths"] == ["a.py", "b.py"]


def test_an_own_hook_that_stages_what_it_formatted_of_the_commit_passes(repo: Repository) -> None:
    own_hook(repo, "pre-commit", "echo formatted >> b.py; git add b.py")
    ada, bob = two(repo)
    ada.edit("a.py", "ada's, half done\n")
    bob.edit("b.py", "bob's\n")
    done, after = bob.bash("git add b.py && git commit -q -m b")
    assert (done.code, after.told) == (0, ""), (done, after)
    assert repo.git("show", "HEAD:b.py") == "bob's\nformatted\n"
    assert repo.events("commit.unverified") == []
    done, _ = bob.bash("git commit -q --amend -m 'b again'")
    assert done.code == 0
    assert repo.events("commit.unverified") == [], "an amended commit has more than was staged for it"


def test_what_another_agents_command_has_staged_for_a_moment_refuses_nobody(repo: Repository) -> None:
    ada, bob = two(repo)
    ada.edit("a.py", "ada's\n")
    bob.edit("b.py", "bob's\n")
    words = {name: f"git add {name}.py && git commit -q -m {name}" for name in "ab"}
    assert bob.may_run(words["b"], "commit").allowed
    assert bob.client.run("git", "add", "b.py", cwd=repo.folder).code == 0
    answers: list[Answer] = []
    asking = threading.Thread(target=lambda: answers.append(ada.may_run(words["a"], "mine")))
    asking.start()
    until(lambda: repo.events("command.refused") or asking.is_alive(), "the question")
    done = bob.client.run("bash", "-c", words["b"], cwd=repo.folder, CLAUDE_CODE_SESSION_ID="bob")
    assert done.code == 0, done
    bob.did("Bash", "commit", command=words["b"])
    asking.join(60)
    assert answers[0].allowed, answers
    assert repo.events("command.refused") == []
    done = ada.client.run("bash", "-c", words["a"], cwd=repo.folder, CLAUDE_CODE_SESSION_ID="ada")
    assert done.code == 0, done
    assert repo.git("show", "--format=", "--name-only", "HEAD").split() == ["a.py"]


def slow_report(repo: Repository) -> None:
    """A commit whose report takes until the file `go` is there."""
    wait = "i=0; while [ ! -e ../go ] && [ $i -lt 600 ]; do sleep 0.05; i=$((i+1)); done"
    own_hook(repo, "post-commit", wait, first=True)


class Meanwhile:
    """A command of a client in the background."""

    def __init__(self, agent: Agent, command: str) -> None:
        self.done: Answer | None = None

        def run() -> None:
            self.done = agent.client.run(
                "bash", "-c", command, cwd=agent.cwd, CLAUDE_CODE_SESSION_ID=agent.session
            )  # fmt: skip

        self._thread = threading.Thread(target=run)
        self._thread.start()

    def end(self) -> Answer:
        self._thread.join(60)
        assert self.done is not None
        return self.done


def test_a_checked_commit_whose_report_is_still_to_come_is_nobody_elses(repo: Repository) -> None:
    slow_report(repo)
    ada, _ = two(repo)
    repo.person.dibs("claim", "b.py", "--as", "person")
    repo.write("b.py", "a script's\n")
    assert ada.may_run(LONG, "long").allowed
    commit = Meanwhile(repo.person, "git commit -q -m b -- b.py")
    until(lambda: repo.git("log", "-1", "--format=%s").strip() == "b", "the commit")
    assert ada.did("Bash", "long", command=LONG).told == ""
    (repo.scratch / "go").touch()
    assert commit.end().code == 0
    assert repo.events("commit.unverified") == []
    assert repo.claims() == {}, "the report itself was not lost"


def test_a_commit_by_a_person_in_an_editor_has_no_trailer_and_is_waited_for(repo: Repository) -> None:
    own_hook(repo, "post-commit", "sleep 0.5", first=True)
    ada, _ = two(repo)
    assert ada.may_run(LONG, "long").allowed
    repo.write("c.py", "a person's\n")
    git = Meanwhile(repo.agent("shell", client=repo.client("bash")), "unset CLAUDE_CODE_SESSION_ID; "
                    "GIT_EDITOR='echo by hand >' git commit -q -a")  # fmt: skip
    until(lambda: repo.git("log", "-1", "--format=%s").strip() == "by hand", "the commit")
    assert ada.did("Bash", "long", command=LONG).told == ""
    assert git.end().code == 0
    assert repo.events("commit.unverified") == []


def test_a_program_that_commits_past_the_hooks_is_told_as_a_program_not_as_its_agents_words(repo: Repository) -> None:
    ada, bob = two(repo)
    ada.edit("a.py", "ada's\n")
    repo.write("x.sh", "git -c core.hooksPath= commit -qam 'all of it'\n")
    bob.bash("sh x.sh")
    (alert,) = [one for one in repo.terminal("alerts")["alerts"] if one["kind"] == "bypass"]
    assert "a program or a person, while a command of bob ran, committed past the guard" in alert["text"]
    told = ada.hook("UserPromptSubmit", prompt="go").told
    assert "while a command of bob ran, committed a.py, which you hold, past the guard" in told


def test_a_commit_past_the_hooks_is_left_to_the_command_that_still_runs(repo: Repository) -> None:
    ada, bob = two(repo)
    command = "git -c core.hooksPath= commit -qam all"
    bob.edit("c.py", "bob's\n")
    assert ada.may_run(LONG, "long").allowed
    assert bob.may_run(command, "commit").allowed
    assert bob.client.run("bash", "-c", command, cwd=repo.folder).code == 0
    assert ada.did("Bash", "long", command=LONG).told == ""
    assert repo.events("commit.unverified") == []
    bob.did("Bash", "commit", command=command)
    (event,) = repo.events("commit.unverified")
    assert (event["agent"], event["data"]["how"]) == ("bob", "past")


class Gemini:
    """A session of Gemini CLI, whose shell switches git's hooks off."""

    def __init__(self, repo: Repository) -> None:
        self.repo, self.client = repo, repo.client("gemini")

    def hook(self, event: str, **fields: Any) -> Answer:
        payload = {"session_id": "gem", "cwd": str(self.repo.folder), "hook_event_name": event, **fields}
        agent = Agent(self.repo, "gem", self.client, self.repo.folder)
        return agent.entry("gemini", given=json.dumps(payload).encode())

    def bash(self, command: str) -> Answer:
        call = {"tool_name": "run_shell_command", "tool_input": {"command": command}}
        assert self.hook("BeforeTool", **call).code == 0
        done = self.client.run(
            "bash", "-c", command, cwd=self.repo.folder, GIT_CONFIG_COUNT="1", GIT_CONFIG_KEY_0="core.hooksPath",
            GIT_CONFIG_VALUE_0="",
        )  # fmt: skip
        assert self.hook("AfterTool", **call, tool_response={}).code == 0
        return done


def test_the_commits_of_a_client_that_switches_gits_hooks_off_are_its_own_and_no_bypass(repo: Repository) -> None:
    gemini = Gemini(repo)
    assert gemini.hook("SessionStart", source="startup").code == 0
    edit = {"tool_name": "write_file", "tool_input": {"file_path": str(repo.folder / "b.py"), "content": "gem\n"}}
    assert gemini.hook("BeforeTool", **edit).code == 0
    repo.write("b.py", "gem\n")
    assert gemini.hook("AfterTool", **edit, tool_response={}).code == 0
    assert repo.claims() == {"gem": ["b.py"]}
    assert gemini.bash("git add b.py && git commit -q -m gem").code == 0
    assert repo.claims() == {}, "committed"
    assert repo.events("commit.unverified") == []
    assert repo.terminal("alerts")["alerts"] == []


def test_a_branch_with_another_agents_commits_alone_is_not_deleted(repo: Repository) -> None:
    tree = repo.worktree("topic")
    ada, bob = repo.agent("ada", cwd=tree), repo.agent("bob")
    ada.boot()
    bob.boot()
    ada.edit("a.py", "ada's\n")
    ada.bash("git commit -q -m ada -- a.py")
    repo.git("checkout", "-q", "--detach", cwd=tree)
    assert "a commit of ada, who is at work" in bob.may_run("git branch -D topic").refusal
    repo.git("branch", "kept", "topic")
    assert bob.may_run("git branch -D topic").allowed, "another branch has them"


def test_a_working_tree_inside_the_main_one_is_not_added_to_it_as_a_repository(repo: Repository) -> None:
    inside = repo.folder / ".claude" / "worktrees" / "one [1]"
    repo.git("worktree", "add", "-q", str(inside), "-b", "one")
    ada, bob = repo.agent("ada", cwd=inside), repo.agent("bob")
    for _ in range(2):
        ada.boot()
    bob.boot()
    ada.edit("a.py", "ada's\n")
    repo.write("new.py", "bob's\n")
    done, _ = bob.bash("git add -A")
    assert "embedded" not in done.err
    assert repo.git("diff", "--cached", "--name-only").split() == ["new.py"]
    assert (repo.folder / ".git" / "info" / "exclude").read_text().count("worktrees") == 1


def test_a_stash_that_a_person_made_after_an_agents_is_not_that_agents(repo: Repository) -> None:
    ada, bob = two(repo)
    ada.edit("a.py", "ada's\n")
    ada.bash("git stash push -q -- a.py")
    repo.write("b.py", "a person's\n")
    repo.git("stash", "push", "-q", "--", "b.py")
    assert "which ada made" in bob.may_run("git stash drop stash@{1}").refusal
    bob.bash("git stash drop -q stash@{0}")
    repo.write("b.py", "ada's\n")
    repo.write("c.py", "ada's\n")
    ada.bash("git stash push -q -- b.py && git stash push -q -- c.py")
    for place in (0, 1):
        assert "which ada made" in bob.may_run(f"git stash drop stash@{{{place}}}").refusal
