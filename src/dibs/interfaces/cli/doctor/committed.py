"""Is what `dibs init` wrote committed? A new worktree and a teammate have only that.

Of a file that is others' too, dibs' part is compared with that in HEAD: what a person changed in the rest does not
matter. The config and the rules are the team's: there it counts that they are committed at all.
"""

from __future__ import annotations

import os
from functools import partial

from dibs.errors import DibsError
from dibs.git import queries as git
from dibs.interfaces import agents
from dibs.interfaces.install import githooks, pointers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from dibs.client.session import Session

    Part = Callable[[str], Any]  # of a file's text: what is dibs'


def missing(session: Session, base: str, used: list[str]) -> list[str]:
    """The files of which HEAD has not what is dibs' here."""
    found = []
    for name, part in _parts(session, base, used).items():
        here = _of(part, _text(f"{base}/{name}"))
        if here and here != _of(part, _committed(base, name)):
            found.append(name)
    return found


def _parts(session: Session, base: str, used: list[str]) -> dict[str, Part]:
    """The files that `init` writes, each with what is dibs' of it."""
    parts: dict[str, Part] = dict.fromkeys((".dibs/hook", ".dibs/dibs", ".dibs/.gitignore"), str)
    parts |= dict.fromkeys((".dibs/config.toml", ".dibs/rules.md"), bool)
    for client in map(agents.of, used):
        parts |= dict.fromkeys(client.own_files(), str)
        if not client.plugin_commands():  # a plugin is in no commit
            parts[client.settings_file] = partial(client.settings_commands, path="")
        if client.mcp_file and client.mcp_file not in parts:
            parts[client.mcp_file] = partial(client.mcp_command, path="")
    parts |= dict.fromkeys(pointers.names(), lambda text: pointers.BEGIN in text)
    hooks = githooks.folder(session.place)
    if hooks.startswith(f"{base}/") and not hooks.startswith(f"{session.place.common}/"):  # husky's, say
        block: Part = lambda text: githooks.has_block(text.encode("utf-8", "surrogateescape"))  # noqa: E731 - one of many
        parts |= {f"{hooks[len(base) + 1 :]}/{name}": block for name in githooks.NAMES}
    return parts


def _of(part: Part, text: str | None) -> object:
    """What is dibs' of a text; nothing of a missing or unreadable one."""
    try:
        return part(text) if text else None
    except (ValueError, DibsError):
        return None


def _text(path: str) -> str | None:
    try:
        with open(os.path.realpath(path), encoding="utf-8", errors="surrogateescape", newline="") as file:
            return file.read()
    except OSError:
        return None


def _committed(base: str, name: str) -> str | None:
    """The file in HEAD, behind a link there."""
    path = os.path.relpath(os.path.realpath(f"{base}/{name}"), os.path.realpath(base))
    done = git.ask(base, "show", f"HEAD:./{path}", fine=(0, 128))
    return done.out.decode("utf-8", "surrogateescape") if done.code == 0 else None
