"""`dibs hook CLIENT [EVENT]`: what clients' hooks run where there is no faster way (install/hook_command.py)."""

from __future__ import annotations

import sys

from dibs.guards import hook
from dibs.interfaces.cli.command import Command
from dibs.operations.core.declare import Field
from dibs.workspace.known_clients import NAMES

FIELDS = (
    Field("client", "choice", "whose hook", positional=True, required=True, choices=NAMES),
    Field("event", "text", "the event, for clients that do not send its name", positional=True, metavar="EVENT"),
)


def run(arguments: list[str]) -> int:
    """Exit 0 for no objection, 2 for a refusal: also of a call without a client's name, which nobody can check."""
    if sys.stdin is not None and sys.stdin.isatty():
        from dibs.errors import Invalid
        from dibs.interfaces.cli import parse

        message = "`dibs hook` reads a client's JSON from stdin; it is for clients, not for terminals"
        raise Invalid(message, usage=f"usage: {parse.usage(COMMAND.name, FIELDS)}")
    return hook.main(arguments)


COMMAND = Command(
    "hook",
    "Answer a client's hook: its JSON on stdin, the answer for the client on stdout. Refuses with exit code 2.",
    run=run,
    group="guards",
    fields=FIELDS,
    examples=(("dibs hook claude < payload.json", "what Claude Code's settings run"),),
    raw=True,
)
