"""Outcomes of the work on a task: done, failed, given back, split, lost; and what follows in the same transaction.

- done: needs the live token. A late caller, whose task went to another agent, is refused and told who has it. Tasks
  that waited for this one become ready; the others in its race group are cancelled.
- done with a verification (`--verify CMD`): the first call returns the command, if the task could be finished now; the
  door runs it and calls again with its outcome. On success the task is complete and keeps command, exit code, duration
  and the end of the output. Otherwise: `unverified`, and the task stays with its holder.
- done with uncommitted files of the caller: the answer names them; with `[tasks] unfinished = "refuse"` it is a
  conflict, and the task stays with its holder.
- failed, transient: back to the queue after a pause that doubles each time; after too many, quarantined.
- failed, permanent: it stays failed, and the tasks after it stay blocked, until it is planned again by hand.
- lost: the claim ended (deadline, dead process); back to the queue at once; after too many, quarantined.
- given back, preempted, the agent left or was killed: back to the queue, and it counts against nobody.
- crash: all of it or nothing; a task is never between two states.
"""

from __future__ import annotations

from dibs.errors import Conflict, Fenced, Invalid, Killed, NotFound, Unverified, quoted
from dibs.operations.agents.records import get_agent
from dibs.operations.alerts import suspicions
from dibs.operations.claims import endings
from dibs.operations.claims import records as claim_records
from dibs.operations.core import long_jobs
from dibs.operations.core.call import FOLLOW_UPS, RunCommand, check_text, iso, related, span, with_jobs, within
from dibs.operations.core.declare import ANYWHERE, Field, Operation
from dibs.operations.core.records import RUNNING_JOBS
from dibs.operations.tasks import additions, board, cancellations, lifecycle, records
from dibs.operations.tasks.lifecycle import COMPLETE, EXECUTING, FAILED, MAX_PERCENT, PLANNED, QUARANTINED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NotRequired, TypedDict, Unpack

    from dibs.errors import DibsError
    from dibs.operations.claims.records import Claim
    from dibs.operations.core.call import Call, JobsLeft
    from dibs.operations.core.declare import Ahead
    from dibs.operations.core.records import UnblockJob
    from dibs.operations.tasks.additions import TaskSpec
    from dibs.operations.tasks.answers import TaskAnswer, TaskDoneAnswer, TaskProgressAnswer, TaskSplitAnswer
    from dibs.operations.tasks.lifecycle import FailureClass
    from dibs.operations.tasks.records import Task, TaskError, Usage, Verification
    from dibs.operations.tasks.requests import (
        RegistryReleaseRequest,
        TaskDoneRequest,
        TaskFailRequest,
        TaskKeepRequest,
        TaskProgressRequest,
        TaskReleaseRequest,
        TaskSplitRequest,
    )
    from dibs.stores.seam import Json, Range, Transaction

    class Work(TypedDict):
        """Finished work on a task, as it is handed in."""

        id: str
        token: int | None  # None: that of the caller's live claim
        result: Json
        proof: NotRequired[Verification]  # the verification that it passed, or not
        used: NotRequired[Usage | None]

    class FailureFacts(TypedDict, total=False):
        """What the event of a failure says besides."""

        token: int
        why: str
        request: list[str] | None  # operation and request id

    class Renewal(TypedDict):
        """A claim that was renewed."""

        token: int | None  # as the caller gave it
        expires_at: str

    class KeepAnswer(TypedDict):
        """Of `task keep`."""

        renewed: list[Renewal]


ERROR_CLASSES = ("transient", "permanent")
MAX_OUTPUT_CHARS = 2_000  # of a verification's output that are kept, the last ones
USAGE_FIELDS = ("cpu", "memory", "seconds")
MAX_USAGE = 2**53
MAX_LEFT_NAMED = 6  # files
NOT_DONE_KEY = "not_done"  # the key of a result that lists undone work
LOST_ENDINGS = frozenset({"expired", "gone", "unclaimed"})  # ends of a claim that count against the task and the agent


# --- with the live token


def ahead(call: Call, request: TaskKeepRequest | RegistryReleaseRequest) -> Ahead:
    """What the end of the work on a task reads."""
    return reads_of(request["id"])


