"""`dibs undo`: takes back what a claim, a task or an agent changed. Shows the difference and asks first.

running/undo_plan.py finds what is to be done, running/undo_work.py does it, operations/guards/undo.py has the rules.
"""

from __future__ import annotations

import sys

from dibs import jsontext
from dibs.doors.cli import terminal
from dibs.doors.cli.command import Command
from dibs.doors.cli.dispatch import open_session
from dibs.doors.cli.render import times
from dibs.errors import NO, YES, Conflict, NotFound, counted
from dibs.facts import clock
from dibs.operations.core.declare import Field

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dibs.doors.cli.parse import Words
    from dibs.running.undo_plan import FilePlan, Plan, Planner
    from dibs.session.session import Session

MS_NS = 1_000_000
MAX_DIFF_LINES = 400  # of one file
SHOWN = 5  # blockers that a refusal names
FIELDS = (
    Field("what", "text", "the claim, task, agent or earlier undo", positional=True, required=True, metavar="WHAT"),
    Field("path", "resources", "only these files, folders or globs", positional=True, default=(), metavar="PATH"),
    Field("since", "text", "only what was changed in the last 10m, 2h …", default="", metavar="D"),
    Field("theirs", "flag", "keep what others built on it: merge, and mark conflicts", default=False),
    Field("dry_run", "flag", "only show what would be done", default=False),
    Field("yes", "flag", "do not ask", default=False),
)


def run(words: Words) -> int:
    """Finish what was interrupted, then show, ask, do."""
    from dibs.running import undo_plan, undo_scope, undo_work

    session = open_session(words)
    call = session.identify(words.common.get("as"))
    since = 0
    if words.fields.get("since"):
        from dibs.session import durations

        since = (clock.wall() - durations.parse(words.fields["since"], "since")) * MS_NS
    worker = undo_work.Worker(session, call)
    lock = undo_work.Lock(worker.folder)
    try:
        continued = [worker.proceed(made) for made in worker.unfinished()] if not words.fields.get("dry_run") else []
        for one in continued:
            terminal.complain(f"undo {one['undo']}, which was interrupted, is done: {_result(one)}")
        scope, others = undo_scope.find(session, call, words.fields["what"], since)
        only = undo_plan.resources_of(session, words.fields.get("path", ()))
        planner = undo_plan.Planner(session, scope, only, merge=bool(words.fields.get("theirs")))
        plan = planner.made()
        shown = _shown(session, call, planner, plan, others)
        if not plan.files:
            raise NotFound(_nothing(plan, shown), what=words.fields["what"])
        refused = [] if words.fields.get("theirs") else plan.blocked
        if words.fields.get("dry_run"):
            return _preview(words, {**shown, "done": False}, refused, code=YES)
        if refused:
            raise _built_on(refused, shown)
        if all(one.problem for one in plan.files):
            raise NotFound(f"nothing of {scope.title()} can be undone: {plan.files[0].problem}", what=scope.id)
        if not words.fields.get("yes") and not _agreed(words, shown):
            return NO
        done = worker.begin(plan)
    finally:
        lock.close()
    if words.json:
        sys.stdout.write(jsontext.encode({"ok": True, **shown, **done, "done": True}) + "\n")
    else:
        terminal.write(
            [_result(done), *plan.left, *[f"{one.path}: {one.problem}" for one in plan.files if one.problem]]
        )
    return YES


def _result(done: dict[str, Any]) -> str:
    commit = f", in commit {done['commit'][:12]}" if done["commit"] else ""
    text = f"undone in {counted(len(done['restored']), 'file')}{commit}; `dibs undo {done['undo']}` takes that back"
    if done["conflicts"]:
        text += (
            f"\n{counted(done['conflicts'], 'file')} with conflicts: look for the marks, or the file was left as it is"
        )
    if done["left"]:
        text += f"\nleft alone, because they changed meanwhile: {', '.join(done['left'])}"
    return text


def _nothing(plan: Plan, shown: dict[str, Any]) -> str:
    what = shown["what"]
    said = f"nothing that {what['kind']} {what['id']} changed is left to undo here"
    return " ".join([f"{said}.", *plan.left])


