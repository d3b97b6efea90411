"""The event numbers behind an alert: found in the log, from the commits that the alert names.

Commits rise with the numbers of their events, so the first event of a commit is found by bisection, one event a look.
One whose events left the store is looked up in the archives of this machine; without them it has no number, and the
alert still names it.
"""

from __future__ import annotations

from dibs.client.log_reader import LogReader
from dibs.operations.core.call import Call
from dibs.stores.seam import read_event

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dibs.client.session import Session
    from dibs.operations.alerts.answers import AlertView
    from dibs.stores.seam import Event, LogEvent, Store

EVENTS_READ = 64  # of one commit; an event that shows an alert is among the first ones
MAX_COMMITS = 400  # that one answer looks up
FAR_COMMITS = 10  # the same where each look is a trip to a server elsewhere
ARCHIVED_COMMITS = 16  # the same of commits in archives, where a look takes milliseconds


def complete(session: Session, result: dict[str, Any]) -> dict[str, Any]:
    """An answer with alerts, with the numbers of the events that show each."""
    from dibs.client.upkeep import rounds

    alerts = result["alerts"]
    number_all(session, alerts)
    return {**result, "looker": rounds.last(session.place.local)} if "deliveries" in result else result


def number_all(session: Session, alerts: list[AlertView]) -> None:
    """Add `evidence` to these alerts."""
    if not alerts:
        return
    store, most = session.store, FAR_COMMITS if session.is_far else MAX_COMMITS
    known: dict[int, list[LogEvent]] = {}
    oldest = next((event.commit for event in store.events(0, 1)), 0)
    whole, left = LogReader(session, Call(session.config.policy)), ARCHIVED_COMMITS
    for alert in alerts:
        for one in alert["commits"]:
            if one["commit"] not in known and len(known) < most:
                log: Store | LogReader = store
                if one["commit"] <= oldest and left and whole.archives():
                    log, left = whole, left - 1
                known[one["commit"]] = [read_event(event) for event in events_of(log, one["commit"])]
            for event in known.get(one["commit"], ()):
                if event["subject"] == one["subject"]:
                    one["seq"] = event["seq"]
                    break
        alert["evidence"] = sorted({one["seq"] for one in alert["commits"] if "seq" in one})


def events_of(store: Store | LogReader, commit: int) -> list[Event]:
    """The first events of a commit; none if it has none, or if they were pruned."""
    low, high = 0, store.head().seq  # the first event of the commit, or of a later one, is after `low`
    while low < high:
        middle = (low + high) // 2
        found = store.events(middle, 1)
        if found and found[0].commit < commit:
            low = found[0].seq
        else:
            high = middle
    return [event for event in store.events(low, EVENTS_READ) if event.commit == commit]
