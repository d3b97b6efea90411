"""Jobs: work that is too long for one transaction, decided in the first and done in steps that block nobody for long.

Cancelling 50,000 tasks, ending a run with as many, unblocking all tasks after one, releasing thousands of claims: each
is a job. Its record is written in the transaction that decides it, and each step is one transaction of at most
RECORDS_PER_STEP records. Nothing is decided twice, and every rule stays with its subject: this file only keeps the
record.

- success: the operation's outcome names the job (`JobsLeft`); the caller runs `CONTINUE` until it is done, and gets the
  job's part of the answer. Short work is done in the first transaction and leaves no record.
- visible to others: a task that a job cancels counts as cancelled from the job's first commit on. `task next` and `task
  claim` do not give it, its holder's result is refused, it gets no children (`covering`). A task whose last dependency
  is complete becomes ready with its step; `task next` takes a step before it answers "nothing".
- crash: the record stays. The next `task next`, `task claim` or `sweep` continues it after ABANDONED_MS without a step;
  so does a retry of the call, whose request id has the first answer with the same job.
- race: two processes may continue one job; each step is a transaction, and begins after the last one.
- the answer of a finished job is kept for a day (KEPT_MS), for a late caller.
"""

from __future__ import annotations

from dibs.errors import DibsError, NotFound, from_parts
from dibs.operations.core import records
from dibs.operations.core.call import FOLLOW_UPS
from dibs.operations.core.declare import NEAR, Field, Operation
from dibs.operations.tasks import lifecycle
from dibs.operations.tasks.records import get_task

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeGuard

    from dibs.operations.core.call import Call
    from dibs.operations.core.records import CancelJob, CancellingJob, FinishedJob, Job, RaceJob, RunEndJob
    from dibs.operations.core.requests import GoOnRequest
    from dibs.operations.runs.answers import JobAnswer
    from dibs.operations.tasks.records import Task
    from dibs.stores.seam import Json, Transaction

RECORDS_PER_STEP = 100  # read and written in one transaction: 5 to 8 ms on SQLite, more on a busy machine
MIN_RECORDS_PER_STEP = 20  # on a slow machine
MAX_IDS_LISTED = 1_000  # in an answer, which also has the total
ABANDONED_MS = 3_000  # without a step for this long, another process continues a job
KEPT_MS = 24 * 3_600_000  # as long as the answer to a request id
JOBS_PER_TRIP = 64  # there is hardly ever one
MAX_GENERATIONS = 1_000  # ancestors of a task that are checked for a job that cancels it


def new(tx: Transaction, kind: str, by: str, **more: Json) -> Json:
    """A job that has not begun; `more` are the fields of its kind."""
    return {"job": f"j{tx.id()}", "kind": kind, "by": by, "at": tx.now, "done": 0, "names": [], "answer": {}, **more}


def begin(tx: Transaction, job: Job, room: int = 0) -> list[str]:
    """Take a job's first step. Returns its id in a list if there is more to do, for the answer (`with_jobs`)."""
    if _step(tx, job, room or RECORDS_PER_STEP):
        return []
    _put(tx, job)
    return [job["job"]]


def count(job: Job, *names: str) -> None:
    """Count what a step has done; the first ids are for the answer."""
    job["done"] += len(names)
    job["names"] += names[: max(0, MAX_IDS_LISTED - len(job["names"]))]


def going(tx: Transaction) -> list[Job]:
    """The unfinished jobs."""
    return records.get_running_jobs(tx, JOBS_PER_TRIP)


def is_job(record: Json) -> TypeGuard[Job]:
    """Is this record, among the first due ones, a job?"""
    return "job" in record


def is_cancel(job: Job) -> TypeGuard[CancelJob]:
    """Does this job cancel one task and all below it?"""
    return job["kind"] == "cancel"


def is_race(job: Job) -> TypeGuard[RaceJob]:
    """Does this job cancel the other tasks of a race?"""
    return job["kind"] == "race"


def is_run_end(job: Job) -> TypeGuard[RunEndJob]:
    """Does this job end a run?"""
    return job["kind"] == "run end"


def is_abandoned(tx: Transaction, job: Job) -> bool:
    """Has no step been taken for a while? Then a caller that looks for work continues it."""
    return tx.now - job.get("touched", 0) >= ABANDONED_MS


