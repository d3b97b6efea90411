"""Tasks: adding them, looking at them, moving them, calling them off, keeping notes.

taking.py hands them out, outcomes.py has how the work on them ends.

What happens, in short (docs/PROMISES.md has it in full):
- success: a task is there, found by whoever may take it as soon as nothing stands before it.
- again: the same key, or the same request id, gives the task that is there already.
- refusal: an unknown state, a move that is not in the table, a dependency on itself or on nothing; nothing is changed.
- dependencies: a task waits for those named in `after` until they are complete. They must be there when it is added, so
  no cycle can close; the tasks of one file, which come together, are looked through for one.
- children: a task waits for its children before it can be finished; its progress is theirs.
- cancelled: whoever works on it is told and its late result is refused; so are its children.
"""

from __future__ import annotations

from dibs.errors import Conflict, Fenced, Invalid, Killed, NotFound, Quota
from dibs.operations import lifecycle, payloads
from dibs.operations.call import check_text, iso
from dibs.operations.declare import Field, Operation
from dibs.operations.lifecycle import CANCELLED, COMPLETE, EXECUTING, PLANNED
from dibs.operations.policy import check_duration
from dibs.stores.seam import AFTER_KEY, prefix_range

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from dibs.operations.call import Call, Record
    from dibs.stores.seam import Fetched, Transaction

AFTER = 10_000  # tasks that one may wait for: all the maps of a reduce
WORDS = 16  # capabilities that one task may ask for
POOLS = 256  # different demands on agents among the waiting tasks: `next` looks at the head of each
LISTED = 1_000  # tasks in one answer
NOTES = 50  # notes kept for a task; older ones make room
STRATEGIES = ("priority", "round_robin", "load_balanced", "capability", "sticky", "auction", "preemptive")
ADDED = (lifecycle.DISCOVERY, lifecycle.SCOPED, PLANNED)  # the states in which a task may begin


# --- add


def _add(tx: Transaction, call: Call, got: Fetched, **given: Any) -> dict[str, Any]:
    """Add one task; a key that was used before gives the task it was used for."""
    task, existing = create(tx, call, given)
    from dibs.operations import taking

    if not existing:
        taking.wake(tx, [task])
    return {"task": lifecycle.shown(tx, task), "existing": existing}


def create(tx: Transaction, call: Call, given: dict[str, Any], place: int = 0) -> tuple[Record, bool]:
    """Make one task from its fields; `place` keeps the order of those made in one transaction.

    Gives the task, and whether it was there already.
    """
    key = _word(given.get("key", ""), "key")
    if key:
        known = tx.fetch([f"tk\t{key}"]).values[f"tk\t{key}"]
        if known is not None:
            return lifecycle.load(tx, known["task"]), True
    task = _record(tx, call, given, place)
    identifier = task["task"]
    after = _check_after(tx, given.get("after") or (), identifier)
    parent = _adopt(tx, call, task)
    if parent and after:
        _refuse_circle(tx, task, after)
    _check_pools(tx, task)
    payload = given.get("payload")
    if payload is not None:
        tx.put(f"tp\t{identifier}", payloads.check(payload, "payload"))
        task["payload"] = True
    if after:
        tx.put(f"ta\t{identifier}", {"after": list(after)})
        waited = [name for name, state in after.items() if state != COMPLETE]
        for name in waited:
            tx.put(f"td\t{name}\t{identifier}", {})
        task["open"], task["after"] = len(waited), True
    if key:
        tx.put(f"tk\t{key}", {"task": identifier})
    if task["race"]:
        tx.put(f"tg\t{task['race']}\t{identifier}", {})
    if task["run"]:
        tx.put(f"ut\t{task['run']}\t{identifier}", {})
    event = {
        "title": task["title"], "state": task["state"], "priority": task["priority"], "after": list(after)[:100],
        "parent": parent, "run": task["run"], "key": key,
    }  # fmt: skip
    event = {name: value for name, value in event.items() if value}
    if call.request:
        event["request"] = [call.operation, f"{call.request}#{place}"]
    tx.append("task.added", call.agent, identifier, event)
    if task["strategy"] == "auction" and task["state"] == PLANNED:
        task["window"] = tx.now + (task["bid_window"] or call.policy.work["tasks"]["bid_window"])
    lifecycle.put(tx, task)
    return task, False


