"""Answers about runs as text for people."""

from __future__ import annotations

from dibs.audit import html_text
from dibs.errors import counted, named
from dibs.interfaces.cli.render import listed, some, times
from dibs.interfaces.cli.terminal import Table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from dibs.interfaces.cli.render import Items


def _start(result: dict[str, Any]) -> Items:
    run = result["run"]
    tasks = f" with {counted(len(result['tasks']), 'task')}" if "tasks" in result else ""
    return [f"run {run['id']} started{tasks} in phase {run['phase']}", f"export DIBS_RUN={run['id']}"]


def _join(result: dict[str, Any]) -> Items:
    agent = result["agent"]
    able = f", can {html_text.clean(', '.join(agent['can']))}" if agent["can"] else ""
    kind = f" as {html_text.clean(agent['type'])}" if agent["type"] else ""
    return [f"{named(agent)} takes part in run {result['run']['id']}{kind}{able}"]


def _phase(result: dict[str, Any]) -> Items:
    return [f"run {result['run']['id']} is in phase {result['run']['phase']} (before: {result['before']})"]


def _noted(result: dict[str, Any]) -> Items:
    note = result["noted"]
    done = f" (handled: {html_text.clean(note['handled'])})" if note.get("handled") else ""
    return [f"run {result['run']['id']} has note {note['number']}: {html_text.clean(note['text'])}{done}"]


def _progress(result: dict[str, Any]) -> Items:
    run = result["run"]
    counts = ", ".join(f"{number} {state}" for state, number in run["tasks"].items() if state != "total")
    lines = [
        f"run {run['id']} ({html_text.clean(run['operation'])}): {run['state']}, {run['phase']}, {run['progress']} %",
        counted(run["tasks"]["total"], "task") + (f": {counts}" if counts else ""),
    ]
    for name in ("errors", "warnings"):
        lines += [
            f"{name[:-1]} {one['number']}: {html_text.clean(one['text'])} ({named(one, 'by')}){_dealt(one)}"
            for one in run[name]
        ]
        hidden = run[f"{name[:-1]}_count"] - len(run[name])
        lines += [f"({hidden} earlier {name})"] if hidden > 0 else []
    return lines


def _dealt(note: dict[str, Any]) -> str:
    return f", handled: {html_text.clean(note['handled'])}" if note.get("handled") else ""


def _list(result: dict[str, Any]) -> Items:
    rows = [
        (run["id"], run["state"], run["phase"], named(run, "coordinator"), f"{times.ago(run['started_at'])} ago",
         html_text.clean(run["operation"], 60))
        for run in result["runs"]
    ]  # fmt: skip
    return listed(("RUN", "STATE", "PHASE", "COORDINATOR", "STARTED", "OPERATION"), rows, "no runs", result)


def _show(result: dict[str, Any]) -> Items:
    run = result["run"]
    lines = [*_progress(result), f"coordinator {named(run, 'coordinator')}, started {times.ago(run['started_at'])} ago"]
    if run.get("archive"):
        lines.append(f"archive: .dibs/local/{run['archive']['file']} ({html_text.size(run['archive']['size'])})")
    rows = []
    for one in run["agents"]:
        used = one.get("usage")
        said = (
            f"{used['cpu']:.0f} %, {html_text.size(used['memory'])}, {counted(used['threads'], 'thread')}"
            if used
            else ""
        )
        kind = " ".join([html_text.clean(one["type"]), *[html_text.clean(word) for word in one["can"]]]).strip()
        rows.append((named(one), one["state"], kind, str(one["finished"]), ", ".join(one["tasks"][:3]), said))
    if rows:
        lines += ["", Table(("AGENT", "STATE", "TYPE, CAN", "FINISHED", "TASKS", "USES"), rows)]
    return lines


def _gates(result: dict[str, Any]) -> Items:
    lines = [
        f"{'ok    ' if gate['passed'] else 'FAILED'}  {gate['at']:<7}  {gate['name']}"
        + (f": {html_text.clean(gate['why'])}" if gate["why"] else "")
        for gate in result["gates"]
    ]
    return [*lines, f"{result['failed']} of {len(result['gates'])} gates failed"]


def _end(result: dict[str, Any]) -> Items:
    run = result["run"]
    lines = [f"run {run['id']} {'had ended already' if result['existing'] else 'has ended'}"]
    if result["cancelled"]:
        lines.append(f"cancelled: {some(result['cancelled'], 10)}")
    if result["released"]:
        lines.append(f"released: {', '.join(result['released'])}")
    if result.get("archive"):
        lines.append(f"archive: {result['archive']}")
    lines += [f"gate failed: {g['name']}: {html_text.clean(g['why'])}" for g in result["gates"] if not g["passed"]]
    return lines


def _purge(result: dict[str, Any]) -> Items:
    return [f"run {result['run']['id']} " + ("goes with the next sweeps" if result["more"] else "was purged")]


RENDERERS: dict[str, Callable[[dict[str, Any]], Items]] = {
    "run start": _start, "run join": _join, "run phase": _phase, "run warn": _noted, "run error": _noted,
    "run handled": _noted, "run progress": _progress, "run list": _list, "run show": _show, "run gates": _gates,
    "run end": _end, "run purge": _purge,
}  # fmt: skip
