"""Tasks of a home-made registry (`.agent/registry/STATE/TASK`), as tasks of the queue that its scripts act on.

- import: each file becomes a task in its state, with its text as payload; a complete one is added as complete. An
  existing task stays as it is: an id that both have is one task. A retry changes nothing.
- a claim on the task's name from before the task existed becomes the task's own, with the same holder and deadline.
- take: like `task claim`, also of a scoped task, which is planned on the way in the same transaction. One task for each
  agent, as everywhere. A scoped task that comes back unfinished is scoped again (`origin`).
- adopt: a claimed file that was made by hand; the agent that it names has the task for the rest of its time. That
  records what happened, so no limit of tasks refuses it; a live claim of another agent does.
- give back, finish: only by the holder.
- crash: one transaction each, so all or nothing; the next script repairs the files.
"""

from __future__ import annotations

from dibs.errors import Conflict, Fenced, Forbidden, Held, Invalid, Killed, NotFound, Quota
from dibs.operations.agents.records import get_agent
from dibs.operations.claims import endings, resources, views
from dibs.operations.claims import records as claim_records
from dibs.operations.core import long_jobs
from dibs.operations.core.call import iso, related, with_jobs
from dibs.operations.core.declare import ANYWHERE, HOSTS, Field, Operation
from dibs.operations.tasks import additions, due_tasks, holders, lifecycle, outcomes, pulls, records, workforce
from dibs.operations.tasks.lifecycle import COMPLETE, DISCOVERY, EXECUTING, PLANNED, SCOPED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypedDict

    from dibs.errors import DibsError
    from dibs.operations.claims.records import Claim
    from dibs.operations.core.call import Call, JobsLeft
    from dibs.operations.tasks.additions import TaskSpec
    from dibs.operations.tasks.answers import TaskAnswer, TaskState, TaskTakeAnswer
    from dibs.operations.tasks.outcomes import Work
    from dibs.operations.tasks.records import Task
    from dibs.operations.tasks.requests import (
        RegistryAdoptRequest,
        RegistryImportRequest,
        RegistryLookRequest,
        RegistryMoveRequest,
        RegistryReleaseRequest,
        RegistrySettleRequest,
        RegistryTakeRequest,
    )
    from dibs.stores.seam import Transaction

    class ImportAnswer(TypedDict):
        """Of `registry import`."""

        tasks: list[str]  # those that were added

    class GivenBackAnswer(TypedDict):
        """Of `registry release`."""

        done: bool
        holder: str  # another agent, whose task it is

    class SettledAnswer(TypedDict):
        """Of `registry settle`."""

        scoped: list[str]  # the tasks that are scoped again

    class TaskStanding(TypedDict):
        """A task, as the scripts need it."""

        state: str  # "" for a name that is only claimed
        origin: str
        holder: str
        known_as: str  # the id by which scripts know the holder
        since: str | None

    class RegistryLook(TypedDict):
        """Of `registry look`."""

        tasks: dict[str, TaskStanding]


MANUAL_STATES: tuple[TaskState, ...] = (
    DISCOVERY,
    SCOPED,
    PLANNED,
)  # the states between which people move files, in their order
MAX_TASKS_READ = 1_000  # in one call
MAX_HELD_MS = 86_400_000  # for a claim that was made with files; after half an hour it is stale


# --- coming in


def _import(tx: Transaction, call: Call, request: RegistryImportRequest) -> ImportAnswer:
    """Add the missing tasks, all or none."""
    added = []
    known = records.get_tasks(tx, [lifecycle.check_id(spec["id"]) for spec in request["tasks"]])
    for place, spec in enumerate(request["tasks"]):
        if known[spec["id"]] is None:
            added.append(_join(tx, call, spec, place)["task"])
    return {"tasks": added}


def _join(tx: Transaction, call: Call, spec: TaskSpec, place: int = 0) -> Task:
    """The task of a file; made if it is missing; then the holder of its name has it."""
    _SPECS.check([spec])
    complete = spec["state"] == COMPLETE
    fields: TaskSpec = {
        "id": spec["id"], "title": spec["title"], "payload": spec.get("payload"),
        "state": PLANNED if complete else spec["state"],
    }  # fmt: skip
    task, _ = additions.create(tx, call, fields, place, complete=complete)
    if task["named"] and not complete:
        _convert(tx, call, task)
    if task["state"] == PLANNED:
        workforce.wake(tx, [task])
    return task


def _convert(tx: Transaction, call: Call, task: Task) -> None:
    """Turn a claim on the name alone into the task's claim."""
    name = lifecycle.resource_of(task["task"])
    claims = claim_records.overlapping_claims(tx, [name], "")
    live = [claim for claim in claims if claim["mode"] == resources.WRITE and claim["until"] > tx.now]
    for claim in endings.living(tx, call, [record for record in live if name in record["resources"]])[:1]:
        endings.give_back(tx, claim, [name], "upgraded")
        origin = _plan(tx, claim["agent"], task)
        pulls.grant(tx, call, task, agent=claim["agent"], left=claim["until"] - tx.now, origin=origin)


