"""Cursor: its own hooks, and Claude Code's, which it may run as well. By its documentation; see the samples."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from dibs.guards import payload
from dibs.interfaces.agents import EDIT, READ, SHELL
from tests.interfaces.agents.test_hook_samples import payload_of
from tests.interfaces.installation import write
from tests.interfaces.repository import Repository

if TYPE_CHECKING:
    from tests.interfaces.repository import Agent, Answer

SAMPLE = "cursor-documented_preToolUse_Write"


def writes(agent: Agent, hook: str, event: str) -> Answer:
    """A write of Cursor's, through the hook of that client."""
    sent = {**payload_of(SAMPLE), "hook_event_name": event}
    sent["tool_input"] = {"file_path": str(agent.repo.folder / "hello.py"), "content": "x\n"}
    return agent.entry(hook, given=json.dumps(sent).encode())


@pytest.mark.parametrize("event", ["preToolUse", "PreToolUse"])
def test_through_claude_s_hooks_it_is_guarded_as_itself_where_its_own_settings_do_not_call_dibs(
    repo: Repository, event: str
) -> None:
    repo.agent("holder").edit("hello.py", "mine\n")
    write(repo.folder / ".cursor" / "hooks.json", '{"version": 1, "hooks": {}}')
    answer = writes(repo.agent("unused", client=repo.client("cursor-agent")), "claude", event)
    assert (answer.code, "holder holds hello.py" in answer.err) == (2, True)
    found = answer.json
    own = found if event == "preToolUse" else found["hookSpecificOutput"]
    reason = own["agent_message" if event == "preToolUse" else "permissionDecisionReason"]
    assert reason == answer.err.rstrip("\n"), "in the form of the event that it named"


@pytest.mark.parametrize("event", ["preToolUse", "PreToolUse"])
def test_through_claude_s_hooks_nothing_is_said_or_claimed_where_its_own_settings_guard(
    repo: Repository, event: str
) -> None:
    write(repo.folder / ".cursor" / "hooks.json", '{"hooks": {"preToolUse": [{"command": ". .dibs/hook"}]}}')
    agent = repo.agent("unused", client=repo.client("cursor-agent"))
    assert writes(agent, "claude", event).silent
    assert repo.claims() == {}
    assert writes(agent, "cursor", event).silent
    assert list(repo.claims().values()) == [["hello.py"]]
    repo.agent("holder").dibs("log")
    assert writes(repo.agent("ann"), "claude", event).silent, "not even a refusal: its own hook has one"


def test_a_call_s_id_of_two_lines_is_one_word_before_and_after(repo: Repository) -> None:
    agent = repo.agent("unused", client=repo.client("cursor-agent"))
    assert writes(agent, "cursor", "preToolUse").silent
    repo.write("hello.py", "x\n")
    assert writes(agent, "cursor", "postToolUse").code == 0
    session = payload_of(SAMPLE)["conversation_id"]
    assert repo.claims() == {session: ["hello.py"]}
    repo.agent("holder").dibs("verify")


@pytest.mark.parametrize(
    ("given", "tool", "kind"),
    [
        ({"command": "ls"}, "Shell", SHELL), ({"path": "a", "contents": "x"}, "Write", EDIT),
        ({"path": "a", "old_string": "x", "new_string": "y"}, "StrReplace", EDIT),
        ({"path": "a", "offset": 1, "limit": 5}, "Read", READ), ({"path": "a"}, "Delete", EDIT),
    ],
)  # fmt: skip
def test_a_tool_without_a_name_is_inferred_and_a_path_alone_counts_as_a_deletion(
    given: dict[str, Any], tool: str, kind: str
) -> None:
    sent = {"conversation_id": "c", "hook_event_name": "preToolUse", "cursor_version": "x", "tool_input": given}
    event = payload.read("cursor", "", sent)
    assert event is not None
    assert (event.session, event.tool, event.kind) == ("c", tool, kind)


@pytest.mark.parametrize("given", [{}, {"url": "x"}, None, "text"])
def test_a_call_of_which_nothing_is_known_is_in_doubt(given: Any) -> None:
    sent = {"conversation_id": "c", "hook_event_name": "preToolUse", "cursor_version": "x", "tool_input": given}
    with pytest.raises(payload.Unreadable, match="names no tool"):
        payload.read("cursor", "", sent)
    with pytest.raises(payload.Unreadable, match="names no tool"):  # other clients always say it
        payload.read("claude", "PreToolUse", {"session_id": "s", "tool_input": {"command": "ls"}})
