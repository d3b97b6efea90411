"""A task's life: its states and the moves between them, its record, and the indexes under which it is found.

    discovery ⇄ scoped ⇄ planned → executing → complete
                            ↑          │
                            └──────────┤ given back, lost, failed transiently
                                       ├→ failed        permanently; by hand back to planned
                                       └→ quarantined   failed or lost too often; by hand back to planned

Every state but complete can be cancelled, and a cancelled task can be planned again by hand. An executing task has a
live claim on `task:ID`: only taking it leads there, and every end of that claim leads back.

A planned task lies where agents that look for work find it at once: ready (by its demands, then by priority,
then by age), with the agent that it is assigned to, or with the tasks that wait: for other tasks, for a time, for bids.
Nothing is decided here.
"""

from __future__ import annotations

from dibs.errors import Conflict, Invalid, NotFound, quoted
from dibs.operations.core.call import iso
from dibs.stores.seam import COMMIT, COMMIT_DIGITS, KEYS_PER_FETCH, prefix_range, walk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

    from dibs.operations.agents.records import Worker
    from dibs.operations.core.call import Record
    from dibs.stores.seam import Transaction

DISCOVERY, SCOPED, PLANNED, EXECUTING, COMPLETE = "discovery", "scoped", "planned", "executing", "complete"
FAILED, CANCELLED, QUARANTINED = "failed", "cancelled", "quarantined"

