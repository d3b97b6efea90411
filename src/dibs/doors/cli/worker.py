"""`dibs worker --exec CMD`: turns any command into a worker that takes tasks. running/worker.py works."""

from __future__ import annotations

import os
import signal
import sys

from dibs import jsontext
from dibs.doors.cli import parse
from dibs.doors.cli.run import open_session
from dibs.errors import YES, DibsError, Invalid, named
from dibs.operations.core.declare import Field
from dibs.session import durations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType
    from typing import Any

    from dibs.doors.python.workspace import Workspace

FIELDS = (
    Field("exec", "text", "the command for each task, run with `sh -c`", default="", metavar="CMD"),
    Field("plan", "text", "a plan that has a command for each step (see `dibs run start`)", default="", metavar="FILE"),
    Field("type", "text", "what kind of agent it is: tasks `--for` another are not for it", default="", metavar="T"),
    Field("can", "words", "what it is able to do", default=(), metavar="C,…"),
    Field("run", "text", "only tasks of this run", default="", metavar="RUN"),
    Field("drain", "flag", "end when nothing is left that could still come to it", default=False),
    Field("limit", "integer", "end after so many tasks", default=0, metavar="N"),
    Field("idle", "duration", "end after so long without a task", metavar="D"),
)
HELP = "Take tasks and run a command for each."
MORE = (
    "The command finds DIBS_WORKSPACE, DIBS_AGENT, DIBS_TASK, DIBS_TOKEN, DIBS_TASK_KEY (one in every attempt: for",
    "side effects that must happen once), DIBS_ATTEMPT, DIBS_RUN in its environment, and one JSON object on standard",
    "input: task, payload, inputs (the results of the tasks that it waited for, and of its children).",
    'Its output is the result: JSON, or else {"output": text}; what is too long is kept as a file. An output',
    '{"tasks": […]} breaks the task down. A line `dibs: progress 40 where it stands` on standard error is progress.',
    "Exit code 0: done. 65: failed for good. Any other: failed, and tried again.",
    "When the task is lost or called off the command and all it started are ended; when the worker dies, too.",
    "SIGTERM and Ctrl-C end the command and give its task back. `--drain` ends when no task is ready for it, none is",
    "at work with anybody and none is planned for a later time; what waits for a failed one, or for others, is left.",
    "With --json a line for each event: started, taken, done, split, failed, lost, returned, idle, draining, swept,",
    "store, ended",
)
SIGNALLED = 128  # and the signal's number: how a shell tells it


def run(arguments: list[str]) -> int:
    """Work until there is an end."""
    words = parse.parse("worker", FIELDS, arguments)
    if words.help:
        from dibs.doors.cli import help

        return help.of_command("worker", HELP, FIELDS, list(MORE))
    from dibs.running.worker import Worker

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


def _settings(words: parse.Words) -> dict[str, Any]:
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
    from dibs.running import run_file

    found: Callable[[dict[str, Any]], str | None] = run_file.load(plan).command_for
    return found


def open_workspace(words: parse.Words, kind: str) -> Workspace:
    """The workspace, opened by an agent whose process this is: --as, else DIBS_AGENT, else a name of its own.

    Where that agent is the one that started us, we are its subagent: as itself we would take its place.
    """
    from dibs.doors.python.workspace import Workspace

    name = words.common.get("as") or os.environ.get("DIBS_AGENT") or ""
    session = open_session(words)
    if name:
        above = {process[3] for process, _ in session.chain()}
        known = session.run(session.operation("agents"), session.identify(name), {"all": True})["agents"]
        if any(one["agent"] == name and one["state"] == "alive" and one["pid"] in above for one in known):
            name = f"{name}/{kind}-{os.getpid()}"
    else:
        host = "".join(letter if letter.isalnum() or letter in "-." else "-" for letter in os.uname().nodename)
        name = f"{kind}-{host}-{os.getpid()}"
    os.environ["DIBS_WORKSPACE"] = session.place.root
    os.environ["DIBS_AGENT"] = name
    timeout = session.timeout
    session.close()
    return Workspace(os.getcwd(), name, timeout=timeout)


def on_signals(handler: Callable[[int, FrameType | None], None]) -> None:
    """Be told of whoever wants us to end; what we were started to ignore (`nohup`, `&`) stays ignored."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, handler)


def leave(ws: Workspace) -> None:
    """Say that we are done; who cannot be told will notice."""
    try:
        ws.leave()
    except DibsError:
        pass


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
    return f"{event['agent']}: {counts or 'nothing to do'}"


_LINES: dict[str, Callable[[dict[str, Any]], str]] = {
    "started": lambda e: f"{e['agent']} works",
    "taken": lambda e: f"{e['task']} taken: {e['title']}" + (f" (attempt {e['attempt']})" if e["attempt"] > 1 else ""),
    "done": lambda e: f"{e['task']} done ({e['seconds']:.1f} s)",
    "split": lambda e: f"{e['task']} broken down into {len(e['children'])}",
    "failed": lambda e: f"{e['task']} failed ({e['class']}): {e['why']}",
    "lost": lambda e: f"{e['task']} lost: {e['why']}",
    "returned": lambda e: f"{e['task']} given back",
    "idle": lambda _: "nothing to do; waiting",
    "swept": lambda _: "",
    "draining": _draining,
    "store": lambda e: f"trying again: {e['why']}",
    "ended": _ended,
}
