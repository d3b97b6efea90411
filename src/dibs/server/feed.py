"""The log as it grows, read once for all listeners: a ring of the last events, each encoded once.

One thread follows the store and puts new events into the ring; listeners are told from that thread that there are more
(`Listener`), and read the ring for themselves, each from its own place. What is older than the ring is read from the
store by pages (`older`), and what was pruned is gone: the listener is told where the log continues. So nothing is
lost and nothing comes twice, whatever the speed of a listener, and the memory is that of the ring.

The frames are those of server-sent events: `id: SEQ`, `event: KIND`, `data:` the event as `dibs log --json --sentences`
has it.
"""

from __future__ import annotations

import threading
from collections import deque

from dibs import jsontext
from dibs.audit import events
from dibs.audit.events import Filter
from dibs.audit.telling import Telling
from dibs.stores.seam import read_event

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.audit.answers import EventView
    from dibs.server.host import Host
    from dibs.stores.seam import LogEvent, Store

RING_EVENTS = 8_192  # some seconds of a busy fleet: enough for a listener that reconnects
RING_BYTES = 8 * 1024 * 1024
BATCH_EVENTS = 500  # in one piece for a listener: about 200 KB
PAGE_EVENTS = 500  # in one trip to the store
POLL_S = 0.05  # between two looks at the end of the log while there are listeners
IDLE_POLL_S = 1.0  # without listeners: for the figures
RETRY_S = 1.0  # after the store could not be read
KEPT_OLD = 32  # pages from before the ring: about 6 MB
KEPT_PIECES = 64  # joined pieces that several listeners may share


class Frame:
    """One event, encoded."""

    __slots__ = ("event", "seq", "text")

    def __init__(self, event: EventView) -> None:
        self.event = event
        self.seq: int = event["seq"]
        self.text = encoded(event)


def encoded(event: EventView) -> bytes:
    """An event as a frame of server-sent events. JSON text has no line break, and a kind of dibs' has none."""
    kind = event["kind"] if event["kind"].isprintable() else "event"
    return f"id: {event['seq']}\nevent: {kind}\ndata: {jsontext.encode(event)}\n\n".encode()


def gap(after: int, first: int) -> bytes:
    """The frame that says: the events between these were pruned before they were read."""
    return f"event: gap\ndata: {jsontext.encode({'after': after, 'continues': first})}\n\n".encode()


