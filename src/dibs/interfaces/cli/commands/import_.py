"""`dibs import DIR`: takes over a home-made `.agent` folder: its tasks, claims and scripts. See docs/guides/import.md.

The scripts come back here, as `dibs import --script NAME …`, which is for them alone.
"""

from __future__ import annotations

import os
import sys

from dibs import jsontext
from dibs.agent_folder import files, scripts, takeover
from dibs.errors import NO, YES, Invalid, Unavailable
from dibs.interfaces.cli import parse
from dibs.interfaces.cli.command import Command
from dibs.machine import durations
from dibs.operations.core.declare import Field

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NotRequired, TypedDict

    from dibs.agent_folder.takeover import ConflictView, QueuedTask, Repaired, Stale, TakenOver
    from dibs.operations.agents.answers import BootAnswer

    class ImportReport(TypedDict):
        """What was done, or would be; the last two are of `--uninstall`."""

        workspace: str
        registry: str
        claims: NotRequired[list[TakenOver]]
        tasks: NotRequired[list[QueuedTask]]
        stale: NotRequired[list[Stale]]
        repaired: NotRequired[list[Repaired]]
        conflicts: list[ConflictView]
        scripts: NotRequired[list[str]]  # that were installed
        states: NotRequired[dict[str, int]]  # how many files the registry has in each
        changes: list[str]
        restored: NotRequired[list[str]]
        removed: NotRequired[list[str]]


FIELDS = (
    Field("folder", "text", "the repository that has the .agent folder, or that folder (default: here)",
          positional=True, metavar="DIR"),
    Field("dry_run", "flag", "only say what would be done", default=False),
    Field("uninstall", "flag", "put the former scripts back; claims stay", default=False),
)  # fmt: skip
FIRST = 3  # words of the hidden form: the script's name, how it was called, its .agent folder


def run(arguments: list[str]) -> int:
    """Take over what is there; exit 1 when something could not be."""
    if arguments[:1] == ["--script"]:
        name, called, agent = [*arguments[1:], "", "", ""][:FIRST]
        if name not in scripts.NAMES:
            raise Invalid(f"dibs has no script {name!r}", command="import")
        return scripts.script(name, called, agent, arguments[1 + FIRST :], _brief)
    words = parse.parse("import", FIELDS, arguments)
    if words.help:
        from dibs.interfaces.cli import help

        return help.show("import")
    folder = os.path.realpath(words.fields.get("folder") or os.getcwd())
    if not os.path.isdir(folder):
        raise Invalid(f"{words.fields.get('folder')} is not a folder", path=folder)
    wanted = words.common.get("timeout")
    timeout = durations.parse(wanted, "timeout") / 1000 if wanted else None
    dry = bool(words.fields.get("dry_run"))
    try:
        with scripts.Registrar(
            folder, words.common.get("workspace") or os.environ.get("DIBS_WORKSPACE"), timeout
        ) as desk:
            work = _uninstall if words.fields.get("uninstall") else _import
            report = work(desk, dry=dry)
    except OSError as error:
        raise Unavailable(f"{error.filename or folder}: {error.strerror}", path=folder) from None
    if words.json:
        _print_json(report)
    else:
        sys.stdout.write("".join(f"{line}\n" for line in _lines(report, dry=dry)))
    return NO if report["conflicts"] else YES


