"""What the person at `dibs top` has chosen: pane, row, order, filter, story, dialog. And the whole picture from it.

`frame` gives as many lines as the terminal has rows, one pane at a time on a narrow terminal and all panes on a wide
one; DASHBOARD.md has the two. It reads nothing and decides nothing.
"""

from __future__ import annotations

from dibs.doors.cli.terminal import cells, cut
from dibs.doors.top import panes, words
from dibs.doors.top.draw import between, fit, window
from dibs.doors.top.model import Model
from dibs.doors.top.panes import AGENTS, ALERT, HELD, LOG, NAMES, SORTS, TASKS, WAITS, Row
from dibs.doors.top.state import LIVE, LOST
from dibs.doors.top.words import length, ms, plain
from dibs.facts import clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.doors.top.dialogs import Dialog
    from dibs.doors.top.draw import Line, Span
    from dibs.doors.top.keys import Input
    from dibs.doors.top.state import State
    from dibs.doors.top.story import Story

WIDE, TALL = 130, 30  # from this size on all panes are shown
ALERT_SHARE = 0.34  # of the height, at most
LATEST = 3  # events below a pane
TOAST_MS = 6_000

HINTS = "j/k move  enter story  / filter  s sort  m message  r release  x kill  ? keys"
HINTS_WIDE = "tab pane  j/k move  enter story  / filter  s sort  m message  a ack  r release  x kill  ? keys"
STORY_HINTS = "j/k move  enter open  esc back  m message  r release  x kill  q leave"
DIALOG_HINTS = "tab next  enter choose  esc keep as it is"
HELP: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = (
    ("Go to", (("1 2 3 4 5", "a pane"), ("tab, h l", "next pane"), ("!, g a", "the alerts"),
               ("g o, g h, g w, g b, g l", "agents, held, waits, tasks (board), log"),
               ("g m", "worktrees: coming conflicts, what lands (merges)"))),
    ("Move", (("j k, arrows", "next, previous"), ("page up, page down", "a page"), ("g g, G", "first, last"),
              ("enter", "open its story"), ("esc", "back, clear the filter"))),
    ("Act on what is selected", (("m", "message its agent"), ("M", "message all"), ("A", "ask its holder to release"),
                                 ("a", "acknowledge the alert (the first one)"), ("r", "force release"), ("x", "kill"),
                                 ("X", "kill all"), ("v", "revive"), ("p", "plan a stopped task again (requeue)"),
                                 ("c", "cancel a task"), ("R", "restore an overwritten file"))),
    ("Anywhere", (("/", "filter; in the log: words, agent:ada, kind:claim., about:src/db; enter searches all of it"),
                  ("s", "another order"), ("space", "stop or follow the log"), ("?", "this"), ("q, ctrl-c", "leave"))),
)  # fmt: skip


