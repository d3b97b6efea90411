"""An engine that dibs never heard of, for test_new_engine.py.

The memory engine, whose state is loaded from a file before each transaction and saved after it.
"""

from __future__ import annotations

import os
import pickle

from dibs.errors import Unavailable
from dibs.machine import atomic_write
from dibs.machine.file_mutex import FileMutex
from dibs.testing.memory import MemoryStore

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from dibs.stores.opening import Opening
    from dibs.stores.seam import Outcome, T, Transaction
    from dibs.stores.turns import A

STATE = ("_rows", "_keys", "_entries", "_events", "_seals", "_head")


def open_store(opening: Opening) -> ToyStore:
    """Open the toy; a new one is made."""
    store = ToyStore(opening.url.partition(":")[2] or f"{opening.local}/toy.db", opening.timeout)
    if not opening.is_pinned:
        store.save()
    elif not os.path.exists(store.address):
        raise Unavailable(f"{store.address} is gone", path=store.address)
    return store


class ToyStore(MemoryStore):
    """A store that several processes share, one at a time."""

    def __init__(self, path: str, timeout: float = 5.0) -> None:
        super().__init__()
        self._path, self._timeout = path, timeout

    @property
    def address(self) -> str:
        """The file."""
        return self._path

    def save(self) -> None:
        """Write all of it."""
        state = {name: self.__dict__[name] for name in STATE}
        atomic_write.replace(self._path, pickle.dumps(state), mode=atomic_write.PRIVATE_MODE, sync=True)

    def _load(self) -> None:
        with open(self._path, "rb") as file:
            self.__dict__.update(pickle.loads(file.read()))  # noqa: S301 - what `save` wrote

    def _run(self, fn: Callable[[Transaction], T]) -> T:
        return self._saved(super()._run, fn)

    def _run_many(self, fns: Sequence[Callable[[Transaction], Any]]) -> list[Outcome]:
        return self._saved(super()._run_many, fns)

    def _saved(self, run: Callable[[A], T], what: A) -> T:
        with FileMutex(f"{self._path}.lock", self._timeout):
            self._load()
            result = run(what)
            self.save()
            return result

    def _look(self, fn: Callable[[Transaction], T]) -> T:
        self._load()
        return super()._look(fn)
