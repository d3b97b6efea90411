"""OpenAI's Codex, for `dibs init`, `dibs doctor` and the launcher; hook.py has the rest."""

from __future__ import annotations

import os

from dibs.interfaces.agents import approved
from dibs.interfaces.agents.adapter import COMMANDS, MADE, Client
from dibs.interfaces.agents.codex import hook

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.interfaces.agents.adapter import HookEntry

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
    shows_status = True
    note = f"Codex runs what dibs advises without asking ({RULES_FILE}), once the folder is trusted"
    trust_order = "type /hooks in Codex, in each working tree, and trust the hooks of dibs"

    def entries(self) -> dict[str, HookEntry]:
        """No matcher: it offers few tools to hooks, and a new tool must not bypass the guard."""
        return {event: {"hooks": [self.handler(event)]} for event in hook.EVENTS if event != "PostToolUseFailure"}

    def own_files(self) -> dict[str, str]:
        """Rules by the first words of a command; it also runs them outside the sandbox."""
        words = approved.prefixes()
        rules = [_rule([[word[0] for word in words if len(word) == 1]], "status", "claim src/a.py")]
        for first in sorted({word[0] for word in words if len(word) > 1}):
            seconds = [word[1] for word in words if word[0] == first and len(word) > 1]
            rules.append(_rule([[first], seconds], f"{first} {seconds[0]}", f"{first} {seconds[-1]} x"))
        head = (
            f"{MADE}; `dibs init --uninstall` takes it out.\n"
            "# What dibs advises runs without asking, and outside the sandbox, where dibs can write its record.\n"
            "# Nothing of it runs programs or raises rights.\n"
        )
        return {RULES_FILE: head + "".join(rules)}

    mcp_file = ".codex/config.toml"

    def mcp_merged(self, text: str | None, path: str) -> str | None:
        """A table. Without `required` it begins before the server is there, and has no tools in its first turn."""
        from dibs.interfaces.install import mcp_entries

        command, option, start = mcp_entries.COMMAND
        lines = (
            f"command = '{command}'\nargs = ['{option}', '{start}']\n"
            'required = true\ndefault_tools_approval_mode = "approve"\n'
        )
        return mcp_entries.merged_toml(text, SERVERS, lines, path)

    def mcp_cleaned(self, text: str, path: str) -> str | None:
        """The file without our table."""
        from dibs.interfaces.install import mcp_entries

        del path
        return mcp_entries.cleaned_toml(text)

    def mcp_command(self, text: str, path: str) -> list[str]:
        """Our command in it."""
        from dibs.interfaces.install import mcp_entries

        return mcp_entries.command_toml(text, SERVERS, path)

    def untrusted(self, tree: str) -> str:
        """For each reviewed hook it keeps `hooks.state."FILE:EVENT:GROUP:HANDLER".trusted_hash`."""
        from dibs.interfaces.agents import files

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

    def probe(self, session: str, folder: str, path: str) -> dict[str, object]:
        """A patch."""
        patch = f"*** Begin Patch\n*** Add File: {path}\n+x\n*** End Patch\n"
        return {
            "session_id": session, "transcript_path": "", "cwd": folder, "hook_event_name": "PreToolUse",
            "tool_name": "apply_patch", "tool_input": {"command": patch},
        }  # fmt: skip


def _rule(choices: list[list[str]], *fits: str) -> str:
    """One rule: each word of a command is one of a list."""
    lists = "".join(f"        {_words(one)},\n" for one in [list(COMMANDS), *choices])
    match = _words([f"{command} {fit}" for command, fit in zip(COMMANDS, fits, strict=True)])
    other = _words(["dibs deploy prod", "dibs task done t1", "dibs run start", "dibs kill ann", "dibs"])
    return (
        f'prefix_rule(\n    pattern = [\n{lists}    ],\n    decision = "allow",\n    match = {match},\n'
        f"    not_match = {other},\n)\n"
    )


def _words(words: list[str]) -> str:
    return "[" + ", ".join(f'"{word}"' for word in words) + "]"


CLIENT = Codex()
