"""What a report reads of a run besides its records: which run is meant, and its tasks with all they contain."""

from __future__ import annotations

from dibs import jsontext
from dibs.operations.core.declare import ANYWHERE, Field, Operation
from dibs.operations.runs import runs
from dibs.operations.tasks import records as task_records
from dibs.stores.seam import KEYS_PER_FETCH

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypedDict

    from dibs.operations.core.call import Call
    from dibs.operations.runs.records import Run
    from dibs.operations.runs.requests import RunChosenRequest, RunTasksRequest
    from dibs.stores.seam import Transaction

    class TaskPage(TypedDict):
        """A page of a run's tasks."""

        lines: list[str]  # a task with its payload and result, as JSON text
        after: str  # the last one, after which the next page begins
        more: bool


MAX_LETTERS = 4 * 1024 * 1024  # of one page of tasks; the next page continues


def _chosen(tx: Transaction, _: Call, request: RunChosenRequest) -> dict[str, Run]:
    """The named run, else the only active one, else the one that ended last."""
    return {"run": runs.chosen(tx, request["run"], reading=True)}


def _tasks(tx: Transaction, _: Call, request: RunTasksRequest) -> TaskPage:
    """Each task with its whole payload and result as JSON text; a page at a time, since all may not fit into memory."""
    prefix = task_records.run_prefix(request["run"])
    after = prefix + request["after"] if request["after"] else ""
    rows, truncated = task_records.keys_below(tx, prefix, KEYS_PER_FETCH // 4, after)
    names = [task_records.end_of(key) for key in rows]
    kinds = (task_records.task_key, task_records.payload_key, task_records.result_key)
    values = tx.get_many([key_of(name) for name in names for key_of in kinds])
    lines: list[str] = []
    letters, last = 0, ""
    for name in names:
        stored, payload, result = [values[key_of(name)] for key_of in kinds]
        if stored is not None:
            lines.append(jsontext.encode({**task_records.with_defaults(stored), "payload": payload, "result": result}))
            letters += len(lines[-1])
        last = name
        if letters > MAX_LETTERS:
            break
    return {"lines": lines, "after": last, "more": truncated or (bool(names) and last != names[-1])}


CHOSEN = Operation(
    "run chosen", _chosen, "Which run is meant?", sent_by=ANYWHERE,
    fields=(Field("run", "text", "the run", default=""),), writes=False,
)  # fmt: skip
TASKS = Operation(
    "run tasks", _tasks, "Read a run's tasks with all they contain.", sent_by=ANYWHERE,
    fields=(Field("run", "text", "the run", required=True), Field("after", "text", "continue after it", default="")),
    writes=False,
)  # fmt: skip

INTERNAL = (CHOSEN, TASKS)
