"""Ends of runs: refused while tasks are open, archived, and later purged with the run's tasks.

- success: the run takes no more work; the coordinator's claims for it are released.
- refusal: `conflict` while tasks are open, unless forced (then they are cancelled and their agents told), and with
  `--strict` while a gate of quality_gates.py fails. The log has the refusal.
- retry: ending an ended run changes nothing, so an end whose archive failed can be repeated.
- many tasks: a job (long_jobs.py) ends a run of more than RECORDS_PER_STEP tasks. Forced, the run has ended with the
  first commit and its open tasks count as cancelled from then on; the steps cancel them, the last one logs the end. Not
  forced, the steps first look for an open task: until the last of them the run takes nothing new, and then it has
  ended, or it is as it was and the end is refused.
- after `runs.keep` a sweep deletes the run and its tasks in parts; a task that was planned again meanwhile stays,
  without a run. The archive is a file and stays too.
- crash: the end, the record of the archive and each part of a purge are one transaction each.
"""

from __future__ import annotations

from dibs.errors import Conflict, DibsError, Invalid, Killed, NotFound, from_parts, quoted
from dibs.operations.core import long_jobs
from dibs.operations.core.call import with_jobs
from dibs.operations.core.declare import ANYWHERE, Field, Operation
from dibs.operations.core.policy import MAX_DURATION_MS
from dibs.operations.runs import records, run_views, runs
from dibs.operations.tasks import lifecycle
from dibs.operations.tasks import records as task_records

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NotRequired

    from dibs.operations.core.call import Call, JobsLeft
    from dibs.operations.core.records import PurgeJob, RunEndJob
    from dibs.operations.runs.answers import RunArchivedAnswer, RunEndAnswer, RunPurgeAnswer
    from dibs.operations.runs.records import Run, RunArchive
    from dibs.operations.runs.requests import RunArchivedRequest, RunEndRequest, RunPurgeRequest
    from dibs.operations.tasks.records import Task
    from dibs.stores.seam import Json, Transaction

    class EndAnswer(RunEndAnswer):
        """The answer, with the job that goes on."""

        jobs: NotRequired[list[str]]


ROWS_PER_SWEEP = 16  # deleted by one sweep of another agent's claim


# --- end


def _end(tx: Transaction, call: Call, request: RunEndRequest) -> EndAnswer | JobsLeft | DibsError:
    """End a run. The door writes the archive, and records it afterwards (ARCHIVED)."""
    run, force, keep = request["run"], request["force"], request["keep"]
    record = runs.load(tx, run) if run else runs.chosen(tx, run)
    if record["state"] == records.ENDED and not record.get("ending"):
        if keep is not None:
            record["until"] = tx.now + keep
            records.put_run(tx, record)
        return {"run": runs.shown(tx, record), "existing": True, "cancelled": [], "count": 0, "released": []}
    if record.get("ending"):
        return with_jobs(_ended(tx, record, [], []), [record["ending"]])
    many = task_records.keys_below(tx, task_records.run_prefix(record["run"]), long_jobs.RECORDS_PER_STEP)[1]
    still: list[Task] = []
    if not many:
        still = [task for task in run_views.tasks(tx, record["run"]) if task["state"] not in lifecycle.FINAL_STATES]
    if still and not force:
        return _refuse(tx, call.agent, record, _open(record, still))
    if request["strict"]:
        from dibs.operations.runs.quality_gates import check_before_end

        failed = [gate for gate in check_before_end(tx, call, record) if not gate["passed"]]
        if failed:
            text = f"run {record['run']}: {failed[0]['name']}: {failed[0]['why']}. Without --strict it ends anyway."
            return _refuse(tx, call.agent, record, Conflict(text, run=record["run"], gates=failed))
    kept = call.policy.work["runs"]["keep"] if keep is None else keep
    job: RunEndJob = long_jobs.new(
        tx, "run end", call.agent, run=record["run"], force=force, keep=kept, after="",
        why=f"run {record['run']} was ended",
    )  # fmt: skip
    record["ending"] = job["job"]
    if force:
        record["state"], record["ended"], record["ended_by"] = records.ENDED, tx.now, call.agent
    records.put_run(tx, record)
    jobs = long_jobs.begin(tx, job)
    return with_jobs(_ended(tx, record, job["names"], []), jobs) if jobs else _answer(job)


def _answer(job: RunEndJob) -> EndAnswer | DibsError:
    """The answer of a job that its first step has finished."""
    answer: Json = job["answer"]
    if "error" in answer:
        return from_parts(answer["error"])
    ended: EndAnswer = answer
    return ended