def reads_of(identifier: str) -> Ahead:
    """What finishing a task reads: the task, the jobs at work, the holders of its name, the tasks that wait for it."""
    key = records.task_key(lifecycle.check_id(identifier))
    return [key], [RUNNING_JOBS, *_holders(identifier), records.dependent_range(identifier)]


def _holders(identifier: str) -> list[Range]:
    """The claim on a task's name, and its waiters."""
    return claim_records.ranges_of([lifecycle.resource_of(identifier)])


def mine(tx: Transaction, call: Call, identifier: str, token: int | None) -> tuple[Task, Claim] | Fenced:
    """The task and the live claim with this token, else the caller's own; or the refusal of a late caller."""
    name = lifecycle.resource_of(identifier)
    task, jobs = records.load_task(tx, identifier), long_jobs.going(tx)
    if jobs and long_jobs.covering(tx, task, jobs) is not None:
        tx.append("call.refused", call.agent, name[1], {"code": "fenced"})
        return _late(tx, call, long_jobs.as_counted(tx, task, jobs), None, token)
    live: Claim | None = None
    for record in claim_records.within_ranges(tx, _holders(identifier)):
        if not claim_records.is_claim(record):
            continue
        is_task_claim = record["claim"] == task["claim"]
        if record["until"] > tx.now:
            live = record
            own = within(record["agent"], call.agent) if token is None else related(record["agent"], call.agent)
            if is_task_claim and own and token in {None, record["token"]}:
                return task, record
        elif is_task_claim:  # it had expired before this call
            endings.expire(tx, record)
            endings.serve(tx, record["resources"])
            task = records.load_task(tx, identifier)
    tx.append("call.refused", call.agent, name[1], {"code": "fenced"})
    return _late(tx, call, task, live, token)


def _late(tx: Transaction, call: Call, task: Task, live: Claim | None, token: int | None) -> Fenced:
    """The refusal of a late caller, with what the task became."""
    facts: dict[str, Json] = {"resource": f"task:{task['task']}", "given": token}
    facts.update(holder=None, token=None, since=None)
    facts.update(task=task["task"], state=task["state"])
    if live is not None:
        facts.update(holder=live["agent"], token=live["token"], since=iso(tx, live["since"]))
        if within(live["agent"], call.agent):
            text = f"task {task['task']} is yours under token {live['token']}, not {token}. Nothing was changed."
            return Fenced(text, **facts)
        if token is None:
            text = f"you do not have task {task['task']}: {live['agent']} has it. Nothing was changed."
            return Fenced(text, **facts)
        return Fenced(**facts)
    became = f"it is {task['state']} now"
    if task["state"] in lifecycle.FINAL_STATES:
        who = f"by {task['agent']}, " if task["agent"] and task["state"] == COMPLETE else ""
        became = f"it is {task['state']} ({who}{span(tx.now - task['finished'])} ago)"
    what = (
        f"token {token} for task {task['task']} is no longer live"
        if token is not None
        else f"you do not have task {task['task']}"
    )
    stop = "; stop working on it" if token is not None else ""
    text = f"{what}: {became}. Nothing was changed{stop}."
    return Fenced(text, **facts)


def _done(tx: Transaction, call: Call, request: TaskDoneRequest) -> TaskDoneAnswer | RunCommand | JobsLeft | DibsError:
    """Finish a task with its result."""
    jobs: list[str] = []
    result = _with_rest(request["result"], request["not_done"])
    work: Work = {"id": request["id"], "token": request["token"], "result": result}
    command, verified = request["verify"].strip(), request["verified"]
    if request["verify"] and not command:
        raise Invalid("verify: give the command to run", field="verify")
    if command and verified is None:
        return _to_verify(tx, call, work, command)
    if command:
        work["proof"] = _proof(tx, command, verified)
        work["token"] = verified["token"]
        if work["proof"]["exit"] != 0:
            return _not_verified(tx, call, work, work["proof"])
    work["used"] = _checked_use(request["used"])
    if request["left"] and call.policy.work["tasks"]["unfinished"] == "refuse":
        return _unfinished(tx, call, work, request["left"])
    task = finish(tx, call, work, jobs)
    if isinstance(task, Fenced):
        return task
    answer: TaskDoneAnswer = {"task": lifecycle.shown(tx, task)}
    if request["left"]:
        answer["unfinished"] = list(request["left"])
    if "proof" not in work and call.policy.work["land"]["check"]:
        answer["check"] = call.policy.work["land"]["check"]
    if "proof" in work:
        answer["verified"] = {**work["proof"], "at": iso(tx, tx.now)}
    if request["next"]:
        from dibs.operations.tasks import pulls

        answer["next"] = pulls.follow_up(tx, call, request["run"])
    return with_jobs(answer, jobs)


