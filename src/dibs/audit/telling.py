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
    from collections.abc import Iterable

    from dibs.audit.events import Log
    from dibs.audit.sentences import Known
    from dibs.stores.seam import LogEvent

MAX_BEFORE = 1_000  # events before a page that are searched: one trip to the store
MAX_KNOWN = 20_000  # claims, waits and attempts that a listener of weeks remembers
LATER = frozenset({"claim.moved", "claim.ended", "claim.committed", "claim.renewed", "wait.ended", "interest.ended"})


class Telling:
    """Makes the sentences of pages that follow each other, or of one."""

    def __init__(self) -> None:
        self._known: dict[str, Known] = {}
        self._from = 0  # the first event that passed; those before it may be searched once

    def pass_by(self, events: Iterable[LogEvent]) -> None:
        """Events that are read, wanted or not, oldest first."""
        known = self._known
        for event in events:
            self._from = min(self._from or event["seq"], event["seq"])
            if event["kind"] in BEGINS:
                known.setdefault(event["subject"], {"now": event["now"], "resources": event["data"]["resources"]})
        while len(known) > MAX_KNOWN:
            del known[next(iter(known))]

    def search(self, log: Log, events: list[LogEvent]) -> None:
        """Look in the events just before the first one for what these are about, if it is not known."""
        if self._from > 1 and any(one["kind"] in LATER and one["subject"] not in self._known for one in events):
            after = max(0, self._from - 1 - MAX_BEFORE)
            before = [event for event in log.events(after, self._from - 1 - after) if event.seq < self._from]
            self.pass_by([read_event(event) for event in before])
            self._from = 1  # once

    @staticmethod
    def mentioned(events: list[LogEvent]) -> list[str]:
        """The agents whose names the sentences need."""
        return sentences.mentioned(events)

    def texts(self, events: list[LogEvent], names: dict[str, str]) -> list[str]:
        """The sentence of each."""
        teller = sentences.Teller(names)
        found = []
        for event in events:
            subject, kind = event["subject"], event["kind"]
            known = None if kind in BEGINS else self._known.get(subject)
            found.append(teller.tell(event, known))
            if kind == "claim.released" and event["data"].get("left") and known:
                self._known[subject] = {"now": known["now"], "resources": event["data"]["left"]}
            elif kind == "task.moved" and event["data"]["to"] == "executing":
                self._known[subject] = {"now": event["now"], "resources": []}
            elif known and is_over(event):
                del self._known[subject]
        return found
