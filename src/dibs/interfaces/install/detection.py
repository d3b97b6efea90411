"""The clients in use here: by files in the repository and in the home folder, and by programs on the PATH."""

from __future__ import annotations

import os

from dibs.errors import Invalid
from dibs.interfaces import agents
from dibs.operations.core.declare import near
from dibs.workspace.known_clients import NAMES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.interfaces.agents.adapter import Client


def detected(folder: str) -> list[str]:
    """The clients that a person who works in this folder uses."""
    home = os.path.expanduser("~")
    return [client.name for client in agents.every() if _is_here(client, folder, home)]


def _is_here(client: Client, folder: str, home: str) -> bool:
    if any(os.path.lexists(os.path.join(folder, name)) for name in client.in_repository):
        return True
    if home != folder and any(os.path.lexists(os.path.join(home, name)) for name in client.in_home):
        return True
    paths = os.environ.get("PATH", "").split(os.pathsep)
    return any(os.access(os.path.join(path, client.program), os.X_OK) for path in paths if path)


def named(text: str) -> list[str]:
    """The clients in `--clients`: names with commas between, `all`, or `none`. Product names are accepted too."""
    words = [word.strip().lower() for word in text.split(",") if word.strip()]
    if words == ["none"]:
        return []
    if words == ["all"]:
        return list(NAMES)
    meant = {_plain(alias): client.name for client in agents.every() for alias in (client.name, *client.aliases)}
    wrong = [word for word in words if _plain(word) not in meant]
    if wrong or not words:
        known = ", ".join(NAMES)
        hint = near(wrong[0], NAMES) if wrong else ""
        raise Invalid(f"clients: {known}, all or none, not {', '.join(wrong) or 'nothing'}{hint}", field="clients")
    chosen = {meant[_plain(word)] for word in words}
    return [client for client in NAMES if client in chosen]


def _plain(name: str) -> str:
    """`claude-code`, `claude_code`, `Claude Code` and `claudecode` are one name."""
    return name.lower().replace("-", "").replace("_", "").replace(" ", "")