def _to_verify(tx: Transaction, call: Call, work: Work, command: str) -> RunCommand | Fenced:
    """The command that the door must run before the task is finished, under its claim. Nothing is decided yet."""
    held = finishable(tx, call, work)
    if isinstance(held, Fenced):
        return held
    claim = held[1]
    return RunCommand({
        "command": command, "resource": lifecycle.resource_of(work["id"]), "task": work["id"], "token": claim["token"],
        "expires_at": iso(tx, claim["until"]), "field": "verify", "into": "verified",
    })  # fmt: skip


def _proof(tx: Transaction, command: str, verified: Json) -> Verification:
    """The outcome of a verification, as it is stored."""
    fine = isinstance(verified, dict) and isinstance(verified.get("exit"), int) and "token" in verified
    if not fine or not isinstance(verified.get("seconds"), (int, float)):
        raise Invalid("verified: an object with token, exit, seconds, output", field="verified")
    output = check_text(str(verified.get("output") or "")[-MAX_OUTPUT_CHARS:], "verified")
    return {
        "command": command, "exit": verified["exit"], "seconds": verified["seconds"], "output": output, "at": tx.now
    }  # fmt: skip


def _not_verified(tx: Transaction, call: Call, work: Work, proof: Verification) -> Fenced | Unverified:
    """The command failed: the task stays with its holder."""
    held = finishable(tx, call, work)
    if isinstance(held, Fenced):
        return held
    name, facts = work["id"], _proof_in_short(proof)
    tx.append("call.refused", call.agent, lifecycle.resource_of(name)[1], {"code": "unverified", **facts})
    code = proof["exit"]
    how = f"ended with exit code {code}" if code >= 0 else f"was killed by signal {-code}"
    text = f"task {name} is not finished: `{proof['command']}` {how}. It is still yours; fix it and try again."
    words = f"{text}\nIts output ends with:\n{proof['output']}" if proof["output"] else text
    return Unverified(words, task=name, token=work["token"], **facts, output=proof["output"])


def _unfinished(tx: Transaction, call: Call, work: Work, left: Sequence[str]) -> Fenced | Conflict:
    """The caller has uncommitted work, and the config asks for a commit first: the task stays with it."""
    held = finishable(tx, call, work)
    if isinstance(held, Fenced):
        return held
    name = work["id"]
    tx.append("call.refused", call.agent, lifecycle.resource_of(name)[1], {"code": "conflict"})
    more = f" and {len(left) - MAX_LEFT_NAMED} more" if len(left) > MAX_LEFT_NAMED else ""
    files = f"{', '.join(left[:MAX_LEFT_NAMED])}{more}"
    text = (
        f"task {name} is not finished: you have uncommitted work in {files}. Commit it and try again; or hand the task "
        f"back with `dibs task release {quoted(name)}`. It is still yours."
    )
    return Conflict(text, task=name, state=EXECUTING, paths=list(left))


def _proof_in_short(proof: Verification) -> dict[str, str | int | float]:
    """A verification without its output, for events and refusals."""
    return {"command": proof["command"], "exit": proof["exit"], "seconds": proof["seconds"]}


def _checked_use(used: Json) -> Usage | None:
    """The usage of the work on a task: CPU seconds, memory bytes, elapsed seconds."""
    if used is None:
        return None
    for name in USAGE_FIELDS:
        value = used.get(name) if isinstance(used, dict) else None
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < MAX_USAGE:
            raise Invalid(f"used: {', '.join(USAGE_FIELDS)}, each a number that is not negative", field="used")
    return {"cpu": used["cpu"], "memory": used["memory"], "seconds": used["seconds"]}


