"""How a run ends: refused while work is open, archived, and after a while purged with its tasks.

What happens, in short:
- success: the run takes nothing more; what its coordinator holds for it is released.
- refusal: `conflict` while tasks are open, unless forced (then they are called off and whoever works on one is told),
  and, where it is asked for (`--strict`), while a gate of gates.py fails. The log has the refusal.
- again: ending a run that has ended changes nothing, so an end whose archive failed can be repeated.
- after `runs.keep` a sweep drops the run and its tasks, some at a time; a task that somebody planned again meanwhile
  stays, without a run. The archive is a file and stays too.
- crash: the end, the note of the archive and each part of a purge are one transaction each.
"""

from __future__ import annotations

from dibs.errors import Conflict, Invalid, Killed, NotFound
from dibs.operations import lifecycle, runs, runviews
from dibs.operations.call import check_text, within
from dibs.operations.declare import Field, Operation
from dibs.operations.policy import check_duration
from dibs.stores.seam import prefix_range

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dibs.operations.call import Call, Record
    from dibs.stores.seam import Fetched, Transaction

A_FEW = 16  # tasks that one look of a sweep drops: other agents' claims do a little sweeping on their way
MANY = 10_000  # tasks that `run purge` drops in its own transaction; the rest goes with the sweeps
ROLE = "role:"  # names of claims that are not for one run


# --- end


def _end(
    tx: Transaction,
    call: Call,
    got: Fetched,
    run: str = "",
    force: bool = False,
    keep: int | None = None,
    strict: bool = False,
    archive: bool = False,
) -> Any:
    """End a run. The archive is the door's business, which notes it afterwards (ARCHIVED)."""
    record = runs.load(tx, run) if run else runs.chosen(tx, run)
    if keep is not None:
        check_duration(keep, "keep", least=0)
    if record["state"] == runs.ENDED:
        if keep is not None:
            record["until"] = tx.now + keep
            runs.put(tx, record)
        return {"run": runs.shown(tx, record), "existing": True, "cancelled": [], "released": []}
    still = [task for task in runviews.tasks(tx, record["run"]) if task["state"] not in lifecycle.OVER]
    if still and not force:
        return _refuse(tx, call, record, _open(record, still))
    if strict:
        from dibs.operations.gates import before_the_end

        failed = [gate for gate in before_the_end(tx, call, record) if not gate["passed"]]
        if failed:
            text = (
                f"run {record['run']}: {failed[0]['name']}: {failed[0]['why']}. Without --strict it ends all the same."
            )
            return _refuse(tx, call, record, Conflict(text, run=record["run"], gates=failed))
    cancelled = _call_off(tx, call, record, still)
    released = _release(tx, record)
    record.update(state=runs.ENDED, ended=tx.now, ended_by=call.agent, last_seq=tx.tail().seq)
    record["until"] = tx.now + (call.policy.work["runs"]["keep"] if keep is None else keep)
    runs.put(tx, record)
    event = {"cancelled": len(cancelled), "released": released[:100]}
    tx.append("run.ended", call.agent, record["run"], {name: value for name, value in event.items() if value})
    return {"run": runs.shown(tx, record), "existing": False, "cancelled": cancelled, "released": released}


def _asks(tx: Transaction, call: Call, run: str = "", **_: Any) -> tuple[str, list[str]]:
    """A run is ended and dropped by the agent that coordinates it; by others only if they orchestrate."""
    if run:
        key = runs.key_of(runs.check_id(run))
        record = tx.fetch([key]).values[key]
    else:
        record = runs.chosen(tx, run)
    return ("", []) if record is None else ("orchestrator", [record["coordinator"]])


def _refuse(tx: Transaction, call: Call, run: Record, error: Conflict) -> Conflict:
    tx.append("run.refused", call.agent, run["run"], {"code": error.code})
    return error


def _open(run: Record, still: list[Record]) -> Conflict:
    """Why a run with open tasks does not end."""
    counted: dict[str, int] = {}
    for task in still:
        counted[task["state"]] = counted.get(task["state"], 0) + 1
    said = ", ".join(f"{number} {state}" for state, number in sorted(counted.items()))
    text = (
        f"run {run['run']} has open tasks ({said}). Wait for them, cancel them, or end it with --force, which calls "
        "them off."
    )
    return Conflict(text, run=run["run"], tasks=[task["task"] for task in still[:100]], states=counted)


def _call_off(tx: Transaction, call: Call, run: Record, still: list[Record]) -> list[str]:
    """Cancel what is open; a child may have gone with its parent already."""
    from dibs.operations import tasks

    done: list[str] = []
    for task in still:
        now = lifecycle.load(tx, task["task"])
        if now["state"] not in lifecycle.OVER:
            done += tasks.call_off(tx, call.agent, now, f"run {run['run']} was ended")
    return done


def _release(tx: Transaction, run: Record) -> list[str]:
    """Give back what the coordinator and its subagents hold for this run."""
    from dibs.operations import ending, resources

    freed: list[Any] = []
    names: list[str] = []
    for claim in on_behalf(tx, run):
        if within(claim["agent"], run["coordinator"]):
            ending.give_back(tx, claim, claim["resources"], "released")
            freed += claim["resources"]
            names += resources.shown(claim["resources"])
    ending.serve(tx, freed)
    return names


