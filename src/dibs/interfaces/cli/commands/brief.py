"""`dibs brief`: what an agent works on, for whoever continues it (audit/brief.py)."""

from __future__ import annotations

from dibs.client import catalogue
from dibs.errors import YES
from dibs.interfaces.cli import terminal
from dibs.interfaces.cli.command import Command
from dibs.interfaces.cli.dispatch import answer, read

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.audit.answers import BriefAnswer
    from dibs.interfaces.cli.parse import Words


def run(words: Words) -> int:
    """Print it."""
    operation = catalogue.operation("brief")
    session, call, values = read(operation, words)
    found: BriefAnswer = session.answer(operation, call, values)
    if words.json:
        answer("brief", found, as_json=True)
    else:
        terminal.write([terminal.clean(line) for line in found["text"].split("\n")])
    return YES


COMMAND = Command(
    "brief",
    run=run,
    examples=(
        ("dibs brief codex-2", "before you continue its work"),
        ("dibs brief codex-2 > baton.md", "for an agent of another kind"),
    ),
    notes=("`dibs handover AGENT --to …` passes the work on, and briefs the agent that gets it.",),
)
