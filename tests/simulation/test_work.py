"""The simulation of work, in the ordinary run and, with DIBS_TORTURE=1, at its full size. DIBS_SEED replays one run."""

from __future__ import annotations

import os
import random
from typing import TYPE_CHECKING, Any

import pytest

from dibs.facts import clock
from dibs.lookout.verify import verify_store
from dibs.stores import sqlite
from tests.simulation.work import Work

if TYPE_CHECKING:
    from pathlib import Path

    from dibs.stores.seam import Store
    from tests.simulation.world import World

TORTURE = bool(os.environ.get("DIBS_TORTURE"))
OPERATIONS = 20_000 if TORTURE else 3_000  # in one run; half of them find their agent asleep or idle
RUNS = 20 if TORTURE else 10
CHECK_EVERY = 250
SEEDS = [int(os.environ["DIBS_SEED"])] if "DIBS_SEED" in os.environ else list(range(1, RUNS + 1))
TRACED = 10_000 if TORTURE else 1_200


@pytest.mark.parametrize("seed", SEEDS)
def test_no_task_is_lost_none_finished_twice_none_starved_whatever_happens_to_who_works(seed: int) -> None:
    world = Work(seed)
    step = 0
    try:
        for step in range(OPERATIONS):
            world.step()
            if step % CHECK_EVERY == 0:
                world.placed()
        world.check()
    except BaseException as error:
        error.add_note(f"replay with: DIBS_SEED={seed} pytest {__file__} (step {step}, at {world.now})")
        raise
    ledger = world.ledger
    print(f"seed {seed}: {ledger.completed} tasks, {ledger.lost} times lost, {ledger.refused} late ones refused")
    assert ledger.completed > OPERATIONS / 40
    assert ledger.lost > OPERATIONS / 200
    assert ledger.refused > OPERATIONS / 200


# --- parity


def trace(world: Work) -> tuple[list[Any], list[Any]]:
    """Everything that was answered and everything that was logged."""
    world.keep_trace = True
    for _ in range(TRACED):
        world.step()
    events: list[Any] = []
    while page := world.store.events(events[-1][0] if events else 0):
        events += [(e.seq, e.commit, e.now, e.wall, e.body, e.link) for e in page]
    assert verify_store(world.store).ok
    return world.trace, events


def on_sqlite(seed: int, path: Path, monkeypatch: pytest.MonkeyPatch) -> Work:
    """Work on a real SQLite file, on the world's own clock."""

    def make(world: World) -> Store:
        sqlite.create(str(path / "dibs.db"))
        monkeypatch.setattr(clock, "since_boot", lambda: world.now)
        monkeypatch.setattr(clock, "wall", lambda: world.now + world.wall_offset)
        monkeypatch.setattr(clock, "random_id", world.new_id)
        store = sqlite.SqliteStore(str(path / "dibs.db"))
        store._sql("PRAGMA synchronous = OFF")  # what is compared here is decisions, not durability
        store._sql("UPDATE head SET boot = ?, base = 0, now = 0", (store._boot,))  # the same clock from the start
        return store

    return Work(seed, make, aborts=0)


@pytest.mark.parametrize("seed", [201, 202, 203])
def test_memory_and_sqlite_decide_and_log_the_same_about_work(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected, expected_events = trace(Work(seed, aborts=0))
    world = on_sqlite(seed, tmp_path, monkeypatch)
    found, events = trace(world)
    for one, other in zip(expected, found, strict=True):
        assert one == other, f"seed {seed}"
    assert events == expected_events, f"seed {seed}"
    world.store.close()


@pytest.mark.parametrize("seed", [201, 202])
def test_work_in_transactions_that_are_aborted_and_run_again_is_decided_the_same(seed: int) -> None:
    expected, expected_events = trace(Work(seed, aborts=0))
    world = Work(seed, aborts=0)
    tosses = random.Random(seed)
    world.store._abort = lambda: tosses.random() < 0.5  # type: ignore[attr-defined]
    world.store._between = None  # type: ignore[attr-defined]
    found, events = trace(world)
    assert found == expected, f"seed {seed}"
    assert events == expected_events, f"seed {seed}"
