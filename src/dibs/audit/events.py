"""Reading the log: which events are wanted, a page of them or the last ones, each as people and programs see it."""

from __future__ import annotations

from dibs.audit.fold import is_over
from dibs.errors import Invalid
from dibs.machine import clock, durations
from dibs.operations.agents import names
from dibs.operations.claims import resources
from dibs.stores.seam import Unsettled, read_event

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dibs.audit.answers import EventView
    from dibs.audit.telling import Telling
    from dibs.client.log_reader import LogReader
    from dibs.stores.seam import Json, LogEvent, Store

    Log = Store | LogReader
    AnyEvent = LogEvent | EventView
    Names = Callable[[list[str]], dict[str, str]]

PAGE = 1000  # events in one trip
MAX_DIGITS = 15  # of an event's number
MOST_LOOKED = 50_000  # events that one question for the last ones looks at: some seconds; `before` continues
# Events about another agent than the one that made them; a message may be kept for a type (`type:T`).
ABOUT_AGENTS = frozenset({"claim.asked", "agent.killed", "agent.revived", "message.posted", "message.dropped"})


class Filter:
    """Which events are wanted: a kind's beginning, after which number, not before which wall time, whose, where.

    `words` are small letters that an event has somewhere, all of them; `named` says for each which agents' names have
    it, since an event has the agents' ids.
    """

    def __init__(
        self, *, kind: str = "", since: int = 0, wall: int = 0, agent: str = "", paths: Sequence[Sequence[str]] = (),
        words: Sequence[str] = (), named: Sequence[set[str]] = (),
    ) -> None:  # fmt: skip
        self.words = tuple(zip(words, named, strict=True))
        self.kind, self.since, self.wall, self.agent = kind, since, wall, agent
        self.paths = resources.normal(paths) if paths else []
        self._texts = set(resources.shown(self.paths))
        self._claims: set[str] = set()  # claims and waiters on these paths: their later events name only them

    @property
    def is_plain(self) -> bool:
        """Whether every event is wanted."""
        return not (self.kind or self.agent or self.paths or self.wall or self.words)

    def takes(self, event: AnyEvent, wall: int) -> bool:
        """Whether this event is wanted. Events are asked about in their order where paths are given."""
        if self.paths and not self._concerns(event):
            return False
        if self.agent and self.agent not in {event["agent"], event["subject"]}:
            return False
        kind: str = event["kind"]
        return wall >= self.wall and kind.startswith(self.kind) and (not self.words or self._says(event))

    def _says(self, event: AnyEvent) -> bool:
        """Does the event have all the words: in its kind, its data, whom and what it is about, its number?"""
        agent, subject = event["agent"], event["subject"]
        text = f"{event['seq']} {event['kind']} {agent} {subject} {_texts(event['data'])}".lower()
        return all(word in text or agent in named or subject in named for word, named in self.words)

    def _concerns(self, event: AnyEvent) -> bool:
        subject, data = event["subject"], event["data"]
        if subject in self._claims:
            if is_over(event):
                self._claims.discard(subject)  # a listener that stays for weeks remembers the live ones only
            return True
        if subject in self._texts or data.get("resource") in self._texts:
            return True
        found = data.get("resources")
        parts = [one for one in found if isinstance(one, list)] if isinstance(found, list) else []
        if resources.any_overlap([(one[0], one[1], "") for one in parts], self.paths) is not None:
            self._claims.add(subject)
            return True
        return False


def _texts(value: Json) -> str:
    """All names and values of an event's data, one after the other."""
    if isinstance(value, dict):
        return " ".join([f"{key} {_texts(one)}" for key, one in value.items()])
    return " ".join(map(_texts, value)) if isinstance(value, list) else str(value)


def since_of(text: str) -> tuple[int, int]:
    """`--since`: the number of an event, or a time of the wall clock (ms) that a duration ago was."""
    if not text:
        return 0, 0
    if text.isdecimal():
        if len(text) > MAX_DIGITS:
            raise Invalid(f"since: the number of an event, or a duration such as 2h, not {text[:20]}…", field="since")
        return int(text), 0
    return 0, clock.store_wall() - durations.parse(text, "since")


