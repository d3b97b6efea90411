"""`dibs log`: the events, in order; by kind, by agent, by path, since when."""

from __future__ import annotations

import sys

from dibs import jsontext
from dibs.doors.cli import terminal
from dibs.doors.cli.command import Command
from dibs.doors.cli.dispatch import open_session
from dibs.doors.cli.render import times
from dibs.errors import YES, Invalid, named
from dibs.facts import clock
from dibs.operations.agents import names
from dibs.operations.claims import resources
from dibs.operations.core.declare import Field
from dibs.session import durations
from dibs.stores.seam import Unsettled, read_event

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from dibs.doors.cli.parse import Words
    from dibs.session.session import Session

FIELDS = (
    Field("path", "resources", "only events about these paths or names", positional=True, default=(), metavar="PATH"),
    Field("follow", "flag", "print events as they happen, until interrupted", default=False),
    Field("limit", "integer", "at most N events, the last ones (default 1000; 0: all)", default=1000, metavar="N"),
    Field("agent", "agent", "only events of this agent", default="", metavar="A"),
    Field("kind", "text", "only events whose kind starts with this", default="", metavar="K"),
    Field("since", "text", "only events of the last 10m, 2h …, or after this event number", default="",
          metavar="D|SEQ"),
    Field("after", "integer", "continue after this event number (a `cursor`), oldest first", default=None,
          metavar="CURSOR"),
)  # fmt: skip
NOTED = ("mode", "token", "code", "why", "to", "text", "what", "commit")  # what a line says of an event's data
KIND = 20  # columns for an event's kind, when they are printed one by one
PAGE = 1000
FOLLOW_S = 5.0  # for one wait; then the log is looked at all the same


def run(words: Words) -> int:
    """Print events as lines, or as one JSON object."""
    session = open_session(words)
    wanted = _filter(session, words)
    limit = _number(words, "limit", 1000)
    store = session.store
    if "after" in words.fields:
        wanted.since = max(wanted.since, _number(words, "after", 0))
        events, last, more = page_of(store, wanted.since, wanted, limit)
        earlier = False
    else:
        events, last, earlier = last_of(store, wanted, limit)
        more = False
    if words.fields.get("follow"):
        _follow(store, wanted, events, last, as_json=words.json)
    if words.json:
        answer = {"ok": True, "events": events, "more": more, "cursor": last, "earlier": earlier}
        sys.stdout.write(jsontext.encode(answer) + "\n")
        return YES
    first: list[str | terminal.Table] = ["(earlier events: `--after 0` starts at the first)"] if earlier else []
    rows = [(str(event["seq"]), f"{times.ago(event['at'])} ago", *_cells(event)) for event in events]
    shown: str | terminal.Table = terminal.Table(("EVENT", "AGE", "KIND", "AGENT", "WHAT"), rows, titles=False)
    terminal.write([*first, shown if rows else "no events", *([f"(more: `--after {last}`)"] if more else [])])
    return YES


def _follow(store: Any, wanted: Filter, events: list[dict[str, Any]], last: int, *, as_json: bool) -> None:
    """Print the events as they come; one JSON object a line, since there is no end to wait for."""
    while True:
        for event in events:
            sys.stdout.write(jsontext.encode(event) + "\n" if as_json else _line(event))
        sys.stdout.flush()
        store.follow(last, FOLLOW_S)
        events, last, _ = page_of(store, last, wanted, 0)


def _number(words: Words, name: str, default: int) -> int:
    value = words.fields.get(name, default)
    try:
        return max(0, int(value))
    except ValueError:
        raise Invalid(f"{name}: a whole number, not {value!r}", field=name) from None


def _filter(session: Session, words: Words) -> Filter:
    """The events that the arguments ask for."""
    since, wall = _since(words.fields.get("since", ""))
    agent: str = words.fields.get("agent", "")
    if agent:
        agent = session.store.look(lambda tx: names.found(tx, agent))
    paths = [session.paths.resource(path, session.cwd) for path in words.fields.get("path", ())]
    return Filter(kind=words.fields.get("kind", ""), since=since, wall=wall, agent=agent, paths=paths)


class Filter:
    """Which events are wanted: a kind's beginning, after which number, not before which wall time, whose, where."""

    def __init__(
        self, *, kind: str = "", since: int = 0, wall: int = 0, agent: str = "", paths: Sequence[Sequence[str]] = ()
    ) -> None:
        self.kind, self.since, self.wall, self.agent = kind, since, wall, agent
        self.paths = resources.normal(paths) if paths else []
        self._texts = set(resources.shown(self.paths))
        self._claims: set[str] = set()  # claims and waiters on these paths: their later events name only them

    @property
    def is_plain(self) -> bool:
        """Whether every event is wanted."""
        return not (self.kind or self.agent or self.paths or self.wall)

    def takes(self, event: dict[str, Any], wall: int) -> bool:
        """Whether this event is wanted. Events are asked about in their order where paths are given."""
        if self.paths and not self._concerns(event):
            return False
        if self.agent and self.agent not in {event["agent"], event["subject"]}:
            return False
        kind: str = event["kind"]
        return wall >= self.wall and kind.startswith(self.kind)

    def _concerns(self, event: dict[str, Any]) -> bool:
        subject, data = event["subject"], event["data"]
        if subject in self._claims or subject in self._texts or data.get("resource") in self._texts:
            return True
        found = data.get("resources")
        parts = [one for one in found if isinstance(one, list)] if isinstance(found, list) else []
        if resources.any_overlap([(one[0], one[1], "") for one in parts], self.paths) is not None:
            self._claims.add(subject)
            return True
        return False


