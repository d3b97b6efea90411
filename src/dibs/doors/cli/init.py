"""`dibs init`: makes a folder a workspace. Never overwrites what is there; running it twice changes nothing."""

from __future__ import annotations

import os
import sys

from dibs import jsontext
from dibs.doors import config
from dibs.doors.cli import parse
from dibs.doors.session import open_store
from dibs.errors import YES, Invalid, Unavailable
from dibs.facts import clock, workspace
from dibs.operations.declare import Field

FIELDS = (
    Field("folder", "text", "the project's top directory (default: the repository or folder you are in)",
          positional=True, metavar="DIR"),
    Field("dry_run", "flag", "only say what would be done", default=False),
)  # fmt: skip
HELP = "Make a repository or folder a workspace."
IGNORE = "# made by dibs: what belongs to this machine only\n/local/\n"


def run(arguments: list[str]) -> int:
    """Make the workspace's files and its store."""
    words = parse.parse("init", FIELDS, arguments)
    if words.help:
        from dibs.doors.cli import help

        return help.of_command("init", HELP, FIELDS)
    folder = words.fields.get("folder") or words.common.get("workspace") or os.environ.get("DIBS_WORKSPACE")
    place = _place(folder)
    dry = bool(words.fields.get("dry_run"))
    changes = _changes(place, dry)
    if words.json:
        sys.stdout.write(jsontext.encode({"ok": True, "workspace": place.root, "changes": changes}) + "\n")
    elif changes:
        would = "would make" if dry else "made"
        sys.stdout.write("".join(f"{would} {change}\n" for change in changes))
        if not dry:
            sys.stdout.write(f"{place.root} is a workspace. Commit .dibs/; then try: dibs claim README.md --as me\n")
    else:
        sys.stdout.write(f"{place.root} is a workspace already; nothing to do\n")
    return YES


def _place(folder: str | None) -> workspace.Place:
    """Where the workspace will be: the repository's main worktree, else the folder itself."""
    if folder is not None and not os.path.isdir(folder):
        raise Invalid(f"{folder} is not a folder", path=folder)
    return workspace.find(os.getcwd(), folder or os.getcwd())


def _changes(place: workspace.Place, dry: bool) -> list[str]:
    home = os.path.join(place.root, ".dibs")
    changes: list[str] = []
    try:
        for path, text in (
            (f"{home}/config.toml", config.TEMPLATE.format(id=f"{clock.random_id()}{clock.random_id()}")),
            (f"{home}/.gitignore", IGNORE),
        ):
            if not os.path.lexists(path):
                changes.append(os.path.relpath(path, place.root))
                if not dry:
                    os.makedirs(home, exist_ok=True)
                    _write(path, text)
        local = f"{home}/local"
        if not os.path.isdir(local):
            changes.append(".dibs/local/")
            if not dry:
                os.mkdir(local, 0o700)
        if not os.path.exists(f"{local}/store"):
            changes.append(".dibs/local/dibs.db")
            if not dry:
                open_store(local, config.load(f"{home}/config.toml", local, place.top).store, 5.0).close()
    except OSError as error:
        raise Unavailable(f"{error.filename or home} cannot be made: {error.strerror}", path=home) from None
    return changes


def _write(path: str, text: str) -> None:
    with open(path, "x", encoding="utf-8") as file:
        file.write(text)
