"""The same fleet on a real SQLite file, with the same clock that only moves when told."""

from __future__ import annotations

import itertools
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine

from dibs.facts import clock
from dibs.stores.sqlite import store as sqlite_store
from tests.operations.fleet import WALL, Fleet

PROFILE = settings.get_profile(settings._current_profile or "default")
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