class Feed:
    """The ring and the thread that fills it."""

    def __init__(self, host: Host, counted: Callable[[LogEvent | EventView], None] | None = None) -> None:
        self._host = host
        self._telling = Telling()  # events come with their sentences
        self._counted = counted  # told of every event that comes, for the figures
        self._mutex = threading.Lock()
        self._ring: deque[Frame] = deque()
        self._bytes = 0
        self.epoch = 0  # rises when another log takes the place of this one
        self._last = -1  # the last event that was read; -1: not begun
        self._listeners: set[Callable[[], None]] = set()
        self._pieces: dict[tuple[int, int], bytes] = {}
        self._old: dict[tuple[int, int], tuple[bytes, int]] = {}  # pages from before the ring, by the event before
        self._bell = threading.Event()
        self._stopping = False
        self._thread: threading.Thread | None = None

    # --- the thread

    def start(self) -> None:
        """Begin at the end of the log."""
        self._last = self._host.store.head().seq
        self._thread = threading.Thread(target=self._follow, name="dibs-feed", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the thread. Listeners end themselves."""
        self._stopping = True
        self._bell.set()
        if self._thread is not None:
            self._thread.join(RETRY_S + IDLE_POLL_S)

    def poke(self) -> None:
        """This process has written something: read it now."""
        if self._listeners:
            self._bell.set()

    def _follow(self) -> None:
        while not self._stopping:
            self._bell.clear()
            try:
                more = self._read()
            except Exception as error:  # noqa: BLE001 - busy, moved, being closed: the next look tries again
                self._host.reopen_after(error)
                more = False
                self._bell.wait(RETRY_S)
            if not more:
                self._bell.wait(POLL_S if self._listeners else IDLE_POLL_S)

    def _read(self) -> bool:
        """Put one page of new events into the ring; returns whether there may be more."""
        store = self._host.store
        if not self._listeners:
            return self._count_only(store)
        found, last, more = events.page_of(store, self._last, Filter(), PAGE_EVENTS, telling=self._telling)
        if not found:
            if store.head().seq < self._last:
                with self._mutex:
                    self._restart(store)
            return False
        frames = [Frame(event) for event in found]
        with self._mutex:
            if self._ring and frames[0].seq != self._ring[-1].seq + 1:  # the log was replaced or pruned meanwhile
                self._ring.clear()
                self._bytes = 0
            for frame in frames:
                self._ring.append(frame)
                self._bytes += len(frame.text)
            while len(self._ring) > RING_EVENTS or (self._bytes > RING_BYTES and len(self._ring) > 1):
                self._bytes -= len(self._ring.popleft().text)
            self._last = last
            self._pieces.clear()
            listeners = list(self._listeners)
        for ring in listeners:
            ring()
        if self._counted is not None:
            for event in found:
                self._counted(event)
        return more

    def _count_only(self, store: Store) -> bool:
        """Nobody listens: events are counted, not encoded. A listener that wants them reads them from the store."""
        found = store.events(self._last, PAGE_EVENTS)
        if self._counted is not None:
            for event in found:
                self._counted(read_event(event))
        with self._mutex:
            if found:
                self._ring.clear()
                self._pieces.clear()
                self._bytes, self._last = 0, found[-1].seq
            elif store.head().seq < self._last:
                self._restart(store)
        return len(found) == PAGE_EVENTS

    def _restart(self, store: Store) -> None:
        """Another log took the place of this one."""
        self._ring.clear()
        self._bytes, self._last = 0, store.head().seq
        self._telling = Telling()
        self.epoch += 1

    # --- for listeners

    def listen(self, ring: Callable[[], None]) -> None:
        """Call `ring`, from the feed's thread, whenever there are new events."""
        with self._mutex:
            self._listeners.add(ring)
        self._bell.set()

    def leave(self, ring: Callable[[], None]) -> None:
        """Stop calling `ring`."""
        with self._mutex:
            self._listeners.discard(ring)

    @property
    def listeners(self) -> int:
        """The number of listeners."""
        return len(self._listeners)

    @property
    def last(self) -> int:
        """The number of the last event that was read."""
        return self._last

    def after(self, seq: int, wanted: Filter | None = None) -> tuple[bytes, int] | None:
        """The next frames after this event, and the last one looked at; None where they are older than the ring."""
        with self._mutex:
            if seq >= self._last:
                return b"", seq
            if not self._ring or seq + 1 < self._ring[0].seq:
                return None
            begin = seq + 1 - self._ring[0].seq
            count = min(BATCH_EVENTS, len(self._ring) - begin)
            key = (seq, count)
            if wanted is None and key in self._pieces:
                return self._pieces[key], seq + count
            frames = [self._ring[place] for place in range(begin, begin + count)]
            if wanted is None:
                text = b"".join([frame.text for frame in frames])
                if len(self._pieces) >= KEPT_PIECES:
                    self._pieces.clear()
                self._pieces[key] = text
                return text, seq + count
        taken = [frame.text for frame in frames if wanted.takes(frame.event, 0)]
        return b"".join(taken), seq + count

    def older(self, seq: int, wanted: Filter | None = None) -> tuple[bytes, int]:
        """The same from the store, for a listener that is behind the ring. Blocking."""
        key = (self.epoch, seq)
        kept = self._old.get(key) if wanted is None else None
        if kept is not None:
            return kept
        found, last, more = events.page_of(self._host.store, seq, Filter(), PAGE_EVENTS, telling=Telling())
        if not found:
            return b"", seq
        begin = gap(seq, found[0]["seq"]) if found[0]["seq"] > seq + 1 else b""
        taken = [encoded(event) for event in found if wanted is None or wanted.takes(event, 0)]
        text = begin + b"".join(taken)
        if wanted is None and more:  # a full page of the past stays as it is: listeners that come together share it
            while len(self._old) >= KEPT_OLD:
                self._old.pop(next(iter(self._old)), None)
            self._old[key] = text, last
        return text, last