def _since(text: str) -> tuple[int, int]:
    """`--since`: the number of an event, or a time of the wall clock (ms) that a duration ago was."""
    if not text:
        return 0, 0
    if text.isdecimal():
        return int(text), 0
    return 0, clock.wall() - durations.parse(text, "since")


def page_of(store: Any, since: int, wanted: Filter, limit: int) -> tuple[list[dict[str, Any]], int, bool]:
    """The wanted events after `since`, the oldest first, up to `limit`; the last one looked at, whether more come."""
    found: list[dict[str, Any]] = []
    while True:
        page = store.events(since, PAGE)
        for event in page:
            opened = read_event(event)
            if wanted.takes(opened, event.wall):
                if limit and len(found) == limit:
                    return _named(store, found), since, True
                found.append(_shown(opened))
            since = event.seq
        if len(page) < PAGE:
            return _named(store, found), since, False


def last_of(store: Any, wanted: Filter, limit: int) -> tuple[list[dict[str, Any]], int, bool]:
    """The last `limit` wanted events, the number of the last, and whether there are earlier ones.

    Read from the end backwards: without a filter, no more than are shown; with a time, no further than it. What
    concerns a path is known only by going forward, from a claim's grant to its end.
    """
    if not limit or wanted.paths:
        found, last, _ = page_of(store, wanted.since, wanted, 0)
        return (found[-limit:], last, len(found) > limit) if limit else (found, last, False)
    since, head = wanted.since, store.head().seq
    found = []
    high, size = head, limit
    while high > since and len(found) <= limit:
        low = max(since, high - size)
        page = [event for event in store.events(low, high - low) if event.seq <= high]
        found = [_shown(read_event(event)) for event in page if wanted.takes(read_event(event), event.wall)] + found
        if wanted.is_plain and len(found) == limit:
            earlier = bool(page) and page[0].seq > since + 1 and bool(store.events(since, 1)[0].seq < page[0].seq)
            return _named(store, found), head, earlier
        if not page or page[0].wall < wanted.wall:  # pruned, or long ago
            break
        high, size = low, PAGE
    return _named(store, found[-limit:]), head, len(found) > limit


def _named(store: Any, events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The events with the name that each agent has now."""
    if events:
        try:
            known = store.look(lambda tx: names.names_of(tx, [event["agent"] for event in events if event["agent"]]))
        except Unsettled:  # a server that lost something: the log is shown all the same
            known = {}
        for event in events:
            event["name"] = known.get(event["agent"], "")
    return events


def _shown(event: dict[str, Any]) -> dict[str, Any]:
    fields = ("kind", "agent", "subject", "data", "commit", "link")
    return {"seq": event["seq"], "at": clock.iso(event["wall"]), **{name: event[name] for name in fields}}


def _cells(event: dict[str, Any]) -> tuple[str, str, str]:
    """What a line says of an event: its kind, the agent, then what it is about, the resources first."""
    data = event["data"]
    notes = []
    if isinstance(data.get("resources"), list):
        notes.append(
            ", ".join(r if isinstance(r, str) else (r[1] or ".") for r in data["resources"] if r[0] != "inode")
        )
    notes += [f"{name}={data[name]}" for name in NOTED if data.get(name)]
    if event["subject"] not in {event["agent"], *notes[:1]}:
        notes.insert(1 if "resources" in data else 0, event["subject"])
    return event["kind"], named(event), "  ".join([note for note in notes if note])


def _line(event: dict[str, Any]) -> str:
    """One event, printed while following: with the time of day, since its age would not stay true."""
    import time

    kind, agent, what = [terminal.clean(cell) for cell in _cells(event)]
    now = time.strftime("%H:%M:%S", time.localtime(time.time() + times.ms_until(event["at"]) / 1000))
    return f"{event['seq']:>6}  {now}  {kind:<{KIND}} {agent}  {what}".rstrip() + "\n"


COMMAND = Command(
    "log",
    "Show the events of the log: what happened, when, and by which agent.",
    run=run,
    group="record",
    fields=FIELDS,
    short={"n": "limit", "f": "follow"},
    examples=(
        ("dibs log -n 20", "the last 20 events"),
        ("dibs log src/api.py --since 1h", "what happened to a file in the last hour"),
        ("dibs log --agent codex-2 --kind claim.", "the claims of one agent"),
        ("dibs log -f", "print events as they happen"),
    ),
    json="events[] (seq, at, kind, agent, name, subject, data, commit, link), more, cursor, earlier",
)