def _plan(tx: Transaction, agent: str, task: Task) -> str:
    """Plan a task that no agent has, so that it can be taken; returns its origin."""
    before = task["state"]
    for state in MANUAL_STATES[MANUAL_STATES.index(before) + 1 :]:
        lifecycle.move(tx, agent, task, state)
    return SCOPED if before != PLANNED else task["origin"]


# --- what the scripts do


def _take(tx: Transaction, call: Call, request: RegistryTakeRequest) -> TaskTakeAnswer | DibsError:
    """`claim_task.sh`."""
    spec = request["spec"]
    due_tasks.promote(tx, call)
    task = holders.find(tx, spec["id"])
    if task is None:
        if spec.get("state") != SCOPED:
            raise NotFound(f"there is no task {spec['id']} to be claimed", task=spec["id"])
        task = _join(tx, call, spec)
    return pulls.take(tx, call, task, origin=SCOPED)


def _adopt(tx: Transaction, call: Call, request: RegistryAdoptRequest) -> TaskTakeAnswer | DibsError:
    """A claimed file that names the caller."""
    spec = request["spec"]
    task = holders.find(tx, spec["id"]) or _join(tx, call, spec)
    if task["state"] == EXECUTING:
        return pulls.take(tx, call, task)
    state = long_jobs.as_counted(tx, task, long_jobs.going(tx))["state"]
    if state not in MANUAL_STATES or state != task["state"]:
        raise Conflict(f"task {spec['id']} is {state}", task=spec["id"], state=state)
    blocker = workforce.early_claim(tx, call, task)
    if blocker is not None:
        return Held(blockers=[views.blocker(tx, blocker, [lifecycle.resource_of(spec["id"])])], more=0)
    origin = _plan(tx, call.agent, task)
    return pulls.grant(tx, call, task, left=request["left"], held=request["held"], origin=origin)


def _give_back(tx: Transaction, call: Call, request: RegistryReleaseRequest) -> GivenBackAnswer | JobsLeft | Fenced:
    """`release_task.sh`: unfinished, back to where it came from; or complete."""
    task = records.load_task(tx, request["id"])
    claim = holders.live_claim(tx, task)
    if claim is None or not related(claim["agent"], call.agent):
        tx.append("call.refused", call.agent, f"task:{task['task']}", {"code": "fenced" if claim else "not_found"})
        return {"done": False, "holder": claim["agent"] if claim is not None else ""}
    if request["state"] == COMPLETE:
        jobs: list[str] = []
        work: Work = {"id": task["task"], "token": claim["token"], "result": None}
        finished = outcomes.finish(tx, call, work, jobs)
        answer: GivenBackAnswer = {"done": True, "holder": ""}
        return finished if isinstance(finished, Fenced) else with_jobs(answer, jobs)
    task = outcomes.returned(tx, task, claim)
    _again_scoped(tx, call, task)
    return {"done": True, "holder": ""}


def _again_scoped(tx: Transaction, call: Call, task: Task) -> bool:
    """A scoped task that came back unfinished is scoped again."""
    if task["state"] != PLANNED or task["origin"] != SCOPED:
        return False
    lifecycle.move(tx, call.agent, task, SCOPED)
    task.update({"origin": "", "assigned": None, "window": 0, "not_before": 0})
    records.put_task(tx, task)
    return True


def _settle(tx: Transaction, call: Call, request: RegistrySettleRequest) -> SettledAnswer:
    """`check_stale.sh`: expired and lost claims end now, and tasks that were scoped are scoped again."""
    tasks = [task for task in records.get_tasks(tx, list(request["ids"])).values() if task is not None]
    claims = [claim for task in tasks if (claim := holders.live_claim(tx, task, over=True)) is not None]
    over = [claim for claim in claims if claim["until"] <= tx.now]
    endings.clear(tx, call, over, endings.gone(tx, call, [claim for claim in claims if claim["until"] > tx.now]))
    back = [task for task in records.get_tasks(tx, list(request["ids"])).values() if task is not None]
    return {"scoped": [task["task"] for task in back if _again_scoped(tx, call, task)]}


