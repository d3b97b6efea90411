"""`dibs version`: which dibs, which SQLite."""

from __future__ import annotations

import sys

from dibs import __version__, jsontext
from dibs.doors.cli import parse
from dibs.errors import YES


def run(arguments: list[str]) -> int:
    """Print the versions."""
    words = parse.parse("version", (), arguments)
    import apsw

    python = ".".join([str(part) for part in sys.version_info[:3]])
    found = {"version": __version__, "python": python, "sqlite": apsw.sqlite_lib_version(), "apsw": apsw.apsw_version()}
    if words.json:
        sys.stdout.write(jsontext.encode({"ok": True, **found}) + "\n")
    else:
        sys.stdout.write(f"dibs {__version__} (Python {python}, SQLite {found['sqlite']}, apsw {found['apsw']})\n")
    return YES
