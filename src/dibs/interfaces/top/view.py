"""What the person at `dibs top` has chosen: pane, row, order, filter, story; and what a key means for it.

picture.py draws it, app.py changes it. It knows nothing of a terminal, reads nothing and decides nothing.
"""

from __future__ import annotations

from dibs.interfaces.top import panes
from dibs.interfaces.top.model import Model
from dibs.interfaces.top.panes import AGENTS, ALERT, LOG, SORTS
from dibs.interfaces.top.rows import Row, place_of
from dibs.interfaces.top.words import covers
from dibs.machine import clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dibs.interfaces.top.records import OpenAlert
    from dibs.interfaces.top.state import FleetState
    from dibs.interfaces.top.story import Story

TOAST_MS = 6_000
PANES = 5
STORY = -1  # in the place of a pane: the story that is in front
TO_PLAN_AGAIN = ("failed", "quarantined", "cancelled")


class View:
    """What is shown of the state."""

    def __init__(self, state: FleetState) -> None:
        self.state = state
        self.pane = AGENTS
        self.index = dict.fromkeys(range(6), 0)
        self.top = dict.fromkeys(range(6), 0)
        self.selected: dict[int, str] = {}
        self.sort = dict.fromkeys(range(6), 0)
        self.query = dict.fromkeys(range(6), "")
        self.stories: list[Story] = []
        self.follow = True
        self.zoomed = False  # on a wide terminal: the chosen pane alone
        self.targets: list[tuple[int, range, int, int]] = []  # of the mouse: line, columns, pane, row or -1 (its title)
        self._toast, self._toast_until = "", 0
        self._model: Model | None = None
        self._rows: dict[int, tuple[tuple[object, ...], Sequence[Row]]] = {}

    # --- what is there

    @property
    def model(self) -> Model:
        """The derived values of the state as it is."""
        if self._model is None or self._model.version != self.state.version:
            with self.state.mutex:
                self._model = Model(self.state)
        return self._model

    @property
    def toast(self) -> str:
        """What is said for some seconds; "" afterwards."""
        return self._toast if clock.since_boot() < self._toast_until else ""

    @toast.setter
    def toast(self, text: str) -> None:
        self._toast, self._toast_until = text, clock.since_boot() + TOAST_MS

    def rows(self, pane: int) -> Sequence[Row]:
        """The rows of a pane; made once for each change."""
        model = self.model
        key = (model.version, self.sort[pane], self.query[pane], self.follow or pane != LOG)
        known = self._rows.get(pane)
        if known is not None and (known[0] == key or (not key[-1] and known[0][1:] == key[1:])):
            return known[1]  # a log that is not followed stands still
        with self.state.mutex:
            rows = panes.rows_of(pane, model, self.sort[pane], self.query[pane])
        self._rows[pane] = key, rows
        self._reselect(pane, rows)
        return rows

    def _reselect(self, pane: int, rows: Sequence[Row]) -> None:
        """The selected row stays selected wherever it is now; the newest event is followed."""
        if pane == LOG and self.follow and self.index[pane] == 0:
            return
        place = place_of(rows, self.selected[pane]) if pane in self.selected else None
        self.index[pane] = max(0, min(self.index[pane] if place is None else place, len(rows) - 1))

    @property
    def row(self) -> Row | None:
        """The selected row of what is in front."""
        if self.stories:
            story = self.stories[-1]
            rows: Sequence[Row] = story.rows(self.model)
            index = story.index
        else:
            rows, index = self.rows(self.pane), self.index[self.pane]
        return rows[min(index, len(rows) - 1)] if rows else None

    # --- choosing

    def move(self, by: int) -> None:
        """Select another row."""
        if self.stories:
            story = self.stories[-1]
            story.index = max(0, min(len(story.rows(self.model)) - 1, story.index + by))
        else:
            self.select(self.index[self.pane] + by)

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

    def go_next(self, by: int) -> None:
        """Show the next pane, or the one before."""
        self.go((self.pane + by) % PANES if self.pane != ALERT else AGENTS)

    def back(self) -> None:
        """Out of a story, out of a filter, out of the alerts."""
        if self.stories:
            self.stories.pop()
        elif self.query[self.pane]:
            self.query[self.pane] = ""
        elif self.pane == ALERT:
            self.go(AGENTS)

    def point(self, column: int, line: int) -> bool:
        """Select what the mouse points at; whether it is a row."""
        for at, columns, pane, place in self.targets:
            if at == line and column in columns:
                if pane == STORY:
                    self.stories[-1].index = place
                else:
                    self.go(pane)
                    if place >= 0:
                        self.select(place)
                return place >= 0
        return False

    def is_at_end_of_log(self) -> bool:
        """Is the last row of the whole log selected?"""
        if self.pane != LOG or self.stories or self.query[LOG]:
            return False
        return self.index[LOG] >= len(self.rows(LOG)) - 1

    def sort_next(self) -> None:
        """Another order."""
        orders = SORTS[self.pane]
        self.sort[self.pane] = (self.sort[self.pane] + 1) % len(orders)
        self.toast = f"sorted by {orders[self.sort[self.pane]]}"

    def toggle_follow(self) -> None:
        """Stop or follow the log."""
        self.follow = not self.follow
        self.toast = "following the log" if self.follow else "the log is paused; space follows it again"

    def toggle_zoom(self) -> None:
        """The chosen pane alone, or all of them."""
        self.zoomed = not self.zoomed

    # --- what is selected

    def subject(self, *kinds: str) -> str:
        """The id of what is selected or open, if it is one of these kinds; "" if not."""
        row = self.row
        stories = [row.open] if row is not None and row.open else []
        if self.stories:
            stories.append(self.stories[-1].what)
        for what in stories:
            kind, _, identifier = what.partition(":")
            if kind in kinds:
                return identifier
        return ""

    def agent(self) -> str:
        """The agent that is selected, or that the selected row is about."""
        row = self.row
        return self.subject("agent") or (row.agent if row is not None else "")

    def held_path(self) -> str:
        """The claimed resource that covers what is selected, or that the selected agent waits for."""
        wait = self.model.wait_of.get(self.agent())
        wanted = self.subject("file") or (wait["holders"][0]["resource"] if wait and wait["holders"] else "")
        paths = [str(path) for claim in self.model.claims for path in claim["resources"]]
        return next((path for path in paths if wanted and covers(path, wanted)), "")

    def alert(self) -> OpenAlert | None:
        """The alert whose story is open, or that is selected; else the first one."""
        wanted = self._chosen_alert()
        alerts = [alert for alert in self.model.open if wanted is None or wanted in alert["ids"]]
        return alerts[0] if alerts else None

    def _chosen_alert(self) -> str | None:
        """The id of the alert that the person means; None: not any one."""
        if self.stories:
            return self.stories[-1].id if self.stories[-1].kind == "alert" else None
        if self.pane != ALERT:
            return None
        return self.row.id if self.row is not None else ""

    def remedy(self, kind: str) -> str:
        """What the remedy of the selected alert is about, if it is this action."""
        alert = self.alert() if self._chosen_alert() is not None else None
        for _, action in panes.remedies(self.model, alert) if alert else ():
            name, _, subject = action.partition(":")
            if name == kind:
                return subject
        return ""

    # --- what an action is done to

    def killed(self) -> str:
        """The selected agent, if it was killed."""
        agent = self.agent()
        return agent if self.model.shown.get(agent) == "killed" else ""

    def stopped_task(self) -> str:
        """The selected task, if it can be planned again."""
        task = self.remedy("requeue") or self.subject("task")
        known = self.state.tasks
        return task if task in known and known[task]["state"] in TO_PLAN_AGAIN else ""

    def overwritten(self) -> str:
        """The selected path; one that was overwritten under its holder, if there is any."""
        path = self.remedy("restore") or self.subject("file")
        violated = self.model.violated
        return path if path in violated else next(iter(violated), path)


# Action → what it is done to, and what is said where nothing is selected that it could be done to.
SUBJECTS: dict[str, tuple[Callable[[View], str], str]] = {
    "message": (View.agent, "select an agent first; M writes to all"),
    "ask": (View.held_path, "select a held path first"),
    "release": (lambda view: view.remedy("release") or view.held_path(), "select a held path first: 2 shows them"),
    "kill": (lambda view: view.remedy("kill") or view.agent(), "select an agent first"),
    "diff": (View.agent, "select an agent first"),
    "handover": (View.agent, "select an agent first"),
    "undo": (View.agent, "select an agent first"),
    "revive": (View.killed, "select a killed agent first"),
    "requeue": (
        View.stopped_task, "select a task that failed, is quarantined or was cancelled: 4 shows them"
    ),
    "cancel": (lambda view: view.subject("task"), "select a task first: 4 shows them"),
    "restore": (View.overwritten, "no file was overwritten under its holder"),
}  # fmt: skip
