"""Claude Code, for `dibs init`, `dibs doctor` and the launcher; hook.py has the rest."""

from __future__ import annotations

import os

from dibs.interfaces.agents import approved
from dibs.interfaces.agents.adapter import COMMANDS, Client
from dibs.interfaces.agents.claude import hook

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from dibs.interfaces.agents.adapter import HookEntry
    from dibs.interfaces.install import jsonc

# Before a call it asks about every tool: a new one must not bypass the guard, and a killed agent is refused all calls.
# Afterwards it tells of all but those that write nothing. Claude Code reads a matcher that holds anything but letters,
# digits, `_`, `-`, `|` and spaces as a regular expression that may match anywhere in the name: so it is anchored.
# Copilot, which runs these hooks too, wants the whole name matched: so it takes the name in up to its end.
READS = ("Read", *hook.HARMLESS)
WRITES = f"^(?!({'|'.join(READS)})$).*$"
MATCHERS = {"PostToolUse": WRITES, "PostToolUseFailure": WRITES}
# without asking: what neither runs programs nor raises rights
ALLOWED = tuple([f"Bash({command} {' '.join(words)}:*)" for command in COMMANDS for words in approved.prefixes()])
FORMER = tuple([f"Bash({command}:*)" for command in COMMANDS])  # of an earlier `dibs init`: every command of dibs
TOOLS = ("mcp__dibs",)  # the same for the tools of `dibs mcp`; a whole server is named without a pattern


class Claude(Client):
    """Claude Code."""

    name, title, program = "claude", "Claude Code", "claude"
    session_variables = ("CLAUDE_CODE_SESSION_ID",)
    process_names = ("claude",)
    strict = (".claude/settings.json", ".claude/settings.local.json", ".mcp.json")
    aliases = ("claude-code", "anthropic-claude", "claude-cli")
    in_repository = (".claude", "CLAUDE.md")
    in_home = (".claude", ".claude.json")
    settings_file = ".claude/settings.json"
    private_file = ".claude/settings.local.json"
    pages = ("CLAUDE.md", "AGENTS.md")  # the second only if there is no first, so none is created next to one
    imports_pages = True
    shows_status = True
    note = (
        "Claude Code runs what dibs advises without asking (permissions.allow in its settings), but nothing "
        "that runs programs or raises rights, such as `dibs deploy`, `worker`, `kill`"
    )
    trust_order = "start `claude` in this repository, in each working tree, and trust the folder (not for `claude -p`)"
    advice = (("bare", "started with --bare, Claude Code runs no hooks; that cannot be seen from here"),)

    def entries(self) -> dict[str, HookEntry]:
        """A hook that fails before a call blocks it."""
        entries: dict[str, HookEntry] = {}
        for event in hook.EVENTS:
            handler = self.handler(event)
            if event == "PreToolUse":
                # A hook that times out or cannot start blocks the call (from 2.1.295 on; older ones do not read this).
                handler["onFailure"] = "block"
            group: HookEntry = {"hooks": [handler]}
            entries[event] = {"matcher": MATCHERS[event], **group} if event in MATCHERS else group
        return entries

    mcp_file = ".mcp.json"

    def mcp_entry(self) -> dict[str, object]:
        """Its own form, which Copilot reads too."""
        return {"type": "stdio", **super().mcp_entry()}

    def merged(self, text: str, *, mcp: bool = False) -> str:
        """Add our commands and tools to `permissions.allow`; unchanged if that has another form."""
        from dibs.interfaces.install import jsonc

        allowed = ALLOWED + (TOOLS if mcp else ())
        document = jsonc.read(text)
        known = document.get("permissions")
        if known is None:
            return jsonc.insert(text, document, {"allow": list(allowed)}, "permissions")
        if known.kind != "object":
            return text
        allow = known.get("allow")
        if allow is None:
            return jsonc.insert(text, known, list(allowed), "allow")
        for entry in allowed:
            allow = _allow(text)
            if allow is not None and entry not in [item.value for item in allow.items]:
                text = jsonc.insert(text, allow, entry)
        return _without(text, FORMER)

    def cleaned(self, text: str) -> str:
        """Remove our commands, and the lists that become empty."""
        return _without(text, ALLOWED + FORMER + TOOLS)

    def plugin_commands(self) -> dict[str, str]:
        """Of the plugin `dibs`, from whatever marketplace, if this user has it installed and enabled."""
        from dibs.interfaces.agents import files

        own = os.environ.get("CLAUDE_CONFIG_DIR") or f"{files.home()}/.claude"
        enabled = files.json_object(f"{own}/settings.json").get("enabledPlugins")
        installed = files.json_object(f"{own}/plugins/installed_plugins.json").get("plugins")
        for name, copies in installed.items() if isinstance(installed, dict) else ():
            if name.partition("@")[0] == "dibs" and isinstance(enabled, dict) and enabled.get(name) is True:
                for copy in files.listed(copies):
                    found = _plugin_hooks(copy.get("installPath") if isinstance(copy, dict) else None)
                    if found:
                        return found
        return {}

    def switched_off(self, tree: str) -> list[str]:
        """`disableAllHooks` or `allowManagedHooksOnly`, in any of its settings."""
        from dibs.interfaces.agents import files

        own = os.environ.get("CLAUDE_CONFIG_DIR") or f"{files.home()}/.claude"
        return [
            f"Claude Code runs no hooks of this repository: {key} is on in {path}"
            for path in (
                f"{tree}/.claude/settings.json",
                f"{tree}/.claude/settings.local.json",
                f"{own}/settings.json",
                "/etc/claude-code/managed-settings.json",
                "/Library/Application Support/ClaudeCode/managed-settings.json",
            )
            for key in ("disableAllHooks", "allowManagedHooksOnly")
            if files.json_object(path).get(key) is True
        ]

    def allows_all(self, tree: str) -> list[str]:
        """An entry for every command of dibs, in the project's settings or the user's."""
        import re

        from dibs.interfaces.agents import files

        own = os.environ.get("CLAUDE_CONFIG_DIR") or f"{files.home()}/.claude"
        paths = (f"{tree}/.claude/settings.json", f"{tree}/.claude/settings.local.json", f"{own}/settings.json")
        return [
            f"{entry} in {path}"
            for path in paths
            for entry in _allowed(files.json_object(path))
            if isinstance(entry, str) and re.fullmatch(r"Bash\((\S*/)?dibs(:| |)\*\)", entry)
        ]

    def untrusted(self, tree: str) -> str:
        """Its own file has the accepted folders."""
        from dibs.interfaces.agents import files

        own = os.environ.get("CLAUDE_CONFIG_DIR")
        projects = files.json_object(f"{own or files.home()}/.claude.json").get("projects", {})
        for folder in files.upward(tree):
            known = projects.get(folder) if isinstance(projects, dict) else None
            if isinstance(known, dict) and known.get("hasTrustDialogAccepted") is True:
                return ""
        return (
            f"an interactive Claude Code runs no hooks in {tree} until the folder is trusted; it asks at its first "
            "start there (`claude -p` counts as trusted)"
        )


