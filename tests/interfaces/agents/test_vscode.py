"""VS Code's own agent, which runs the hooks of Claude Code and of Copilot. By its documentation; see the samples."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from dibs.guards import payload
from dibs.interfaces.agents import EDIT, OTHER, SHELL
from dibs.interfaces.agents.claude import hook as claude
from dibs.interfaces.agents.codex import hook as codex
from dibs.interfaces.agents.copilot import hook as copilot
from dibs.interfaces.agents.cursor import hook as cursor
from dibs.interfaces.agents.gemini import hook as gemini
from dibs.interfaces.agents.opencode import hook as opencode
from dibs.interfaces.agents.vscode import hook as vscode
from tests.interfaces.agents.test_hook_samples import payload_of

if TYPE_CHECKING:
    from dibs.interfaces.agents.adapter import Dialect
    from tests.interfaces.repository import Agent, Answer, Repository

# mypy compares each with the contract; a part that one lacks would end its hooks with a refusal.
DIALECTS: tuple[Dialect, ...] = (claude, codex, copilot, cursor, gemini, opencode, vscode)
WRITE, READ = "vscode-documented_PreToolUse_create_file", "vscode-documented_PreToolUse_read_file"
HOOKS = [("claude",), ("copilot", "preToolUse")]  # the words of the hooks that it runs


def calls(agent: Agent, words: tuple[str, ...], sample: str, **given: Any) -> Answer:
    """A tool call of VS Code's agent, through the hook of another client."""
    sent = payload_of(sample)
    sent["cwd"] = str(agent.repo.folder)
    sent["tool_input"] = {"filePath": str(agent.repo.folder / "hello.py"), **given}
    return agent.entry(*words, given=json.dumps(sent).encode())


@pytest.mark.parametrize("words", HOOKS)
def test_through_another_client_s_hook_it_is_guarded_as_itself(repo: Repository, words: tuple[str, ...]) -> None:
    agent = repo.agent("unused", client=repo.client("node"))
    assert calls(agent, words, READ).code == 0
    assert calls(agent, words, WRITE, content="x\n").silent
    session = payload_of(WRITE)["sessionId"]
    assert repo.claims() == {session: ["hello.py"]}
    assert repo.agent("ann").may_edit("hello.py").code == 2


@pytest.mark.parametrize("words", HOOKS)
def test_a_refusal_reaches_it_by_exit_code_and_in_its_own_form(repo: Repository, words: tuple[str, ...]) -> None:
    repo.agent("holder").edit("hello.py", "mine\n")
    answer = calls(repo.agent("unused", client=repo.client("node")), words, WRITE, content="x\n")
    assert (answer.code, "holder holds hello.py" in answer.err) == (2, True)
    said = answer.json["hookSpecificOutput"]
    assert (said["hookEventName"], said["permissionDecision"]) == ("PreToolUse", "deny")


def test_both_hooks_at_one_call_are_one_claim_and_one_agent(repo: Repository) -> None:
    agent = repo.agent("unused", client=repo.client("node"))
    start = {**payload_of("vscode-documented_SessionStart"), "cwd": str(repo.folder)}
    assert agent.entry("claude", given=json.dumps(start).encode()).code == 0
    for words in HOOKS:
        assert calls(agent, words, WRITE, content="x\n").silent
    assert list(repo.claims().values()) == [["hello.py"]]
    shown = repo.agent("ann").dibs("status")
    assert [(one["agent"], one["type"]) for one in shown["agents"] if one["agent"] != "ann"] == [
        (payload_of(WRITE)["sessionId"], "vscode")
    ]


def test_an_event_that_dibs_does_not_know_locks_nobody_out(repo: Repository) -> None:
    sent = {**payload_of("vscode-documented_PreCompact"), "hookEventName": "ErrorOccurred"}
    assert repo.agent("unused").entry("claude", given=json.dumps(sent).encode()).silent


@pytest.mark.parametrize(
    ("tool", "given", "kind", "paths"),
    [
        ("editFiles", {"files": ["/r/a.py", "/r/b.py"], "content": "x"}, EDIT, ["/r/a.py", "/r/b.py"]),
        (
            "multi_replace_string_in_file",
            {"replacements": [{"filePath": "/r/a.py", "oldString": "x", "newString": "y"},
                              {"filePath": "/r/b.py", "oldString": "x", "newString": "y"}]},
            EDIT, ["/r/a.py", "/r/b.py"],
        ),
        ("edit_notebook_file", {"filePath": "/r/n.ipynb", "editType": "insert", "newCode": "x"}, EDIT, ["/r/n.ipynb"]),
        ("send_to_terminal", {"id": "1", "command": "rm a.py"}, SHELL, []),
        ("run_task", {"id": "shell: build", "workspaceFolder": "/r"}, OTHER, []),
        ("manage_todo_list", {"operation": "read"}, OTHER, []),
    ],
)  # fmt: skip
def test_its_tools_are_read_for_what_they_do(tool: str, given: dict[str, Any], kind: str, paths: list[str]) -> None:
    event = payload.read("claude", "", {**payload_of(WRITE), "tool_name": tool, "tool_input": given})
    assert event is not None
    assert (event.client, event.kind, event.paths) == ("vscode", kind, paths)


def test_replacements_in_one_file_are_its_edits_and_those_in_several_are_of_none() -> None:
    def edits(*files: str) -> list[tuple[str, str, bool]]:
        given = {"replacements": [{"filePath": file, "oldString": "x", "newString": "y"} for file in files]}
        sent = {**payload_of(WRITE), "tool_name": "multi_replace_string_in_file", "tool_input": given}
        event = payload.read("claude", "", sent)
        assert event is not None
        return event.edits

    assert edits("/r/a.py", "/r/a.py") == [("x", "y", False)] * 2
    assert edits("/r/a.py", "/r/b.py") == []


def test_a_task_without_a_readable_command_is_refused(repo: Repository) -> None:
    agent = repo.agent("unused", client=repo.client("node"))
    sent = payload_of("vscode-documented_PreToolUse_create_and_run_task")
    sent["tool_input"]["task"]["command"] = {"value": "rm a.py"}
    answer = agent.entry("claude", given=json.dumps(sent).encode())
    assert (answer.code, "create_and_run_task has no command" in answer.err) == (2, True)
