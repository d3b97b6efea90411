"""What dibs' plugin for OpenCode (plugin.js) tells, and how it is answered: both are ours, so both are plain."""

from __future__ import annotations

from dibs.interfaces.agents import AFTER, BEFORE, BOOT, EDIT, END, NOTE, PATCH, PROMPT, READ, SHELL, STOP

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.interfaces.agents.adapter import HookAnswer

EVENTS = {
    "session.created": BOOT, "chat.message": PROMPT, "tool.execute.before": BEFORE, "tool.execute.after": AFTER,
    "session.idle": STOP, "session.deleted": END, "permission.asked": NOTE,
}  # fmt: skip
TOOLS = {
    "write": EDIT, "edit": EDIT, "multiedit": EDIT, "apply_patch": PATCH, "patch": PATCH, "bash": SHELL, "shell": SHELL,
    "read": READ,
}  # fmt: skip
HARMLESS = (
    "codesearch", "glob", "grep", "list", "lsp", "plan_enter", "plan_exit", "question", "skill", "subagent", "task",
    "todoread", "todowrite", "webfetch", "websearch",
)  # fmt: skip
PROJECT_VARIABLE = "OPENCODE_PROJECT_DIR"  # the plugin sets it, to the working tree that it lies in
YIELDS_AFTER_NS = 0
RUNS_GIT_HOOKS = True
HOLDS: dict[str, int] = {}
NAMELESS = ()
ENDS = ""  # its event that a turn is over is not asked


def deny(event: str, reason: str) -> HookAnswer:
    """A refusal; it is the same at every event."""
    del event
    return {"deny": reason}


def context(event: str, text: str) -> HookAnswer:
    """A text for the model; it is the same at every event."""
    del event
    return {"context": text}
