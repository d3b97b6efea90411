"""Tools that are in no client's table: what they name and bring tells what they would do."""

from __future__ import annotations

import re
from typing import Any

import pytest

from dibs.guards import payload
from dibs.interfaces.agents import BEFORE, EDIT, OTHER, SHELL
from dibs.interfaces.agents.claude import install
from tests.interfaces.repository import Repository


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
        ("mcp__fs__delete_file", {"path": "a.py"}, ["a.py"]), ("mcp__fs__remove", {"paths": ["a.py"]}, ["a.py"]),
        ("mcp__fs__rename", {"oldPath": "a.py", "newPath": "b.py"}, ["a.py", "b.py"]),
        ("mcp__fs__write", {"absolutePath": "/a.py", "data": "x"}, ["/a.py"]),
        ("mcp__fs__write", {"uri": "file:///a%20b.py", "text": "x"}, ["/a b.py"]),
        ("mcp__fs__write_multiple", {"files": {"a.py": "x"}}, ["a.py"]),
        ("mcp__serena__replace_regex", {"relative_path": "a.py", "regex": "a", "repl": "b"}, ["a.py"]),
        ("mcp__serena__insert_after_symbol", {"relative_path": "a.py", "body": "b"}, ["a.py"]),
        ("find_and_replace", {"path": "a.py", "text": "b"}, ["a.py"]),
        ("multi_replace_string_in_file", {"replacements": [{"filePath": "a.py", "newString": "b"}]}, ["a.py"]),
        ("insert_edit_into_file", {"filePath": "a.py", "code": "b"}, ["a.py"]),
    ],
)  # fmt: skip
def test_a_tool_that_names_a_file_and_brings_content_is_an_edit(
    tool: str, given: dict[str, Any], paths: list[str]
) -> None:
    found = event("claude", tool, given)
    assert (found.kind, found.paths) == (EDIT, paths)


@pytest.mark.parametrize("tool", ["Edit", "Write", "NotebookEdit"])
def test_a_field_that_names_a_file_counts_in_any_spelling_and_an_edit_without_one_is_refused(tool: str) -> None:
    for field in ("file_path", "FILE_PATH", "filePath", "pAth", "File"):
        assert event("claude", tool, {field: "a.py", "path": "b.py", "content": "x"}).paths == ["a.py", "b.py"]
    for given in ({}, {"pathx": "a.py"}, {"file_path": None}):
        with pytest.raises(payload.Unreadable, match="names no path"):
            event("claude", tool, {**given, "content": "x"})


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("mcp__fs__read", {"relative_path": "a.py"}), ("mcp__mail__send", {"from": "a", "to": "b", "text": "hi"}),
        ("mcp__db__query", {"command": "select 1"}), ("mcp__fs__list", {"files": ["a.py"]}),
        ("TodoWrite", {"todos": []}), ("mcp__lint__check_file", {"path": "a.py", "content": "x"}),
        ("mcp__x__update_resource", {"uri": "memo://a", "text": "x"}),
        ("mcp__fs__search_files", {"path": "a", "text": "x"}),
        ("mcp__git__git_status", {"files": ["a.py"]}), ("mcp__db__query", {"cmd": "select"}),
    ],
)  # fmt: skip
def test_other_tools_are_left_to_the_audit(tool: str, given: dict[str, Any]) -> None:
    assert event("claude", tool, given).kind == OTHER


@pytest.mark.parametrize(
    "tool", ["mcp__box__shell_exec", "mcp__x__run_command", "BashOutput2", "mcp__term__terminal", "Monitor"]
)
def test_a_tool_that_is_called_a_shell_and_brings_a_command_is_one(tool: str) -> None:
    found = event("claude", tool, {"command": "echo x > a.py"})
    assert (found.kind, found.command) == (SHELL, "echo x > a.py")


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("mcp__commander__start_process", {"command": "rm a.py"}), ("mcp__fast__run", {"command": "rm a.py"}),
        ("local_shell", {"command": ["rm", "a.py"]}), ("container.exec", {"cmd": ["bash", "-lc", "rm a.py"]}),
    ],
)  # fmt: skip
def test_a_tool_that_runs_a_process_or_a_list_of_words_is_a_shell(tool: str, given: dict[str, Any]) -> None:
    found = event("codex", tool, given)
    assert (found.kind, found.command.replace("'", "")) == (SHELL, "rm a.py")


