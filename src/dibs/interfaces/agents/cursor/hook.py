"""Cursor's hook payloads, and the answers to them.

It also runs Claude Code's hooks if its user has switched that on, and then speaks of that one's events.
"""

from __future__ import annotations

from dibs.interfaces import agents
from dibs.interfaces.agents import AFTER, BEFORE, BOOT, EDIT, END, PATCH, READ, SHELL, STOP

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.interfaces.agents.adapter import HookAnswer

EVENTS = {
    "sessionStart": BOOT, "preToolUse": BEFORE, "postToolUse": AFTER, "postToolUseFailure": AFTER, "stop": STOP,
    "sessionEnd": END, "SessionStart": BOOT, "PreToolUse": BEFORE, "PostToolUse": AFTER, "PostToolUseFailure": AFTER,
    "Stop": STOP, "SessionEnd": END,
}  # fmt: skip
TOOLS = {
    "Write": EDIT, "StrReplace": EDIT, "MultiStrReplace": EDIT, "EditNotebook": EDIT, "Delete": EDIT, "Edit": EDIT,
    "MultiEdit": EDIT, "NotebookEdit": EDIT, "ApplyPatch": PATCH, "Shell": SHELL, "Bash": SHELL, "Read": READ,
}  # fmt: skip
HARMLESS = (
    "AskQuestion", "Glob", "Grep", "LS", "ReadLints", "SemanticSearch", "SwitchMode", "Task", "TodoWrite", "WebFetch",
    "WebSearch",
)  # fmt: skip
PROJECT_VARIABLE = ""  # CURSOR_PROJECT_DIR is not in every version: the search for the launcher begins there
YIELDS_AFTER_NS = 0
RUNS_GIT_HOOKS = True
HOLDS: dict[str, int] = {}
ENDS = ""
# One report tells of payloads without a tool's name. A path alone may be a deletion, so it counts as one.
NAMELESS = (
    ("command", "Shell"), ("old_string", "StrReplace"), ("edits", "StrReplace"), ("contents", "Write"),
    ("content", "Write"), ("patch", "ApplyPatch"), ("pattern", "Grep"), ("glob_pattern", "Glob"), ("offset", "Read"),
    ("limit", "Read"), ("path", "Delete"), ("file_path", "Delete"),
)  # fmt: skip


def deny(event: str, reason: str) -> HookAnswer:
    """A refusal; in Claude Code's dialect for an event of that."""
    if event[:1].isupper():
        return agents.claude_denial(event, reason)
    return {"permission": "deny", "user_message": reason, "agent_message": reason}


def context(event: str, text: str) -> HookAnswer:
    """A text for the model."""
    if event[:1].isupper():
        return agents.claude_context(event, text)
    return {"additional_context": text}
