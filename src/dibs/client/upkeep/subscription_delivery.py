"""Delivers what an agent subscribes to: reads the log after its cursor and has the operation put it into the inbox.

Run before an agent looks into its inbox. Nothing is decided here: whether what was read still counts, the operation
says (operations/messages/subscriptions.py). Bounded: what is left comes with the next look.
"""

from __future__ import annotations

from dibs.operations.messages import subscriptions
from dibs.stores.seam import read_event

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.operations.core.call import Call
    from dibs.operations.messages.records import Subscriptions
    from dibs.operations.messages.subscriptions import Delivery
    from dibs.operations.messages.subscriptions import Event as OpenEvent
    from dibs.stores.seam import Event, Store

    Read = Callable[[int, int], list[Event]]  # the events after a number, at most so many

PAGE = 500  # events read at once
PAGES = 20  # of them before one look into an inbox: some 50 ms
LAZY = 100  # events without one that fits which may be read again next time: a commit would cost more


def deliver(store: Store, call: Call, archived: Read | None = None) -> None:
    """Bring the caller's inbox up to date with the log. `archived` reads events that the store no longer has."""
    known = _pending(store, call)
    for _ in range(PAGES):
        if known is None:
            return
        found, is_end = _page(store, archived, known["cursor"])
        page = [read_event(event) for event in found]
        fitting: list[OpenEvent] = [event for event in page if subscriptions.wants(known, event)]
        is_few = is_end and len(page) <= LAZY
        if not page or (not fitting and is_few and page[0]["seq"] == known["cursor"] + 1):
            return
        done = _hand_in(store, call, known, fitting, page[0]["seq"], page[-1]["seq"])
        if done is not None and (done["held"] or is_end):
            return
        known = (
            done["subscriptions"] if done else _pending(store, call)
        )  # else another process delivered, or subscribed, meanwhile


def _page(store: Store, archived: Read | None, after: int) -> tuple[list[Event], bool]:
    """The events after that number, and whether these are the last ones.

    A page ends before a gap, so that the next one begins after it, and the agent is told what is missing.
    """
    page = store.events(after, PAGE)
    if archived is not None and page and page[0].seq > after + 1:
        page = archived(after, PAGE)
    for place in range(1, len(page)):
        if page[place].seq != page[place - 1].seq + 1:
            return page[:place], False
    return page, len(page) < PAGE


def _pending(store: Store, call: Call) -> Subscriptions | None:
    return store.look(lambda tx: subscriptions.pending(tx, call))


def _hand_in(
    store: Store, call: Call, known: Subscriptions, fitting: list[OpenEvent], first: int, through: int
) -> Delivery | None:
    return store.run(lambda tx: subscriptions.deliver(tx, call, known, fitting, through, first))
