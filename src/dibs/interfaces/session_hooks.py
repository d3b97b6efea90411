"""What stands above a session, and what each door gives it.

How a command is run that an operation asks for, and what is done around an operation (`Operation.around`). Loaded when
it is needed.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from dibs.client.session import Session


def attach(session: Session) -> Session:
    """A session that can do all that declarations say."""
    session.run_command = _run_command
    session.around = _around
    return session


def _run_command(*asked: Any) -> dict[str, Any]:
    """Run a command that an operation asks for before it decides."""
    from dibs.workers import verification

    return verification.answer(*asked)


def _around(name: str) -> Callable[..., Any]:
    from dibs.audit import build

    return build.AROUND[name]
