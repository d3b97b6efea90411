"""The sentence of each event of a page of the log, as `explain` says it (sentences.py has the words).

An event after the first of a claim, a wait or an interest names only its id. What it is about is kept here from the
events that pass; of one that began before the page, it is looked for in the events just before, no further.
"""

from __future__ import annotations

from dibs.audit import sentences
from dibs.audit.fold import BEGINS, is_over
from dibs.stores.seam import read_event

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.audit.answers import EventView
    from dibs.audit.events import Log
    from dibs.audit.sentences import Known
    from dibs.stores.seam import LogEvent

MAX_BEFORE = 300  # events before a page that are searched: two milliseconds
MAX_KNOWN = 20_000  # claims, waits and attempts that a listener of weeks remembers
LATER = frozenset({"claim.moved", "claim.ended", "claim.committed", "claim.renewed", "wait.ended", "interest.ended"})


class Telling:
    """Makes the sentences of pages that follow each other, or of one."""

    def __init__(self) -> None:
        self._known: dict[str, Known] = {}
        self._events: dict[int, LogEvent] = {}  # that were read for this page
        self._from = 0  # the first event that was read; those before it are searched once

    def read(self, event: LogEvent) -> None:
        """An event of the log passes, wanted or not."""
        self._events[event["seq"]] = event
        self._from = min(self._from or event["seq"], event["seq"])
        if event["kind"] in BEGINS:
            self._known[event["subject"]] = {"now": event["now"], "resources": event["data"].get("resources", ())}
            while len(self._known) > MAX_KNOWN:
                del self._known[next(iter(self._known))]

    def look(self, log: Log, views: list[EventView]) -> list[str]:
        """Look for what these are about, if it is not known; returns the agents whose names the sentences need."""
        if self._from > 1 and any(one["kind"] in LATER and one["subject"] not in self._known for one in views):
            after = max(0, self._from - 1 - MAX_BEFORE)
            before = [event for event in log.events(after, self._from - 1 - after) if event.seq < self._from]
            for event in before:
                self.read(read_event(event))
            self._from = 1  # once
        return sentences.mentioned([self._events[one["seq"]] for one in views])

    def tell(self, views: list[EventView], names: dict[str, str]) -> None:
        """Give each its sentence."""
        teller = sentences.Teller(names)
        for view in views:
            event = self._events[view["seq"]]
            subject, kind = event["subject"], event["kind"]
            known = None if kind in BEGINS else self._known.get(subject)
            view["text"] = teller.tell(event, known)
            if kind == "claim.released" and event["data"].get("left") and known:
                self._known[subject] = {"now": known["now"], "resources": event["data"]["left"]}
            elif kind == "task.moved" and event["data"].get("to") == "executing":
                self._known[subject] = {"now": event["now"], "resources": []}
            elif known and is_over(event):
                del self._known[subject]
        self._events.clear()
