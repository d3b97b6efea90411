"""Tasks and documents, replayed: what the events say about them, held to what they said before and to the claims.

A task's states and the moves between them are written down here a second time, on purpose: like the rest of the
lookout this imports nothing of the operations. What stays in memory is the tasks that can still move and the version of
each document; of a finished task only that it was there and is finished, eight bytes each.

What it cannot see: which tasks a purged run had (the event names the run), and what happened in a stretch of the log
that is missing. There the first that is heard of a task or a document is believed.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

from dibs.lookout.reading import Ids, must, related, say, text, whole

if TYPE_CHECKING:
    from typing import Any

    from dibs.lookout.replay import Claim, Replay, Statement
    from dibs.lookout.verify import Report

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
FINISHED = frozenset({"failed", "quarantined", "cancelled"})  # and complete, of which nothing else is remembered
BY_TOKEN = frozenset({"complete", "failed"})  # where only the holder's own word leads
MAX_DELETED_VERSIONS = 65_536  # deleted documents whose version is remembered; of older ones only how high they were


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
        self._lost = False  # something before is unknown: a task that nobody has heard of may be there
        self._purged = False  # a run was purged: its tasks are gone and their ids free
        self._shaken: set[str] = set()  # tasks whose claim ended in this commit

    def lose(self) -> None:
        """Events are missing, or one cannot be read: what was true may have changed in them."""
        self._open.clear()
        self._shaken.clear()
        self._lost = True

    def shake(self, claim: Claim) -> None:
        """A claim ended: a task behind it must have moved, or been passed on, when the commit is over."""
        for kind, name in claim.resources:
            if kind == "name" and name.startswith("task:"):
                self._shaken.add(name[5:])

    def settle(self, seq: int) -> None:
        """A commit is over: whatever is at work has a live claim behind it."""
        for identifier in sorted(self._shaken):
            task = self._open.get(identifier)
            if task is not None and task.state == "executing" and task.claim not in self._replay.live:
                message = f"task {say(identifier)} stayed at work when its claim {say(task.claim)} had ended"
                self._report.add(seq, "task_claim", message)
                del self._open[identifier]  # one wound, one finding
                self._lost = True
        self._shaken.clear()

    # --- what happens to a task

    def on_added(self, said: Statement) -> None:
        """A new task: its id was not used before."""
        state, run = said.data.get("state", "planned"), said.data.get("run", "")
        must(isinstance(state, str) and isinstance(run, str), "`state` or `run` is not a text")
        new = self._added.add(said.subject)
        if said.subject in self._open or (not new and not self._purged):
            self._report.add(said.seq, "task", f"task {say(said.subject)} was added before")
        if state == "complete" and said.data.get("imported") is True:  # finished elsewhere, before it came here
            self._complete.add(said.subject)
            return
        if state not in FIRST_STATES:
            self._report.add(said.seq, "task_state", f"task {say(said.subject)} began as {say(state)}")
        self._open[said.subject] = Task(state, run)

    def on_moved(self, said: Statement) -> None:
        """From the state that it was in, by a way that there is, and with what that way needs."""
        before, to = text(said.data, "from"), text(said.data, "to")
        task = self._find(said, before)
        if task is None:
            return
        if to not in TRANSITIONS.get(before, ()):
            self._report.add(said.seq, "task_state", f"no way leads from {say(before)} to {say(to)}")
        elif to == "executing":
            self._check_claim(said, task)
        elif before == "executing":
            self._check_token(said, task, needed=to in BY_TOKEN)
        task.state = to
        if to == "complete":
            self._complete.add(said.subject)
            del self._open[said.subject]

    def on_passed(self, said: Statement) -> None:
        """Another claim, or the same one in other hands, stands behind it from now on."""
        task = self._find(said, "executing")
        if task is not None:
            self._check_claim(said, task, passed=True)

    def on_kept(self, said: Statement) -> None:
        """A task stays although its run goes: from now on it is of no run."""
        task = self._open.get(said.subject)
        if task is not None:
            task.run = ""

    def on_purged(self, said: Statement) -> None:
        """A run is gone with all its tasks that were over, and were not kept."""
        self._purged = True
        gone = [name for name, task in self._open.items() if task.run == said.subject and task.state in FINISHED]
        for identifier in gone:
            del self._open[identifier]

    def _find(self, said: Statement, state: str) -> Task | None:
        """The task that an event speaks of, which has to be in that state."""
        task = self._open.get(said.subject)
        if task is None and self._complete.has(said.subject):
            again = said.data.get("to") == "complete"
            message = f"task {say(said.subject)} was complete, and {'completed again' if again else 'moved on'}"
            self._report.add(said.seq, "finished_twice" if again else "task_state", message)
            return None
        if task is None and not self._lost:
            self._report.add(said.seq, "task", f"there was no task {say(said.subject)}")
        if task is None:
            task = self._open[said.subject] = Task(state, claim=self._behind(said))
            self._added.add(said.subject)
        elif task.state != state:
            message = f"task {say(said.subject)} was {say(task.state)}, not {say(state)}"
            self._report.add(said.seq, "task_state", message)
            task.state = state
        return task

    def _behind(self, said: Statement) -> str:
        """The live claim on a task of which nothing is known, by the token that the event names."""
        token, name = said.data.get("token"), ("name", f"task:{said.subject}")
        for claim in self._replay.live.values() if token is not None else ():
            if claim.token == token and name in claim.resources:
                return claim.id
        return ""

    # --- the promises

    def _check_claim(self, said: Statement, task: Task, *, passed: bool = False) -> None:
        """At work means: a live claim on its name, of the agent that works."""
        task.claim = text(said.data, "claim")
        claim = self._replay.live.get(task.claim)
        if claim is None:
            if not self._replay.lost:
                message = f"task {say(said.subject)} was taken under claim {say(task.claim)}, which was not live"
                self._report.add(said.seq, "task_claim", message)
            return
        wrong = ""
        if ("name", f"task:{said.subject}") not in claim.resources or claim.mode != "write":
            wrong = "is not a claim on it"
        elif claim.agent != said.agent:
            wrong = f"is {say(claim.agent)}'s, not {say(said.agent)}'s"
        elif not passed and said.data.get("token") != claim.token:
            wrong = f"has token {claim.token}, not {say(said.data.get('token'))}"
        elif claim.until <= said.now:
            wrong = "was past its deadline"
        if wrong:
            self._report.add(said.seq, "task_claim", f"claim {say(claim.id)} behind task {say(said.subject)} {wrong}")

    def _check_token(self, said: Statement, task: Task, *, needed: bool) -> None:
        """Promise 2: a task is finished under the token of the live claim behind it, and by its holder."""
        token = said.data.get("token")
        if token is None and not needed:
            return
        claim = self._replay.live.get(task.claim)
        if claim is None:
            if not self._replay.lost:
                message = f"task {say(said.subject)} became {say(said.data['to'])}, and no live claim stood behind it"
                self._report.add(said.seq, "task_token", message)
            return
        if token != claim.token or claim.until <= said.now:
            message = (
                f"task {say(said.subject)} became {say(said.data['to'])} under token {say(token)} at {said.now}; "
                f"live was {claim.token} until {claim.until}"
            )
            self._report.add(said.seq, "task_token", message)
        elif not related(said.agent, claim.agent):
            message = f"task {say(said.subject)} of {say(claim.agent)} was ended by {say(said.agent)}"
            self._report.add(said.seq, "stranger", message)


class Documents:
    """The versions of the documents that the events describe."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._versions: dict[str, int] = {}
        self._graves: OrderedDict[str, int] = OrderedDict()
        self._deepest = 0  # no deleted document had a higher version: those that are forgotten begin again above it
        self._lost = False

    def lose(self) -> None:
        """Events are missing: what was true may have changed in them."""
        self._versions.clear()
        self._graves.clear()
        self._lost = True

    def on_recovered(self, said: Statement) -> None:
        """A new database in a damaged one's place: its documents begin above whatever was written before."""
        self._deepest = max(self._deepest, said.commit - 1)

    def on_set(self, said: Statement) -> None:
        """One above the version before; a deleted document, once forgotten, goes on above all that were deleted."""
        key, version = said.subject, whole(said.data, "version")
        deleted: Any = said.data.get("deleted", False)
        before = self._versions.pop(key, None)
        grave = self._graves.pop(key, 0)
        if before is not None:
            right = version == before + 1
        else:
            right = grave < version <= self._deepest + 1 or (self._lost and version > grave)
            right = right and not (deleted and not self._lost)  # what is not there cannot be deleted
        if not right:
            known = before if before is not None else grave
            message = f"document {say(key)} has version {version} after {known}"
            self._report.add(said.seq, "version", message)
        if deleted:
            self._graves[key] = version
            self._deepest = max(self._deepest, version)
            if len(self._graves) > MAX_DELETED_VERSIONS:
                self._graves.popitem(last=False)
        else:
            self._versions[key] = version
