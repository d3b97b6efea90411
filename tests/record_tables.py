"""Holds what operations write to the definitions of events and keys (operations/*/events.py, records.py).

`hold` puts itself in the way of every engine's `append` and `put` in this process. A kind that is not defined, data
that is not of its kind's type, or a key of no known form fails the test that wrote it.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, is_typeddict

from dibs import operations
from dibs.operations.core.event_kinds import KINDS
from dibs.stores import seam
from dibs.stores.redis.transaction import RedisTransaction
from dibs.testing.memory import MemoryTransaction
from tests import declared

if TYPE_CHECKING:
    import pytest

RECORDS = Path(__file__).resolve().parent.parent / "docs" / "internals" / "records.md"


@cache
def types() -> dict[str, Any]:
    """The type of each kind's data, by the kind that its docstring begins with."""
    rooms = [room.name for room in pkgutil.iter_modules(operations.__path__) if room.ispkg]
    found = {}
    for room in rooms:
        with suppress(ModuleNotFoundError):
            named = vars(importlib.import_module(f"dibs.operations.{room}.events")).values()
            found.update({(kind.__doc__ or "").partition(":")[0]: kind for kind in named if is_typeddict(kind)})
    return {kind: data for kind, data in found.items() if kind in KINDS}


@cache
def prefixes() -> set[str]:
    """The beginnings of all keys, from the table that is made of the records.py: reading those takes a second."""
    table = RECORDS.read_text().split("<!-- records:", 1)[1].split("<!--", 1)[0]
    return {prefix_of(line.split("`")[1]) for line in table.splitlines() if line.startswith("| `")}


def prefix_of(key: str) -> str:
    """The part of a key that tells its kind."""
    first = key.replace("⇥", "\t").partition("\t")[0]
    if first.startswith("r/"):
        return "r"
    return first[0] if ":" in first or first == "nNAME" else first


def wrong_event(kind: str, data: dict[str, Any]) -> str:
    """What the definitions have against an event; "" if nothing."""
    if kind not in types():
        return f"{kind} is not defined; each room has its kinds of events in its events.py"
    wrong = declared.checks(types()[kind])(data)
    return f"{kind}{wrong}" if wrong else ""


def wrong_key(key: str) -> str:
    """What the definitions have against a key; "" if nothing."""
    return "" if prefix_of(key) in prefixes() else f"{key!r} is not defined; each room has its keys in its records.py"


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
