"""A Redis server for each file that asks for one, and stores on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from dibs.machine import clock
from tests.stores.redis_server import Server, opened, running

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dibs.stores.redis.store import RedisStore


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running() as started:
        yield started


@pytest.fixture
def fresh(server: Server) -> Iterator[Callable[..., RedisStore]]:
    """Open stores of one new workspace; closed at the end."""
    made: list[RedisStore] = []
    name = clock.random_id()

    def another(url: str = "", **how: Any) -> RedisStore:
        made.append(opened(url or server.socket_url, name, **how))
        return made[-1]

    yield another
    for store in made:
        store.close()
