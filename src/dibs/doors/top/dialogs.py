"""What `dibs top` asks before it takes something from an agent, and what it lets a person write.

The rules are those of the page: acknowledging and asking cost nothing; what changes work asks once, on "Keep as it is";
what takes an agent's work asks why, and Enter in the reason only moves to the button; what stops the fleet wants the
workspace's name typed.
"""

from __future__ import annotations

from dibs.doors.cli.terminal import cells
from dibs.doors.top import actions
from dibs.doors.top.draw import fit, wrapped
from dibs.doors.top.keys import Input
from dibs.doors.top.words import plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.doors.top.actions import Action
    from dibs.doors.top.draw import Line

KEEP, DO = "keep", "do"
LABEL = 8
MESSAGE_LONGEST = 4_000


class Dialog:
    """Something that is asked. `place` is what has the focus: the number of a field, or a button."""

    title = ""

    def __init__(self, fields: list[tuple[str, Input]], verb: str) -> None:
        self.fields, self.verb = fields, verb
        self.place: int | str = 0 if fields else KEEP
        self.said = ""  # a refusal, in the words of who refused
        self.busy = False

    @property
    def is_enough(self) -> bool:
        """May it be done?"""
        return all(field.text.strip() for _, field in self.fields)

    def press(self, key: str) -> str:
        """What this key asks for: `do`, `close`, or nothing."""
        if key == "escape":
            return "close"
        if self.busy:
            return ""
        order: list[int | str] = [*range(len(self.fields)), KEEP, *([DO] if self.is_enough else [])]
        at = order.index(self.place) if self.place in order else 0
        if key in {"tab", "down"} or (key == "right" and not isinstance(self.place, int)):
            self.place = order[(at + 1) % len(order)]
        elif key in {"back-tab", "up"} or (key == "left" and not isinstance(self.place, int)):
            self.place = order[at - 1]
        elif key == "enter":
            return self._enter(order, at)
        elif isinstance(self.place, int):
            self.fields[self.place][1].take(key)
        return ""

    def _enter(self, order: list[int | str], at: int) -> str:
        if self.place == DO:
            return "do" if self.is_enough else ""
        if self.place == KEEP:
            return "close"
        if at + 1 < len(self.fields):
            self.place = order[at + 1]
        elif self.is_enough:
            self.place = DO
        return ""

    def body(self, columns: int) -> list[Line]:
        """What is said above the fields."""
        raise NotImplementedError

    def draw(self, columns: int, rows: int) -> tuple[list[Line], tuple[int, int] | None]:
        """Its lines, and where text is being typed."""
        above = self.body(columns)
        below: list[Line] = []
        cursor: tuple[int, int] | None = None
        for number, (label, field) in enumerate(self.fields):
            room = max(10, columns - LABEL - 4)
            begin = max(0, cells(field.text[: field.place]) - room + 1)
            shown = field.text[begin:]
            if self.place == number:
                cursor = 1 + LABEL + 1 + cells(field.text[begin : field.place]), len(below)
            below.append(fit([(f" {label:<{LABEL}} ", "dim"), (shown, "bold")], columns))
        below += self.command(columns)
        if self.said:
            below += [fit([(f" {text}", "bad")], columns) for text in wrapped(plain(self.said), columns - 2, 3)]
        keep, do = self.place == KEEP, self.place == DO
        verb = f"[{plain(self.verb)}]" if do else f" {plain(self.verb)} "
        style = "selected" if do else "dim" if not self.is_enough else ""
        below.append(fit([(" ", ""), ("[Keep as it is]" if keep else " Keep as it is ", "selected" if keep else ""),
                          ("  ", ""), (verb, style), ("  …" if self.busy else "", "dim")], columns))  # fmt: skip
        room = max(1, rows - len(below) - 1)
        if len(above) > room:  # what is asked and the buttons are always seen
            above = [*above[: room - 1], fit([(" …", "dim")], columns)]
        lines = [*above, fit([], columns), *below]
        if cursor:
            cursor = cursor[0], cursor[1] + len(above) + 1
        return [*lines, *[fit([], columns)] * (rows - len(lines))][:rows], cursor

    def command(self, columns: int) -> list[Line]:
        """The command that does the same."""
        _ = columns
        return []


class Confirm(Dialog):
    """Before an action."""

    def __init__(self, kind: str, subject: str, action: Action) -> None:
        fields = [("Why", Input())] if action.why else []
        if action.typed:
            fields.append(("Name", Input()))
        super().__init__(fields, action.verb)
        self.kind, self.subject, self.action = kind, subject, action
        self.changed: list[str] = []
        self.request = actions.request_id()

    @property
    def title(self) -> str:  # type: ignore[override] # made of the action
        """What is asked."""
        return plain(self.action.title)

    @property
    def why(self) -> str:
        """The reason that was given."""
        return self.fields[0][1].text.strip() if self.action.why else ""

    @property
    def is_enough(self) -> bool:
        """A reason of some letters; the name as it is."""
        if self.action.why and len(self.why) < actions.LEAST_REASON:
            return False
        return not self.action.typed or self.fields[-1][1].text.strip() == self.action.typed

    def differs(self, now: Action, changed: list[str]) -> None:
        """The facts are others by now: they are shown, and asked about anew."""
        self.action, self.changed, self.request = now, changed, actions.request_id()
        self.place = 0 if self.fields else KEEP

    def body(self, columns: int) -> list[Line]:
        """What will happen, in the facts of this moment."""
        lines = [fit([(f" {text}", "")], columns) for text in wrapped(plain(self.action.intro), columns - 2, 3)]
        if self.changed:
            lines.append(fit([(" The facts changed meanwhile; nothing was done.", "bad")], columns))
            lines += [fit([(f"   {plain(one)}", "wait")], columns) for one in self.changed[:6]]
        for letter, text in self.action.rows:
            for number, part in enumerate(wrapped(plain(text), columns - 6, 3)):
                lines.append(fit([(f"  {letter if number == 0 else ' '}  {part}", "")], columns))
        if self.action.why:
            lines.append(
                fit([(f" The reason is told to {plain(self.action.told)} and kept in the log.", "dim")], columns)
            )
        if self.action.typed:
            lines.append(fit([(f" Name: type the workspace's name, {plain(self.action.typed)}", "dim")], columns))
        return lines

    def command(self, columns: int) -> list[Line]:
        """The command that does the same."""
        return [fit([(f" $ {plain(self.action.command(self.why or '…'))}", "dim")], columns)]


class Compose(Dialog):
    """A message to an agent or to all, or a request to a holder. It takes nothing from any agent: Enter sends it."""

    def __init__(self, kind: str, subject: str, title: str, text: str = "") -> None:
        super().__init__([("Text", Input(text, MESSAGE_LONGEST))], "Send")
        self.kind, self.subject, self.title = kind, subject, title
        self.request = actions.request_id()

    def press(self, key: str) -> str:
        """Enter in the text sends it."""
        if key == "enter" and self.place == 0 and self.is_enough and not self.busy:
            return "do"
        return super().press(key)

    def body(self, columns: int) -> list[Line]:
        """What becomes of it."""
        return [fit([(" Told at the next call, as information from you. It changes nobody's rights.", "dim")], columns)]