MOVES: dict[str, tuple[str, ...]] = {
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
OVER = "over\t"  # in the second index: finished tasks, by their end
ANY_AGENT_POOL = "~"  # the pool of tasks without demands on an agent; it sorts after all other pools


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


def check_state(state: str) -> str:
    """Refuse an unknown state."""
    if state not in MOVES:
        raise Invalid(f"state: one of {', '.join(STATES)}, not {state!r}", field="state")
    return state


def resource_of(identifier: str) -> list[str]:
    """The resource that a claim on a task covers."""
    return ["name", f"task:{identifier}"]


# --- the record

# Defaults that a record leaves out, since most tasks have them: a shorter row is written and read twice for each task.
DEFAULTS: dict[str, Any] = {
    "state": PLANNED, "priority": 0, "needs": [], "for": "", "open": 0, "kids": 0, "total_kids": 0, "after": False,
    "parent": "", "run": "", "key": "", "expect": 0, "failures": 0, "losses": 0, "not_before": 0, "assigned": None,
    "window": 0, "bid_window": 0, "strategy": "", "race": "", "require": [], "sticky": "", "payload": False,
    "named": False, "agent": "", "claim": "", "started": 0, "finished": 0, "error": None, "note": "", "note_by": "",
    "progress": 0, "result": False, "origin": "", "used": None, "verified": False,
}  # fmt: skip


def key_of(identifier: str) -> str:
    """Where a task is kept."""
    return f"t\t{identifier}"


def load(tx: Transaction, identifier: str) -> Record:
    """A task by its id."""
    record: Record | None = tx.get(key_of(check_id(identifier)))
    if record is None:
        raise NotFound(f"there is no task {identifier}; `dibs task list` shows them", task=identifier)
    return full(record)


def load_all(tx: Transaction, names: Sequence[str]) -> dict[str, Record | None]:
    """Any number of tasks by their ids; None for unknown ones."""
    kept = tx.get_many([key_of(name) for name in names])
    return {name: None if (record := kept[key_of(name)]) is None else full(record) for name in names}


def members(tx: Transaction, prefix: str) -> Iterator[Record]:
    """The tasks that the rows below a prefix name, in the order of their ids: a task's children, or a run's tasks."""
    names = [key[len(prefix) :] for key, _ in walk(tx, prefix)]
    for start in range(0, len(names), KEYS_PER_FETCH):
        yield from [task for task in load_all(tx, names[start : start + KEYS_PER_FETCH]).values() if task is not None]


def results(tx: Transaction, names: Sequence[str]) -> dict[str, Any]:
    """The results of these tasks; None where there is no result."""
    kept = tx.get_many([f"tr\t{name}" for name in names])
    return {name: kept[f"tr\t{name}"] for name in names}


def progress(found: Iterable[Record]) -> int:
    """The progress of these tasks together, from 0 to 100, cancelled ones left out; 100 if none is left."""
    points = count = 0
    for task in found:
        if task["state"] != CANCELLED:
            count += 1
            points += points_of(task)
    return points // count if count else MAX_PERCENT


def points_of(task: Record) -> int:
    """The progress of one task: 100 if complete, its own report while executing, else 0."""
    done: int = MAX_PERCENT if task["state"] == COMPLETE else task["progress"] if task["state"] == EXECUTING else 0
    return done


def full(record: Record) -> Record:
    """A stored task, with its defaults filled in."""
    return {**DEFAULTS, **record}


def put(tx: Transaction, task: Record) -> None:
    """Write a task under the keys where agents look for it."""
    entry, when = _places(task, tx.now)
    kept = {name: value for name, value in task.items() if name not in DEFAULTS or value != DEFAULTS[name]}
    tx.put(key_of(task["task"]), kept, entry, when)


def drop(tx: Transaction, task: Record, room: int) -> int:
    """Delete a task and its rows, up to `room` of them; returns how many, and fewer than `room` means all."""
    identifier = task["task"]
    used = 0
    for family in ("tn", "td", "tc", "tb"):
        rows = tx.fetch([prefix_range(f"{family}\t{identifier}\t")], room - used)
        for key, _ in rows.rows:
            tx.delete(key)
        used += len(rows.rows)
        if used >= room:
            return used
    tx.delete(key_of(identifier))
    for family, has in (("tp", "payload"), ("tr", "result"), ("ta", "after"), ("tv", "verified")):
        if task[has]:
            tx.delete(f"{family}\t{identifier}")
    if task["key"]:
        tx.delete(f"tk\t{task['key']}")
    if task["parent"]:
        tx.delete(f"tc\t{task['parent']}\t{identifier}")
    if task["race"]:
        tx.delete(f"tg\t{task['race']}\t{identifier}")
    if task["run"]:
        tx.delete(f"ut\t{task['run']}\t{identifier}")
    return used


def _places(task: Record, now: int) -> tuple[str, str | None]:
    """The entries in the two indexes: what the task waits for, and when a sweep should look at it."""
    state, order = task["state"], f"{order_of(task)}\t{task['task']}"
    if state in FINAL_STATES and not task["run"]:
        return f"tasks\t{state}\t{order}", over(task["finished"] or now)
    if state != PLANNED:
        return f"tasks\t{state}\t{order}", None
    if task["open"] or task["kids"]:
        return f"tasks\tblocked\t{order}", None
    place = f"{MAX_PRIORITY - task['priority']:07d}\t{order}"
    if task["assigned"]:
        return f"mine\t{task['assigned']['agent']}\t{place}", later(task["assigned"]["until"])
    if task["window"]:
        return f"tasks\tauction\t{order}", later(task["window"])
    if task["not_before"] > now:
        return f"tasks\tdelayed\t{order}", later(task["not_before"])
    when = max(task["created"] + PREEMPTION_DELAY_MS, task.get("pressed", 0)) if task["strategy"] == "preemptive" else 0
    return f"ready\t{pool_of(task)}\t{place}", later(when) if when else None


def order_of(task: Record) -> str:
    """A task's place among tasks of its priority, as text that sorts: time, commit, place among those added with it.

    Tasks of earlier versions have the text.
    """
    if isinstance(task["order"], str):
        return task["order"]
    at, commit, place = task["order"]
    number = commit if commit == COMMIT else f"{commit:0{COMMIT_DIGITS}d}"
    return f"{at:015d}{number}{place:05d}"


def pool_of(task: Record) -> str:
    """A task's demands on an agent; tasks with the same demands share a pool, tasks without any sort last."""
    if not task["for"] and not task["needs"]:
        return ANY_AGENT_POOL
    return f"-{task['for']}|{','.join(task['needs'])}"


def later(when: int) -> str:
    """The entry in the second index that makes a task due."""
    return f"later\t{when:015d}"


def over(when: int) -> str:
    """The entry in the second index of a finished task outside any run, by its end (old_tasks.py)."""
    return f"{OVER}{when:015d}"


# Where the tasks of one state lie in the first index.
PLACES: dict[str, tuple[str, ...]] = {state: (f"tasks\t{state}\t",) for state in STATES}
PLACES[PLANNED] = ("ready\t", "mine\t", "tasks\tblocked\t", "tasks\tauction\t", "tasks\tdelayed\t")


def of_state(tx: Transaction, state: str, limit: int) -> tuple[list[Record], bool]:
    """The tasks in one state, up to a limit; and whether there are more."""
    found: list[Record] = []
    for prefix in PLACES[state]:
        after = ""
        while True:
            page = tx.scan(1, prefix, min(512, limit - len(found) + 1), after)
            found += [full(record) for _, _, record in page.rows]
            if len(found) > limit:
                return found[:limit], True
            if not page.truncated:
                break
            after = page.rows[-1][0]
    return found, False


def move(tx: Transaction, agent: str, task: Record, to: str, **data: Any) -> None:
    """Change a task's state, by the table and with its event; the caller writes the record."""
    before = task["state"]
    assert to in MOVES[before], f"{before} → {to}"
    task["state"] = to
    if to == PLANNED:  # no agent has it any more
        task["agent"] = ""
    event = {"from": before, "to": to}
    event.update({key: value for key, value in data.items() if value})
    tx.append("task.moved", agent, task["task"], event)


def refuse_move(task: Record, to: str) -> Conflict:
    """Why a task cannot be moved there."""
    by_hand = MANUAL_STATES if task["state"] != EXECUTING else {CANCELLED}  # back to planned needs the token
    allowed = [state for state in MOVES[task["state"]] if state in by_hand]
    can = f"it can be moved to {', '.join(allowed)}" if allowed else "it cannot be moved any more"
    text = f"task {task['task']} is {task['state']}: {can}{f', not to {to}' if allowed else ''}."
    return Conflict(text, task=task["task"], state=task["state"], to=to, allowed=allowed)


# --- for people and programs


def shown(tx: Transaction, task: Record) -> dict[str, Any]:
    """A task as people and programs see it."""
    found: dict[str, Any] = {
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
    for name in ("needs", "for", "parent", "run", "key", "strategy", "race", "note", "note_by", "progress"):
        if task[name]:
            found[name] = task[name]
    if task["expect"]:
        found["expected"] = task["expect"] / 1000
    for name in ("started", "finished"):
        if task[name]:
            found[f"{name}_at"] = iso(tx, task[name])
    if task["open"]:
        found["waits_for"] = task["open"]
    if task["total_kids"]:
        found["children"] = {"total": task["total_kids"], "open": task["kids"]}
    if task["state"] == PLANNED:
        if task["not_before"] > tx.now:
            found["not_before"] = iso(tx, task["not_before"])
        if task["assigned"]:
            found["assigned"] = {
                "agent": task["assigned"]["agent"], "until": iso(tx, task["assigned"]["until"]),
                "strategy": task["assigned"]["strategy"],
            }  # fmt: skip
        if task["window"]:
            found["bids_until"] = iso(tx, task["window"])
    if task["error"]:
        found["error"] = {**task["error"], "at": iso(tx, task["error"]["at"])}
    if task["used"]:
        found["used"] = task["used"]
    return found


def fits(worker: Worker | None, needs: Sequence[str], for_type: str) -> bool:
    """Is this worker of the type, and has it all the capabilities, that a task asks for?"""
    if worker is None:
        return not needs and not for_type
    return (not for_type or worker["type"] == for_type) and all(need in worker["can"] for need in needs)


def unfit(task: Record, agent: str = "") -> str:
    """Why a task is not for the caller (or for `agent`), and how an agent says what it is."""
    types, needs = [task["for"]] if task["for"] else [], task["needs"]
    asked = [*[f"of type {one}" for one in types], *([f"with {', '.join(needs)}"] if needs else [])]
    options = [*[f"--type {quoted(one)}" for one in types], *([f"--can {quoted(','.join(needs))}"] if needs else [])]
    text = f"task {task['task']} is for {' '.join(['agents', *asked] if asked else ['other agents'])}"
    if agent:
        return f"{text}, and {agent} is not one; `dibs agents` lists the agents."
    return f"{text}. If you are one, say so: `dibs boot {' '.join(options)}`." if options else f"{text}."
