"""Handles on the work that a pattern started: they wait, report progress, and return the result.

A handle holds only ids, so another process can make the same handle from the same ids. It does no work itself: without
workers nothing moves.
"""

from __future__ import annotations

from dibs.errors import Conflict, Failed
from dibs.machine import clock, durations
from dibs.operations.tasks import batches
from dibs.operations.tasks.lifecycle import COMPLETE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    from dibs.interfaces.python.workspace import Workspace
    from dibs.operations.core.declare import Operation
    from dibs.operations.runs.answers import BatchOutlookAnswer
    from dibs.operations.votes.answers import VoteView
    from dibs.stores.seam import Json

FIRST_PAUSE, LONGEST_PAUSE = 0.01, 0.5  # seconds between two polls; each is longer than the one before
DEFAULT_WAIT_S = 3600.0
ONE, ALL, FIRST = "one", "all", "first"  # the tasks whose results count


class Work:
    """The tasks of a pattern."""

    __slots__ = ("_how", "_last", "_own", "_workspace", "run", "tasks")

    def __init__(
        self, workspace: Workspace, run: str, tasks: Sequence[str], last: Sequence[str], how: str, *, own: bool
    ) -> None:
        self._workspace, self._how = workspace, how
        self._last = list(last)  # the tasks whose results are the pattern's
        self._own = own  # does the run belong to the pattern? Then tasks that its tasks are split into count as well
        self.run = run
        self.tasks = list(tasks)

    def outlook(self) -> BatchOutlookAnswer:
        """Counts by state, whether anything can still continue (`going`), what is stuck, and what failed."""
        which: dict[str, object] = {"run": self.run} if self._own else {"tasks": self.tasks}
        outlook: BatchOutlookAnswer = perform(self._workspace, batches.OUTLOOK, **which)
        return outlook

    def progress(self) -> int:
        """From 0 to 100."""
        return self.outlook()["progress"]

    def over(self) -> bool:
        """Is there nothing more to wait for? Also if a task failed and the rest cannot continue."""
        going: int = perform(self._workspace, batches.OUTLOOK, tasks=self._last)["going"]
        return not going

    def wait(self, timeout: float | str = DEFAULT_WAIT_S) -> Self:
        """Wait until it is finished, at most this long (seconds, or "30m").

        After that it raises TimeoutError, and the work continues.
        """
        longest = durations.read(timeout, "timeout")
        end, pause = clock.since_boot() + longest, FIRST_PAUSE
        while not self.over():
            left = (end - clock.since_boot()) / 1000
            if left <= 0:
                message = f"run {self.run or '-'} is at {self.progress()} percent after {longest / 1000:g} s"
                raise TimeoutError(message)
            clock.sleep(min(pause, left))
            pause = min(LONGEST_PAUSE, pause * 1.5)
        return self

    def result(self) -> Json:
        """The result. Raises Failed, naming the tasks, if it cannot come any more; Conflict before the end."""
        shown = [self._workspace.task_show(name)["task"] for name in self._last]
        done = [task for task in shown if task["state"] == COMPLETE]
        if len(done) < (1 if self._how == FIRST else len(shown)):
            raise self._why_not()
        return [task.get("result") for task in done] if self._how == ALL else done[0].get("result")

    def _why_not(self) -> Conflict | Failed:
        if not self.over():
            return Conflict("it is not finished yet; `wait()` waits for it", run=self.run)
        found = self.outlook()
        names = ", ".join(f"{task['id']} ({task['why'] or task['state']})" for task in found["failed"][:3])
        text = f"it did not finish: {names or 'it was cancelled'}."
        return Failed(text, run=self.run, failed=found["failed"], states=found["states"])

    def __repr__(self) -> str:
        """What it is, for the debugger."""
        return f"<{type(self).__name__} of {len(self.tasks)} tasks in run {self.run or '-'}>"


class Poll(Work):
    """A vote. It is finished when it is decided, undecided, or past its deadline."""

    __slots__ = ("vote",)

    def __init__(self, workspace: Workspace, run: str, tasks: Sequence[str], vote: str, *, own: bool) -> None:
        super().__init__(workspace, run, tasks, tasks, FIRST, own=own)
        self.vote = vote

    def show(self) -> VoteView:
        """The vote: state, option, tally, and the electors that have not voted."""
        return self._workspace.vote_show(self.vote)["vote"]

    def over(self) -> bool:
        return bool(self.show()["state"] != "open")

    def progress(self) -> int:
        """Ballots cast, of all, in percent; an outcome is 100."""
        shown = self.show()
        all_of_them = len(shown["electorate"])
        return 100 if shown["state"] != "open" else 100 * (all_of_them - len(shown["missing"])) // all_of_them

    def result(self) -> Json:
        """The option that a majority chose. Raises Failed if none has it, Conflict while the vote is open."""
        shown = self.show()
        if shown["state"] == "open":
            raise Conflict("the vote is still open; `wait()` waits for its outcome", vote=self.vote)
        if shown["state"] != "decided":
            raise Failed(f"the vote is {shown['state']}: no option has a majority", vote=shown)
        return shown["option"]


def perform(workspace: Workspace, operation: Operation, request_id: str = "", /, **fields: object) -> Json:
    """Run an operation as this workspace's agent, with fields as operations have them: durations in milliseconds."""
    return workspace.session.run(operation, workspace.caller(request_id), fields)
