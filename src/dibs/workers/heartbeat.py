"""Heartbeats: a thread that keeps a worker's task during the work, and the task as a handler sees it.

Every second the thread confirms or renews the task's claim (held_command.py: renewed well before the deadline; if it is
lost, the command is ended) and reports progress to the store. Nothing about tasks is decided here.
"""

from __future__ import annotations

from threading import Event, Lock, Thread

from dibs.errors import DibsError, printable
from dibs.machine import clock
from dibs.workers.held_command import Hold
from dibs.workspace import paths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from dibs.machine.usage import Meter
    from dibs.operations.tasks.answers import TaskTakeAnswer
    from dibs.stores.seam import Json
    from dibs.workers.calls import Calls
    from dibs.workers.child_process import Child

# Between two checks that the task is still ours: a check is cheap, and a cancelled task should end soon.
CONFIRM_INTERVAL_S = 1.0
# Between two progress reports of a command; those in between are dropped.
PROGRESS_INTERVAL_S = 0.2
MAX_RENEWAL_INTERVAL_S = 20.0  # at most; less if a claim's life is short
MAX_NOTE_LETTERS = 500  # of a reason or a note


class Job:
    """One task at work, as a handler sees it."""

    def __init__(self, ws: Calls, taken: TaskTakeAnswer) -> None:
        self.task: dict[str, Any] = {k: v for k, v in taken["task"].items() if k not in {"payload", "inputs"}}
        self.id = taken["task"]["id"]
        self.resource: Any = paths.of_name(f"task:{self.id}")  # what its claim is on
        self.payload: Json = taken["task"].get("payload")
        self.inputs: dict[str, Json] = {}  # task that it comes after → its result
        self.token = taken["token"]
        self.claim = taken["claim"]
        self.started = clock.since_boot()
        self.used: dict[str, float | int] | None = None  # by its command, once that has ended
        self.hold = Hold(
            f"task:{self.id}", self.token, taken["expires_at"], deadline=ws.session.deadline,
            confirm=lambda: ws.confirm(self.resource, token=self.token), renew=lambda: ws.renew(self.resource),
            longest_beat=MAX_RENEWAL_INTERVAL_S,
        )  # fmt: skip
        self.watch: Callable[[], None] | None = None  # called now and then during the work
        self.poke = Event()  # progress is waiting to be reported
        self._said: tuple[int, str] | None = None  # progress that the store does not know yet
        self._saying = Lock()

    @property
    def until(self) -> int:
        """The claim's deadline, on the clock since boot."""
        return self.hold.until

    @property
    def lost(self) -> DibsError | None:
        """Why the task is no longer ours; None while it is."""
        return self.hold.lost

    @lost.setter
    def lost(self, error: DibsError) -> None:
        self.hold.lost = error

    @property
    def child(self) -> Child | None:
        """Its command, while one runs."""
        return self.hold.child

    def progress(self, percent: int, note: str = "") -> None:
        """Report progress; the latest report reaches the store soon. Raises Fenced when the task is lost."""
        if self.lost is not None:
            raise self.lost
        with self._saying:
            note = note or (self._said[1] if self._said else "")
            self._said = (max(0, min(100, int(percent))), note)
        self.poke.set()

    def heard(self, *, only_words: bool = False) -> tuple[int, str] | None:
        """The progress that was not reported to the store yet."""
        with self._saying:
            if only_words and self._said is not None and not self._said[1]:
                return None
            said, self._said = self._said, None
        return said


class Heartbeat:
    """Keeps one job at a time."""

    def __init__(self, ws: Calls) -> None:
        self.ws = ws
        self.job: Job | None = None
        self._telling = Lock()  # held during a report about the job, which cannot end meanwhile
        self._wake = Event()
        self._thread: Thread | None = None
        self._resting = False  # the thread waits for a job
        self._reported = -int(MAX_RENEWAL_INTERVAL_S * 1000)
        self._meter: Meter | None = None
        self._metered: Job | None = None  # the job whose processes it has measured
        self.trouble = ""  # an unexpected error in the thread

    def keep(self, job: Job) -> None:
        """Keep this job from now on."""
        job.poke = self._wake
        self.job = job
        if self._thread is None:
            self._thread = Thread(target=self._beat, name="dibs-heartbeat", daemon=True)
            self._thread.start()
        elif self._resting:  # else it polls within a second: a wake for each of many short tasks would cost more
            self._wake.set()

    def let_go(self) -> None:
        """End the job's heartbeats; its last progress text is reported."""
        with self._telling:
            job, self.job = self.job, None
        assert job is not None
        said = job.heard(only_words=True)
        try:
            if job.lost is None and said is not None:
                self._say_progress(job, *said)
        except DibsError:  # the next call will meet the same error
            pass

    def close(self) -> None:
        """End the thread."""
        thread, self._thread = self._thread, None
        if thread is not None:
            self._wake.set()
            thread.join(timeout=CONFIRM_INTERVAL_S)

    def _beat(self) -> None:
        """The thread: keep one job after the other."""
        while self._thread is not None:
            self._resting = True
            job = self.job
            if job is None:
                self._wake.wait()
                self._wake.clear()
                continue
            self._resting = False
            while self.job is job:
                poked = self._wake.wait(min(CONFIRM_INTERVAL_S, job.hold.beat))
                self._wake.clear()
                with self._telling:
                    if self.job is job:
                        self._attend(job)
                if poked and self.job is job:  # limits a command with many reports
                    clock.sleep(PROGRESS_INTERVAL_S)

    def _attend(self, job: Job) -> None:
        """One heartbeat of a job."""
        try:
            if job.watch is not None:
                job.watch()
            said = job.heard() if job.lost is None else None
            job.hold.attend((lambda: self._say_progress(job, *said)) if said is not None else None)
            if job.lost is None:
                self._report_usage(job)
        except DibsError:  # of its usage, which is optional
            pass
        except Exception as error:  # noqa: BLE001 - a defect must not end the heartbeats: then every task would be lost
            self.trouble = f"{type(error).__name__}: {error}"

    def _say_progress(self, job: Job, percent: int, note: str) -> str:
        """Report to the store, which renews the claim; returns the new deadline."""
        answer = self.ws.task_progress(job.id, percent, token=job.token, note=clean(note) or None)
        expires_at: str = answer["expires_at"]
        return expires_at

    def _report_usage(self, job: Job) -> None:
        """Record now and then what this process and its command use, in the task's run.

        The first measurement of a process has no load, so it takes two; the usage of shorter tasks is recorded at their
        end (worker.py).
        """
        run = job.task.get("run")
        if not run or clock.since_boot() - self._reported < MAX_RENEWAL_INTERVAL_S * 1000:
            return
        from dibs.machine import usage

        if not usage.CAN_METER:
            return
        if self._meter is None or self._metered is not job:
            self._meter, self._metered = self._meter or usage.Meter(), job
            self._meter.read()
            return
        self._reported = clock.since_boot()
        from dibs.operations.runs.members import USAGE

        self.ws.session.run(USAGE, self.ws.caller(), {"run": run, **self._meter.read()})


def clean(text: str) -> str:
    """A line for a reason or a note: no control characters, not too long."""
    return printable(text)[:MAX_NOTE_LETTERS]