def create_all(tx: Transaction, call: Call, specs: Sequence[dict[str, Any]]) -> list[Record]:
    """Make many tasks in one transaction. They may name each other in `after`, in any order, but not in a circle."""
    by_id: dict[str, dict[str, Any]] = {}
    for place, spec in enumerate(specs):
        _check_types(spec, place)
        name = spec.get("id") or f"t{tx.id()}"
        if name in by_id:
            raise Conflict(f"two tasks are called {name}", task=name)
        by_id[name] = {**spec, "id": name}
    made = []
    for place, name in enumerate(_in_order(by_id)):
        task, _ = create(tx, call, by_id[name], place)
        made.append(task)
    return made


def _check_types(spec: dict[str, Any], place: int) -> None:
    """What comes as JSON went through no door: its fields are of the kinds that `task add` declares."""
    kinds = {field.name: field.kind for field in ADD_FIELDS}
    for name, value in spec.items():
        kind = kinds.get(name)
        if kind is None:
            raise Invalid(f"task {place + 1}: there is no field {name!r}", field=name)
        if kind == "words":
            fine = isinstance(value, (list, tuple)) and all(isinstance(word, str) for word in value)
        elif kind in {"number", "integer", "duration"}:
            fine = isinstance(value, int) and not isinstance(value, bool) and (kind == "number" or value >= 0)
        else:
            fine = kind == "json" or isinstance(value, str)
        if not fine and value is not None:
            words = {"words": "a list of texts", "number": "a whole number", "integer": "a whole number of 0 or more"}
            must_be = words.get(kind, "milliseconds as a whole number" if kind == "duration" else "a text")
            raise Invalid(f"task {place + 1}: {name} must be {must_be}", field=name)


def _in_order(specs: dict[str, dict[str, Any]]) -> list[str]:
    """The ids so that each stands behind those that it waits for; a circle is refused by its members.

    A parent has to be there before its children, so it counts as well.
    """
    waits = {
        name: {one for one in (*(spec.get("after") or ()), spec.get("parent")) if one in specs}
        for name, spec in specs.items()
    }
    users: dict[str, list[str]] = {name: [] for name in specs}
    for name, before in waits.items():
        for one in before:
            users[one].append(name)
    free = [name for name, before in waits.items() if not before]
    found: list[str] = []
    for name in free:  # grows while it is walked
        found.append(name)
        for user in users[name]:
            waits[user].discard(name)
            if not waits[user]:
                free.append(user)
    if len(found) < len(specs):
        circle = sorted(set(specs) - set(found))
        text = f"these tasks wait for each other in a circle: {', '.join(circle[:10])}"
        raise Invalid(text, field="after", tasks=circle[:100])
    return found


