"""A task's life: its states and the moves between them, and its view for people and programs.

    discovery ⇄ scoped ⇄ planned → executing → complete
                            ↑          │
                            └──────────┤ given back, lost, failed transiently
                                       ├→ failed        permanently; by hand back to planned
                                       └→ quarantined   failed or lost too often; by hand back to planned

Every state but complete can be cancelled, and a cancelled task can be planned again by hand. An executing task has a
live claim on `task:ID`: only taking it leads there, and every end of that claim leads back.

records.py has what is stored. Nothing is decided here.
"""

from __future__ import annotations

from dibs.errors import Conflict, Invalid, quoted
from dibs.operations.core.call import iso

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Final, TypedDict, TypeGuard, Unpack

    from dibs.operations.agents.records import Worker
    from dibs.operations.tasks.answers import TaskState, TaskView
    from dibs.operations.tasks.records import Task
    from dibs.stores.seam import Json, Transaction

    FailureClass = TypedDict("FailureClass", {"class": str}, total=False)

    class MoveFacts(FailureClass, total=False):
        """What the event of a move says besides; what is empty is left out."""

        claim: str
        token: int
        why: str
        request: list[str] | None  # operation and request id
        verified: dict[str, str | int | float] | None  # the verification in short


DISCOVERY: Final = "discovery"
SCOPED: Final = "scoped"
PLANNED: Final = "planned"
EXECUTING: Final = "executing"
COMPLETE: Final = "complete"
FAILED: Final = "failed"
CANCELLED: Final = "cancelled"
QUARANTINED: Final = "quarantined"

MOVES: dict[str, tuple[TaskState, ...]] = {
    DISCOVERY: (SCOPED, CANCELLED),
    SCOPED: (DISCOVERY, PLANNED, CANCELLED),
    PLANNED: (SCOPED, EXECUTING, CANCELLED),
    EXECUTING: (PLANNED, COMPLETE, FAILED, QUARANTINED, CANCELLED),
    COMPLETE: (),
    FAILED: (PLANNED, CANCELLED),
    QUARANTINED: (PLANNED, CANCELLED),
    CANCELLED: (PLANNED,),
}
STATES = tuple(MOVES)
FINAL_STATES = frozenset({COMPLETE, FAILED, CANCELLED, QUARANTINED})
FAILED_STATES = frozenset({FAILED, QUARANTINED})  # no further attempt follows
# the targets of `task move`; the others need a token
MANUAL_STATES = frozenset({DISCOVERY, SCOPED, PLANNED, CANCELLED})

MAX_PERCENT = 100  # percent
MAX_PRIORITY = 1_000_000  # and -1,000,000 is the least
MAX_ID_CHARS = 120  # it is part of a resource's name
PREEMPTION_DELAY_MS = 1_000  # the time that a preemptive task leaves to free agents before it displaces a running task
ID_SIGNS = frozenset("._-:/@#+=")  # in addition to letters and digits


# --- names


def check_id(identifier: str, field: str = "id") -> str:
    """Refuse ids that would break a key, a list of ids or the name of a resource."""
    fine = identifier.isalnum() or all(letter.isalnum() or letter in ID_SIGNS for letter in identifier)
    if not identifier or len(identifier) > MAX_ID_CHARS or not fine or identifier.startswith("-"):
        signs = "".join(sorted(ID_SIGNS))
        raise Invalid(f"{field}: 1 to {MAX_ID_CHARS} letters, digits or {signs}, no dash first", field=field)
    return identifier


def check_word(word: str | None, field: str) -> str:
    """A word that becomes part of a key: no blanks, commas or bars."""
    word = word or ""
    if len(word) > MAX_ID_CHARS or not word.isprintable() or any(sign in word for sign in " ,|") or word[:1] == "-":
        limits = f"at most {MAX_ID_CHARS} letters, without blank, comma or |, no dash first"
        raise Invalid(f"{field}: a word of {limits}", field=field)
    return word


def _is_state(state: str) -> TypeGuard[TaskState]:
    return state in MOVES


def check_state(state: str) -> TaskState:
    """Refuse an unknown state."""
    if not _is_state(state):
        raise Invalid(f"state: one of {', '.join(STATES)}, not {state!r}", field="state")
    return state


def resource_of(identifier: str) -> list[str]:
    """The resource that a claim on a task covers."""
    return ["name", f"task:{identifier}"]


# --- progress and moves


