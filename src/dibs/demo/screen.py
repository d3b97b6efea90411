"""The display of the demo: bars and the agents at work on a terminal, plain lines elsewhere, or nothing.

`rich` is imported when it is needed. Nothing is counted here; the tables at the end are in `report`.
"""

from __future__ import annotations

import sys

from dibs.machine import clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rich.console import Group
    from rich.progress import TaskID
    from rich.table import Table

    from dibs.demo.fleet import Played, Round

LINE_INTERVAL_MS = 2_000  # between two plain lines of progress
FRAMES_PER_SECOND = 12  # on a terminal
MAX_ROWS = 12  # agents shown; a larger fleet would not fit
TITLES = {"without": "without dibs", "with": "with dibs"}
DOING = {
    "starts": ("starts", "dim"),
    "ready": ("is ready", "dim"),
    "tries": ("asks for", "yellow"),
    "waits": ("waits for", "yellow"),
    "edits": ("edits", "cyan"),
    "paused": ("is paused (SIGSTOP) on", "bold magenta"),
    "killed": ("was killed (SIGKILL) on", "bold red"),
    "done": ("is done", "green"),
}


class Screen:
    """Shows nothing, for `--json`. The subclasses show more."""

    def begin(self, played: Round) -> None:
        """A round begins."""

    def update(self, played: Round) -> None:
        """Update after a possible change."""

    def say(self, text: str) -> None:
        """Show an event that people should see."""

    def close(self) -> None:
        """Leave the terminal as it was. May be called twice."""


class Lines(Screen):
    """Plain lines, for a pipe, a file or a CI log."""

    def __init__(self) -> None:
        self._said_at = self._said = 0

    def begin(self, played: Round) -> None:
        size = played.size
        self.say(f"{size.agents} agents, {size.edits} edits each, {TITLES[played.which]}:")
        self._said_at, self._said = clock.since_boot(), 0

    def update(self, played: Round) -> None:
        now, done = clock.since_boot(), len(played.wrote)
        if done != self._said and (now - self._said_at >= LINE_INTERVAL_MS or done == played.size.planned):
            self._said_at, self._said = now, done
            self.say(f"  {done} of {played.size.planned} edits{_so_far(played)}")

    def say(self, text: str) -> None:
        sys.stdout.write(text + "\n")
        sys.stdout.flush()


class Live(Screen):
    """Two bars, the agents at work, and the events so far."""

    def __init__(self) -> None:
        from rich.live import Live as Picture
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        self._bars = Progress(
            TextColumn("{task.description:<13}"),
            BarColumn(bar_width=40),
            MofNCompleteColumn(),
            TextColumn("edits"),
            TimeElapsedColumn(),
            TextColumn("{task.fields[note]}"),
        )
        self._tasks: dict[str, TaskID] = {}
        self._picture = Picture(refresh_per_second=FRAMES_PER_SECOND, transient=True)
        self._shown_at = 0

    def begin(self, played: Round) -> None:
        self._tasks[played.which] = self._bars.add_task(TITLES[played.which], total=played.size.planned, note="")
        self._picture.start()

    def update(self, played: Round) -> None:
        now, done = clock.since_boot(), len(played.wrote)
        if now - self._shown_at < 1000 / FRAMES_PER_SECOND and done < played.size.planned:
            return
        self._shown_at = now
        self._bars.update(self._tasks[played.which], completed=done, note=_so_far(played).removeprefix(", "))
        if done >= played.size.planned:
            self._bars.stop_task(self._tasks[played.which])
        self._picture.update(self._group(played))

    def say(self, text: str) -> None:
        self._picture.console.print(f"• {text}", highlight=False, markup=False)

    def close(self) -> None:
        self._picture.stop()

    def _group(self, played: Round) -> Group:
        from rich.console import Group

        return Group("", self._bars, "", _table(played))


def choose(*, as_json: bool) -> Screen:
    """The screen that fits the output."""
    if as_json:
        return Screen()
    return Live() if sys.stdout.isatty() else Lines()


def _table(played: Round) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, padding=(0, 2), show_header=False)
    for one in played.agents[:MAX_ROWS]:
        doing, style = DOING[one.doing]
        table.add_row(one.name, _bar(one, played.size.edits), Text(f"{doing} {one.file}".rstrip(), style=style))
    hidden = len(played.agents) - MAX_ROWS
    if hidden > 0:
        table.add_row("", "", f"and {hidden} more")
    return table


def _bar(one: Played, edits: int) -> str:
    return f"{one.done:>3} of {edits}"


def _so_far(played: Round) -> str:
    """The part of a progress line after the number of edits."""
    waiting = sum(one.doing == "waits" for one in played.agents)
    notes = [f"{waiting} agents in queues"] if waiting else []
    if played.refused:
        notes.append(f"{len(played.refused)} refusals")
    return "".join(f", {note}" for note in notes)
