"""`dibs top` on Textual: keys and the mouse become choices and actions, and changes become a picture.

Textual has the terminal, the keys, the mouse, resizing, dialogs and text fields. The picture itself is a plain function
of state and size (picture.py): `--once` prints it where Textual is not installed, and tests look at it without a
terminal. One widget shows it and has only those lines written again that changed.
"""

from __future__ import annotations

import asyncio
import os
import signal
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual.app import App
from textual.binding import Binding
from textual.containers import Horizontal
from textual.events import Key, Paste
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import Static

from dibs.interfaces.top import actions, words, worktrees
from dibs.interfaces.top.action_thread import reason_of
from dibs.interfaces.top.dialogs import Compose, Confirm, Field, Keys, Sheet
from dibs.interfaces.top.keys import ACTIONS, CHORDS
from dibs.interfaces.top.panes import AGENTS, ALERT, LOG
from dibs.interfaces.top.picture import frame
from dibs.interfaces.top.reader import FAULTS
from dibs.interfaces.top.story import Story
from dibs.interfaces.top.view import SUBJECTS, View
from dibs.interfaces.top.words import plain
from dibs.machine import clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from textual import events
    from textual.app import ComposeResult
    from textual.binding import BindingType
    from textual.timer import Timer

    from dibs.interfaces.top.action_thread import ActionThread
    from dibs.interfaces.top.reader import Asker, FeedReader
    from dibs.interfaces.top.rows import Line
    from dibs.interfaces.top.state import FleetState
    from dibs.operations.guards.answers import KeptView

    T = TypeVar("T")

SECOND = 1.0
PAINT_MS = 200  # between two pictures of changes; a key is answered at once
PAGE_EVENTS = 1_000
SEARCH_EVENTS = 200
QUERY_CHARS = 200
SMALLEST = (40, 10)  # columns and rows of a picture; a smaller terminal shows a part of it
OUTSIDE_PANE = 14  # rows of the terminal that are no rows of its pane, about
WHEEL_ROWS = 3
SIGNALLED = 128  # and the signal's number: the exit code
_STYLES = {
    "bold": "bold", "dim": "dim", "bad": "red", "ok": "green", "wait": "yellow", "held": "cyan",
    "dead": "bright_black", "selected": "reverse",
}  # fmt: skip
_CSS = """
* { background: ansi_default; color: ansi_default; scrollbar-size-vertical: 1; }
Screen { layers: picture filter; }
Picture { layer: picture; }
#filter { layer: filter; dock: bottom; height: 1; display: none; }
#filter Static { width: auto; }
#filter Field { width: 1fr; }
ModalScreen { align: center middle; background: transparent; }
ModalScreen > Vertical { width: 100%; max-width: 110; height: 100%; max-height: 22; border: round ansi_default;
    padding: 0 1; }
Keys > Vertical { max-height: 40; }
ModalScreen VerticalScroll { height: 1fr; }
ModalScreen Horizontal { height: auto; }
ModalScreen .title { text-style: bold; height: 1; }
ModalScreen .label { width: 6; }
ModalScreen Field { width: 1fr; border: none; height: 1; padding: 0; }
ModalScreen .refusal { color: ansi_red; max-height: 3; }
ModalScreen .hints { text-style: dim; height: 1; }
Choice { width: auto; margin-right: 1; }
Choice:focus { text-style: reverse; }
Choice:disabled { text-style: dim; }
"""


class Picture(Widget, can_focus=True):
    """The picture: lines of texts with styles."""

    def __init__(self, view: View, *, colored: bool) -> None:
        super().__init__()
        self._view = view
        self._colored = colored
        self._styles = {"": Style()}
        self._lines: list[Line] = []
        self._strips: list[Strip] = []

    def paint(self) -> None:
        """Show what is there now: the lines that differ from those that are shown."""
        columns, rows = self.size
        lines = frame(self._view, max(SMALLEST[0], columns), max(SMALLEST[1], rows))
        if len(lines) != len(self._lines):
            self._lines, self._strips = [[]] * len(lines), [Strip.blank(columns)] * len(lines)
        for place, line in enumerate(lines):
            if line != self._lines[place]:
                self._strips[place] = Strip([Segment(text, self._style(style)) for text, style in line])
                self.refresh(Region(0, place, columns, 1))
        self._lines = lines

    def _style(self, style: str) -> Style:
        if not self._colored:
            return self._styles[""]
        if style not in self._styles:
            self._styles[style] = Style.parse(" ".join([_STYLES[word] for word in style.split()]))
        return self._styles[style]

    def render_line(self, y: int) -> Strip:
        """One line of it."""
        return self._strips[y] if y < len(self._strips) else Strip.blank(self.size.width)

    def on_resize(self) -> None:
        """The terminal has another size."""
        self._lines = []
        self.paint()

    async def on_click(self, event: events.Click) -> None:
        """Select what is pointed at; a second click opens it."""
        if self._view.point(event.x, event.y) and event.chain > 1:
            await self.run_action("app.open")
        self.paint()

    async def on_mouse_scroll_down(self) -> None:
        """Further down."""
        await self.run_action(f"app.move({WHEEL_ROWS})")

    async def on_mouse_scroll_up(self) -> None:
        """Further up."""
        await self.run_action(f"app.move({-WHEEL_ROWS})")


