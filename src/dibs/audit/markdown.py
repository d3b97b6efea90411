"""A report as Markdown, for people and pull requests."""

from __future__ import annotations

from dibs.audit import html_text
from dibs.errors import named

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.audit.report_answers import ReportPerformance, ReportSummary, RunReportAnswer

MAX_TASK_ROWS = 200  # of the table of tasks


def render(report: RunReportAnswer) -> str:
    """The text."""
    run, summary, speed = report["run"], report["summary"], report["performance"]
    said = (
        f"Run {html_text.plain(run['id'])}, {run['state']}, in phase {run['phase']}, {run['progress']} % done. "
        f"Coordinator: {html_text.plain(named(run, 'coordinator'))}. From {run['started_at']} to {run['as_of']}."
    )
    lines = [f"# {html_text.plain(run['operation'])}", "", said, "", "| figure | value |", "| --- | --- |"]
    lines += [f"| {name} | {value} |" for name, value in figures(summary, speed)]
    for title, head, rows, more in html_text.tables(report, MAX_TASK_ROWS):
        lines += ["", f"## {title}", "", f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}"]
        lines += [f"| {' | '.join(html_text.plain(cell) for cell in row)} |" for row in rows]
        lines += ["", more] if more else []
    lines += ["", *[html_text.plain(note) for note in report["notes"]]] if report["notes"] else []
    return "\n".join(lines) + "\n"


def figures(summary: ReportSummary, speed: ReportPerformance) -> list[tuple[str, str]]:
    """The key figures, as texts."""
    throughput = speed["throughput"]
    return [
        ("tasks", str(summary["total"])),
        ("complete", str(summary["complete"])),
        ("failed", str(summary["failed"])),
        ("quarantined", str(summary["quarantined"])),
        ("cancelled", str(summary["cancelled"])),
        ("open", str(summary["open"])),
        ("agents used", str(summary["agents_used"])),
        ("total time", html_text.seconds(summary["total_time"])),
        ("throughput", html_text.NO_FIGURE if throughput is None else f"{throughput:g} a second"),
        ("success rate", html_text.percent(speed["success_rate"])),
        ("average time", html_text.seconds(speed["average_time"])),
        ("p95 time", html_text.seconds(speed["p95_time"])),
    ]