def _record(tx: Transaction, call: Call, given: dict[str, Any], place: int) -> Record:
    title = check_text(given.get("title"), "title").strip()
    if not title:
        raise Invalid("a task needs a title: what is to be done", field="title")
    identifier = given.get("id") or f"t{tx.id()}"
    key = lifecycle.key_of(lifecycle.check_id(identifier))
    there = tx.fetch([key], [(f"ntask:{identifier}\t", f"ntask:{identifier}\n")], 1)
    if there.values[key] is not None:
        raise Conflict(f"there is a task {identifier} already; `--key` makes a repeat harmless", task=identifier)
    state = lifecycle.check_state(given.get("state") or PLANNED)
    if state not in ADDED:
        raise Invalid(f"a task begins as {', '.join(ADDED)}, not as {state}", field="state")
    priority = given.get("priority") or 0
    if not -lifecycle.MOST <= priority <= lifecycle.MOST:
        raise Invalid(f"priority: from -{lifecycle.MOST} to {lifecycle.MOST}", field="priority")
    default = call.policy.work["tasks"]["strategy"]
    sticky = _word(given.get("sticky", ""), "sticky")
    strategy = given.get("strategy") or ("sticky" if sticky else default if default == "auction" else "")
    if strategy and strategy not in STRATEGIES:
        raise Invalid(f"strategy: one of {', '.join(STRATEGIES)}, not {strategy!r}", field="strategy")
    for name in ("expect", "bid_window"):
        if given.get(name):
            check_duration(given[name], name)
    needs = sorted({_word(word, "needs") for word in given.get("needs") or ()})
    require = [_word(word, "require") for word in given.get("require") or ()]
    if len(needs) > WORDS or len(require) > WORDS:
        raise Invalid(f"at most {WORDS} of these", field="needs" if len(needs) > WORDS else "require")
    run = given.get("run") or ""
    if run:
        from dibs.operations import runs

        runs.active(tx, run)
    return lifecycle.full({
        "task": identifier, "title": title, "state": state, "priority": priority, "needs": needs,
        "for": _word(given.get("for", ""), "for"), "by": call.agent, "created": tx.now,
        "order": f"{tx.now:015d}{place:05d}", "parent": given.get("parent") or "", "run": run,
        "key": given.get("key") or "", "expect": given.get("expect") or 0,
        "max_attempts": given.get("attempts") or call.policy.work["tasks"]["max_attempts"],
        "bid_window": given.get("bid_window") or 0, "strategy": strategy, "race": _word(given.get("race", ""), "race"),
        "require": require, "sticky": sticky,
        "named": bool(there.rows),  # somebody claimed the name before there was a task of it
    })  # fmt: skip


def _word(word: str | None, field: str) -> str:
    """A word that becomes part of a key: no blanks, commas or bars."""
    word = word or ""
    if len(word) > lifecycle.MAX_ID or not word.isprintable() or any(sign in word for sign in " ,|"):
        raise Invalid(f"{field}: a word of at most {lifecycle.MAX_ID} letters, without blank, comma or |", field=field)
    return word


def _check_after(tx: Transaction, after: Sequence[str], identifier: str) -> dict[str, str]:
    """The tasks that one waits for, with their states: there, and not itself."""
    if len(after) > AFTER:
        raise Quota(what="tasks that one task waits for", limit=AFTER)
    found: dict[str, str] = {}
    names = list(dict.fromkeys(after))
    for name in names:
        if lifecycle.check_id(name, "after") == identifier:
            raise Invalid(f"task {identifier} cannot wait for itself", field="after", task=identifier)
    for start in range(0, len(names), 256):
        page = names[start : start + 256]
        values = tx.fetch([lifecycle.key_of(name) for name in page]).values
        for name in page:
            record = values[lifecycle.key_of(name)]
            if record is None:
                raise NotFound(f"after: there is no task {name}", field="after", task=name)
            found[name] = lifecycle.full(record)["state"]
    return found


def _adopt(tx: Transaction, call: Call, task: Record) -> str:
    """Make a task its parent's child; the parent waits for it and gives it its run."""
    if not task["parent"]:
        return ""
    if task["parent"] == task["task"]:
        raise Invalid("a task cannot be its own parent", field="parent")
    parent = lifecycle.load(tx, task["parent"])
    if parent["state"] in lifecycle.OVER:
        text = f"task {parent['task']} is {parent['state']}; it gets no more children"
        raise Conflict(text, task=parent["task"], state=parent["state"])
    task["run"] = task["run"] or parent["run"]
    parent["kids"] += 1
    parent["total_kids"] += 1
    lifecycle.put(tx, parent)
    tx.put(f"tc\t{parent['task']}\t{task['task']}", {})
    return str(parent["task"])


