"""`dibs log`: the events, in order."""

from __future__ import annotations

import sys

from dibs import jsontext
from dibs.doors.cli import parse
from dibs.doors.cli.run import open_session
from dibs.errors import YES, Invalid, named
from dibs.facts import clock
from dibs.operations.agents import names
from dibs.operations.core.declare import Field
from dibs.stores.seam import Unsettled, read_event

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FIELDS = (
    Field("follow", "flag", "go on as events come (also -f)", default=False),
    Field("kind", "text", "only events whose kind starts with this", default="", metavar="K"),
    Field("since", "integer", "only events after this number", default=0, metavar="SEQ"),
    Field("limit", "integer", "at most N events, the last ones (default 1000; 0: all)", default=1000, metavar="N"),
    Field(
        "after", "integer", "go on after this number (a `cursor`), from the oldest on", default=None, metavar="CURSOR"
    ),
)
HELP = "Show the events of the log."
NOTED = ("mode", "token", "code", "why", "to", "text", "what", "commit")  # what a line says of an event's data
PAGE = 1000
FOLLOW_S = 5.0  # for one wait; then the log is looked at all the same


def run(arguments: list[str]) -> int:
    """Print events as lines, or as one JSON object."""
    words = parse.parse("log", FIELDS, ["--follow" if word == "-f" else word for word in arguments])
    if words.help:
        from dibs.doors.cli import help

        return help.of_command("log", HELP, FIELDS)
    follow, kind = bool(words.fields.get("follow")), words.fields.get("kind", "")
    since, limit = _number(words, "since", 0), _number(words, "limit", 1000)
    after = _number(words, "after", 0) if "after" in words.fields else None
    store = open_session(words).store
    if after is not None:
        events, last, more = _page(store, max(since, after), kind, limit)
        earlier = False
    else:
        events, last, earlier = _last(store, since, kind, limit)
        more = False
    if not follow:
        if words.json:
            answer = {"ok": True, "events": events, "more": more, "cursor": last, "earlier": earlier}
            sys.stdout.write(jsontext.encode(answer) + "\n")
        else:
            if earlier:
                sys.stdout.write("(there are earlier events: `--after 0` begins with the first)\n")
            for event in events:
                sys.stdout.write(_line(event))
            if more:
                sys.stdout.write(f"(there are more: `--after {last}` goes on)\n")
        return YES
    while True:  # one JSON object a line when following, since there is no end to wait for
        for event in events:
            sys.stdout.write(jsontext.encode(event) + "\n" if words.json else _line(event))
        sys.stdout.flush()
        store.follow(last, FOLLOW_S)
        events, last, _ = _page(store, last, kind, 0)


def _number(words: parse.Words, name: str, default: int) -> int:
    value = words.fields.get(name, default)
    try:
        return max(0, int(value))
    except ValueError:
        raise Invalid(f"{name}: a whole number, not {value!r}", field=name) from None


def _page(store: Any, since: int, kind: str, limit: int) -> tuple[list[dict[str, Any]], int, bool]:
    """The events after `since`, the oldest first, up to `limit`; the last one looked at, and whether more come."""
    found: list[dict[str, Any]] = []
    while True:
        page = store.events(since, PAGE)
        for event in page:
            opened = read_event(event)
            if opened["kind"].startswith(kind):
                if limit and len(found) == limit:
                    return _named(store, found), since, True
                found.append(_shown(opened))
            since = event.seq
        if len(page) < PAGE:
            return _named(store, found), since, False


def _last(store: Any, since: int, kind: str, limit: int) -> tuple[list[dict[str, Any]], int, bool]:
    """The last `limit` events after `since`, the number of the last, and whether there are earlier ones.

    Read from the end backwards: without a kind, no more than are shown.
    """
    if not limit:
        return _page(store, since, kind, 0)
    head = store.head().seq
    found: list[dict[str, Any]] = []
    high, size = head, limit
    while high > since and len(found) <= limit:
        low = max(since, high - size)
        page = [event for event in store.events(low, high - low) if event.seq <= high]
        opened = [read_event(event) for event in page]
        found = [_shown(event) for event in opened if event["kind"].startswith(kind)] + found
        if not kind and len(found) == limit:
            earlier = bool(page) and page[0].seq > since + 1 and bool(store.events(since, 1)[0].seq < page[0].seq)
            return _named(store, found), head, earlier
        if not page:  # pruned
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


def _line(event: dict[str, Any]) -> str:
    data = event["data"]
    notes = []
    if isinstance(data.get("resources"), list):
        notes.append(
            ", ".join(r if isinstance(r, str) else (r[1] or ".") for r in data["resources"] if r[0] != "inode")
        )
    notes += [f"{name}={data[name]}" for name in NOTED if data.get(name)]
    subject = "" if event["subject"] == event["agent"] else event["subject"]
    return (
        f"{event['seq']:>6}  {event['at']}  {event['kind']:<16} {named(event)}  {subject}  {' '.join(notes)}".rstrip()
        + "\n"
    )
