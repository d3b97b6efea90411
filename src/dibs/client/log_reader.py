"""The log as one: the events of the store and, before them, those of the archives on this machine.

It has the store's verbs for reading the log (`events`, `head`, `look`), so that what reads pages of a store reads these
as well: `dibs log`, reports, stories, subscriptions. An archive that is lost, changed or on another machine is passed
over like a pruned stretch, so a page may have a gap; `missing` says which numbers were passed over, and why. Pages that
follow each other go through a file once.
"""

from __future__ import annotations

import os

from dibs.client.upkeep import log_archives
from dibs.machine import processes
from dibs.operations.upkeep.log_retention import ARCHIVES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator
    from typing import TypeVar

    from dibs.client.session import Session
    from dibs.operations.core.call import Call
    from dibs.operations.upkeep.records import Archive
    from dibs.stores.seam import Event, Head, Transaction

    T = TypeVar("T")

    class KnownArchive(Archive):
        """An archive, and where it is."""

        path: str
        here: bool  # on this machine


LOST = "their archive is missing"
DAMAGED = "their archive was changed"
ELSEWHERE = "their archive is on another machine"


class LogReader:
    """A session's log, archives included. Where the store begins is looked up once."""

    def __init__(self, session: Session, call: Call) -> None:
        self._session, self._call, self._store = session, call, session.store
        self._archives: list[KnownArchive] | None = None
        self._first = 0  # the first event in the store; 0: not known yet
        self._open: tuple[str, int, Iterator[Event]] | None = None  # the archive that is read, and how far
        self._sound: set[str] = set()  # archives that are what the record says
        self._gaps: dict[tuple[int, int], str] = {}  # numbers that were passed over → why

    def look(self, fn: Callable[[Transaction], T]) -> T:
        """A look at the store."""
        return self._store.look(fn)

    def head(self) -> Head:
        """Where the log ends."""
        return self._store.head()

    def archives(self) -> list[KnownArchive]:
        """The archives that this machine should have, the oldest first. A server's are on the server's machine."""
        return [one for one in self._known() if one["here"]]

    def _known(self) -> list[KnownArchive]:
        """All archives that the record names, the oldest first."""
        if self._archives is None:
            self._archives = []
            if self._session.is_far:
                return self._archives
            folder, host = log_archives.folder_of(self._session.place.local), processes.host()
            archives: list[Archive] = self._session.run(ARCHIVES, self._call, {})["archives"]
            for one in archives:
                path = os.path.join(folder, os.path.basename(one["file"]))
                here = one["host"] == host or os.path.exists(path)
                self._archives.append({**one, "path": path, "here": here})
        return self._archives

    def missing(self, after: int, through: int) -> list[tuple[int, int, str]]:
        """The numbers above `after`, up to `through`, that were passed over so far: from, to, why."""
        met = [numbers for numbers in sorted(self._gaps) if numbers[1] > after and numbers[0] <= through]
        return [(*numbers, self._gaps[numbers]) for numbers in met]

    def events(self, after: int = 0, limit: int = 1000) -> list[Event]:
        """Events with a number above `after`, in order, from wherever they are."""
        if not self._first or after + 1 >= self._first:
            page = self._store.events(after, limit)
            if not page or page[0].seq == after + 1:
                return page
            self._first = page[0].seq  # what is before it was pruned
        found: list[Event] = []
        for one in self._known():
            if one["last"] > after and len(found) < limit and one["first"] < self._first:
                found += self._from(one, max(after, one["first"] - 1), limit - len(found))
        if len(found) < limit:
            after = max(after, found[-1].seq if found else 0)  # store and archive may have the same events for a while
            found += self._store.events(max(after, self._first - 1), limit - len(found))
        return found

    def archived(self, kinds: Container[bytes]) -> Iterator[Event]:
        """The events of these kinds in the archives of this machine that the store no longer has."""
        first = next((event.seq for event in self._store.events(0, 1)), 0)
        for one in self._known():
            why = self._problem(one) if one["first"] < first else ELSEWHERE
            if why:
                continue
            try:
                for event in log_archives.read(one["path"], 0, kinds):
                    if event.seq >= first:
                        return
                    yield event
            except log_archives.DamagedError:
                continue

    def _from(self, archive: KnownArchive, after: int, limit: int) -> list[Event]:
        """Events of one archive; it stays open where it was left, for the page that follows."""
        found: list[Event] = []
        path, numbers = archive["path"], (archive["first"], archive["last"])
        try:
            if self._open is None or self._open[:2] != (path, after):
                self._open = None
                why = self._problem(archive)
                if why:
                    self._gaps[numbers] = why
                    return found
                self._open = (path, after, log_archives.read(path, after))
            stream = self._open[2]
            for event in stream:
                found.append(event)
                if len(found) == limit:
                    break
            self._open = (path, found[-1].seq, stream) if len(found) == limit else None
        except log_archives.DamagedError:
            self._open = None
            self._gaps[numbers] = DAMAGED
        return found

    def _problem(self, archive: KnownArchive) -> str:
        """Why an archive cannot be read, or must not be trusted; "" if nothing is wrong. It looks once at each file."""
        path = archive["path"]
        if not archive["here"]:
            return ELSEWHERE
        if path in self._sound:
            return ""
        try:
            if log_archives.digest_and_size(path)[0] != archive["sha256"]:
                return DAMAGED
        except FileNotFoundError:
            return LOST
        except OSError as error:
            return f"their archive cannot be read: {error.strerror}"
        self._sound.add(path)
        return ""
