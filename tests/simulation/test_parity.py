"""Engine parity: the same random trace gives the same decisions and the same events on every engine."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from dibs.machine import clock
from dibs.stores.redis import epoch
from dibs.stores.redis.plain_socket import PlainWire
from dibs.stores.redis.store import RedisStore
from tests.simulation.traces import aborting, on_sqlite, same
from tests.simulation.world import World
from tests.stores.redis_server import Server, running, tell_time

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from dibs.stores.seam import Store

TORTURE = bool(os.environ.get("DIBS_TORTURE"))
OPERATIONS = 20_000 if TORTURE else 1_000
SEEDS = [int(os.environ["DIBS_SEED"])] if "DIBS_SEED" in os.environ else [101, 102, 103, 104]


@pytest.mark.parametrize("seed", SEEDS)
def test_memory_and_sqlite_decide_and_log_the_same(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    same(lambda: World(seed, aborts=0), lambda: World(seed, on_sqlite(tmp_path, monkeypatch), aborts=0), OPERATIONS)


class OneClock(World):
    """A world whose wall clock is its only clock, as a Redis server's is."""

    @property
    def wall_offset(self) -> int:
        return 0

    @wall_offset.setter
    def wall_offset(self, _: int) -> None:
        """It does not jump."""


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running() as started:
        yield started


def on_redis(seed: int, server: Server, monkeypatch: pytest.MonkeyPatch) -> World:
    """A world whose store is on a real server, which asks the world for the time and begins to count at 0."""
    tell_time(monkeypatch)

    class Telling(PlainWire):
        def call(self, *words: Any) -> Any:
            if self._socket is not None and words[0] == "EVALSHA":
                super().call("SET", f"{{dibs:{seed}}}:clock", str(world[0].now))
            return super().call(*words)

    world: list[World] = []

    def make(made: World) -> Store:
        world.append(made)
        store = RedisStore(Telling(server.socket_url, 5.0), str(seed))
        monkeypatch.setattr(epoch, "next_number", lambda _: 0)
        epoch.begin(store)
        monkeypatch.setattr(clock, "since_boot", lambda: made.now)
        monkeypatch.setattr(clock, "wall", lambda: made.now)
        monkeypatch.setattr(clock, "random_id", made.new_id)
        monkeypatch.setattr("dibs.stores.redis.store._chance", lambda: 0.5)  # how long it pauses decides nothing
        return store

    return OneClock(seed, make, aborts=0)


@pytest.mark.parametrize("seed", SEEDS if TORTURE else SEEDS[:2])  # each question is a trip
def test_memory_and_redis_decide_and_log_the_same(seed: int, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    same(lambda: OneClock(seed, aborts=0), lambda: on_redis(seed, server, monkeypatch), OPERATIONS)


@pytest.mark.parametrize("seed", SEEDS)
def test_transactions_that_are_aborted_and_run_again_decide_the_same(seed: int) -> None:
    """Operations are pure: running a transaction again changes neither the answer nor the log."""
    same(lambda: World(seed, aborts=0), lambda: aborting(World(seed, aborts=0), seed), OPERATIONS)