def _move(tx: Transaction, call: Call, request: RegistryMoveRequest) -> TaskAnswer:
    """A file was moved by hand to another state: the task follows, if no agent has it."""
    state = request["state"]
    task = records.load_task(tx, request["id"])
    if state not in MANUAL_STATES or task["state"] not in MANUAL_STATES:
        raise lifecycle.refuse_move(task, state)
    here, there = MANUAL_STATES.index(task["state"]), MANUAL_STATES.index(state)
    way = MANUAL_STATES[here + 1 : there + 1] if there > here else MANUAL_STATES[there:here][::-1]
    for step in way:
        lifecycle.move(tx, call.agent, task, step)
    task.update({"origin": "", "assigned": None, "window": 0})
    records.put_task(tx, task)
    if state == PLANNED:
        workforce.wake(tx, [task])
    return {"task": lifecycle.shown(tx, task)}


def _look(tx: Transaction, call: Call, request: RegistryLookRequest) -> RegistryLook:
    """The state and holder of each task; a claim on the name alone counts. Unknown tasks are left out."""
    views: dict[str, TaskStanding] = {}
    for name, task in records.get_tasks(tx, list(request["ids"])[:MAX_TASKS_READ]).items():
        claim = None
        if task is None or task["state"] == EXECUTING or task["named"]:
            claim = _holder(tx, call, name)
        if task is not None or claim is not None:
            views[name] = {"state": "", "origin": "", "holder": "", "known_as": "", "since": None}
        if task is not None:
            views[name].update({"state": task["state"], "origin": task["origin"]})
        if claim is not None:
            holder, since = claim["agent"], iso(tx, claim["since"])
            views[name].update({"holder": holder, "known_as": _known_as(tx, holder), "since": since})
    return {"tasks": views}


def _holder(tx: Transaction, call: Call, name: str) -> Claim | None:
    claims = claim_records.overlapping_claims(tx, [lifecycle.resource_of(name)], "")
    live = [claim for claim in claims if claim["until"] > tx.now]
    return next(iter(endings.living(tx, call, [claim for claim in live if claim["mode"] != resources.WATCH])), None)


def _known_as(tx: Transaction, agent: str) -> str:
    """The id by which the scripts know an agent."""
    record = get_agent(tx, agent)
    also = record.get("also", ()) if record is not None else ()
    return str(also[-1]) if also else agent


_ERRORS = (Conflict, Fenced, Forbidden, Held, Invalid, Killed, NotFound, Quota)
_ID = Field("id", "text", "the task's id", required=True)
_SPECS = Field(
    "tasks", "json", "tasks as files have them", required=True, least=1, most=additions.MAX_TASKS_TOGETHER,
    items=(
        *[field for field in additions.ADD_FIELDS if field.name in {"title", "payload"}],
        _ID,
        Field("state", "choice", "the folder it lies in", choices=(*additions.INITIAL_STATES, COMPLETE), required=True),
    ),
)  # fmt: skip
IMPORT = Operation(
    "registry import",
    _import,
    "Add the tasks of a registry.",
    sent_by=ANYWHERE,
    fields=(_SPECS,),
    errors=_ERRORS,
    rank="agent",
)
_SPEC = Field(
    "spec", "object", "a task as its file has it", required=True,
    items=tuple([field for field in _SPECS.items if field.name == "id"])
    + tuple([Field(field.name, field.kind, field.help, choices=field.choices, longest=field.longest)
             for field in _SPECS.items if field.name != "id"]),
)  # fmt: skip
_IDS = Field("ids", "words", "the tasks", required=True)
_STATE = Field("state", "text", "the folder it goes to", required=True)
TAKE = Operation(
    "registry take",
    _take,
    "Claim a task for a script.",
    sent_by=ANYWHERE,
    fields=(_SPEC,),
    errors=_ERRORS,
    takes=True,
    rank="worker",
)
ADOPT = Operation(
    "registry adopt", _adopt, "Record a claim that was made with files.", sent_by=HOSTS,
    fields=(
        _SPEC,
        Field("left", "duration", "the rest of its time", required=True),
        Field("held", "duration", "how long the agent has had it", default=0, least=0, most=MAX_HELD_MS),
    ),
    errors=_ERRORS, takes=True,
)  # fmt: skip
GIVE_BACK = Operation(
    "registry release", _give_back, "Give a task back, or finish it.", sent_by=ANYWHERE, fields=(_ID, _STATE),
    errors=_ERRORS, ahead=outcomes.ahead,
)  # fmt: skip
SETTLE = Operation(
    "registry settle", _settle, "End expired and lost claims.", sent_by=HOSTS, fields=(_IDS,), errors=_ERRORS
)
MOVE = Operation(
    "registry move", _move, "Follow a file that was moved by hand.", sent_by=HOSTS, fields=(_ID, _STATE), errors=_ERRORS
)
LOOK = Operation(
    "registry look", _look, "The states and holders of these tasks.", sent_by=ANYWHERE, fields=(_IDS,), writes=False
)

INTERNAL = (IMPORT, TAKE, ADOPT, GIVE_BACK, SETTLE, MOVE, LOOK)
