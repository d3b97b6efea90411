"""OpenAI's Codex, for `dibs init`, `dibs doctor` and the launcher; hook.py has the rest."""

from __future__ import annotations

import os

from dibs.doors.clients.adapter import COMMANDS, MADE, Client
from dibs.doors.clients.codex import hook

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

# Commands that it may run without asking and outside its sandbox: they start no other program.
VERBS = (
    "ack", "agents", "ask", "boot", "check", "claim", "confirm", "emit", "inbox", "leave", "log", "release", "renew",
    "restore", "rules", "scratch", "send", "state", "status", "subscribe", "sync-check", "task", "verify", "version",
    "vote", "whoami",
)  # fmt: skip
RULES_FILE = ".codex/rules/dibs.rules"
SERVERS = "mcp_servers"  # the table of its config with its MCP servers


class Codex(Client):
    """Codex."""

    name, title, program = "codex", "Codex", "codex"
    session_variables = ("CODEX_SESSION_ID", "CODEX_THREAD_ID")
    process_names = ("codex",)
    strict = (".codex/hooks.json", ".codex/config.toml", ".codex/rules")
    aliases = ("openai-codex", "codex-cli")
    in_repository = in_home = (".codex",)
    settings_file = ".codex/hooks.json"
    pages = ("AGENTS.md",)
    note = f"Codex runs what dibs advises without asking ({RULES_FILE}), once the folder is trusted"
    trust_order = "type /hooks in Codex, in each working tree, and trust the hooks of dibs"

    def entries(self, tools: Sequence[str] = ()) -> dict[str, Any]:
        """No matcher: it offers few tools to hooks, and a new tool must not bypass the guard."""
        del tools
        return {event: {"hooks": [self.handler(event)]} for event in hook.EVENTS if event != "PostToolUseFailure"}

    def own_files(self) -> dict[str, str]:
        """A rule by the first two words of a command; it also runs them outside the sandbox."""
        verbs = "".join(f'        "{verb}",\n' for verb in VERBS)
        rules = f"""\
{MADE}; `dibs init --uninstall` takes it out.
# What dibs advises runs without asking, and outside the sandbox, where dibs can write its record.
prefix_rule(
    pattern = [["{'", "'.join(COMMANDS)}"], [
{verbs}    ]],
    decision = "allow",
    match = ["dibs status", ".dibs/dibs claim src/a.py"],
    not_match = ["dibs deploy prod", "dibs"],
)
"""
        return {RULES_FILE: rules}

    mcp_file = ".codex/config.toml"

    def mcp_merged(self, text: str | None, path: str) -> str | None:
        """A table. Without `required` it begins before the server is there, and has no tools in its first turn."""
        from dibs.doors.install import mcp_entries

        command, option, start = mcp_entries.COMMAND
        lines = (
            f"command = '{command}'\nargs = ['{option}', '{start}']\n"
            'required = true\ndefault_tools_approval_mode = "approve"\n'
        )
        return mcp_entries.merged_toml(text, SERVERS, lines, path)

    def mcp_cleaned(self, text: str, path: str) -> str | None:
        """The file without our table."""
        from dibs.doors.install import mcp_entries

        del path
        return mcp_entries.cleaned_toml(text)

    def mcp_command(self, text: str, path: str) -> list[str]:
        """Our command in it."""
        from dibs.doors.install import mcp_entries

        return mcp_entries.command_toml(text, SERVERS, path)

    def untrusted(self, tree: str) -> str:
        """For each reviewed hook it keeps `hooks.state."FILE:EVENT:GROUP:HANDLER".trusted_hash`."""
        from dibs.doors.clients import files

        home = os.environ.get("CODEX_HOME") or f"{files.home()}/.codex"
        hooks = files.toml_table(f"{home}/config.toml").get("hooks", {})
        states = hooks.get("state", {}) if isinstance(hooks, dict) else {}
        prefix = f"{tree}/{self.settings_file}:pre_tool_use:"
        for key, state in states.items() if isinstance(states, dict) else ():
            if key.startswith(prefix) and isinstance(state, dict) and state.get("trusted_hash"):
                return "" if state.get("enabled") is not False else f"Codex has the hook {key} switched off; see /hooks"
        return (
            f"Codex silently skips the hooks of {tree} until they are reviewed: type /hooks in Codex, and again "
            "whenever they change (automation: --dangerously-bypass-hook-trust)"
        )

    def probe(self, session: str, folder: str, path: str) -> dict[str, Any]:
        """A patch."""
        patch = f"*** Begin Patch\n*** Add File: {path}\n+x\n*** End Patch\n"
        return {
            "session_id": session, "transcript_path": "", "cwd": folder, "hook_event_name": "PreToolUse",
            "tool_name": "apply_patch", "tool_input": {"command": patch},
        }  # fmt: skip


CLIENT = Codex()
