"""What each client calls its events and tools, and how it wants to be answered. One table a client; nothing is decided.

A client's payload becomes an Event in dibs' own words: a moment (boot, before, after, prompt, stop, end, born, died)
and, around a tool call, what the tool does (edit, patch, shell, read, other) to which paths.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

BOOT, BEFORE, AFTER, PROMPT, STOP, END, BORN, DIED = (
    "boot", "before", "after", "prompt", "stop", "end", "born", "died",
)  # fmt: skip
EDIT, PATCH, SHELL, READ, OTHER = "edit", "patch", "shell", "read", "other"

_CLAUDE_EVENTS = {
    "SessionStart": BOOT, "SessionEnd": END, "UserPromptSubmit": PROMPT, "PreToolUse": BEFORE, "PostToolUse": AFTER,
    "PostToolUseFailure": AFTER, "Stop": STOP, "SubagentStart": BORN, "SubagentStop": DIED,
}  # fmt: skip
_CLAUDE_TOOLS = {
    "Edit": EDIT, "Write": EDIT, "MultiEdit": EDIT, "NotebookEdit": EDIT, "Bash": SHELL, "Read": READ,
    "apply_patch": PATCH,
}  # fmt: skip
# Tools that write no file: a call of one is no suspect for what changes meanwhile.
HARMLESS = frozenset((
    "Agent", "AskUserQuestion", "BashOutput", "EnterPlanMode", "ExitPlanMode", "Glob", "Grep", "KillBash", "KillShell",
    "LS", "ListMcpResources", "LSP", "NotebookRead", "ReadMcpResource", "SendMessage", "Skill", "Task", "TaskCreate",
    "TaskGet", "TaskList", "TaskOutput", "TaskStop", "TaskUpdate", "TodoRead", "TodoWrite", "ToolSearch", "WebFetch",
    "WebSearch", "ask_user", "glob", "google_web_search", "grep", "list_directory", "ls", "read_many_files",
    "report_intent", "rg", "save_memory", "search_file_content", "todowrite", "update_plan", "view_image", "web_fetch",
    "web_search", "write_todos",
))  # fmt: skip
# Events that dibs has no business with. One that is neither here nor in a table is a doubt.
_SILENT = frozenset((
    "PreCompact", "PostCompact", "PostToolBatch", "TaskCreated", "TaskCompleted", "Notification", "PermissionRequest",
    "preCompact", "errorOccurred", "permissionRequest", "notification", "PreCompress", "BeforeModel", "AfterModel",
    "BeforeToolSelection",
))  # fmt: skip

EVENTS: dict[str, dict[str, str]] = {
    "claude": _CLAUDE_EVENTS,
    "codex": _CLAUDE_EVENTS,
    "gemini": {
        "SessionStart": BOOT, "SessionEnd": END, "BeforeAgent": PROMPT, "BeforeTool": BEFORE, "AfterTool": AFTER,
        "AfterAgent": STOP,
    },
    "copilot": {
        **_CLAUDE_EVENTS, "sessionStart": BOOT, "sessionEnd": END, "userPromptSubmitted": PROMPT, "preToolUse": BEFORE,
        "postToolUse": AFTER, "postToolUseFailure": AFTER, "agentStop": STOP, "subagentStart": BORN,
        "subagentStop": DIED,
    },
}  # fmt: skip
TOOLS: dict[str, dict[str, str]] = {
    "claude": _CLAUDE_TOOLS,
    "codex": {**_CLAUDE_TOOLS, "shell": SHELL, "exec_command": SHELL},
    "gemini": {
        "write_file": EDIT, "replace": EDIT, "edit": EDIT, "run_shell_command": SHELL, "read_file": READ,
    },
    "copilot": {
        **_CLAUDE_TOOLS, "edit": EDIT, "create": EDIT, "str_replace_editor": EDIT, "bash": SHELL, "shell": SHELL,
        "view": READ, "write": EDIT,
    },
}  # fmt: skip
_PATHS = (
    "file_path", "notebook_path", "path", "absolute_path", "filePath", "relative_path", "relativePath", "pathInProject",
    "target_file", "targetFile", "filename", "file_name", "file",
)  # fmt: skip
_MOVES = (("source", "destination"), ("from", "to"), ("old_path", "new_path"), ("src", "dst"))  # both are written
_MOVING = ("move", "rename", "copy")
_SHELL_NAMES = ("shell", "bash", "exec", "terminal", "run_command", "runcommand")  # in the name of a tool that runs one
_OLD = ("old_string", "old_str", "oldString")
_NEW = ("new_string", "new_str", "newString")
_WHOLE = ("content", "contents", "file_text", "text")
_CONTENTS = (
    "content", "contents", "new_string", "new_str", "newString", "old_string", "old_str", "oldString", "edits",
    "file_text", "new_source", "patch", "diff", "text",
)  # fmt: skip


_PLACES = ("directory", "dir_path", "workdir", "cwd", "working_directory", "workingDirectory")
_OWN_TOOLS = frozenset(tool for tools in TOOLS.values() for tool in tools)


class Event:
    """One call of one hook, in dibs' own words."""

    __slots__ = ("call", "client", "command", "content", "cwd", "edits", "kind", "moment", "name", "paths", "session",
                 "source", "subagent", "tool", "type")  # fmt: skip

    def __init__(self, client: str, name: str, moment: str) -> None:
        self.client, self.name, self.moment = client, name, moment
        self.session = self.subagent = self.type = self.cwd = self.source = ""
        self.tool = self.kind = self.command = self.call = ""
        self.paths: list[str] = []
        self.content: str | None = None  # what an edit puts into its file, where it brings the whole of it
        self.edits: list[tuple[str, str, bool]] = []  # old text, new text, everywhere: where it changes what is there

    @property
    def agent(self) -> str:
        """The agent's id: as whoever started the client named it, else the client's own session id."""
        base = os.environ.get("DIBS_AGENT") or self.session
        return f"{base}/{self.subagent.replace('/', '-')}" if self.subagent else base

    @property
    def key(self) -> str:
        """The call, as the ledger has it: ids of calls are an agent's own."""
        return f"{self.agent} {self.call or self.tool}"

    def real(self, path: str) -> str:
        """Where a path of the client's really leads."""
        return os.path.realpath(os.path.join(self.cwd or os.getcwd(), path))


