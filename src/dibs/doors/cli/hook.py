"""`dibs hook CLIENT [EVENT]`: what clients' hooks run where there is no faster way (doors/install/launcher.py)."""

from __future__ import annotations

import sys

from dibs.doors.hooks import hook
from dibs.operations.core.declare import Field
from dibs.session.known_clients import NAMES

FIELDS = (
    Field("client", "choice", "whose hook", positional=True, required=True, choices=NAMES),
    Field("event", "text", "the event, for clients that do not send its name", positional=True, metavar="EVENT"),
)
HELP = "Answer a client's hook: its JSON on stdin, the answer it obeys on stdout. Refuses with exit 2."


def run(arguments: list[str]) -> int:
    """Exit 0 for no objection, 2 for a refusal."""
    if not arguments or arguments[0] in {"-h", "--help"}:
        from dibs.doors.cli import help

        return help.of_command("hook", HELP, FIELDS)
    if sys.stdin is not None and sys.stdin.isatty():
        from dibs.errors import Invalid

        raise Invalid("`dibs hook` reads a client's JSON from stdin; it is for clients, not for terminals")
    return hook.main(arguments)
