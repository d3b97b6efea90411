"""What each client's settings get: which events call the launcher, and how that is merged into a file that is there.

Pure functions from text to text; `plan.py` reads and writes the files. An entry is known as ours by the launcher in its
command. What other people have in these files, comments and order included, stays as it is.
"""

from __future__ import annotations

import re

from dibs.doors.install import jsonc, permissions
from dibs.doors.install.launcher import MARK, command
from dibs.errors import Invalid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

FILES = {
    "claude": ".claude/settings.json",
    "codex": ".codex/hooks.json",
    "gemini": ".gemini/settings.json",
    "copilot": ".github/hooks/dibs.json",
}

# Seconds. A guard answers in milliseconds. It waits for another agent's git command for ten seconds at most, and for a
# remote for five; the rest is for a machine that is on its knees.
TIMEOUT = 20
AT_END = 1  # what Codex gives a session's end; Claude Code gives all hooks together 1.5

# Claude Code reads a matcher that holds anything but letters, digits, `_`, `-`, `|` and spaces as a regular expression
# that may match anywhere in the name (`Read` would meet `ReadMcpResource`), so it is tied down at both ends.
WRITES = "Edit|MultiEdit|Write|NotebookEdit|Bash|mcp__.*"
CLAUDE = {
    "SessionStart": {},
    "UserPromptSubmit": {},
    "PreToolUse": {"matcher": f"^(Read|{WRITES})$"},
    "PostToolUse": {"matcher": f"^({WRITES})$"},
    "PostToolUseFailure": {"matcher": f"^({WRITES})$"},
    "SubagentStart": {},
    "SubagentStop": {},
    "Stop": {},
    "SessionEnd": {},
}
# No matcher: these clients offer few tools to hooks, and a tool by a new name must not be an open door.
CODEX = (
    "SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "SubagentStart", "SubagentStop", "Stop",
    "SessionEnd",
)  # fmt: skip
GEMINI = ("SessionStart", "BeforeAgent", "BeforeTool", "AfterTool", "AfterAgent", "SessionEnd")
COPILOT = ("sessionStart", "userPromptSubmitted", "preToolUse", "postToolUse", "agentStop", "sessionEnd")

# The place for MCP entries, by client: there is no server yet, so nothing is written.
MCP: dict[str, dict[str, Any]] = {}


def wanted(client: str, tools: Sequence[str] = ()) -> dict[str, Any]:
    """The entry of each event, as it stands in a client's settings. `tools`: those that the config keeps from roles."""
    if client == "claude":
        entries: dict[str, Any] = {event: {**own, "hooks": [_claude(event)]} for event, own in CLAUDE.items()}
        more = [_pattern(tool) for tool in sorted(set(tools)) if not re.fullmatch(f"Read|{WRITES}", tool)]
        if more:
            entries["PreToolUse"]["matcher"] = f"^(Read|{WRITES}|{'|'.join(more)})$"
        return entries
    if client == "codex":
        return {event: {"hooks": [{**_plain(client, event), "timeout": _seconds(event)}]} for event in CODEX}
    if client == "gemini":
        # in milliseconds
        return {
            event: {"hooks": [{"name": "dibs", **_plain(client, event), "timeout": TIMEOUT * 1000}]} for event in GEMINI
        }
    return {
        event: {"type": "command", "bash": command(client, event), "timeoutSec": _seconds(event)} for event in COPILOT
    }


def _pattern(tool: str) -> str:
    """A tool of a role's list as a part of the matcher."""
    return f"{re.escape(tool[:-1])}.*" if tool.endswith("*") else re.escape(tool)


def _claude(event: str) -> dict[str, Any]:
    entry = {**_plain("claude", event), "timeout": _seconds(event)}
    if event == "PreToolUse":
        # A hook that times out or cannot start blocks the call (from 2.1.295 on; older ones do not read the field).
        entry["onFailure"] = "block"
    return entry


def _plain(client: str, event: str) -> dict[str, Any]:
    return {"type": "command", "command": command(client, event)}


def _seconds(event: str) -> int:
    return AT_END if event in {"SessionEnd", "sessionEnd"} else TIMEOUT


# --- into a file, and out of it


def merged(text: str | None, client: str, path: str, tools: Sequence[str] = ()) -> str:
    """A client's settings with our entries in them; `text` is None for a file that is not there."""
    entries = wanted(client, tools)
    if text is None or not text.strip("\ufeff" + jsonc.SPACE):
        start: dict[str, Any] = {"version": 1} if client == "copilot" else {}
        text = jsonc.dump({**start, "hooks": {event: [entry] for event, entry in entries.items()}})
        return permissions.merged(text) if client == "claude" else text
    document = _document(text, path)
    hooks = document.get("hooks")
    if hooks is None:
        text = jsonc.insert(text, document, {event: [entry] for event, entry in entries.items()}, "hooks")
    else:
        for event, entry in entries.items():
            text = _one(text, event, entry, path)
    return permissions.merged(text) if client == "claude" else text