def _keep_use(tx: Transaction, call: Call, task: Task, used: Usage | None) -> None:
    """Store the last attempt's usage with the task and with its run."""
    if used is None:
        return
    task["used"] = used
    agent = get_agent(tx, call.agent) if task["run"] else None
    if agent is not None:
        from dibs.operations.runs import members

        cpu = 100 * used["cpu"] / used["seconds"] if used["seconds"] else 0
        members.keep_use(tx, task["run"], agent, round(cpu, 1), int(used["memory"]))


def _keep(tx: Transaction, call: Call, request: TaskKeepRequest) -> KeepAnswer | Fenced:
    """Renew the claim on a task."""
    from dibs.operations.claims import releases

    held = mine(tx, call, request["id"], request["token"])
    if isinstance(held, Fenced):
        return held
    claim = held[1]
    releases.renew_one(tx, claim)
    return {"renewed": [{"token": request["token"], "expires_at": iso(tx, claim["until"])}]}


def _with_rest(result: Json, not_done: str) -> Json:
    """The result with the undone work under the key `not_done`."""
    if not not_done:
        return result
    if result is not None and not isinstance(result, dict):
        raise Invalid("not_done: the result must be an object then, which gets the key `not_done`", field="not_done")
    return {**(result or {}), NOT_DONE_KEY: not_done}


def finish(tx: Transaction, call: Call, work: Work, jobs: list[str], room: int = 0) -> Task | Fenced:
    """Finish one task, with everything that follows. Errors are raised before anything is written.

    If more than `room` other tasks follow, jobs do the rest and are added to `jobs`.
    """
    held = finishable(tx, call, work)
    if isinstance(held, Fenced):
        return held
    task, claim = held
    awaited = records.has_dependents(tx, work["id"])
    if work["result"] is not None:
        tx.put(records.result_key(work["id"]), work["result"])
        task["result"] = True
    verified = None
    if "proof" in work:
        tx.put(records.verification_key(work["id"]), work["proof"])
        task["verified"] = True
        verified = _proof_in_short(work["proof"])
    key = _idempotency_key(call, "task done")
    lifecycle.move(tx, call.agent, task, COMPLETE, token=claim["token"], request=key, verified=verified)
    task.update({"finished": tx.now, "progress": MAX_PERCENT, "error": None, "agent": claim["agent"]})
    _keep_use(tx, call, task, work.get("used"))
    records.put_task(tx, task)
    release_task_claim(tx, task, claim, "done")
    count_failure(tx, claim["agent"])
    if awaited:
        jobs += unblock(tx, task, room)
    board.count_completed_child(tx, task)
    if task["race"]:
        jobs += cancellations.end_race(tx, task, room)
    return task


def finishable(tx: Transaction, call: Call, work: Work) -> tuple[Task, Claim] | Fenced:
    """The task and its live claim, if it can be finished with this result; else the refusal, returned or raised."""
    held = mine(tx, call, work["id"], work["token"])
    if isinstance(held, Fenced):
        return held
    task, name = held[0], work["id"]
    if task["kids"]:
        text = f"task {name} has open children ({task['kids']}); it can be finished after them."
        raise Conflict(text, task=name, state=EXECUTING, children=task["kids"])
    if task["require"]:
        have = work["result"] if isinstance(work["result"], dict) else {}
        missing = [name for name in task["require"] if name not in have]
        if missing:
            raise Invalid(f"result: {', '.join(missing)} must be in it", field="result", missing=missing)
    return held


def _idempotency_key(call: Call, name: str) -> list[str] | None:
    return [name, call.request] if call.request else None


def release_task_claim(tx: Transaction, task: Task, claim: Claim, why: str) -> None:
    """Release the finished task's claim; the next waiter for the name gets it."""
    others = len(tx.fetch(_holders(task["task"]), 2).rows) > 1
    endings.give_back(tx, claim, claim["resources"], why)
    if others:
        endings.serve(tx, claim["resources"])


