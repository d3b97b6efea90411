"""The event numbers behind an alert: found in the log, from the commits that the alert names.

Commits rise with the numbers of their events, so the first event of a commit is found by bisection, one event a look.
A commit whose events were pruned has no number; the alert still names it.
"""

from __future__ import annotations

from dibs.stores.seam import read_event

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dibs.session.session import Session
    from dibs.stores.seam import Event, Store

EVENTS_READ = 64  # of one commit; an event that shows an alert is among the first ones
MAX_COMMITS = 400  # that one answer looks up
FAR_COMMITS = 10  # the same where each look is a trip to a server elsewhere


def complete(session: Session, result: dict[str, Any]) -> dict[str, Any]:
    """An answer with alerts, with the numbers of the events that show each."""
    from dibs.session import upkeep

    alerts = result["alerts"]
    number_all(session, alerts)
    return {**result, "looker": upkeep.last(session.place.local)} if "deliveries" in result else result


def number_all(session: Session, alerts: list[dict[str, Any]]) -> None:
    """Add `evidence` to these alerts."""
    if not alerts:
        return
    store, most = session.store, FAR_COMMITS if session.is_far else MAX_COMMITS
    known: dict[int, list[dict[str, Any]]] = {}
    for alert in alerts:
        for one in alert["commits"]:
            if one["commit"] not in known and len(known) < most:
                known[one["commit"]] = [read_event(event) for event in events_of(store, one["commit"])]
            for event in known.get(one["commit"], ()):
                if event["subject"] == one["subject"]:
                    one["seq"] = event["seq"]
                    break
        alert["evidence"] = sorted({one["seq"] for one in alert["commits"] if "seq" in one})


def events_of(store: Store, commit: int) -> list[Event]:
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
