"""`dibs demo`: a fleet on a scratch repository, first without dibs, then with it."""

from __future__ import annotations

import os
import sys

from dibs import jsontext
from dibs.doors.cli import parse
from dibs.errors import NO, YES, Invalid
from dibs.operations.core.declare import Field

FIELDS = (
    Field("agents", "integer", "how many agents, each a process (default 12)", default=12, metavar="N"),
    Field("edits", "integer", "how many edits each of them makes (default 20)", default=20, metavar="N"),
    Field("seed", "integer", "another seed, another plan (default 1)", default=1, metavar="N"),
    Field(
        "store",
        "text",
        "coordinate through this server (default: DIBS_STORE, if it names one)",
        default="",
        metavar="URL",
    ),
    Field(
        "hosts", "integer", "with a server: so many folders that stand for machines (default 3)", default=3, metavar="N"
    ),
    Field("keep", "flag", "keep the scratch repository and say where it is", default=False),
)
HOSTS = 3
HELP = "See what a dozen agents lose without dibs, and with it: nothing. Under a minute."


def run(arguments: list[str]) -> int:
    """Play it and show what came of it."""
    words = parse.parse("demo", FIELDS, arguments)
    if words.help:
        from dibs.doors.cli import help as helping

        return helping.of_command("demo", HELP, FIELDS)
    from dibs.demo import plan, play, report, screen

    size = plan.Size(
        _number(words, "agents", plan.MIN_AGENTS, plan.MAX_AGENTS, plan.AGENTS),
        _number(words, "edits", plan.MIN_EDITS, plan.MAX_EDITS, plan.EDITS),
        _number(words, "seed", 0, 2**63 - 1, plan.SEED),
    )
    url = words.fields.get("store") or os.environ.get("DIBS_STORE", "")
    hosts = 0
    if url and not url.startswith("sqlite:"):
        hosts = _number(words, "hosts", 1, plan.MAX_AGENTS, HOSTS)
    server = play.Server(url, hosts) if hosts else None
    keep = bool(words.fields.get("keep"))
    result = play.play(size, screen.choose(as_json=words.json), keep=keep, server=server)
    if words.json:
        sys.stdout.write(jsontext.encode({**result, "verdict": report.verdict(result)}) + "\n")
    else:
        report.show(result)
    return YES if result["ok"] else NO


def _number(words: parse.Words, name: str, least: int, most: int, default: int) -> int:
    given = words.fields.get(name, default)
    try:
        value = int(given)
    except ValueError:
        value = least - 1
    if not least <= value <= most:
        message = f"{name}: a whole number from {least} to {most}, not {given!r}"
        raise Invalid(message, field=name)
    return value
