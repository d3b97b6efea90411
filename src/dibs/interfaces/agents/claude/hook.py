"""Claude Code's hook payloads, and the answers to them."""

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

EVENTS = {
    "SessionStart": BOOT, "UserPromptSubmit": PROMPT, "PreToolUse": BEFORE, "PostToolUse": AFTER,
    "PostToolUseFailure": AFTER, "SubagentStart": BORN, "SubagentStop": DIED, "Stop": STOP, "SessionEnd": END,
    "PermissionRequest": NOTE, "Notification": NOTE, "StopFailure": FAIL,
}  # fmt: skip
TOOLS = {
    "Edit": EDIT, "Write": EDIT, "MultiEdit": EDIT, "NotebookEdit": EDIT, "Bash": SHELL,
    "PowerShell": SHELL, "Read": READ, "apply_patch": PATCH,
}  # fmt: skip
HARMLESS = (
    "Agent", "Artifact", "AskUserQuestion", "BashOutput", "CronCreate", "CronDelete", "CronList", "EnterPlanMode",
    "ExitPlanMode", "Glob", "Grep", "KillBash", "KillShell", "LS", "ListAgents", "ListMcpResources",
    "ListMcpResourcesTool", "LSP", "NotebookRead", "PushNotification", "ReadMcpResource", "ReadMcpResourceTool",
    "ScheduleWakeup", "SendMessage", "SendUserFile", "Skill", "Task", "TaskCreate", "TaskGet", "TaskList", "TaskOutput",
    "TaskStop", "TaskUpdate", "TeamCreate", "TeamDelete", "TodoRead", "TodoWrite", "ToolSearch", "WaitForMcpServers",
    "WebFetch", "WebSearch",
)  # fmt: skip
PROJECT_VARIABLE = "CLAUDE_PROJECT_DIR"
YIELDS_AFTER_NS = 0
RUNS_GIT_HOOKS = True
HOLDS: dict[str, int] = {
    ".claude/settings.json": 1,
    ".claude/settings.local.json": 1,
}  # seen: 603 s, and its command ran after that
NAMELESS = ()
ENDS = "block"

deny, context = agents.claude_denial, agents.claude_context