def unblock(tx: Transaction, task: Task, room: int = 0) -> list[str]:
    """The tasks that waited for this one wait for one less, and may become ready. Returns a job if they are many."""
    return long_jobs.begin(tx, long_jobs.new(tx, "unblock", task["agent"], task=task["task"]), room)


def unblock_step(tx: Transaction, job: UnblockJob, room: int) -> int:
    """Count one dependency less for up to `room` tasks."""
    used, names = release_dependents(tx, job["task"], room)
    long_jobs.count(job, *names)
    return used


def release_dependents(tx: Transaction, identifier: str, room: int) -> tuple[int, list[str]]:
    """Tasks that wait for a complete one wait for one task less. Returns how many rows that took, and their ids."""
    keys, _ = records.keys_below(tx, records.dependent_prefix(identifier), room)
    tasks = [task for task in records.get_tasks(tx, [records.end_of(key) for key in keys]).values() if task is not None]
    for task in tasks:
        task["open"] -= 1
        assert task["open"] >= 0, task["task"]
        records.put_task(tx, task)
    for key in keys:
        tx.delete(key)
    if tasks:
        from dibs.operations.tasks import workforce

        workforce.wake(tx, tasks)
    return len(keys), [task["task"] for task in tasks]


def _fail(tx: Transaction, call: Call, request: TaskFailRequest) -> TaskAnswer | Fenced:
    """Report a failure; its class decides what follows."""
    kind, reason = request["class"], request["why"].strip()
    if not reason:
        raise Invalid("give the reason: the next agent that takes it needs it", field="why")
    held = mine(tx, call, request["id"], request["token"])
    if isinstance(held, Fenced):
        return held
    task, claim = held
    error: TaskError = {"class": kind, "why": reason, "at": tx.now, "agent": claim["agent"]}
    task["error"] = error
    _keep_use(tx, call, task, _checked_use(request["used"]))
    count_failure(tx, claim["agent"], failed=request["id"])
    key = _idempotency_key(call, "task fail")
    if kind == "permanent":
        lifecycle.move(tx, call.agent, task, FAILED, token=claim["token"], why=reason, request=key)
        task.update({"finished": tx.now, "failures": task["failures"] + 1})
        _tell_owner(tx, task, "failed permanently, and the tasks after it stay blocked")
    else:
        settings = call.policy.work["tasks"]
        pause = min(settings["max_backoff"], settings["backoff"] << min(20, task["failures"]))
        _retry(tx, call.agent, task, error, pause=pause, token=claim["token"], why=reason, request=key)
    records.put_task(tx, task)
    release_task_claim(tx, task, claim, "failed")
    FOLLOW_UPS.suspicions(tx, call)
    return {"task": lifecycle.shown(tx, task)}


def _retry(
    tx: Transaction, agent: str, task: Task, error: TaskError, *, pause: int, **data: Unpack[FailureFacts]
) -> None:
    """One more failure: back to the queue, or into quarantine after the last attempt."""
    task["failures"] += 1
    task["progress"] = 0
    if task["failures"] >= task["max_attempts"]:
        poison: FailureClass = {"class": "poison"}
        lifecycle.move(tx, agent, task, QUARANTINED, **poison, **data)
        task.update({"finished": tx.now, "error": {**error, "class": "poison"}})
        suspicions.put(tx, "poison", task["task"], agent, told=[task["by"]], failures=task["failures"])
        often = "once" if task["failures"] == 1 else f"{task['failures']} times"
        _tell_owner(tx, task, f"failed or was lost {often} and is quarantined")
        return
    failure: FailureClass = {"class": error["class"]}
    lifecycle.move(tx, agent, task, PLANNED, **failure, **data)
    task["not_before"] = tx.now + pause if pause else 0


def _tell_owner(tx: Transaction, task: Task, what: str) -> None:
    """Tell the agent that added a task that it will not finish without help."""
    from dibs.operations.messages import mailbox

    identifier = task["task"]  # no text of other agents here: dibs itself is the sender
    text = (
        f"Task {identifier} {what}. `dibs task show {quoted(identifier)}` has the reason; "
        f"`dibs task move {quoted(identifier)} planned` retries it."
    )
    mailbox.post(tx, task["by"], "dibs", "task", text, task=task["task"], state=task["state"])