def _refuse_circle(tx: Transaction, task: Record, after: dict[str, str]) -> None:
    """A parent waits for its children: a child waits neither for it nor for anything that waits for it."""
    waiting: dict[str, None] = {}
    name = task["parent"]
    while name and name not in waiting:
        waiting[name] = None
        name = lifecycle.load(tx, name)["parent"]
    found = list(waiting)
    for name in found:  # grows while it is walked: those that come after it, and the parents of these
        for user in members(tx, f"td\t{name}\t"):
            for one in (user["task"], user["parent"]):
                if one and one not in waiting:
                    waiting[one] = None
                    found.append(one)
        if len(found) > AFTER:
            raise Quota(what="tasks that wait for a task that gets a child", limit=AFTER)
    circle = [name for name in after if name in waiting]
    if circle:
        text = (
            f"task {task['task']} cannot wait for {circle[0]}: that waits for it, through its parent {task['parent']}"
        )
        raise Invalid(text, field="after", tasks=circle[:100])


def _check_pools(tx: Transaction, task: Record) -> None:
    """`next` looks at the head of each pool, so there may be only some."""
    if not task["for"] and not task["needs"]:
        return
    mine = lifecycle.pool_of(task)
    if tx.scan(1, f"ready\t{mine}\t", 1).rows:
        return
    if len(pools(tx)) >= POOLS:
        raise Quota(what="different demands (--for, --needs) among the waiting tasks", limit=POOLS)


def pools(tx: Transaction) -> list[Record]:
    """The first task of each pool of ready ones."""
    heads: list[Record] = []
    after = ""
    while True:
        rows = tx.scan(1, "ready\t", 1, after).rows
        if not rows:
            return heads
        entry, _, kept = rows[0]
        heads.append(lifecycle.full(kept))
        pool = entry.split("\t")[1]
        if pool == lifecycle.ANYBODY:
            return heads
        after = f"ready\t{pool}\t~"  # behind every place in this pool: those are digits


# --- looking


def _list(
    tx: Transaction, call: Call, state: str = "", run: str = "", parent: str = "", agent: str = ""
) -> dict[str, Any]:
    """Tasks, those at work first, then by priority and age."""
    if state:
        lifecycle.check_state(state)
    more = False
    if parent:
        found, more = _members(tx, f"tc\t{lifecycle.load(tx, parent)['task']}\t")
    elif run:
        found, more = _members(tx, f"ut\t{_word(run, 'run')}\t")
    else:
        found = []
        order = (EXECUTING, PLANNED, *[one for one in lifecycle.STATES if one not in {EXECUTING, PLANNED}])
        for one in (state,) if state else order:
            some, cut = lifecycle.of_state(tx, one, LISTED - len(found))
            found += some
            more = more or cut
    found = [task for task in found if (not state or task["state"] == state) and (not agent or task["agent"] == agent)]
    rank = {name: place for place, name in enumerate((EXECUTING, PLANNED))}
    found.sort(key=lambda task: (rank.get(task["state"], 2), -task["priority"], task["order"]))
    return {"tasks": [lifecycle.shown(tx, task) for task in found], "more": more}


def _members(tx: Transaction, prefix: str) -> tuple[list[Record], bool]:
    """The tasks that rows under a prefix name."""
    page = tx.fetch((), [prefix_range(prefix)], LISTED)
    keys = [lifecycle.key_of(key[len(prefix) :]) for key, _ in page.rows]
    found: list[Record] = []
    for start in range(0, len(keys), 256):
        values = tx.fetch(keys[start : start + 256]).values
        found += [lifecycle.full(record) for record in values.values() if record is not None]
    return found, page.truncated


def members(tx: Transaction, prefix: str) -> Iterator[Record]:
    """All tasks that rows under a prefix name, however many."""
    low, high = prefix_range(prefix)
    while True:
        page = tx.fetch((), [(low, high)], 256)
        values = tx.fetch([lifecycle.key_of(key[len(prefix) :]) for key, _ in page.rows]).values
        yield from [lifecycle.full(record) for record in values.values() if record is not None]
        if not page.truncated:
            return
        low = page.rows[-1][0] + AFTER_KEY