def test_a_path_in_the_home_folder_is_the_file_that_the_client_writes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    assert event("claude", "Write", {"file_path": "~/x/a.py", "content": ""}).paths == ["/home/me/x/a.py"]
    assert event("claude", "Write", {"file_path": "file:///x/a.py", "content": ""}).paths == ["/x/a.py"]
    assert event("claude", "Write", {"file_path": "file.py", "content": ""}).paths == ["file.py"]


@pytest.mark.parametrize(
    "name",
    ["PermissionDenied", "UserPromptExpansion", "MessageDisplay", "CwdChanged", "DirectoryAdded", "FileChanged",
     "WorktreeCreate", "WorktreeRemove", "TeammateIdle", "Elicitation", "ElicitationResult", "Setup",
     "InstructionsLoaded", "ConfigChange", "PreCompact", "PostCompact", "PostToolBatch", "TaskCreated", "TaskCompleted",
     "OfAVersionToCome"],
)  # fmt: skip
def test_an_event_that_dibs_has_no_use_for_locks_nobody_out(name: str) -> None:
    sent = {"session_id": "s", "cwd": "/repo", "hook_event_name": name, "tool_name": "X", "tool_input": 1}
    assert payload.read("claude", name, sent) is None


def test_an_event_is_known_in_any_spelling_and_one_without_a_name_is_a_doubt() -> None:
    sent = {"session_id": "s", "cwd": "/repo", "tool_name": "Bash", "tool_input": {"command": "rm a.py"}}
    for name in ("preToolUse", "pre_tool_use", "PreToolUse"):
        found = payload.read("claude", "", {**sent, "hook_event_name": name})
        assert found is not None
        assert (found.moment, found.command) == (BEFORE, "rm a.py")
    with pytest.raises(payload.Unreadable, match="names no event"):
        payload.read("claude", "", sent)


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("Monitor", {"command": "sed -i s/a/b/ m.txt", "description": "x"}),
        ("PowerShell", {"command": "Remove-Item m.txt"}),
        ("PowerShell", {"command": "git add -A"}), ("PowerShell", {"command": "Set-Content $x y"}),
        ("mcp__win__powershell", {"command": "'x' > m.txt"}),
    ],
)  # fmt: skip
def test_every_tool_that_runs_commands_is_guarded_in_its_own_language(
    repo: Repository, tool: str, given: dict[str, str]
) -> None:
    repo.write("m.txt", "a\n")
    ada, bob = repo.agent("ada"), repo.agent("bob")
    ada.edit("m.txt", "ada's\n")
    assert "ada holds" in bob.may(tool, **given).refusal or "(ada," in bob.may(tool, **given).refusal
    for harmless in ({"command": "ls"}, {"command": "git status"}, {"command": "Get-Content m.txt"}):
        assert bob.may(tool, **harmless).allowed
    assert bob.may("Monitor", ws="wss://x").allowed
    assert bob.may("ToolToCome", anything=["m.txt"]).allowed


def test_the_settings_of_claude_code_ask_about_every_tool_that_runs_commands_or_writes() -> None:
    for event_name, entry in install.Claude().entries().items():
        if "matcher" in entry:
            for tool in ("Bash", "Monitor", "PowerShell", "Edit", "Write", "NotebookEdit", "mcp__x__y"):
                assert re.search(entry["matcher"], tool), (event_name, tool)
            assert not re.search(entry["matcher"], "TaskOutput")


@pytest.mark.parametrize("field", ["directory", "dir_path", "workdir"])
def test_a_shell_command_runs_where_the_tool_says(field: str) -> None:
    assert event("gemini", "run_shell_command", {"command": "ls", field: "sub"}).cwd == "/repo/sub"
