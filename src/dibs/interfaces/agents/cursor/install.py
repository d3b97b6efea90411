"""Cursor (the editor, and `cursor-agent`), for `dibs init`, `dibs doctor` and the launcher; hook.py has the rest.

Written by its documentation and by payloads that others have captured: it needs a login, so it was not run.
"""

from __future__ import annotations

import os

from dibs.interfaces.agents import BEFORE, END
from dibs.interfaces.agents.adapter import END_TIMEOUT_S, HOOK_TIMEOUT_S, Client
from dibs.interfaces.agents.cursor import hook

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.interfaces.agents.adapter import HookAnswer, HookEntry

REGISTERED = ("sessionStart", "preToolUse", "postToolUse", "postToolUseFailure", "stop", "sessionEnd")


class Cursor(Client):
    """Cursor. Its shell has no variable with the session: its processes tell which client calls."""

    name, title, program = "cursor", "Cursor", "cursor-agent"
    process_names = ("cursor-agent",)  # not the editor: a person types in its terminal, too
    strict = (".cursor/hooks.json", ".cursor/mcp.json")
    mark = "cursor_version"
    aliases = ("cursor-agent", "cursor-cli", "cursor-ide")
    in_repository = (".cursor", ".cursorrules")
    in_home = (".cursor",)
    settings_file = ".cursor/hooks.json"
    settings_start = {"version": 1}  # noqa: RUF012 - the contract says that it is read only
    starts_at = "CURSOR_PROJECT_DIR"
    pages = ("AGENTS.md",)
    note = "Cursor asks before each `dibs …` unless its user's own list of allowed commands has it"
    shows_trust = False
    advice = (
        (
            "cursor hooks",
            "whether Cursor runs the hooks of this folder cannot be seen from here: Settings → Hooks lists them",
        ),
    )

    def denies(self, answer: HookAnswer) -> bool:
        """Its own dialect: init registers that."""
        return bool(answer["permission"] == "deny")

    def start_notice(self, text: str) -> HookAnswer | None:
        """For the model."""
        return hook.context("sessionStart", text)

    def entries(self) -> dict[str, HookEntry]:
        """Handlers without groups, and no matcher: a new tool must not bypass the guard."""
        from dibs.interfaces.install.hook_command import command

        entries: dict[str, HookEntry] = {}
        for event in REGISTERED:
            moment = hook.EVENTS[event]
            entries[event] = {
                "command": command(self, event), "timeout": END_TIMEOUT_S if moment == END else HOOK_TIMEOUT_S,
            }  # fmt: skip
            if moment == BEFORE:
                entries[event]["failClosed"] = True  # a hook that times out or cannot start refuses the call
        return entries

    mcp_file = ".cursor/mcp.json"

    def probe(self, session: str, folder: str, path: str) -> dict[str, object]:
        """A write, as it was captured; the id of a call has two lines."""
        given = {"path": os.path.join(folder, path), "contents": "x\n"}
        return {
            "conversation_id": session, "generation_id": "doctor", "hook_event_name": "preToolUse", "cwd": folder,
            "cursor_version": "doctor", "workspace_roots": [folder], "tool_name": "Write", "tool_input": given,
            "tool_use_id": "call_doctor\nctc_doctor",
        }  # fmt: skip


CLIENT = Cursor()
