"""Would a client run our hooks at all? What its own files on this machine say about trust and switches.

Each finding is a sentence about why a client would let every write through, and what to do. Read-only; a file that is
not there or cannot be read says nothing.
"""

from __future__ import annotations

import os

from dibs.doors.install import jsonc, settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


def switched_off(client: str, tree: str) -> Iterator[str]:
    """Settings that switch hooks off, here or for this user."""
    if client == "claude":
        for path in _claude_settings(tree):
            known = _json(path)
            for key in ("disableAllHooks", "allowManagedHooksOnly"):
                if known.get(key) is True:
                    yield f"Claude Code runs no hooks of this repository: {key} is on in {path}"
    if client == "gemini":
        for path in (f"{tree}/{settings.FILES['gemini']}", f"{_home()}/.gemini/settings.json"):
            switches = _json(path).get("hooksConfig", {})
            if isinstance(switches, dict):
                if switches.get("enabled") is False:
                    yield f"Gemini runs no hooks: hooksConfig.enabled is off in {path}"
                if "dibs" in (switches.get("disabled") or ()):
                    yield f"Gemini does not run the hook named dibs: it is in hooksConfig.disabled of {path}"


def _claude_settings(tree: str) -> list[str]:
    own = os.environ.get("CLAUDE_CONFIG_DIR") or f"{_home()}/.claude"
    return [
        f"{tree}/.claude/settings.json",
        f"{tree}/.claude/settings.local.json",
        f"{own}/settings.json",
        "/etc/claude-code/managed-settings.json",
        "/Library/Application Support/ClaudeCode/managed-settings.json",
    ]


def untrusted(client: str, tree: str) -> str:
    """Why a client does not run hooks of this folder before a person has said that it may; "" if one has."""
    return {"claude": _claude, "codex": _codex, "gemini": _gemini, "copilot": _copilot}[client](tree)


def _claude(tree: str) -> str:
    own = os.environ.get("CLAUDE_CONFIG_DIR")
    path = f"{own or _home()}/.claude.json"
    projects = _json(path).get("projects", {})
    for folder in _upward(tree):
        known = projects.get(folder) if isinstance(projects, dict) else None
        if isinstance(known, dict) and known.get("hasTrustDialogAccepted") is True:
            return ""
    return (
        f"an interactive Claude Code runs no hooks in {tree} until the folder is trusted; it asks at its first start "
        "there (`claude -p` counts as trusted)"
    )


def _codex(tree: str) -> str:
    """Codex keeps, for each hook that was reviewed, `hooks.state."FILE:EVENT:GROUP:HANDLER".trusted_hash`."""
    home = os.environ.get("CODEX_HOME") or f"{_home()}/.codex"
    known = _toml(f"{home}/config.toml")
    hooks = known.get("hooks", {})
    states = hooks.get("state", {}) if isinstance(hooks, dict) else {}
    prefix = f"{tree}/{settings.FILES['codex']}:pre_tool_use:"
    for key, state in states.items() if isinstance(states, dict) else ():
        if key.startswith(prefix) and isinstance(state, dict) and state.get("trusted_hash"):
            return "" if state.get("enabled") is not False else f"Codex has the hook {key} switched off; see /hooks"
    return (
        f"Codex silently skips the hooks of {tree} until they are reviewed: type /hooks in Codex, and again whenever "
        "they change (automation: --dangerously-bypass-hook-trust)"
    )


def _gemini(tree: str) -> str:
    path = os.environ.get("GEMINI_CLI_TRUSTED_FOLDERS_PATH") or f"{_home()}/.gemini/trustedFolders.json"
    known = _json(path)
    for folder in _upward(tree):
        level = known.get(folder)
        if level == "DO_NOT_TRUST":
            break
        if level in {"TRUST_FOLDER", "TRUST_PARENT"}:
            return ""
    return (
        f"Gemini runs no hooks in {tree} until the folder is trusted; it asks at its first start there (/permissions)"
    )


def _copilot(tree: str) -> str:
    home = os.environ.get("COPILOT_HOME") or f"{_home()}/.copilot"
    known = _json(f"{home}/config.json")
    trusted = [*_list(known.get("trustedFolders")), *_list(known.get("trusted_folders"))]
    if any(folder in trusted for folder in _upward(tree)):
        return ""
    return f"Copilot runs no hooks in {tree}, and writes, until the folder is trusted; it asks at its first start there"


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _upward(folder: str) -> Iterator[str]:
    while True:
        yield folder
        parent = os.path.dirname(folder)
        if parent == folder:
            return
        folder = parent


def _home() -> str:
    return os.path.expanduser("~")


def _json(path: str) -> dict[str, Any]:
    try:
        with open(path, encoding="utf-8") as file:
            known = jsonc.read(file.read()).plain()
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}


def _toml(path: str) -> dict[str, Any]:
    import tomllib

    try:
        with open(path, "rb") as file:
            return tomllib.load(file)
    except (OSError, ValueError):
        return {}
