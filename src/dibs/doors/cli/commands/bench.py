"""`dibs bench`: the promised speeds, measured. The measuring is in `benchmarks`; this only reads the words."""

from __future__ import annotations

import os
import sys

from dibs import jsontext
from dibs.doors.cli.command import Command
from dibs.errors import NO, YES, Invalid
from dibs.operations.core.declare import Field

TYPE_CHECKING = False
if TYPE_CHECKING:
    from benchmarks.run import Options
    from dibs.doors.cli.parse import Words

FIELDS = (
    Field("quick", "flag", "a short run that shows that it works; its figures say little", default=False),
    Field(
        "only",
        "text",
        "only these groups: cold, hooks, claims, scale, tasks, contention, redis",
        default="",
        metavar="NAME[,NAME]",
    ),
    Field("no_peers", "flag", "measure dibs alone, install nothing", default=False),
    Field("seconds", "integer", "how long each scene of contention lasts (default 5, quick 1)", metavar="N"),
    Field("dir", "text", "where the scratch folder is made: on the disk to measure (default: here)", metavar="DIR"),
    Field("env", "text", "the peers' environment (default: ~/.cache/dibs/bench-venv)", metavar="DIR"),
    Field("out", "text", "where bench.json and bench.svg go (default: ./dibs-bench)", metavar="DIR"),
)
LONGEST = 600  # seconds of one scene; ten minutes show all there is to see


def run(words: Words) -> int:
    """Measure and report."""
    options = _options(words)
    from benchmarks import run as bench
    from benchmarks import table

    report = bench.run(options)
    if words.json:
        sys.stdout.write(jsontext.encode({**report.as_json(), "files": report.files}) + "\n")
    else:
        table.show(report.machine, report.rows)
        sys.stdout.write(f"written: {', '.join(report.files)}\n")
    return NO if report.missed else YES


def _options(words: Words) -> Options:
    from benchmarks.environment import default_folder
    from benchmarks.run import GROUPS, Options

    quick = bool(words.fields.get("quick"))
    groups = tuple(name.strip() for name in words.fields.get("only", "").split(",") if name.strip()) or GROUPS
    for name in groups:
        if name not in GROUPS:
            message = f"only: one or more of {', '.join(GROUPS)}, not {name!r}"
            raise Invalid(message, field="only")
    given = words.fields.get("seconds", "1" if quick else "5")
    if not given.isdecimal() or not 1 <= int(given) <= LONGEST:
        message = f"seconds: from 1 to {LONGEST}, not {given!r}"
        raise Invalid(message, field="seconds")
    return Options(
        folder=words.fields.get("dir") or os.getcwd(),
        out=os.path.abspath(words.fields.get("out") or "dibs-bench"),
        env=words.fields.get("env") or default_folder(),
        groups=groups,
        peers=not words.fields.get("no_peers"),
        quick=quick,
        seconds=float(given),
    )


COMMAND = Command(
    "bench",
    "Measure the promised speeds, next to peers from PyPI; exit code 1 if one is missed.",
    run=run,
    group="about",
    fields=FIELDS,
    examples=(
        ("dibs bench --quick --no-peers", "a short run, dibs alone"),
        ("dibs bench --only hooks,claims", "two groups, at full length"),
    ),
)
