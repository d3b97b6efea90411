"""`dibs explain`: the story of one thing (audit/explain.py), a sentence a line."""

from __future__ import annotations

from dibs.client import catalogue
from dibs.interfaces.cli.command import Command
from dibs.interfaces.cli.dispatch import finish, read

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.interfaces.cli.parse import Words


def run(words: Words) -> int:
    """Print the story."""
    operation = catalogue.operation("explain")
    session, call, values = read(operation, words)
    return finish(operation, session.answer(operation, call, values), words)


COMMAND = Command(
    "explain",
    run=run,
    short={"n": "limit"},
    examples=(
        ("dibs explain src/api.py", "who held this file, who was refused, what was overwritten"),
        ("dibs explain TASK-7 --since 2h", "what happened to a task in the last two hours"),
        ("dibs explain '#120'", "an event, and the story around it"),
        ("dibs explain agent:lead", "the agent, where a path or a task has the same name"),
    ),
)
