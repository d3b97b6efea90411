"""The display of a run of `dibs run start FILE`: bars on a terminal, plain lines elsewhere, or JSON lines.

Nothing is counted here. `rich` is imported only for a terminal.
"""

from __future__ import annotations

import sys

from dibs import jsontext
from dibs.errors import counted
from dibs.machine import clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rich.progress import TaskID

    from dibs.operations.runs.answers import BatchOutlookAnswer

LINE_INTERVAL_MS = 1_000  # between two plain lines of progress
FRAMES_PER_SECOND = 8  # on a terminal


class Screen:
    """Plain lines, for a pipe, a file or a CI log."""

    def __init__(self) -> None:
        self._at, self._last, self._run = 0, "", ""

    def begin(self, run: str, outlook: BatchOutlookAnswer) -> None:
        """The run has started."""
        self._run = run
        self.say(f"run {run}: {counted(outlook['total'], 'task')}")

    def update(self, phase: str, outlook: BatchOutlookAnswer, workers: int) -> None:
        """Show progress when it changed, but not too often."""
        line = f"  {outlook['progress']:>3}%  {phase}: {said(outlook)}, {workers} workers"
        now = clock.since_boot()
        if line != self._last and (now - self._at >= LINE_INTERVAL_MS or not outlook["going"]):
            self._at, self._last = now, line
            self.say(line)

    def say(self, text: str) -> None:
        """Something happened."""
        sys.stdout.write(text + "\n")
        sys.stdout.flush()

    def close(self) -> None:
        """Leave the terminal as it was. May be called twice."""


class Objects(Screen):
    """One JSON object a line; the last one, which the command prints itself, has `ok`."""

    def begin(self, run: str, outlook: BatchOutlookAnswer) -> None:
        self._run = run
        self._put(event="started", run=run, tasks=outlook["total"])

    def update(self, phase: str, outlook: BatchOutlookAnswer, workers: int) -> None:
        line = jsontext.encode([phase, outlook["progress"], outlook["states"], workers])
        now = clock.since_boot()
        if line != self._last and (now - self._at >= LINE_INTERVAL_MS or not outlook["going"]):
            self._at, self._last = now, line
            states, progress = outlook["states"], outlook["progress"]
            self._put(event="progress", run=self._run, phase=phase, progress=progress, states=states, workers=workers)

    def say(self, text: str) -> None:
        self._put(event="said", text=text)

    def _put(self, **line: Any) -> None:
        sys.stdout.write(jsontext.encode(line) + "\n")
        sys.stdout.flush()


class Live(Screen):
    """A bar for each step."""

    def __init__(self) -> None:
        super().__init__()
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        self._bars = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=40),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[note]}"),
            refresh_per_second=FRAMES_PER_SECOND,
        )
        self._rows: dict[str, TaskID] = {}

    def begin(self, run: str, outlook: BatchOutlookAnswer) -> None:
        super().begin(run, outlook)
        self._bars.start()
        self._all = self._bars.add_task("all", total=outlook["total"], note="")

    def update(self, phase: str, outlook: BatchOutlookAnswer, workers: int) -> None:
        for group, counts in outlook["groups"].items():
            name = group.rpartition("/")[2] if group.startswith(self._run) else "parts"
            if group not in self._rows:
                self._rows[group] = self._bars.add_task(name, total=counts["total"], note="")
            self._bars.update(self._rows[group], completed=counts["over"], total=counts["total"])
        over = sum(counts["over"] for counts in outlook["groups"].values())
        note = f"{phase}, {workers} workers"
        self._bars.update(self._all, completed=over, total=outlook["total"], note=note)

    def say(self, text: str) -> None:
        self._bars.console.print(text, highlight=False, markup=False)

    def close(self) -> None:
        self._bars.stop()


def choose(*, as_json: bool) -> Screen:
    """The screen that fits the output."""
    if as_json:
        return Objects()
    return Live() if sys.stdout.isatty() else Screen()


def said(outlook: BatchOutlookAnswer) -> str:
    """Counts by state, in words."""
    counts = ", ".join(f"{count} {state}" for state, count in sorted(outlook["states"].items()))
    stuck = f", {outlook['stuck']} of them cannot continue" if outlook["stuck"] else ""
    return counts + stuck
