"""Carrying all that a store holds into another one: rows with their entries, log, seals, numbers, clock.

Two sides offer the same verbs, one for each engine (sqlite_side.py, redis_side.py). The old side is frozen first, so
that nothing is written to it; the new side is filled where nobody looks (`stage`), read back and compared, and only
takes its place when the old one has given it up (`publish`). Who calls them in which order is storage/store_move.py.

`now` goes on: the new side's clock begins where the old one's stands, so that a deadline keeps its remaining life.
Numbers go on: the new side's first commit is above the old one's last.
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
        """One store, as a move sees it. Nothing here minds the marks that keep others out."""

        where: str

        def freeze(self, identifier: str, where: str) -> Frozen:
            """From now on nobody writes, for a while; where it stands. Asked again, it goes on for a while."""

        def standing(self) -> Frozen:
            """Where a store stands that has given up."""

        def thaw(self, identifier: str) -> None:
            """Nothing came of it: all goes on here."""

        def give_up(self, identifier: str, where: str, commit: int) -> bool:
            """For good: this store is no longer in charge. False if it moved on meanwhile, and then it still is."""

        def mark(self) -> str:
            """What it says of itself: `moved ID WHERE`, `moving …` or nothing."""

        def origin(self) -> str:
            """The id of the move that filled this store; empty if none did or there is no store."""

        def in_use(self) -> str:
            """Why nothing can be put in this place, or nothing."""

        def stage(self, identifier: str, frozen: Frozen) -> None:
            """Make an empty place that nobody else looks at; what an earlier attempt left is dropped."""

        def fill(self, identifier: str, rows: list[Row], events: list[Event], seals: list[Seal]) -> None:
            """Put some of it there."""

        def rows(self, identifier: str = "") -> Iterator[Row]:
            """All rows in the order of their keys: of the store, or of the place that a move fills."""

        def entries(self, identifier: str = "") -> Iterator[tuple[int, str, str]]:
            """All index entries as (index, entry, key), in any order."""

        def events(self, identifier: str = "") -> Iterator[Event]: ...

        def seals(self, identifier: str = "") -> list[Seal]: ...

        def staged(self, identifier: str) -> bool:
            """Is the place there and known to be complete?"""

        def complete(self, identifier: str) -> None:
            """It was compared and is complete."""

        def drop(self, identifier: str) -> None:
            """Nothing came of it: take away what was filled."""

        def publish(self, identifier: str) -> str:
            """What was staged takes the store's place, at once; where what stood there is kept, if anything did."""

        def retire(self) -> None:
            """The copy is in charge: what is left here may go one day."""

        def close(self) -> None: ...


PAGE = 500  # rows or events at a time


class Frozen:
    """Where a store stands that nobody writes to: its last number and event, and its clock beside the machine's."""

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
            if self.rows % PAGE == 0:
                beat()
            self.rows += 1
            digest.update(_line(*row))
        for event in side.events(identifier):
            if self.events % PAGE == 0:
                beat()
            self.events += 1
            digest.update(_line(event.seq, event.commit, event.now, event.wall, event.link, event.body))
        seals = side.seals(identifier)
        self.seals = len(seals)
        for seal in seals:
            digest.update(_line(seal.seq, seal.link, seal.body))
        total = 0  # of digests: the sum does not mind the order
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
    """All of it, a page at a time; between the pages the caller keeps the old side frozen."""
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
        if len(page) == PAGE:
            yield page
            page = []
    if page:
        yield page


def _line(*parts: object) -> bytes:
    return ("\0".join([str(part) for part in parts]) + "\n").encode(errors="surrogatepass")