def _built_on(files: list[FilePlan], shown: dict[str, Any]) -> Conflict:
    """Who built on which file, since when."""
    names = {one["path"]: one["others"] for one in shown["files"]}
    lines = []
    for one in files[:SHOWN]:
        found = names[one.path][0]
        lines.append(f"  {one.path}: {found['name']} changed it {times.ago(found['since'])} ago")
    if len(files) > SHOWN:
        lines.append(f"  and {len(files) - SHOWN} more")
    what = shown["what"]
    text = "\n".join(
        [
            f"others have built on what {what['kind']} {what['id']} changed:",
            *lines,
            "`--theirs` keeps their work and takes out only the rest, by a three-way merge; or name the other files.",
        ]
    )
    first = names[files[0].path][0]
    return Conflict(text, path=files[0].path, agent=first["agent"], paths=[one.path for one in files])


# --- what is shown


def _shown(session: Session, call: Any, planner: Planner, plan: Plan, others: list[str]) -> dict[str, Any]:
    from dibs.operations.agents.lookups import NAMES

    agents = {run.by for one in plan.files for run in one.blockers} | set(plan.scope.agents)
    names = session.run(NAMES, call, {"agents": sorted(agents)})["names"]

    def said(by: str) -> str:
        return {"outside": "a person or a program", "?": "an unknown agent", "unknown": "an unknown agent"}.get(
            by, names.get(by) or by
        )

    return {
        "what": {"kind": plan.scope.kind, "id": plan.scope.id, "agents": plan.scope.agents},
        "others": others,
        "commits": plan.commits,
        "notes": plan.left,
        "files": [
            {
                "path": one.path, "action": _action(one), "likely": one.is_likely, "conflicts": one.conflicts,
                "reverts": one.head != one.head_to, "problem": one.problem or None, "diff": _diff(planner, one),
                "others": [
                    {"agent": run.by, "name": said(run.by), "since": clock.iso(run.since // MS_NS)}
                    for run in one.blockers
                ],
            }
            for one in plan.files
        ],
    }  # fmt: skip


def _action(one: FilePlan) -> str:
    if one.problem:
        return "none"
    if one.to == one.now:
        return "unstage" if one.head == one.head_to else "commit"
    if one.to[0] == "-":
        return "remove"
    if one.now[0] == "-":
        return "bring back"
    return "mode" if one.to[0] == one.now[0] else "merge" if one.blockers else "restore"


def _diff(planner: Planner, one: FilePlan) -> str:
    """The difference that undoing makes, for people; a word for what is no text."""
    import difflib

    if one.problem or one.to == one.now:
        return ""
    texts = []
    for blob, _ in (one.now, one.to):
        found = b"" if blob == "-" else planner.content(blob)
        if found is None or b"\0" in found or blob.startswith("~"):
            return f"binary: {one.now[0][:12]} becomes {one.to[0][:12]}"
        texts.append(found.decode("utf-8", "backslashreplace").splitlines())
    lines = list(difflib.unified_diff(texts[0], texts[1], "now", "then", lineterm="", n=2))
    if one.now[1] != one.to[1] and "-" not in {one.now[0], one.to[0]}:
        lines.insert(0, f"mode: {one.now[1] or 'plain'} becomes {one.to[1] or 'plain'}")
    if len(lines) > MAX_DIFF_LINES:
        lines = [*lines[:MAX_DIFF_LINES], f"… and {len(lines) - MAX_DIFF_LINES} more lines"]
    return "\n".join(lines)


def _preview(words: Words, shown: dict[str, Any], refused: list[FilePlan], *, code: int) -> int:
    if words.json:
        sys.stdout.write(jsontext.encode({"ok": code == YES, **shown}) + "\n")
        return code
    what = shown["what"]
    names = ", ".join(what["agents"])
    lines: list[str | terminal.Table] = [
        terminal.Line(f"{what['kind']} {what['id']}, {counted(len(shown['files']), 'file')} changed by {names}", "bold")
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
    if refused:
        lines.append(f"refused as it is: others built on {counted(len(refused), 'file')}; `--theirs` merges")
    terminal.write(lines)
    return code


def _agreed(words: Words, shown: dict[str, Any]) -> bool:
    """Show it, and ask whoever sits there; nobody there means no."""
    _preview(words, {**shown, "done": False}, [], code=NO)
    if words.json:
        return False
    if not (terminal.is_terminal() and sys.stdin.isatty()):
        terminal.complain("nothing was changed yet; the same with `--yes` does it")
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
    ),
    json="what, others[], commits[], notes[], done, files[] (path, action, likely, conflicts, reverts, problem, diff, "
    "others[]); when done: undo, claim, restored[], left[], commit, conflicts",
    refusals=("conflict", "held", "forbidden", "not_found", "busy"),
)
