"""Gemini's hook payloads, and the answers to them."""

from __future__ import annotations

from dibs.interfaces.agents import AFTER, BEFORE, BOOT, EDIT, END, NOTE, PROMPT, READ, SHELL, STOP, claude_context

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.interfaces.agents.adapter import HookAnswer

EVENTS = {
    "SessionStart": BOOT, "BeforeAgent": PROMPT, "BeforeTool": BEFORE, "AfterTool": AFTER, "AfterAgent": STOP,
    "SessionEnd": END, "Notification": NOTE,
}  # fmt: skip
TOOLS = {"write_file": EDIT, "replace": EDIT, "edit": EDIT, "run_shell_command": SHELL, "read_file": READ}
HARMLESS = (
    "ask_user", "glob", "google_web_search", "grep", "list_directory", "ls", "read_many_files",
    "save_memory", "search_file_content", "web_fetch", "web_search", "write_todos",
)  # fmt: skip
PROJECT_VARIABLE = ""
YIELDS_AFTER_NS = 0
RUNS_GIT_HOOKS = False  # its shell sets core.hooksPath to nothing
HOLDS: dict[str, int] = {".gemini/settings.json": 1000}  # seen: 603 s, and its command ran after that
NAMELESS = ()
ENDS = "deny"

context = claude_context


def deny(event: str, reason: str) -> HookAnswer:
    """A refusal; it is the same at every event."""
    del event
    return {"decision": "deny", "reason": reason}
