"""`dibs run gates`: the operation, with the facts that only a door can know; exit code 1 if a gate fails."""

from __future__ import annotations

from dibs.doors.cli.command import Command
from dibs.doors.cli.dispatch import around

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.doors.cli.parse import Words


def run(words: Words) -> int:
    """Exit 0 if every gate passes."""
    from dibs.reports import build

    return around("run gates", words, build.gates)


COMMAND = Command("run gates", run=run)
