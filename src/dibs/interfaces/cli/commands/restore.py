"""`dibs restore`: the operation, as people see it."""

from __future__ import annotations

import sys

from dibs import jsontext
from dibs.client import catalogue
from dibs.errors import YES, named, restoring
from dibs.interfaces.cli.command import Command
from dibs.interfaces.cli.dispatch import read
from dibs.interfaces.cli.render import continued, times

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.interfaces.cli.parse import Words
    from dibs.operations.guards.answers import KeptView


def run(words: Words) -> int:
    """List, or bring one back."""
    operation = catalogue.operation("restore")
    session, call, values = read(operation, words)
    answer = session.answer(operation, call, values)
    if words.json:
        sys.stdout.write(jsontext.encode({"ok": True, **answer}) + "\n")
    elif "kept" in answer:
        lines = [*map(_line, answer["kept"]), *(f"{line}\n" for line in continued(answer))]
        sys.stdout.write("".join(lines) or "nothing is kept\n")
    else:
        undo = f"; `{restoring(answer['undo'])}` takes that back" if answer["undo"] else ""
        names = " and ".join([one["name"] for one in answer["holders"]])
        told = f" ({names} still {'hold' if ' and ' in names else 'holds'} it and was notified)" if names else ""
        sys.stdout.write(f"restored {answer['restored']}{told}{undo}\n")
    return YES


def _line(kept: KeptView) -> str:
    by = named(kept, "by") if kept["by"] else "an unknown author"
    if kept["how"] == "forced":
        holder = named(kept, "holder")
        return f"{kept['id']}  {kept['path']}  kept {times.ago(kept['at'])} ago, when {by} took it away from {holder}\n"
    if kept["how"] == "removed":
        holder = named(kept, "holder")
        when = f"when {kept['tree']} was removed ({times.ago(kept['at'])} ago)"
        return f"{kept['id']}  {kept['path']}  kept {when}, work of {holder}\n"
    holder = named(kept, "holder")
    return f"{kept['id']}  {kept['path']}  overwritten {times.ago(kept['at'])} ago by {by}, held by {holder}\n"


COMMAND = Command(
    "restore",
    run=run,
    examples=(
        ("dibs restore", "list the contents that are kept"),
        ("dibs restore src/api.py", "bring back the newest kept content of this file"),
    ),
    old={"list": "restore"},
    notes=("A person restores a file also while an agent holds it: the agent keeps its claim and is notified.",),
    json="kept[] (id, path, tree, holder, by, at, blob, how), more, cursor, or restored, id, undo, token, "
    "holders[] (agent, name)",
)