def _plugin_hooks(folder: object) -> dict[str, str]:
    """The commands of a plugin's hooks, as Claude Code would run them."""
    from dibs.interfaces.agents import files

    if not isinstance(folder, str):
        return {}
    hooks = files.json_object(f"{folder}/hooks/hooks.json").get("hooks")
    found = {}
    for event, groups in hooks.items() if isinstance(hooks, dict) else ():
        try:
            found[event] = str(groups[0]["hooks"][0]["command"]).replace("${CLAUDE_PLUGIN_ROOT}", folder)
        except (LookupError, TypeError):
            continue
    return found


def _allowed(settings: dict[str, object]) -> list[Any]:
    from dibs.interfaces.agents import files

    known = settings.get("permissions")
    return files.listed(known.get("allow")) if isinstance(known, dict) else []


def _without(text: str, entries: Sequence[str]) -> str:
    """The settings without these in `permissions.allow`, and without the lists that become empty."""
    from dibs.interfaces.install import jsonc

    while (allow := _allow(text)) is not None:
        places = [place for place, item in enumerate(allow.items) if item.value in entries]
        if not places:
            break
        if len(allow.items) > 1:
            text = jsonc.remove(text, allow, places[-1])
            continue
        document = jsonc.read(text)
        known = document.get("permissions")
        assert known is not None, "it has `allow`"
        container, key = (known, "allow") if len(known.items) > 1 else (document, "permissions")
        return jsonc.remove(text, container, [name for name, _ in container.keys].index(key))
    return text


def _allow(text: str) -> jsonc.Node | None:
    from dibs.interfaces.install import jsonc

    known = jsonc.read(text).get("permissions")
    allow = known.get("allow") if known is not None and known.kind == "object" else None
    return allow if allow is not None and allow.kind == "array" else None


CLIENT = Claude()
