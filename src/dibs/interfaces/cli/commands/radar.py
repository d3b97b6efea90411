"""`dibs radar`: look now, then show what there is; `--watch` looks again and again."""

from __future__ import annotations

import sys

from dibs import jsontext
from dibs.client import catalogue
from dibs.errors import Invalid
from dibs.interfaces.cli import render, terminal
from dibs.interfaces.cli.command import Command
from dibs.interfaces.cli.dispatch import finish, read
from dibs.interfaces.cli.long_running import until_signalled
from dibs.machine import durations
from dibs.operations.core.declare import Field

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.interfaces.cli.parse import Words
    from dibs.operations.landing.answers import RadarAnswer

FIELDS = (
    Field("watch", "flag", "look repeatedly until interrupted; print whenever something changed", default=False),
    Field("every", "duration", "with --watch: how often (default 5s)", metavar="D"),
    Field("known", "flag", "do not look: show what the last look found", default=False),
)
INTERVAL_MS = 5_000
MIN_INTERVAL_MS = 100


def run(words: Words) -> int:
    """Look once, or watch."""
    operation = catalogue.operation("radar")
    watch = bool(words.fields.get("watch"))
    if "every" in words.fields and not watch:
        raise Invalid("radar: --every is for --watch", field="every")
    if watch and words.fields.get("known"):
        raise Invalid("radar: either --watch or --known", field="known")
    every = durations.parse(words.fields["every"], "every") if "every" in words.fields else INTERVAL_MS
    session, call, values = read(operation, words)

    def look() -> RadarAnswer:
        from dibs.land import radar

        looked = None if words.fields.get("known") else radar.look(session, call)
        for note in looked.notes if looked and not words.json else ():
            sys.stderr.write(f"dibs: {note}\n")
        call.facts.clear()
        known: RadarAnswer = session.answer(operation, call, values)
        if looked is not None:
            known["pairs"], known["merged"] = looked.pairs, looked.merged
            known["seconds"] = round(looked.seconds, 3)
        return known

    return _watch(look, every, words) if watch else finish(operation, look(), words)


def _watch(look: Callable[[], RadarAnswer], every: int, words: Words) -> int:
    last = None

    def step() -> None:
        nonlocal last
        known = look()
        if known["conflicts"] == last:
            return
        last = known["conflicts"]
        if words.json:
            sys.stdout.write(jsontext.encode({"ok": not last, **known}) + "\n")
        else:
            terminal.write([*render.items("radar", known), ""])
        sys.stdout.flush()

    return until_signalled(step, max(MIN_INTERVAL_MS, every) / 1000)


COMMAND = Command("radar", run=run, fields=FIELDS)
