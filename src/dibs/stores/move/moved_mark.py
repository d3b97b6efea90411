"""Whether a store is still in charge of its workspace: the mark in its head record, and what it means for who comes.

`moving ID UNTIL WHERE` keeps writers out while all is copied, until that time on the store's clock: should the copier
die, the mark is worth nothing from then on, and the store goes on as if nothing had been. `moved ID WHERE` is for good:
another store is in charge. An engine looks at the mark in every transaction; it lies in the record that each reads.
"""

from __future__ import annotations

from dibs.errors import Busy, Unavailable

MOVING, MOVED = "moving", "moved"


def moving(identifier: str, until: int, where: str) -> str:
    """The mark while all is copied."""
    return f"{MOVING} {identifier} {until} {where}"


def gone(identifier: str, where: str) -> str:
    """The mark from then on."""
    return f"{MOVED} {identifier} {where}"


def is_of(mark: str, identifier: str) -> bool:
    """Is it this move's mark?"""
    return mark.split(" ", 2)[1:2] == [identifier]


def refuse(mark: str, here: str) -> None:
    """Nobody goes on with a store that is no longer in charge."""
    if not mark.startswith(f"{MOVED} "):
        return
    _, identifier, where = mark.split(" ", 2)
    message = (
        f"this workspace was moved from {here} to {where}. Nothing was changed. On a machine that still looks here: "
        f"`dibs store move {where}`{' (with the password)' if '…' in where else ''}."
    )
    raise Unavailable(message, store=here, moved=identifier, to=where)


def refuse_write(mark: str, here: str, now: int) -> None:
    """Nobody writes while all is copied."""
    if not mark.startswith(f"{MOVING} "):
        return
    _, _, until, where = mark.split(" ", 3)
    if int(until) > now:
        message = f"this workspace is being moved from {here} to {where}. Nothing was changed; try again in a moment."
        raise Busy(message, store=here, moving=True)