class View:
    """What is shown of the state."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.pane = AGENTS
        self.index = dict.fromkeys(range(6), 0)
        self.top = dict.fromkeys(range(6), 0)
        self.selected: dict[int, str] = {}
        self.sort = dict.fromkeys(range(6), 0)
        self.query = dict.fromkeys(range(6), "")
        self.typing: Input | None = None  # the filter, while it is typed
        self.stories: list[Story] = []
        self.dialog: Dialog | None = None
        self.help = False
        self.help_top = 0  # the first line of the keys that is shown
        self.follow = True
        self.frozen: Model | None = None  # what the log shows while it is not followed
        self.cursor: tuple[int, int] | None = None
        self._toast, self._toast_until = "", 0
        self._model: Model | None = None
        self._rows: dict[int, tuple[object, Sequence[Row]]] = {}

    # --- what is there

    @property
    def model(self) -> Model:
        """The derived values of the state as it is."""
        if self._model is None or self._model.version != self.state.version:
            with self.state.mutex:
                self._model = Model(self.state)
        return self._model

    def toast(self, text: str) -> None:
        """Say something for some seconds."""
        self._toast, self._toast_until = text, clock.since_boot() + TOAST_MS

    def rows(self, pane: int) -> Sequence[Row]:
        """The rows of a pane; made once for each change."""
        model = self.model
        key = (model.version, self.sort[pane], self.query[pane], self.follow or pane != LOG)
        found = self._rows.get(pane)
        if found is None or found[0] != key:
            if pane == LOG and not self.follow and found is not None and found[0][1:] == key[1:]:  # type: ignore[index]
                return found[1]  # it stands still
            with self.state.mutex:
                found = key, panes.rows_of(pane, model, self.sort[pane], self.query[pane])
            self._rows[pane] = found
            self._reselect(pane, found[1])
        return found[1]

    def _reselect(self, pane: int, rows: Sequence[Row]) -> None:
        """The selected row stays selected wherever it is now; the newest event is followed."""
        if pane == LOG and self.follow and self.index[pane] == 0:
            return
        wanted = self.selected.get(pane)
        if wanted is not None:
            place = panes.place_of(rows, wanted)
            if place is not None:
                self.index[pane] = place
        self.index[pane] = max(0, min(self.index[pane], len(rows) - 1))

    @property
    def row(self) -> Row | None:
        """The selected row of what is in front."""
        if self.stories:
            story = self.stories[-1]
            events = story.rows(self.model)
            return events[min(story.index, len(events) - 1)] if events else None
        rows = self.rows(self.pane)
        return rows[min(self.index[self.pane], len(rows) - 1)] if rows else None

    def move(self, by: int) -> None:
        """Select another row."""
        if self.stories:
            story = self.stories[-1]
            story.index = max(0, min(len(story.rows(self.model)) - 1, story.index + by))
            return
        rows = self.rows(self.pane)
        self.select(max(0, min(len(rows) - 1, self.index[self.pane] + by)))

    def select(self, place: int) -> None:
        """Select the row at this place."""
        rows = self.rows(self.pane)
        if rows:
            place = max(0, min(len(rows) - 1, place))
            self.index[self.pane], self.selected[self.pane] = place, rows[place].id

    def go(self, pane: int) -> None:
        """Show a pane."""
        self.pane = pane
        self.stories.clear()

    # --- the picture

    def frame(self, columns: int, rows: int) -> list[Line]:
        """All lines."""
        self.cursor = None
        model = self.model
        wide = columns >= WIDE and rows >= TALL
        lines = _header_wide(model, columns) if wide else _header(model, columns)
        if self.state.phase == LOST:
            lines.append(_lost(self.state, columns))
        if not wide:
            lines.append(_rule(columns))
        lines += self._alerts(columns, rows) if not self.help else []
        middle = rows - len(lines) - 1
        lines += self._middle(model, columns, middle, len(lines), wide=wide)
        return [*lines[: rows - 1], self._foot(columns, wide=wide, row=rows - 1)]

    def _alerts(self, columns: int, rows: int) -> list[Line]:
        found = self.rows(ALERT)
        most = max(1, int(rows * ALERT_SHARE))
        if len(found) <= most:
            shown, top = found, 0
        else:
            at = self.index[ALERT] if self.pane == ALERT else 0
            top = self.top[ALERT] = window(len(found), most - 1, at, self.top[ALERT])
            shown = found[top : top + most - 1]
        lines = []
        for number, row in enumerate(shown, top):
            chosen = self.pane == ALERT and not self.stories and number == self.index[ALERT]
            lines.append(_marked(row.draw(columns), chosen=chosen))
        if len(shown) < len(found):
            lines.append(fit([(f"   and {len(found) - len(shown)} more: ! goes there", "bad")], columns))
        return lines

    def _middle(self, model: Model, columns: int, rows: int, above: int, *, wide: bool) -> list[Line]:
        """What is below the alerts: a dialog, the keys, a story, or the panes."""
        if self.dialog is not None:
            head = _titled(self.dialog.title, columns)
            body, cursor = self.dialog.draw(columns, rows - 1)
            if cursor:
                self.cursor = cursor[0], cursor[1] + above + 1
            return [head, *body]
        if self.help:
            lines = _help(columns)
            self.help_top = max(0, min(self.help_top, len(lines) - (rows - 1)))
            return [_titled("Keys", columns), *_filled(lines[self.help_top :], columns, rows - 1)]
        if self.stories:
            story = self.stories[-1]
            return [_titled(story.title(model), columns), *self._story(story, columns, rows - 1)]
        if model.is_empty:
            return [_titled("No agent has called here yet", columns), *_filled(_empty(columns), columns, rows - 1)]
        return self._all(model, columns, rows) if wide else self._one(model, columns, rows)

    def _story(self, story: Story, columns: int, rows: int) -> list[Line]:
        found = story.rows(self.model)
        story.index = max(0, min(story.index, len(found) - 1))
        story.top = window(len(found), rows, story.index, story.top)
        lines = [
            _marked(row.draw(columns), chosen=number == story.index)
            for number, row in enumerate(found[story.top : story.top + rows], story.top)
        ]
        return _filled(lines, columns, rows)

    def _one(self, model: Model, columns: int, rows: int) -> list[Line]:
        """One pane, and the latest events below it."""
        pane = self.pane if self.pane != ALERT else AGENTS
        latest = 0 if pane == LOG or rows < 12 else min(LATEST, rows - 9)  # noqa: PLR2004 - a pane of a few rows comes first
        lines = [self._tabs(columns, pane)]
        above = self._above(model, pane, columns)
        lines += [*above, panes.head_of(pane, model, columns)]
        room = rows - len(lines) - (latest + 2 if latest else 1)
        lines += self._pane(pane, columns, room)
        if latest:
            lines += [_rule(columns), *self._latest(model, columns, latest)]
        return [*lines, _rule(columns)]

    def _above(self, model: Model, pane: int, columns: int) -> list[Line]:
        if pane != TASKS:
            return []
        return [fit([(f" {text}", "dim")], columns) for text in panes.task_counts(model, model.board())]

    def _pane(self, pane: int, columns: int, rows: int) -> list[Line]:
        found = self.rows(pane)
        at = self.index[pane] = max(0, min(self.index[pane], len(found) - 1))
        top = self.top[pane] = window(len(found), rows, at, self.top[pane])
        here = self.pane == pane
        lines = [
            _marked(row.draw(columns), chosen=here and number == at)
            for number, row in enumerate(found[top : top + rows], top)
        ]
        if not found:
            lines.append(fit([(f" {self._nothing(pane)}", "dim")], columns))
        return _filled(lines, columns, rows)

    def _nothing(self, pane: int) -> str:
        if self.query[pane]:
            return "nothing matches the filter: esc clears it"
        return {
            AGENTS: "no agent is here now", HELD: "nothing is held: every path is free", WAITS: "nobody waits",
            TASKS: "no task", LOG: "no event",
        }[pane]  # fmt: skip

    def _latest(self, model: Model, columns: int, rows: int) -> list[Line]:
        """The last events, and what `top` itself has to say."""
        lines = [
            fit([(f" {words.clock(at)} {text}", "held")], columns) for at, text in reversed(model.state.marks[-1:])
        ]
        name = panes.names_width(model)
        lines += [
            fit([(" ", ""), *panes.event_spans(model, event, name, panes.KIND_SHORT)], columns)
            for event in reversed(model.state.events[-rows:])
        ]
        return _filled(lines[:rows], columns, rows)

    # --- all panes

    def _all(self, model: Model, columns: int, rows: int) -> list[Line]:
        first = columns * 44 // 100
        second = columns * 28 // 100
        third = columns - first - second - 2
        upper = max(6, (rows - 2) * 3 // 5)
        lower = rows - upper - 2
        parts = ((AGENTS, first), (HELD, second), (WAITS, third))
        lines = [self._border(parts, columns, "┬")]
        drawn = [self._pane(pane, size - (pane != WAITS), upper) for pane, size in parts]
        lines += [
            [*one, (" │", "dim"), *two, (" │", "dim"), *three] for one, two, three in zip(*drawn, strict=True)
        ]  # fmt: skip
        below = ((TASKS, first), (LOG, columns - first - 1))
        lines.append(self._border(below, columns, "┼", second + first + 1))
        counts = self._above(model, TASKS, first - 1)
        left = [*counts, *self._pane(TASKS, first - 1, max(0, lower - len(counts)))][:lower]
        right = self._pane(LOG, columns - first - 1, lower)
        return lines + [[*one, (" │", "dim"), *two] for one, two in zip(left, right, strict=True)]

    def _border(self, parts: tuple[tuple[int, int], ...], columns: int, joint: str, end: int = 0) -> Line:
        spans: list[Span] = []
        for number, (pane, size) in enumerate(parts):
            if number:
                spans.append((joint, "dim"))
            title = self._title(pane, with_count=True)
            spans += [("─", "dim"), *title, ("─" * max(0, size - 1 - sum(len(text) for text, _ in title)), "dim")]
        text = fit(spans, columns)
        return _joint(text, end) if end else text

    def _title(self, pane: int, *, with_count: bool) -> list[Span]:
        number = f" {self._count(pane)}" if with_count and pane != LOG else ""
        more = f" /{plain(self.query[pane])}" if self.query[pane] else ""
        order = SORTS[pane][self.sort[pane] % len(SORTS[pane])]
        more += f" by {order}" if self.sort[pane] % len(SORTS[pane]) else ""
        more += " stopped" if pane == LOG and not self.follow else ""
        text = f"{pane + 1} {NAMES[pane]}{number}{more}"
        return [(f"[{text}]", "bold")] if pane == self.pane else [(text, "")]

    def _count(self, pane: int) -> str:
        model = self.model
        more = "+" if model.state.more.get({AGENTS: "agents", HELD: "status", TASKS: "tasks"}.get(pane, "")) else ""
        found = {AGENTS: model.agents, HELD: model.claims, WAITS: model.waits, TASKS: model.tasks}[pane]
        return f"{len(found)}{more}"

    def _tabs(self, columns: int, shown: int) -> Line:
        spans: list[Span] = []
        for pane in range(5):
            if pane:
                spans.append(("─", "dim"))
            title = self._title(pane, with_count=columns >= 100)  # noqa: PLR2004 - there is room
            spans += [(f"[{title[0][0]}]", "bold")] if pane == shown != self.pane else title
        used = sum(len(text) for text, _ in spans)
        return fit([*spans, ("─" * max(0, columns - used), "dim")], columns)

    # --- the last line

    def _foot(self, columns: int, *, wide: bool, row: int) -> Line:
        if self.typing is not None:
            text = f" /{self.typing.text}"
            self.cursor = min(columns - 1, 2 + len(self.typing.text[: self.typing.place])), row
            return between([(text, "bold")], [("enter keeps it, esc clears it ", "dim")], columns)
        if self._toast and clock.since_boot() < self._toast_until:
            return fit([(f" {plain(self._toast)}", "bold")], columns)
        if self.dialog is not None:
            return fit([(f" {DIALOG_HINTS}", "dim")], columns)
        if self.help:
            return fit([(" j/k move  any other key: back", "dim")], columns)
        if self.stories:
            return fit([(f" {STORY_HINTS}", "dim")], columns)
        state = self.state
        actions = [word for name, word in (("release", "release"), ("kill", "kill"), ("task move", "requeue"))
                 if state.may.get(name)]  # fmt: skip
        if state.phase == LIVE and not actions:
            return between([(" j/k move  enter story  / filter  s sort  ? keys", "dim")],
                           [(f"{plain(state.me)}, {plain(state.role)}: may look ", "wait")], columns)  # fmt: skip
        if not wide:
            return fit([(f" {HINTS}", "dim")], columns)
        acked = f"{words.count(self.model.acknowledged, 'alert')} acknowledged, " if self.model.acknowledged else ""
        return between(
            [(f" {HINTS_WIDE}", "dim")], [(f"{acked}state read in {round(state.latency)} ms ", "dim")], columns
        )


# --- parts


def _verdict(model: Model) -> list[Span]:
    word, more, style = model.verdict()
    return [(f" {word}", f"bold {style}"), (f"  {more}" if more else "", "")]


def _place(state: State, columns: int) -> list[Span]:
    where = cut(plain(state.workspace), max(8, columns // 5))
    if state.phase == LOST:
        return [(f"{where}  ", ""), ("lost", "bad"), (f" #{state.seq}  as of {words.clock(state.now)} ", "")]
    return [(f"{where}  live #{state.seq}  {words.clock(state.now)} ", "")]


def _blocked(model: Model) -> str:
    longest = model.waits[0] if model.waits else None
    more = ""
    if longest is not None:
        waited = length(model.state.now - ms(longest["since"]), fine=True)
        more = f", longest {plain(longest['name'] or longest['agent'])} {waited}"
    return f"blocked {len(model.waits)} of {len(model.agents)}{more}"


def _header(model: Model, columns: int) -> list[Line]:
    state = model.state
    run = f"run {round(state.run.get('progress') or 0)}% {state.run.get('phase') or ''}" if state.run else "no run"
    more = "+" if state.more.get("status") else ""
    end = f"held {len(model.claims)}{more}   {plain(run)}   refused {state.refused()} "
    return [
        between(_verdict(model), _place(state, columns), columns),
        between([(f" {_blocked(model)}", "wait" if model.waits else "")], [(end, "")], columns),
    ]


def _header_wide(model: Model, columns: int) -> list[Line]:
    agents = ", ".join([f"{number} {word}" for word, number in model.by_state()]) or "none"
    left = [*_verdict(model), ("      ", ""), (_blocked(model), "wait" if model.waits else ""),
            (f"      agents {agents}", "")]  # fmt: skip
    return [between(left, _place(model.state, columns), columns)]


def _lost(state: State, columns: int) -> Line:
    age = length(clock.store_wall() - state.lost_at)
    next_try = max(0, (state.retry_at - clock.store_wall()) // 1000)
    text = f" Connection lost: this is {age} old, clocks are stopped, actions are off; next try in {next_try} s."
    return fit([(f"{text} {plain(state.error)}", "bad")], columns)


def _rule(columns: int) -> Line:
    return [("─" * columns, "dim")]


def _titled(text: str, columns: int) -> Line:
    text = cut(text, columns - 4)
    return fit([("─ ", "dim"), (text, "bold"), (" ", ""), ("─" * (columns - 3 - cells(text)), "dim")], columns)


def _joint(line: Line, place: int) -> Line:
    """A rule where a line from above ends."""
    found: Line = []
    at = 0
    for text, style in line:
        if at <= place < at + len(text) and text[place - at] == "─":
            text = f"{text[: place - at]}┴{text[place - at + 1 :]}"  # noqa: PLW2901 - the one that is changed
        found.append((text, style))
        at += len(text)
    return found


def _marked(line: Line, *, chosen: bool) -> Line:
    """The selected row: a mark at its beginning, and the other way round where there are colours."""
    if not chosen:
        return line
    return [(f">{''.join([text for text, _ in line])[1:]}", "selected")]


def _filled(lines: list[Line], columns: int, rows: int) -> list[Line]:
    return [*lines, *[fit([], columns)] * (rows - len(lines))][: max(0, rows)]


def _help(columns: int) -> list[Line]:
    lines: list[Line] = []
    for head, keys in HELP:
        lines.append(fit([(f" {head}", "bold")], columns))
        lines += [fit([(f"   {key:<24}", "held"), (f" {text}", "")], columns) for key, text in keys]
    return lines


def _empty(columns: int) -> list[Line]:
    said = (
        ("As soon as one edits a file, claims a path or takes a task, it appears here by itself.", ""), ("", ""),
        ("Put dibs before your agents: hooks for the clients and for git.", "dibs init --clients claude,codex"),
        ("See whether each guard refuses a forbidden write.", "dibs doctor"),
        ("Or watch a dozen agents at work first, for a minute.", "dibs demo --serve"),
    )  # fmt: skip
    lines: list[Line] = []
    for text, command in said:
        lines.append(fit([(f" {text}", "")], columns))
        if command:
            lines.append(fit([(f"   $ {command}", "held")], columns))
    return lines
