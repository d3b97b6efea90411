"""`dibs run end`: the operation, then the archive if it is wanted, then the gates of the clean-up."""

from __future__ import annotations

from dibs.doors.cli import around
from dibs.errors import YES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dibs.operations.core.call import Call
    from dibs.session.session import Session


def run(arguments: list[str]) -> int:
    """Exit 0 if the run has ended; gates that fail are told."""
    from dibs.reports import build

    return around.run("run end", arguments, build.end, lambda _: YES)


def end(session: Session, call: Call, run: str, **how: Any) -> dict[str, Any]:
    """End a run as the command does, for other doors."""
    from dibs.reports import build

    return build.end(session, call, {"run": run, **how})
