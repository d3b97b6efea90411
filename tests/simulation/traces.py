"""Traces of a simulated world, to be compared: the same steps on another engine, or in transactions run again."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

from dibs.machine import clock
from dibs.stores.sqlite import store as sqlite_store
from dibs.verify.checker import verify_store
from tests.simulation.world import World

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pytest

    from dibs.stores.seam import Store

    Maker = Callable[[World], Store]


def trace(world: World, steps: int) -> tuple[list[Any], list[Any]]:
    """Everything that was answered and everything that was logged."""
    world.keep_trace = True
    for _ in range(steps):
        world.step()
    events: list[Any] = []
    while page := world.store.events(events[-1][0] if events else 0):
        events += [(e.seq, e.commit, e.now, e.wall, e.body, e.link) for e in page]
    assert verify_store(world.store).ok
    return world.trace, events


def same(one: Callable[[], World], other: Callable[[], World], steps: int) -> None:
    """Two worlds answer and log the same. The second is made when the first is through: it may take over the clock."""
    expected, expected_events = trace(one(), steps)
    world = other()
    found, events = trace(world, steps)
    for answer, another in zip(expected, found, strict=True):
        assert answer == another
    assert events == expected_events
    world.store.close()


def on_sqlite(path: Path, monkeypatch: pytest.MonkeyPatch) -> Maker:
    """What makes a world's store a real SQLite file, on the world's own clock."""

    def make(world: World) -> Store:
        sqlite_store.create(str(path / "dibs.db"))
        monkeypatch.setattr(clock, "since_boot", lambda: world.now)
        monkeypatch.setattr(clock, "wall", lambda: world.now + world.wall_offset)
        monkeypatch.setattr(clock, "random_id", world.new_id)
        store = sqlite_store.SqliteStore(str(path / "dibs.db"))
        store._sql("PRAGMA synchronous = OFF")  # what is compared here is decisions, not durability
        store._sql("UPDATE head SET boot = ?, base = 0, now = 0", (store._boot,))  # the same clock from the start
        return store

    return make


def aborting(world: World, seed: int) -> World:
    """The world, in which a transaction is as likely as not thrown away and run again."""
    tosses = random.Random(seed)
    world.store.faults.abort = lambda: tosses.random() < 0.5  # type: ignore[attr-defined]
    world.store.faults.between = None  # type: ignore[attr-defined]
    return world