def on_behalf(tx: Transaction, run: Record, kind: str = "claim") -> list[Record]:
    """The live claims, or waiters, that are for a run.

    They are for it if they name the run or one of its tasks as what they are for, or are on `run:ID`; roles are not.
    """
    from dibs.operations import holds

    found = []
    for record in holds.every(tx, kind, 100_000)[0]:
        if record["until"] <= tx.now or any(one[1].startswith(ROLE) for one in record["resources"]):
            continue
        name = f"run:{run['run']}"
        meant = any(
            one[0] == "name" and (one[1] == name or one[1].startswith(f"{name}/")) for one in record["resources"]
        )
        if meant or (record["task"] and _of_run(tx, run["run"], record["task"])):
            found.append(record)
    return found


def _of_run(tx: Transaction, run: str, task: str) -> bool:
    """Is this the run itself, or one of its tasks?"""
    if task == run:
        return True
    if not task.isprintable():  # people's words, not an id
        return False
    key = f"ut\t{run}\t{task}"
    return tx.fetch([key]).values[key] is not None


def _archived(tx: Transaction, call: Call, got: Fetched, run: str, file: str, sha256: str, size: int) -> dict[str, Any]:
    """Note where a run's archive is."""
    record = runs.load(tx, run)
    found = {"file": check_text(file, "file"), "sha256": sha256, "size": size}
    if record["archive"] != found:
        record["archive"] = found
        runs.put(tx, record)
        tx.append("run.archived", call.agent, run, found)
    return {"run": runs.shown(tx, record)}


# --- purge


def _purge(tx: Transaction, call: Call, got: Fetched, run: str) -> Any:
    """Drop an ended run and its tasks now."""
    record = runs.load(tx, run)
    if record["state"] != runs.ENDED:
        text = f"run {run} is active; `dibs run end --run {run}` ends it first."
        return _refuse(tx, call, record, Conflict(text, run=run, state=record["state"]))
    shown = runs.shown(tx, record)
    more = not drop(tx, record, MANY, call.agent)
    return {"run": shown, "more": more}


def came_due(tx: Transaction, run: Record) -> bool:
    """A sweep found a run whose time is over: drop some of it. Says whether all of it is gone."""
    return drop(tx, run, A_FEW, run["ended_by"])


def drop(tx: Transaction, run: Record, limit: int, by: str) -> bool:
    """Drop up to so many tasks of a run, and the run itself with the last of them; says whether it is gone."""
    name = run["run"]
    rows = tx.fetch((), [prefix_range(f"ut\t{name}\t")], limit)
    for key, _ in rows.rows:
        _drop_task(tx, by, key)
    run["purged"] = run.get("purged", 0) + len(rows.rows)
    if rows.truncated:
        run["until"] = min(run["until"], tx.now)  # due, so that the next sweep goes on
        runs.put(tx, run)
        return False
    for prefix in (f"ua\t{name}\t", f"ue\t{name}\t"):
        for key, _ in tx.fetch((), [prefix_range(prefix)], 2 * runs.NOTES).rows:
            tx.delete(key)
    tx.delete(runs.key_of(name))
    tx.append("run.purged", by, name, {"tasks": run["purged"]})
    return True


def _drop_task(tx: Transaction, by: str, row: str) -> None:
    """Drop a task that is over. One that was planned again, or that others still wait for, stays and has no run."""
    key = lifecycle.key_of(row.rpartition("\t")[2])
    kept: Record | None = tx.fetch([key]).values[key]
    if kept is not None:
        task = lifecycle.full(kept)
        if task["state"] in lifecycle.OVER and not _waited_for(tx, task):
            lifecycle.drop(tx, task)
        else:
            lifecycle.put(tx, {**task, "run": ""})
            tx.append("task.kept", by, task["task"], {"run": task["run"]})
    tx.delete(row)


def _waited_for(tx: Transaction, task: Record) -> bool:
    """Does a task outside, or a parent, wait for one that is over and not complete? Only it can be planned again."""
    if task["state"] == lifecycle.COMPLETE:
        return False
    if tx.fetch((), [prefix_range(f"td\t{task['task']}\t")], 1).rows:
        return True
    if not task["parent"] or task["state"] == lifecycle.CANCELLED:
        return False
    key = lifecycle.key_of(task["parent"])
    parent = tx.fetch([key]).values[key]
    return parent is not None and lifecycle.full(parent)["run"] != task["run"]


# Not in the catalogue: the door that wrote the archive says so.
ARCHIVED = Operation(
    "run archived",
    _archived,
    "Note where a run's archive is.",
    fields=(
        Field("run", "text", "the run", required=True),
        Field("file", "text", "the archive, below .dibs/local/", required=True),
        Field("sha256", "text", "its digest", required=True),
        Field("size", "integer", "its bytes", required=True),
    ),
    errors=(NotFound,),
    json="run",
)

OPERATIONS = (
    Operation(
        "run end",
        _end,
        "End a run.",
        fields=(
            runs.RUN,
            Field("archive", "flag", "write its report, tasks and events to .dibs/local/runs/", default=False),
            Field("keep", "duration", "how long it stays before it is purged (default: the config's)", metavar="D"),
            Field("force", "flag", "call off the tasks that are open", default=False),
            Field("strict", "flag", "refuse while a quality gate fails", default=False),
        ),
        errors=(NotFound, Conflict, Invalid, Killed),
        may="agent",
        others="orchestrator",
        asks=_asks,
        json="run, existing, cancelled[], released[], gates[], failed, archive",
    ),
    Operation(
        "run purge",
        _purge,
        "Drop an ended run and its tasks now; its archive stays.",
        fields=(Field("run", "text", "the run", positional=True, required=True, metavar="RUN"),),
        errors=(NotFound, Conflict),
        may="agent",
        others="orchestrator",
        asks=_asks,
        json="run, more",
    ),
)
