"""The fleet of most tests here; a file whose agents need more makes its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.operations.engines import ENGINES, OnEngine
from tests.operations.fleet import Fleet
from tests.stores.redis_server import Server, running


@pytest.fixture
def fleet() -> Iterator[Fleet]:
    """Agents on the memory engine. After the test, their log must hold nothing that cannot have happened."""
    made = Fleet()
    yield made
    made.clean()


@pytest.fixture(scope="session")
def redis_server() -> Iterator[Server]:
    with running() as started:
        yield started


@pytest.fixture(params=ENGINES)
def on_engine(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[OnEngine]:
    """Each engine in turn, for the tests whose rules have to hold on all of them."""
    server = request.getfixturevalue("redis_server") if request.param == "redis" else None
    made = OnEngine(request.param, tmp_path, monkeypatch, server)
    yield made
    made.close()
