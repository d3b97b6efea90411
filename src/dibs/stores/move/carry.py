"""Copying a whole store into another one: rows with their index entries, log, seals, numbers, clock.

Two sides offer the same verbs, one for each engine (`move_side.py` in its folder). The old side is frozen first, so
that nothing is written to it. The new side is filled out of sight (`stage`), read back and compared. It takes over
(`publish`) only after the old side has given up. client/store_move.py calls the verbs in order.

The clock continues: the new side's `now` begins where the old side's stands, so a deadline keeps its remaining life.
Numbers continue: the new side's first commit is above the old side's last.
"""

from __future__ import annotations

from hashlib import sha256

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Protocol, TypeVar

    from dibs.stores.seam import Event, Seal

    T = TypeVar("T")
    Row = tuple[str, int, str, str, str]  # key, number of the commit that wrote it, its two entries, its JSON text

    class Side(Protocol):
        """One store, as a move sees it. These verbs ignore the marks that keep other callers out."""

        where: str

        def freeze(self, identifier: str, where: str) -> Frozen:
            """Block writers for a limited time and return the store's position. Calling it again extends the time."""

        def position(self) -> Frozen:
            """The position of a store that has given up."""

        def thaw(self, identifier: str) -> None:
            """Cancel the move: this store accepts writes again."""

        def give_up(self, identifier: str, where: str, commit: int) -> bool:
            """Give up for good: this store is no longer in charge.

            False, and nothing changes, if a commit came in between.
            """

        def mark(self) -> str:
            """The store's mark: `moved ID WHERE`, `moving …` or empty."""

        def origin(self) -> str:
            """The id of the move that filled this store; empty if none did or there is no store."""

        def in_use(self) -> str:
            """Why this place cannot be filled; empty if it can."""

        def stage(self, identifier: str, frozen: Frozen) -> None:
            """Make an empty place that no other process looks at; leftovers of an earlier attempt are dropped."""

        def fill(self, identifier: str, rows: list[Row], events: list[Event], seals: list[Seal]) -> None:
            """Write one page to the staged place."""

        def rows(self, identifier: str = "") -> Iterator[Row]:
            """All rows in the order of their keys: of the store, or of the place that a move fills."""

        def entries(self, identifier: str = "") -> Iterator[tuple[int, str, str]]:
            """All index entries as (index, entry, key), in any order."""

        def events(self, identifier: str = "") -> Iterator[Event]: ...

        def seals(self, identifier: str = "") -> list[Seal]: ...

        def staged(self, identifier: str) -> bool:
            """Is the place there and known to be complete?"""

        def complete(self, identifier: str) -> None:
            """Mark the staged place as compared and complete."""

        def drop(self, identifier: str) -> None:
            """Cancel the move: remove what was filled."""

        def publish(self, identifier: str) -> str:
            """Put the staged place in the store's place, in one step.

            Returns where the previous store is kept, if one was there.
            """

        def retire(self) -> None:
            """The copy is in charge: what is left here may expire."""

        def close(self) -> None: ...


PAGE_ROWS = 500  # rows or events at a time


class Frozen:
    """The position of a frozen store: its last number and event, and its clock next to the machine's."""

    __slots__ = ("commit", "last", "link", "now", "seq", "since", "since_boot")

    def __init__(self, commit: int, seq: int, link: str, last: int, now: int, since: int, since_boot: int) -> None:
        self.commit, self.seq, self.link, self.last = commit, seq, link, last
        self.now = now  # the store's clock at the moment when
        self.since_boot = since_boot  # the machine's was this
        self.since = since


class Contents:
    """How much a store holds, and a digest of all of it. `beat` is called now and then while it is read."""

    __slots__ = ("digest", "entries", "events", "rows", "seals")

    def __init__(self, side: Side, identifier: str = "", beat: Callable[[], None] = lambda: None) -> None:
        self.rows = self.events = self.entries = 0
        digest = sha256()
        for row in side.rows(identifier):
            if self.rows % PAGE_ROWS == 0:
                beat()
            self.rows += 1
            digest.update(_line(*row))
        for event in side.events(identifier):
            if self.events % PAGE_ROWS == 0:
                beat()
            self.events += 1
            digest.update(_line(event.seq, event.commit, event.now, event.wall, event.link, event.body))
        seals = side.seals(identifier)
        self.seals = len(seals)
        for seal in seals:
            digest.update(_line(seal.seq, seal.link, seal.body))
        total = 0  # of digests: a sum does not depend on the order
        for index, entry, key in side.entries(identifier):
            self.entries += 1
            total += int.from_bytes(sha256(_line(index, entry, key)).digest(), "big")
        digest.update(_line(total))
        self.digest: str = digest.hexdigest()

    def as_json(self) -> dict[str, object]:
        """For people and programs."""
        return {"rows": self.rows, "entries": self.entries, "events": self.events, "seals": self.seals,
                "digest": self.digest}  # fmt: skip


def copy(old: Side, new: Side, identifier: str, frozen: Frozen) -> Iterator[None]:
    """Copy everything, a page at a time; between the pages the caller keeps the old side frozen."""
    new.stage(identifier, frozen)
    for rows in _pages(old.rows()):
        new.fill(identifier, rows, [], [])
        yield
    for events in _pages(old.events()):
        new.fill(identifier, [], events, [])
        yield
    new.fill(identifier, [], [], old.seals())


def _pages(found: Iterable[T]) -> Iterator[list[T]]:
    page: list[T] = []
    for one in found:
        page.append(one)
        if len(page) == PAGE_ROWS:
            yield page
            page = []
    if page:
        yield page


def _line(*parts: object) -> bytes:
    return ("\0".join([str(part) for part in parts]) + "\n").encode(errors="surrogatepass")
