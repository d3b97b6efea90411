"""`dibs` alone: the state of this workspace and the everyday commands; elsewhere, what dibs is and how to begin."""

from __future__ import annotations

import os

from dibs.errors import YES, Invalid
from dibs.interfaces.cli import help, terminal
from dibs.interfaces.cli.command import Command
from dibs.interfaces.cli.commands import status

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.interfaces.cli.parse import Words
    from dibs.interfaces.cli.render import Lines

BEGIN = (
    ("  cd your-repository", ""),
    ("  dibs init", "make it a workspace, with hooks for your agents and for git"),
    ("  dibs doctor", "prove that the guards work"),
    ("  dibs demo", "see what it prevents, in a minute"),
)


def run(words: Words) -> int:
    """Show the state, or how to begin. With --json it is `dibs status --json`."""
    if words.json or words.common.get("workspace") or os.environ.get("DIBS_WORKSPACE") or _in_workspace():
        code = status.run(words)
        if not words.json:
            terminal.write(["", *help.everyday()])
        return code
    begin: Lines = [
        *map(help.bold, help.wrapped(help.WHAT, terminal.width())),
        "",
        "This folder is not a workspace yet. To begin:",
        "",
    ]
    begin.append(terminal.Table(("COMMAND", "WHAT"), BEGIN, titles=False))
    terminal.write([*begin, "", terminal.Line("`dibs help` lists the commands.", "dim")])
    return YES


def _in_workspace() -> bool:
    from dibs.workspace import location

    try:
        return location.find(os.getcwd(), None).exists
    except Invalid:
        return False


COMMAND = Command("home", "Show the state of this workspace and the commands for every day.", run=run, hidden=True)
