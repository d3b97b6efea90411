"""A turn: a worker hands in its finished tasks and takes its next ones, in one transaction.

For workers whose tasks are shorter than a commit. `max_tasks` limits how many tasks an agent may have at a time.

- success: each task handed in is finished as by `task done`, and up to `take` others are the caller's.
- refusal: a task that is no longer the caller's, or has an invalid result, is named with the reason; the others count.
- retry: with the same request id the second call gets the first answer. crash: all of the turn or nothing.
"""

from __future__ import annotations

from dibs.errors import DibsError, Fenced, Invalid, Killed
from dibs.operations.core import long_jobs
from dibs.operations.core.call import with_jobs
from dibs.operations.core.declare import Field, Operation
from dibs.operations.tasks import outcomes, pulls

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.operations.core.call import Call, JobsLeft
    from dibs.operations.tasks.answers import RefusedTask, TaskTurnAnswer
    from dibs.operations.tasks.outcomes import Work
    from dibs.operations.tasks.records import Task
    from dibs.operations.tasks.requests import TaskTurnRequest
    from dibs.stores.seam import Transaction

MAX_TASKS_PER_TURN = 100  # handed in, and taken: all other calls wait for this transaction


def _turn(tx: Transaction, call: Call, request: TaskTurnRequest) -> TaskTurnAnswer | JobsLeft:
    """Hand in what is done, take what comes next."""
    handed: list[Work] = [
        {"id": work["id"], "token": work["token"], "result": work.get("result")} for work in request["done"] or ()
    ]
    if len({work["id"] for work in handed}) < len(handed):
        raise Invalid("done: a task is listed twice", field="done")
    finished: list[str] = []
    refused: list[RefusedTask] = []
    jobs: list[str] = []
    room = max(1, long_jobs.RECORDS_PER_STEP // max(1, len(handed)))
    for work in handed:
        identifier = work["id"]
        tx.prefetch(*outcomes.reads_of(identifier))
        outcome: Task | DibsError
        try:
            outcome = outcomes.finish(tx, call, work, jobs, room)
        except DibsError as error:  # nothing of this task was written
            outcome = error
        if isinstance(outcome, DibsError):
            refused.append({"id": identifier, "code": outcome.code, "message": outcome.message})
        else:
            finished.append(identifier)
    taken = pulls.take_some(tx, call, request["run"], request["take"]) if request["take"] else []
    answer: TaskTurnAnswer = {"done": finished, "refused": refused, "tasks": taken}
    return with_jobs(answer, jobs)


_DONE = (
    Field("id", "text", "the task's id", required=True),
    Field("token", "integer", "the token under which you took it", required=True),
    Field("result", "json", "what came of it"),
)

OPERATIONS = (
    Operation(
        "task turn",
        _turn,
        "Finish tasks and take the next ones, in one transaction.",
        group="tasks",
        fields=(
            Field(
                "done",
                "json",
                "a list of objects with id, token and result",
                items=_DONE,
                most=MAX_TASKS_PER_TURN,
                metavar="JSON",
            ),
            Field(
                "take",
                "integer",
                "take up to N tasks, as far as max_tasks allows (default 1)",
                default=1,
                most=MAX_TASKS_PER_TURN,
                metavar="N",
            ),
            Field("run", "text", "take only of this run", default="", metavar="RUN"),
        ),
        errors=(Invalid, Fenced, Killed),
        rank="worker",
        answer="TaskTurnAnswer",
        takes=True,
        withdraws=True,
    ),
)
