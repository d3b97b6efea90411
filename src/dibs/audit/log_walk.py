"""One pass through the log, for the answers that count: `check`, `map`, `stats`.

Events are read a page at a time and dropped again. The kind is read from the text alone; only the wanted kinds are
decoded, so a long log of other things costs little. A person is told how far it is.
"""

from __future__ import annotations

from dibs.stores.seam import read_event

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator

    from dibs.client.log_reader import LogReader
    from dibs.client.session import Session
    from dibs.stores.seam import Event, LogEvent

PAGE_EVENTS = 2_000  # read at a time
PROGRESS_EVENTS = 10_000  # between two words on how far it is
BEGIN = '{"kind":"'  # how the text of every event begins (`seam.body_of`)
KIND = len(BEGIN)  # where its kind is


def events(
    session: Session, wanted: Container[str], through: int, after: int = 0, log: LogReader | None = None
) -> Iterator[LogEvent]:
    """The events of these kinds after one number, up to another, in order. Without `log`, those of the store."""
    store, first, told = log or session.store, after, 0
    while after < through:
        page = store.events(after, PAGE_EVENTS)
        for event in page:
            if event.seq > through:
                page = []
                break
            after = event.seq
            if kind_of(event) in wanted:
                yield read_event(event)
        if after - told >= PROGRESS_EVENTS:
            told = after
            session.door.show_progress(after - first, through - first)
        if len(page) < PAGE_EVENTS:
            break
    if told:
        session.door.show_progress(through - first, through - first)


def archived(log: LogReader, wanted: Iterable[str]) -> Iterator[LogEvent]:
    """The events of these kinds that are in archives, in order. What other kinds there are costs next to nothing."""
    kinds = frozenset(kind.encode() for kind in wanted)
    for event in log.archived(kinds):
        yield read_event(event)


def kind_of(event: Event) -> str:
    """The kind of an event, from its text."""
    body = event.body
    if not body.startswith(BEGIN):
        return read_event(event)["kind"]
    return body[KIND : body.index('"', KIND)]


def first_since(session: Session, wall: int, through: int, log: LogReader | None = None) -> int:
    """The number of the last event before that time of the wall clock, by bisection; 0 if there is none."""
    store = log or session.store
    low, high = 0, through
    while low < high:
        middle = (low + high) // 2
        found = store.events(middle, 1)
        if found and found[0].wall < wall and found[0].seq <= through:
            low = found[0].seq
        else:
            high = middle
    return low
