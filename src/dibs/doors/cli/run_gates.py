"""`dibs run gates`: the operation, with the facts that only a door can know; exit code 1 if a gate fails."""

from __future__ import annotations

from dibs.doors.cli import around
from dibs.errors import NO, YES


def run(arguments: list[str]) -> int:
    """Exit 0 if every gate passes."""
    from dibs.reports import build

    return around.run("run gates", arguments, build.gates, lambda answer: NO if answer["failed"] else YES)
