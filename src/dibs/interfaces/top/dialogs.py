"""What `dibs top` asks before it takes something from an agent, what it lets a person write, and the list of keys.

The rules are those of the page: acknowledging and asking cost nothing; what changes work asks once, on "Cancel";
what takes an agent's work asks why, and Enter in the reason only moves to the button; what stops the fleet wants the
workspace's name typed. All texts are Text and Content objects, so nothing that agents wrote is read as markup.
"""

from __future__ import annotations

from typing import ClassVar

from rich.console import Group
from rich.table import Table
from rich.text import Text
from textual.binding import Binding
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from dibs.interfaces.top import actions
from dibs.interfaces.top.action_thread import reason_of
from dibs.interfaces.top.keys import KEYS
from dibs.interfaces.top.reader import FAULTS
from dibs.interfaces.top.words import plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import RenderableType
    from textual import events
    from textual.app import ComposeResult
    from textual.binding import BindingType

    from dibs.interfaces.top.action_thread import ActionThread
    from dibs.interfaces.top.actions import Action
    from dibs.interfaces.top.reader import Asker
    from dibs.interfaces.top.state import FleetState

    Told = Callable[[str | None], None]

REASON_CHARS, MESSAGE_CHARS = 500, 4_000
MOST_CHANGES = 6  # of facts, that are shown
HINTS = "tab next  enter choose  esc cancel"
BUSY = "…"


class Field(Input, inherit_bindings=False):
    """One line of text. Its keys have priority: each is done before the next key is looked at."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(binding.key, binding.action, show=False, priority=True)
        for binding in Input.BINDINGS
        if isinstance(binding, Binding) and binding.key != "enter"
    ]

    def __init__(self, text: str = "", longest: int = REASON_CHARS) -> None:
        super().__init__(text, compact=True, select_on_focus=False)
        self.cursor_blink = False
        self._longest = longest

    def write(self, text: str) -> None:
        """What was typed or pasted, as one line without control characters."""
        line = "".join([letter if letter.isprintable() else " " for letter in text])
        begin, end = sorted(self.selection)
        self.replace(line[: max(0, self._longest - len(self.value) + end - begin)], begin, end)


class Choice(Static, can_focus=True):
    """A button. Its brackets say that it has the focus, also where there are no colours."""

    def __init__(self, label: str, press: Callable[[], object]) -> None:
        super().__init__()
        self._label, self.press = label, press

    def render(self) -> Content:
        """Its label."""
        return Content(f"[{self._label}]" if self.has_focus else f" {self._label} ")

    def on_click(self) -> None:
        """A click is a press."""
        self.press()


class Sheet(ModalScreen[None]):
    """What is in front of the picture. It scrolls; escape closes it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", show=False, priority=True),
        Binding("pagedown", "page(1)", show=False),
        Binding("pageup", "page(-1)", show=False),
    ]

    def action_scroll(self, lines: int) -> None:
        """Scroll."""
        self.query_one(VerticalScroll).scroll_relative(y=lines, animate=False, immediate=True)

    def action_page(self, by: int) -> None:
        """Scroll by a page."""
        self.action_scroll(by * self.query_one(VerticalScroll).size.height)


