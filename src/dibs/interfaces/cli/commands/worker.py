"""`dibs worker --exec CMD`: turns any command into a worker that takes tasks. workers/worker.py works."""

from __future__ import annotations

import os
import sys

from dibs import jsontext
from dibs.errors import YES, Invalid, named
from dibs.interfaces.cli import parse
from dibs.interfaces.cli.command import Command
from dibs.interfaces.cli.long_running import SIGNALLED, leave, on_signals, open_workspace
from dibs.machine import durations
from dibs.operations.core.declare import Field

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypedDict

    class WorkerSettings(TypedDict):
        """The options of a worker, but for the command."""

        type: str
        run: str
        can: list[str]
        drain: bool
        limit: int
        idle: int | None  # ms


FIELDS = (
    Field("exec", "text", "the command for each task, run with `sh -c`", default="", metavar="CMD"),
    Field(
        "plan", "text", "a run file that has a command for each step (see `dibs run start`)", default="", metavar="FILE"
    ),
    Field("type", "text", "its agent type; it does not take tasks `--for` another type", default="", metavar="T"),
    Field("can", "words", "its capabilities", default=(), metavar="C,…"),
    Field("run", "text", "only tasks of this run", default="", metavar="RUN"),
    Field("drain", "flag", "exit when no task is left, running or scheduled", default=False),
    Field("limit", "integer", "exit after N tasks", default=0, metavar="N"),
    Field("idle", "duration", "exit after this long without a task", metavar="D"),
)
NOTES = (
    (
        "The command's environment has DIBS_WORKSPACE, DIBS_AGENT, DIBS_TASK, DIBS_TOKEN, DIBS_TASK_KEY (the same in "
        "every attempt: an idempotency key for side effects), DIBS_ATTEMPT and DIBS_RUN. Standard input is one JSON "
        "object: task, payload, inputs (the results of the tasks that it came after, and of its children)."
    ),
    (
        'Its output is the result: JSON, or else {"output": text}; a result that is too long is kept as a file. An '
        'output {"tasks": […]} splits the task. A line `dibs: progress 40 parsing` on standard error reports '
        "progress."
    ),
    "Exit code 0: done. 65: failed for good. Any other: failed, and retried.",
    (
        "If the task is lost or cancelled, or the worker dies, the command and everything it started are ended. "
        "SIGTERM and Ctrl-C end the command and return its task to the queue."
    ),
    (
        "`--drain` exits once no task is ready, running on any worker, or scheduled. Tasks blocked by a failed task, "
        "or meant for other agents, are left."
    ),
    (
        "With --json it prints a line for each event: started, taken, done, split, failed, lost, returned, idle, "
        "draining, swept, store, ended."
    ),
)


def run(words: parse.Words) -> int:
    """Work until there is an end."""
    from dibs.workers.worker import Worker

    settings = _settings(words)
    command_for = _command_for(words)
    ws = open_workspace(words, "worker")
    worker = Worker(ws, command_for=command_for, fresh=True, tell=_say_json if words.json else _say, **settings)
    on_signals(lambda number, _: worker.stop(number))
    try:
        worker.run()
    finally:
        leave(ws)
    worker.tell("ended", agent=worker.agent, **worker.counts)
    return SIGNALLED + worker.signal if worker.signal else YES


def _settings(words: parse.Words) -> WorkerSettings:
    """The fields as the worker wants them."""
    given = words.fields
    try:
        limit = int(given.get("limit", 0))
    except ValueError:
        limit = -1
    if limit < 0:
        raise Invalid(f"limit: a whole number, not {given['limit']!r}", field="limit")
    return {
        "type": given.get("type", ""), "run": given.get("run") or os.environ.get("DIBS_RUN", ""),
        "can": [word.strip() for word in given.get("can", "").split(",") if word.strip()],
        "drain": bool(given.get("drain")), "limit": limit,
        "idle": durations.parse(given["idle"], "idle") if "idle" in given else None,
    }  # fmt: skip


def _command_for(words: parse.Words) -> Callable[[dict[str, Any]], str | None]:
    """Which command a task gets: always the same, or the one that the plan has for its step."""
    command, plan = words.fields.get("exec", ""), words.fields.get("plan", "")
    if bool(command) == bool(plan):
        usage = f"usage: {parse.usage('worker', FIELDS)}"
        raise Invalid("worker: say what to run: either --exec CMD or --plan FILE", field="exec", usage=usage)
    if command:
        return lambda _: command
    from dibs.workers import run_file

    found: Callable[[dict[str, Any]], str | None] = run_file.load(plan).command_for
    return found


def _say_json(event: dict[str, Any]) -> None:
    sys.stdout.write(jsontext.encode(event) + "\n")
    sys.stdout.flush()


def _say(event: dict[str, Any]) -> None:
    """A line for people."""
    line = _LINES[event["event"]](event)
    if line:
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()


def _draining(event: dict[str, Any]) -> str:
    """Whom a worker waits for that is to end when all is done."""
    found = [f"{named(one)} works on {one['task']}" for one in event["at_work"]]
    found += ["a task is ready"] * event["ready"] + ["a task is planned for later"] * event["later"]
    return f"draining: {'; '.join(found)}"


def _ended(event: dict[str, Any]) -> str:
    counts = ", ".join(
        f"{event[name]} {name}" for name in ("done", "split", "failed", "lost", "returned") if event[name]
    )
    return f"{event['agent']}: {counts or 'no tasks'}"


_LINES: dict[str, Callable[[dict[str, Any]], str]] = {
    "started": lambda e: f"{e['agent']} is ready",
    "taken": lambda e: f"{e['task']} taken: {e['title']}" + (f" (attempt {e['attempt']})" if e["attempt"] > 1 else ""),
    "done": lambda e: f"{e['task']} done ({e['seconds']:.1f} s)",
    "split": lambda e: f"{e['task']} split into {len(e['children'])}",
    "failed": lambda e: f"{e['task']} failed ({e['class']}): {e['why']}",
    "lost": lambda e: f"{e['task']} lost: {e['why']}",
    "returned": lambda e: f"{e['task']} returned to the queue",
    "idle": lambda _: "no task is ready; waiting",
    "swept": lambda _: "",
    "draining": _draining,
    "store": lambda e: f"retrying: {e['why']}",
    "ended": _ended,
}


COMMAND = Command(
    "worker",
    "Take tasks and run a command for each.",
    run=run,
    group="agents",
    fields=FIELDS,
    examples=(
        ("dibs worker --exec './do-task.sh'", "take tasks until interrupted"),
        ("dibs worker --exec 'claude -p \"$(jq -r .task.title)\"' --drain", "exit when the queue is empty"),
    ),
    notes=NOTES,
)
