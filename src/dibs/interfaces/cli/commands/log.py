"""`dibs log`: the events, in order; by kind, by agent, by path, since when."""

from __future__ import annotations

import sys

from dibs import jsontext
from dibs.audit import queries
from dibs.audit.events import page_of
from dibs.audit.telling import Telling
from dibs.client import catalogue
from dibs.errors import NO, YES, named
from dibs.interfaces.cli import terminal
from dibs.interfaces.cli.command import Command
from dibs.interfaces.cli.dispatch import finish, read
from dibs.interfaces.cli.render import times
from dibs.machine import clock
from dibs.operations.agents.lookups import NAMES
from dibs.operations.core.declare import Field

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dibs.audit.answers import EventView
    from dibs.audit.events import Filter
    from dibs.interfaces.cli.parse import Words

FIELDS = (
    Field("follow", "flag", "print events as they happen, until interrupted", default=False),
    Field("raw", "flag", "print kinds and fields instead of sentences", default=False),
)
# What a line of `--raw` says of an event's data.
NOTED = ("mode", "token", "code", "result", "why", "to", "text", "what", "commit", "rollback", "unsynced")
KIND_COLUMNS = 20  # columns for an event's kind, when they are printed one by one
FOLLOW_S = 5.0  # for one wait; after it the log is read in any case


def run(words: Words) -> int:
    """Print events as sentences, as kinds and fields, or as one JSON object."""
    operation = catalogue.operation("log")
    session, call, values = read(operation, words)
    raw = bool(words.fields.get("raw"))
    if not words.json and not raw:
        values["sentences"] = True
    found = session.answer(operation, call, values)
    events, last = found["events"], found["cursor"]
    if words.fields.get("follow"):
        wanted = queries.wanted(session, operation.checked(values))
        telling = Telling() if values.get("sentences") else None
        _follow(session, wanted, events, last, telling, as_json=words.json)
    if words.json:
        return finish(operation, found, words)
    first: list[str | terminal.Table] = (
        ["(earlier events: `--after 0` starts at the first)"] if found["earlier"] else []
    )
    rows = _raw(events) if raw else _sentences(events)
    terminal.write([*first, *(rows or ["no events"]), *([f"(more: `--after {last}`)"] if found["more"] else [])])
    for line in missing(found["missing"]):
        sys.stderr.write(f"dibs: {line}\n")
    return NO if found["lost"] else YES


def _raw(events: list[EventView]) -> list[str | terminal.Table]:
    rows = [(str(event["seq"]), f"{times.ago(event['at'])} ago", *_cells(event)) for event in events]
    return [terminal.Table(("EVENT", "AGE", "KIND", "AGENT", "WHAT"), rows, titles=False)] if rows else []


def _sentences(events: list[EventView]) -> list[str | terminal.Table]:
    """A line for each event: its number, its age, what happened."""
    number = len(str(events[-1]["seq"])) if events else 0
    ages = [f"{times.ago(event['at'])} ago" for event in events]
    width = max(map(len, ages), default=0)
    return [
        f"{event['seq']:>{number}}  {age:>{width}}  {event.get('text', event['kind'])}"
        for event, age in zip(events, ages, strict=True)
    ]


def missing(gaps: list[dict[str, Any]]) -> list[str]:
    """Which events could not be read, why, and what to do about it."""
    lines = []
    for gap in gaps:
        settle = f"`dibs check --settle log:archive-{gap['last']} --why T`"
        todo = " (settled)" if gap["settled"] else f"; put the file back from a copy, or settle the loss: {settle}"
        lines.append(f"events {gap['first']} to {gap['last']} are not shown: {gap['why']}{todo}")
    return lines


def _follow(
    session: Any, wanted: Filter, events: list[EventView], last: int, telling: Telling | None, *, as_json: bool
) -> None:
    """Print the events as they come; one JSON object a line, since there is no end to wait for."""

    def called(agents: list[str]) -> dict[str, str]:
        found: dict[str, str] = session.run(NAMES, session.identify(None), {"agents": agents})["names"]
        return found

    while True:
        for event in events:
            sys.stdout.write(jsontext.encode(event) + "\n" if as_json else _line(event))
        sys.stdout.flush()
        session.store.follow(last, FOLLOW_S)
        events, last, _ = page_of(session.store, last, wanted, 0, called, telling)


def _cells(event: EventView) -> tuple[str, str, str]:
    """What a line says of an event: its kind, the agent, then what it is about, the resources first."""
    data = event["data"]
    notes = []
    if isinstance(data.get("resources"), list):
        notes.append(
            ", ".join(r if isinstance(r, str) else (r[1] or ".") for r in data["resources"] if r[0] != "inode")
        )
    notes += [f"{name}={data[name]}" for name in NOTED if data.get(name)]
    if event["subject"] not in {event["agent"], *notes[:1]}:
        notes.insert(1 if "resources" in data else 0, event.get("subject_name") or event["subject"])
    return event["kind"], named(event), "  ".join([note for note in notes if note])


def _line(event: EventView) -> str:
    """One event, printed while following: with the time of day, since its age would not stay true."""
    import time

    now = time.strftime("%H:%M:%S", time.localtime(clock.of_iso(event["at"]) // 1000))
    if "text" in event:
        return f"{event['seq']:>6}  {now}  {terminal.clean(event['text'])}\n"
    kind, agent, what = [terminal.clean(cell) for cell in _cells(event)]
    return f"{event['seq']:>6}  {now}  {kind:<{KIND_COLUMNS}} {agent}  {what}".rstrip() + "\n"


COMMAND = Command(
    "log",
    run=run,
    fields=FIELDS,
    short={"n": "limit", "f": "follow"},
    examples=(
        ("dibs log -n 20", "the last 20 events"),
        ("dibs log src/api.py --since 1h", "what happened to a file in the last hour"),
        ("dibs log --agent codex-2 --kind claim.", "the claims of one agent"),
        ("dibs log -f", "print events as they happen"),
        ("dibs log --raw --kind task.", "kinds and fields instead of sentences"),
    ),
    json=(
        "events[] (seq, at, kind, agent, name, subject, subject_name, data, commit, link, text), more, cursor, "
        "earlier, missing[], lost"
    ),
)