def _asks(tx: Transaction, call: Call, request: RunEndRequest | RunPurgeRequest) -> tuple[str, list[str]]:
    """The coordinator of a run ends and purges it; otherwise an orchestrator."""
    run = request["run"]
    if run:
        record = records.get_run(tx, runs.check_id(run))
    else:
        try:
            record = runs.chosen(tx, run)
        except DibsError:  # none, or which? Told to those alone who may end one
            record = None
    return ("", []) if record is None else ("orchestrator", [record["coordinator"]])


def _ended(tx: Transaction, run: Run, cancelled: list[str], released: list[str]) -> EndAnswer:
    return {"run": runs.shown(tx, run), "existing": False, "cancelled": cancelled, "released": released}


def step(tx: Transaction, job: RunEndJob, room: int) -> int:
    """One step of the end of a run: check, or cancel, up to `room` of its tasks; the last step ends it."""
    from dibs.operations.tasks import cancellations

    record = runs.load(tx, job["run"])
    prefix = task_records.run_prefix(job["run"])
    if job["force"]:
        used = cancellations.members_step(tx, job, prefix, room)
        used += cancellations.below(tx, job, room - used)
    else:
        keys, _ = task_records.keys_below(tx, prefix, room, job["after"])
        used = len(keys)
        tasks = task_records.get_tasks(tx, [task_records.end_of(key) for key in keys]).values()
        still = [task for task in tasks if task is not None and task["state"] not in lifecycle.FINAL_STATES]
        if still:
            del record["ending"]
            records.put_run(tx, record)
            long_jobs.refuse(job, _refuse(tx, job["by"], record, _open(record, still, some=True)))
            return 0
        job["after"] = keys[-1] if keys else job["after"]
    if used < room:
        _end_now(tx, job, record)
    return used


def _end_now(tx: Transaction, job: RunEndJob, record: Run) -> None:
    """End a run that has no open tasks any more."""
    released = _release(tx, record)
    del record["ending"]
    record["state"], record["ended"], record["ended_by"] = records.ENDED, tx.now, job["by"]
    record["last_seq"], record["until"] = tx.tail().seq, tx.now + job["keep"]
    records.put_run(tx, record)
    event = {"cancelled": job["done"], "released": released[:100]}
    tx.append("run.ended", job["by"], record["run"], {name: value for name, value in event.items() if value})
    job["answer"] = {**_ended(tx, record, job["names"], released), "count": job["done"]}


def _refuse(tx: Transaction, by: str, run: Run, error: Conflict) -> Conflict:
    tx.append("run.refused", by, run["run"], {"code": error.code})
    return error


def _open(run: Run, still: list[Task], *, some: bool = False) -> Conflict:
    """The refusal to end a run with open tasks; `some`: there may be more of them."""
    counted: dict[str, int] = {}
    for task in still:
        counted[task["state"]] = counted.get(task["state"], 0) + 1
    said = ", ".join(f"{number} {state}" for state, number in sorted(counted.items()))
    least = "at least " if some else ""
    text = (
        f"run {run['run']} has open tasks ({least}{said}). Wait for them, cancel them, or end it with --force, which "
        "cancels them."
    )
    return Conflict(text, run=run["run"], tasks=[task["task"] for task in still[:100]], states=counted)


def _release(tx: Transaction, run: Run) -> list[str]:
    """Release the claims of the coordinator and its subagents for this run."""
    from dibs.operations.claims import endings, resources
    from dibs.operations.claims import records as claim_records

    freed: list[Sequence[str]] = []
    names: list[str] = []
    for claim in claim_records.claims_of(tx, run["coordinator"], family=True):
        if run_views.is_for(tx, run, claim):
            endings.give_back(tx, claim, claim["resources"], "released")
            freed += claim["resources"]
            names += resources.shown(claim["resources"])
    endings.serve(tx, freed)
    return names


def _archived(tx: Transaction, call: Call, request: RunArchivedRequest) -> RunArchivedAnswer:
    """Record where a run's archive is."""
    record = runs.load(tx, request["run"])
    archive: RunArchive = {"file": request["file"], "sha256": request["sha256"], "size": request["size"]}
    if record["archive"] != archive:
        record["archive"] = archive
        records.put_run(tx, record)
        tx.append("run.archived", call.agent, request["run"], archive)
    return {"run": runs.shown(tx, record)}


# --- purge


def _purge(tx: Transaction, call: Call, request: RunPurgeRequest) -> RunPurgeAnswer | JobsLeft | Conflict:
    """Purge an ended run and its tasks now."""
    run = request["run"]
    record = runs.load(tx, run)
    if record["state"] != records.ENDED or record.get("ending"):
        how = "being ended" if record.get("ending") else "active"
        text = f"run {run} is {how}; `dibs run end --run {quoted(run)}` ends it first."
        return _refuse(tx, call.agent, record, Conflict(text, run=run, state=record["state"]))
    shown = runs.shown(tx, record)
    jobs = long_jobs.begin(tx, long_jobs.new(tx, "run purge", call.agent, run=run))
    answer: RunPurgeAnswer = {"run": shown, "more": bool(jobs)}
    return with_jobs(answer, jobs)


