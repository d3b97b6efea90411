"""`dibs run start`: with a name it is the operation; with a file it also starts workers and sees the run to its end.

A word that ends in `.toml`, or names a file, is a file: its tasks are added with the run, in one transaction, and the
commands of its steps are run by workers on this machine.
"""

from __future__ import annotations

import os
import subprocess
import sys

from dibs import jsontext
from dibs.doors.cli import parse
from dibs.doors.cli.run import answer, open_session
from dibs.errors import CANNOT_DECIDE, NO, YES, Busy, Invalid, Unavailable
from dibs.operations.core.declare import Field
from dibs.session import catalogue, read_fields

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dibs.running.run_file import Plan
    from dibs.session.session import Session

# What a file brings with it; the operation's own fields are for a start by name.
EXTRA = (
    Field("workers", "integer", "with a file: worker processes (default: as it says)", metavar="N"),
    Field("resume", "text", "with a file: go on with this run", default="", metavar="RUN"),
    Field("keep_going", "flag", "with a file: a task that failed for good does not end the rest", default=False),
    Field("within", "duration", "with a file: stop after that long; the run stays", metavar="D"),
    Field("detach", "flag", "with a file: do all that in the background", default=False),
    Field("dry_run", "flag", "with a file: check it, print its tasks, start nothing", default=False),
)
MORE = (
    "NAME may be a file, FILE.toml (docs/PATTERNS.md): then its tasks are added, workers started, and the run is ended",
    "and archived when they are over. Exit code 0: all of it is complete; 1: not; 2: stopped, and can be resumed.",
    "With --json a file's run prints one object a line; the last one has `ok`.",
)
SECONDS = 1000
INTERRUPTED = 130


def run(arguments: list[str]) -> int:
    """Start a run by its name, or from a file."""
    operation = catalogue.operation("run start")
    known = (*operation.fields, *EXTRA)
    words = parse.parse("run start", known, arguments)
    if words.help:
        from dibs.doors.cli import help

        return help.of_operation(operation)
    name = words.fields["name"]
    if name.endswith(".toml") or os.path.isfile(name):
        return _from_file(words)
    for field in EXTRA:
        if field.name in words.fields:
            raise Invalid(f"--{field.name.replace('_', '-')} is for a file, FILE.toml", field=field.name)
    session = open_session(words)
    values = {
        f.name: read_fields.read(session, f, words.fields[f.name]) for f in operation.fields if f.name in words.fields
    }
    call = session.identify(words.common.get("as"), request=words.common.get("request-id", ""))
    answer(operation.name, session.run(operation, call, values), as_json=words.json)
    return YES


def _from_file(words: parse.Words) -> int:
    from dibs.running import run_file

    for name in ("id", "phase", "spec", "tasks"):
        if name in words.fields:
            raise Invalid(f"--{name} does not go with a file, which says it all", field=name)
    plan = run_file.load(words.fields["name"])
    workers = _workers(words, plan)
    if words.fields.get("dry_run"):
        return _dry_run(plan, workers, as_json=words.json)
    from dibs.running import run_driver, run_screen

    session = open_session(words)
    given = words.fields.get("within")
    within = read_fields.read(session, EXTRA[3], given) if given else plan.within
    screen = run_screen.choose(as_json=words.json)
    drive = run_driver.Drive(
        session, words.common.get("as"), plan, screen, workers=workers, within=within,
        keep_going=words.fields.get("keep_going"),
    )  # fmt: skip
    resumed = words.fields.get("resume")
    run = drive.resume(resumed) if resumed else drive.start()
    if words.fields.get("detach"):
        return _detach(session, words, drive.log(), run)
    try:
        outcome = drive.go()
    except (Busy, Unavailable) as error:
        text = f"{error.message} `dibs run start {os.path.relpath(plan.path)} --resume {run}` goes on."
        raise type(error)(text, **error.fields) from None
    finally:
        screen.close()
    return _tell(outcome, plan, drive.log(), as_json=words.json)


def _workers(words: parse.Words, plan: Plan) -> int | None:
    from dibs.running.run_file import MAX_WORKERS

    given = words.fields.get("workers")
    if given is None:
        return None
    if plan.electorate:
        raise Invalid("workers: in a vote there is one for each elector", field="workers")
    if not given.isdecimal() or not 1 <= int(given) <= MAX_WORKERS:
        raise Invalid(f"workers: a whole number from 1 to {MAX_WORKERS}, not {given!r}", field="workers")
    plan.crews(int(given))
    return int(given)


