"""`dibs run start FILE`: starts the run and its workers, watches them, and ends the run when its work is finished.

It does none of the work and decides nothing about tasks: workers take them, operations requeue them when a worker dies.
It only decides when to stop.
- over: no task can continue by itself. The run is ended and archived, its report written.
- failed: a task failed permanently; without `--keep-going` the rest is cancelled and the run ended.
- interrupted (Ctrl-C), out of time, deserted (the workers died too often): the workers are stopped, their tasks are
  requeued, and the run can be resumed.
- this process dies: its workers die with it, their tasks are requeued, and the run can be resumed.
"""

from __future__ import annotations

import os
import signal
import sys
from dataclasses import dataclass
from subprocess import DEVNULL

from dibs.errors import Busy, Conflict, Invalid, NotFound, Quota, Unavailable
from dibs.machine import clock
from dibs.operations.runs.runs import PHASES
from dibs.operations.tasks import batches
from dibs.workers import run_file
from dibs.workers.child_process import Child, Keeper, exit_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any, NotRequired, TypedDict

    from dibs.client.session import Session
    from dibs.operations.core.declare import Operation
    from dibs.operations.runs.answers import BatchOutlookAnswer, RunView
    from dibs.operations.tasks.additions import TaskSpec
    from dibs.operations.votes.answers import VoteState, VoteView
    from dibs.workers.run_file import Plan, WorkerPool
    from dibs.workers.run_screen import Screen

    class RunOutcome(TypedDict):
        """How a run stopped. The last three: of one that has ended."""

        run: str
        why: str  # OVER and the others
        complete: bool
        outlook: BatchOutlookAnswer
        signal: NotRequired[int]  # that interrupted it, or 0
        vote: NotRequired[VoteView | None]
        ended: NotRequired[RunView]
        report: NotRequired[str]  # its path


OVER, FAILED, INTERRUPTED, LATE, DESERTED = "over", "failed", "interrupted", "late", "deserted"
POLL_S = 0.1  # between two polls, if a poll is cheap
POLL_PAUSE_FACTOR = 5  # after a slow poll, pause for this many times its duration
MAX_RESTARTS = 5  # of workers in one run, each because no worker of its kind was left
STOP_GRACE_MS = 10_000  # for a worker to give back its task after SIGTERM
STOP_POLL_S = 0.02  # between two polls of the ending workers
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass
class Worker:
    """A worker process."""

    agent: str
    crew: WorkerPool
    keeper: Keeper  # kills it if this process dies
    child: Child
    code: int | None = None  # how it ended
    seen: bool = False  # its end was noticed

    def alive(self) -> bool:
        """Is it still running?"""
        if self.code is None:
            self.code = self.child.wait(0)
            if self.code is not None:
                self.keeper.close()
        return self.code is None