class Dialog(Sheet):
    """Something that is asked. `told` is called with what came of it; None: nothing was done yet."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "enter", show=False, priority=True),
        Binding("tab,down", "app.focus_next", show=False, priority=True),
        Binding("shift+tab,up", "app.focus_previous", show=False, priority=True),
        Binding("right", "app.focus_next", show=False),
        Binding("left", "app.focus_previous", show=False),
    ]

    def __init__(self, desk: ActionThread, told: Told, title: str, verb: str, fields: dict[str, Field]) -> None:
        super().__init__()
        self._desk, self._told, self._title, self._fields = desk, told, title, fields
        self._busy = False
        self._keep = Choice("Cancel", self.dismiss)
        self._do = Choice(plain(verb), self.begin)
        self._body, self._command = Static(), Static()
        self._refusal, self._hints = Static(classes="refusal"), Static(Content(HINTS), classes="hints")
        self.refusal = ""  # in the words of who refused
        self.request = actions.request_id()

    def compose(self) -> ComposeResult:
        """Title, what will happen, fields, the command that does the same, buttons."""
        with Vertical():
            yield Static(Content(self._title), classes="title")
            with VerticalScroll(can_focus=False):
                yield self._body
            for label, field in self._fields.items():
                with Horizontal():
                    yield Static(Content(label), classes="label")
                    yield field
            yield self._command
            yield self._refusal
            with Horizontal():
                yield self._keep
                yield self._do
            yield self._hints

    def on_mount(self) -> None:
        """Ask."""
        self.ask()

    def ask(self) -> None:
        """Show what is asked; the focus is on the first field, else on keeping all as it is."""
        self.tell("")
        self._body.update(self.body())
        self.on_input_changed()
        self.set_focus(next(iter(self._fields.values()), self._keep))

    def tell(self, refusal: str) -> None:
        """A refusal; "": there is none."""
        self.refusal = refusal
        self._refusal.update(Content(plain(refusal)))
        self._refusal.display = bool(refusal)

    def text(self, label: str) -> str:
        """What was typed into a field; "" where there is none."""
        return self._fields[label].value.strip() if label in self._fields else ""

    def body(self) -> RenderableType:
        """What is said above the fields."""
        raise NotImplementedError

    def command(self) -> str:
        """The command that does the same, if one is shown."""
        return ""

    def is_enough(self) -> bool:
        """May it be done?"""
        return all(self.text(label) for label in self._fields)

    async def do(self) -> str | None:
        """Do it: what the person is told; None: it is asked anew."""
        raise NotImplementedError

    def on_input_changed(self) -> None:
        """The button can be reached as soon as there is enough."""
        self._do.disabled = not self.is_enough()
        self._command.update(Content(plain(self.command())))

    def action_enter(self) -> None:
        """Enter presses a button; in a field it moves on: to the next one, then to the button."""
        self.on_input_changed()
        fields = list(self._fields.values())
        if isinstance(self.focused, Choice):
            self.focused.press()
        elif self.focused in fields[:-1]:
            self.set_focus(fields[fields.index(self.focused) + 1])
        elif self.is_enough():
            self.set_focus(self._do)

    def begin(self) -> None:
        """Do it, unless it is being done. It is done to its end, also if the person closes this meanwhile."""
        if not self._busy:
            self._busy = True
            self._hints.update(BUSY)
            self.app.run_worker(self._work())

    async def _work(self) -> None:
        text: str | None = None
        try:
            text = await self.do()
        except FAULTS as error:
            self.tell(reason_of(error))
        self._busy = False
        self._hints.update(Content(HINTS))
        if text is not None and self.is_current:
            self.dismiss()
        self._told(text)


class Confirm(Dialog):
    """Before an action."""

    def __init__(
        self, desk: ActionThread, told: Told, state: FleetState, kind: str, subject: str, action: Action
    ) -> None:
        fields = {"Why": Field()} if action.why else {}
        if action.typed:
            fields["Name"] = Field()
        super().__init__(desk, told, plain(action.title), action.verb, fields)
        self._state, self._kind, self._subject, self._action = state, kind, subject, action
        self._changed: list[str] = []

    def is_enough(self) -> bool:
        """A reason of some letters; the name as it is."""
        if self._action.why and len(self.text("Why")) < actions.LEAST_REASON:
            return False
        return not self._action.typed or self.text("Name") == self._action.typed

    def body(self) -> RenderableType:
        """What will happen, in the facts of this moment."""
        action, parts = self._action, [Text(plain(self._action.intro))]
        if self._changed:
            parts.append(Text("The facts changed meanwhile; nothing was done.", "red"))
            parts += [Text(f"  {plain(change)}", "yellow") for change in self._changed[:MOST_CHANGES]]
        grid = Table.grid(padding=(0, 2))
        for letter, text in action.rows:
            grid.add_row(Text(f" {letter}"), Text(plain(text)))
        notes = []
        if action.why:
            notes.append(Text(f"The reason is sent to {plain(action.told)} and kept in the log.", "dim"))
        if action.typed:
            notes.append(Text(f"Name: type the workspace's name, {plain(action.typed)}", "dim"))
        return Group(*parts, grid, *notes)

    def command(self) -> str:
        """The command that does the same."""
        return f"$ {self._action.command(self.text('Why') or '…')}"

    async def do(self) -> str | None:
        """Do it if the facts are as they are shown; else show those of now."""
        action, why = self._action, self.text("Why")

        def job(asker: Asker) -> actions.Outcome:
            return actions.commit(asker, self._state, self._kind, self._subject, action, why, self.request)

        answer = await self._desk.ask(job)
        if "gone" in answer:
            self.tell("There is nothing to do any more: it changed meanwhile. Nothing was done.")
            return None
        if "changed" in answer:
            self._action, self._changed, self.request = answer["action"], answer["changed"], actions.request_id()
            self.ask()
            return None
        return actions.said(action, answer["event"])


class Compose(Dialog):
    """A message to an agent or to all, or a request to a holder. It takes nothing from any agent: Enter sends it."""

    def __init__(self, desk: ActionThread, told: Told, kind: str, subject: str, title: str) -> None:
        text = "Could you release it soon? " if kind == "ask" else ""
        super().__init__(desk, told, title, "Send", {"Text": Field(text, MESSAGE_CHARS)})
        self._kind, self._subject = kind, subject

    def body(self) -> RenderableType:
        """What becomes of it."""
        return Text("Told at the next call, as information from you. It changes nobody's rights.", "dim")

    def action_enter(self) -> None:
        """Enter in the text sends it."""
        if isinstance(self.focused, Field) and self.is_enough():
            self.begin()
        else:
            super().action_enter()

    async def do(self) -> str:
        """Send it."""
        to = "resource" if self._kind == "ask" else "to"
        fields: dict[str, object] = {to: self._subject, "text": self.text("Text")}
        operation = actions.NEEDS[self._kind]
        await self._desk.ask(lambda asker: asker.ask(operation, fields, request=self.request))
        return f"Sent: {self._title.lower()}"


class Keys(Sheet):
    """All keys. Any key that does not scroll closes it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j,down", "scroll(1)", show=False),
        Binding("k,up", "scroll(-1)", show=False),
        Binding("space", "page(1)", show=False),
    ]

    def compose(self) -> ComposeResult:
        """The table."""
        grid = Table.grid(padding=(0, 1))
        for heading, rows in KEYS:
            grid.add_row(Text(heading, "bold"))
            for label, text, _ in rows:
                grid.add_row(Text(f"  {label}", "cyan"), Text(text))
        with Vertical():
            yield Static(Content("Keys"), classes="title")
            with VerticalScroll(can_focus=False):
                yield Static(grid)
            yield Static(Content("j/k move  any other key: back"), classes="hints")

    def on_key(self, event: events.Key) -> None:
        """Close it."""
        if event.key not in self.active_bindings:
            event.stop()
            self.dismiss()
