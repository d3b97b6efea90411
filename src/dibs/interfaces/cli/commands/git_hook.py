"""`dibs git-hook NAME …`: what git's hooks call; guards/git_hooks.py does the work."""

from __future__ import annotations

from dibs.guards import git_hooks
from dibs.interfaces.cli.command import Command
from dibs.operations.core.declare import Field

FIELDS = (
    Field("name", "text", "pre-commit, pre-merge-commit, prepare-commit-msg, post-commit, post-merge or pre-push",
          positional=True, required=True, metavar="NAME"),
    Field("given", "resources", "what git gave the hook", positional=True, default=(), metavar="ARG"),
)  # fmt: skip


def run(arguments: list[str]) -> int:
    """Run one hook; what git gave it is passed on as it is."""
    if not arguments:
        from dibs.interfaces.cli import help

        return help.show(COMMAND.name)
    return git_hooks.main(arguments)


COMMAND = Command(
    "git-hook",
    "Guard commits and pushes: git's own hooks call it, which `dibs init` installs.",
    run=run,
    group="guards",
    fields=FIELDS,
    examples=(("dibs git-hook pre-commit", "what .git/hooks/pre-commit runs"),),
    raw=True,
)