def page_of(
    store: Log, since: int, wanted: Filter, limit: int, called: Names | None = None, telling: Telling | None = None
) -> tuple[list[EventView], int, bool]:
    """The wanted events after `since`, the oldest first, up to `limit`; the last one looked at, whether more come.

    `called` gives the names of agents, where the store is asked elsewhere; `telling` adds the sentences.
    """
    found: list[LogEvent] = []
    while True:
        page = store.events(since, PAGE)
        for event in page:
            opened = read_event(event)
            if telling is not None:
                telling.pass_by((opened,))
            if wanted.takes(opened, event.wall):
                if limit and len(found) == limit:
                    return _shown(store, found, called, telling), since, True
                found.append(opened)
            since = event.seq
        if len(page) < PAGE:
            return _shown(store, found, called, telling), since, False


def last_of(
    store: Log, wanted: Filter, limit: int, before: int = 0, most: int = 0, telling: Telling | None = None
) -> tuple[list[EventView], int, bool, int]:
    """The last `limit` wanted events (before a number), the last one, whether there may be earlier ones, the first.

    Read from the end backwards: without a filter, no more than are shown; with a time, no further than it; in any case
    no more than `most` (0: all), and the first one that was looked at is told. What concerns a path is known only by
    going forward, from a claim's grant to its end. `telling` adds the sentences.
    """
    since, head = wanted.since, store.head().seq
    if before:
        head = min(head, before - 1)
    if not limit or wanted.paths:
        shown, last, _ = page_of(store, since, wanted, 0, telling=telling)
        if before:
            shown, last = [event for event in shown if event["seq"] < before], head
        cut = bool(limit) and len(shown) > limit
        shown = shown[-limit:] if limit else shown
        return shown, last, cut, shown[0]["seq"] if shown else 0
    found: list[LogEvent] = []
    high, size, least = head, limit, max(since, head - most) if most else since
    while high > least and len(found) <= limit:
        low = max(least, high - size)
        page = [event for event in store.events(low, high - low) if event.seq <= high]
        opened = [read_event(event) for event in page]
        if telling is not None:
            telling.pass_by(opened)
        found = [one for one in opened if wanted.takes(one, one["wall"])] + found
        if wanted.is_plain and len(found) == limit:
            earlier = bool(page) and page[0].seq > since + 1 and bool(store.events(since, 1)[0].seq < page[0].seq)
            return _shown(store, found, None, telling), head, earlier, found[0]["seq"]
        there = page or store.events(least, 1)  # an empty page: pruned, or an archive is lost and others are before it
        if not there or there[0].seq > high or (page and page[0].wall < wanted.wall):
            high = since
            break
        high, size = low, PAGE
    cut = len(found) > limit
    first = found[-limit]["seq"] if cut else high + 1
    return _shown(store, found[-limit:], None, telling), head, cut or high > since, first


def _shown(store: Log, events: list[LogEvent], called: Names | None, telling: Telling | None) -> list[EventView]:
    """The events as people and programs see them: with the name that each agent has now, and the sentences."""
    if not events:
        return []
    agents = [agent for event in events for agent in (event["agent"], _other(event)) if agent]
    if telling is not None:
        telling.search(store, events)
        agents += telling.mentioned(events)
    try:
        known = store.look(lambda tx: names.names_of(tx, agents)) if called is None else called(agents)
    except Unsettled:  # a server that lost commits: the log is shown anyway
        known = {}
    found = [_view(event, known) for event in events]
    if telling is not None:
        for view, text in zip(found, telling.texts(events, known), strict=True):
            view["text"] = text
    return found


def _other(event: AnyEvent) -> str:
    """The agent that an event is about, if that is another one than the agent that made it."""
    subject: str = event["subject"]
    about = event["kind"] in ABOUT_AGENTS and not subject.startswith("type:")
    return subject if about and subject != event["agent"] else ""


def _view(event: LogEvent, known: dict[str, str]) -> EventView:
    view: EventView = {
        "seq": event["seq"], "at": clock.iso(event["wall"]), "kind": event["kind"], "agent": event["agent"],
        "subject": event["subject"], "data": event["data"], "commit": event["commit"], "link": event["link"],
        "name": known.get(event["agent"], ""),
    }  # fmt: skip
    if other := _other(event):
        view["subject_name"] = known.get(other, other)
    return view
