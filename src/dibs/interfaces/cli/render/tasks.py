"""Answers about tasks as text for people."""

from __future__ import annotations

from dibs import jsontext
from dibs.errors import named, quoted
from dibs.interfaces.cli.render import listed, some, times
from dibs.machine import durations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.interfaces.cli.render import Items, Lines
    from dibs.operations.tasks.answers import (
        Assignment,
        ChildrenView,
        TaskAddAnswer,
        TaskAnswer,
        TaskAssignAnswer,
        TaskBidAnswer,
        TaskDetail,
        TaskDoneAnswer,
        TaskInputsAnswer,
        TaskListAnswer,
        TaskShowAnswer,
        TaskSplitAnswer,
        TaskTakeAnswer,
        TaskTurnAnswer,
        TaskUse,
        TaskView,
        Verification,
    )

# What `task show` tells in lines of its own, before the other values.
SHOWN_ABOVE = frozenset({
    "id", "title", "state", "agent", "name", "attempt", "max_attempts", "error", "notes", "expired", "note", "note_by",
    "note_by_name", "assigned", "children", "verified", "used",
})  # fmt: skip
MAX_VALUE_CHARS = 2_000  # letters of a value on the screen; `--json` has it whole


def _line(result: TaskAnswer, what: str) -> Lines:
    task = result["task"]
    return [f"{what} {task['id']}: {task['title']} ({task['state']})"]


def _added(result: TaskAddAnswer) -> Items:
    return _line(result, "exists already:" if result["existing"] else "added")


def _taken(result: TaskTakeAnswer) -> Items:
    task = result["task"]
    lines = [
        f"task {task['id']}: {task['title']}",
        f"yours under token {result['token']} for {times.left(result['expires_at'])}"
        + (f", attempt {task['attempt']} of {task['max_attempts']}" if task["attempt"] > 1 else ""),
    ]
    if "payload" in task:
        lines.append(f"payload: {value_text(task['payload'])}")
    if task.get("note"):
        lines.append(f"last note: {task['note']}")
    if task.get("error"):
        lines.append(f"last time: {task['error']['class']}: {task['error']['why']}")
    if task.get("inputs"):
        lines.append(f"`dibs task inputs {quoted(task['id'])}` shows the results that it builds on")
    lines.append(f"finish it with: dibs task done {task['id']} --token {result['token']} --result JSON")
    return lines


def _done(result: TaskDoneAnswer) -> Items:
    lines = _line(result, "finished")
    if "verified" in result:
        lines.append(f"verified by `{result['verified']['command']}`, {result['verified']['seconds']:.1f} s")
    if result.get("unfinished"):
        lines.append(f"not committed: {some(result['unfinished'])}")
    if "check" in result:
        lines.append(f"not verified: `--verify {quoted(result['check'])}` runs the project's check first")
    if "next" in result:
        lines += _taken(result["next"]) if result["next"] else ["no other task is ready"]
    return lines


def _list(result: TaskListAnswer) -> Items:
    rows = [
        (
            task["id"],
            task["state"] + _why(task),
            str(task["priority"]),
            named(task) if task["agent"] else "-",
            task["title"],
        )
        for task in result["tasks"]
    ]
    return listed(("TASK", "STATE", "PRIORITY", "AGENT", "TITLE"), rows, "no tasks", result)


def _why(task: TaskView) -> str:
    """What a planned task waits for, and whether one at work still is."""
    if task.get("expired"):
        return " (expired)"
    if task["state"] == "executing" and task.get("progress"):
        return f" {task['progress']}%"
    if task["state"] != "planned":
        return ""
    if task.get("waits_for"):
        return f" (after {task['waits_for']})"
    if task.get("children", {}).get("open"):
        return f" (children: {task['children']['open']})"
    if task.get("assigned"):
        return f" (for {named(task['assigned'])})"
    if task.get("bids_until"):
        return " (auction)"
    return f" (in {times.left(task['not_before'])})" if task.get("not_before") else ""


def _show(result: TaskShowAnswer) -> Items:
    task = result["task"]
    rows = [("state", f"{task['state']}{_why(task)}")]
    if task.get("agent"):
        rows.append(("agent", named(task)))
    if task.get("expired"):
        rows.append(
            ("claim", "expired; the next agent that asks for work, or `dibs sweep`, returns the task to the queue")
        )
    if task.get("attempt", 0) > 1 or task.get("started_at"):  # not yet begun: no attempt either
        rows.append(("attempt", f"{task['attempt']} of {task['max_attempts']}"))
    if task.get("error"):
        rows.append(("error", f"{task['error']['class']}: {task['error']['why']}"))
    rows += [
        ("note", f"{note['text']} ({named(note, 'by')}, {times.ago(note['at'])} ago)") for note in task.get("notes", ())
    ]
    rows += _nested(task)
    for name, value in task.items():
        if name not in SHOWN_ABOVE and not name.endswith("_name") and value not in (None, "", [], {}):
            text = _when(name, task.get(f"{name}_name", value))  # of an agent, its name
            if name == "expected":
                text = durations.show(int(task["expected"] * 1000))
            rows.append((name.removesuffix("_at").replace("_", " "), text))
    return [f"{task['id']}: {task['title']}", *[f"{name:<12} {text}" for name, text in rows]]


