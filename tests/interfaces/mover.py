"""Moves a workspace and dies at a given step, as if by SIGKILL: `mover.py FOLDER URL before|after STEP`."""

from __future__ import annotations

import os
import sys
from typing import Any

from dibs.client import store_move
from dibs.client.session import Session
from dibs.stores import opening
from dibs.stores.redis import move_side as redis_side
from dibs.stores.sqlite import move_side as sqlite_side

# Every step that changes something, in their order: on the old side, on the new side, beside them.
STEPS = ("note", "freeze", "stage", "fill", "complete", "give_up", "publish", "pin", "forget", "retire")
SOON = 1_500  # ms: a mark whose mover died is worth nothing after this; a busy machine comes that far in time
BESIDE = {"note": (store_move, "_note"), "pin": (opening, "write_pin"), "forget": (store_move, "_forget")}


def main(folder: str, url: str, when: str, step: str) -> None:
    """Move, and die there."""
    for module in (redis_side, sqlite_side):
        module.FREEZE_MS = SOON  # type: ignore[attr-defined]
    places: list[tuple[Any, str]] = [(redis_side.RedisSide, step), (sqlite_side.SqliteSide, step)]
    for owner, name in [BESIDE[step]] if step in BESIDE else places:
        setattr(owner, name, dying(getattr(owner, name), when))
    session = Session(folder, folder)
    store_move.move(session, url, session.identify("mover"))


def dying(step: Any, when: str) -> Any:
    """That step, and the end."""

    def once(*words: Any, **more: Any) -> Any:
        if when == "after":
            step(*words, **more)
        os._exit(9)

    return once


if __name__ == "__main__":
    main(*sys.argv[1:])