def _import(desk: scripts.Registrar, *, dry: bool) -> ImportReport:
    """Claims, scripts, and claims again: a script of old may have been at work until it was replaced."""
    todo = files.plan(desk.registry)
    taken = takeover.take_over(desk, dry=dry)
    if todo and not dry:
        files.install(desk.registry, todo)
        again = takeover.take_over(desk, dry=False)
        taken["claims"] += again["claims"]
        taken["tasks"] += again["tasks"]
        taken["stale"] += again["stale"]
        taken["repaired"] += again["repaired"]
        taken["conflicts"] = again["conflicts"]
    installed = [_relative(desk, os.path.join(desk.registry.tools, f"{name}.sh")) for name in todo]
    added = [entry["task"] for entry in taken["claims"]] + [entry["task"] for entry in taken["tasks"]]
    moved = [entry["task"] for entry in taken["stale"]] + [entry["task"] for entry in taken["repaired"]]
    changes = [
        *[f"task:{task}" for task in added],
        *[_relative(desk, desk.registry.path(files.CLAIMED, task)) for task in moved],
        *installed,
    ]
    return {
        "workspace": desk.session.place.root, "registry": desk.registry.folder, "claims": taken["claims"],
        "tasks": taken["tasks"], "stale": taken["stale"], "repaired": taken["repaired"],
        "conflicts": taken["conflicts"], "scripts": installed, "states": desk.registry.counts(), "changes": changes,
    }  # fmt: skip


def _uninstall(desk: scripts.Registrar, *, dry: bool) -> ImportReport:
    done = list(files.uninstall(desk.registry, dry=dry))
    restored = [_relative(desk, path) for path, kept in done if kept]
    removed = [_relative(desk, path) for path, kept in done if not kept]
    return {
        "workspace": desk.session.place.root, "registry": desk.registry.folder, "restored": restored,
        "removed": removed, "conflicts": [], "changes": sorted(restored + removed),
    }  # fmt: skip


def _relative(desk: scripts.Registrar, path: str) -> str:
    return os.path.relpath(path, os.path.dirname(desk.registry.agent))


def _print_json(report: ImportReport) -> None:
    head: dict[str, object] = {"ok": not report["conflicts"]}
    if report["conflicts"]:
        first = report["conflicts"][0]
        head["error"] = {"code": first["code"], "message": f"{first['task']} of {first['agent']}: {first['message']}"}
    sys.stdout.write(jsontext.encode({**head, **report}) + "\n")


def _lines(report: ImportReport, *, dry: bool) -> list[str]:
    """The report for people."""
    would = "would be " if dry else ""
    lines = [f"{would}taken over: {c['agent']} holds task:{c['task']}{_left(c)}" for c in report.get("claims", ())]
    lines += [
        f"STALE: Task {s['task']} claimed by {s['agent']} is stale (age: {s['age']} seconds). "
        + ("It would be released." if dry else "Releasing.")
        for s in report.get("stale", ())
    ]
    lines += [
        f"{would}corrected: in the live record {r['holder']} holds {r['task']}, not {r['agent']}"
        for r in report.get("repaired", ())
    ]
    by_state: dict[str, int] = {}
    for entry in report.get("tasks", ()):
        by_state[entry["state"]] = by_state.get(entry["state"], 0) + 1
    lines += [f"{would}added to the queue: {count} {state}" for state, count in by_state.items()]
    lines += [f"CONFLICT: {c['task']} of {c['agent']}: {c['message']}" for c in report["conflicts"]]
    lines += [f"{would}installed: {path}" for path in report.get("scripts", ())]
    lines += [f"{would}put back: {path}" for path in report.get("restored", ())]
    lines += [f"{would}removed: {path}" for path in report.get("removed", ())]
    if not report["changes"] and not report["conflicts"]:
        lines.append("nothing to do")
    return lines


def _brief(briefing: BootAnswer) -> None:
    """The briefing of a boot, as `dibs boot` prints it."""
    from dibs.interfaces.cli.dispatch import answer

    answer("boot", briefing, as_json=False)


def _left(claim: TakenOver) -> str:
    if claim["expires_at"] is None:
        return ""
    from dibs.interfaces.cli.render import times

    return f" for {times.left(claim['expires_at'])}, token {claim['token']}"


COMMAND = Command(
    "import",
    "Take over the tasks, claims and scripts of a home-made .agent folder.",
    run=run,
    group="setup",
    fields=FIELDS,
    examples=(
        ("dibs import --dry-run", "only say what would be done"),
        ("dibs import ../project", "take over ../project/.agent"),
    ),
    raw=True,
)
