"""`dibs mcp`: dibs as tools of the Model Context Protocol, for the client that starts it."""

from __future__ import annotations

import os
import sys

from dibs.errors import YES, Unavailable
from dibs.interfaces.cli.command import Command
from dibs.machine import extras
from dibs.operations.core.declare import Field

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.interfaces.cli.parse import Words

FIELDS = (Field("all", "flag", "every operation as a tool, not only the chosen ones", default=False),)
HOW = "the tools need the MCP SDK, the extra `mcp` of dibs: {advice}"


def run(words: Words) -> int:
    """Serve the client on stdin and stdout until it closes them."""
    from dibs.interfaces.install import mcp_entries

    if not mcp_entries.is_offered():
        how = HOW.format(advice=extras.advice("mcp"))
        if sys.stdin.isatty():
            raise Unavailable(f"{how}.", program="mcp")
        from dibs.interfaces.mcp import absent

        absent.serve(how)
        return YES
    from dibs.interfaces.mcp import stdio

    workspace = words.common.get("workspace") or os.environ.get("DIBS_WORKSPACE") or ""
    if sys.stdin.isatty():
        sys.stderr.write("dibs: this speaks MCP on stdin and stdout, for the client that starts it. Ctrl-C ends it.\n")
        sys.stderr.flush()
    stdio.serve(workspace, every=bool(words.fields.get("all")))
    return YES


COMMAND = Command(
    "mcp",
    "Serve dibs as MCP tools on stdin and stdout, for the client that starts it.",
    run=run,
    group="setup",
    fields=FIELDS,
    examples=(
        ("dibs mcp", "some twenty tools for a model; `dibs init` writes the entry for each client"),
        ("dibs mcp --all", "a tool for every operation"),
    ),
)
