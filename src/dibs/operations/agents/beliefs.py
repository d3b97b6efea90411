"""An agent's beliefs at its start, compared with the live record: its losses, and the tasks that it has in mind.

A model after a compaction knows only a summary, and a restarted client only its environment. So each start names what
is no longer true, and who has it instead.

- a loss: told at every start until it is claimed again, released, committed or acknowledged by its claim's id. Each
  resource is named with its present holder; one claim can have gone to several.
- a task in mind (`boot --task`, CURRENT_TASK_ID, DIBS_TASK): confirmed if the agent holds it. Another agent's is named
  with its holder; a free one must be claimed first; a finished one is reported as finished, unless the agent finished
  it itself. `had` is false if the agent never had it: then it did not lose it.
- nothing is ever granted here, not even if it is free.
"""

from __future__ import annotations

from dibs.operations.claims import endings, resources
from dibs.operations.claims import records as claim_records
from dibs.operations.core.call import check_text, in_words, iso, related, within
from dibs.operations.tasks import lifecycle
from dibs.operations.tasks.records import get_task

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.operations.agents.answers import CurrentTask, LossView
    from dibs.operations.claims.records import Claim, Loss
    from dibs.operations.core.call import Call
    from dibs.operations.tasks.records import Task
    from dibs.stores.seam import Transaction

MAX_LOSSES_LISTED = 100  # in one briefing, which also has the total
MAX_BELIEVED_TASKS = 8  # an agent works on one
NEVER_HELD = "not held"  # why the agent does not have a task in mind, if no claim on it ended


def losses(tx: Transaction, call: Call, claims: list[Claim]) -> tuple[list[LossView], int]:
    """The agent's unsettled losses, by present holder: the first ones, and how many more there are."""
    held = [resource for claim in claims for resource in claim["resources"]]
    same = {(resource[0], resource[1]) for resource in held}
    told: list[LossView] = []
    more = 0
    for _, loss in claim_records.losses_of(tx, call.agent):
        if len(told) >= MAX_LOSSES_LISTED:  # only counted: a search for each one's holder would take long
            more += not loss.get("settled") and any(
                (resource[0], resource[1]) not in same for resource in loss["resources"]
            )
            continue
        entries = [] if loss.get("settled") else _by_holder(tx, call, loss, held)
        if not entries:  # acknowledged, or all of it is held again
            continue
        if not loss.get("told"):
            loss["told"] = True
            claim_records.put_loss(tx, loss)
        told += entries
    return told, more


def _by_holder(tx: Transaction, call: Call, loss: Loss, held: Sequence[Sequence[str]]) -> list[LossView]:
    """One entry for each present holder, and one for the free resources."""
    parts: dict[str, tuple[list[Sequence[str]], Claim | None]] = {}
    for resource in loss["resources"]:
        if resource[0] == "inode" or resources.all_covered([resource], held):
            continue
        holder = holder_of(tx, call, resources.with_aliases(loss["resources"], [resource]))
        parts.setdefault(holder["agent"] if holder is not None else "", ([], holder))[0].append(resource)
    return [_entry(tx, {**loss, "resources": resources}, holder) for resources, holder in parts.values()]


def holder_of(tx: Transaction, call: Call, wanted: Sequence[Sequence[str]]) -> Claim | None:
    """Another agent that holds any of it now and whose process is not dead."""
    for record in claim_records.overlapping_claims(tx, wanted, ""):
        if record["until"] > tx.now and not within(record["agent"], call.agent):
            if record["mode"] == resources.WATCH or endings.gone(tx, call, [record]):
                continue
            return record
    return None


def _entry(tx: Transaction, loss: Loss, holder: Claim | None) -> LossView:
    shown: LossView = {
        "claim": loss["claim"],
        "resources": resources.shown(loss["resources"]),
        "ago": in_words(tx.now - loss["at"]),
        "mode": loss["mode"],
        "token": loss["token"],
        "why": loss["why"],
        "at": iso(tx, loss["at"]),
        "task": loss["task"],
        "had": loss["why"] != NEVER_HELD,
        "holder": None,
        "since": None,
    }
    if holder is not None:
        shown["holder"], shown["since"] = holder["agent"], iso(tx, holder["since"])
        shown["since_ago"] = in_words(tx.now - holder["since"])
    return shown


# --- tasks


def tasks(
    tx: Transaction, call: Call, believed: Sequence[str], claims: list[Claim], lost: list[LossView]
) -> CurrentTask | None:
    """The current task: one that the agent has in mind and holds, else the first that it holds.

    A task that it has in mind and does not hold is added to `lost`.
    """
    mind = list(dict.fromkeys(check_text(task, "task").strip() for task in believed))[:MAX_BELIEVED_TASKS]
    own_claims = {name: claim for claim in claims for name in _tasks_of(claim["resources"])}
    for task in mind:
        if task and task not in own_claims and not _is_said(tx, call, task, lost):
            lost.append(_not_held(tx, call, task))
    first = next((task for task in [*mind, *own_claims] if task in own_claims), None)
    if first is None:
        return None
    claim = own_claims[first]
    return _with_note(tx, {"id": first, "token": claim["token"], "expires_at": iso(tx, claim["until"])})


def _tasks_of(wanted: Sequence[Sequence[str]]) -> list[str]:
    return [resource[1][5:] for resource in wanted if resource[0] == "name" and resource[1].startswith("task:")]


def _is_said(tx: Transaction, call: Call, task: str, lost: list[LossView]) -> bool:
    """Is the task reported as lost already, running in the agent's own family, or finished by the agent itself?"""
    name = f"task:{task}"
    for loss in lost:
        if name in loss["resources"]:
            loss["believed"] = True
            loss["state"] = _state(get_task(tx, task))
            return True
    for record in claim_records.overlapping_claims(tx, [["name", name]], ""):
        if record["until"] > tx.now and related(record["agent"], call.agent):
            return True
    known = get_task(tx, task)
    return known is not None and known["state"] == lifecycle.COMPLETE and related(known["agent"], call.agent)


def _not_held(tx: Transaction, call: Call, task: str) -> LossView:
    """A task in mind that the agent does not hold: its holder, or its state."""
    name = lifecycle.resource_of(task)
    loss: Loss = {
        "claim": "", "agent": call.agent, "resources": [name], "mode": "write", "token": 0, "tree": "", "task": task,
        "why": NEVER_HELD, "at": tx.now, "until": tx.now,
    }  # fmt: skip
    shown: LossView = {**_entry(tx, loss, holder_of(tx, call, [name])), "token": None}
    known = get_task(tx, task)
    shown["believed"], shown["state"] = True, _state(known)
    if known is not None and known["state"] == lifecycle.COMPLETE:
        shown["finished_by"], shown["since"] = known["agent"] or None, iso(tx, known["finished"])
        shown["since_ago"] = in_words(tx.now - known["finished"])
    return shown


def _state(task: Task | None) -> str | None:
    """The task's state; None if there is none by that id."""
    return task["state"] if task is not None else None


def _with_note(tx: Transaction, held: CurrentTask) -> CurrentTask:
    """The task's description, and its last progress note."""
    task = get_task(tx, held["id"])
    if task is None:
        return held
    held["title"] = task["title"]
    if task["note"]:
        held["note"] = task["note"]
    if task["note_by"]:
        held["note_by"] = task["note_by"]
    if task["run"]:
        held["run"] = task["run"]
    if task["progress"]:
        held["progress"] = task["progress"]
    return held
