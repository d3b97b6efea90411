"""`dibs run report`: what a run did, as JSON for programs, Markdown or one HTML file for people."""

from __future__ import annotations

import sys

from dibs import jsontext
from dibs.doors.cli.command import Command
from dibs.doors.cli.dispatch import open_session
from dibs.errors import YES
from dibs.operations.core.declare import Field
from dibs.session import read_fields

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.doors.cli.parse import Words

FORMATS = ("json", "md", "html")
FIELDS = (
    Field("run", "text", "the run (else DIBS_RUN, else the only active one)", default="", metavar="RUN"),
    Field("format", "choice", "json, Markdown (default) or one HTML file", default="md", choices=FORMATS),
    Field("out", "text", "write it to this file", default="", metavar="FILE"),
)


def run(words: Words) -> int:
    """Make the report, and print it or write it to a file."""
    from dibs.reports import build

    session = open_session(words)
    asked = {field.name: words.fields[field.name] for field in FIELDS if field.name in words.fields}
    kind = read_fields.read(session, FIELDS[1], asked.get("format") or ("json" if words.json else "md"))
    run = read_fields.default_run(asked.get("run", ""))
    call = session.identify(words.common.get("as"))
    made = build.report(session, call, run)
    text = build.render(made, kind)
    file = build.write_out(session, asked["out"], text) if asked.get("out") else ""
    if words.json:
        body = made if kind == "json" and not file else {"run": made["run"]}
        if kind != "json" or file:
            body.update({"format": kind, "file": file} if file else {"format": kind, "text": text})
        sys.stdout.write(jsontext.encode({"ok": True, **body}) + "\n")
    else:
        sys.stdout.write(f"wrote {file}\n" if file else text)
    return YES


COMMAND = Command(
    "run report",
    "Report what a run did: results, figures, contention, which agent did what and when.",
    run=run,
    group="runs",
    fields=FIELDS,
    examples=(
        ("dibs run report", "the only active run, as Markdown"),
        ("dibs run report --run r1 --format html --out report.html", "one HTML file"),
    ),
    json="run, summary, performance, by_agent, by_task, errors[], warnings[], phases[], contention[], timeline, "
    "gates[], notes[]",
)
