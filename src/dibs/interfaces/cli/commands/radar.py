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
    from typing import Any

    from dibs.interfaces.cli.parse import Words

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

    def look() -> dict[str, Any]:
        from dibs.land import radar

        cost: dict[str, Any] = {}
        if not words.fields.get("known"):
            found = radar.look(session, call)
            cost = {"pairs": found.pairs, "merged": found.merged, "seconds": round(found.seconds, 3)}
            for note in found.notes if not words.json else ():
                sys.stderr.write(f"dibs: {note}\n")
        call.facts.clear()
        return {**session.answer(operation, call, values), **cost}

    return _watch(look, every, words) if watch else finish(operation, look(), words)


def _watch(look: Any, every: int, words: Words) -> int:
    last = None

    def step() -> None:
        nonlocal last
        found = look()
        if found["conflicts"] == last:
            return
        last = found["conflicts"]
        if words.json:
            sys.stdout.write(jsontext.encode({"ok": not last, **found}) + "\n")
        else:
            terminal.write([*render.items("radar", found), ""])
        sys.stdout.flush()

    return until_signalled(step, max(MIN_INTERVAL_MS, every) / 1000)


COMMAND = Command("radar", run=run, fields=FIELDS)
