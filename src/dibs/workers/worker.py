"""The worker: takes tasks, runs a handler for each, keeps their claims meanwhile, and reports the outcomes.

`dibs worker --exec CMD` runs a command for each task (task_command.py); `dibs.work(ws, handler)` calls a function
(python/work.py). Both are handlers here: called with a
Job, a handler returns the task's result or raises the failure. Nothing about tasks is
decided here; every step is one operation.

What happens, in short:
- success: `done` with the result, under a request id derived from the claim: a retry after a lost answer changes
  nothing. A result `{"tasks": […]}` breaks the task down instead. While subtasks that were added meanwhile are open,
  the
    task is given back to wait for them, and is taken again when they are complete.
- failure: an exception is transient, `Permanent` is not; so is a result that `done` refuses.
- lost (cancelled, preempted, expired, the agent's name taken over): noticed within a second; the command is ended, the
  result dropped, and the next task taken.
- stopped: the command is ended, the task given back with a note; it does not count as a failed attempt.
- a store that is busy or unavailable: retried with backoff; a result for as long as its claim lives.
- a crash: the claim ends with this process, and the task is requeued.
Between tasks and while it waits it sweeps, so that tasks of dead agents are requeued within seconds.
"""

from __future__ import annotations

from dibs.client import read_fields as readers
from dibs.client.upkeep import rounds
from dibs.errors import Busy, Conflict, DibsError, Fenced, Forbidden, Invalid, Killed, NotFound, Quota, Unavailable
from dibs.machine import clock, usage
from dibs.operations.tasks import remaining
from dibs.workers import sweep_loop
from dibs.workers.heartbeat import Heartbeat, Job, clean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, Literal, TypeVar

    from dibs.operations.runs.answers import OutlookAnswer
    from dibs.operations.tasks.answers import TaskTakeAnswer
    from dibs.stores.seam import Json
    from dibs.workers.calls import Calls

    T = TypeVar("T")
    Handler = Callable[[Job], Json]  # the result is any JSON
    Tell = Callable[[dict[str, Any]], None]

SWEEP_INTERVAL_MS = 2_000  # between two sweeps of one worker
WAIT_MS = 3_600_000  # of one wait for work; then it waits again
STORE_TIMEOUT_MS = 300_000  # without a store before a worker without a task gives up
RETRY_PAUSES_S = (0.1, 0.2, 0.5, 1.0, 2.0)  # while the store is busy; the last one repeats
STOP_TIMEOUT_MS = 5_000  # how long a stopped worker still tries to reach the store


class Permanent(Exception):
    """Raised by a handler: this task failed permanently; it is not retried."""


class Stopped(Exception):
    """Raised by a handler that was ended because the worker was told to stop."""


class _EndOfWork(Exception):
    """No more tasks will come, or the worker was stopped."""


