"""`dibs run end`: the operation, then the archive if it is wanted, then the gates of the clean-up."""

from __future__ import annotations

from dibs.doors.cli.command import Command
from dibs.doors.cli.dispatch import around

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.doors.cli.parse import Words


def run(words: Words) -> int:
    """Exit 0 if the run has ended; gates that fail are printed."""
    from dibs.reports import build

    return around("run end", words, build.end)


COMMAND = Command("run end", run=run)
