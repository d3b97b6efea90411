"""`dibs restore`: the operation, as people see it."""

from __future__ import annotations

import sys

from dibs import jsontext
from dibs.client import catalogue
from dibs.errors import YES, counted, named, restoring, undoing
from dibs.interfaces.cli import terminal
from dibs.interfaces.cli.command import Command
from dibs.interfaces.cli.dispatch import read
from dibs.interfaces.cli.render import continued, times

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.audit.answers import RestoreAnswer
    from dibs.interfaces.cli.parse import Words
    from dibs.operations.guards.answers import KeptView


SHOWN = 20  # files


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
    elif "to" in answer:
        terminal.write(_tree(answer))
    elif "files" in answer:
        terminal.write(_past(answer))
    else:
        undo = f"; `{restoring(answer['undo'])}` takes that back" if answer["undo"] else ""
        names = " and ".join([one["name"] for one in answer["holders"]])
        told = f" ({names} still {'hold' if ' and ' in names else 'holds'} it and was notified)" if names else ""
        sys.stdout.write(f"restored {answer['restored']}{told}{undo}\n")
    return YES


def _tree(answer: RestoreAnswer) -> list[str]:
    """A whole working tree."""
    at = answer["at"]
    when = f" of {times.ago(at)} ago" if at else ""
    on = f"{answer['checkout']}, HEAD {answer['head'][:12]}" if answer["head"] else answer["checkout"]
    found = counted(answer["count"], "file")
    lines = [f"restored the state{when} of {answer['tree']} in {answer['to']} ({on}): {found} with uncommitted work"]
    lines += [f"  {path}" for path in answer["files"][:SHOWN]]
    lines += [f"  and {answer['count'] - SHOWN} more"] if answer["count"] > SHOWN else []
    lines += [f"gone: {path}" for path in answer["missing"]]
    return [terminal.clean(line) for line in [*lines, *answer["notes"]]]


def _past(answer: RestoreAnswer) -> list[str]:
    """Files as they were at a time."""
    undo = answer["undo"]
    back = f"; `{undoing(undo)}` takes that back" if undo else ""
    lines = [f"restored {counted(answer['count'], 'file')}{back}", *[f"  {path}" for path in answer["files"][:SHOWN]]]
    return [terminal.clean(line) for line in [*lines, *answer["notes"]]]


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
        ("dibs restore --tree topic", "bring back a working tree that was removed, with all that was not committed"),
        ("dibs restore --tree topic --at 14:32 --to ../then", "its files as they were then, in another folder"),
        ("dibs restore src/api.py --at 20m", "this file as it was 20 minutes ago"),
        (
            "dibs restore codex-2 --at 14:32 --merge",
            "an agent's files as they were then, and keep what others built on",
        ),
    ),
    old={"list": "restore"},
    notes=("A person restores a file also while an agent holds it: the agent keeps its claim and is notified.",),
    json="kept[] (id, path, tree, holder, by, at, blob, how), more, cursor, or restored, id, undo, token, "
    "holders[] (agent, name); with --tree: tree, to, at, head, branch, checkout, files[], count, missing[], notes[]",
)
