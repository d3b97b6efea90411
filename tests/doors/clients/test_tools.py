"""Tools that are in no client's table: what they name and bring tells what they would do."""

from __future__ import annotations

from typing import Any

import pytest

from dibs.doors.clients import EDIT, OTHER, SHELL
from dibs.doors.hooks import payload


def event(client: str, tool: str, given: dict[str, Any]) -> payload.Event:
    name = "BeforeTool" if client == "gemini" else "PreToolUse"
    sent = {"session_id": "s", "cwd": "/repo", "hook_event_name": name, "tool_name": tool, "tool_input": given}
    found = payload.read(client, name, sent)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("tool", "given", "paths"),
    [
        ("mcp__serena__replace_body", {"relative_path": "a.py", "content": "x"}, ["a.py"]),
        ("mcp__ide__replace_text", {"pathInProject": "a.py", "newString": "x"}, ["a.py"]),
        ("edit_file", {"target_file": "a.py", "contents": "x"}, ["a.py"]),
        ("mcp__fs__move_file", {"source": "a.py", "destination": "b.py"}, ["a.py", "b.py"]),
        ("mcp__fs__rename", {"old_path": "a.py", "new_path": "b.py"}, ["a.py", "b.py"]),
        ("mcp__gh__push_files", {"files": [{"path": "a.py", "content": "x"}, {"path": "b.py",
        "content": "y"}]}, ["a.py", "b.py"]),
        ("mcp__fs__delete_file", {"path": "a.py"}, ["a.py"]),
    ],
)  # fmt: skip
def test_a_tool_that_names_a_file_and_brings_content_is_an_edit(
    tool: str, given: dict[str, Any], paths: list[str]
) -> None:
    found = event("claude", tool, given)
    assert (found.kind, found.paths) == (EDIT, paths)


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("mcp__fs__read", {"relative_path": "a.py"}), ("mcp__mail__send", {"from": "a", "to": "b", "text": "hi"}),
        ("mcp__db__query", {"command": "select 1"}), ("mcp__fs__list", {"files": ["a.py"]}),
        ("TodoWrite", {"todos": []}),
    ],
)  # fmt: skip
def test_other_tools_are_left_to_the_audit(tool: str, given: dict[str, Any]) -> None:
    assert event("claude", tool, given).kind == OTHER


@pytest.mark.parametrize("tool", ["mcp__box__shell_exec", "mcp__x__run_command", "BashOutput2", "mcp__term__terminal"])
def test_a_tool_that_is_called_a_shell_and_brings_a_command_is_one(tool: str) -> None:
    found = event("claude", tool, {"command": "echo x > a.py"})
    assert (found.kind, found.command) == (SHELL, "echo x > a.py")


@pytest.mark.parametrize("field", ["directory", "dir_path", "workdir"])
def test_a_shell_command_runs_where_the_tool_says(field: str) -> None:
    assert event("gemini", "run_shell_command", {"command": "ls", field: "sub"}).cwd == "/repo/sub"