def _one(text: str, event: str, entry: dict[str, Any], path: str) -> str:
    """The text with one event's entry as it should be."""
    hooks = _hooks(text, path)
    known = hooks.get(event)
    if known is None:
        return jsonc.insert(text, hooks, [entry], event)
    if known.kind != "array":
        raise Invalid(f"{path}: hooks.{event} is not a list; nothing was changed", path=path)
    ours = [group for group in known.items if _is_ours(group)]
    if not ours:
        return jsonc.insert(text, known, entry)
    if ours[0].plain() == entry:
        return text
    if len(_handlers(ours[0])) == 1:  # an older dibs wrote it otherwise
        return jsonc.replace(text, ours[0], entry)
    return text  # somebody put it among their own


def cleaned(text: str, path: str) -> str | None:
    """The settings without our entries, by recognising them; None if nothing of anybody else's is left."""
    before = text
    if next(_ours(text, path), None) is not None:
        text = permissions.cleaned(text)  # what was put in last goes first
    while True:
        found = next(_ours(text, path), None)
        if found is None:
            break
        text = _without(text, found)
    left = _document(text, path).plain()
    left.pop("version", None)
    commented = "//" in text or "/*" in text
    return None if text != before and left in ({}, {"hooks": {}}) and not commented else text


def commands(text: str, path: str) -> dict[str, str]:
    """The command of ours that each event runs, exactly as the settings say it. For doctor."""
    found: dict[str, str] = {}
    for _, event, group, place in _ours(text, path):
        handler = _handlers(group)[place].plain()
        found.setdefault(event, handler.get("command") or handler.get("bash"))
    return found


def _ours(text: str, path: str) -> Iterator[tuple[jsonc.Node, str, jsonc.Node, int]]:
    """Our handlers in a text: all hooks, the event, its group (or the handler itself), the place in the group."""
    hooks = _document(text, path).get("hooks")
    if hooks is None or hooks.kind != "object":
        return
    for (event, _), groups in zip(hooks.keys, hooks.items, strict=True):
        for group in groups.items if groups.kind == "array" else ():
            for place, handler in enumerate(_handlers(group)):
                if _runs_us(handler):
                    yield hooks, event, group, place


def _without(text: str, found: tuple[jsonc.Node, str, jsonc.Node, int]) -> str:
    """The text without one handler, and without the lists that would be empty then."""
    hooks, event, group, place = found
    inner = group.get("hooks") if group.kind == "object" else None
    if inner is not None and len(inner.items) > 1:
        return jsonc.remove(text, inner, place)
    groups = hooks.get(event)
    assert groups is not None
    if len(groups.items) > 1:
        return jsonc.remove(text, groups, next(i for i, one in enumerate(groups.items) if one is group))
    place = next(i for i, item in enumerate(hooks.items) if item is groups)
    if len(hooks.items) > 1:
        return jsonc.remove(text, hooks, place)
    document = jsonc.read(text)
    place = [name for name, _ in document.keys].index("hooks")
    return jsonc.remove(text, document, place)


def _handlers(group: jsonc.Node) -> list[jsonc.Node]:
    """The handlers of a group; Copilot has them without groups."""
    inner = group.get("hooks") if group.kind == "object" else None
    if inner is not None:
        return inner.items if inner.kind == "array" else []
    return [group]


def _is_ours(group: jsonc.Node) -> bool:
    return any(_runs_us(handler) for handler in _handlers(group))


def _runs_us(handler: jsonc.Node) -> bool:
    if handler.kind != "object":
        return False
    words = [handler.get("command"), handler.get("bash")]
    return any(word is not None and isinstance(word.value, str) and MARK in word.value for word in words)


def _document(text: str, path: str) -> jsonc.Node:
    try:
        document = jsonc.read(text)
    except ValueError as error:
        raise Invalid(f"{path} is not valid JSON ({error}); mend it first. Nothing was changed.", path=path) from None
    if document.kind != "object":
        raise Invalid(f"{path} holds no JSON object; nothing was changed", path=path)
    return document


def _hooks(text: str, path: str) -> jsonc.Node:
    hooks = _document(text, path).get("hooks")
    if hooks is None or hooks.kind != "object":
        raise Invalid(f"{path}: hooks is not an object; nothing was changed", path=path)
    return hooks