class Filter(Field):
    """Where the filter is typed, in the place of the last line."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "app.clear_filter", show=False, priority=True),
        Binding("enter", "app.submit_filter", show=False, priority=True),
        Binding("tab,shift+tab", "app.keep_filter", show=False, priority=True),
    ]


class Changed(Message):
    """The state is another one. Any thread may post it."""


class Top(App[None]):
    """The program between the person and the picture."""

    CSS = _CSS
    ENABLE_COMMAND_PALETTE = False
    ALLOW_SELECT = False  # the terminal's own selection, with shift, works as everywhere
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+c", "interrupt", show=False, priority=True),
        Binding("ctrl+z", "suspend_process", show=False, priority=True),
    ]

    def __init__(
        self, state: FleetState, desk: ActionThread, want: Callable[..., None], *, colored: bool = True
    ) -> None:
        super().__init__(ansi_color=True)
        self.state, self.view = state, View(state)
        self._desk, self._want = desk, want
        self.picture = Picture(self.view, colored=colored)
        self.filter = Filter("", QUERY_CHARS)
        self._known = ACTIONS  # the keys; after a `g`: CHORDS
        self._painted = 0
        self._due: Timer | None = None

    def compose(self) -> ComposeResult:
        """The picture, and the filter over its last line."""
        yield self.picture
        with Horizontal(id="filter"):
            yield Static(" /", markup=False)
            yield self.filter
            yield Static("enter keeps it, esc clears it ", markup=False)

    def on_mount(self) -> None:
        """Clocks move every second. After `fg` the terminal has nothing of the picture."""
        self.theme = "ansi-dark"
        self.picture.focus()
        self.set_interval(SECOND, self.paint)
        self.app_resume_signal.subscribe(self, lambda _: self.refresh(layout=True))

    async def on_event(self, event: events.Event) -> None:
        """What is typed is done before the next key is looked at: letters after a `/` are its text, not keys."""
        if isinstance(event, Key) and event.key.startswith("alt+") and event.character:
            await self.on_event(Key("escape", None))  # an escape and a letter that came together
            event = Key(event.character, event.character)
        if isinstance(event, Key | Paste) and not event.is_forwarded:
            text = event.text if isinstance(event, Paste) else event.character if event.is_printable else None
            if isinstance(self.focused, Field) and text:
                self.focused.write(text)
                return
            in_front = len(self.screen_stack) == 1 and self.focused is not self.filter
            if isinstance(event, Key) and in_front and await self._press(event.key):
                return
        await super().on_event(event)

    async def _press(self, key: str) -> bool:
        """A key of the picture; whether it is one."""
        known, self._known = self._known, ACTIONS
        if key == "g" and known is ACTIONS:
            self._known = CHORDS
            return True
        if key in known:
            await self.run_action(known[key])
        return key in known or (known is CHORDS and len(key) == 1)  # a letter after a `g` is no key of its own

    # --- the picture

    def paint(self) -> None:
        """Show what is there now."""
        self._painted, self._due = clock.since_boot(), None
        self.picture.paint()

    def on_changed(self) -> None:
        """Changes come in groups: one picture for all that come within a time."""
        wait = self._painted + PAINT_MS - clock.since_boot()
        if wait <= 0:
            self.paint()
        elif self._due is None:
            self._due = self.set_timer(wait / 1000, self.paint)

    def tell(self, text: str | None) -> None:
        """Say something for some seconds, if there is anything to say."""
        if text:
            self.view.toast = text
        self.paint()

    async def ask(self, job: Callable[[Asker], T]) -> T | None:
        """The answer of a job at the desk; None where there is none, and it is said why."""
        try:
            answer = await self._desk.ask(job)
        except FAULTS as error:
            self.tell(reason_of(error))
            return None
        return answer

    # --- choosing

    def action_choose(self, what: str, *given: int) -> None:
        """Another pane, order or filter: a method of the view."""
        getattr(self.view, what)(*given)
        self.paint()

    def action_move(self, by: int) -> None:
        """Select another row. At the end of the log, what is before it is read."""
        self.action_choose("move", by)
        if by > 0 and self.view.is_at_end_of_log() and self.state.is_older:
            self.run_worker(self._older())

    def action_page(self, by: int) -> None:
        """A page."""
        self.action_move(by * max(1, self.size.height - OUTSIDE_PANE))

    async def action_keys(self) -> None:
        """All keys."""
        await self.push_screen(Keys())

    def action_leave(self) -> None:
        """End it."""
        self.exit()

    def action_interrupt(self) -> None:
        """Ctrl-C ends it, whatever is in front."""
        self.exit(return_code=SIGNALLED + signal.SIGINT)

    # --- the filter

    def action_filter(self) -> None:
        """Type a filter."""
        view = self.view
        if view.pane == ALERT:
            view.go(AGENTS)
        self.filter.value = view.query[view.pane]
        self.filter.cursor_position = len(self.filter.value)
        self.query_one("#filter").display = True
        self.screen.set_focus(self.filter)

    def action_keep_filter(self) -> None:
        """It is typed."""
        self.view.query[self.view.pane] = self.filter.value
        self.query_one("#filter").display = False
        self.screen.set_focus(self.picture)
        self.paint()

    def action_clear_filter(self) -> None:
        """No filter."""
        self.filter.value = ""
        self.action_keep_filter()

    def action_submit_filter(self) -> None:
        """It is typed; in the log, all of it is searched."""
        self.action_keep_filter()
        if self.view.pane == LOG and self.view.query[LOG].strip():
            self.run_worker(self._search(self.view.query[LOG].strip()))

    def on_input_changed(self, event: Field.Changed) -> None:
        """What is shown follows what is typed."""
        if event.input is self.filter is self.focused:
            self.view.query[self.view.pane] = event.value
            self.paint()

    async def _search(self, query: str) -> None:
        """The whole log for what was typed, the newest first; again: from further back."""
        state = self.state
        again = query == state.searched
        if again and not state.found_from:
            return
        before = state.found_from if again else (state.events[0]["seq"] if state.events else state.seq + 1)
        fields = {"limit": SEARCH_EVENTS, "before": before, "sentences": True, **search_fields(query)}
        self.tell("searching the log …")
        answer = await self.ask(lambda asker: asker.ask("log", fields))
        if answer is not None:
            state.search(query, answer["events"], int(answer["first"]) if answer["earlier"] else 0)
            events = words.count(len(answer["events"]), "earlier event")
            more = f"; searched back to {answer['first']}: / enter continues" if answer["earlier"] else ""
            self.tell(f"{events} in the log{more}")

    async def _older(self) -> None:
        """Read the events before the first that is here."""
        first = self.state.events[0]["seq"]
        after = max(0, first - 1 - PAGE_EVENTS)
        fields: dict[str, object] = {"after": after, "limit": first - 1 - after, "sentences": True}
        answer = await self.ask(lambda asker: asker.ask("log", fields))
        if answer is not None:
            events = answer["events"]
            self.state.older(events, older=bool(events) and events[0]["seq"] > 1)
            self.paint()

    # --- stories

    def action_open(self) -> None:
        """Open the story of the selected row."""
        row = self.view.row
        if row is not None and row.open:
            self.open(row.open)

    def action_worktrees(self) -> None:
        """Open the story of all worktrees."""
        if not self.view.stories:
            self.open(worktrees.STORY)

    def open(self, what: str) -> None:
        """Open a story."""
        story = Story(what)
        story.select_first(self.view.model)
        self.view.stories.append(story)
        self.paint()
        self.run_worker(self._read(story))

    async def _read(self, story: Story) -> None:
        answer = await self.ask(lambda asker: asker.ask("log", story.query))
        for event in answer["events"] if answer else ():
            event["ms"] = words.ms(event["at"])
            story.events.append(event)
        if story.kind == "task":
            answer = await self.ask(lambda asker: asker.ask("task show", {"id": story.id}))
            story.full = answer["task"] if answer else None
        self.paint()

    # --- actions

    def _refused(self, kind: str) -> bool:
        """What the caller may not do is said, not tried."""
        why = self.state.why_not(actions.NEEDS[kind])
        if why:
            self.tell(why)
        return bool(why)

    def action_acknowledge(self) -> None:
        """Acknowledge the alert that is selected, else the first one."""
        alert = self.view.alert()
        if alert is None:
            self.tell("no alert is open")
        elif not self._refused("ack"):
            self.run_worker(self._acknowledge(alert["ids"]))

    async def _acknowledge(self, ids: list[str]) -> None:
        answers = await self.ask(lambda asker: [asker.ask("alerts ack", {"id": alert}) for alert in ids])
        self._want("alerts")
        if answers is not None:
            self.tell("Dismissed. The log keeps it")

    async def action_act(self, kind: str) -> None:
        """Begin an action on what is selected."""
        find, hint = SUBJECTS[kind]
        subject = find(self.view)
        if subject:
            await self.action_act_on(kind, subject)
        else:
            self.tell(hint)

    async def action_act_on(self, kind: str, subject: str) -> None:
        """Begin an action: its dialog is opened."""
        if self._refused(kind):
            return
        if kind in {"message", "ask"}:
            who = "all agents" if subject == "all" else self.state.name_of(subject)
            title = f"Ask for {plain(subject)}" if kind == "ask" else f"Message {plain(who)}"
            await self.push_screen(Compose(self._desk, self.tell, kind, subject, title))
        elif kind == "restore":
            self.run_worker(self._restore(subject))
        elif kind in {"diff", "handover", "undo"}:
            self.run_worker(self._agent_work(kind, subject))
        elif kind == "kill" and self.view.model.shown.get(subject) == "dead":
            self.tell(f"{self.state.name_of(subject)} is dead already: d shows its work, H hands it over, u undoes it")
        else:
            await self._confirm(kind, subject, None, "there is nothing to do any more: it changed meanwhile")

    async def _agent_work(self, kind: str, agent: str) -> None:
        """Look at an agent's work, hand it over, or undo it: what there is of it is read first."""
        from dibs.interfaces.top import agent_work

        name = self.state.name_of(agent)
        screen: Sheet | None = None
        if kind == "diff":
            shown = await self.ask(lambda asker: agent_work.diff_of(asker, agent))
            screen = agent_work.Diff(name, shown) if shown is not None else None
        elif kind == "handover":
            seen = await self.ask(lambda asker: agent_work.work_of(asker, agent))
            model = self.view.model
            screen = agent_work.HandOver(self._desk, self._confirmed, model, seen) if seen is not None else None
        else:
            plan = await self.ask(lambda asker: agent_work.undone(asker, agent, dry_run=True))
            if plan is not None:
                screen = agent_work.UndoWork(self._desk, self._confirmed, name, agent, plan)
        if screen is not None:
            await self.push_screen(screen)

    async def _restore(self, path: str) -> None:
        kept = await self.ask(actions.kept_contents)
        if kept is not None:
            await self._confirm("restore", path, kept, f"nothing is kept of {path}")

    async def _confirm(self, kind: str, subject: str, kept: list[KeptView] | None, otherwise: str) -> None:
        action = actions.describe(self.view.model, kind, subject, kept)
        if action is None:
            self.tell(otherwise)
        else:
            await self.push_screen(Confirm(self._desk, self._confirmed, self.state, kind, subject, action))

    def _confirmed(self, told: str | None) -> None:
        self._want("status", "agents", "tasks", "alerts")
        self.tell(told)


def search_fields(query: str) -> dict[str, str]:
    """A query of the log as the fields of `log`: `agent:ada kind:claim. about:src/db` and words."""
    fields: dict[str, str] = {}
    texts = []
    for word in query.split():
        key, colon, rest = word.partition(":")
        if colon and key in {"agent", "kind"} and rest:
            fields[key] = rest.rstrip("*")
        else:
            texts.append(rest if colon and key == "about" and rest else word)
    return {**fields, "text": " ".join(texts)} if texts else fields


def show(state: FleetState, reader: FeedReader, desk: ActionThread, *, colored: bool) -> int:
    """Show it until the person leaves; the exit code."""
    os.environ.pop("NO_COLOR", None)
    if not colored:
        os.environ["NO_COLOR"] = "1"  # for Textual's own widgets; the picture has no colours then
    app = Top(state, desk, reader.want, colored=colored)
    reader.changed = lambda: app.post_message(Changed())

    async def shown() -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            loop.add_signal_handler(number, app.exit, None, SIGNALLED + number)
        await app.run_async()

    reader.start()
    desk.start()
    try:
        asyncio.run(shown())
    finally:
        reader.stop()
        desk.stop()
    return app.return_code or 0
