"""Copilot's hook payloads, and the answers to them.

It also reads hooks of Claude Code's form, and then uses that dialect.
"""

from __future__ import annotations

from dibs.interfaces import agents
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
    PATCH,
    PROMPT,
    READ,
    SHELL,
    STOP,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.interfaces.agents.adapter import HookAnswer

EVENTS = {
    "sessionStart": BOOT, "userPromptSubmitted": PROMPT, "preToolUse": BEFORE, "postToolUse": AFTER,
    "postToolUseFailure": AFTER, "agentStop": STOP, "subagentStart": BORN, "subagentStop": DIED, "sessionEnd": END,
    "errorOccurred": FAIL,
    "permissionRequest": NOTE, "PermissionRequest": NOTE, "Notification": NOTE,
    "SessionStart": BOOT, "SessionEnd": END, "UserPromptSubmit": PROMPT, "PreToolUse": BEFORE, "PostToolUse": AFTER,
    "PostToolUseFailure": AFTER, "Stop": STOP, "SubagentStart": BORN, "SubagentStop": DIED,
}  # fmt: skip
TOOLS = {
    "edit": EDIT, "create": EDIT, "str_replace_editor": EDIT, "write": EDIT, "bash": SHELL, "shell": SHELL,
    "view": READ, "apply_patch": PATCH, "Edit": EDIT, "Write": EDIT, "MultiEdit": EDIT, "NotebookEdit": EDIT,
    "Bash": SHELL, "Read": READ,
}  # fmt: skip
HARMLESS = (
    "AskUserQuestion", "Glob", "Grep", "LS", "Task", "TodoRead", "TodoWrite", "ToolSearch", "WebFetch", "WebSearch",
    "ask_user", "glob", "grep", "ls", "report_intent", "rg", "todowrite", "update_plan", "view_image", "web_fetch",
    "web_search",
)  # fmt: skip
PROJECT_VARIABLE = ""
YIELDS_AFTER_NS = 0
RUNS_GIT_HOOKS = True
HOLDS: dict[str, int] = {}
NAMELESS = ()
ENDS = ""  # its hook is not told what the agent said last, so a question cannot be told from an end


def deny(event: str, reason: str) -> HookAnswer:
    """A refusal; in Claude Code's dialect for an event of that."""
    if event[:1].islower():
        return {"permissionDecision": "deny", "permissionDecisionReason": reason}
    return agents.claude_denial(event, reason)


def context(event: str, text: str) -> HookAnswer:
    """A text for the model; it is the same at every event."""
    del event
    return {"additionalContext": text}