def take_step(tx: Transaction, job: Job, room: int = 0) -> bool:
    """Take one step of a job; returns whether it is done."""
    done = _step(tx, job, room or RECORDS_PER_STEP)
    if done:
        _finish(tx, job)
    else:
        _put(tx, job)
    return done


def about_tasks(jobs: Sequence[Job]) -> list[Job]:
    """The jobs among these that change which tasks are ready."""
    return [job for job in jobs if job["kind"] in {"unblock", "cancel", "race", "run end"}]


def covering(tx: Transaction, task: Task, jobs: Sequence[Job]) -> CancellingJob | None:
    """The job that has cancelled this task although no step has reached it yet; None if there is none.

    A job cancels one task, a run's tasks or those of a race, each with all below it, but nothing below a task that was
    finished before the job began.
    """
    cancelling = [job for job in jobs if is_cancel(job) or is_race(job) or (is_run_end(job) and job["force"])]
    if not cancelling:
        return None
    chain = _chain(tx, task)
    for job in cancelling:
        for one in chain:
            if _begins_with(job, one):
                return job
            if one is not task and one["state"] in lifecycle.FINAL_STATES and one["finished"] < job["at"]:
                break
    return None


def as_counted(tx: Transaction, task: Task, jobs: Sequence[Job]) -> Task:
    """The task as it counts: cancelled from the start of a job that covers it."""
    job = covering(tx, task, jobs) if jobs and task["state"] not in lifecycle.FINAL_STATES else None
    return task if job is None else {**task, "state": lifecycle.CANCELLED, "finished": job["at"]}


def _chain(tx: Transaction, task: Task) -> list[Task]:
    """A task and its ancestors."""
    chain = [task]
    while chain[-1]["parent"] and len(chain) < MAX_GENERATIONS:
        parent = get_task(tx, chain[-1]["parent"])
        if parent is None:
            break
        chain.append(parent)
    return chain


def _begins_with(job: CancelJob | RaceJob | RunEndJob, task: Task) -> bool:
    """Is this one of the tasks that a job begins with?"""
    if is_cancel(job):
        return task["task"] == job["task"]
    if task["state"] in lifecycle.FINAL_STATES and task["finished"] < job["at"]:
        return False
    if is_race(job):
        return task["race"] == job["race"] and task["task"] != job["winner"] and task["created"] <= job["at"]
    return is_run_end(job) and task["run"] == job["run"]


# --- the record


def _step(tx: Transaction, job: Job, room: int) -> bool:
    """One step; returns whether the job is done.

    Each kind has its own function (tx, job, room) → records used: fewer than `room` only when the job is done, and then
    `job["answer"]` has its part of the operation's answer.
    """
    step = FOLLOW_UPS.job_steps[job["kind"]]
    return bool(step(tx, job, room) < room)


def _put(tx: Transaction, job: Job) -> None:
    job["touched"] = tx.now
    records.put_job(tx, job)


def _finish(tx: Transaction, job: Job) -> None:
    """Finish a job: its answer is kept for the caller."""
    finished: FinishedJob = {
        "job": job["job"], "done": job["done"], "answer": job["answer"], "until": tx.now + KEPT_MS,
    }  # fmt: skip
    records.finish_job(tx, finished)


def refuse(job: Job, error: DibsError) -> None:
    """The answer of a job that found a reason to refuse."""
    job["answer"] = {"error": error.parts()}


def _continue(tx: Transaction, call: Call, request: GoOnRequest) -> JobAnswer | DibsError:
    """Take one step of a job; `more` until it is done, then `answer` has its part of the operation's answer."""
    job, room = request["job"], request["room"]
    running, finished = records.get_job(tx, job)
    if running is not None and not take_step(
        tx, running, min(max(room, MIN_RECORDS_PER_STEP), RECORDS_PER_STEP) if room else 0
    ):
        return {"more": True, "done": running["done"], "answer": {}}
    record = running if running is not None else finished
    if record is None:
        raise NotFound(f"there is no job {job}", job=job)
    if "error" in record["answer"]:
        return from_parts(record["answer"]["error"])
    return {"more": False, "done": record["done"], "answer": record["answer"]}


# Not in the catalogue: for the door that got the job.
CONTINUE = Operation(
    "go on",
    _continue,
    "Take one step of a job.",
    sent_by=NEAR,
    fields=(
        Field("job", "text", "the job", required=True),
        Field("room", "integer", "how many records this step may take", default=0),
    ),
    errors=(NotFound,),
    answer="JobAnswer",
)

INTERNAL = (CONTINUE,)
