"""`dibs sweep`: the operation once, or with `--watch` again and again until somebody interrupts it."""

from __future__ import annotations

import sys

from dibs import jsontext
from dibs.doors.cli.command import Command
from dibs.doors.cli.dispatch import answer, open_session
from dibs.doors.cli.long_running import SIGNALLED, on_signals
from dibs.errors import YES, Invalid
from dibs.facts import clock
from dibs.operations.core.declare import Field
from dibs.reports import housekeeping
from dibs.running import sweep_loop
from dibs.session import catalogue, durations, upkeep

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any

    from dibs.doors.cli.parse import Words

FIELDS = (
    Field(
        "watch",
        "flag",
        "sweep repeatedly until interrupted; with --json, print one line for each sweep that found something",
        default=False,
    ),
    Field("every", "duration", "with --watch: how often (default 1s)", metavar="D"),
)
EVERY = 1_000  # ms: then a dead agent's work is back within seconds
DELIVERED = 4  # alerts that one sweep sends at most
SHORTEST = 10  # ms: more often helps nobody


class _Interrupted(Exception):
    """Somebody wants it to end."""


def run(words: Words) -> int:
    """Sweep once, or watch."""
    operation = catalogue.operation("sweep")
    every = durations.parse(words.fields["every"], "every") if "every" in words.fields else EVERY
    watch = bool(words.fields.get("watch"))
    if "every" in words.fields and not watch:
        raise Invalid("sweep: --every is for --watch", field="every")
    session = open_session(words)
    unread = ""

    def once() -> dict[str, Any]:
        nonlocal unread
        why = session.reread() if watch else ""
        if why and why != unread:
            sys.stderr.write(f"dibs: the former configuration stays in force: {why}\n")
        unread = why
        call = session.identify(words.common.get("as"), request="" if watch else words.common.get("request-id", ""))
        found: dict[str, Any] = session.answer(operation, call, {})
        session.store.tidy()
        how = "sweep" if watch else "call"
        upkeep.step(session, how, call.agent or call.fallback, every=0, deliver=DELIVERED)
        housekeeping.daily(session, call)
        return found

    if not watch:
        answer("sweep", once(), as_json=words.json)
        return YES

    def told(found: dict[str, int]) -> None:
        line = jsontext.encode({"swept": found}) if words.json else _line(found)
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()

    def trouble(why: str) -> None:
        sys.stderr.write(f"dibs: trying again: {why}\n")
        session.close()  # it may have been put back in place meanwhile: the next look opens it anew

    return _go_on(sweep_loop.Watch(once, told, trouble), max(SHORTEST, every) / 1000)


def _go_on(watch: sweep_loop.Watch, pause: float) -> int:
    """Until a signal says that it is enough. A sweep that is interrupted is done or not at all."""
    number = 0

    def interrupt(got: int, _: FrameType | None) -> None:
        nonlocal number
        number = got
        raise _Interrupted

    try:
        on_signals(interrupt)
        while True:
            watch.step()
            clock.sleep(pause)
    except _Interrupted:
        return SIGNALLED + number


def _line(found: dict[str, int]) -> str:
    return f"swept: {', '.join(f'{count} {kind}' for kind, count in found.items())}"


COMMAND = Command("sweep", run=run, fields=FIELDS)
