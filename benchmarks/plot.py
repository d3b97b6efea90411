"""The plot: an SVG written by hand, so that neither the bench nor its reader needs a plotting library.

Two panels, both on a logarithmic scale. The first shows how much of each target was used: a bar that ends before the
line at 1 has met it. The second shows times next to the peers', shorter being faster.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

from benchmarks.table import about, amount

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from benchmarks.figures import Row

WIDTH, LEFT, RIGHT = 980, 400, 90  # the labels stand left of the bars, the figures right of them
BAR, STEP = 14, 22
GOOD, BAD, OURS, THEIRS, GREY, INK = "#2e7d32", "#c62828", "#1565c0", "#90a4ae", "#cfd8dc", "#263238"
LEAST_USED = 0.05  # the shortest bar: twenty times better than the target
MICRO = {"µs": 1.0, "ms": 1000.0}


def svg(machine: dict[str, Any], rows: Sequence[Row]) -> str:
    """The whole picture."""
    targets = [row for row in rows if row.target is not None and row.figure is not None]
    timed = [row for row in rows if row.unit in MICRO and row.value and "min" in row.more]
    parts: list[str] = []
    place = 56
    if targets:
        place = _targets(parts, targets, place)
    if timed:
        place = _times(parts, timed, place + 18)
    size = f'width="{WIDTH}" height="{place + 8}"'
    style = f'font-family="sans-serif" font-size="12" fill="{INK}"'
    head = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} viewBox="0 0 {WIDTH} {place + 8}" {style}>',
        f'<rect {size} fill="#ffffff"/>',
        _text(12, 22, "make bench", size=16, weight="bold"),
        _text(12, 40, f"{about(machine)}; {machine['at']}"),
    ]
    return "\n".join([*head, *parts, "</svg>"]) + "\n"


def _targets(parts: list[str], rows: Sequence[Row], place: int) -> int:
    """Bars of the used share of each target."""
    used = [max(LEAST_USED, min(20.0, row.target.used(row.figure or 0.0))) for row in rows if row.target is not None]
    scale = _Scale(LEAST_USED, max(2.0, *used))
    parts.append(_text(12, place + 14, "used of each target (left of the line: met)", weight="bold"))
    top, place = place + 22, place + 26
    bottom = top + STEP * len(rows) + 4
    for mark in (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0):
        if mark <= scale.high:
            _mark(parts, scale.at(mark), top, bottom, f"{mark:g}", strong=mark == 1.0)
    for row, share in zip(rows, used, strict=True):
        assert row.target is not None
        figure = (
            f"{row.ratio:.2f}x" if row.target.of == "ratio" and row.ratio is not None else amount(row.value, row.unit)
        )
        label = f"{row.group}: {row.name}"
        _bar(parts, place, scale.at(share), label, f"{figure} ({row.target.text(row.unit)})", GOOD if row.met else BAD)
        place += STEP
    return bottom + 18


def _times(parts: list[str], rows: Sequence[Row], place: int) -> int:
    """Bars of times, dibs' own in another colour than the others."""
    times = [(row.value or 0.0) * MICRO[row.unit] for row in rows]
    scale = _Scale(10 ** math.floor(math.log10(min(times)) - 0.2), max(times) * 1.5)
    parts.append(_text(12, place + 14, "median times (µs; shorter is faster)", weight="bold"))
    top, place = place + 22, place + 26
    bottom = top + STEP * len(rows) + 4
    mark = 10.0 ** math.ceil(math.log10(scale.low))
    while mark <= scale.high:
        _mark(parts, scale.at(mark), top, bottom, f"{mark:,.0f}")
        mark *= 10
    for row, time in zip(rows, times, strict=True):
        ours = row.target is not None or row.group == "scale" or row.name.startswith(("dibs", "Python API"))
        _bar(
            parts,
            place,
            scale.at(time),
            f"{row.group}: {row.name}",
            amount(row.value, row.unit),
            OURS if ours else THEIRS,
        )
        place += STEP
    return bottom + 18


class _Scale:
    """A logarithmic axis across the plot."""

    def __init__(self, low: float, high: float) -> None:
        self.low, self.high = low, high

    def at(self, value: float) -> float:
        """The place of a value."""
        part = math.log(value / self.low) / math.log(self.high / self.low)
        return LEFT + max(0.0, min(1.0, part)) * (WIDTH - LEFT - RIGHT)


def _bar(parts: list[str], top: int, end: float, label: str, figure: str, colour: str) -> None:
    parts += [
        _text(LEFT - 8, top + 11, label, anchor="end"),
        f'<rect x="{LEFT}" y="{top}" width="{max(2.0, end - LEFT):.1f}" height="{BAR}" fill="{colour}"/>',
    ]
    inside = end > WIDTH - RIGHT - 110  # no room to its right
    where = end - 5 if inside else max(LEFT + 2.0, end) + 5
    parts.append(_text(where, top + 11, figure, anchor="end" if inside else "start", fill="#ffffff" if inside else INK))


def _mark(parts: list[str], x: float, top: int, bottom: int, label: str, *, strong: bool = False) -> None:
    style = f'stroke="{INK}" stroke-width="1.5"' if strong else f'stroke="{GREY}"'
    parts.append(f'<line x1="{x:.1f}" y1="{top}" x2="{x:.1f}" y2="{bottom}" {style}/>')
    parts.append(_text(x, bottom + 13, label, anchor="middle", size=10))


def _text(
    x: float, y: float, words: str, *, anchor: str = "start", size: int = 12, weight: str = "normal", fill: str = INK
) -> str:
    return (
        f'<text x="{x:.1f}" y="{y}" text-anchor="{anchor}" font-size="{size}" font-weight="{weight}" fill="{fill}">'
        f"{escape(words)}</text>"
    )
