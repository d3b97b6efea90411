"""Which clients are in use here: by what lies in the repository, in the home folder, and on the PATH."""

from __future__ import annotations

import os

from dibs.doors.install.settings import FILES
from dibs.errors import Invalid

ALL = tuple(FILES)

# What tells of each client: in the repository, in the home folder, as a program.
SIGNS = {
    "claude": ((".claude", "CLAUDE.md"), (".claude", ".claude.json"), "claude"),
    "codex": ((".codex",), (".codex",), "codex"),
    "gemini": ((".gemini", "GEMINI.md"), (".gemini",), "gemini"),
    "copilot": ((".github/copilot-instructions.md", ".github/copilot", ".github/hooks"), (".copilot",), "copilot"),
}

# What people call them; hyphens, underscores, blanks and capitals do not matter.
ALIASES = {
    "claude": ("claude-code", "anthropic-claude", "claude-cli"),
    "codex": ("openai-codex", "codex-cli"),
    "gemini": ("gemini-cli", "google-gemini"),
    "copilot": ("copilot-cli", "github-copilot", "github-copilot-cli"),
}


def detected(folder: str) -> list[str]:
    """The clients that somebody who works in this folder uses."""
    home = os.path.expanduser("~")
    return [client for client in ALL if _is_here(client, folder, home)]


def _is_here(client: str, folder: str, home: str) -> bool:
    in_repository, in_home, program = SIGNS[client]
    if any(os.path.lexists(os.path.join(folder, name)) for name in in_repository):
        return True
    if home != folder and any(os.path.lexists(os.path.join(home, name)) for name in in_home):
        return True
    paths = os.environ.get("PATH", "").split(os.pathsep)
    return any(os.access(os.path.join(path, program), os.X_OK) for path in paths if path)


def named(text: str) -> list[str]:
    """What `--clients` says: names with commas between, `all`, or `none`. The products' own names will do."""
    words = [word.strip().lower() for word in text.split(",") if word.strip()]
    if words == ["none"]:
        return []
    if words == ["all"]:
        return list(ALL)
    meant = {_plain(alias): client for client, aliases in ALIASES.items() for alias in (client, *aliases)}
    wrong = [word for word in words if _plain(word) not in meant]
    if wrong or not words:
        raise Invalid(f"clients: {', '.join(ALL)}, all or none, not {', '.join(wrong) or 'nothing'}", field="clients")
    chosen = {meant[_plain(word)] for word in words}
    return [client for client in ALL if client in chosen]


def _plain(name: str) -> str:
    """`claude-code`, `claude_code`, `Claude Code` and `claudecode` are one name."""
    return name.lower().replace("-", "").replace("_", "").replace(" ", "")
