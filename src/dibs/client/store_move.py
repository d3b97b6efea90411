"""Moves a workspace from one store to another, in steps that are each safe to interrupt.

1. An intention is noted in `.dibs/local/store-move`: the id of the move, from where, to where.
2. The old store is frozen: it takes no writes for half a minute, which each page of the copy renews.
3. Everything is copied to a staging place, read back, and compared by digest with the old store.
4. The old store gives up: its mark says `moved`, if not a single commit was made since it was frozen. This is the
   commit point. After a crash before it, the old store is in charge and accepts writes again once the freeze expires.
   After it, the new store is in charge, and the next process finishes the rest:
5. The copy takes its place in the new store, in one step.
6. The pin names the new store, the intention is deleted.

Steps 5 and 6 are done by `finish`, which any process on this machine may call, any number of times.
"""

from __future__ import annotations

import os

from dibs import jsontext
from dibs.error_subtypes import Moved
from dibs.errors import Busy, Invalid, Unavailable, counted
from dibs.machine import atomic_write, clock
from dibs.machine.file_mutex import FileMutex
from dibs.stores import opening
from dibs.stores.engines import database_of, engine_of
from dibs.stores.move import carry, moved_mark
from dibs.stores.urls import hidden

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypedDict

    from dibs.client.session import Session
    from dibs.operations.core.call import Call, Fields
    from dibs.operations.core.declare import Operation
    from dibs.stores.move.carry import Side

    Intention = TypedDict(
        "Intention", {"id": str, "from": str, "to": str, "replaces": bool}, total=False
    )  # of a move that is under way; empty: none is

INTENTION_FILE = "store-move"
MUTEX_FILE = "store-move.turn"
MUTEX_TIMEOUT_S = 10.0  # for another process that is moving the workspace
FREEZE_RENEWAL_MS = 2_000  # between two renewals of the freeze, which lasts thirty seconds


def move(
    session: Session, to: str, call: Call, *, replaces: bool = False, told: Callable[[str], None] | None = None
) -> dict[str, Any]:
    """Move the workspace to that store; returns what was copied. The session is closed: open another one."""
    local = session.place.local
    pin = opening.read_pin(local)
    opening.folder_of(to)  # raises if there is no engine for it
    if not pin.url:
        raise Invalid("this workspace coordinates through no store yet: name it with `store` in .dibs/config.toml")
    with FileMutex(f"{local}/{MUTEX_FILE}") as mutex:
        if not mutex.mine:
            raise Unavailable("the workspace is being moved by another process; try again in a moment.")
        _finish_former(session)
        pin = opening.read_pin(local)
        if pin.url == to:
            raise Invalid(f"this workspace coordinates through {hidden(to)} already", store=hidden(to))
        old, new = _sides(session, pin.url, to, replaces=replaces)
        try:
            followed = _follow_others(session, old, new, pin, to)
            return followed or _move(session, old, new, pin, to, call, replaces=replaces, told=told)
        finally:
            old.close()
            new.close()


def _move(
    session: Session, old: Side, new: Side, pin: opening.Pin, to: str, call: Call, *,
    replaces: bool, told: Callable[[str], None] | None,
) -> dict[str, Any]:  # fmt: skip
    from dibs.operations.upkeep.store_moves import MOVED, MOVING

    used = new.in_use()
    if used:
        raise Unavailable(f"{used}: two histories cannot be one. Nothing was changed.", store=hidden(to))
    identifier = clock.random_id()
    where, left = hidden(to), hidden(pin.url)
    run_pinned(session, MOVING, call, {"to": where, "move": identifier})
    _note(session.place.local, {"id": identifier, "from": pin.url, "to": to, "replaces": replaces})
    given_up = False
    try:
        frozen = old.freeze(identifier, where)
        contents = _copy(old, new, identifier, frozen, where, told)
        given_up = old.give_up(identifier, where, frozen.commit)
        if not given_up:
            message = "the workspace was written to while it was copied (was this process paused?). Nothing was moved."
            raise Unavailable(message, store=left)
    finally:
        if not given_up:
            _take_back(session.place.local, old, new, identifier)
    aside = _finish(session, old, new, identifier, pin, to)
    call.facts.clear()
    said = {"to": where, "left": left, "move": identifier, "digest": contents.digest, "events": contents.events}
    try:
        run_pinned(session, MOVED, call, said)
    except (Busy, Unavailable):
        pass  # the move is done, and both stores record it
    return {"from": left, "to": where, **contents.as_json(), **({"aside": aside} if aside else {})}


def _copy(
    old: Side, new: Side, identifier: str, frozen: carry.Frozen, where: str, told: Callable[[str], None] | None
) -> carry.Contents:
    """Copy and compare, while the old side stays frozen."""
    last = clock.since_boot()

    def beat() -> None:
        nonlocal last
        if clock.since_boot() - last > FREEZE_RENEWAL_MS:
            last = clock.since_boot()
            old.freeze(identifier, where)

    for _ in carry.copy(old, new, identifier, frozen):
        beat()
    contents = carry.Contents(old, beat=beat)
    if told is not None:
        told(f"copied {counted(contents.rows, 'row')} and {counted(contents.events, 'event')}; comparing")
    _compare(contents, carry.Contents(new, identifier, beat=beat))
    new.complete(identifier)
    return contents