def _release(tx: Transaction, call: Call, request: TaskReleaseRequest) -> TaskAnswer | Fenced:
    """Give a task back to the queue, unfinished; it counts against nobody."""
    held = mine(tx, call, request["id"], request["token"])
    if isinstance(held, Fenced):
        return held
    task, claim = held
    if request["note"]:
        board.keep_note(tx, call, task, request["note"])
    return {"task": lifecycle.shown(tx, returned(tx, task, claim))}


def returned(tx: Transaction, task: Task, claim: Claim) -> Task:
    """Plan the task again, and release its claim."""
    give_back(tx, claim["agent"], task, "released")
    release_task_claim(tx, task, claim, "returned")
    return task


def give_back(tx: Transaction, agent: str, task: Task, why: str) -> None:
    """Put the task back into the queue; it counts against nobody."""
    from dibs.operations.tasks import workforce

    lifecycle.move(tx, agent, task, PLANNED, why=why)
    task["progress"] = 0
    records.put_task(tx, task)
    workforce.wake(tx, [task])


def _split(tx: Transaction, call: Call, request: TaskSplitRequest) -> TaskSplitAnswer | Fenced:
    """Break a task down: its children are added and it goes back to wait for them, all in one transaction."""
    held = mine(tx, call, request["id"], request["token"])
    if isinstance(held, Fenced):
        return held
    task, claim = held
    children: Sequence[TaskSpec] = request["children"]
    added = additions.create_all(tx, call, [{**spec, "parent": request["id"]} for spec in children])
    task = records.load_task(tx, request["id"])
    give_back(tx, claim["agent"], task, "split")
    release_task_claim(tx, task, claim, "returned")
    from dibs.operations.tasks import workforce

    workforce.wake(tx, added)
    return {"task": lifecycle.shown(tx, task), "tasks": [child["task"] for child in added]}


def _progress(tx: Transaction, call: Call, request: TaskProgressRequest) -> TaskProgressAnswer | Fenced:
    """Report progress, and keep the task: its claim gets a new deadline."""
    from dibs.operations.claims import releases

    held = mine(tx, call, request["id"], request["token"])
    if isinstance(held, Fenced):
        return held
    task, claim = held
    claim["tied"] = claim["tied"] or (call.from_current_process and claim["agent"] == call.agent)
    releases.renew_one(tx, claim)
    if request["note"]:
        board.keep_note(tx, call, task, request["note"])
    if task["progress"] != request["percent"] or request["note"]:
        task["progress"] = request["percent"]
        records.put_task(tx, task)
    return {"task": lifecycle.shown(tx, task), "expires_at": iso(tx, claim["until"])}


# --- without the token: what the end of a claim means for its task. Called by endings.py and presence.py.


def orphaned(tx: Transaction, claim: Claim, why: str) -> None:
    """A task's claim ended without its holder: the task goes back to the queue."""
    task = _task_of(tx, claim)
    if task is None:
        return
    if why not in LOST_ENDINGS:
        give_back(tx, claim["agent"], task, why)
        return
    task["losses"] += 1
    lost = f"{claim['agent']} was lost ({why})"
    error: TaskError = {"class": "lost", "why": lost, "at": tx.now, "agent": claim["agent"]}
    task["error"] = error
    count_failure(tx, claim["agent"], failed=task["task"])
    _retry(tx, claim["agent"], task, error, pause=0, why=why)
    records.put_task(tx, task)
    from dibs.operations.tasks import workforce

    workforce.wake(tx, [task])


def _task_of(tx: Transaction, claim: Claim) -> Task | None:
    """The task that a claim belongs to."""
    for resource in claim["resources"]:
        if resource[0] == "name" and resource[1].startswith("task:"):
            task = records.get_task(tx, resource[1][5:])
            if task is not None and task["state"] == EXECUTING and task["claim"] == claim["claim"]:
                return task
    return None


