"""The mark in a store's head record that says whether the store is still in charge of its workspace.

`moving ID UNTIL WHERE` blocks writers during the copy. It expires at UNTIL on the store's clock, so the store continues
as before if the copier dies. `moved ID WHERE` is permanent: another store is in charge. An engine checks the mark in
every transaction; it is in the record that each transaction reads.
"""

from __future__ import annotations

from dibs.error_subtypes import Moved, Moving
from dibs.errors import quoted

MOVING, MOVED = "moving", "moved"


def moving(identifier: str, until: int, where: str) -> str:
    """The mark during the copy."""
    return f"{MOVING} {identifier} {until} {where}"


def gone(identifier: str, where: str) -> str:
    """The mark after the move."""
    return f"{MOVED} {identifier} {where}"


def is_of(mark: str, identifier: str) -> bool:
    """Is it this move's mark?"""
    return mark.split(" ", 2)[1:2] == [identifier]


def refuse(mark: str, here: str) -> None:
    """Refuse every call to a store that is no longer in charge."""
    if not mark.startswith(f"{MOVED} "):
        return
    _, identifier, where = mark.split(" ", 2)
    message = (
        f"this workspace was moved from {here} to {where}. Nothing was changed. On a machine that still looks here: "
        f"`dibs store move {quoted(where)}`{' (with the password)' if '…' in where else ''}."
    )
    raise Moved(message, store=here, moved=identifier, to=where)


def refuse_write(mark: str, here: str, now: int) -> None:
    """Refuse a write during the copy."""
    if not mark.startswith(f"{MOVING} "):
        return
    _, _, until, where = mark.split(" ", 3)
    if int(until) > now:
        message = f"this workspace is being moved from {here} to {where}. Nothing was changed; try again in a moment."
        raise Moving(message, store=here)