def purge_step(tx: Transaction, job: PurgeJob, room: int) -> int:
    """Delete up to `room` rows of a run; a sweep may have deleted the last of them."""
    record = records.get_run(tx, job["run"])
    job["answer"] = {"more": False}
    if record is None or record["state"] != records.ENDED:
        return 0
    return 0 if drop(tx, record, room, job["by"]) else room


def came_due(tx: Transaction, run: Run) -> bool:
    """A sweep found a run that is due: delete some of it. Returns whether all of it is gone."""
    return drop(tx, run, ROWS_PER_SWEEP, run["ended_by"])


def drop(tx: Transaction, run: Run, limit: int, by: str) -> bool:
    """Delete up to `limit` rows of a run, and the run itself with the last of them; returns whether it is gone."""
    name = run["run"]
    keys, cut = task_records.keys_below(tx, task_records.run_prefix(name), limit)
    room = limit
    for key in keys:
        used = _drop_task(tx, by, key, room)
        room -= used
        if room <= 0:
            cut = True
            break
        run["purged"] = run.get("purged", 0) + 1
    if cut:
        run["until"] = min(run["until"], tx.now)  # due, so that the next sweep continues
        records.put_run(tx, run)
        return False
    records.delete_run(tx, name, 2 * runs.MAX_NOTES)
    tx.append("run.purged", by, name, {"tasks": run.get("purged", 0)})
    return True


def _drop_task(tx: Transaction, by: str, row: str, room: int) -> int:
    """Delete a finished task. One that was planned again, or that other tasks wait for, stays without a run.

    Returns how many rows that took; `room` or more means that the rest is left for the next step.
    """
    task = task_records.get_task(tx, task_records.end_of(row))
    used = 1
    if task is not None:
        if task["state"] == lifecycle.COMPLETE and task_records.has_dependents(tx, task["task"]):
            from dibs.operations.tasks import outcomes  # a job has yet to unblock the tasks after it

            used += outcomes.release_dependents(tx, task["task"], room)[0]
        if used < room and task["state"] in lifecycle.FINAL_STATES and not _waited_for(tx, task):
            used += task_records.delete_task(tx, task, room - used)
        elif used < room:
            task_records.put_task(tx, {**task, "run": ""})
            tx.append("task.kept", by, task["task"], {"run": task["run"]})
    if used < room:
        tx.delete(row)
    return used


def _waited_for(tx: Transaction, task: Task) -> bool:
    """Does a task outside, or a parent, wait for a failed or cancelled task? Only that one can be planned again."""
    if task["state"] == lifecycle.COMPLETE:
        return False
    if task_records.has_dependents(tx, task["task"]):
        return True
    if not task["parent"] or task["state"] == lifecycle.CANCELLED:
        return False
    parent = task_records.get_task(tx, task["parent"])
    return parent is not None and parent["run"] != task["run"]


# Not in the catalogue: for the door that wrote the archive.
ARCHIVED = Operation(
    "run archived",
    _archived,
    "Record where a run's archive is.",
    rank="agent",
    sent_by=ANYWHERE,
    fields=(
        Field("run", "text", "the run", required=True),
        Field("file", "text", "the archive, below .dibs/local/", required=True),
        Field("sha256", "text", "its digest", required=True),
        Field("size", "integer", "its bytes", required=True),
    ),
    errors=(NotFound,),
    answer="RunArchivedAnswer",
)

INTERNAL = (ARCHIVED,)
OPERATIONS = (
    Operation(
        "run end",
        _end,
        "End a run.",
        group="runs",
        fields=(
            runs.RUN_FIRST,
            Field("archive", "flag", "write its report, tasks and events to .dibs/local/runs/", default=False),
            Field(
                "keep",
                "duration",
                "how long to keep it before it is purged (default: the config's)",
                most=MAX_DURATION_MS,
                metavar="D",
            ),
            Field("force", "flag", "cancel its open tasks", default=False),
            Field("strict", "flag", "refuse while a quality gate fails", default=False),
        ),
        errors=(NotFound, Conflict, Invalid, Killed),
        rank="agent",
        max_rank="orchestrator",
        required_rank=_asks,
        answer="RunEndAnswer",
        destructive=True,
        around="archive",
    ),
    Operation(
        "run purge",
        _purge,
        "Drop an ended run and its tasks now; its archive stays.",
        group="runs",
        fields=(Field("run", "text", "the run", positional=True, required=True, metavar="RUN"),),
        errors=(NotFound, Conflict),
        rank="agent",
        max_rank="orchestrator",
        required_rank=_asks,
        answer="RunPurgeAnswer",
        destructive=True,
    ),
)
