"""A report as one HTML file: no external resources, no script, light or dark by the reader's setting.

The page is also well-formed XML, so that any parser can check it.
"""

from __future__ import annotations

from dibs.audit import html_text, markdown, timeline_svg
from dibs.audit.html_text import safe
from dibs.errors import named

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.audit.html_text import Row
    from dibs.audit.report_answers import ReportTimeline, RunReportAnswer

MAX_TASK_ROWS = 1_000  # of the table of tasks

STYLE = """
:root { color-scheme: light dark; --ink: #1c2430; --paper: #ffffff; --soft: #f2f4f7; --line: #d8dde5; --quiet: #5d6878;
  --complete: #2f9e62; --working: #3b82d6; --retried: #d9a11e; --returned: #9aa5b4; --passed: #7f8ea3;
  --cancelled: #b9c0ca; --failed: #d1453b; --quarantined: #a1286a; --lost: #e0702c; --strip: #8a6fd1; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e8ee; --paper: #14181f; --soft: #1d232c; --line: #333c49;
  --quiet: #9aa6b6; --complete: #46b97c; --working: #5a9be8; --cancelled: #596373; --returned: #6f7b8b;
  --failed: #ee6a60; --quarantined: #d0569a; --lost: #f08c4c; --strip: #a68ff0; } }
body { margin: 0 auto; max-width: 76rem; padding: 1.5rem; background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.6rem; margin: 0 0 .3rem; overflow-wrap: anywhere; } h2 { font-size: 1.1rem; margin: 2rem 0 .6rem; }
p { margin: .3rem 0; } .quiet { color: var(--quiet); }
.figures { display: grid; grid-template-columns: repeat(auto-fill, minmax(8.5rem, 1fr)); gap: .6rem; margin: 1.2rem 0; }
.figures div { background: var(--soft); border-radius: 8px; padding: .6rem .8rem; }
.figures b { display: block; font-size: 1.25rem; font-weight: 600; }
.figures span { color: var(--quiet); font-size: .85rem; }
.wide { overflow-x: auto; } table { border-collapse: collapse; width: 100%; font-size: .88rem; }
th, td { text-align: left; padding: .3rem .6rem; border-bottom: 1px solid var(--line); vertical-align: top;
  overflow-wrap: anywhere; min-width: 4.5rem; }
th { color: var(--quiet); font-weight: 600; white-space: nowrap; } td.no { color: var(--failed); font-weight: 600; }
svg.timeline { width: 100%; min-width: 46rem; height: auto; font: 11px system-ui, sans-serif; }
.lane { fill: var(--soft); } .grid { stroke: var(--line); stroke-width: 1; }
.tick { fill: var(--quiet); text-anchor: middle; } .agent { fill: var(--ink); font-weight: 600; }
.strip { fill: var(--strip); } .mark { fill: var(--failed); text-anchor: middle; font-size: 13px; }
.mark.left { fill: var(--quiet); }
.key { display: inline-block; width: .8rem; height: .8rem; border-radius: 3px; margin: 0 .3rem 0 .9rem; }
"""


def render(report: RunReportAnswer) -> str:
    """The page."""
    run = report["run"]
    name = safe(run["operation"])
    said = (
        f"Run {safe(run['id'])}, {safe(run['state'])}, in phase {safe(run['phase'])}, {run['progress']} % done. "
        f"Coordinator: {safe(named(run, 'coordinator'))}. From {safe(run['started_at'])} to {safe(run['as_of'])}."
    )
    parts = [
        "<!DOCTYPE html>",
        '<html lang="en">',
        '<head><meta charset="utf-8"/>',
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\"/>",
        '<meta name="viewport" content="width=device-width, initial-scale=1"/>',
        f"<title>{name}: dibs run report</title>",
        f"<style>{STYLE}{_colours()}</style></head>",
        f"<body><h1>{name}</h1>",
        f'<p class="quiet">{said}</p>',
        '<div class="figures">',
        *[
            f"<div><b>{safe(value)}</b><span>{safe(figure)}</span></div>"
            for figure, value in markdown.figures(report["summary"], report["performance"])
        ],
        "</div>",
        *_timeline(report["timeline"]),
    ]
    for title, head, rows, more in html_text.tables(report, MAX_TASK_ROWS):
        parts += _table(title, head, rows)
        parts += [f'<p class="quiet">{safe(more)}</p>'] if more else []
    parts += [f'<p class="quiet">{safe(note)}</p>' for note in report["notes"]]
    return "\n".join([*parts, "</body></html>"]) + "\n"


def _colours() -> str:
    """A colour for each outcome, for bars and legend."""
    return "".join(
        f".bar.{name} {{ fill: var(--{name}); }} .key.{name} {{ background: var(--{name}); }}\n"
        for name in timeline_svg.OUTCOMES
    )


def _timeline(timeline: ReportTimeline) -> list[str]:
    if not timeline["lanes"]:
        return []
    used = {bar["outcome"] for lane in timeline["lanes"] for bar in lane["tasks"]}
    keys = [f'<span class="key {name}"></span>{name}' for name in timeline_svg.OUTCOMES if name in used]
    keys.append('<span class="key" style="background: var(--strip)"></span>other claims')
    keys.append(" ✖ process gone or agent killed ▼ lost or failed")
    said = (
        ["Bars of one outcome that are close together are merged and show many tasks."] if timeline["together"] else []
    )
    said += [f"Left out: {number} {name}." for name, number in timeline["left_out"].items()]
    return [
        "<h2>Who did what when</h2>",
        f'<div class="wide">{timeline_svg.render(timeline)}</div>',
        f'<p class="quiet">{"".join(keys)}</p>',
        *[f'<p class="quiet">{safe(line)}</p>' for line in said],
    ]


def _table(title: str, head: tuple[str, ...], rows: list[Row]) -> list[str]:
    lines = [f'<h2>{title}</h2><div class="wide"><table>']
    lines.append(f"<tr>{''.join(f'<th>{name}</th>' for name in head)}</tr>")
    for row in rows:
        wrong = title == "Quality gates" and row[2] == "NO"
        cells = [
            f'<td class="no">{safe(cell)}</td>' if wrong and cell is row[2] else f"<td>{safe(cell)}</td>"
            for cell in row
        ]
        lines.append(f"<tr>{''.join(cells)}</tr>")
    return [*lines, "</table></div>"]
