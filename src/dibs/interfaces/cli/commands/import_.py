"""`dibs import DIR`: takes over a home-made `.agent` folder: its tasks, claims and four scripts. See docs/IMPORT.md.

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
    from typing import Any

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


def _import(desk: scripts.Registrar, *, dry: bool) -> dict[str, Any]:
    """Claims, scripts, and claims again: a script of old may have been at work until it was replaced."""
    todo = files.plan(desk.registry)
    report: dict[str, Any] = takeover.take_over(desk, dry=dry)
    if todo and not dry:
        files.install(desk.registry, todo)
        again = takeover.take_over(desk, dry=False)
        for name in ("claims", "tasks", "stale", "repaired"):
            report[name] += again[name]
        report["conflicts"] = again["conflicts"]
    report["scripts"] = [_relative(desk, os.path.join(desk.registry.tools, f"{name}.sh")) for name in todo]
    report["states"] = desk.registry.counts()
    report["changes"] = [
        *[f"task:{entry['task']}" for entry in [*report["claims"], *report["tasks"]]],
        *[
            _relative(desk, desk.registry.path(files.CLAIMED, moved["task"]))
            for moved in [*report["stale"], *report["repaired"]]
        ],
        *report["scripts"],
    ]
    return _about(desk, report)


def _uninstall(desk: scripts.Registrar, *, dry: bool) -> dict[str, Any]:
    done = list(files.uninstall(desk.registry, dry=dry))
    report: dict[str, Any] = {
        "restored": [_relative(desk, path) for path, kept in done if kept],
        "removed": [_relative(desk, path) for path, kept in done if not kept],
        "conflicts": [],
    }
    report["changes"] = sorted(report["restored"] + report["removed"])
    return _about(desk, report)


def _about(desk: scripts.Registrar, report: dict[str, Any]) -> dict[str, Any]:
    return {"workspace": desk.session.place.root, "registry": desk.registry.folder, **report}


def _relative(desk: scripts.Registrar, path: str) -> str:
    return os.path.relpath(path, os.path.dirname(desk.registry.agent))


def _print_json(report: dict[str, Any]) -> None:
    said: dict[str, Any] = {"ok": not report["conflicts"]}
    if report["conflicts"]:
        first = report["conflicts"][0]
        said["error"] = {"code": first["code"], "message": f"{first['task']} of {first['agent']}: {first['message']}"}
    sys.stdout.write(jsontext.encode({**said, **report}) + "\n")


def _lines(report: dict[str, Any], *, dry: bool) -> list[str]:
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


def _brief(found: dict[str, Any]) -> None:
    """The briefing of a boot, as `dibs boot` prints it."""
    from dibs.interfaces.cli.dispatch import answer

    answer("boot", found, as_json=False)


def _left(claim: dict[str, Any]) -> str:
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
