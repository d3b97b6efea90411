"""`dibs map`: which agent reads and writes which resource, as a table fitted to the terminal, or as a picture."""

from __future__ import annotations

import sys

from dibs.client import catalogue
from dibs.errors import YES
from dibs.interfaces.cli import terminal
from dibs.interfaces.cli.command import Command
from dibs.interfaces.cli.commands.verify import ReportDoor
from dibs.interfaces.cli.dispatch import finish, read
from dibs.interfaces.cli.render import resource_map
from dibs.operations.core.declare import Field

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.interfaces.cli.parse import Words

FIELDS = (Field("svg", "file", "write it as a picture to this file", default="", metavar="FILE"),)
MAX_ROWS = 40  # of the table, unless the caller says what is wanted: more are folded into directories


def run(words: Words) -> int:
    """Show the map."""
    operation = catalogue.operation("map")
    session, call, values = read(operation, words, ReportDoor)
    picture = words.fields.get("svg", "")
    plain = not words.json and not picture
    if not words.json and not any(values.get(name) for name in ("depth", "rows", "limit", "after")):
        values = {**values, "rows": MAX_ROWS if plain else 4 * MAX_ROWS}
    found = session.answer(operation, call, values)
    if picture:
        from dibs.audit import build, map_svg

        path = build.write_out(session, picture, map_svg.render(found))
        if not words.json:
            sys.stdout.write(f"wrote {path}\n")
            return YES
    if words.json:
        return finish(operation, found, words)
    if not found["resources"] and (values.get("path") or values.get("since")):
        terminal.write(["nothing that you ask for was claimed or written"])
        return YES
    terminal.write(resource_map.table(found, terminal.width()))
    return YES


COMMAND = Command(
    "map",
    run=run,
    fields=FIELDS,
    examples=(
        ("dibs map", "all resources, folded into directories where there are many"),
        ("dibs map src --since 24h", "what happened below src in the last day"),
        ("dibs map --svg map.svg", "as a picture"),
    ),
)
