"""`dibs undo`: undo/undo.py, for people. Shows the difference and asks first."""

from __future__ import annotations

import sys

from dibs import jsontext
from dibs.errors import NO, YES, counted, named, undoing
from dibs.interfaces.cli import terminal
from dibs.interfaces.cli.command import Command
from dibs.interfaces.cli.dispatch import open_session
from dibs.interfaces.cli.render import times
from dibs.operations.core.declare import Field

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.audit.answers import UndoAnswer, UndoneView
    from dibs.interfaces.cli.parse import Words
    from dibs.operations.guards.answers import AtWorkView

FIELDS = (
    Field("what", "text", "the claim, task, agent or earlier undo", positional=True, required=True, metavar="WHAT"),
    Field("path", "resources", "only these files, folders or globs", positional=True, default=(), metavar="RESOURCE"),
    Field("since", "text", "only what was changed in the last 10m, 2h …", default="", metavar="D"),
    Field("theirs", "flag", "keep what others built on it: merge, and mark conflicts", default=False),
    Field("dry_run", "flag", "only show what would be done", default=False),
    Field("yes", "flag", "do not ask", default=False),
)
UNASKED = "nothing was changed yet; the same with `--yes` does it"


def run(words: Words) -> int:
    """Show, ask, do; what an interrupted run left is finished first."""
    from dibs.undo import undo

    session = open_session(words)
    asked = words.fields

    caller = session.identify(words.common.get("as"))
    found = undo.Undo(session, caller, lambda shown: bool(asked.get("yes")) or _agreed(words, shown), _tell).run(
        asked["what"], asked.get("path", ()), asked.get("since", ""),
        theirs=bool(asked.get("theirs")), dry_run=bool(asked.get("dry_run")),
    )  # fmt: skip
    if asked.get("dry_run"):
        return _preview(words, found, code=YES)
    if not found["done"]:
        return NO
    if words.json:
        sys.stdout.write(jsontext.encode({"ok": True, **found}) + "\n")
        return YES
    problems = [f"{terminal.clean(one['path'])}: {one['problem']}" for one in found["files"] if one["problem"]]
    terminal.write([_result(found), *map(_told, found["holders"]), *found["notes"], *problems])
    return YES


def _told(holder: AtWorkView) -> str:
    """What became of an agent that was at work on these files."""
    files = ", ".join(map(terminal.clean, holder["files"]))
    return f"{terminal.clean(named(holder))} {'lost' if holder['loses'] else 'still holds'} {files}, and was notified"


def _tell(done: UndoneView) -> None:
    terminal.complain(f"undo {done['undo']}, which was interrupted, is done: {_result(done)}")


def _result(done: UndoneView | UndoAnswer) -> str:
    commit = f", in commit {done['commit'][:12]}" if done["commit"] else ""
    text = f"undone in {counted(len(done['restored']), 'file')}{commit}; `{undoing(done['undo'])}` takes that back"
    if done["conflicts"]:
        text += (
            f"\n{counted(done['conflicts'], 'file')} with conflicts: look for the marks, or the file was left as it is"
        )
    if done["left"]:
        text += f"\nleft alone, because they changed meanwhile: {', '.join(map(terminal.clean, done['left']))}"
    return text


# --- what is shown


def _preview(words: Words, shown: UndoAnswer, *, code: int) -> int:
    if words.json:
        sys.stdout.write(jsontext.encode({"ok": code == YES, **shown}) + "\n")
        return code
    what = shown["what"]
    names = ", ".join(what["agents_name"])
    about = names if what["kind"] == "agent" else what["id"]
    lines: list[str | terminal.Table] = [
        terminal.Line(f"{what['kind']} {about}, {counted(len(shown['files']), 'file')} changed by {names}", "bold")
    ]
    if shown["others"]:
        lines.append(f"(taken for the {what['kind']}; else: {', '.join(shown['others'])})")
    if shown["commits"]:
        lines.append(f"reverts {', '.join(commit[:12] for commit in shown['commits'])} in one commit")
    for one in shown["files"]:
        notes = [note for note, says in (("probably its work", one["likely"]), ("conflicts", one["conflicts"])) if says]
        extra = f" ({', '.join(notes)})" if notes else ""
        reason = f": {one['problem']}" if one["problem"] else ""
        lines.append(terminal.Line(f"{one['action']} {terminal.clean(one['path'])}{extra}{reason}", "bold"))
        for other in one["others"]:
            since = times.ago(other["since"])
            lines.append(terminal.Line(f"  {terminal.clean(other['name'])} changed it {since} ago", "yellow"))
        for line in one["diff"].split("\n") if one["diff"] else ():
            style = {"+": "green", "-": "red"}.get(line[:1], "")
            lines.append(terminal.Line(f"  {terminal.clean(line)}", style))
    lines += shown["notes"]
    built_on = [one for one in shown["files"] if one["others"]]
    if built_on and not words.fields.get("theirs"):
        lines.append(f"refused as it is: others built on {counted(len(built_on), 'file')}; `--theirs` merges")
    terminal.write(lines)
    return code


def _agreed(words: Words, shown: UndoAnswer) -> bool:
    """Show it, and ask the person at the terminal; without a terminal the answer is no."""
    if words.json:
        _preview(words, {**shown, "notes": [*shown["notes"], UNASKED]}, code=NO)
        return False
    _preview(words, shown, code=NO)
    if not (terminal.is_terminal() and sys.stdin.isatty()):
        terminal.complain(UNASKED)
        return False
    sys.stdout.write("undo this? [y/N] ")
    sys.stdout.flush()
    if sys.stdin.readline().strip().lower() in {"y", "yes"}:
        return True
    terminal.complain("nothing was changed")
    return False


COMMAND = Command(
    "undo",
    "Undo what a claim, a task or an agent changed, byte for byte.",
    run=run,
    group="guards",
    fields=FIELDS,
    examples=(
        ("dibs undo c1f0a2b3c4d5e", "show what that claim changed, ask, take it back"),
        ("dibs undo TASK-7 src/ --dry-run", "only look, and only below src/"),
        ("dibs undo codex-2 --since 2h --yes", "everything that agent changed in the last two hours"),
        ("dibs undo TASK-7 --theirs", "keep what others built on it; conflicts are marked"),
    ),
    notes=(
        (
            "Committed work is reverted by one commit, through the guards. Your own work and that of your subagents "
            "you may undo; that of others an orchestrator or a person may. An undo can be undone by its id."
        ),
        (
            "A person acts for the agents at work on the files: an agent whose own work is undone loses its claims on "
            "them, another holder keeps its own; both are notified. `--dry-run` says who."
        ),
    ),
    json="what, others[], commits[], notes[], holders[] (agent, name, files[], holds[], loses), continued[], done, "
    "files[] (path, action, likely, conflicts, reverts, problem, diff, others[]); when done: undo, claim, restored[], "
    "left[], commit, conflicts",
    refusals=("conflict", "held", "forbidden", "not_found", "busy"),
)
