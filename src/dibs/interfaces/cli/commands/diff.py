"""`dibs diff`: the uncommitted work of an agent (undo/diff.py), as people read a diff."""

from __future__ import annotations

import sys

from dibs import jsontext
from dibs.client import catalogue
from dibs.errors import YES, counted, quoted
from dibs.interfaces.cli import terminal
from dibs.interfaces.cli.command import Command
from dibs.interfaces.cli.dispatch import read
from dibs.interfaces.cli.render import times

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.audit.answers import DiffAnswer, DiffFileView
    from dibs.interfaces.cli.parse import Words

STYLES = {"+": "green", "-": "red", "@": "cyan"}
HEADS = ("--- ", "+++ ")


def run(words: Words) -> int:
    """Print it."""
    operation = catalogue.operation("diff")
    session, call, values = read(operation, words)
    answer: DiffAnswer = session.answer(operation, call, values)
    if words.json:
        sys.stdout.write(jsontext.encode({"ok": True, **answer}) + "\n")
    elif "at" in answer:
        terminal.write(since(answer))
    elif not answer["files"]:
        sys.stdout.write(f"{terminal.clean(answer['name'])} has no uncommitted work on this machine\n")
    else:
        terminal.write(text(answer, session.place.top))
    return YES


def text(answer: DiffAnswer, top: str) -> list[str]:
    """The whole answer, a file after the other; those of another working tree below its name."""
    name, tree = answer["name"], top
    lines: list[str] = []
    for one in answer["files"]:
        if one["tree"] != tree:
            tree = one["tree"]
            lines.append(terminal.Line(f"in {terminal.clean(tree)}:", "bold"))
        lines += _file(one)
    files, added, removed = answer["files"], *[sum(one[key] for one in answer["files"]) for key in ("added", "removed")]
    lines.append(
        terminal.Aside(
            f"{counted(len(files), 'file')} with uncommitted work of {name} (+{added} -{removed}). To pass "
            f"it on: `dibs handover {quoted(name)} --to AGENT`. To undo it: `dibs undo {quoted(name)}`."
        )
    )
    return lines


def since(answer: DiffAnswer) -> list[str]:
    """What changed since a time."""
    ago = times.ago(answer["at"])
    lines = [line for one in answer["files"] for line in _file(one)]
    files, name = counted(len(answer["files"]), "file"), terminal.clean(answer["name"])
    return [*lines, terminal.Aside(f"{files} of {name} changed in the last {ago}")]


def _file(one: DiffFileView) -> list[str]:
    path = terminal.clean(one["path"])
    notes = [
        note for note, says in (("probably its work", one["likely"]), ("others changed it, too", one["shared"])) if says
    ]
    extra = f" ({', '.join(notes)})" if notes else ""
    if "diff" not in one:
        return [f"{one['change']} {path}: +{one['added']} -{one['removed']}{extra}"]
    head: list[str] = [terminal.Line(f"{one['change']} {path}{extra}", "bold")]
    if one["problem"]:
        return [*head, one["problem"]]
    found = one["diff"].split("\n") if one["diff"] else []
    return [*head, *[terminal.Line(terminal.clean(line), _style(line)) for line in found]]


def _style(line: str) -> str:
    return "bold" if line.startswith(HEADS) else STYLES.get(line[:1], "")


COMMAND = Command(
    "diff",
    run=run,
    examples=(
        ("dibs diff codex-2", "what that agent changed and no commit has"),
        ("dibs diff codex-2 -- src/", "only below src/"),
        ("dibs diff codex-2 --stat", "only the files, with their numbers of lines"),
        ("dibs diff --at 14:32", "what changed in this working tree since then"),
        ("dibs diff src/api.py --at 20m", "what became of a file"),
    ),
    notes=("The agent may be at work, idle or dead. `dibs undo AGENT` takes out what this shows.",),
)
