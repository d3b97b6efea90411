"""The simulation with pools: on the memory engine with crashes and aborts, and the same trace on every engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.simulation import test_parity
from tests.simulation.pool_world import PoolWorld
from tests.simulation.test_parity import OneClock, server
from tests.simulation.traces import on_sqlite, same

if TYPE_CHECKING:
    from pathlib import Path

    from tests.stores.redis_server import Server

__all__ = ["server"]  # a fixture

SEEDS = test_parity.SEEDS[:2]
OPERATIONS = 20_000 if test_parity.TORTURE else 3_000


@pytest.mark.parametrize("seed", test_parity.SEEDS)
def test_units_are_never_given_to_two_and_nothing_is_left(seed: int) -> None:
    world = PoolWorld(seed)
    step = 0
    try:
        for step in range(OPERATIONS):  # noqa: B007 - the note below says how far it came
            world.step()
            world.check_units()
        world.check()
    except BaseException as error:
        error.add_note(f"replay with: DIBS_SEED={seed} pytest {__file__} (step {step}, at {world.now})")
        raise
    assert min(world.got.values()) > 5, world.got


@pytest.mark.parametrize("seed", SEEDS)
def test_memory_and_sqlite_decide_the_same_of_pools(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    same(lambda: PoolWorld(seed, aborts=0), lambda: PoolWorld(seed, on_sqlite(tmp_path, monkeypatch), aborts=0), 1_000)


class OneClockOfPools(OneClock, PoolWorld):
    """The world with pools, whose wall clock is its only clock."""


def test_memory_and_redis_decide_the_same_of_pools(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(test_parity, "OneClock", OneClockOfPools)
    same(lambda: OneClockOfPools(7, aborts=0), lambda: test_parity.on_redis(7, server, monkeypatch), 1_000)