def _show(tx: Transaction, call: Call, id: str) -> dict[str, Any]:
    """One task with everything that belongs to it."""
    task = lifecycle.load(tx, id)
    found = lifecycle.shown(tx, task)
    extra = tx.fetch([f"tp\t{id}", f"tr\t{id}", f"ta\t{id}"], [prefix_range(f"tn\t{id}\t")], NOTES + 1)
    for name, key in (("payload", f"tp\t{id}"), ("result", f"tr\t{id}")):
        if extra.values[key] is not None:
            found[name] = extra.values[key]
    if extra.values[f"ta\t{id}"] is not None:
        found["after"] = extra.values[f"ta\t{id}"]["after"]
    if task["open"]:
        found["blocked_by"] = _blocking(tx, found["after"])
    if task["total_kids"]:
        found["children"] = _children(tx, task)
        found["progress"] = found["children"]["progress"]
    if extra.rows:
        found["notes"] = [{"text": n["text"], "by": n["by"], "at": iso(tx, n["at"])} for _, n in extra.rows]
    live = live_claim(tx, task)
    if live is not None:
        found["token"], found["expires_at"] = live["token"], iso(tx, live["until"])
    return {"task": found}


def _blocking(tx: Transaction, after: Sequence[str], limit: int = 20) -> list[dict[str, str]]:
    """Of the tasks one waits for, some that are not complete, those that never will be by themselves first."""
    found = []
    for start in range(0, len(after), 256):
        values = tx.fetch([lifecycle.key_of(name) for name in after[start : start + 256]]).values
        records = [lifecycle.full(record) for record in values.values() if record]
        found += [{"id": r["task"], "state": r["state"]} for r in records if r["state"] != COMPLETE]
    found.sort(key=lambda one: one["state"] not in lifecycle.OVER)
    return found[:limit]


def _children(tx: Transaction, task: Record) -> dict[str, Any]:
    """A parent's progress is that of its children."""
    members, more = _members(tx, f"tc\t{task['task']}\t")
    counts: dict[str, int] = {}
    for child in members:
        counts[child["state"]] = counts.get(child["state"], 0) + 1
    alive = [child for child in members if child["state"] != CANCELLED]
    done = sum(100 if child["state"] == COMPLETE else child["progress"] for child in alive)
    return {
        "total": task["total_kids"], "open": task["kids"], **counts, "progress": done // len(alive) if alive else 100,
        "ids": [child["task"] for child in members[:100]], "more": more,
    }  # fmt: skip


def _inputs(tx: Transaction, call: Call, id: str) -> dict[str, Any]:
    """The results of the tasks that one waited for, and of its children: what it is to work with."""
    task = lifecycle.load(tx, id)
    key = f"ta\t{id}"
    kept = tx.fetch([key]).values[key]
    names = list(kept["after"]) if kept is not None else []
    children, _ = _members(tx, f"tc\t{id}\t") if task["total_kids"] else ([], False)
    names += [child["task"] for child in children if child["state"] == COMPLETE]
    found: dict[str, Any] = {}
    for start in range(0, len(names), 256):
        page = names[start : start + 256]
        values = tx.fetch([f"tr\t{name}" for name in page]).values
        found.update({name: values[f"tr\t{name}"] for name in page})
    return {"inputs": found}


def live_claim(tx: Transaction, task: Record, *, over: bool = False) -> Record | None:
    """The live claim behind a task that is executing; with `over` also one past its deadline that nobody has ended."""
    from dibs.operations import holds

    if task["state"] != EXECUTING:
        return None
    for record in holds.meeting(tx, [lifecycle.resource_of(task["task"])], ""):
        if record.get(holds.CLAIM) == task["claim"] and (over or record["until"] > tx.now):
            return record
    return None


# --- moving, calling off, notes


def _move(tx: Transaction, call: Call, got: Fetched, id: str, state: str) -> dict[str, Any]:
    """Move a task by hand, as the table allows; into and out of work only with a token."""
    task = lifecycle.load(tx, id)
    to = lifecycle.check_state(state)
    hints = {EXECUTING: "task claim", COMPLETE: "task done", lifecycle.FAILED: "task fail"}
    if to in hints:
        raise Invalid(f"`dibs {hints[to]} {id}` leads there; it needs the task's claim", field="state", task=id)
    if to == CANCELLED:
        return _cancel(tx, call, got, id)
    allowed = lifecycle.MOVES[task["state"]]
    if to not in lifecycle.BY_HAND or to not in allowed or task["state"] == EXECUTING:
        raise lifecycle.refuse_move(task, to)
    before = task["state"]
    lifecycle.move(tx, call.agent, task, to)
    if before in lifecycle.OVER:  # tried anew, from the start
        task.update(failures=0, losses=0, not_before=0, finished=0, progress=0)
        if before == CANCELLED and task["parent"]:
            _count_child(tx, task["parent"], 1)
    task.update(assigned=None, window=0)
    lifecycle.put(tx, task)
    if to == PLANNED:
        from dibs.operations import taking

        taking.wake(tx, [task])
    return {"task": lifecycle.shown(tx, task)}