class Unreadable(Exception):
    """The payload is not what this client sends, so nothing about it can be trusted."""


def read(client: str, name: str, sent: Any) -> Event | None:
    """A payload as an Event; None for an event that dibs has no business with. Raises Unreadable in doubt."""
    if client not in EVENTS:
        raise Unreadable(f"no client {client[:40]!r} is known here, only {', '.join(EVENTS)}")
    if not isinstance(sent, dict):
        raise Unreadable("the payload is not an object")
    name = _text(sent, "hook_event_name") or name
    moment = EVENTS[client].get(name, "")
    if not moment:
        if name in _SILENT:
            return None
        raise Unreadable(f"no event {name[:40]!r} of {client} is known here")
    event = Event(client, name, moment)
    event.session = _text(sent, "session_id") or _text(sent, "sessionId")
    if not event.session:
        raise Unreadable("the payload names no session")
    event.subagent = _text(sent, "agent_id") or _text(sent, "agentId")
    event.type = _text(sent, "agent_type") or _text(sent, "agentType")
    for value in (event.session, event.subagent, event.type):
        if not value.isascii() and not value.isprintable():
            raise Unreadable("the payload names a session or an agent by text that is not valid Unicode")
    event.cwd = _text(sent, "cwd")
    event.source = _text(sent, "source")
    event.call = _text(sent, "tool_use_id") or _text(sent, "toolUseId")
    if moment in {BEFORE, AFTER}:
        _read_tool(event, sent)
    return event


def _read_tool(event: Event, sent: dict[str, Any]) -> None:
    """What the tool would do to which paths."""
    event.tool = _text(sent, "tool_name") or _text(sent, "toolName")
    if not event.tool:
        raise Unreadable("the payload names no tool")
    event.kind = TOOLS[event.client].get(event.tool, OTHER)
    given = sent.get("tool_input") if "tool_input" in sent else sent.get("toolArgs")
    if event.kind == OTHER:  # by whatever name: an MCP server's, or one that came after this table
        if _runs(event.tool, given):
            event.kind = SHELL
        elif _writes(event.tool, given):
            event.kind = EDIT
        else:
            return
    if isinstance(given, str):  # Copilot sends its arguments as a text now and then
        from dibs import jsontext

        try:
            given = jsontext.decode(given)
        except ValueError:
            given = {"command": given} if event.kind in {PATCH, SHELL} else None
    if not isinstance(given, dict):
        raise Unreadable(f"{event.tool} has no input")
    if event.kind in {SHELL, PATCH}:
        _read_command(event, given)
        return
    for path in _named(event.tool, given):
        if not isinstance(path, str) or not path or "\0" in path:
            raise Unreadable(f"{event.tool} has no readable path")
        event.paths.append(path)
    if not event.paths:
        raise Unreadable(f"{event.tool} names no path")
    if event.tool == "str_replace_editor" and given.get("command") == "view":
        event.kind = READ
    else:
        _read_change(event, given)


