"""Codex's hook payloads, and the answers to them: in Claude Code's dialect."""

from __future__ import annotations

from dibs.interfaces import agents
from dibs.interfaces.agents import AFTER, BEFORE, BOOT, BORN, DIED, EDIT, END, NOTE, PATCH, PROMPT, READ, SHELL, STOP

EVENTS = {
    "SessionStart": BOOT, "UserPromptSubmit": PROMPT, "PreToolUse": BEFORE, "PostToolUse": AFTER,
    "PostToolUseFailure": AFTER, "SubagentStart": BORN, "SubagentStop": DIED, "Stop": STOP, "SessionEnd": END,
    "PermissionRequest": NOTE, "Interrupt": NOTE,
}  # fmt: skip
TOOLS = {
    "apply_patch": PATCH, "Bash": SHELL, "shell": SHELL, "exec_command": SHELL, "Edit": EDIT, "Write": EDIT,
    "MultiEdit": EDIT, "NotebookEdit": EDIT, "Read": READ,
}  # fmt: skip
HARMLESS = (
    "AskUserQuestion", "Glob", "Grep", "LS", "TodoRead", "TodoWrite", "ToolSearch", "WebFetch", "WebSearch", "glob",
    "grep", "ls", "rg", "update_plan", "view_image", "web_search",
)  # fmt: skip
PROJECT_VARIABLE = ""
YIELDS_AFTER_NS = 9_500_000_000  # it reports the end of a command that still runs after ten seconds
RUNS_GIT_HOOKS = True
HOLDS: dict[str, int] = {".codex/hooks.json": 1}  # seen: 603 s, and its command ran after that
NAMELESS = ()
ENDS = "block"

deny, context = agents.claude_denial, agents.claude_context
