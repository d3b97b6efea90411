"""The picture of `dibs top`: as many lines as the terminal has rows, each with as many columns, from what is chosen.

One pane at a time on a narrow terminal, all panes on a wide one; docs/guides/top.md has the two. A pure function of the
view and a size: `--once` prints it, the widget of app.py shows it.
"""

from __future__ import annotations

from dibs.interfaces.cli.terminal import cells, cut
from dibs.interfaces.top import panes, words
from dibs.interfaces.top.draw import between, fit, width_of, window
from dibs.interfaces.top.panes import AGENTS, ALERT, HELD, LOG, NAMES, SORTS, TASKS, WAITS
from dibs.interfaces.top.state import LIVE, LOST
from dibs.interfaces.top.view import PANES, STORY, View
from dibs.interfaces.top.words import length, ms, plain
from dibs.machine import clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.interfaces.top.model import Model
    from dibs.interfaces.top.rows import Line, Row, Span
    from dibs.interfaces.top.state import FleetState

    Band = tuple[tuple[int, int], ...]  # panes next to each other, each with its columns

WIDE, TALL = 100, 30  # from this size on all panes are shown
WIDEST = 160  # columns from which on agents, what is held and who waits are next to each other
LOWEST = 7  # rows that are left for the last band: the log
ROOMY = 100  # columns from which on a title has its count
ALERT_SHARE = 0.34  # of the height, at most
LATEST, LATEST_FROM = 3, 12  # events below a pane, and the rows from which on there is room for them

HINTS = "j/k move  enter story  / filter  s sort  m message  r release  x kill  ? keys"
HINTS_WIDE = "tab pane  z zoom  j/k move  enter story  / filter  s sort  m message  a ack  r release  x kill  ? keys"
HINTS_VIEWER = "j/k move  enter story  / filter  s sort  ? keys"
STORY_HINTS = "j/k move  enter open  esc back  m message  A ask  r release  x kill  q leave"
NOTHING = {
    AGENTS: "no agent is here now", HELD: "nothing is held: every path is free", WAITS: "nobody waits",
    TASKS: "no task", LOG: "no event",
}  # fmt: skip
FIRST_STEPS = (
    ("As soon as an agent edits a file, claims a path or takes a task, it appears here.", ""), ("", ""),
    ("Install the hooks: for your clients and for git.", "dibs init --clients claude,codex"),
    ("Check that each guard refuses a forbidden write.", "dibs doctor"),
    ("Or watch a dozen agents at work first, for a minute.", "dibs demo --serve"),
)  # fmt: skip


def frame(view: View, columns: int, rows: int) -> list[Line]:
    """All lines. What the mouse can point at is noted in `view.targets`."""
    model = view.model
    view.targets.clear()
    wide = columns >= WIDE and rows >= TALL and not view.zoomed
    lines = _header_wide(model, columns) if wide else _header(model, columns)
    if view.state.phase == LOST:
        lines.append(_lost(view.state, columns))
    if not wide:
        lines.append(_rule(columns))
    lines += _alerts(view, columns, rows, len(lines))
    above, room = len(lines), rows - len(lines) - 1
    if view.stories:
        lines += _story(view, columns, room, above)
    elif model.is_empty:
        lines += [_titled("No agents yet", columns), *_filled(_first_steps(columns), columns, room - 1)]
    else:
        lines += (_all if wide else _one)(view, columns, room, above)
    return [*lines[: rows - 1], _foot(view, columns, wide=wide)]


# --- what is above the panes


def _verdict(model: Model) -> list[Span]:
    word, more, style = model.verdict()
    return [(f" {word}", f"bold {style}"), (f"  {more}" if more else "", "")]


