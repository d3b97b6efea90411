"""What a person does in `dibs top` about an agent's work, above all a dead agent's: look at it, hand it over, undo it.

Each dialog says what is there when it is opened; the operations decide. The page has the same actions (`actions` of an
alert).
"""

from __future__ import annotations

from typing import ClassVar

from rich.console import Group
from rich.text import Text
from textual.binding import Binding
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Static

from dibs.errors import NotFound, quoted
from dibs.interfaces.top.dialogs import Dialog, Field, Sheet
from dibs.interfaces.top.words import count, joined, listed, plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rich.console import RenderableType
    from textual.app import ComposeResult
    from textual.binding import BindingType

    from dibs.audit.answers import DiffAnswer, UndoAnswer
    from dibs.interfaces.top.action_thread import ActionThread
    from dibs.interfaces.top.dialogs import Told
    from dibs.interfaces.top.model import Model
    from dibs.interfaces.top.reader import Asker
    from dibs.operations.handovers.answers import HandoverAnswer

NEXT = "NEXT"
STYLES = {"+": "green", "-": "red", "@": "cyan"}
DIFF_HINTS = "j/k move  esc back"


def diff_of(asker: Asker, agent: str) -> DiffAnswer:
    """The agent's uncommitted work."""
    answer: DiffAnswer = asker.ask("diff", {"agent": agent})
    return answer


def work_of(asker: Asker, agent: str) -> HandoverAnswer:
    """What there is to hand over."""
    answer: HandoverAnswer = asker.ask("handover", {"agent": agent, "to": NEXT, "dry_run": True})
    return answer


def undone(asker: Asker, agent: str, *, dry_run: bool) -> UndoAnswer:
    """Undo the agent's work, or only say what that would do."""
    from dibs.undo.undo import Undo

    return Undo(asker.session, asker.caller()).run(f"agent:{agent}", dry_run=dry_run)


class Diff(Sheet):
    """The uncommitted work of an agent."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j,down", "scroll(1)", show=False),
        Binding("k,up", "scroll(-1)", show=False),
        Binding("space", "page(1)", show=False),
    ]

    def __init__(self, name: str, answer: DiffAnswer) -> None:
        super().__init__()
        self._whose, self._answer = name, answer

    def compose(self) -> ComposeResult:
        """Each file with its lines."""
        files = self._answer["files"]
        lines: list[Text] = []
        for one in files:
            lines.append(Text(plain(f"{one['change']} {one['path']}"), "bold"))
            lines += [
                Text(plain(line), STYLES.get(line[:1], ""))
                for line in (one["problem"] or one.get("diff", "")).split("\n")
            ]
        title = f"Uncommitted work of {plain(self._whose)}: {count(len(files), 'file')}"
        with Vertical():
            yield Static(Content(title), classes="title")
            with VerticalScroll(can_focus=False):
                yield Static(Group(*lines) if lines else Content("There is none on this machine."))
            yield Static(Content(DIFF_HINTS), classes="hints")


class HandOver(Dialog):
    """Hand an agent's work to another agent, or keep it for the next one that starts."""

    def __init__(self, desk: ActionThread, told: Told, model: Model, seen: HandoverAnswer) -> None:
        self._whose = seen.get("name") or seen["agent"]
        fields = {"To": Field(NEXT), "Note": Field()}
        super().__init__(desk, told, f"Hand over the work of {plain(self._whose)}?", "Hand over", fields)
        self._seen = seen
        self._there = [
            agent["name"]
            for agent in model.agents
            if agent["shown"] not in {"dead", "killed"} and agent["kind"] == "agent" and agent["agent"] != seen["agent"]
        ]

    def is_enough(self) -> bool:
        """A receiver."""
        return bool(self.text("To"))

    def body(self) -> RenderableType:
        """What passes, who could have it, and what the first holder loses."""
        seen = self._seen
        held = [text for claim in seen["claims"] for text in claim["resources"] if not text.startswith("task:")]
        rows = [
            ("o", f"task {', '.join(seen['tasks'])}" if seen["tasks"] else ""),
            ("#", f"{count(len(held), 'claim')}: {listed(held)}, under new tokens" if held else ""),
            ("*", f"uncommitted work in {listed([one['path'] for one in seen['files']])}" if seen["files"] else ""),
            ("x", f"{self._whose} is at work: its late calls are refused" if seen["state"] == "alive" else ""),
        ]
        who = f"To: {joined(self._there[:8])}; or {NEXT}, the next agent that starts here" if self._there else ""
        texts = [Text(f" {letter}  {plain(text)}") for letter, text in rows if text]
        return Group(*texts, Text(plain(who or f"No other agent is there: {NEXT} is the next one that starts"), "dim"))

    def command(self) -> str:
        """The command that does the same."""
        note = f" --note {quoted(self.text('Note'))}" if self.text("Note") else ""
        return f"$ dibs handover {quoted(self._whose)} --to {quoted(self.text('To') or '…')}{note}"

    async def do(self) -> str:
        """Hand it over."""
        fields: dict[str, object] = {"agent": self._seen["agent"], "to": self.text("To"), "note": self.text("Note")}
        answer: HandoverAnswer = await self._desk.ask(lambda asker: asker.ask("handover", fields, request=self.request))
        to = answer.get("to_name") or answer["to"] or "the next agent that starts"
        return f"Handed the work of {plain(self._whose)} to {plain(to)}"


class UndoWork(Dialog):
    """Undo an agent's work."""

    def __init__(self, desk: ActionThread, told: Told, name: str, agent: str, seen: UndoAnswer) -> None:
        super().__init__(desk, told, f"Undo the work of {plain(name)}?", "Undo", {})
        self._whose, self._agent, self._seen = name, agent, seen

    def body(self) -> RenderableType:
        """What becomes of each file."""
        rows = [f"{one['action']} {one['path']}" for one in self._seen["files"]]
        commits = [f"reverts {count(len(self._seen['commits']), 'commit')}"] if self._seen["commits"] else []
        texts = [Text(f" #  {plain(row)}") for row in [*rows, *commits, *self._seen["notes"]]]
        return Group(*texts, Text("It can be undone: the answer has its id.", "dim"))

    def command(self) -> str:
        """The command that does the same."""
        return f"$ dibs undo {quoted(self._whose)}"

    async def do(self) -> str:
        """Undo it."""
        done = await self._desk.ask(lambda asker: undone(asker, self._agent, dry_run=False))
        if not done["done"]:
            raise NotFound(f"nothing of {self._whose} is left to undo", what=self._agent)
        return f"Undone in {count(len(done['restored']), 'file')}; dibs undo {done['undo']} takes that back"
