"""Replays tasks and documents: each event is checked against the earlier ones and against the claims.

A task's states and transitions are defined here a second time, on purpose: like the rest of the lookout this imports
nothing of the operations. Memory holds the tasks that can still move and the version of each document; a finished task
takes eight bytes.

It cannot see which tasks a purged run had (the event names only the run), nor what happened in a missing stretch of the
log. After one, the first event about a task or a document is believed.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

from dibs.verify.reading import Ids, must, related, say, text, whole

if TYPE_CHECKING:
    from typing import Any

    from dibs.verify.checker import Report
    from dibs.verify.replay import Claim, OpenedEvent, Replay

FIRST_STATES = frozenset({"discovery", "scoped", "planned"})
TRANSITIONS = {
    "discovery": {"scoped", "cancelled"},
    "scoped": {"discovery", "planned", "cancelled"},
    "planned": {"scoped", "executing", "cancelled"},
    "executing": {"planned", "complete", "failed", "quarantined", "cancelled"},
    "complete": set(),
    "failed": {"planned", "cancelled"},
    "quarantined": {"planned", "cancelled"},
    "cancelled": {"planned"},
}
FINISHED = frozenset({"failed", "quarantined", "cancelled"})  # `complete` is kept separately
BY_TOKEN = frozenset({"complete", "failed"})  # only the holder may move a task to these
MAX_DELETED_VERSIONS = 65_536  # of older deleted documents only the highest version is kept


class Task:
    """A task that can still move."""

    __slots__ = ("claim", "run", "state")

    def __init__(self, state: str, run: str = "", claim: str = "") -> None:
        self.state, self.run, self.claim = state, run, claim


class Tasks:
    """The tasks that the events describe. `replay` has the claims."""

    def __init__(self, report: Report, replay: Replay) -> None:
        self._report, self._replay = report, replay
        self._open: dict[str, Task] = {}
        self._added, self._complete = Ids(), Ids()
        self._lost = False  # earlier events are unknown: an unknown task may exist
        self._purged = False  # tasks were deleted, with their run or by age: their ids are free
        self._shaken: set[str] = set()  # tasks whose claim ended in this commit

    def lose(self) -> None:
        """Events are missing or unreadable: the state may have changed in them."""
        self._open.clear()
        self._shaken.clear()
        self._lost = True

    def mark_uncertain(self, claim: Claim) -> None:
        """A claim ended: its task must have moved, or been passed on, by the end of the commit."""
        for kind, name in claim.resources:
            if kind == "name" and name.startswith("task:"):
                self._shaken.add(name[5:])

    def settle(self, seq: int) -> None:
        """End a commit: every task at work must have a live claim."""
        for identifier in sorted(self._shaken):
            task = self._open.get(identifier)
            if task is not None and task.state == "executing" and task.claim not in self._replay.live:
                message = f"task {say(identifier)} stayed at work when its claim {say(task.claim)} had ended"
                self._report.add(seq, "task_claim", message)
                del self._open[identifier]  # one defect gives one finding
                self._lost = True
        self._shaken.clear()

    # --- events of a task

    def on_added(self, event: OpenedEvent) -> None:
        """A new task: its id was not used before."""
        state, run = event.data.get("state", "planned"), event.data.get("run", "")
        must(isinstance(state, str) and isinstance(run, str), "`state` or `run` is not a text")
        new = self._added.add(event.subject)
        if event.subject in self._open or (not new and not self._purged):
            self._report.add(event.seq, "task", f"task {say(event.subject)} was added before")
        if state == "complete" and event.data.get("imported") is True:  # finished elsewhere, before it came here
            self._complete.add(event.subject)
            return
        if state not in FIRST_STATES:
            self._report.add(event.seq, "task_state", f"task {say(event.subject)} began as {say(state)}")
        self._open[event.subject] = Task(state, run)

    def on_moved(self, event: OpenedEvent) -> None:
        """A move: from the task's state, by an existing transition, with what that transition requires."""
        before, to = text(event.data, "from"), text(event.data, "to")
        task = self._find(event, before)
        if task is None:
            return
        if to not in TRANSITIONS.get(before, ()):
            self._report.add(event.seq, "task_state", f"there is no transition from {say(before)} to {say(to)}")
        elif to == "executing":
            self._check_claim(event, task)
        elif before == "executing":
            self._check_token(event, task, needed=to in BY_TOKEN)
        task.state = to
        if to == "complete":
            self._complete.add(event.subject)
            del self._open[event.subject]

    def on_passed(self, event: OpenedEvent) -> None:
        """From now on the task has another claim, or the same claim has another holder."""
        task = self._find(event, "executing")
        if task is not None:
            self._check_claim(event, task, passed=True)

    def on_kept(self, event: OpenedEvent) -> None:
        """A task is kept although its run is purged: from now on it belongs to no run."""
        task = self._open.get(event.subject)
        if task is not None:
            task.run = ""

    def on_purged(self, event: OpenedEvent) -> None:
        """A run is purged with all its finished tasks that were not kept."""
        self._purged = True
        gone = [name for name, task in self._open.items() if task.run == event.subject and task.state in FINISHED]
        for identifier in gone:
            del self._open[identifier]

    def on_forgotten(self, event: OpenedEvent) -> None:
        """Finished tasks are deleted: their ids are free."""
        named: Any = event.data.get("tasks")
        must(isinstance(named, list), "`tasks` is not a list")
        for identifier in named:
            task = self._open.get(identifier) if isinstance(identifier, str) else None
            if task is not None and task.state not in FINISHED:
                self._report.add(event.seq, "task_state", f"task {say(identifier)} was forgotten while {task.state}")
            elif task is not None:
                del self._open[identifier]
        self._purged = True

    def _find(self, event: OpenedEvent, state: str) -> Task | None:
        """The task that an event names; it must be in that state."""
        task = self._open.get(event.subject)
        if task is None and self._complete.has(event.subject):
            again = event.data.get("to") == "complete"
            message = f"task {say(event.subject)} was complete, and {'completed again' if again else 'moved on'}"
            self._report.add(event.seq, "finished_twice" if again else "task_state", message)
            return None
        if task is None and not self._lost:
            self._report.add(event.seq, "task", f"there was no task {say(event.subject)}")
        if task is None:
            task = self._open[event.subject] = Task(state, claim=self._behind(event))
            self._added.add(event.subject)
        elif task.state != state:
            message = f"task {say(event.subject)} was {say(task.state)}, not {say(state)}"
            self._report.add(event.seq, "task_state", message)
            task.state = state
        return task

    def _behind(self, event: OpenedEvent) -> str:
        """The live claim on an unknown task, by the token that the event names."""
        token, name = event.data.get("token"), ("name", f"task:{event.subject}")
        for claim in self._replay.live.values() if token is not None else ():
            if claim.token == token and name in claim.resources:
                return claim.id
        return ""

    # --- the promises

    def _check_claim(self, event: OpenedEvent, task: Task, *, passed: bool = False) -> None:
        """A task at work must have a live claim on its name, held by the working agent."""
        task.claim = text(event.data, "claim")
        claim = self._replay.live.get(task.claim)
        if claim is None:
            if not self._replay.lost:
                message = f"task {say(event.subject)} was taken under claim {say(task.claim)}, which was not live"
                self._report.add(event.seq, "task_claim", message)
            return
        wrong = ""
        if ("name", f"task:{event.subject}") not in claim.resources or claim.mode != "write":
            wrong = "is not a claim on it"
        elif claim.agent != event.agent:
            wrong = f"is {say(claim.agent)}'s, not {say(event.agent)}'s"
        elif not passed and event.data.get("token") != claim.token:
            wrong = f"has token {claim.token}, not {say(event.data.get('token'))}"
        elif claim.until <= event.now:
            wrong = "was past its deadline"
        if wrong:
            self._report.add(event.seq, "task_claim", f"claim {say(claim.id)} of task {say(event.subject)} {wrong}")

    def _check_token(self, event: OpenedEvent, task: Task, *, needed: bool) -> None:
        """Promise 2: a task is finished under the token of its live claim, and by the claim's holder."""
        token = event.data.get("token")
        if token is None and not needed:
            return
        claim = self._replay.live.get(task.claim)
        if claim is None:
            if not self._replay.lost:
                message = f"task {say(event.subject)} became {say(event.data['to'])} without a live claim"
                self._report.add(event.seq, "task_token", message)
            return
        if token != claim.token or claim.until <= event.now:
            message = (
                f"task {say(event.subject)} became {say(event.data['to'])} under token {say(token)} at {event.now}; "
                f"live was {claim.token} until {claim.until}"
            )
            self._report.add(event.seq, "task_token", message)
        elif not related(event.agent, claim.agent):
            message = f"task {say(event.subject)} of {say(claim.agent)} was ended by {say(event.agent)}"
            self._report.add(event.seq, "stranger", message)