def _cancel(tx: Transaction, call: Call, got: Fetched, id: str, why: str = "") -> dict[str, Any]:
    """Call a task off, and its children with it."""
    task = lifecycle.load(tx, id)
    if task["state"] == CANCELLED:
        return {"task": lifecycle.shown(tx, task), "cancelled": []}
    if CANCELLED not in lifecycle.MOVES[task["state"]]:
        raise lifecycle.refuse_move(task, CANCELLED)
    done = call_off(tx, call.agent, task, check_text(why, "why") or f"{call.agent} cancelled it")
    return {"task": lifecycle.shown(tx, lifecycle.load(tx, id)), "cancelled": done}


def call_off(tx: Transaction, by: str, task: Record, why: str) -> list[str]:
    """Cancel a task and its children. Whoever works on one is told; what it finishes later is refused."""
    found = [task]
    for one in found:  # grows while it is walked: children may have children, however deep
        _call_off_one(tx, by, one, why)
        if one["total_kids"]:
            found += [child for child in members(tx, f"tc\t{one['task']}\t") if child["state"] not in lifecycle.OVER]
    return [one["task"] for one in found]


def _call_off_one(tx: Transaction, by: str, task: Record, why: str) -> None:
    from dibs.operations import ending, messages

    claim = live_claim(tx, task, over=True)
    holder = task["agent"]
    lifecycle.move(tx, by, task, CANCELLED, why=why)
    task.update(assigned=None, window=0, not_before=0, finished=tx.now)
    lifecycle.put(tx, task)
    if claim is not None:
        ending.end(tx, claim, "cancelled")
        ending.serve(tx, claim["resources"])
        if holder != by and claim["until"] > tx.now:
            text = f"Task {task['task']} ({task['title']}) was called off: {why}. Stop working on it."
            messages.post(tx, holder, by, "cancelled", text, task=task["task"])
    if task["parent"]:
        _count_child(tx, task["parent"], -1)


def _count_child(tx: Transaction, parent: str, change: int) -> None:
    """A parent's count of children that it still waits for."""
    key = lifecycle.key_of(parent)
    kept = tx.fetch([key]).values[key]
    if kept is None or kept.get("state") == COMPLETE:
        return
    record = lifecycle.full(kept)
    record["kids"] = max(0, record["kids"] + change)
    lifecycle.put(tx, record)
    if not record["kids"] and record["state"] == PLANNED:
        from dibs.operations import taking

        taking.wake(tx, [record])


def child_over(tx: Transaction, task: Record) -> None:
    """A child is complete: its parent waits for one less."""
    if task["parent"]:
        _count_child(tx, task["parent"], -1)


def _note(tx: Transaction, call: Call, got: Fetched, id: str, text: str) -> dict[str, Any]:
    """Keep where the work stands; whoever has the task next is told the last note."""
    task = lifecycle.load(tx, id)
    keep_note(tx, call, task, text)
    lifecycle.put(tx, task)
    return {"task": lifecycle.shown(tx, task)}


def keep_note(tx: Transaction, call: Call, task: Record, text: str) -> None:
    """Add a note to a task; the caller writes the record."""
    words = check_text(text, "text").strip()
    if not words:
        raise Invalid("say where it stands", field="text")
    prefix = f"tn\t{task['task']}\t"
    rows = tx.fetch((), [prefix_range(prefix)], NOTES + 1).rows
    for key, _ in rows[: max(0, len(rows) - NOTES + 1)]:
        tx.delete(key)
    last = int(rows[-1][0][len(prefix) :]) if rows else 0
    tx.put(f"{prefix}{max(tx.now, last + 1):015d}", {"text": words, "by": call.agent, "at": tx.now})
    task["note"] = words
    tx.append("task.noted", call.agent, task["task"], {"text": words})


