"""Done means done: an agent that stops early is told what is missing, and one that does not is left in peace."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.interfaces.repository import DIBS
from tests.waiting import until

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.interfaces.repository import Agent, Answer, Repository

COMMIT, LAND = '[gates]\nstop = "commit"\n', '[gates]\nstop = "land"\n'


@pytest.fixture
def ada(repo: Repository) -> Agent:
    """Ada, with a gate that asks for commits."""
    repo.config(COMMIT)
    agent = repo.agent("ada")
    agent.boot()
    agent.prompt("port the parser")
    return agent


def sent_back(answer: Answer) -> str:
    """What an agent is told that has to continue; "" if its turn ends."""
    assert answer.code == 0, answer
    found = answer.json or {}
    return str(found["reason"]) if found.get("decision") == "block" else ""


def person_reads(answer: Answer) -> str:
    """What its person is shown."""
    return str((answer.json or {}).get("systemMessage", ""))


def commit(agent: Agent, *paths: str) -> None:
    """The agent commits these files in its shell."""
    done, _ = agent.bash(f"git add {' '.join(paths)} && git commit -qm work")
    assert done.code == 0, done


# --- what is said


def test_an_agent_that_says_done_with_uncommitted_files_is_sent_back_with_what_is_missing(ada: Agent) -> None:
    ada.edit("a.py", "ada's\n")
    ada.edit("new/b.py", "ada's\n")
    said = sent_back(ada.says("Done."))
    assert said.startswith("dibs: this turn is not done: 2 files not committed: a.py, new/b.py."), said
    assert "`git add a.py new/b.py` and `git commit`" in said
    commit(ada, "a.py", "new/b.py")
    assert ada.says("Committed.").silent


def test_it_is_sent_back_twice_in_a_turn_then_one_quiet_alert_is_left(ada: Agent, repo: Repository) -> None:
    ada.edit("a.py", "ada's\n")
    answers = [ada.says("Done.") for _ in range(5)]
    assert [bool(sent_back(answer)) for answer in answers] == [True, True, False, False, False]
    assert [bool(person_reads(answer)) for answer in answers] == [False, False, True, False, False]
    assert "a.py" in person_reads(answers[2])
    repo.terminal("sweep")
    (alert,) = repo.person.dibs("alerts")["alerts"]
    assert (alert["kind"], alert["severity"], alert["agent"]) == ("unfinished", "info", "ada")
    assert "1 file not committed: a.py" in alert["text"]
    ada.prompt("now commit it")
    repo.terminal("sweep")
    assert repo.person.dibs("alerts")["alerts"] == []
    ada.edit("a.py", "more\n")
    assert sent_back(ada.says("Done.")), "another turn counts anew"


def test_by_default_the_person_is_told_once_and_no_turn_is_spent(repo: Repository) -> None:
    ada = repo.agent("ada")
    ada.boot()
    ada.prompt("port the parser")
    ada.edit("a.py", "ada's\n")
    first = ada.says("Done.")
    assert not sent_back(first)
    assert "stopped: 1 file not committed: a.py." in person_reads(first)
    ada.prompt("make it better")
    ada.edit("a.py", "ada's, and better\n")
    assert ada.says("Done.").silent, "the same list is not told twice"
    ada.prompt("anything missing?")
    assert ada.says("Done.").silent, "nothing was changed"


def test_where_the_gate_is_off_nobody_is_told(repo: Repository) -> None:
    repo.config('[gates]\nstop = "off"\n')
    ada = repo.agent("ada")
    ada.boot()
    ada.prompt("port the parser")
    ada.edit("a.py", "ada's\n")
    assert ada.says("Done.").silent


def test_a_task_that_is_not_finished_is_named_if_the_turn_changed_something(ada: Agent, repo: Repository) -> None:
    repo.person.dibs("task", "add", "port the parser", "--id", "parser")
    token = ada.dibs("task", "claim", "parser")["token"]
    assert ada.says("I read the code.").silent, "nothing was changed"
    ada.prompt("now port it")
    ada.edit("a.py", "ada's\n")
    commit(ada, "a.py")
    assert "task parser not finished" in sent_back(ada.says("Done."))
    ada.dibs("task", "done", "parser", "--token", str(token))
    assert ada.says("Done.").silent


def test_while_it_is_sent_back_the_agent_is_at_work_and_its_files_are_not_the_person_s(
    ada: Agent, repo: Repository
) -> None:
    ada.edit("a.py", "ada's\n")
    assert sent_back(ada.says("Done."))
    (seen,) = [one for one in repo.person.dibs("agents")["agents"] if one["agent"] == "ada"]
    assert seen["activity"] == "working"


def test_each_time_that_an_agent_is_sent_back_is_in_the_log(ada: Agent, repo: Repository) -> None:
    ada.edit("a.py", "ada's\n")
    ada.says("Done.")
    assert [event["subject"] for event in repo.events("call.refused")] == ["stop"]


# --- landed


def test_a_branch_that_is_committed_and_not_landed_is_not_done(repo: Repository) -> None:
    repo.config(LAND + '[land]\ncheck = "test ! -e broken"\n')
    repo.git("commit", "-qam", "settings")
    ada = repo.agent("ada", cwd=repo.worktree("topic"))
    ada.boot()
    ada.prompt("port the parser")
    ada.edit("broken", "ada's\n")
    commit(ada, "broken")
    said = sent_back(ada.says("All done and committed."))
    assert "branch topic not landed: 1 commit not on main" in said
    assert "dibs land`" in said
    assert not ada.dibs("land")["ok"]
    assert "branch topic not landed: refused" in sent_back(ada.says("Landed."))


def test_a_branch_that_landed_is_done_whatever_its_commits_became(repo: Repository) -> None:
    repo.config(LAND + '[land]\ncheck = "true"\nmethod = "squash"\n')
    repo.git("commit", "-qam", "settings")
    ada = repo.agent("ada", cwd=repo.worktree("topic"))
    ada.boot()
    ada.prompt("port the parser")
    ada.edit("a.py", "ada's\n")
    commit(ada, "a.py")
    ada.dibs("land")
    assert ada.says("Landed.").silent


# --- verified


def test_a_verification_that_fails_on_this_state_is_not_done_and_is_not_run_twice(repo: Repository) -> None:
    counted = repo.scratch / "runs"
    repo.config(f'[gates]\nstop = "verify: echo x >> {counted}; echo two tests failed; test ! -e broken"\n')
    repo.git("commit", "-qam", "settings")
    ada = repo.agent("ada")
    ada.boot()
    ada.prompt("port the parser")
    ada.edit("broken", "ada's\n")
    commit(ada, "broken")
    assert "fails on this state: exit code 1: two tests failed" in sent_back(ada.says("Done."))
    assert "fails on this state" in sent_back(ada.says("Done."))
    assert counted.read_text() == "x\n"
    done, _ = ada.bash("git rm -q broken && git commit -qm fixed")
    assert done.code == 0
    assert ada.says("Done.").silent
    assert counted.read_text() == "x\nx\n"


@pytest.mark.slow
def test_a_verification_that_lasts_holds_nobody_up_and_is_told_with_the_next_prompt(repo: Repository) -> None:
    go = repo.scratch / "go"
    repo.config(f'[gates]\nstop = "verify: until test -e {go}; do sleep 0.05; done; false"\n')
    repo.git("commit", "-qam", "settings")
    ada = repo.agent("ada")
    ada.boot()
    ada.prompt("port the parser")
    ada.edit("a.py", "ada's\n")
    commit(ada, "a.py")
    assert ada.says("Done.").silent
    go.touch()
    results = [path for path in (repo.local / "verify").iterdir() if not path.name.startswith("@")]
    until(lambda: json.loads(results[0].read_text())["exit"] is not None, "the end of the verification")
    assert "verification of what your last turn left failed: exit code 1" in ada.prompt("next")
    assert "verification" not in ada.prompt("next")


# --- turns in which nobody is to be bothered


def reads(ada: Agent, _: Repository) -> str:
    ada.read("a.py")
    ada.bash("grep -rn first .")
    return "The parser is in a.py."


def others(ada: Agent, repo: Repository) -> str:
    bob = repo.agent("bob")
    bob.boot()
    bob.edit("b.py", "bob's\n")
    ada.read("a.py")
    return "Reviewed: b.py is fine."


def persons(ada: Agent, repo: Repository) -> str:
    repo.write("a.py", "the person's\n")
    ada.read("a.py")
    return "I looked at your change; it is right."


def ignored(ada: Agent, _: Repository) -> str:
    ada.edit("build/out.txt", "x\n")
    return "Built."


def generated(ada: Agent, _: Repository) -> str:
    ada.bash("ls -l > report.xml; ls -l | tee run.txt")
    return "The tests pass; the report is in report.xml."


def before(ada: Agent, _: Repository) -> str:
    ada.edit("a.py", "ada's\n")
    ada.prompt("leave it for now")
    ada.says("As you wish.")
    ada.prompt("what does b.py do?")
    ada.read("b.py")
    return "It says hello."


def reverted(ada: Agent, _: Repository) -> str:
    ada.edit("a.py", "ada's\n")
    ada.bash("git checkout a.py")
    return "I tried it, and took it back."


def committed(ada: Agent, _: Repository) -> str:
    ada.edit("a.py", "ada's\n")
    commit(ada, "a.py")
    return "Done."


def free(ada: Agent, _: Repository) -> str:
    ada.edit("notes/today.md", "x\n")
    return "Noted."


def scratch(ada: Agent, _: Repository) -> str:
    ada.edit(f"{ada.dibs('scratch')['scratch']}/notes.md", "x\n")
    return "Noted."


def outside(ada: Agent, repo: Repository) -> str:
    path = str(repo.scratch / "elsewhere.txt")
    assert ada.may("Write", "out", file_path=path, content="x\n").allowed
    (repo.scratch / "elsewhere.txt").write_text("x\n")
    ada.did("Write", "out", file_path=path, content="x\n")
    return "Written."


INNOCENT = [reads, others, persons, ignored, generated, before, reverted, committed, free, scratch, outside]


@pytest.mark.parametrize("turn", INNOCENT, ids=lambda turn: turn.__name__)
def test_a_turn_that_leaves_nothing_of_its_own_unfinished_is_not_sent_back(
    repo: Repository, turn: Callable[[Agent, Repository], str]
) -> None:
    repo.config('[guards]\nfree = ["notes/"]\n' + COMMIT)
    repo.write(".gitignore", "build/\n")
    repo.git("add", "-A")
    repo.git("commit", "-qm", "settings")
    ada = repo.agent("ada")
    ada.boot()
    ada.prompt("look into the parser")
    said = turn(ada, repo)
    answer = ada.says(said)
    assert not sent_back(answer)
    assert not person_reads(answer), answer


PROMPTS = [
    "Port the parser, but don't commit, I'll review first", "Do only the first step, then stop",
    "Write a draft of the README", "Try out whether regex is faster here", "Make the change and show me the diff",
    "Port the parser and wait for my OK", "Start with the lexer for now", "edit a.py but leave it uncommitted",
    "WIP: sketch the API", "stop", "Do not commit anything today", "Change a.py, I'll commit it myself",
    "just the first half of the file please", "do step 1 and come back to me", "prepare it for review",
]  # fmt: skip


@pytest.mark.parametrize("prompt", PROMPTS)
def test_partial_work_that_the_person_asked_for_is_not_sent_back(ada: Agent, prompt: str) -> None:
    ada.prompt(prompt)
    ada.edit("a.py", "ada's\n")
    assert ada.says("Done.").silent


WORDS = [
    "I changed the lexer. Should I commit this?", "Two ways are open: regex or a table. Which do you prefer?",
    "The lexer is ported. Let me know which branch to use.",
    "I could not reach the registry, so the tests did not run.",
    "Before I continue: is the old API still used?", "Your call: keep both or drop the old one.",
    "I left a.py uncommitted, as you asked.", "Soll ich das so committen?", "要提交吗\N{FULLWIDTH QUESTION MARK}",
    "Here is the plan:\n1. lexer\n2. parser\n\nPlease confirm and I will go on.",
    "I need you to run `gcloud auth login` first.", "Waiting for your review.",
    "The change is in place. Want me to commit it?",
    "This deliberately stays uncommitted: the hook of your repository asks for a ticket number.",
]  # fmt: skip


@pytest.mark.parametrize("words", WORDS)
def test_a_turn_that_ends_with_something_for_the_person_is_not_sent_back(ada: Agent, words: str) -> None:
    ada.edit("a.py", "ada's\n")
    assert ada.says(words).silent


FIELDS: list[dict[str, Any]] = [
    {"permission_mode": "plan"}, {"stop_reason": "cancelled"},
    {"background_tasks": [{"id": "b1", "type": "shell", "status": "running"}]},
]  # fmt: skip


@pytest.mark.parametrize("fields", FIELDS, ids=str)
def test_a_turn_that_plans_was_interrupted_or_left_something_running_is_not_sent_back(
    ada: Agent, fields: dict[str, Any]
) -> None:
    ada.edit("a.py", "ada's\n")
    assert ada.says("Done.", **fields).silent


@pytest.mark.parametrize("attended", ["0", "1"])
def test_an_agent_that_was_not_given_leave_is_not_sent_back(ada: Agent, attended: str) -> None:
    ada.edit("a.py", "ada's\n")
    ada.may_run("git commit -qam work", "asked")
    asked = ada.hook("PermissionRequest", tool_name="Bash", env={"CLAUDE_CODE_SESSION_ATTENDED": attended})
    assert asked.silent
    assert ada.says("The commit was not allowed.").silent
    ada.prompt("go on")
    ada.edit("a.py", "more\n")
    assert sent_back(ada.says("Done.")), "the next turn is another one"


def test_a_permission_that_was_given_excuses_nothing(ada: Agent) -> None:
    ada.hook("PermissionRequest", tool_name="Write", env={"CLAUDE_CODE_SESSION_ATTENDED": "1"})
    ada.edit("a.py", "ada's\n")
    assert sent_back(ada.says("Done."))


def test_what_a_task_of_its_own_announces_is_no_new_turn(ada: Agent) -> None:
    ada.edit("a.py", "ada's\n")
    assert sent_back(ada.says("Done."))
    ada.prompt("<task-notification>the build ended</task-notification>")
    assert sent_back(ada.says("Done."))
    ada.prompt("<task-notification>the build ended</task-notification>")
    assert not sent_back(ada.says("Done.")), "twice in one turn"


def test_without_a_prompt_or_last_words_nothing_is_asked(repo: Repository) -> None:
    repo.config(COMMIT)
    ada = repo.agent("ada")
    ada.boot()
    ada.edit("a.py", "ada's\n")
    assert ada.says("Done.").silent, "the turn's beginning is not known"
    ada.prompt("go on")
    ada.edit("a.py", "more\n")
    assert not sent_back(ada.hook("Stop", stop_hook_active=False)), "its last words are not known"


def test_a_store_that_does_not_answer_sends_nobody_back(ada: Agent) -> None:
    ada.edit("a.py", "ada's\n")
    answer = ada.says("Done.", env={"DIBS_STORE": "redis://127.0.0.1:1"})
    assert (answer.code, answer.out) == (0, "")


# --- subagents


def test_a_subagent_is_asked_about_its_own_task_alone(ada: Agent) -> None:
    child = ada.born("sub")
    child.edit("a.py", "the child's\n")
    assert child.says("Done.", "SubagentStop").silent, "its files are its parent's now"
    assert "a.py" in sent_back(ada.says("Done.")), "who is asked about them"


def test_a_subagent_that_stops_with_its_task_unfinished_continues_twice(ada: Agent, repo: Repository) -> None:
    repo.person.dibs("task", "add", "port the parser", "--id", "parser")
    child = ada.born("sub")
    child.edit("a.py", "the child's\n")
    taken = ada.client.run(
        DIBS, "task", "claim", "parser", "--as", child.id, "--json", cwd=ada.cwd,
        CLAUDE_CODE_SESSION_ID="ada", PATH=repo.path,
    )  # fmt: skip
    assert taken.code == 0, taken
    said = [sent_back(child.says("Done.", "SubagentStop")) for _ in range(3)]
    assert "task parser not finished" in said[0]
    assert [bool(one) for one in said] == [True, True, False]
    assert "a.py" in repo.claims()["ada"]


# --- other clients


def test_each_client_is_answered_in_its_own_words(repo: Repository) -> None:
    repo.config(COMMIT)
    codex, gemini = repo.agent("cody", client=repo.client("codex")), repo.agent("gem", client=repo.client("gemini"))
    for agent, name, before_, after, prompt, stop in (
        (codex, "codex", "PreToolUse", "PostToolUse", "UserPromptSubmit", "Stop"),
        (gemini, "gemini", "BeforeTool", "AfterTool", "BeforeAgent", "AfterAgent"),
    ):

        def hook(event: str, *, _agent: Agent = agent, _name: str = name, **fields: Any) -> Answer:
            sent = {"session_id": _agent.session, "cwd": str(_agent.cwd), "hook_event_name": event, **fields}
            return _agent.entry(_name, given=json.dumps(sent).encode())

        path = f"{name}.py"
        hook("SessionStart", source="startup")
        hook(prompt, prompt="port the parser")
        tool: dict[str, Any] = {"tool_name": "write_file" if name == "gemini" else "Write", "tool_use_id": "1",
                "tool_input": {"file_path": str(repo.folder / path), "content": "x\n"}}  # fmt: skip
        assert hook(before_, **tool).allowed
        repo.write(path, "x\n")
        hook(after, **tool)
        words: dict[str, Any] = (
            {"prompt_response": "Done."} if name == "gemini" else {"last_assistant_message": "Done."}
        )
        answers = []
        for _ in range(3):
            answers.append(hook(stop, **words))
            if name == "gemini" and answers[-1].json:  # it makes the reason its next prompt
                hook(prompt, prompt=answers[-1].json.get("reason", ""))
        decisions = [(answer.json or {}).get("decision") for answer in answers]
        assert decisions == [{"gemini": "deny"}.get(name, "block")] * 2 + [None]
        assert path in answers[0].json["reason"]


def test_a_client_that_cannot_be_sent_back_hears_it_with_its_next_prompt(repo: Repository) -> None:
    repo.config(COMMIT)
    client = repo.client("copilot")
    agent = repo.agent("cop", client=client)

    def hook(event: str, **fields: Any) -> Answer:
        sent = {"sessionId": "cop", "cwd": str(agent.cwd), **fields}
        return agent.entry("copilot", event, given=json.dumps(sent).encode())

    hook("sessionStart")
    hook("userPromptSubmitted", prompt="port the parser")
    tool: dict[str, Any] = {"toolName": "create", "toolArgs": {"path": str(repo.folder / "new.py"), "file_text": "x\n"}}
    assert hook("preToolUse", **tool).allowed
    repo.write("new.py", "x\n")
    hook("postToolUse", **tool)
    assert hook("agentStop", stopReason="end_turn").silent
    assert "1 file not committed: new.py" in hook("userPromptSubmitted", prompt="next").out


# --- ten ways to stop early, and a model that does what it is told


def edited(ada: Agent) -> None:
    ada.edit("a.py", "ada's\n")


def made(ada: Agent) -> None:
    ada.edit("src/new.py", "ada's\n")


def staged(ada: Agent) -> None:
    ada.edit("a.py", "ada's\n")
    ada.bash("git add a.py")


def half(ada: Agent) -> None:
    ada.edit("a.py", "ada's\n")
    ada.edit("b.py", "ada's\n")
    commit(ada, "a.py")


def edited_again(ada: Agent) -> None:
    ada.edit("a.py", "ada's\n")
    commit(ada, "a.py")
    ada.edit("a.py", "ada's, and better\n")


def deleted(ada: Agent) -> None:
    ada.bash("rm b.py")


def renamed(ada: Agent) -> None:
    ada.bash("git mv b.py d.py")
    ada.edit("d.py", "ada's\n")


def rewritten(ada: Agent) -> None:
    ada.bash("sed -i s/at/of/ c.py")


def unlanded(ada: Agent) -> None:
    ada.edit("a.py", "ada's\n")
    commit(ada, "a.py")


def delegated(ada: Agent) -> None:
    child = ada.born("sub")
    child.edit("a.py", "the child's\n")
    child.hook("SubagentStop", stop_hook_active=False, last_assistant_message="Done.")


EARLY = [edited, made, staged, half, edited_again, deleted, renamed, rewritten, unlanded, delegated]


@pytest.mark.parametrize("stop", EARLY, ids=lambda stop: stop.__name__)
def test_whichever_way_a_model_stops_early_its_work_ends_landed(
    repo: Repository, stop: Callable[[Agent], None]
) -> None:
    repo.config(LAND + '[land]\ncheck = "true"\n')
    repo.git("commit", "-qam", "settings")
    repo.terminal("task", "add", "the work", "--id", "T")
    ada = repo.agent("ada", cwd=repo.worktree("topic"))
    ada.boot()
    ada.prompt("do the work")
    token = ada.dibs("task", "claim", "T")["token"]
    stop(ada)
    rounds = 0
    while said := sent_back(ada.says("All done!")):
        rounds += 1
        if "not committed" in said:  # a model that does one thing for each time that it is told
            assert ada.bash("git add -A && git commit -qm work")[0].code == 0
            assert ada.dibs("land")["ok"]
        elif "not landed" in said:
            assert ada.dibs("land")["ok"]
        else:
            assert "task T not finished" in said
            assert ada.dibs("task", "done", "T", "--token", str(token))["ok"]
    assert 1 <= rounds <= 2
    assert repo.git("status", "--porcelain", cwd=ada.cwd) == ""
    assert repo.git("log", "main..topic", "--oneline") == ""


def test_a_turn_of_reads_with_a_task_at_hand_is_left_in_peace(ada: Agent, repo: Repository) -> None:
    repo.config('[gates]\nstop = "verify: false"\n')
    repo.terminal("task", "add", "the work", "--id", "T")
    ada.dibs("task", "claim", "T")
    ada.read("a.py")
    assert ada.says("I read it.").silent


@pytest.mark.slow
def test_a_verification_of_files_that_changed_meanwhile_is_void(repo: Repository) -> None:
    go = repo.scratch / "go"
    repo.config(f'[gates]\nstop = "verify: until test -e {go}; do sleep 0.05; done; false"\n')
    repo.git("commit", "-qam", "settings")
    ada = repo.agent("ada")
    ada.boot()
    ada.prompt("port the parser")
    ada.edit("a.py", "ada's\n")
    commit(ada, "a.py")
    assert ada.says("Done.").silent
    repo.write("b.py", "the person's\n")
    go.touch()
    until(lambda: all(path.name.startswith("@") for path in (repo.local / "verify").iterdir()), "the void result")
    assert "verification" not in ada.prompt("next")
