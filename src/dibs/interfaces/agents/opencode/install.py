"""OpenCode, for `dibs init`, `dibs doctor` and the launcher; hook.py has the rest.

Its hooks are functions of a plugin and not commands in a file. So its settings are a plugin of ours, plugin.js, which
runs the launcher's commands; it carries the entry points of OpenCode 1.x and of 2.x.
"""

from __future__ import annotations

import os

from dibs.errors import Invalid
from dibs.interfaces.agents.adapter import Client
from dibs.interfaces.agents.opencode import hook

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.interfaces.agents.adapter import HookAnswer, HookEntry

PLUGIN = os.path.join(os.path.dirname(__file__), "plugin.js")
FIRST = "// made by `dibs init`"  # the first words of a plugin that is ours
COMMANDS = "const COMMANDS = "  # the line that `dibs init` fills in, with JSON
SCHEMA = {"$schema": "https://opencode.ai/config.json"}
SERVERS = ("mcp",)
SERVERS_V2 = ("mcp", "servers")  # 2.x reads the form above as well; a file that has this one keeps it


class OpenCode(Client):
    """OpenCode."""

    name, title, program = "opencode", "OpenCode", "opencode"
    session_variables = ("OPENCODE_SESSION_ID",)  # the plugin sets it
    process_names = ("opencode",)
    strict = (".opencode/plugins", ".opencode/plugin", "opencode.json", "opencode.jsonc")
    aliases = ("opencode-ai", "open-code")
    in_repository = (".opencode", "opencode.json", "opencode.jsonc")
    in_home = (".config/opencode", ".local/share/opencode")
    settings_file = ".opencode/plugins/dibs.js"
    pages = ("AGENTS.md", "CLAUDE.md")  # the second only if there is no first
    note = "OpenCode runs `dibs …` without asking, unless its `permission` says otherwise"
    advice = (
        ("pure", "started with --pure (or OPENCODE_PURE=1), OpenCode runs no plugins; that cannot be seen from here"),
    )
    writer = "write"

    def entries(self) -> dict[str, HookEntry]:
        """The plugin asks about every tool: a new one must not bypass the guard."""
        from dibs.interfaces.install.hook_command import command

        return {event: {"command": command(self, event)} for event in hook.EVENTS}

    def settings_merged(self, text: str | None, path: str, *, mcp: bool = False, hold: int = 0) -> str:
        """The plugin, with the launcher's commands."""
        del mcp, hold
        from dibs import jsontext

        if text is not None and not text.startswith(FIRST):
            raise Invalid(f"{path} is not dibs' plugin; move it away first. Nothing was changed.", path=path)
        with open(PLUGIN, encoding="utf-8") as file:
            plugin = file.read()
        commands = {event: entry["command"] for event, entry in self.entries().items()}
        return plugin.replace(f"{COMMANDS}{{}}", f"{COMMANDS}{jsontext.encode(commands)}")

    def settings_cleaned(self, text: str, path: str) -> str | None:
        """Nothing is left of a plugin that is ours."""
        del path
        return None if text.startswith(FIRST) else text

    def settings_commands(self, text: str, path: str) -> dict[str, str]:
        """The line with the commands."""
        del path
        from dibs import jsontext

        line = next((line for line in text.splitlines() if line.startswith(COMMANDS)), "")
        found = jsontext.decode(line.removeprefix(COMMANDS)) if line and text.startswith(FIRST) else {}
        return found if isinstance(found, dict) else {}

    mcp_file = "opencode.json"

    def mcp_entry(self) -> dict[str, object]:
        """Its own form: one list of words."""
        from dibs.interfaces.install.mcp_entries import COMMAND

        return {"type": "local", "command": list(COMMAND), "enabled": True}

    def mcp_merged(self, text: str | None, path: str) -> str | None:
        """Into `mcp`, or `mcp.servers` in a file of 2.x."""
        from dibs.interfaces.install import mcp_entries

        return mcp_entries.merged(text, self.mcp_entry(), path, _servers(text, path), SCHEMA)

    def mcp_cleaned(self, text: str, path: str) -> str | None:
        """The file without our entry."""
        from dibs.interfaces.install import mcp_entries

        return mcp_entries.cleaned(text, path, _servers(text, path), SCHEMA)

    def mcp_command(self, text: str, path: str) -> list[str]:
        """Our command in it."""
        from dibs.interfaces.install import mcp_entries

        return mcp_entries.command(text, path, _servers(text, path))

    def start_notice(self, text: str) -> HookAnswer | None:
        """For the model."""
        return hook.context("session.created", text)

    def switched_off(self, tree: str) -> list[str]:
        """By variables of this shell, from which it may be started."""
        del tree
        return [
            f"OpenCode runs no plugins of this repository: {name} is set"
            for name in ("OPENCODE_PURE", "OPENCODE_DISABLE_PROJECT_CONFIG")
            if os.environ.get(name, "").lower() in {"1", "true"}
        ]

    def denies(self, answer: HookAnswer) -> bool:
        """By the word that the plugin looks for."""
        return bool(answer["deny"])

    def probe(self, session: str, folder: str, path: str) -> dict[str, object]:
        """A write, as the plugin tells it."""
        return {
            "session_id": session, "cwd": folder, "hook_event_name": "tool.execute.before", "tool_name": "write",
            "tool_input": {"filePath": os.path.join(folder, path), "content": "x\n"}, "tool_use_id": "doctor",
        }  # fmt: skip


def _servers(text: str | None, path: str) -> tuple[str, ...]:
    """Where this file lists its servers."""
    from dibs.interfaces.install import mcp_entries

    known = mcp_entries.plain(text, path).get("mcp") if text else None
    servers = known.get("servers") if isinstance(known, dict) else None
    listed = isinstance(servers, dict) and not {"type", "command", "url"} & set(servers)
    return SERVERS_V2 if listed else SERVERS


CLIENT = OpenCode()
