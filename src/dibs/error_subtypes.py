"""Subtypes of errors: the same code, facts and text, and another way on.

A hook meets none of them on its usual way, and to make a class takes as long as to look at a file: what a hook loads
imports them where one is raised or told apart.
"""

from __future__ import annotations

from dibs.errors import Busy, Forbidden, Held, Invalid, Unavailable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.errors import DibsError


class Transient(Held):
    """Another agent's command holds it for a moment: a hook waits for that."""

    mark = "transient"


class NotTakenFromSender(Forbidden):
    """The request is not taken from this kind of credential, whatever its rank."""

    mark = "sender"


class InvalidSyntax(Invalid):
    """A file is not what its format asks for: none of it can be read."""

    mark = "syntax"


class Moving(Busy):
    """The workspace is being moved to another store: in a moment it can be used again."""

    mark = "moving"


class Unreachable(Unavailable):
    """The server does not answer, and may answer later."""

    mark = "unreachable"


class AccessDenied(Unavailable):
    """The server does not let this user do that."""

    mark = "auth"


class Stale(Unavailable):
    """What this process has open is not the workspace's store any more. Opening it again helps."""


class Moved(Stale):
    """The workspace was moved to another store."""

    mark = "moved"


class Replaced(Stale):
    """The database was replaced while this process had it open."""

    mark = "replaced"


SUBTYPES: tuple[type[DibsError], ...] = (
    Transient, NotTakenFromSender, InvalidSyntax, Moving, Unreachable, AccessDenied, Moved, Replaced,
)  # fmt: skip
