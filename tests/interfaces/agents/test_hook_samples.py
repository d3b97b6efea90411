"""Real payloads of real clients (`samples/`, as they were sent): each is read right, and each is answered right.

A file is named CLIENT-VERSION_EVENT[_TOOL]. Copilot's camelCase payloads do not say their event; there the hook's
second word says it, and here the file's name. OpenCode's are what dibs' plugin sent from there (`chat.message` and
`session.deleted` shortened to what they hold). Cursor's were not taken here: they are made after its documentation and
after payloads that others have published, and are named `documented` for that; VS Code's are made after its
documentation and its public source.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from dibs.guards import payload
from dibs.interfaces.agents import (
    AFTER,
    BEFORE,
    BOOT,
    BORN,
    DIED,
    EDIT,
    END,
    FAIL,
    NOTE,
    OTHER,
    PATCH,
    PROMPT,
    READ,
    SHELL,
    STOP,
)
from tests.interfaces.repository import Repository

if TYPE_CHECKING:
    from tests.interfaces.repository import Agent, Answer

SAMPLES = Path(__file__).with_name("samples")
THERE = "/work-tree/repo"  # where the samples were taken
HELLO, CLAIMED, SUB = f"{THERE}/hello.py", f"{THERE}/claimed.py", f"{THERE}/sub.py"
NOTHING = "nothing"  # an event that is none of dibs' business

# sample → moment, what the tool does, the paths or the command
CLAUDE: dict[str, tuple[str, ...]] = {
    "PostCompact": (NOTHING,),
    "PostToolBatch": (NOTHING,),
    "PostToolBatch_in_subagent": (NOTHING,),
    "PostToolUse_Bash": (AFTER, SHELL, "cat hello.py; echo ENV_FROM_HOOK=$FLEET_AGENT"),
    "PostToolUse_Edit": (AFTER, EDIT, HELLO),
    "PostToolUse_Write": (AFTER, EDIT, HELLO),
    "PostToolUse_Write_in_subagent": (AFTER, EDIT, SUB),
    "PreCompact": (NOTHING,),
    "PreToolUse_Bash": (BEFORE, SHELL, "cat hello.py; echo ENV_FROM_HOOK=$FLEET_AGENT"),
    "PreToolUse_Edit": (BEFORE, EDIT, HELLO),
    "PreToolUse_Write": (BEFORE, EDIT, HELLO),
    "PreToolUse_Write_in_subagent": (BEFORE, EDIT, SUB),
    "SessionEnd": (END,),
    "SessionStart": (BOOT,),
    "SessionStart_compact": (BOOT,),
    "SessionStart_resume": (BOOT,),
    "Stop": (STOP,),
    "StopFailure": (FAIL,),
    "SubagentStart_in_subagent": (BORN,),
    "SubagentStop_in_subagent": (DIED,),
    "TaskCompleted": (NOTHING,),
    "TaskCreated": (NOTHING,),
    "UserPromptSubmit": (PROMPT,),
}
CODEX: dict[str, tuple[str, ...]] = {
    "PostToolUse_Bash": (AFTER, SHELL, "cat hello.py"),
    "PostToolUse_apply_patch": (
        AFTER, PATCH, "*** Begin Patch\n*** Add File: hello.py\n+print('hello')\n*** End Patch\n",
    ),
    "PostToolUse_mcp__fleet__claim": (AFTER, OTHER),
    "PreToolUse_Bash": (BEFORE, SHELL, "cat hello.py"),
    "PreToolUse_apply_patch": (BEFORE, PATCH, "*** Begin Patch\n*** Add File: claimed.py\n+x = 1\n*** End Patch\n"),
    "PreToolUse_mcp__fleet__claim": (BEFORE, OTHER),
    "SessionEnd": (END,),
    "SessionStart": (BOOT,),
    "Stop": (STOP,),
    "UserPromptSubmit": (PROMPT,),
}  # fmt: skip
COPILOT: dict[str, tuple[str, ...]] = {
    "PascalCase_PreToolUse": (BEFORE, EDIT, CLAIMED),
    "PascalCase_SessionEnd": (END,),
    "PascalCase_SessionStart": (BOOT,),
    "PascalCase_Stop": (STOP,),
    "PascalCase_UserPromptSubmit": (PROMPT,),
    "agentStop": (STOP,),
    "permissionRequest_bash": (NOTE,),
    "permissionRequest_edit": (NOTE,),
    "postToolUse_bash": (AFTER, SHELL, "cat hello.py"),
    "postToolUse_create": (AFTER, EDIT, HELLO),
    "postToolUse_edit": (AFTER, EDIT, HELLO),
    "preToolUse_bash": (BEFORE, SHELL, "cat hello.py"),
    "preToolUse_create": (BEFORE, EDIT, CLAIMED),
    "preToolUse_edit": (BEFORE, EDIT, HELLO),
    "sessionEnd": (END,),
    "sessionStart": (BOOT,),
    "userPromptSubmitted": (PROMPT,),
}
GEMINI: dict[str, tuple[str, ...]] = {
    "AfterAgent": (STOP,),
    "AfterTool_mcp_fleet_claim": (AFTER, OTHER),
    "AfterTool_replace": (AFTER, EDIT, HELLO),
    "AfterTool_run_shell_command": (AFTER, SHELL, "cat hello.py"),
    "AfterTool_write_file": (AFTER, EDIT, HELLO),
    "BeforeAgent": (PROMPT,),
    "BeforeTool_mcp_fleet_claim": (BEFORE, OTHER),
    "BeforeTool_replace": (BEFORE, EDIT, HELLO),
    "BeforeTool_run_shell_command": (BEFORE, SHELL, "cat hello.py"),
    "BeforeTool_write_file": (BEFORE, EDIT, CLAIMED),
    "PreCompress": (NOTHING,),
    "SessionEnd": (END,),
    "SessionStart": (BOOT,),
}
CURSOR: dict[str, tuple[str, ...]] = {
    "beforeSubmitPrompt": (NOTHING,),
    "postToolUseFailure_Shell": (AFTER, SHELL, "cat hello.py"),
    "postToolUse_Write": (AFTER, EDIT, HELLO),
    "preCompact": (NOTHING,),
    "preToolUse_Delete": (BEFORE, EDIT, HELLO),
    "preToolUse_MCP": (BEFORE, OTHER),
    "preToolUse_Shell": (BEFORE, SHELL, "cat hello.py"),
    "preToolUse_StrReplace": (BEFORE, EDIT, HELLO),
    "preToolUse_Write": (BEFORE, EDIT, HELLO),
    "preToolUse_Write_contents": (BEFORE, EDIT, CLAIMED),
    "preToolUse_nameless_Shell": (BEFORE, SHELL, "cat hello.py"),
    "preToolUse_nameless_StrReplace": (BEFORE, EDIT, HELLO),
    "sessionEnd": (END,),
    "sessionStart": (BOOT,),
    "stop": (STOP,),
    "subagentStart": (NOTHING,),
}
OPENCODE: dict[str, tuple[str, ...]] = {
    "chat.message": (PROMPT,),
    "session.created": (BOOT,),
    "session.created_in_subagent": (BOOT,),
    "session.deleted": (END,),
    "session.deleted_in_subagent": (END,),
    "session.idle": (STOP,),
    "tool.execute.after_bash": (AFTER, SHELL, "cat hello.py"),
    "tool.execute.after_edit": (AFTER, EDIT, HELLO),
    "tool.execute.after_task": (AFTER, OTHER),
    "tool.execute.after_write": (AFTER, EDIT, CLAIMED),
    "tool.execute.before_bash": (BEFORE, SHELL, "cat hello.py"),
    "tool.execute.before_edit": (BEFORE, EDIT, HELLO),
    "tool.execute.before_task": (BEFORE, OTHER),
    "tool.execute.before_write": (BEFORE, EDIT, CLAIMED),
    "tool.execute.before_write_in_subagent": (BEFORE, EDIT, SUB),
}
VSCODE: dict[str, tuple[str, ...]] = {
    "PostToolUse_replace_string_in_file": (AFTER, EDIT, HELLO),
    "PostToolUse_run_in_terminal": (AFTER, SHELL, "cat hello.py"),
    "PreCompact": (NOTHING,),
    "PreToolUse_apply_patch": (BEFORE, PATCH, "*** Begin Patch\n*** Add File: claimed.py\n+x = 1\n*** End Patch\n"),
    "PreToolUse_create_and_run_task": (BEFORE, SHELL, "cat hello.py"),
    "PreToolUse_create_file": (BEFORE, EDIT, CLAIMED),
    "PreToolUse_grep_search": (BEFORE, OTHER),
    "PreToolUse_insert_edit_into_file": (BEFORE, EDIT, HELLO),
    "PreToolUse_multi_replace_string_in_file": (BEFORE, EDIT, HELLO),
    "PreToolUse_read_file": (BEFORE, READ, HELLO),
    "PreToolUse_replace_string_in_file": (BEFORE, EDIT, HELLO),
    "PreToolUse_run_in_terminal": (BEFORE, SHELL, "cat hello.py"),
    "SessionStart": (BOOT,),
    "Stop": (STOP,),
    "SubagentStart": (BORN,),
    "SubagentStop": (DIED,),
    "UserPromptSubmit": (PROMPT,),
}
INFERRED = {"nameless_Shell": "Shell", "nameless_StrReplace": "StrReplace"}
TABLE = {
    **{f"claude-2.1.325_{name}": read for name, read in CLAUDE.items()},
    **{f"codex-0.166.0_{name}": read for name, read in CODEX.items()},
    **{f"copilot-1.0.102_{name}": read for name, read in COPILOT.items()},
    **{f"gemini-0.61.0_{name}": read for name, read in GEMINI.items()},
    **{f"cursor-documented_{name}": read for name, read in CURSOR.items()},
    **{f"vscode-documented_{name}": read for name, read in VSCODE.items()},
    **{f"opencode-1.18.33_{name}": read for name, read in OPENCODE.items()},
}
BEFORES = [name for name, read in TABLE.items() if read[0] == BEFORE]
WRITES = [name for name in BEFORES if TABLE[name][1] not in {OTHER, READ}]


def words_of(name: str) -> list[str]:
    """The client, and the event for a payload that does not say it: the words of the hook."""
    versioned, _, rest = name.partition("_")
    client = versioned.partition("-")[0]
    event = rest.partition("_")[0]
    return [client, event] if client == "copilot" and event != "PascalCase" else [client]


def payload_of(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((SAMPLES / f"{name}.json").read_text())
    return found


def test_every_sample_is_in_the_table() -> None:
    assert {f"{name}.json" for name in TABLE} == {path.name for path in SAMPLES.iterdir()}
    assert len(TABLE) == 111


@pytest.mark.parametrize("name", TABLE)
def test_a_sample_is_read_for_what_it_is(name: str) -> None:
    client, *more = words_of(name)
    sent = payload_of(name)
    event_name = more[0] if more else ""
    event = payload.read(client, event_name, sent)
    if TABLE[name] == (NOTHING,):
        assert event is None
        return
    assert event is not None
    moment, kind, what = (*TABLE[name], "", "")[:3]
    assert (event.moment, event.kind) == (moment, kind)
    assert (event.command if kind in {SHELL, PATCH} else "".join(event.paths)) == what
    assert event.session == sent.get("conversation_id", sent.get("session_id", sent.get("sessionId")))
    assert event.agent == "/".join(filter(None, [event.session, sent.get("agent_id", "")]))
    assert event.cwd == THERE
    assert event.source == sent.get("source", "")
    assert event.call == sent.get("tool_use_id", "").replace("\n", "_")
    inferred = INFERRED.get(name.partition("preToolUse_")[2], "")
    assert event.tool == (sent.get("tool_name") or sent.get("toolName") or inferred)


# --- the same through the real entry


def asked(agent: Agent, name: str, command: str = "") -> Answer:
    """A sample, sent from here; a shell's command can be another one."""
    text = (SAMPLES / f"{name}.json").read_text().replace(THERE, str(agent.repo.folder))
    sent = json.loads(text)
    if command:
        given = sent["tool_input" if "tool_input" in sent else "toolArgs"]
        given.update({"task": {"command": command}} if "task" in given else {"command": command})
    return agent.entry(*words_of(name), given=json.dumps(sent).encode())


