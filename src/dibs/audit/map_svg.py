"""The map as an SVG picture: one row a resource, one column an agent, a filled square where it writes.

Plain shapes, each with a title that a browser shows as a tooltip. No script, nothing loaded; names are escaped.
"""

from __future__ import annotations

from dibs.audit.html_text import clean, safe
from dibs.errors import counted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.audit.answers import MapAnswer, MapResourceView, MapUseView

CELL, LEFT, TOP, MARGIN = 20, 330, 130, 16
MAX_ROWS, MAX_COLUMNS = 400, 80  # a larger picture is not read; `--json` has all
NAME_LETTERS, RESOURCE_LETTERS = 18, 46
STYLE = (
    "text{font:12px ui-sans-serif,system-ui,sans-serif;fill:#1f2328}"
    ".g{stroke:#d8dee4}.w{fill:#cf222e}.r{fill:none;stroke:#0969da;stroke-width:2}.x{stroke:#9a6700;stroke-width:2}"
    ".h{fill:none;stroke:#1a7f37;stroke-width:2}.bg{fill:#fff}.m{fill:#59636e}"
    "@media(prefers-color-scheme:dark){text{fill:#e6edf3}.bg{fill:#0d1117}.g{stroke:#30363d}.m{fill:#9198a1}}"
)


def render(answer: MapAnswer) -> str:
    """The picture, as text."""
    rows, agents = answer["resources"][:MAX_ROWS], answer["agents"][:MAX_COLUMNS]
    place = {agent["agent"]: number for number, agent in enumerate(agents)}
    width = LEFT + max(1, len(agents)) * CELL + 60 + MARGIN
    height = TOP + len(rows) * CELL + 64
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    label = 'role="img" aria-label="which agent reads and writes which resource"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} {label}>',
        f"<style>{STYLE}</style>",
        f'<rect class="bg" width="{width}" height="{height}"/>',
    ]
    for number, agent in enumerate(agents):
        x = LEFT + number * CELL + CELL // 2
        name = f"{_short(agent['name'], NAME_LETTERS)}<title>{safe(agent['agent'])}</title>"
        parts.append(f'<text transform="translate({x + 4} {TOP - 8}) rotate(-55)">{name}</text>')
    for number, row in enumerate(rows):
        parts += _row(row, TOP + number * CELL, place, LEFT + len(agents) * CELL)
    parts += _legend(answer, TOP + len(rows) * CELL + 24)
    return "\n".join([*parts, "</svg>"]) + "\n"


def _short(name: str, letters: int) -> str:
    """A name for the picture; of a long one the end is kept, where names differ."""
    text = clean(name, 4 * letters)
    return safe(text if len(text) <= letters else f"…{text[1 - letters :]}")


def _row(row: MapResourceView, y: int, place: dict[str, int], right: int) -> list[str]:
    folded = f" ({row['folded']})" if row.get("folded") else ""
    name = f"{_short(row['resource'] + folded, RESOURCE_LETTERS)}<title>{safe(row['resource'])}</title>"
    return [
        f'<line class="g" x1="{MARGIN}" y1="{y + CELL}" x2="{right}" y2="{y + CELL}"/>',
        f'<text x="{LEFT - 10}" y="{y + 14}" text-anchor="end">{name}</text>',
        *[_use(row, use, LEFT + place[use["agent"]] * CELL, y) for use in row["agents"] if use["agent"] in place],
    ]


def _use(row: MapResourceView, use: MapUseView, x: int, y: int) -> str:
    shapes = []
    if use["writes"]:
        shapes.append(f'<rect class="w" x="{x + 4}" y="{y + 4}" width="12" height="12" rx="2"/>')
    if use["reads"]:
        shapes.append(f'<circle class="r" cx="{x + 10}" cy="{y + 10}" r="{3 if use["writes"] else 5}"/>')
    if not shapes:
        shapes.append(f'<path class="x" d="M{x + 6} {y + 6}l8 8m0 -8l-8 8"/>')
    if use["holds"]:
        shapes.append(f'<rect class="h" x="{x + 1}" y="{y + 1}" width="18" height="18" rx="4"/>')
    text = (
        f"{use['name']}: {row['resource']}: {use['writes']} writes, {use['reads']} reads, {use['refused']} refused"
        f"{', holds it now' if use['holds'] else ''} (event {use['event']})"
    )
    return f"<g>{''.join(shapes)}<title>{safe(text)}</title></g>"


def _legend(answer: MapAnswer, y: int) -> list[str]:
    totals = answer["totals"]
    writers = f"{totals['writers']} of {counted(totals['agents'], 'agent')} with write access"
    said = f"{counted(totals['resources'], 'resource')}, {writers}"
    cut = len(answer["resources"]) > MAX_ROWS or len(answer["agents"]) > MAX_COLUMNS or answer["more"]
    more = "; a part of it" if cut else ""
    return [
        f'<rect class="w" x="{MARGIN}" y="{y - 10}" width="12" height="12" rx="2"/>',
        f'<text x="{MARGIN + 18}" y="{y}">writes</text>',
        f'<circle class="r" cx="{MARGIN + 76}" cy="{y - 4}" r="5"/><text x="{MARGIN + 88}" y="{y}">reads</text>',
        f'<rect class="h" x="{MARGIN + 136}" y="{y - 12}" width="16" height="16" rx="4"/>',
        f'<text x="{MARGIN + 158}" y="{y}">holds it now</text>',
        f'<path class="x" d="M{MARGIN + 246} {y - 8}l8 8m0 -8l-8 8"/>',
        f'<text x="{MARGIN + 262}" y="{y}">was refused</text>',
        f'<text class="m" x="{MARGIN}" y="{y + 24}">{safe(said + more)}</text>',
    ]