class RunDriver:
    """One run, from its start to its end."""

    def __init__(self, session: Session, agent: str | None, plan: Plan, screen: Screen, **options: Any) -> None:
        self._session, self._agent, self._plan, self._screen = session, agent, plan, screen
        self._count: int | None = options.get("workers")
        self._keep_going = bool(options.get("keep_going"))
        self._until = clock.since_boot() + options["within"] if options.get("within") else None
        self._workers: list[Worker] = []
        self._started = self._restarts = 0
        self._signal = 0
        self._phase = ""
        self._names = "w"  # prefix of the workers' names
        self.run = ""

    # --- starting

    def start(self) -> str:
        """The run with all its tasks, in one transaction; a vote's poll comes before it."""
        plan = self._plan
        self.run = f"{slug(plan.name)}-{clock.random_id()}"
        tasks = plan.tasks(self.run)
        plan.crews(self._count)
        self._check_electors()
        if plan.pattern == "vote":
            poll = run_file.vote_of(self.run)
            self._do(
                "vote open", title=plan.title, id=poll, key=poll, deadline=plan.deadline,
                electorate=list(plan.electorate), options=list(plan.options),
            )  # fmt: skip
        spec = f"{os.path.basename(plan.path)} sha256:{plan.digest} tasks:{len(tasks)}"
        first, rest = tasks[: batches.MAX_TASKS], tasks[batches.MAX_TASKS :]
        self._do("run start", request=self.run, name=plan.name, id=self.run, spec=spec, tasks=first)
        self._phase = PHASES[0]
        self._add(rest)
        return self.run

    def _check_electors(self) -> None:
        """Refuse an elector that is at work: a worker would take over its name."""
        alive = {one["agent"]: one["pid"] for one in self._do("agents")["agents"] if one["state"] == "alive"}
        for elector in self._plan.electorate:
            if elector in alive:
                text = (
                    f"elector {elector} is at work already (process {alive[elector]}); a worker cannot use its name. "
                    "`dibs vote open` asks existing agents; a file's electors are new ones."
                )
                raise Conflict(text, agent=elector, pid=alive[elector])

    def _add(self, tasks: list[TaskSpec]) -> None:
        """Add the tasks that do not fit into one transaction; after an interruption, a resumed run adds the rest."""
        try:
            for start in range(0, len(tasks), batches.MAX_TASKS):
                part = tasks[start : start + batches.MAX_TASKS]
                self._perform(batches.ADD, "", tasks=part, run=self.run, missing=True)
        except (Invalid, Conflict, Quota, NotFound):  # it can never be complete
            self._do("run end", run=self.run, force=True)
            raise

    def resume(self, run: str) -> str:
        """Resume an interrupted run. The file must have the steps of the remaining tasks."""
        shown = self._do("run show", run=run)["run"]
        if shown["state"] != "active":
            raise Conflict(f"run {run} has ended; `dibs run start FILE` starts a new one.", run=run, state="ended")
        self._check_electors()
        self.run, self._phase, self._names = run, shown["phase"], f"p{os.getpid()}w"
        groups = self._outlook()["groups"]
        steps = {self._step_of(group): group for group in groups}
        if self._plan.digest in shown.get("spec", ""):
            self._add_missing(shown["spec"], sum(groups[group]["total"] for step, group in steps.items() if step))
            return run
        missing = sorted(step for step in steps if step and step not in self._plan.by_name)
        if missing:
            text = f"{self._plan.path} has no step {missing[0]!r}, which run {run} has: is it the right file?"
            raise Invalid(text, run=run, steps=missing, path=self._plan.path)
        self._screen.say(
            f"{os.path.basename(self._plan.path)} was changed since {run} started; the run uses the new file"
        )
        return run

    def _add_missing(self, spec: str, there: int) -> None:
        """Add the missing tasks of a run that was interrupted at its start."""
        planned = int(spec.rpartition(" tasks:")[2])
        if there >= planned:
            return
        tasks = self._plan.tasks(self.run)
        if len(tasks) != planned:
            text = f"run {self.run} was to have {planned} tasks, and {self._plan.path} gives {len(tasks)} now."
            raise Conflict(text, run=self.run, path=self._plan.path)
        self._add(tasks)

    def _step_of(self, group: str) -> str:
        """The step of a group's tasks; "" for tasks that workers added."""
        parts = group.removeprefix(f"{self.run}/").split("/")
        layer = len(parts) == len(("layer1", "step")) and self._plan.pattern == "map_reduce"
        return parts[-1] if group.startswith(f"{self.run}/") and (len(parts) == 1 or layer) else ""

    # --- watching

    def go(self) -> RunOutcome:
        """Watch it until it is finished or has to stop. Returns the outcome."""
        before = {number: signal.signal(number, self._interrupt) for number in SIGNALS}
        try:
            for crew in self._plan.crews(self._count):
                for _ in range(crew.count):
                    self._start_worker(crew)
            why, outlook = self._watch()
            self._stop_workers()
            if why in {OVER, FAILED}:
                return self._end(why)
            return {"why": why, "outlook": outlook, "run": self.run, "signal": self._signal, "complete": False}
        finally:
            self._stop_workers()
            for number, handler in before.items():
                signal.signal(number, handler)

    def _interrupt(self, number: int, _: FrameType | None) -> None:
        self._signal = number

    def _watch(self) -> tuple[str, BatchOutlookAnswer]:
        outlook = self._outlook()
        self._screen.begin(self.run, outlook)
        while True:
            began = clock.since_boot()
            try:
                outlook = self._outlook()
                self._move_on(outlook)
                self._check_workers(outlook)
            except (Busy, Unavailable):  # the store is busy; the workers continue
                pass
            self._screen.update(self._phase, outlook, self._alive())
            why = self._why_stop(outlook)
            if why:
                return why, outlook
            cost = (clock.since_boot() - began) / 1000
            clock.sleep(max(POLL_S, POLL_PAUSE_FACTOR * cost))

    def _why_stop(self, outlook: BatchOutlookAnswer) -> str:
        if self._signal:
            return INTERRUPTED
        if not outlook["going"]:
            return OVER
        if not self._keep_going and self._fatal(outlook):
            return FAILED
        if self._until is not None and clock.since_boot() >= self._until:
            return LATE
        return DESERTED if self._workers and not self._alive() else ""

    def _fatal(self, outlook: BatchOutlookAnswer) -> bool:
        """Did a task fail on which the run depends? One task of a race group, or a ballot, does not count yet."""
        return self._plan.pattern != "vote" and any(not task["race"] for task in outlook["failed"])

    def _move_on(self, outlook: BatchOutlookAnswer) -> None:
        """The phase of the earliest step that is not done yet; the subtasks of a plan are execution."""
        left = []
        for group, counts in outlook["groups"].items():
            step = self._plan.by_name.get(self._step_of(group))
            if counts["over"] < counts["total"]:
                left.append(step.phase if step is not None else "execution")
        if left:
            self._set_phase(min(left, key=PHASES.index))

    def _set_phase(self, phase: str) -> None:
        if phase != self._phase:
            self._do("run phase", phase=phase, run=self.run)
            self._phase = phase

    # --- workers

    def _start_worker(self, crew: WorkerPool) -> None:
        self._started += 1
        agent = crew.agent or f"{self.run}.{self._names}{self._started}"
        root = self._session.place.root
        words = [
            sys.executable, "-P", "-m", "dibs", "worker", "--plan", self._plan.path, "--run", self.run, "--as", agent,
            "--type", crew.type, "--workspace", root,
        ]  # fmt: skip
        if crew.can:
            words += ["--can", ",".join(crew.can)]
        environment = {name: value for name, value in os.environ.items() if name not in {"DIBS_AGENT", "DIBS_TASK"}}
        keeper = Keeper()
        with open(self.log(), "ab") as log:
            child = Child(keeper, words, until=0, stdin=DEVNULL, stdout=log, stderr=log, env=environment, cwd=root)
        self._workers.append(Worker(agent, crew, keeper, child))

    def log(self) -> str:
        """The folder for the logs of the workers and their commands."""
        folder = os.path.join(self._session.place.local, "runs")
        try:
            os.makedirs(folder, 0o700, exist_ok=True)
        except OSError as error:
            raise Unavailable(f"{folder} cannot be made: {error.strerror}", path=folder) from None
        return os.path.join(folder, f"{self.run}.log")

    def _alive(self) -> int:
        return sum(worker.alive() for worker in self._workers)

    def _check_workers(self, outlook: BatchOutlookAnswer) -> None:
        """Report dead workers. A worker is replaced only if no other of its kind is left."""
        for worker in self._workers:
            if worker.alive() or worker.seen:
                continue
            worker.seen = True
            if worker.code:
                text = f"worker {worker.agent} ended ({exit_text(worker.code)}); its task goes to another worker"
                self._screen.say(text)
                self._do("run warn", text=text, run=self.run)
        if not outlook["going"] or self._signal:
            return
        kinds = {id(worker.crew): worker.crew for worker in self._workers}
        for kind, crew in kinds.items():
            if any(id(worker.crew) == kind and worker.alive() for worker in self._workers):
                continue
            if self._restarts < MAX_RESTARTS:
                self._restarts += 1
                self._screen.say(f"no worker of type {crew.type} is left; another one is started")
                self._start_worker(crew)

    def _stop_workers(self) -> None:
        """Ask all workers to end, so that they give back their tasks; then wait, with a timeout."""
        left = [worker for worker in self._workers if worker.alive()]
        for worker in left:
            os.kill(worker.child.pid, signal.SIGTERM)  # not its group: it ends its keeper and its command itself
        until = clock.since_boot() + STOP_GRACE_MS
        while any(worker.alive() for worker in left):
            if clock.since_boot() >= until:
                for worker in left:
                    worker.child.end(signal.SIGKILL)
            clock.sleep(STOP_POLL_S)

    # --- ending

    def _end(self, why: str) -> RunOutcome:
        """Validation of the outcome; then the end of the run, with its archive and report."""
        from dibs.audit import build

        self._set_phase("validation")
        outlook = self._outlook()
        poll: VoteView | None = None
        if self._plan.pattern == "vote":
            poll = self._do("vote show", id=run_file.vote_of(self.run))["vote"]
        call = self._session.identify(self._agent)
        ended = build.end(self._session, call, {"run": self.run, "archive": True, "force": True})
        report = self._report()
        return {
            "why": why, "run": self.run, "outlook": outlook,
            "complete": complete(self._plan.pattern, outlook, poll["state"] if poll else None),
            "vote": poll, "ended": ended["run"], "report": report,
        }  # fmt: skip

    def _report(self) -> str:
        from dibs.audit import build

        made = build.report(self._session, self._session.identify(self._agent), self.run)
        path = os.path.join(self._session.place.local, "runs", f"{self.run}.html")
        return str(build.write_out(self._session, path, build.render(made, "html")))

    # --- operations

    def _outlook(self) -> BatchOutlookAnswer:
        """How far the run is; its groups in the order of the file's steps, then what workers added."""
        outlook: BatchOutlookAnswer = self._perform(batches.OUTLOOK, "", run=self.run)
        steps = [*self._plan.by_name, ""]
        outlook["groups"] = dict(sorted(outlook["groups"].items(), key=lambda group: self._order(group[0], steps)))
        return outlook

    def _order(self, group: str, steps: list[str]) -> tuple[int, str]:
        step = self._step_of(group)
        return steps.index(step) if step in steps else len(steps), group

    def _do(self, what: str, /, request: str = "", **fields: object) -> Any:
        return self._perform(self._session.operation(what), request, **fields)

    def _perform(self, operation: Operation, request: str, **fields: object) -> Any:
        call = self._session.identify(self._agent, request=request)
        return self._session.run(operation, call, fields)


def complete(pattern: str, outlook: BatchOutlookAnswer, vote: VoteState | None) -> bool:
    """Did the run succeed? A race needs one winner, a vote a majority, every other pattern all tasks."""
    if vote is not None:
        return vote == "decided"
    done = outlook["states"].get("complete", 0)
    if pattern == "scatter_gather":
        return bool(done)
    return bool(done) and not outlook["stuck"] and not outlook["failed"] and not outlook["going"]


def slug(name: str) -> str:
    """A name as the beginning of a run's id."""
    words = "".join(letter if letter.isascii() and letter.isalnum() else " " for letter in name).split()
    return "-".join(words)[:40].strip("-") or "run"