def progress(tasks: Iterable[Task]) -> int:
    """The progress of these tasks together, from 0 to 100, cancelled ones left out; 100 if none is left."""
    points = count = 0
    for task in tasks:
        if task["state"] != CANCELLED:
            count += 1
            points += points_of(task)
    return points // count if count else MAX_PERCENT


def points_of(task: Task) -> int:
    """The progress of one task: 100 if complete, its own report while executing, else 0."""
    return MAX_PERCENT if task["state"] == COMPLETE else task["progress"] if task["state"] == EXECUTING else 0


def move(tx: Transaction, agent: str, task: Task, to: TaskState, **data: Unpack[MoveFacts]) -> None:
    """Change a task's state, by the table and with its event; the caller writes the record."""
    before = task["state"]
    assert to in MOVES[before], f"{before} → {to}"
    task["state"] = to
    if to == PLANNED:  # no agent has it any more
        task["agent"] = ""
    event: dict[str, object] = {"from": before, "to": to}
    event.update({key: value for key, value in data.items() if value})
    tx.append("task.moved", agent, task["task"], event)


def refuse_move(task: Task, to: str) -> Conflict:
    """Why a task cannot be moved there."""
    by_hand = MANUAL_STATES if task["state"] != EXECUTING else {CANCELLED}  # back to planned needs the token
    allowed = [state for state in MOVES[task["state"]] if state in by_hand]
    can = f"it can be moved to {', '.join(allowed)}" if allowed else "it cannot be moved any more"
    text = f"task {task['task']} is {task['state']}: {can}{f', not to {to}' if allowed else ''}."
    return Conflict(text, task=task["task"], state=task["state"], to=to, allowed=allowed)


# --- for people and programs


def shown(tx: Transaction, task: Task) -> TaskView:
    """A task as people and programs see it."""
    view: TaskView = {
        "id": task["task"],
        "title": task["title"],
        "state": task["state"],
        "priority": task["priority"],
        "agent": task["agent"] or None,
        "by": task["by"],
        "created_at": iso(tx, task["created"]),
        # the present attempt, or the last one
        "attempt": max(1, task["failures"] + (task["state"] not in FAILED_STATES)),
        "max_attempts": task["max_attempts"],
    }
    fields: Json = task
    texts: Json = view
    for name in ("needs", "for", "parent", "run", "key", "strategy", "race", "note", "note_by", "progress"):
        if fields[name]:
            texts[name] = fields[name]
    if task["expect"]:
        view["expected"] = task["expect"] / 1000
    if task["started"]:
        view["started_at"] = iso(tx, task["started"])
    if task["finished"]:
        view["finished_at"] = iso(tx, task["finished"])
    if task["open"]:
        view["waits_for"] = task["open"]
    if task["total_kids"]:
        view["children"] = {"total": task["total_kids"], "open": task["kids"]}
    if task["state"] == PLANNED:
        if task["not_before"] > tx.now:
            view["not_before"] = iso(tx, task["not_before"])
        if task["assigned"]:
            view["assigned"] = {
                "agent": task["assigned"]["agent"], "until": iso(tx, task["assigned"]["until"]),
                "strategy": task["assigned"]["strategy"],
            }  # fmt: skip
        if task["window"]:
            view["bids_until"] = iso(tx, task["window"])
    if task["error"]:
        error = task["error"]
        view["error"] = {
            "class": error["class"], "why": error["why"], "at": iso(tx, error["at"]), "agent": error["agent"],
        }  # fmt: skip
    if task["used"]:
        used: Json = task["used"]
        view["used"] = used
    return view


def fits(worker: Worker | None, needs: Sequence[str], for_type: str) -> bool:
    """Is this worker of the type, and has it all the capabilities, that a task asks for?"""
    if worker is None:
        return not needs and not for_type
    return (not for_type or worker["type"] == for_type) and all(need in worker["can"] for need in needs)


def unfit(task: Task, agent: str = "") -> str:
    """Why a task is not for the caller (or for `agent`), and how an agent says what it is."""
    kind, needs = task["for"], task["needs"]
    asked = [*([f"of type {kind}"] if kind else []), *([f"with {', '.join(needs)}"] if needs else [])]
    options = [*([f"--type {quoted(kind)}"] if kind else []), *([f"--can {quoted(','.join(needs))}"] if needs else [])]
    text = f"task {task['task']} is for {' '.join(['agents', *asked] if asked else ['other agents'])}"
    if agent:
        return f"{text}, and {agent} is not one; `dibs agents` lists the agents."
    return f"{text}. If you are one, say so: `dibs boot {' '.join(options)}`." if options else f"{text}."