def _read_change(event: Event, given: dict[str, Any]) -> None:
    """Does an edit bring the whole content, or does it change what is there?"""
    several = given.get("edits")
    for one in several if isinstance(several, list) else [given]:
        if not isinstance(one, dict):
            continue
        old = next((one[name] for name in _OLD if isinstance(one.get(name), str)), None)
        new = next((one[name] for name in _NEW if isinstance(one.get(name), str)), None)
        if old is not None and new is not None:
            event.edits.append((old, new, one.get("replace_all") is True))
    if not event.edits and several is None and event.tool != "NotebookEdit":
        event.content = next((given[name] for name in _WHOLE if isinstance(given.get(name), str)), None)


def _named(tool: str, given: dict[str, Any]) -> list[Any]:
    """What the input of a tool names as files, wherever it does."""
    found = [given[field] for field in _PATHS if given.get(field) is not None]
    if tool not in _OWN_TOOLS:
        for pair in _MOVES if any(sign in tool.lower() for sign in _MOVING) else ():
            if all(isinstance(given.get(field), str) for field in pair):
                found += [given[field] for field in pair]
        for one in given["files"] if isinstance(given.get("files"), list) else ():
            if isinstance(one, dict):
                found += [one[field] for field in _PATHS if one.get(field) is not None]
    return found


def _writes(tool: str, given: Any) -> bool:
    """Does a tool that is not in the table look like one that writes? It names a file, and brings what to put there."""
    if not isinstance(given, dict):
        return False
    named = any(isinstance(path, str) and path for path in _named(tool, given))
    brings = any(field in given for field in _CONTENTS)
    if isinstance(given.get("files"), list):
        brings = brings or any(field in one for one in given["files"] if isinstance(one, dict) for field in _CONTENTS)
    plain = tool.lower().replace("_", "")
    return named and (brings or any(sign in plain for sign in (*_MOVING, "deletefile", "removefile")))


def _runs(tool: str, given: Any) -> bool:
    """Does a tool that is not in the table look like one that runs a shell command?"""
    plain = tool.lower().replace("-", "_")
    return (
        isinstance(given, dict)
        and isinstance(given.get("command"), str)
        and any(sign in plain for sign in _SHELL_NAMES)
    )


def _read_command(event: Event, given: dict[str, Any]) -> None:
    """The words of a shell command, or the text of a patch."""
    command = given.get("command", given.get("cmd", given.get("input")))
    if isinstance(command, list) and all(isinstance(word, str) for word in command):  # a list of words, not shell
        command = _joined(command)
    if not isinstance(command, str):
        raise Unreadable(f"{event.tool} has no command")
    event.command = command
    where = next((given[field] for field in _PLACES if given.get(field)), "")
    if event.kind == SHELL and isinstance(where, str) and where:
        event.cwd = where if where.startswith("/") else f"{event.cwd}/{where}"


def _joined(words: list[str]) -> str:
    """A list of words as a command line."""
    if len(words) >= 3 and words[0].rpartition("/")[2] in {"bash", "sh", "zsh"} and words[1] in {"-c", "-lc"}:  # noqa: PLR2004
        return words[2]
    return " ".join(["'" + word.replace("'", "'\\''") + "'" for word in words])


def _text(sent: dict[str, Any], name: str) -> str:
    value = sent.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise Unreadable(f"{name} is not a text")
    return value


# --- answers


def deny(client: str, name: str, reason: str) -> dict[str, Any]:
    """A refusal in the client's own dialect. Only fields that are meant: one too many is an "allow" to Claude Code."""
    if client == "gemini":
        return {"decision": "deny", "reason": reason}
    if client == "copilot" and name[:1].islower():
        return {"permissionDecision": "deny", "permissionDecisionReason": reason}
    return {
        "hookSpecificOutput": {
            "hookEventName": name or "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": reason,
        }
    }  # fmt: skip


def context(client: str, name: str, text: str) -> dict[str, Any]:
    """Something that the model should know."""
    if client == "copilot":
        return {"additionalContext": text}
    return {"hookSpecificOutput": {"hookEventName": name, "additionalContext": text}}
