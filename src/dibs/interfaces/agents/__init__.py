"""The agents' clients: one folder each. `adapter.py` says what a client is; docs/internals/extending.md adds one.

A client's `hook.py` is plain values and functions, and all that its hooks load; its `install.py` is for `dibs init`,
`dibs doctor` and the launcher. `workspace/known_clients.py`, which `make generate` writes, has what every call must
know of all clients. This file has dibs' own terms for a client's events and tools.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.interfaces.agents.adapter import Client, Dialect, HookAnswer

# The moments of an agent's life that a hook may report.
BOOT, BEFORE, AFTER, PROMPT, STOP, END, BORN, DIED, NOTE, FAIL = (
    "boot", "before", "after", "prompt", "stop", "end", "born", "died", "note", "fail",
)  # fmt: skip
# The effects of a tool.
EDIT, PATCH, SHELL, READ, OTHER = "edit", "patch", "shell", "read", "other"
DEFAULT_CLIENT = "claude"  # most clients read its dialect: an unknown client is refused in it
# A client without settings of its own, which runs the hooks of others; and the field by which its payloads are known.
GUEST, GUEST_FIELD = "vscode", "hookEventName"


def dialect(name: str) -> Dialect:
    """The hook half of the client of that name. Raises ImportError if there is none."""
    found: Dialect = __import__(f"dibs.interfaces.agents.{name}.hook", fromlist=("EVENTS",))
    return found


def of(name: str) -> Client:
    """The client of that name, one of known_clients.NAMES."""
    found: Client = __import__(f"dibs.interfaces.agents.{name}.install", fromlist=("CLIENT",)).CLIENT
    return found


def every() -> list[Client]:
    """All of them."""
    from dibs.workspace.known_clients import NAMES

    return [of(name) for name in NAMES]


def claude_denial(event: str, reason: str) -> HookAnswer:
    """A refusal in Claude Code's dialect, which others speak too. Only known fields: one too many is an "allow"."""
    return {
        "hookSpecificOutput": {
            "hookEventName": event or "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": reason,
        }
    }  # fmt: skip


def claude_context(event: str, text: str) -> HookAnswer:
    """A text for the model, in Claude Code's dialect."""
    return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}
