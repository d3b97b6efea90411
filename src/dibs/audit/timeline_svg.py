"""The timeline as an SVG picture: one lane for each agent, bars for its tasks by outcome, thin ones for other claims.

Plain shapes, each with a title that a browser shows as a tooltip. No script; colours come from the page.
"""

from __future__ import annotations

from dibs.audit.html_text import safe, seconds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.audit.report_answers import ClaimStrip, Drawing, TaskBar, TimelineLane, TimelineMark

WIDTH, LEFT, RIGHT = 1200, 190, 20  # of the picture, of the agents' names, of the right margin
TOP, ROW, BAR, STRIP, GAP = 26, 16, 13, 5, 9
MAX_NAME_LETTERS = 24  # of an agent's name next to its lane
MAX_ROWS = 6  # of one lane, for simultaneous tasks; more overlap
TICKS = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 600, 1800, 3600, 7200, 21600, 86400)  # seconds
OUTCOMES = ("complete", "working", "retried", "returned", "passed", "cancelled", "failed", "quarantined", "lost")
SYMBOLS = {"gone": "✖", "killed": "✖", "lost": "▼", "failed": "▼", "left": "◂"}


def render(timeline: Drawing) -> str:
    """The picture, as text."""
    whole = timeline["seconds"] or 0.001
    scale = (WIDTH - LEFT - RIGHT) / whole
    ground: list[str] = []
    body: list[str] = []
    y = TOP
    for lane in timeline["lanes"]:
        height = _lane(ground, body, lane, y, scale)
        y += height + GAP
    grid = _grid(whole, scale, y)
    return (
        f'<svg viewBox="0 0 {WIDTH} {y + 4}" role="img" class="timeline" '
        'aria-label="who did what when">\n' + "\n".join([*ground, *grid, *body]) + "\n</svg>"
    )


def _grid(whole: float, scale: float, bottom: int) -> list[str]:
    """The time grid, at most a dozen lines."""
    step = next((tick for tick in TICKS if whole / tick <= 12), whole / 12)  # noqa: PLR2004 - that many are read at once
    lines = []
    number = 0
    while number * step <= whole:
        x = LEFT + number * step * scale
        lines.append(f'<line class="grid" x1="{x:.1f}" y1="{TOP - 6}" x2="{x:.1f}" y2="{bottom}"/>')
        lines.append(f'<text class="tick" x="{x:.1f}" y="{TOP - 11}">{safe(seconds(number * step))}</text>')
        number += 1
    return lines


def _name(agent: str) -> str:
    """An agent's name, shortened for its lane. The end is kept: there the agents of one run differ."""
    return agent if len(agent) <= MAX_NAME_LETTERS else f"…{agent[1 - MAX_NAME_LETTERS :]}"


def _lane(ground: list[str], body: list[str], lane: TimelineLane, y: int, scale: float) -> int:
    """Draw one agent's lane; returns its height."""
    rows: list[float] = []
    drawn = []
    for bar in sorted(lane["tasks"], key=lambda one: (one["from"], one["to"])):
        row = next((place for place, free in enumerate(rows) if free <= bar["from"]), len(rows))
        if row < MAX_ROWS and row == len(rows):
            rows.append(0)
        row = min(row, MAX_ROWS - 1)
        rows[row] = max(rows[row], bar["to"])
        drawn.append(_bar(bar, y + row * ROW, scale))
    height = max(1, len(rows)) * ROW + STRIP
    ground.append(f'<rect class="lane" x="0" y="{y - 3}" width="{WIDTH}" height="{height + 5}"/>')
    body.append(
        f'<text class="agent" x="8" y="{y + 11}">{safe(_name(lane["agent"]))}'
        f"<title>{safe(lane['agent'])}</title></text>"
    )
    body.extend(drawn)
    body.extend(_strip(strip, y + height - STRIP + 1, scale) for strip in lane["claims"])
    body.extend(_mark(mark, y + 11, scale) for mark in lane["marks"])
    return height


def _rect(kind: str, item: TaskBar | ClaimStrip, y: float, height: int, scale: float, title: str) -> str:
    x = LEFT + item["from"] * scale
    width = max(1.5, (item["to"] - item["from"]) * scale)
    return (
        f'<rect class="{kind}" x="{x:.1f}" y="{y}" width="{width:.1f}" height="{height}" rx="2">'
        f"<title>{title}</title></rect>"
    )


def _bar(bar: TaskBar, y: float, scale: float) -> str:
    time = f"{seconds(bar['from'])} to {seconds(bar['to'])}"
    if "count" in bar:
        title = f"{bar['count']} tasks, {bar['outcome']}: {safe(', '.join(bar['tasks']))} …, {time}"
    else:
        why = f" ({safe(bar['why'])})" if bar.get("why") else ""
        title = f"{safe(bar['task'])}: {safe(bar['title'])}, {bar['outcome']}{why}, {time}"
    return _rect(f"bar {bar['outcome']}", bar, y, BAR, scale, title)


def _strip(strip: ClaimStrip, y: float, scale: float) -> str:
    many = f"{strip['count']} claims, first " if "count" in strip else "held "
    title = f"{many}{safe(', '.join(strip['resources']))} ({safe(strip['mode'])}), {safe(strip['end'])}"
    return _rect("strip", strip, y, STRIP - 1, scale, title)


def _mark(mark: TimelineMark, y: float, scale: float) -> str:
    x = LEFT + mark["at"] * scale
    sign = SYMBOLS.get(mark["what"], "•")
    title = f"{safe(mark['text'])}, at {seconds(mark['at'])}"
    return f'<text class="mark {safe(mark["what"])}" x="{x:.1f}" y="{y}">{sign}<title>{title}</title></text>'
