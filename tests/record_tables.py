"""Holds what operations write to the tables of event kinds and of keys (operations/core/events.py, keys.py).

`hold` puts itself in the way of every engine's `append` and `put` in this process. A kind that is not in the table,
data under a name that its row does not mention, or a key of no known form fails the test that wrote it.
"""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Any

from dibs.operations.core import events, keys
from dibs.stores import seam
from dibs.stores.redis.transaction import RedisTransaction
from dibs.testing.memory import MemoryTransaction

if TYPE_CHECKING:
    import pytest

NAMES = {
    kind: set(re.findall(r"[a-z0-9_]+", " ".join(re.findall(r"`([^`]*)`", row[2]))))
    for kind, row in events.KINDS.items()
}


def prefix_of(key: str) -> str:
    """The part of a key that tells its kind."""
    first = key.replace("⇥", "\t").partition("\t")[0]
    if first.startswith("r/"):
        return "r"
    return first[0] if ":" in first or first == "nNAME" else first


PREFIXES = {prefix_of(form) for form in keys.KEYS}
ANY = "event.emitted"  # its data is the agent's


def wrong_event(kind: str, data: dict[str, Any]) -> str:
    """What the table has against an event; "" if nothing."""
    if kind not in events.KINDS:
        return f"{kind} is no kind of event; operations/core/events.py has them all"
    strange = set(data) - NAMES[kind] - {"request"}
    return (
        f"the row of {kind} in operations/core/events.py does not mention {', '.join(sorted(strange))}"
        if strange
        else ""
    )


def wrong_key(key: str) -> str:
    """What the table has against a key; "" if nothing."""
    return "" if prefix_of(key) in PREFIXES else f"{key!r} is no key; operations/core/keys.py has them all"


def _from_an_operation() -> bool:
    return str(sys._getframe(2).f_globals.get("__name__", "")).startswith("dibs.operations.")


def hold(patch: pytest.MonkeyPatch) -> None:
    """From now on."""
    append = seam.BaseTransaction.append

    def held_append(self: Any, kind: str, agent: str, subject: str, data: Any) -> None:
        wrong = wrong_event(kind, data) if _from_an_operation() else ""
        assert not wrong, wrong
        append(self, kind, agent, subject, data)

    patch.setattr(seam.BaseTransaction, "append", held_append)
    for engine in (MemoryTransaction, RedisTransaction):
        _hold_put(patch, engine)


def _hold_put(patch: pytest.MonkeyPatch, engine: Any) -> None:
    put = engine.put

    def held_put(self: Any, key: str, value: Any, i1: str | None = None, i2: str | None = None) -> None:
        wrong = wrong_key(key) if _from_an_operation() else ""
        assert not wrong, wrong
        put(self, key, value, i1, i2)

    patch.setattr(engine, "put", held_put)
