"""`dibs run report`: what a run did, as JSON for programs, Markdown or one HTML file for people."""

from __future__ import annotations

import sys

from dibs.client import catalogue
from dibs.errors import YES
from dibs.interfaces.cli.command import Command
from dibs.interfaces.cli.dispatch import finish, read

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.interfaces.cli.parse import Words


def run(words: Words) -> int:
    """Make the report, and print it or write it to a file."""
    operation = catalogue.operation("run report")
    session, call, values = read(operation, words)
    found = session.answer(operation, call, values if words.json else {"format": "md", **values})
    if words.json:
        return finish(operation, found, words)
    if "file" in found:
        sys.stdout.write(f"wrote {found['file']}\n")
    elif "text" in found:
        sys.stdout.write(found["text"])
    else:
        from dibs.audit import build

        sys.stdout.write(build.render(found, "json"))
    return YES


COMMAND = Command(
    "run report",
    run=run,
    examples=(
        ("dibs run report", "the only active run, as Markdown"),
        ("dibs run report --run r1 --format html --out report.html", "one HTML file"),
    ),
)
