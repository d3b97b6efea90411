"""Answers about runs as text for people."""

from __future__ import annotations

from dibs.audit import html_text
from dibs.errors import counted, named
from dibs.interfaces.cli.render import listed, some, times
from dibs.interfaces.cli.terminal import Table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.interfaces.cli.render import Items, Lines
    from dibs.operations.runs.answers import (
        RunEndAnswer,
        RunGatesAnswer,
        RunJoinAnswer,
        RunListAnswer,
        RunNote,
        RunNoteAnswer,
        RunPhaseAnswer,
        RunProgress,
        RunProgressAnswer,
        RunPurgeAnswer,
        RunShowAnswer,
        RunStartAnswer,
    )


def _start(result: RunStartAnswer) -> Items:
    run = result["run"]
    tasks = f" with {counted(len(result['tasks']), 'task')}" if "tasks" in result else ""
    return [f"run {run['id']} started{tasks} in phase {run['phase']}", f"export DIBS_RUN={run['id']}"]


def _join(result: RunJoinAnswer) -> Items:
    agent = result["agent"]
    able = f", can {html_text.clean(', '.join(agent['can']))}" if agent["can"] else ""
    kind = f" as {html_text.clean(agent['type'])}" if agent["type"] else ""
    return [f"{named(agent)} takes part in run {result['run']['id']}{kind}{able}"]


def _phase(result: RunPhaseAnswer) -> Items:
    return [f"run {result['run']['id']} is in phase {result['run']['phase']} (before: {result['before']})"]


def _noted(result: RunNoteAnswer) -> Items:
    note = result["noted"]
    done = f" (handled: {html_text.clean(note['handled'])})" if note.get("handled") else ""
    return [f"run {result['run']['id']} has note {note['number']}: {html_text.clean(note['text'])}{done}"]


def _progress(result: RunProgressAnswer) -> Items:
    return _course(result["run"])


def _course(run: RunProgress) -> Lines:
    """How far a run is: its state, its tasks, what went wrong."""
    counts = ", ".join(f"{number} {state}" for state, number in run["tasks"].items() if state != "total")
    lines: Lines = [
        f"run {run['id']} ({html_text.clean(run['operation'])}): {run['state']}, {run['phase']}, {run['progress']} %",
        counted(run["tasks"]["total"], "task") + (f": {counts}" if counts else ""),
    ]
    lines += _notes("error", run["errors"], run["error_count"])
    return [*lines, *_notes("warning", run["warnings"], run["warning_count"])]


def _notes(kind: str, notes: list[RunNote], count: int) -> Lines:
    """Errors or warnings, and how many there were before these."""
    lines: Lines = [
        f"{kind} {note['number']}: {html_text.clean(note['text'])} ({named(note, 'by')}){_handled(note)}"
        for note in notes
    ]
    return [*lines, f"({count - len(notes)} earlier {kind}s)"] if count > len(notes) else lines


def _handled(note: RunNote) -> str:
    return f", handled: {html_text.clean(note['handled'])}" if note.get("handled") else ""


def _list(result: RunListAnswer) -> Items:
    rows = [
        (run["id"], run["state"], run["phase"], named(run, "coordinator"), f"{times.ago(run['started_at'])} ago",
         html_text.clean(run["operation"], 60))
        for run in result["runs"]
    ]  # fmt: skip
    return listed(("RUN", "STATE", "PHASE", "COORDINATOR", "STARTED", "OPERATION"), rows, "no runs", result)


def _show(result: RunShowAnswer) -> Items:
    run = result["run"]
    lines: Lines = [
        *_course(run),
        f"coordinator {named(run, 'coordinator')}, started {times.ago(run['started_at'])} ago",
    ]
    if run.get("archive"):
        lines.append(f"archive: .dibs/local/{run['archive']['file']} ({html_text.size(run['archive']['size'])})")
    rows = []
    for agent in run["agents"]:
        usage = agent.get("usage")
        uses = (
            f"{usage['cpu']:.0f} %, {html_text.size(usage['memory'])}, {counted(usage['threads'], 'thread')}"
            if usage
            else ""
        )
        kind = " ".join([html_text.clean(agent["type"]), *[html_text.clean(word) for word in agent["can"]]]).strip()
        rows.append((named(agent), agent["state"], kind, str(agent["finished"]), ", ".join(agent["tasks"][:3]), uses))
    if rows:
        lines += ["", Table(("AGENT", "STATE", "TYPE, CAN", "FINISHED", "TASKS", "USES"), rows)]
    return lines


def _gates(result: RunGatesAnswer) -> Items:
    lines = [
        f"{'ok    ' if gate['passed'] else 'FAILED'}  {gate['at']:<7}  {gate['name']}"
        + (f": {html_text.clean(gate['why'])}" if gate["why"] else "")
        for gate in result["gates"]
    ]
    return [*lines, f"{result['failed']} of {len(result['gates'])} gates failed"]


def _end(result: RunEndAnswer) -> Items:
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


def _purge(result: RunPurgeAnswer) -> Items:
    return [f"run {result['run']['id']} " + ("goes with the next sweeps" if result["more"] else "was purged")]


RENDERERS = {
    "run start": _start, "run join": _join, "run phase": _phase, "run warn": _noted, "run error": _noted,
    "run handled": _noted, "run progress": _progress, "run list": _list, "run show": _show, "run gates": _gates,
    "run end": _end, "run purge": _purge,
}  # fmt: skip
