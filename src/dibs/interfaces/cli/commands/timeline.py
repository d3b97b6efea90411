"""`dibs timeline`: the states of a file, an agent or a working tree (undo/timeline.py), one a line."""

from __future__ import annotations

from dibs.client import catalogue
from dibs.errors import YES
from dibs.interfaces.cli import terminal
from dibs.interfaces.cli.command import Command
from dibs.interfaces.cli.dispatch import answer, read
from dibs.interfaces.cli.render import times

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.audit.answers import StateView, TimelineAnswer
    from dibs.interfaces.cli.parse import Words


def run(words: Words) -> int:
    """Print it."""
    operation = catalogue.operation("timeline")
    session, call, values = read(operation, words)
    found: TimelineAnswer = session.answer(operation, call, values)
    if words.json:
        answer("timeline", found, as_json=True)
        return YES
    lines = [_line(one, found["kind"], session.place.top) for one in found["states"]]
    if found["more"]:
        lines.append(terminal.Aside("there are older ones: `--limit N`"))
    terminal.write(lines or [f"no state of {terminal.clean(found['name'])} is known"])
    return YES


def _line(one: StateView, kind: str, top: str) -> str:
    who = " and ".join(one["names"]) or "a person or a program"
    where = f" in {one['tree']}" if kind != "tree" and one["tree"] != top else ""
    left = one["count"] - len(one["paths"])
    paths = ", ".join(one["paths"]) + (f" and {left} more" if left > 0 else "")
    what = f"{one['count']} changed: {paths}" if kind == "tree" and paths else paths or "HEAD or branch alone"
    said = "anchored" if kind == "tree" else one["change"]
    likely = " (probably)" if one["likely"] else ""
    why = f": {one['why']}" if one["why"] else ""
    name = "" if kind == "tree" and not one["names"] else f" by {who}{likely}"
    return terminal.clean(f"{_time(one['at'])}  {one['id'][:10]:10}  {said}{name}{where}  {what}{why}")


def _time(at: str) -> str:
    """As `--at` takes it, and how long ago it was."""
    from datetime import datetime

    then, now = datetime.fromisoformat(at).astimezone(), datetime.now().astimezone()
    shown = then.strftime("%H:%M:%S" if then.date() == now.date() else "%Y-%m-%dT%H:%M:%S")
    return f"{shown} ({times.ago(at)} ago)"


COMMAND = Command(
    "timeline",
    run=run,
    examples=(
        ("dibs timeline src/api.py", "which contents the file had, since when, by which agent and why"),
        ("dibs timeline codex-2", "what that agent changed, in all working trees"),
        ("dibs timeline tree:topic", "the states of a working tree, also of a removed one"),
    ),
    notes=("`dibs diff --at TIME WHAT` shows what changed since, `dibs restore WHAT --at TIME` brings it back.",),
)