def _compare(was: carry.Contents, is_now: carry.Contents) -> None:
    if was.as_json() != is_now.as_json():
        message = f"the copy is not what was copied ({is_now.as_json()} instead of {was.as_json()}). Nothing was moved."
        raise Unavailable(message)


def _finish(session: Session, old: Side, new: Side, identifier: str, pin: opening.Pin, to: str) -> str:
    """The old store has given up: the copy takes its place, then the pin changes. Safe to repeat."""
    local = session.place.local
    aside = ""
    if new.origin() != identifier:
        # The copy was lost, on a server without persistence: the old store still has everything.
        if not new.staged(identifier):
            _copy_again(old, new, identifier)
        aside = new.publish(identifier)
    _pin(local, pin, to)
    _forget(local, INTENTION_FILE)
    old.retire()
    session.close()
    return aside


def _copy_again(old: Side, new: Side, identifier: str) -> None:
    for _ in carry.copy(old, new, identifier, old.position()):
        pass
    _compare(carry.Contents(old), carry.Contents(new, identifier))
    new.complete(identifier)


def follow(session: Session, error: Moved) -> bool:
    """A process met a moved store: finish the move if it is this machine's; returns whether to open the new store."""
    local = session.place.local
    before = session.store.address
    with FileMutex(f"{local}/{MUTEX_FILE}", MUTEX_TIMEOUT_S) as mutex:
        noted = _noted(local)
        if mutex.mine and noted.get("id") == error.moved:
            _finish_former(session)
    pin = opening.read_pin(local)
    if not pin.url:
        return False
    database = database_of(pin.url)
    return before != (pin.url if database is None else database.path_of(local, pin.url))


def _finish_former(session: Session) -> None:
    """An interrupted move: finish it if the old store has given up, else cancel it."""
    local = session.place.local
    noted = _noted(local)
    if not noted:
        return
    pin = opening.read_pin(local)
    if pin.url == noted["to"]:
        _forget(local, INTENTION_FILE)
        return
    old, new = _sides(session, noted["from"], noted["to"], replaces=bool(noted.get("replaces")))
    try:
        mark = old.mark()
        if mark.startswith(f"{moved_mark.MOVED} ") and moved_mark.is_of(mark, noted["id"]):
            _finish(session, old, new, noted["id"], pin, noted["to"])
        else:
            _take_back(local, old, new, noted["id"])
    finally:
        old.close()
        new.close()


def _follow_others(session: Session, old: Side, new: Side, pin: opening.Pin, to: str) -> dict[str, Any]:
    """Was it moved to that store already, from another machine? Then only the pin is left to change."""
    mark = old.mark()
    if not mark.startswith(f"{moved_mark.MOVED} "):
        return {}
    _, identifier, where = mark.split(" ", 2)
    if new.origin() != identifier:
        message = f"this workspace was moved to {where}, not to {hidden(to)}. Nothing was changed."
        raise Moved(message, moved=identifier, to=where)
    _pin(session.place.local, pin, to)
    session.close()
    return {"from": hidden(pin.url), "to": hidden(to), "followed": True}


def _pin(local: str, pin: opening.Pin, to: str) -> None:
    """The pin of the new store, with all earlier stores of this workspace."""
    fresh = opening.Pin(to)
    before = [*pin.former, pin.url, pin.fallback]
    fresh.former = [url for url in dict.fromkeys(before) if url and url != to]
    opening.write_pin(local, fresh)


def _take_back(local: str, old: Side, new: Side, identifier: str) -> None:
    """Cancel the move. If a store cannot be reached, its mark or its copy expires."""
    for undo in (old.thaw, new.drop):
        try:
            undo(identifier)
        except (Busy, Unavailable):
            pass
    _forget(local, INTENTION_FILE)


# --- the parts


def _sides(session: Session, old: str, new: str, *, replaces: bool) -> tuple[Side, Side]:
    return side_of(session, old), side_of(session, new, replaces=replaces)


def side_of(session: Session, url: str, *, replaces: bool = False) -> Side:
    """A store as a move sees it."""
    place = opening.Opening(session.place.local, url, session.config.id, max(session.timeout, 5.0))
    return engine_of(url).open_side(place, replaces=replaces)


def run_pinned(session: Session, operation: Operation, call: Call, fields: Fields) -> None:
    """Run one operation on the pinned store, ignoring the environment."""
    session.use(opening.open_pinned(session.place.local, session.config.id, session.timeout))
    try:
        session.run(operation, call, fields)
    finally:
        session.close()


def _note(local: str, what: Intention) -> None:
    text = jsontext.encode(what) + "\n"
    atomic_write.replace(f"{local}/{INTENTION_FILE}", text, mode=atomic_write.PRIVATE_MODE, sync=True)


def _noted(local: str) -> Intention:
    try:
        with open(f"{local}/{INTENTION_FILE}", encoding="utf-8") as file:
            found: Intention = jsontext.decode(file.read().strip())
    except (OSError, ValueError):
        return {}
    return found


def _forget(local: str, name: str) -> None:
    try:
        os.unlink(f"{local}/{name}")
    except FileNotFoundError:
        pass