def count_failure(tx: Transaction, agent: str, *, failed: str = "") -> None:
    """Count failures in a row against an agent, by the `failed` task; a success clears them (workforce.py)."""
    record = get_agent(tx, agent)
    if record is None or (not failed and not record.get("strikes")):
        return
    from dibs.operations.agents.records import put_agent

    record["strikes"] = record.get("strikes", 0) + 1 if failed else 0
    record["struck"] = tx.now
    put_agent(tx, record)
    if failed and record["strikes"] > 1:  # how many open the breaker is the policy's
        suspicions.put(tx, "breaker", agent, agent, event=failed)


_TOKEN = Field("token", "integer", "the token under which you took it (default: that of your live claim)", metavar="N")
_USED = Field("used", "json", "what the work used: cpu, memory, seconds; from a worker", internal=True,
              sent_by=ANYWHERE)  # fmt: skip
_ERRORS = (NotFound, Fenced, Conflict, Invalid, Killed)

# Not in the catalogue: for the door that runs a verification.
KEEP = Operation(
    "task keep", _keep, "Renew the claim on a task.", sent_by=ANYWHERE, fields=(board.ID, _TOKEN), errors=_ERRORS,
    ahead=ahead, rank="worker",
)  # fmt: skip

INTERNAL = (KEEP,)
OPERATIONS = (
    Operation(
        "task done",
        _done,
        "Finish a task with its result.",
        group="tasks",
        fields=(
            board.ID,
            _TOKEN,
            Field("result", "json", "its result", metavar="JSON|@FILE"),
            Field("next", "flag", "also take the next task, in the same transaction", default=False),
            Field("run", "text", "of the next one: only a task of this run", default="", metavar="RUN"),
            Field("not_done", "text", "what was left undone; key `not_done` of the result", default="", metavar="TEXT"),
            Field(
                "verify",
                "text",
                "a command to run first; unless it succeeds, nothing is finished",
                default="",
                metavar="CMD",
            ),
            Field(
                "verified",
                "json",
                "the result of the command, from the door that ran it",
                internal=True,
                sent_by=ANYWHERE,
            ),
            Field(
                "left", "raws", "files with uncommitted work of the caller", default=(), internal=True, sent_by=ANYWHERE
            ),
            _USED,
        ),
        beforehand="own unfinished files",
        errors=(*_ERRORS, Unverified),
        ahead=ahead,
        rank="worker",
        answer="TaskDoneAnswer",
        withdraws=True,
    ),
    Operation(
        "task fail",
        _fail,
        "Report that a task failed.",
        group="tasks",
        fields=(
            board.ID,
            _TOKEN,
            Field("class", "choice", "transient: retry it; permanent: give up", required=True, choices=ERROR_CLASSES),
            Field("why", "text", "what happened", required=True, metavar="T"),
            _USED,
        ),
        errors=_ERRORS,
        ahead=ahead,
        rank="worker",
        answer="TaskAnswer",
    ),
    Operation(
        "task release",
        _release,
        "Return a task to the queue, unfinished.",
        group="tasks",
        fields=(board.ID, _TOKEN, Field("note", "text", "where it stands", default="", metavar="TEXT")),
        errors=_ERRORS,
        ahead=ahead,
        rank="worker",
        answer="TaskAnswer",
    ),
    Operation(
        "task split",
        _split,
        "Split a task: add its children; the task waits for them.",
        group="tasks",
        fields=(
            board.ID,
            _TOKEN,
            Field(
                "children",
                "json",
                "JSON list of tasks, same fields as `task add`",
                required=True,
                metavar="JSON",
                items=additions.ADD_FIELDS,
                least=1,
                most=additions.MAX_TASKS_TOGETHER,
            ),
        ),
        errors=_ERRORS,
        ahead=ahead,
        rank="worker",
        answer="TaskSplitAnswer",
    ),
    Operation(
        "task progress",
        _progress,
        "Report progress on a task.",
        group="tasks",
        fields=(
            board.ID,
            Field("percent", "integer", "from 0 to 100", positional=True, required=True, most=100, metavar="PERCENT"),
            _TOKEN,
            Field("note", "text", "where it stands", default="", metavar="TEXT"),
        ),
        errors=_ERRORS,
        ahead=ahead,
        rank="worker",
        answer="TaskProgressAnswer",
    ),
)