def target_of(name: str) -> tuple[str, str]:
    """The file that a sample would write, and the command by which it does if it is a shell's."""
    kind, what = TABLE[name][1:]
    if kind == SHELL:
        return "hello.py", "echo more >> hello.py"
    return ("claimed.py" if kind == PATCH else what.rpartition("/")[2]), ""


def refusal_in_the_dialect_of(name: str, reason: str) -> dict[str, Any]:
    client, *camel = words_of(name)
    if client == "gemini":
        return {"decision": "deny", "reason": reason}
    if client == "cursor":
        return {"permission": "deny", "user_message": reason, "agent_message": reason}
    if client == "opencode":
        return {"deny": reason}
    decision = {"permissionDecision": "deny", "permissionDecisionReason": reason}
    return decision if camel else {"hookSpecificOutput": {"hookEventName": "PreToolUse", **decision}}


@pytest.mark.parametrize("name", WRITES)
def test_a_write_passes_in_silence_and_is_refused_in_the_clients_dialect_while_another_agent_holds_the_file(
    repo: Repository, name: str
) -> None:
    file, command = target_of(name)
    client = repo.agent("unused", client=repo.client(words_of(name)[0]))
    assert asked(client, name, command).silent
    held = repo.claims()
    assert list(held.values()) == [[file]]

    (owner,) = held
    client.session = owner.partition("/")[0]  # a shell speaks for its agent and those below it
    released = client.dibs("release", file, "--as", owner)
    assert released["ok"], released
    holder = repo.agent("holder")
    assert holder.dibs("claim", file, "--reason", "rewriting it")["ok"]
    answer = asked(client, name, command)
    assert answer.code == 2
    [line] = answer.out.splitlines()
    reason = answer.err.rstrip("\n")
    assert json.loads(line) == refusal_in_the_dialect_of(name, reason)
    assert f"holder holds {file} (" in reason
    assert 'at work on "rewriting it"' in reason
    assert repo.claims() == {"holder": [file]}