def _nested(task: TaskDetail) -> list[tuple[str, str]]:
    """What a task has that is more than one value, in words."""
    rows = []
    if task.get("assigned"):
        rows.append(("assigned", _assignment(task["assigned"])))
    if task.get("children"):
        rows.append(("children", _children(task["children"])))
    if task.get("verified"):
        rows.append(("verified", _verification(task["verified"])))
    if task.get("used"):
        rows.append(("used", _used(task["used"])))
    return rows


def _assignment(assignment: Assignment) -> str:
    return f"to {named(assignment)}, {times.left(assignment['until'])} left to take it ({assignment['strategy']})"


def _used(use: TaskUse) -> str:
    parts = (("cpu", "{:.2f} s of a processor"), ("memory", "{:.0f} MiB"), ("seconds", "in {:.2f} s"))
    values = {**use, "memory": use["memory"] / 2**20 if "memory" in use else None}
    return ", ".join([text.format(values[name]) for name, text in parts if values.get(name) is not None])


def _verification(verification: Verification) -> str:
    return f"by `{verification['command']}` in {verification['seconds']:.1f} s, {times.ago(verification['at'])} ago"


def _children(children: ChildrenView) -> str:
    ids = ", ".join(children["ids"]) + (", …" if children["more"] else "")
    return f"{children['total']}, {children['open']} open, {children['progress']} % done: {ids}"


def _when(name: str, value: object) -> str:
    """A value; a time as how long ago it was, or how long it is until then."""
    if not isinstance(value, str) or not name.endswith(("_at", "_until", "not_before")):
        return value_text(value)
    return f"in {times.left(value)}" if times.ms_until(value) > 0 else f"{times.ago(value)} ago"


def _inputs(result: TaskInputsAnswer) -> Items:
    return [f"{name}: {value_text(value)}" for name, value in result["inputs"].items()] or ["no inputs"]


def value_text(value: object) -> str:
    """A value on one line; what an agent wrote is escaped, so that it cannot move the cursor."""
    text = value if isinstance(value, str) and value.isprintable() else jsontext.encode(value)
    return text if len(text) <= MAX_VALUE_CHARS else f"{text[:MAX_VALUE_CHARS]}… ({len(text)} letters; --json has them)"


def _said(what: str) -> Callable[[TaskAnswer], Items]:
    return lambda result: _line(result, what)


def _split(result: TaskSplitAnswer) -> Items:
    return [*_line(result, "split"), f"children: {', '.join(result['tasks'])}"]


def _assigned(result: TaskAssignAnswer) -> Items:
    task = result["task"]
    if result["agent"]:
        until = times.left(task["assigned"]["until"])
        return [f"{task['id']} waits for {named(result)} to pick it up, for {until}: {task['title']}"]
    if task.get("bids_until"):
        until = times.left(task["bids_until"])
        return [f"{task['id']} is auctioned for {until}; bid with: dibs task bid {task['id']} AMOUNT"]
    return [f"{task['id']} stays in the queue: {result['why']}"]


def _bid(result: TaskBidAnswer) -> Items:
    count = result["bids"]
    bids = "the only one" if count == 1 else f"one of {count}"
    return [f"bid {result['amount']} for {result['task']['id']}, {bids}; decided in {times.left(result['bids_until'])}"]


def _turn(result: TaskTurnAnswer) -> Items:
    lines: Lines = [f"finished {', '.join(result['done'])}"] if result["done"] else []
    lines += [f"refused {task['id']}: {task['message']}" for task in result["refused"]]
    for taken in result["tasks"]:
        lines += _taken(taken)
    return lines or ["no task is ready"]


RENDERERS = {
    "task add": _added, "task next": _taken, "task claim": _taken, "task done": _done, "task list": _list,
    "task show": _show, "task inputs": _inputs, "task fail": _said("failed"), "task release": _said("returned"),
    "task edit": _said("changed"), "task move": _said("moved"), "task cancel": _said("cancelled"),
    "task note": _said("noted on"), "task progress": _said("progress saved:"), "task split": _split,
    "task turn": _turn, "task assign": _assigned, "task bid": _bid,
}  # fmt: skip
