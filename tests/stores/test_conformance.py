"""The conformance suite on every engine: memory, memory with aborted and re-run transactions, SQLite, Redis.

Redis twice: over the plain socket, and through redis-py.
"""

from __future__ import annotations

import itertools
import random
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dibs.machine import clock
from dibs.stores.redis import epoch
from dibs.stores.redis.client import ClientWire
from dibs.stores.redis.plain_socket import PlainWire
from dibs.stores.redis.store import RedisStore
from dibs.stores.sqlite import store as sqlite_store
from dibs.testing import conformance
from dibs.testing.memory import MemoryStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dibs.stores.redis.wire import Wire
    from dibs.stores.seam import Store

ENGINES = ("memory", "memory, aborting", "sqlite", "redis", "redis through redis-py")


@pytest.fixture
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[], Store]]:
    """Open new, empty stores of one engine; closed at the end."""
    opened: list[Store] = []
    numbers = itertools.count()

    def fresh() -> Store:
        store: Store
        if request.param == "sqlite":
            folder = tmp_path / str(next(numbers))
            folder.mkdir()
            sqlite_store.create(str(folder / "dibs.db"))
            store = sqlite_store.SqliteStore(str(folder / "dibs.db"))
        elif request.param.startswith("redis"):
            there = request.getfixturevalue("server")
            wire: Wire = ClientWire(there.url, 5.0) if "redis-py" in request.param else PlainWire(there.url, 5.0)
            store = RedisStore(wire, clock.random_id(), memory=str(tmp_path / str(next(numbers))))
            epoch.begin(store)
        elif request.param == "memory, aborting":
            chance = random.Random(7)
            store = MemoryStore(abort=lambda: chance.random() < 0.4)
        else:
            store = MemoryStore()
        opened.append(store)
        return store

    yield fresh
    for store in opened:
        store.close()


@pytest.mark.parametrize("make", ENGINES, indirect=True)
@pytest.mark.parametrize("case", conformance.CASES, ids=lambda case: case.__name__)
def test_every_engine_conforms(case: Callable[[Callable[[], Store]], None], make: Callable[[], Store]) -> None:
    case(make)


def test_the_suite_lists_every_case_it_has() -> None:
    written = {name for name, value in vars(conformance).items() if callable(value) and name[:1].islower()}
    written -= {"digest_of", "link_of", "prefix_range", "read_event", "_put"}
    assert written == {case.__name__ for case in conformance.CASES}
