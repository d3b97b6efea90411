"""`dibs sweep`: the operation once, or with `--watch` repeatedly until it is interrupted."""

from __future__ import annotations

import sys

from dibs import jsontext
from dibs.audit import housekeeping
from dibs.client import catalogue
from dibs.client.upkeep import rounds
from dibs.errors import YES, Invalid
from dibs.interfaces.cli.command import Command
from dibs.interfaces.cli.dispatch import answer, open_session
from dibs.interfaces.cli.long_running import until_signalled
from dibs.machine import durations
from dibs.operations.core.declare import Field
from dibs.workers import sweep_loop

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.interfaces.cli.parse import Words
    from dibs.operations.upkeep.answers import SweepAnswer

FIELDS = (
    Field(
        "watch",
        "flag",
        "sweep repeatedly until interrupted; with --json, print one line for each sweep that found something",
        default=False,
    ),
    Field("every", "duration", "with --watch: how often (default 1s)", metavar="D"),
)
INTERVAL_MS = 1_000  # then a dead agent's work is back within seconds
MIN_INTERVAL_MS = 10  # more often helps nobody


def run(words: Words) -> int:
    """Sweep once, or watch."""
    operation = catalogue.operation("sweep")
    every = durations.parse(words.fields["every"], "every") if "every" in words.fields else INTERVAL_MS
    watch = bool(words.fields.get("watch"))
    if "every" in words.fields and not watch:
        raise Invalid("sweep: --every is for --watch", field="every")
    session = open_session(words)
    unread = ""

    def once() -> SweepAnswer:
        nonlocal unread
        why = session.reread() if watch else ""
        if why and why != unread:
            sys.stderr.write(f"dibs: the former configuration stays in force: {why}\n")
        unread = why
        call = session.identify(words.common.get("as"), request="" if watch else words.common.get("request-id", ""))
        found: SweepAnswer = session.answer(operation, call, {})
        session.store.tidy()
        how = "sweep" if watch else "call"
        rounds.step(session, how, call.agent or call.fallback, every=0)
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

    return until_signalled(sweep_loop.Watch(once, told, trouble).step, max(MIN_INTERVAL_MS, every) / 1000)


def _line(found: dict[str, int]) -> str:
    return f"swept: {', '.join(f'{count} {kind}' for kind, count in found.items())}"


COMMAND = Command("sweep", run=run, fields=FIELDS)
