"""A store whose decisions are committed in groups, for code that expects a store (a session in a thread of a server).

All verbs are the store's own but `run`, which joins a group. `close` leaves the store open: it belongs to the server.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import TypeVar

    from dibs.server.group_commit import GroupCommit
    from dibs.stores.seam import Check, Description, Event, Head, Outcome, Seal, Transaction

    T = TypeVar("T")


class GroupStore:
    """The seam's verbs, with `run` through the group commit."""

    def __init__(self, group: GroupCommit) -> None:
        self._group, self._store = group, group.store
        self._settles = 0  # the thread that settles the store; its transactions cannot wait for another thread

    def run(self, fn: Callable[[Transaction], T]) -> T:
        """Run `fn` in one serialisable transaction, together with those of others."""
        if self._settles == threading.get_ident():
            return self._store.run(fn)
        return self._group.decide(fn)

    def run_many(self, fns: Sequence[Callable[[Transaction], Any]]) -> list[Outcome]:
        """Run several at once; they are a group of their own."""
        return self._store.run_many(fns)

    def is_free(self) -> bool:
        """The store's own guess."""
        return self._store.is_free()

    def look(self, fn: Callable[[Transaction], T]) -> T:
        """Run `fn` on one consistent snapshot."""
        return self._group.look(fn)

    def settle(self, fn: Callable[[], bool]) -> None:
        """Let `fn` give up what rests on lost commits."""

        def settling() -> bool:
            self._settles = threading.get_ident()
            try:
                return fn()
            finally:
                self._settles = 0

        self._store.settle(settling)

    def watch(self, name: str) -> None:
        """Start to listen for `name`."""
        self._store.watch(name)

    def wait(self, name: str, timeout: float) -> bool:
        """Wait until `name` is woken."""
        return self._store.wait(name, timeout)

    def unwatch(self, name: str) -> None:
        """Stop listening for `name`."""
        self._store.unwatch(name)

    def wall_ahead(self) -> int:
        """The store's own."""
        return self._store.wall_ahead()

    def tidy(self) -> int:
        """Remove leftovers of dead processes."""
        return self._store.tidy()

    def spare(self) -> int:
        """The store's own."""
        return self._store.spare()

    def compact(self) -> int:
        """The store's own."""
        return self._store.compact()

    def head(self) -> Head:
        """Where the log ends."""
        return self._store.head()

    def events(self, after: int = 0, limit: int = 1000) -> list[Event]:
        """Events with a number above `after`, in order."""
        return self._store.events(after, limit)

    def follow(self, after: int, timeout: float) -> bool:
        """Wait until the log has an event with a number above `after`."""
        return self._store.follow(after, timeout)

    def seals(self) -> list[Seal]:
        """The seals, in order."""
        return self._store.seals()

    @property
    def address(self) -> str:
        """The store's own."""
        return self._store.address

    def describe(self) -> Description:
        """The store's own description."""
        return self._store.describe()

    def check(self) -> Iterator[Check]:
        """The store's own checks."""
        return self._store.check()

    @property
    def queued(self) -> int:
        """The store's own count."""
        return self._store.queued

    def close(self) -> None:
        """Nothing: others use the store."""
