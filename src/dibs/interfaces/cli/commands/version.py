"""`dibs version`: which dibs, which SQLite."""

from __future__ import annotations

import sys

from dibs import __version__, jsontext
from dibs.errors import YES
from dibs.interfaces.cli.command import Command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.interfaces.cli.parse import Words


def run(words: Words) -> int:
    """Print the versions."""
    import apsw

    python = ".".join([str(part) for part in sys.version_info[:3]])
    found = {"version": __version__, "python": python, "sqlite": apsw.sqlite_lib_version(), "apsw": apsw.apsw_version()}
    if words.json:
        sys.stdout.write(jsontext.encode({"ok": True, **found}) + "\n")
    else:
        sys.stdout.write(f"dibs {__version__} (Python {python}, SQLite {found['sqlite']}, apsw {found['apsw']})\n")
    return YES


COMMAND = Command(
    "version",
    "Print the versions of dibs, Python and SQLite.",
    run=run,
    group="about",
    examples=(("dibs version", "also `dibs --version`"),),
    json="version, python, sqlite, apsw",
)
