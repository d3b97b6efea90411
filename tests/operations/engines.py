"""The same fleet on a real SQLite file or a real Redis server, with the same clock that only moves when told."""

from __future__ import annotations

import itertools
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine

from dibs.machine import clock
from dibs.stores.redis import epoch
from dibs.stores.redis.plain_socket import PlainWire
from dibs.stores.redis.store import RedisStore
from dibs.stores.sqlite import store as sqlite_store
from tests.operations.fleet import WALL, Fleet
from tests.stores.redis_server import tell_time

if TYPE_CHECKING:
    import pytest

    from dibs.stores.seam import Store
    from tests.stores.redis_server import Server

PROFILE = settings.get_profile(settings._current_profile or "default")
F = TypeVar("F", bound=Fleet)
CLOCK = ("since_boot", "wall", "random_id")
MEMORY = Path("/dev/shm")  # decisions are compared here, not durability


class OnFile(Fleet):
    """A fleet whose store is a file. Close it: it stands in the place of the machine's clock."""

    def __init__(self, **policy: Any) -> None:
        super().__init__(**policy)
        ids = itertools.count(1)
        self._folder = tempfile.TemporaryDirectory(prefix="dibs-", dir=MEMORY if MEMORY.is_dir() else None)
        path = f"{self._folder.name}/dibs.db"
        sqlite_store.create(path)
        self._clock = {name: getattr(clock, name) for name in CLOCK}
        stands_in = (lambda: self.now, lambda: self.now + WALL, lambda: f"{next(ids):012x}")
        for name, function in zip(CLOCK, stands_in, strict=True):
            setattr(clock, name, function)
        store = sqlite_store.SqliteStore(path)
        store._sql("PRAGMA synchronous = OFF")
        store._sql("UPDATE head SET boot = ?, base = 0, now = 0", (store._boot,))  # the same clock from the start
        self.store = store  # type: ignore[assignment]

    def close(self) -> None:
        """Close the file and give the clock back."""
        self.store.close()
        for name, function in self._clock.items():
            setattr(clock, name, function)
        self._folder.cleanup()


ENGINES = ("memory", "sqlite", "redis")


class OnEngine:
    """Puts fleets that have not begun on one of the engines, each with its own clock. One fleet in a test."""

    def __init__(self, engine: str, folder: Path, monkeypatch: pytest.MonkeyPatch, server: Server | None) -> None:
        self.engine, self._folder, self._monkeypatch, self._server = engine, folder, monkeypatch, server
        self._opened: list[Store] = []

    def __call__(self, fleet: F) -> F:
        """This fleet, on the engine."""
        if self.engine != "memory":
            ids = itertools.count(1)
            make = self._on_file if self.engine == "sqlite" else self._on_server
            store = make(fleet)
            for name, function in zip(
                CLOCK, (lambda: fleet.now, lambda: fleet.now + WALL, lambda: f"{next(ids):012x}"), strict=True
            ):
                self._monkeypatch.setattr(clock, name, function)
            self._opened.append(store)
            fleet.store = store  # type: ignore[assignment]
        return fleet

    def close(self) -> None:
        """Close the stores."""
        for store in self._opened:
            store.close()

    def _on_file(self, fleet: Fleet) -> Store:
        path = f"{self._folder}/dibs.db"
        sqlite_store.create(path)
        self._monkeypatch.setattr(clock, "since_boot", lambda: fleet.now)
        store = sqlite_store.SqliteStore(path)
        store._sql("UPDATE head SET boot = ?, base = 0, now = 0", (store._boot,))  # the same clock from the start
        return store

    def _on_server(self, fleet: Fleet) -> Store:
        assert self._server is not None
        workspace = clock.random_id()
        tell_time(self._monkeypatch)

        class Telling(PlainWire):
            def call(self, *words: Any) -> Any:
                if self._socket is not None and words[0] == "EVALSHA":
                    super().call("SET", f"{{dibs:{workspace}}}:clock", str(fleet.now))
                return super().call(*words)

        store = RedisStore(Telling(self._server.socket_url, 5.0), workspace)
        epoch.begin(store)
        self._monkeypatch.setattr(clock, "since_boot", lambda: fleet.now)
        return store


class MachineOnFile(RuleBasedStateMachine):
    """What comes before a state machine whose fleet is to be on a file."""

    fleet: Fleet

    def make(self, **policy: Any) -> Fleet:
        """The engine."""
        return OnFile(**policy)

    def teardown(self) -> None:
        """What the machine does at its end, and the clock is given back."""
        assert isinstance(self.fleet, OnFile)
        try:
            super().teardown()
        finally:
            self.fleet.close()
