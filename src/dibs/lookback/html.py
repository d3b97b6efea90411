"""What a look back found, as one HTML file: no external resources, no script, light or dark by the reader's setting.

The page is also well-formed XML, so that any parser can check it.
"""

from __future__ import annotations

from dibs.audit.html_page import STYLE
from dibs.audit.html_text import safe
from dibs.lookback import plot, text
from dibs.lookback.text import ago, name_of, when
from dibs.machine import clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.lookback.findings import Lookback

WIDTH, LEFT, ROW, TOP = 1200, 190, 20, 24  # of the picture, of the names, of a row, of the times


def render(found: Lookback) -> str:
    """The page."""
    period = f"{found['from'][text.DAY]} to {found['to'][text.DAY]}" if found["sessions"] else "no sessions found"
    counts = f"{found['sessions']:,} sessions, {found['calls']:,} calls, {found['edits']:,} edits of files"
    figures = [*text.figures(found), *text.verdicts(found)]
    parts = [
        "<!DOCTYPE html>", '<html lang="en">', '<head><meta charset="utf-8"/>',
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\"/>",
        '<meta name="viewport" content="width=device-width, initial-scale=1"/>',
        f"<title>dibs lookback: {safe(period)}</title><style>{STYLE}</style></head><body>",
        f"<h1>Looking back: {safe(period)}</h1>",
        f'<p class="quiet">{safe(counts)}</p>',
        '<div class="wide"><table>',
        *[f"<tr><th>{safe(figure)}</th><td>{safe(what, 600)}</td></tr>" for figure, what in figures],
        "</table></div>", *_timeline(found),
        *_table("Files edited by two", ("at", "file", "second", "first", "after", "where"), [
            (when(one["at"]), one["path"], name_of(one["by"], found), name_of(one["first"], found),
             ago(one["seconds"]), one["place"]) for one in found["near_edits"]
        ]),
        *_table("Written over unread", ("at", "file", "by", "over", "after"), [
            (when(one["at"]), one["path"], name_of(one["by"], found), name_of(one["of"], found), ago(one["seconds"]))
            for one in found["overwrites"]
        ]),
        *_table("Git over another's uncommitted work", ("at", "by", "command", "files", "of"), [
            (when(one["at"]), name_of(one["by"], found), one["command"], ", ".join(one["files"]),
             ", ".join(name_of(owner, found) for owner in one["of"])) for one in found["sweeps"]
        ]),
        *_table("One issue, two sessions", ("at", "issue", "second", "first", "after"), [
            (when(one["at"]), one["id"], name_of(one["by"], found), name_of(one["first"], found), ago(one["seconds"]))
            for one in found["ids"]
        ]),
        *_table("What would have been refused", ("calls", "cause"), [
            (f"{count:,}", cause) for cause, count in found["causes"].items()
        ]),
        *_table("The refusals", ("at", "by", "call", "alone", "what dibs would have said"), [
            (when(one["at"]), name_of(one["by"], found), one["what"], "alone" if one["alone"] else "", one["message"])
            for one in found["refusals"]
        ]),
        "</body></html>", "",
    ]  # fmt: skip
    return "\n".join(parts)


def _table(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    if not rows:
        return []
    return [
        f'<h2>{safe(title)}</h2><div class="wide"><table><tr>{"".join(f"<th>{safe(name)}</th>" for name in head)}</tr>',
        *[f"<tr>{''.join(f'<td>{safe(cell, 600)}</td>' for cell in row)}</tr>" for row in rows],
        "</table></div>",
    ]


def _timeline(found: Lookback) -> list[str]:
    """The sessions of the busiest time, as a picture."""
    shown = plot.window(found)
    if shown is None:
        return []
    scale = (WIDTH - LEFT - 20) / (shown.end - shown.start)
    height = TOP + ROW * len(shown.rows)
    label = 'role="img" class="timeline" aria-label="which session was at work when"'
    lines = [
        f"<h2>Sessions at work in {safe(shown.repository)}</h2>",
        f'<div class="wide"><svg viewBox="0 0 {WIDTH} {height + 4}" {label}>',
    ]
    for number, (session, spans) in enumerate(shown.rows.items()):
        y = TOP + ROW * number
        lines.append(f'<text class="agent" x="0" y="{y + 13}">{safe(name_of(session, found), 26)}</text>')
        for first, last in spans:
            x, wide = LEFT + (first - shown.start) * scale, max(2.0, (last - first) * scale)
            lines.append(f'<rect class="strip" x="{x:.1f}" y="{y + 4}" width="{wide:.1f}" height="11"/>')
        for at in shown.marks.get(session, ()):
            x = LEFT + (at - shown.start) * scale
            lines.append(f'<text class="mark" x="{x:.1f}" y="{y + 14}">{plot.HIT}</text>')
    for at, x in ((shown.start, LEFT + 50), (shown.end, WIDTH - 70)):
        lines.append(f'<text class="tick" x="{x}" y="{TOP - 10}">{safe(when(clock.iso(at)))} UTC</text>')
    return [*lines, "</svg></div>"]