def _dry_run(plan: Plan, workers: int | None, *, as_json: bool) -> int:
    """The tasks that would be added, and who would do them."""
    tasks, crews = plan.tasks("RUN"), plan.crews(workers)
    if as_json:
        found = [{"count": crew.count, "type": crew.type, "can": list(crew.can), "agent": crew.agent} for crew in crews]
        line = {"ok": True, "name": plan.name, "pattern": plan.pattern, "tasks": tasks, "workers": found}
        sys.stdout.write(jsontext.encode(line) + "\n")
        return YES
    from dibs.doors.cli.show import table

    count = sum(crew.count for crew in crews)
    sys.stdout.write(f"{plan.name}: {plan.pattern}, {len(tasks)} tasks, {count} workers, commands in {plan.folder}\n")
    rows = [(task["id"], task["title"], _after(task.get("after", []))) for task in tasks]
    sys.stdout.write("".join(f"{line}\n" for line in table(("TASK", "TITLE", "AFTER"), rows)))
    return YES


def _after(names: list[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")  # noqa: PLR2004 - enough to see which


def _detach(session: Session, words: parse.Words, log: str, run: str) -> int:
    """The same with `--resume`, in a session of its own, which outlives this terminal."""
    again = [sys.executable, "-P", "-m", "dibs", "run", "start", os.path.abspath(words.fields["name"]), "--resume", run]
    again += ["--json", "--workspace", session.place.root]
    for name in ("workers", "within"):
        if name in words.fields:
            again += [f"--{name}", words.fields[name]]
    if words.fields.get("keep_going"):
        again.append("--keep-going")
    if words.common.get("as"):
        again += ["--as", words.common["as"]]
    with open(log, "ab") as file:
        child = subprocess.Popen(  # noqa: S603 - this interpreter, with words of ours
            again, stdin=subprocess.DEVNULL, stdout=file, stderr=file, start_new_session=True
        )
    if words.json:
        line = {"ok": True, "run": {"id": run}, "pid": child.pid, "log": log}
        sys.stdout.write(jsontext.encode(line) + "\n")
    else:
        sys.stdout.write(f"run {run} goes on in the background (process {child.pid}); its log is {log}\n")
    return YES


def _tell(outcome: dict[str, Any], plan: Plan, log: str, *, as_json: bool) -> int:
    """What came of it, for people or as the last line of JSON, and the exit code."""
    done, why = outcome["complete"], outcome["why"]
    code = YES if done else NO if why in {"over", "failed"} else CANNOT_DECIDE
    if outcome.get("signal"):
        code = 128 + outcome["signal"]
    if as_json:
        line = {"ok": done, "run": {"id": outcome["run"]}, "why": why, "log": log, "outlook": outcome["outlook"]}
        if "ended" in outcome:
            line.update(run=outcome["ended"]["run"], report=outcome["report"], vote=outcome["vote"])
        if not done:
            line["error"] = {"code": "failed", "message": _reason(outcome, plan), "run": outcome["run"]}
        sys.stdout.write(jsontext.encode(line) + "\n")
        return code
    if done:
        decided = f"; decided: {outcome['vote']['option']}" if outcome["vote"] else ""
        sys.stdout.write(f"run {outcome['run']} is complete{decided}\n")
    else:
        sys.stderr.write(f"dibs: {_reason(outcome, plan)}\n")
    if "ended" in outcome:
        archive = outcome["ended"]["run"].get("archive")
        sys.stdout.write(f"report: {outcome['report']}\n" + (f"archive: {archive['file']}\n" if archive else ""))
    else:
        sys.stdout.write(f"log: {log}\n")
    return code


def _reason(outcome: dict[str, Any], plan: Plan) -> str:
    """Why it is not complete, and what to do next."""
    run, outlook = outcome["run"], outcome["outlook"]
    again = f"`dibs run start {os.path.relpath(plan.path)} --resume {run}` goes on"
    if "ended" not in outcome:
        words = {
            "interrupted": "was interrupted; what was at work went back to the queue",
            "late": "is out of time; what was at work went back to the queue",
            "deserted": "has no worker left: they ended too often",
        }
        return f"run {run} {words[outcome['why']]}. {again}."
    if outcome["vote"]:
        return f"run {run}: the vote is {outcome['vote']['state']}; no option has a majority."
    failed = ", ".join(f"{task['id']} ({task['why'] or task['state']})" for task in outlook["failed"][:3])
    stuck = f", {outlook['stuck']} tasks that wait for it cannot go on" if outlook["stuck"] else ""
    return f"run {run} is not complete: {failed or 'tasks were called off'}{stuck}."