def _place(state: FleetState, columns: int) -> list[Span]:
    where = cut(plain(state.workspace), max(8, columns // 5))
    if state.phase == LOST:
        return [(f"{where}  ", ""), ("lost", "bad"), (f" #{state.seq}  as of {words.clock(state.now)} ", "")]
    return [(f"{where}  live #{state.seq}  {words.clock(state.now)} ", "")]


def _blocked(model: Model) -> Span:
    text = f"blocked {len(model.waits)} of {len(model.agents)}"
    if not model.waits:
        return text, ""
    longest = model.waits[0]
    waited = length(model.state.now - ms(longest["since"]), fine=True)
    return f"{text}, longest {plain(longest['name'] or longest['agent'])} {waited}", "wait"


def _header(model: Model, columns: int) -> list[Line]:
    state = model.state
    run = f"run {round(state.run.get('progress') or 0)}% {state.run.get('phase') or ''}" if state.run else "no run"
    more = "+" if state.more.get("status") else ""
    end = f"held {len(model.claims)}{more}   {plain(run)}   refused {state.refused()} "
    return [
        between(_verdict(model), _place(state, columns), columns),
        between([(" ", ""), _blocked(model)], [(end, "")], columns),
    ]


def _header_wide(model: Model, columns: int) -> list[Line]:
    agents = ", ".join([f"{number} {word}" for word, number in model.by_state()]) or "none"
    left = [*_verdict(model), ("      ", ""), _blocked(model), (f"      agents {agents}", "")]
    return [between(left, _place(model.state, columns), columns)]


def _lost(state: FleetState, columns: int) -> Line:
    now = clock.store_wall()
    age, next_try = length(now - state.lost_at), max(0, (state.retry_at - now) // 1000)
    text = f" Connection lost: this is {age} old, clocks are stopped, actions are off; next try in {next_try} s."
    return fit([(f"{text} {plain(state.error)}", "bad")], columns)


def _alerts(view: View, columns: int, rows: int, above: int) -> list[Line]:
    alerts = view.rows(ALERT)
    most = max(1, int(rows * ALERT_SHARE))
    room = most - 1 if len(alerts) > most else len(alerts)
    selected = view.index[ALERT] if view.pane == ALERT else 0
    first = view.top[ALERT] = window(len(alerts), room, selected, view.top[ALERT])
    chosen = selected if view.pane == ALERT and not view.stories else None
    lines = _drawn(view, alerts[first : first + room], (0, above, columns), (ALERT, first), chosen)
    if room < len(alerts):
        lines.append(fit([(f"   and {len(alerts) - room} more: ! goes there", "bad")], columns))
    return lines


# --- rows


def _drawn(
    view: View, rows: Sequence[Row], place: tuple[int, int, int], first: tuple[int, int], chosen: int | None
) -> list[Line]:
    """Rows of a pane from the `first` on, at a place (column, line, columns); the mouse can point at each."""
    left, above, columns = place
    pane, number = first
    view.targets += [(above + at, range(left, left + columns), pane, number + at) for at in range(len(rows))]
    return [_marked(row.draw(columns), chosen=at == chosen) for at, row in enumerate(rows, number)]


def _marked(line: Line, *, chosen: bool) -> Line:
    """The selected row: a mark at its beginning, and the other way round where there are colours."""
    return [(f">{''.join([text for text, _ in line])[1:]}", "selected")] if chosen else line


def _filled(lines: list[Line], columns: int, rows: int) -> list[Line]:
    return [*lines, *[fit([], columns)] * (rows - len(lines))][: max(0, rows)]


def _pane(view: View, pane: int, left: int, above: int, size: tuple[int, int]) -> list[Line]:
    """The rows of a pane that are seen."""
    columns, rows = size
    found = view.rows(pane)
    at = view.index[pane] = max(0, min(view.index[pane], len(found) - 1))
    top = view.top[pane] = window(len(found), rows, at, view.top[pane])
    chosen = at if view.pane == pane else None
    lines = _drawn(view, found[top : top + max(0, rows)], (left, above, columns), (pane, top), chosen)
    if not found:
        text = "nothing matches the filter: esc clears it" if view.query[pane] else NOTHING[pane]
        lines.append(fit([(f" {text}", "dim")], columns))
    return _filled(lines, columns, rows)


def _story(view: View, columns: int, rows: int, above: int) -> list[Line]:
    story = view.stories[-1]
    found = story.rows(view.model)
    story.index = max(0, min(story.index, len(found) - 1))
    story.top = window(len(found), rows - 1, story.index, story.top)
    shown = found[story.top : story.top + max(0, rows - 1)]
    lines = _drawn(view, shown, (0, above + 1, columns), (STORY, story.top), story.index)
    return [_titled(story.title(view.model), columns), *_filled(lines, columns, rows - 1)]


def _first_steps(columns: int) -> list[Line]:
    lines: list[Line] = []
    for text, command in FIRST_STEPS:
        lines.append(fit([(f" {text}", "")], columns))
        if command:
            lines.append(fit([(f"   $ {command}", "held")], columns))
    return lines


# --- one pane


def _one(view: View, columns: int, rows: int, above: int) -> list[Line]:
    """One pane, and the latest events below it."""
    model = view.model
    pane = view.pane if view.pane != ALERT else AGENTS
    latest = LATEST if pane != LOG and rows >= LATEST_FROM else 0
    lines = [_tabs(view, columns, pane, above), *_task_lines(model, pane, columns), panes.head_of(pane, model, columns)]
    room = rows - len(lines) - (latest + 2 if latest else 1)
    lines += _pane(view, pane, 0, above + len(lines), (columns, room))
    if latest:
        lines += [_rule(columns), *_latest(model, columns, latest)]
    return [*lines, _rule(columns)]


def _task_lines(model: Model, pane: int, columns: int) -> list[Line]:
    """What is above the rows of tasks: the run, and how many are in each state."""
    texts = panes.task_counts(model, model.board()) if pane == TASKS else []
    return [fit([(f" {text}", "dim")], columns) for text in texts]


def _latest(model: Model, columns: int, rows: int) -> list[Line]:
    """The last events, and what `top` itself has to say."""
    state = model.state
    lines = _mark(state, columns)
    lines += [fit([(" ", ""), *panes.event_spans(event)], columns) for event in reversed(state.events[-rows:])]
    return _filled(lines[:rows], columns, rows)


def _mark(state: FleetState, columns: int) -> list[Line]:
    """What `top` itself has to say."""
    return [fit([(f" {words.clock(at)} {text}", "held")], columns) for at, text in state.marks[-1:]]


def _tabs(view: View, columns: int, shown: int, line: int) -> Line:
    spans: list[Span] = []
    for pane in range(PANES):
        spans += [("─", "dim")] if pane else []
        text, style = _title(view, pane, with_count=columns >= ROOMY)
        begin = width_of(spans)
        spans.append((f"[{text}]", "bold") if pane == shown != view.pane else (text, style))
        view.targets.append((line, range(begin, width_of(spans)), pane, -1))
    return fit([*spans, ("─" * max(0, columns - width_of(spans)), "dim")], columns)


def _title(view: View, pane: int, *, with_count: bool) -> Span:
    text = f"{pane + 1} {NAMES[pane]}"
    if with_count and pane != LOG:
        text += f" {_count(view.model, pane)}"
    if view.query[pane]:
        text += f" /{plain(view.query[pane])}"
    if view.sort[pane]:
        text += f" by {SORTS[pane][view.sort[pane]]}"
    if pane == LOG and not view.follow:
        text += " stopped"
    return (f"[{text}]", "bold") if pane == view.pane else (text, "")


def _count(model: Model, pane: int) -> str:
    topic, count = {
        AGENTS: ("agents", len(model.agents)), HELD: ("status", len(model.claims)), WAITS: ("", len(model.waits)),
        TASKS: ("tasks", len(model.tasks)),
    }[pane]  # fmt: skip
    return f"{count}{'+' if model.state.more.get(topic) else ''}"


# --- all panes


def _all(view: View, columns: int, rows: int, above: int) -> list[Line]:
    """Agents, what is held and who waits; tasks and the log below them. Each band has the rows that it needs."""
    bands = _bands(view, columns)
    lines: list[Line] = []
    for place, (panes_of_band, height) in enumerate(zip(bands, _heights(view, bands, rows), strict=True)):
        ends = [at for at, _ in _borders(bands[place - 1])] if place else []
        lines.append(_border(view, panes_of_band, columns, above + len(lines), ends))
        left, parts = 0, []
        for pane, size in panes_of_band:
            width = size if (pane, size) == panes_of_band[-1] else size - 1
            parts.append(_headed(view, pane, left, above + len(lines), (width, height)))
            left += size + 1
        lines += _beside(*parts)
    return lines


def _bands(view: View, columns: int) -> list[Band]:
    """Which panes are next to each other, each with its columns."""
    model = view.model
    has_tasks = bool(model.tasks) or view.pane == TASKS
    if columns >= WIDEST:
        first, second = columns * 42 // 100, columns * 28 // 100
        lower: Band = ((TASKS, first), (LOG, columns - first - 1)) if has_tasks else ((LOG, columns),)
        return [((AGENTS, first), (HELD, second), (WAITS, columns - first - second - 2)), lower]
    held = columns * (48 if model.waits or model.deadlocks else 60) // 100
    tasks: list[Band] = [((TASKS, columns),)] if has_tasks else []
    return [((AGENTS, columns),), ((HELD, held), (WAITS, columns - held - 1)), *tasks, ((LOG, columns),)]


def _heights(view: View, bands: list[Band], rows: int) -> list[int]:
    """The rows of each band, without its border: what it needs; the last one has the rest, and never nothing."""
    room = rows - len(bands)
    needs = [max([_need(view, pane) for pane, _ in band]) for band in bands[:-1]]
    budget = max(2 * len(needs), room - LOWEST)
    while sum(needs) > budget:
        needs[needs.index(max(needs))] -= 1
    return [*needs, room - sum(needs)]


def _need(view: View, pane: int) -> int:
    """The rows of a pane with its titles; one at least, which says that there is nothing."""
    titles = 3 if pane == TASKS else 1
    return titles + max(1, len(view.rows(pane)))


def _headed(view: View, pane: int, left: int, above: int, size: tuple[int, int]) -> list[Line]:
    """A pane with the titles of its columns."""
    columns, rows = size
    marks = _mark(view.state, columns) if pane == LOG else []
    lines = [*_task_lines(view.model, pane, columns), panes.head_of(pane, view.model, columns), *marks][:rows]
    return [*lines, *_pane(view, pane, left, above + len(lines), (columns, rows - len(lines)))]


def _borders(band: Band) -> list[tuple[int, int]]:
    """The columns where a line between two panes is, and which pane is left of it."""
    found, at = [], 0
    for pane, size in band[:-1]:
        at += size
        found.append((at, pane))
        at += 1
    return found


def _beside(*parts: list[Line]) -> list[Line]:
    """Panes next to each other."""
    lines = []
    for row in zip(*parts, strict=True):
        line = list(row[0])
        for part in row[1:]:
            line += [(" │", "dim"), *part]
        lines.append(line)
    return lines


def _border(view: View, band: Band, columns: int, line: int, ends: list[int]) -> Line:
    """The titles of panes that are next to each other. `ends`: where lines from above end."""
    spans: list[Span] = []
    begins = [at for at, _ in _borders(band)]
    for pane, size in band:
        spans += [("┬", "dim")] if spans else []
        text, style = _title(view, pane, with_count=True)
        begin = width_of(spans) + 1
        view.targets.append((line, range(begin, begin + cells(text)), pane, -1))
        spans += [("─", "dim"), (text, style), ("─" * max(0, size - 1 - cells(text)), "dim")]
    found = fit(spans, columns)
    for place in ends:
        found = _joint(found, place, "┼" if place in begins else "┴")
    return found


def _joint(line: Line, place: int, sign: str) -> Line:
    """A rule where a line from above ends."""
    spans: Line = []
    at = 0
    for text, style in line:
        offset = place - at
        at += len(text)
        joint = 0 <= offset < len(text) and text[offset] in "─┬"
        spans.append((f"{text[:offset]}{sign}{text[offset + 1 :]}" if joint else text, style))
    return spans


def _rule(columns: int) -> Line:
    return [("─" * columns, "dim")]


def _titled(text: str, columns: int) -> Line:
    text = cut(text, columns - 4)
    return fit([("─ ", "dim"), (text, "bold"), (" ", ""), ("─" * (columns - 3 - cells(text)), "dim")], columns)


# --- the last line


def _foot(view: View, columns: int, *, wide: bool) -> Line:
    state = view.state
    if view.toast:
        return fit([(f" {plain(view.toast)}", "bold")], columns)
    if view.stories:
        return fit([(f" {STORY_HINTS}", "dim")], columns)
    if state.phase == LIVE and not any(state.may.get(name) for name in ("release", "kill", "task move")):
        viewer = f"{plain(state.me)}, {plain(state.role)}: may look "
        return between([(f" {HINTS_VIEWER}", "dim")], [(viewer, "wait")], columns)
    if not wide:
        return fit([(f" {HINTS}", "dim")], columns)
    acked = f"{words.count(view.model.acknowledged, 'alert')} acknowledged, " if view.model.acknowledged else ""
    end = f"{acked}state read in {round(state.latency)} ms "
    return between([(f" {HINTS_WIDE}", "dim")], [(end, "dim")], columns)
