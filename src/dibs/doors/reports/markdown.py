"""A report as Markdown, for people and pull requests."""

from __future__ import annotations

from dibs.doors.reports import words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

TASKS = 200  # rows of the table of tasks


def render(report: dict[str, Any]) -> str:
    """The text."""
    run, summary, speed = report["run"], report["summary"], report["performance"]
    said = (
        f"Run {words.plain(run['id'])}, {run['state']}, in phase {run['phase']}, {run['progress']} % done. "
        f"Coordinator: {words.plain(run['coordinator'])}. From {run['started_at']} to {run['as_of']}."
    )
    lines = [f"# {words.plain(run['operation'])}", "", said, "", "| figure | value |", "| --- | --- |"]
    lines += [f"| {name} | {value} |" for name, value in figures(summary, speed)]
    for title, head, rows, more in words.tables(report, TASKS):
        lines += ["", f"## {title}", "", f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}"]
        lines += [f"| {' | '.join(words.plain(cell) for cell in row)} |" for row in rows]
        lines += ["", more] if more else []
    lines += ["", *[words.plain(note) for note in report["notes"]]] if report["notes"] else []
    return "\n".join(lines) + "\n"


def figures(summary: dict[str, Any], speed: dict[str, Any]) -> list[tuple[str, str]]:
    """The figures that stand first, in words."""
    throughput = speed["throughput"]
    return [
        ("tasks", str(summary["total"])),
        ("complete", str(summary["complete"])),
        ("failed", str(summary["failed"])),
        ("quarantined", str(summary["quarantined"])),
        ("cancelled", str(summary["cancelled"])),
        ("open", str(summary["open"])),
        ("agents used", str(summary["agents_used"])),
        ("total time", words.seconds(summary["total_time"])),
        ("throughput", words.NONE if throughput is None else f"{throughput:g} a second"),
        ("success rate", words.percent(speed["success_rate"])),
        ("average time", words.seconds(speed["average_time"])),
        ("p95 time", words.seconds(speed["p95_time"])),
    ]
