"""`dibs check`: the audit of a workspace (reports/audit.py), one line for each check."""

from __future__ import annotations

import sys

from dibs.doors.cli.command import Command
from dibs.doors.cli.commands.verify import progress
from dibs.doors.cli.dispatch import finish, read
from dibs.errors import NO, YES
from dibs.session import catalogue

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.doors.cli.parse import Words


def run(words: Words) -> int:
    """Exit 0 if nothing failed, 1 if an error did; a warning alone is told and passes."""
    operation = catalogue.operation("check")
    session, call, values = read(operation, words)
    session.progress = None if words.json else progress()
    found = session.answer(operation, call, values)
    if words.json:
        return finish(operation, found, words)
    for check in found["checks"]:
        mark = "ok     " if check["ok"] else "WRONG  " if check["severity"] == "error" else "warning"
        sys.stdout.write(f"{mark}  {check['check']}: {check['message']}\n")
    return NO if found["wrong"] else YES


COMMAND = Command("check", run=run, examples=(("dibs check", "every check, with its result"),))