ID = Field("id", "text", "the task's id", positional=True, required=True, metavar="ID")

ADD_FIELDS = (
    Field("title", "text", "what is to be done", positional=True, required=True, metavar="TITLE"),
    Field("id", "text", "its id (else one is made)", default="", metavar="ID"),
    Field("priority", "number", "higher comes first (default 0)", default=0, metavar="N"),
    Field("needs", "words", "capabilities that whoever takes it must have", default=(), metavar="C,…"),
    Field("after", "words", "tasks that must be complete first", default=(), metavar="ID,…"),
    Field("parent", "text", "the task that it is a part of", default="", metavar="ID"),
    Field("for", "text", "only for agents of this type", default="", metavar="TYPE"),
    Field("key", "text", "a repeat with the same key returns the first", default="", metavar="K"),
    Field("expect", "duration", "how long it should take; twice that raises an alert", default=0, metavar="D"),
    Field("state", "choice", "where it begins", default=PLANNED, choices=ADDED, metavar="S"),
    Field("payload", "json", "what it is about, as JSON or @FILE", metavar="JSON"),
    Field("attempts", "integer", "failed or lost so often, it is quarantined", default=0, metavar="N"),
    Field("strategy", "choice", "who gets it (default: the config's)", default="", choices=STRATEGIES),
    Field("sticky", "text", "tasks with the same word go to the same agent", default="", metavar="WORD"),
    Field("bid_window", "duration", "how long an auction collects bids", default=0, metavar="D"),
    Field("race", "text", "of the tasks with this word the first to finish wins", default="", metavar="WORD"),
    Field("require", "words", "names that its result must have", default=(), metavar="NAME,…"),
    Field("run", "text", "the run that it belongs to", default="", metavar="RUN"),
)

OPERATIONS = (
    Operation(
        "task add",
        _add,
        "Add a task.",
        fields=ADD_FIELDS,
        errors=(Invalid, NotFound, Conflict, Quota),
        json="task, existing",
    ),
    Operation(
        "task list",
        _list,
        "List tasks.",
        fields=(
            Field("state", "choice", "only in this state", default="", choices=lifecycle.STATES, metavar="S"),
            Field("run", "text", "only of this run", default="", metavar="RUN"),
            Field("parent", "text", "only the children of this task", default="", metavar="ID"),
            Field("agent", "agent", "only those that this agent works on or finished", default="", metavar="AGENT"),
        ),
        errors=(Invalid, NotFound),
        json="tasks[], more",
        writes=False,
    ),
    Operation(
        "task show", _show, "Show one task with all that belongs to it.", fields=(ID,), errors=(NotFound,), json="task",
        writes=False,
    ),
    Operation(
        "task inputs", _inputs, "Show the results of the tasks that one waited for, and of its children.", fields=(ID,),
        errors=(NotFound,), json="inputs", writes=False,
    ),
    Operation(
        "task move",
        _move,
        "Move a task by hand to another state.",
        fields=(ID, Field("state", "choice", "where to", positional=True, required=True, choices=lifecycle.STATES)),
        errors=(NotFound, Conflict, Invalid),
        json="task",
    ),
    Operation(
        "task cancel",
        _cancel,
        "Call a task off, with its children.",
        fields=(ID, Field("why", "text", "the reason; whoever works on it is told", default="", metavar="T")),
        errors=(NotFound, Conflict),
        json="task, cancelled[]",
    ),
    Operation(
        "task note",
        _note,
        "Keep where the work on a task stands.",
        fields=(ID, Field("text", "text", "where it stands", positional=True, required=True, metavar="TEXT")),
        errors=(NotFound, Invalid, Fenced, Killed),
        json="task",
    ),
)  # fmt: skip
