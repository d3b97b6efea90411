"""Texts and figures for the reports for people. Texts that agents wrote are made harmless here, in one place."""

from __future__ import annotations

import html

from dibs import jsontext
from dibs.errors import counted, named
from dibs.machine import durations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.audit.report_answers import ReportedTask, RunReportAnswer
    from dibs.operations.runs.answers import RunNote

    Row = list[object]  # texts, numbers, and results of tasks, which are any JSON
    Table = tuple[str, tuple[str, ...], list[Row], str]  # title, head, rows, a note about omitted rows

REPLACEMENT = "\ufffd"
NO_FIGURE = "-"  # in place of a missing figure
MAX_LETTERS = 300  # of a text in a table
MARKDOWN_LETTERS = frozenset("\\`*_[]<>#|~&")  # with a meaning in Markdown


def clean(value: object, longest: int = MAX_LETTERS) -> str:
    """A text on one line, without control, invisible, bidirectional or unencodable characters."""
    text = value if isinstance(value, str) else jsontext.encode(value)
    text = " ".join(text[: longest * 4].split())
    text = "".join(letter if letter.isprintable() else REPLACEMENT for letter in text)
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def safe(value: object, longest: int = MAX_LETTERS) -> str:
    """A text for HTML, in an element or an attribute."""
    return html.escape(clean(value, longest), quote=True)


def plain(value: object, longest: int = MAX_LETTERS) -> str:
    """A text for Markdown, in a table or a line."""
    text = "".join(f"\\{letter}" if letter in MARKDOWN_LETTERS else letter for letter in clean(value, longest))
    return text.replace("://", "\\://")  # no automatic link


def seconds(value: float | None) -> str:
    """A duration, for people."""
    if value is None:
        return NO_FIGURE
    ms = round(value * 1000)
    if not ms:
        return "0 s"
    if ms < 1000:  # noqa: PLR2004 - a second
        return f"{ms} ms"
    return f"{value:.1f} s" if ms < 60_000 else durations.show(ms)  # noqa: PLR2004 - a minute


def percent(value: float | None) -> str:
    """A share."""
    return NO_FIGURE if value is None else f"{value * 100:.1f} %"


def size(value: int) -> str:
    """A size in bytes, for people."""
    amount = float(value)
    for unit in ("B", "KiB", "MiB"):
        if amount < 1024:  # noqa: PLR2004 - as many to the next unit
            return f"{amount:.0f} {unit}"
        amount /= 1024
    return f"{amount:.1f} GiB"


def tables(report: RunReportAnswer, tasks: int) -> list[Table]:
    """The tables of a report: title, head, rows of plain values, and a note about omitted rows."""
    found: list[Table] = [
        ("Quality gates", ("gate", "at", "passed", "why"), _gates(report), ""),
        ("Agents", ("agent", "type", "state", "attempts", "complete", "lost", "failed", "work", "cpu", "memory"),
         _agents(report), ""),
        ("Phases", ("phase", "since", "time", "by"), _phases(report), ""),
        ("Errors", ("number", "error", "by", "at", "handled"), _notes(report["errors"], handled=True), ""),
        ("Warnings", ("number", "warning", "by", "at"), _notes(report["warnings"], handled=False), ""),
        ("Contention", ("resource", "refusals", "waits", "gave up", "longest wait"), _contention(report), ""),
    ]  # fmt: skip
    rows, left = _tasks(report, tasks)
    more = f"{counted(left, 'more task')}: see the JSON report." if left else ""
    head = ("task", "title", "state", "agent", "time", "cpu", "memory", "failures", "losses", "result")
    found.append(("Tasks", head, rows, more))
    undone = _not_done(report)
    left = len(undone) - tasks
    more = f"{left} more: see the JSON report." if left > 0 else ""
    found.append(("Not done", ("task", "title", "agent", "not done"), undone[:tasks], more))
    return [one for one in found if one[2]]


def _gates(report: RunReportAnswer) -> list[Row]:
    return [[gate["name"], gate["at"], "yes" if gate["passed"] else "NO", gate["why"]] for gate in report["gates"]]


def _agents(report: RunReportAnswer) -> list[Row]:
    rows: list[Row] = []
    for name, one in report["by_agent"].items():
        peak = one.get("peak")
        failed = one.get("failed", 0) + one.get("retried", 0) + one.get("quarantined", 0)
        rows.append([
            _short(report, name), one["type"], one.get("state", ""), one["attempts"], one["complete"],
            one.get("lost", 0), failed, seconds(one["work_time"]), f"{peak['cpu']:.0f} %" if peak else "",
            size(peak["memory"]) if peak else "",
        ])  # fmt: skip
    return rows


def _phases(report: RunReportAnswer) -> list[Row]:
    return [[one["phase"], one["at"], seconds(one["time"]), named(one, "by")] for one in report["phases"]]


def _notes(notes: list[RunNote], *, handled: bool) -> list[Row]:
    return [
        [one["number"], one["text"], named(one, "by"), one["at"], *([one.get("handled", "")] if handled else [])]
        for one in notes
    ]


def _contention(report: RunReportAnswer) -> list[Row]:
    return [
        [one["resource"], one["refusals"], one["waits"], one["gave_up"], seconds(one["longest_wait"])]
        for one in report["contention"]
    ]


def _tasks(report: RunReportAnswer, most: int) -> tuple[list[Row], int]:
    """The tasks: failed ones first, then in the order in which they were begun."""
    order = {"failed": 0, "quarantined": 0, "executing": 1, "planned": 2, "scoped": 2, "discovery": 2, "complete": 3}
    found = sorted(report["by_task"].items(), key=lambda one: _place(order, *one))
    rows: list[Row] = []
    for name, one in found[:most]:
        came = one["result"] if "result" in one else one["error"]["why"] if one.get("error") else ""
        rows.append([
            _short(report, name), one["title"], one["state"], _short(report, one["agent"] or ""),
            seconds(one.get("time")), *_used(one),
            one["failures"], one["losses"], came,
        ])  # fmt: skip
    return rows, max(0, len(report["by_task"]) - most)


def _place(order: dict[str, int], name: str, task: ReportedTask) -> tuple[int, bool, str, str]:
    begun = task.get("started_at", "")
    return order.get(task["state"], 4), not begun, begun, name


def _short(report: RunReportAnswer, name: str) -> str:
    """A task or a worker without the run's id before it, which is said once, at the top."""
    run = report["run"]["id"]
    return name[len(run) + 1 :] if name.startswith((f"{run}/", f"{run}.")) else name


def _used(task: ReportedTask) -> tuple[str, str]:
    """CPU time and peak memory of a task's last attempt, if a worker measured them."""
    used = task.get("used")
    return (seconds(used["cpu"]), size(used["memory"])) if used else (NO_FIGURE, NO_FIGURE)


def _not_done(report: RunReportAnswer) -> list[Row]:
    """What the agents reported as left undone, one line for each task."""
    return [
        [_short(report, name), one["title"], _short(report, one["agent"] or ""), one["not_done"]]
        for name, one in report["by_task"].items()
        if "not_done" in one
    ]
