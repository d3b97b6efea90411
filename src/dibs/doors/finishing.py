"""What a door adds to an operation's answer: things of the file system, which operations do not touch."""

from __future__ import annotations

import os

from dibs.errors import Unavailable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dibs.doors.session import Session


def finish(session: Session, name: str, result: dict[str, Any]) -> dict[str, Any]:
    """The answer with what the file system has to say."""
    if name in {"rules", "boot"}:
        from dibs.doors import rules

        text = rules.text(session.place)
        if name == "rules":
            return {**result, "text": text}
        return {**result, "rules": {**result["rules"], "text": text}} if result["rules"] else result
    if name == "status":
        found = warnings(session)
        return {**result, "warnings": found} if found else result
    folder = os.path.join(session.place.root, result["scratch"])
    try:
        os.makedirs(folder, 0o700, exist_ok=True)
    except OSError as error:
        raise Unavailable(f"{folder} cannot be made: {error.strerror}", path=folder) from None
    return {**result, "scratch": folder}


def note_claim(session: Session, answer: dict[str, Any]) -> None:
    """A claim by hand, where guards are at work: keep what its files hold now, so that a violation can be undone."""
    from dibs.doors.hooks import journal, moments

    lines = []
    for name in answer["resources"]:
        real = os.path.join(session.place.top, name)
        if os.path.isfile(real):
            lines.append(moments.left_behind(session.place.local, os.path.realpath(real)))
    if lines:
        journal.append(session.place.local, answer["agent"], lines)


def warnings(session: Session) -> list[str]:
    """What is wrong with the store itself, as far as somebody should do something about it."""
    from dibs.doors import stores

    pin = stores.read_pin(session.place.local)
    if pin.fallback:
        from dibs.stores.redis_wire import hidden

        return [f"SQLite stands in for {hidden(pin.fallback)}, which did not start; `dibs up` comes back to it."]
    if not stores.is_redis(pin.url):
        return []
    from dibs.doors.server import Facts
    from dibs.stores.redis import RedisStore

    store = session.store
    assert isinstance(store, RedisStore)
    return Facts(store).warnings()
