"""`dibs stats`: figures over time, at the terminal with small plots."""

from __future__ import annotations

from dibs.client import catalogue
from dibs.errors import YES
from dibs.interfaces.cli import terminal
from dibs.interfaces.cli.command import Command
from dibs.interfaces.cli.commands.verify import ReportDoor
from dibs.interfaces.cli.dispatch import finish, read
from dibs.interfaces.cli.render import statistics

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.interfaces.cli.parse import Words


def run(words: Words) -> int:
    """Show the figures."""
    operation = catalogue.operation("stats")
    session, call, values = read(operation, words, ReportDoor)
    found = session.answer(operation, call, values)
    if words.json:
        return finish(operation, found, words)
    terminal.write(statistics.page(found))
    return YES


COMMAND = Command(
    "stats",
    run=run,
    examples=(
        ("dibs stats", "the last 24 hours"),
        ("dibs stats --since 7d --buckets 7", "the last week, day by day"),
        ("dibs stats --since 1h --json", "for programs"),
    ),
)
