"""`dibs sync-check`: is what others have pushed here? Fetches and compares; changes no file and no branch."""

from __future__ import annotations

import sys

from dibs import jsontext
from dibs.doors import deploying
from dibs.doors.cli import parse
from dibs.doors.cli.run import open_session
from dibs.errors import YES
from dibs.operations.declare import Field

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FIELDS = (
    Field("remote", "text", "compare with this remote (default: the one the branch follows)", default="", metavar="R"),
    Field("branch", "text", "compare with this branch there", default="", metavar="B"),
)
HELP = "Fetch, and refuse when others have commits that are not here (exit 1)."

MORE = ("JSON beside `ok`: branch, commit, behind, ahead, upstream", "Refusals: behind")


def run(arguments: list[str]) -> int:
    """Compare; being behind is a refusal."""
    words = parse.parse("sync-check", FIELDS, arguments)
    if words.help:
        from dibs.doors.cli import help

        return help.of_command(
            "sync-check", HELP, FIELDS, ["JSON beside `ok`: branch, commit, behind, ahead, upstream"]
        )
    session = open_session(words)
    if session.place.common:
        found = words.fields
        wait = deploying.patience(session)
        standing = deploying.stand(session.place.top, found.get("remote", ""), found.get("branch", ""), timeout=wait)
    else:
        standing = deploying.Standing("", "", note="not in a git repository")
    deploying.refuse_behind(standing)
    shown = standing.as_json()
    sys.stdout.write(jsontext.encode({"ok": True, **shown}) + "\n" if words.json else _line(shown))
    return YES


def _line(shown: dict[str, Any]) -> str:
    if shown.get("note"):
        return f"nothing to compare: {shown['note']}\n"
    ahead = f", {shown['ahead']} ahead" if shown["ahead"] else ""
    return f"{shown['branch'] or 'HEAD'} has all of {shown['upstream']}{ahead} ({shown['commit'][:12]})\n"
