"""The log as one: the events of the store and, before them, those of the archives on this machine.

It has the store's verbs for reading the log (`events`, `head`, `look`), so that what reads pages of a store reads these
as well: `dibs log`, reports, stories, subscriptions. An archive that cannot be read is passed over like a pruned
stretch, so a page may have a gap; `dibs verify` says what is wrong with it. Pages that follow each other go through a
file once.
"""

from __future__ import annotations

import os

from dibs.facts import processes
from dibs.operations.upkeep.log_retention import ARCHIVES
from dibs.storage import log_archives

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from dibs.operations.core.call import Call
    from dibs.session.session import Session
    from dibs.stores.seam import Event, Head


class LogReader:
    """A session's log, archives included. Where the store begins is looked up once."""

    def __init__(self, session: Session, call: Call) -> None:
        self._session, self._call, self._store = session, call, session.store
        self._archives: list[dict[str, Any]] | None = None
        self._first = 0  # the first event in the store; 0: not known yet
        self._open: tuple[str, int, Iterator[Event]] | None = None  # the archive that is read, and how far

    def look(self, fn: Callable[[Any], Any]) -> Any:
        """A look at the store."""
        return self._store.look(fn)

    def head(self) -> Head:
        """Where the log ends."""
        return self._store.head()

    def archives(self) -> list[dict[str, Any]]:
        """The archives that this machine should have, the oldest first. A server's are on the server's machine."""
        if self._archives is None:
            self._archives = [] if self._session.is_far else self._named()
        return self._archives

    def _named(self) -> list[dict[str, Any]]:
        folder, host = log_archives.folder_of(self._session.place.local), processes.host()
        known = self._session.run(ARCHIVES, self._call, {})["archives"]
        placed = [{**one, "path": os.path.join(folder, os.path.basename(one["file"]))} for one in known]
        return [one for one in placed if one["host"] == host or os.path.exists(one["path"])]

    def events(self, after: int = 0, limit: int = 1000) -> list[Event]:
        """Events with a number above `after`, in order, from wherever they are."""
        if not self._first or after + 1 >= self._first:
            page = self._store.events(after, limit)
            if not page or page[0].seq == after + 1:
                return page
            self._first = page[0].seq  # what is before it was pruned
        found: list[Event] = []
        for one in self.archives():
            if one["last"] > after and len(found) < limit and one["first"] < self._first:
                found += self._from(one["path"], max(after, one["first"] - 1), limit - len(found))
        if len(found) < limit:
            found += self._store.events(max(after, self._first - 1), limit - len(found))
        return found

    def _from(self, path: str, after: int, limit: int) -> list[Event]:
        """Events of one archive; it stays open where it was left, for the page that follows."""
        found: list[Event] = []
        try:
            if self._open is None or self._open[:2] != (path, after):
                self._open = (path, after, log_archives.read(path, after))
            stream = self._open[2]
            for event in stream:
                found.append(event)
                if len(found) == limit:
                    break
            self._open = (path, found[-1].seq, stream) if len(found) == limit else None
        except log_archives.DamagedError:
            self._open = None
        return found
