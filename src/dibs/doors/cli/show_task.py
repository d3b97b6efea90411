"""Answers about tasks as text for people."""

from __future__ import annotations

from dibs import jsontext
from dibs.doors.cli import show
from dibs.errors import named
from dibs.session import durations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

LONGEST = 2_000  # letters of a value on the screen; `--json` has it whole


def _line(result: dict[str, Any], what: str) -> list[str]:
    task = result["task"]
    return [f"{what} {task['id']}: {task['title']} ({task['state']})"]


def _added(result: dict[str, Any]) -> list[str]:
    return _line(result, "there already:" if result["existing"] else "added")


def _taken(result: dict[str, Any]) -> list[str]:
    task = result["task"]
    lines = [
        f"task {task['id']}: {task['title']}",
        f"yours under token {result['token']} for {show.left(result['expires_at'])}"
        + (f", attempt {task['attempt']} of {task['max_attempts']}" if task["attempt"] > 1 else ""),
    ]
    if "payload" in task:
        lines.append(f"payload: {_value(task['payload'])}")
    if task.get("note"):
        lines.append(f"last note: {task['note']}")
    if task.get("error"):
        lines.append(f"last time: {task['error']['class']}: {task['error']['why']}")
    if task.get("inputs"):
        lines.append(f"`dibs task inputs {task['id']}` shows the results that it builds on")
    lines.append(f"finish it with: dibs task done {task['id']} --token {result['token']} --result JSON")
    return lines


def _done(result: dict[str, Any]) -> list[str]:
    lines = _line(result, "finished")
    if "verified" in result:
        lines.append(f"verified by `{result['verified']['command']}`, {result['verified']['seconds']:.1f} s")
    if result.get("next"):
        lines += _taken(result["next"])
    elif "next" in result:
        lines.append("nothing else is ready")
    return lines


def _list(result: dict[str, Any]) -> list[str]:
    if not result["tasks"]:
        return ["no tasks"]
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
    return show.table(("TASK", "STATE", "PRIORITY", "AGENT", "TITLE"), rows) + show.going_on(result)


def _why(task: dict[str, Any]) -> str:
    """What a planned task waits for."""
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
    return f" (in {show.left(task['not_before'])})" if task.get("not_before") else ""


def _show(result: dict[str, Any]) -> list[str]:
    task = dict(result["task"])
    lines = [f"{task.pop('id')}: {task.pop('title')}", f"{'state':<12} {task['state']}{_why(task)}"]
    del task["state"]
    notes = task.pop("notes", ())
    lines += [f"{'note':<12} {note['text']} ({note['by']}, {show.ago(note['at'])} ago)" for note in notes]
    task.pop("note", None)
    for name, value in task.items():
        if value not in (None, "", [], {}):
            text = durations.show(int(value * 1000)) if name == "expected" else _value(value)
            lines.append(f"{name.removesuffix('_at'):<12} {text}")
    return lines


def _inputs(result: dict[str, Any]) -> list[str]:
    return [f"{name}: {_value(value)}" for name, value in result["inputs"].items()] or ["no inputs"]


def _value(value: Any) -> str:
    """A value on one line; what an agent wrote is escaped, so that it cannot move the cursor."""
    text = value if isinstance(value, str) and value.isprintable() else jsontext.encode(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}… ({len(text)} letters; --json has them)"


def _said(what: str) -> Callable[[dict[str, Any]], list[str]]:
    return lambda result: _line(result, what)


def _split(result: dict[str, Any]) -> list[str]:
    return [*_line(result, "broken down"), f"children: {', '.join(result['tasks'])}"]


def _assigned(result: dict[str, Any]) -> list[str]:
    task = result["task"]
    if result["agent"]:
        until = show.left(task["assigned"]["until"])
        return [f"{task['id']} waits for {named(result)} to pick it up, for {until}: {task['title']}"]
    if task.get("bids_until"):
        until = show.left(task["bids_until"])
        return [f"{task['id']} is auctioned for {until}; bid with: dibs task bid {task['id']} AMOUNT"]
    return [f"{task['id']} stays in the queue: nobody who fits it has room now"]


def _bid(result: dict[str, Any]) -> list[str]:
    count = result["bids"]
    bids = "the only one" if count == 1 else f"one of {count}"
    return [f"bid {result['amount']} for {result['task']['id']}, {bids}; decided in {show.left(result['bids_until'])}"]


def _turn(result: dict[str, Any]) -> list[str]:
    lines = [f"finished {', '.join(result['done'])}"] if result["done"] else []
    lines += [f"refused {one['id']}: {one['message']}" for one in result["refused"]]
    for taken in result["tasks"]:
        lines += _taken(taken)
    return lines or ["nothing is ready"]


SHOWERS: dict[str, Callable[[dict[str, Any]], list[str]]] = {
    "task add": _added, "task next": _taken, "task claim": _taken, "task done": _done, "task list": _list,
    "task show": _show, "task inputs": _inputs, "task fail": _said("failed"), "task release": _said("given back"),
    "task move": _said("moved"), "task cancel": _said("called off"), "task note": _said("noted on"),
    "task progress": _said("kept"), "task split": _split,
    "task turn": _turn, "task assign": _assigned, "task bid": _bid,
}  # fmt: skip
