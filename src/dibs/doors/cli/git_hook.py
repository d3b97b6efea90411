"""`dibs git-hook NAME …`: what git's hooks call; doors/git_hooks.py does the work."""

from __future__ import annotations

from dibs.doors import git_hooks
from dibs.operations.core.declare import Field

FIELDS = (
    Field("name", "text", "pre-commit, pre-merge-commit, prepare-commit-msg, post-commit, post-merge or pre-push",
          positional=True, required=True, metavar="NAME"),
    Field("given", "resources", "what git gave the hook", positional=True, default=(), metavar="ARG"),
)  # fmt: skip
HELP = "Guard commits and pushes: called by git's own hooks, which `dibs init` installs."


def run(arguments: list[str]) -> int:
    """Run one hook; what git gave it is passed on as it is."""
    if not arguments or arguments[0] in {"-h", "--help"}:
        from dibs.doors.cli import help

        return help.of_command("git-hook", HELP, FIELDS)
    return git_hooks.main(arguments)