class Worker:
    """Takes tasks until it is stopped, or until no task is left."""

    def __init__(  # noqa: PLR0913 - one for each option of `dibs worker`
        self,
        ws: Calls,
        handler: Handler | None = None,
        *,
        command_for: Callable[[dict[str, Any]], str | None] | None = None,
        type: str = "",
        can: Sequence[str] = (),
        run: str = "",
        drain: bool = False,
        limit: int = 0,
        idle: int | None = None,
        fresh: bool = False,
        tell: Tell | None = None,
    ) -> None:
        """Work with a function of a Job, or with a command for each task (`command_for` returns it, or None).

        `drain`: end when no task is left, running or scheduled; `limit`: after this many tasks; `idle`: after this many
        milliseconds without one. `fresh`: tasks of an earlier process of this agent are reported as failed, not kept.
        """
        self.ws, self.type, self.can, self.run_name = ws, type, can, run
        self.drain, self.limit, self.idle, self.fresh = drain, limit, idle, fresh
        self.agent = ""
        self.counts = {"done": 0, "split": 0, "failed": 0, "lost": 0, "returned": 0}
        self.signal = 0  # the signal that stopped it
        self.stopped = False
        self._stopped_at = 0
        self._tell_all = tell
        self._heart = Heartbeat(ws)
        self._handed: TaskTakeAnswer | None = None  # the next task, from the answer to the last `done`
        self._idle_since = clock.since_boot()
        self._swept = 0
        self._waits_for: OutlookAnswer | None = None  # what a draining worker last reported to wait for
        self._unsure = False  # an answer was lost: this agent may hold a task unknowingly
        self._watch = sweep_loop.Watch(
            ws.sweep, lambda found: self.tell("swept", swept=found), lambda why: self.tell("store", why=why)
        )
        if command_for is not None:
            from dibs.workers.task_command import Commands

            handler = Commands(self, command_for)
        assert handler is not None, "a worker works with a handler or with commands"
        self._handler = handler

    def tell(self, event: str, **facts: object) -> None:
        """Report an event to the listener."""
        if self._tell_all is not None:
            self._tell_all({"event": event, **facts})

    # --- the loop

    def run(self) -> dict[str, int]:
        """Work until the end. Raises Killed or Fenced if the agent may not continue."""
        self._begin()
        try:
            while not self.stopped and not (self.limit and sum(self.counts.values()) >= self.limit):
                self._sweep()
                taken, self._handed = self._handed or self._take(), None
                if taken is None:
                    break
                self._work(taken)
        finally:
            self._heart.close()
            close = getattr(self._handler, "close", None)
            if close is not None:
                close()
        return self.counts

    def stop(self, number: int = 0) -> None:
        """Take no more tasks and end the command; its task is given back.

        Safe in a signal handler; the second call kills.
        """
        self.stopped, self.signal = True, self.signal or number
        self._stopped_at = self._stopped_at or clock.since_boot()
        job = self._heart.job
        if job is not None and job.child is not None:
            job.child.end()

    def stop_requested(self, job: Job) -> bool:
        """Must work on this job end: because the worker was stopped, or because the task is lost?"""
        return self.stopped or job.lost is not None

    def _begin(self) -> None:
        """Register the agent; tasks that its earlier process left behind count as failed."""
        briefing = self._persist(
            lambda: self.ws.boot(type=self.type or None, can=self.can or None), clock.since_boot() + STORE_TIMEOUT_MS
        )
        self.agent = briefing["agent"]
        self.tell("started", agent=self.agent)
        for claim in briefing["held"] if self.fresh else ():
            for name in claim["resources"]:
                if name.startswith("task:"):
                    self._give_up(name[5:], claim["token"])

    def _give_up(self, identifier: str, token: int) -> None:
        """A task that the agent's earlier process worked on."""
        try:
            why = f"{self.agent} was restarted while it worked on it"
            self.ws.task_fail(identifier, token=token, class_="transient", why=why)
        except (Fenced, NotFound, Conflict):
            pass

    # --- taking

    def _take(self) -> TaskTakeAnswer | None:
        """The next task; None when it is time to end."""
        self._idle_since = clock.since_boot()
        waiter: list[str] = []
        while True:
            try:
                taken = self._persist(lambda: self._next(waiter), clock.since_boot() + STORE_TIMEOUT_MS)
            except _EndOfWork:
                return None if self.stopped else self._last_look(waiter)
            except NotFound:
                continue  # it waited for long; the next call shows the reason
            except Quota as error:
                self._settle(error)
            else:
                return taken

    def _next(self, waiter: list[str]) -> TaskTakeAnswer:
        session, fields = self.ws.session, {"run": self.run_name}
        operation = session.operation("task next")
        taken: TaskTakeAnswer
        try:
            taken = session.run(operation, self.ws.caller(), fields)
        except (NotFound, Forbidden):
            self._check_idle()  # no task: is this the end?
            if not waiter:
                self.tell("idle")
        else:
            return taken

        def told(answer: dict[str, Any]) -> None:
            waiter[:] = [answer["waiting"]]
            self._check_idle()

        left = WAIT_MS if self.idle is None else max(1, min(WAIT_MS, self.idle + self._idle_since - clock.since_boot()))
        taken = session.run_waiting(operation, self.ws.caller(), {**fields, "wait": left}, told)
        return taken

    def _check_idle(self) -> None:
        """While there is nothing to do: sweep, and raise _EndOfWork when it is time to end."""
        if self.stopped:
            raise _EndOfWork
        self._sweep()
        if self.idle is not None and clock.since_boot() - self._idle_since >= self.idle:
            raise _EndOfWork
        if self.drain:
            fields = {"agent": self.agent, "run": self.run_name}
            outlook: OutlookAnswer = self.ws.session.run(remaining.OUTLOOK, self.ws.caller(), fields)
            if not (outlook["ready"] or outlook["executing"] or outlook["later"]):
                raise _EndOfWork
            if outlook != self._waits_for:
                self._waits_for = outlook
                self.tell("draining", **outlook)

    def _last_look(self, waiter: list[str]) -> TaskTakeAnswer | None:
        """One last attempt before the end, which also leaves the queue of waiters."""
        session, fields = self.ws.session, {"run": self.run_name, **({"waiter": waiter[0]} if waiter else {})}
        try:
            taken: TaskTakeAnswer = session.run(session.operation("task next"), self.ws.caller(), fields)
        except (NotFound, Forbidden, Quota, Busy, Unavailable):
            return None
        return taken

    def _settle(self, error: Quota) -> None:
        """The agent holds a task already: one whose answer was lost is given back; another belongs to a namesake."""
        if not self._unsure:
            raise error
        self._unsure = False
        for held in error.fields.get("tasks", ()):
            self._give_back(held["id"], held["token"], "")

    # --- working

    def _work(self, taken: TaskTakeAnswer) -> None:
        job = Job(self.ws, taken)
        facts = {"task": job.id, "title": job.task["title"], "attempt": job.task["attempt"], "token": job.token}
        self.tell("taken", **facts)
        self._heart.keep(job)
        stretch = usage.Stretch()
        try:
            if taken["task"].get("inputs"):
                job.inputs = self._persist(lambda: self.ws.task_inputs(job.id)["inputs"], job.until)
            result = self._handler(job)
        except BaseException as error:  # any error of a handler is reported for its task, then raised if it must be
            self._used(job, stretch)
            self._heart.let_go()
            self._failed(job, error)
            if not isinstance(error, Exception) or isinstance(error, Killed):
                raise
        else:
            self._used(job, stretch)
            self._heart.let_go()
            self._finish(job, result)

    def _used(self, job: Job, stretch: usage.Stretch) -> None:
        """The usage of a task: of its command, or of this process for a function."""
        used = job.used if job.used is not None else stretch.read()
        job.used = {**used, "seconds": round((clock.since_boot() - job.started) / 1000, 3)}

    def _failed(self, job: Job, error: BaseException) -> None:
        if job.lost is not None:
            self._lost(job)
        elif isinstance(error, Stopped) or not isinstance(error, Exception):
            self._give_back(job.id, job.token, f"{self.agent} was stopped while it worked on it")
        elif isinstance(error, Permanent):
            self._fail(job, "permanent", str(error))
        else:
            self._fail(job, "transient", str(error) or type(error).__name__)

    def _finish(self, job: Job, result: Json) -> None:
        """Report the result."""
        if job.lost is not None:
            self._lost(job)
            return
        try:
            if isinstance(result, dict) and list(result) == ["tasks"] and isinstance(result["tasks"], list):
                self._split(job, result["tasks"])
            else:
                self._done(job, result)
        except (Fenced, NotFound, Busy, Unavailable) as error:
            job.lost = error
            self._lost(job)
        except (Invalid, Conflict, Quota) as error:
            self._fail(job, "permanent", f"its result was refused: {error.message}")
        except (
            TypeError,
            ValueError,
            RecursionError,
        ) as error:  # from a handler in Python: it cannot be written as JSON
            self._fail(job, "permanent", f"its result is not JSON: {error}")

    def _done(self, job: Job, result: Json) -> None:
        more = not self.stopped and not (self.limit and sum(self.counts.values()) + 1 >= self.limit)
        try:
            answer = self._persist(
                lambda: self._say_outcome(
                    "task done", job, result=result, next=more, run=self.run_name, request=f"done-{job.claim}"
                ),
                job.until,
            )
        except Conflict as error:
            if not error.fields.get("children"):
                raise
            self._give_back(job.id, job.token, "")  # it is taken again when they are complete
            return
        self._handed = answer.get("next")
        self._count("done", job)

    def _say_outcome(self, name: str, job: Job, *, request: str, **fields: object) -> Json:
        """Report the outcome of a task, with its usage."""
        session, given = self.ws.session, {**fields, "id": job.id, "token": job.token, "used": job.used}
        operation = session.operation(name)
        values = {
            field.name: readers.read(session, field, given[field.name], typed=True)
            for field in operation.fields
            if given.get(field.name) is not None
        }
        return session.run(operation, self.ws.caller(request), values)

    def _split(self, job: Job, parts: list[Json]) -> None:
        try:
            answer = self._persist(
                lambda: self.ws.task_split(
                    job.id, token=job.token, children=parts, request_id=f"split-{job.claim}"
                ),
                job.until,
            )  # fmt: skip
        except NotFound as error:  # a subtask with an unknown dependency
            if "task" in error.fields and error.fields["task"] == job.id:
                raise
            raise Invalid(error.message) from None
        self._count("split", job, children=answer["tasks"])

    def _fail(self, job: Job, kind: Literal["transient", "permanent"], why: str) -> None:
        reason = clean(why) or "it did not say why"
        try:
            self._persist(
                lambda: self._say_outcome(
                    "task fail", job, **{"class": kind}, why=reason, request=f"fail-{job.claim}"
                ),
                job.until,
            )  # fmt: skip
        except (Fenced, NotFound, Busy, Unavailable) as error:
            job.lost = error
            self._lost(job)
        else:
            self._count("failed", job, **{"class": kind}, why=reason)

    def _give_back(self, identifier: str, token: int, note: str) -> None:
        try:
            until = clock.since_boot() + STOP_TIMEOUT_MS
            self._persist(lambda: self.ws.task_release(identifier, token=token, note=note or None), until)
        except (Fenced, NotFound, Conflict, Busy, Unavailable) as error:
            self.tell("lost", task=identifier, why=error.message)
            self.counts["lost"] += 1
        else:
            self.tell("returned", task=identifier)
            self.counts["returned"] += 1

    def _lost(self, job: Job) -> None:
        """Drop the outcome of a lost task."""
        why = job.lost.message if job.lost is not None else ""
        try:
            why = f"it is {self.ws.task_show(job.id)['task']['state']} now; {why}"
        except DibsError:
            pass
        self._count("lost", job, why=why)
        if isinstance(job.lost, Killed):
            raise job.lost

    def _check_heart(self) -> None:
        """Report an unexpected error of the heartbeat thread."""
        if self._heart.trouble:
            self.tell("store", why=f"internal error: {self._heart.trouble}. Please report it.")
            self._heart.trouble = ""

    def _count(self, event: str, job: Job, **facts: object) -> None:
        self.counts[event] += 1
        self._check_heart()
        self.tell(event, task=job.id, seconds=round((clock.since_boot() - job.started) / 1000, 3), **facts)

    # --- the store

    def _persist(self, what: Callable[[], T], until: int) -> T:
        """Call it, with retries while the store is busy; until that time, or shortly after a stop."""
        tries = 0
        while True:
            try:
                return what()
            except (Busy, Unavailable) as error:
                self._unsure = True
                end = min(until, self._stopped_at + STOP_TIMEOUT_MS) if self.stopped else until
                if clock.since_boot() >= end:
                    raise
                if not tries:
                    self.tell("store", why=error.message)
            self._pause(RETRY_PAUSES_S[min(tries, len(RETRY_PAUSES_S) - 1)])
            tries += 1

    def _pause(self, seconds: float) -> None:
        clock.sleep(seconds)

    def _sweep(self) -> None:
        if clock.since_boot() - self._swept >= SWEEP_INTERVAL_MS:
            self._watch.step()
            rounds.step(self.ws.session, "worker", self.agent)
            self._swept = clock.since_boot()
