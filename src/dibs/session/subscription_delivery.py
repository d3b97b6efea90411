"""Delivers what an agent subscribes to: reads the log behind its cursor and has the operation put it into the inbox.

Run before an agent looks into its inbox. Nothing is decided here: whether what was read still counts, the operation
says (operations/messages/subscriptions.py). Bounded: what is left comes with the next look.
"""

from __future__ import annotations

from dibs.operations.messages import subscriptions
from dibs.stores.seam import read_event

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.operations.core.call import Call, Record
    from dibs.stores.seam import Store

PAGE = 500  # events read at once
PAGES = 20  # of them before one look into an inbox: some 50 ms
LAZY = 100  # events without one that fits which may be read again next time: a commit would cost more


def deliver(store: Store, call: Call) -> None:
    """Bring the caller's inbox up to date with the log."""
    known = _pending(store, call)
    for _ in range(PAGES):
        if known is None:
            return
        page = [read_event(event) for event in store.events(known["cursor"], PAGE)]
        fitting = [event for event in page if subscriptions.wants(known, event)]
        if not page or (not fitting and len(page) <= LAZY and page[0]["seq"] == known["cursor"] + 1):
            return
        done = _hand_in(store, call, known, fitting, page[0]["seq"], page[-1]["seq"])
        if done is not None and (done["held"] or len(page) < PAGE):
            return
        known = done or _pending(store, call)  # else somebody else delivered, or subscribed, meanwhile


def _pending(store: Store, call: Call) -> Record | None:
    return store.look(lambda tx: subscriptions.pending(tx, call))


def _hand_in(store: Store, call: Call, known: Record, fitting: list[Record], first: int, through: int) -> Record | None:
    return store.run(lambda tx: subscriptions.deliver(tx, call, known, fitting, through, first))