@pytest.mark.parametrize("name", [name for name in WRITES if TABLE[name][1] == SHELL])
def test_a_command_that_only_reads_a_held_file_passes_in_silence(repo: Repository, name: str) -> None:
    repo.write("hello.py", "print('hello')\n")
    repo.agent("holder").edit("hello.py", "print('mine')\n")
    assert asked(repo.agent("unused", client=repo.client(words_of(name)[0])), name).silent
    assert repo.claims() == {"holder": ["hello.py"]}


@pytest.mark.parametrize("name", [name for name in BEFORES if TABLE[name][1] == OTHER])
def test_a_tool_of_another_server_passes_in_silence(repo: Repository, name: str) -> None:
    repo.agent("holder").edit("a.py", "mine\n")
    assert asked(repo.agent("unused", client=repo.client(words_of(name)[0])), name).silent


CONTEXT = {"copilot": "additionalContext", "cursor": "additional_context", "opencode": "context"}
START = {"cursor": "sessionStart", "opencode": "session.created"}


@pytest.mark.parametrize("client", ["claude", "codex", "copilot", "cursor", "gemini", "opencode"])
def test_a_sample_that_asks_for_nothing_is_never_refused(repo: Repository, client: str) -> None:
    repo.agent("holder").edit("hello.py", "mine\n")
    names = [name for name in TABLE if name.startswith(client) and TABLE[name][0] != BEFORE]
    agent = repo.agent("unused", client=repo.client(client))
    for name in names:
        known = payload_of(name)
        session = known.get("conversation_id") or known.get("session_id") or known["sessionId"]
        start = {
            "session_id": session, "cwd": str(repo.folder), "hook_event_name": START.get(client, "SessionStart"),
            "source": "startup",
        }  # fmt: skip
        assert agent.entry(client, given=json.dumps(start).encode()).code == 0
        answer = asked(agent, name)
        assert answer.allowed, name
        assert answer.err == "", name
        if TABLE[name][0] in {BOOT, BORN}:
            assert set(answer.json) == {CONTEXT.get(client, "hookSpecificOutput")}, name
            whole = TABLE[name][0] == BOOT and "agent_id" not in known
            held = "You hold nothing." if whole else "dibs coordinates the agents in this repos"
            assert held in answer.out, name
        elif answer.out:  # a subagent that dibs hears of for the first time is told the rules, once
            assert '"agent_id"' in json.dumps(payload_of(name)), name
            assert "The rules of this workspace" in answer.out, name
            assert asked(agent, name).out == "", name
