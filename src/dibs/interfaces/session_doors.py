"""The doors of sessions: what a program and a command do for theirs.

How a command is run that an operation asks for, and what is done around an operation (`Operation.around`). Loaded when
a session is opened; what it does is loaded when it is needed.
"""

from __future__ import annotations

import sys

from dibs.client.session import Door

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dibs.client.session import Session
    from dibs.operations.core.call import Answer, Call, Command
    from dibs.operations.core.declare import Around


class ProgramDoor(Door):
    """The door of a program: its sessions can do all that declarations say."""

    __slots__ = ()

    def run_command(self, session: Session, call: Call, fields: dict[str, Any], command: Command) -> dict[str, Any]:
        from dibs.workers import verification

        return verification.answer(session, call, fields, command)

    def run_around(self, name: Around, session: Session, call: Call, fields: dict[str, Any]) -> Answer:
        from dibs.audit import build

        answer: Answer = build.AROUND[name](session, call, fields)
        return answer


class CommandDoor(ProgramDoor):
    """The door of a command: it tells a person what takes long, unless the command prints JSON."""

    __slots__ = ("quiet",)

    def __init__(self, *, quiet: bool) -> None:
        self.quiet = quiet

    def announce(self, text: str) -> None:
        if not self.quiet:
            tell(text)


def tell(text: str) -> None:
    """A line for a person who waits."""
    sys.stderr.write(f"dibs: {text}\n")
    sys.stderr.flush()
