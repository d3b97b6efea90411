"""A plot of sessions in a terminal: the time around the moment at which most of them were at work in one repository."""

from __future__ import annotations

from dibs.machine import clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.lookback.findings import Lookback, Span

MAX_ROWS = 14
LEAST_COLUMNS, MOST_COLUMNS = 24, 72  # of the plot itself
MAX_NAME = 24
MAX_MS = 24 * 3_600_000  # that one plot shows
ALONE, SHARED, HIT, EMPTY = "─", "█", "X", " "


class Window:
    """A piece of time in one repository, with the sessions in it."""

    __slots__ = ("end", "marks", "repository", "rows", "start")

    def __init__(self, repository: str, start: int, end: int) -> None:
        self.repository, self.start, self.end = repository, start, max(end, start + 60_000)
        self.rows: dict[str, list[tuple[int, int]]] = {}  # by session: when it was at work
        self.marks: dict[str, list[int]] = {}  # by session: when it hit another's work


def window(found: Lookback) -> Window | None:
    """The time worth showing; None if no two sessions were ever at work at once."""
    busiest = next((one for one in found["repositories"] if one["at_once"] > 1), None)
    if busiest is None:
        return None
    spans = [(clock.of_iso(one["start"]), clock.of_iso(one["end"]), one) for one in busiest["spans"]]
    start, end = _around(spans)
    shown = Window(busiest["repository"], start, end)
    for first, last, span in sorted(spans, key=lambda one: one[0]):
        if first <= end and last >= start and (span["session"] in shown.rows or len(shown.rows) < MAX_ROWS):
            shown.rows.setdefault(span["session"], []).append((max(first, start), min(last, end)))
    hits = [(one["at"], one["by"]) for one in (*found["near_edits"], *found["overwrites"], *found["sweeps"])]
    for text, agent in hits:
        at, session = clock.of_iso(text), agent.partition("/")[0]
        if session in shown.rows and start <= at <= end:
            shown.marks.setdefault(session, []).append(at)
    return shown


def _around(spans: list[tuple[int, int, Span]]) -> tuple[int, int]:
    """From when to when: those at work at the fullest moment, and all that overlap them, within a day."""
    moments = sorted([(start, -1) for start, _, _ in spans] + [(end, 1) for _, end, _ in spans])
    count = most = 0
    fullest = moments[0][0]
    for at, step in moments:
        count -= step
        if count > most:
            most, fullest = count, at
    start = end = fullest
    for first, last, _ in spans:
        if first <= fullest <= last:
            start, end = min(start, first), max(end, last)
    return max(start, fullest - MAX_MS // 2), min(end, fullest + MAX_MS // 2)


def draw(found: Lookback, columns: int, name_of: Callable[[str], str]) -> list[str]:
    """The plot, as lines; [] if there is nothing to show."""
    shown = window(found)
    if shown is None:
        return []
    wide = max(LEAST_COLUMNS, min(MOST_COLUMNS, columns - MAX_NAME - 4))
    scale = (shown.end - shown.start) / wide

    def cell(at: int) -> int:
        return min(wide - 1, int((at - shown.start) / scale))

    cells = {
        session: {place for first, last in spans for place in range(cell(first), cell(last) + 1)}
        for session, spans in shown.rows.items()
    }
    lines = [f"SESSIONS AT WORK in {shown.repository}  {ALONE} alone  {SHARED} next to another  {HIT} hit its work"]
    for session, own in cells.items():
        others = set().union(*[theirs for other, theirs in cells.items() if other != session])
        row = [(SHARED if place in others else ALONE) if place in own else EMPTY for place in range(wide)]
        for at in shown.marks.get(session, ()):
            row[cell(at)] = HIT
        lines.append(f"  {name_of(session)[:MAX_NAME]:<{MAX_NAME}} {''.join(row)}".rstrip())
    begin, end = clock.iso(shown.start), clock.iso(shown.end)
    last = end[11:16] if begin[:10] == end[:10] else end[5:16].replace("T", " ")
    first = begin[:16].replace("T", " ")
    return [*lines, f"  {'UTC':<{MAX_NAME}} {first}{last:>{max(1, wide - len(first))}}"]
