"""`run start`: a new run, with its tasks if it brings some. runs.py has what becomes of it."""

from __future__ import annotations

from dibs.errors import Conflict, Invalid, NotFound, Quota
from dibs.operations.core.declare import Field, Operation
from dibs.operations.runs import records, runs
from dibs.operations.tasks.additions import ADD_FIELDS, MAX_TASKS_TOGETHER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.operations.core.call import Call
    from dibs.operations.runs.answers import RunStartAnswer
    from dibs.operations.runs.records import Run
    from dibs.operations.runs.requests import RunStartRequest
    from dibs.operations.tasks.additions import TaskSpec
    from dibs.stores.seam import Transaction


MAX_NAME_CHARS = 40  # of an operation's name, in its run's id


def _start(tx: Transaction, call: Call, request: RunStartRequest) -> RunStartAnswer:
    """Start a run, with its tasks if it brings some: all in one transaction."""
    phase = request["phase"]
    operation = request["name"].strip()
    if not operation:
        raise Invalid("a run needs a name: what the fleet shall do", field="name")
    run = runs.check_id(request["id"] or f"{_slug(operation)}-{tx.id()}")
    if records.get_run(tx, run) is not None:
        raise Conflict(f"there is a run {run} already; leave out --id to get a new one", run=run)
    record: Run = {
        "run": run, "operation": operation, "coordinator": call.agent, "since": tx.now, "wall": tx.wall,
        "seq": tx.tail().seq, "state": records.ACTIVE, "phase": runs.check_phase(phase),
        "phases": [(phase, tx.now, call.agent)],
        "errors": 0, "warnings": 0, "open_errors": 0, "spec": request["spec"], "ended": 0, "ended_by": "",
        "last_seq": 0, "until": 0, "archive": None,
    }  # fmt: skip
    records.put_run(tx, record)
    brought = list(request["tasks"] or ())
    event = {"operation": operation, "phase": phase, "spec": request["spec"], "tasks": len(brought)}
    tx.append("run.started", call.agent, run, {key: value for key, value in event.items() if value})
    answer: RunStartAnswer = {"run": runs.shown(tx, record)}
    if request["tasks"] is not None:
        answer["tasks"] = _bring(tx, call, run, brought)
    return answer


def _slug(name: str) -> str:
    """An operation's name as the beginning of an id."""
    kept = "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in name[: MAX_NAME_CHARS * 2])
    words = [word for word in kept.split("-") if word]
    return "-".join(words)[:MAX_NAME_CHARS].strip("-") or "run"


def _bring(tx: Transaction, call: Call, run: str, specs: Sequence[TaskSpec]) -> list[str]:
    """Add the tasks that a run starts with."""
    from dibs.operations.tasks import additions, workforce

    added = additions.create_all(tx, call, [{**spec, "run": run} for spec in specs])
    workforce.wake(tx, added)
    return [task["task"] for task in added]


OPERATIONS = (
    Operation(
        "run start",
        _start,
        "Start a run: one job of the whole fleet.",
        group="runs",
        fields=(
            Field("name", "text", "what the fleet will do", positional=True, required=True, metavar="NAME"),
            Field("id", "text", "its id (else one is made from the name)", default="", metavar="ID"),
            Field(
                "phase",
                "choice",
                "its first phase (default discovery)",
                default=runs.PHASES[0],
                choices=runs.PHASES,
            ),
            Field("spec", "text", "its source: a file's digest or name", default="", metavar="TEXT"),
            Field(
                "tasks",
                "json",
                "JSON list of tasks, same fields as `task add`",
                metavar="JSON",
                items=ADD_FIELDS,
                most=MAX_TASKS_TOGETHER,
            ),
        ),
        errors=(Invalid, Conflict, NotFound, Quota),
        rank="agent",
        answer="RunStartAnswer",
    ),
)