class Documents:
    """The versions of the documents that the events describe."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._versions: dict[str, int] = {}
        self._graves: OrderedDict[str, int] = OrderedDict()
        self._deepest = 0  # the highest version of deleted documents: dropped ones begin again above it
        self._lost = False

    def lose(self) -> None:
        """Events are missing: the versions may have changed in them."""
        self._versions.clear()
        self._graves.clear()
        self._lost = True

    def on_recovered(self, event: OpenedEvent) -> None:
        """A new database replaced a damaged one: its documents begin above all earlier versions."""
        self._deepest = max(self._deepest, event.commit - 1)

    def on_set(self, event: OpenedEvent) -> None:
        """One above the previous version; a deleted document that was dropped continues above all deleted ones."""
        key, version = event.subject, whole(event.data, "version")
        deleted: Any = event.data.get("deleted", False)
        before = self._versions.pop(key, None)
        grave = self._graves.pop(key, 0)
        if before is not None:
            right = version == before + 1
        else:
            right = grave < version <= self._deepest + 1 or (self._lost and version > grave)
            right = right and not (deleted and not self._lost)  # an absent document cannot be deleted
        if not right:
            known = before if before is not None else grave
            message = f"document {say(key)} has version {version} after {known}"
            self._report.add(event.seq, "version", message)
        if deleted:
            self._graves[key] = version
            self._deepest = max(self._deepest, version)
            if len(self._graves) > MAX_DELETED_VERSIONS:
                self._graves.popitem(last=False)
        else:
            self._versions[key] = version
