"""`dibs run start`: with a name it is the operation; with a file it also starts workers and sees the run to its end.

A word that ends in `.toml`, or names a file, is a file: its tasks are added with the run, in one transaction, and the
commands of its steps are run by workers on this machine.
"""

from __future__ import annotations

import os
import subprocess
import sys

from dibs import jsontext
from dibs.client import catalogue, read_fields
from dibs.errors import CANNOT_DECIDE, NO, YES, Busy, DibsError, Invalid, Unavailable, counted, quoted
from dibs.interfaces.cli import terminal
from dibs.interfaces.cli.command import Command
from dibs.interfaces.cli.dispatch import finish, open_session, read
from dibs.interfaces.cli.render import some
from dibs.interfaces.cli.render.tasks import value_text
from dibs.operations.core.declare import Field

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.client.session import Session
    from dibs.interfaces.cli.parse import Words
    from dibs.operations.core.declare import Operation
    from dibs.workers.run_driver import RunOutcome
    from dibs.workers.run_file import Plan

# Options for a start from a file; the operation's own fields are for a start by name.
FIELDS = (
    Field("workers", "integer", "with a file: worker processes (default: the file's)", metavar="N"),
    Field("resume", "text", "with a file: resume this run", default="", metavar="RUN"),
    Field("keep_going", "flag", "with a file: continue after a task failed for good", default=False),
    Field("within", "duration", "with a file: stop after this long; the run can be resumed", metavar="D"),
    Field("detach", "flag", "with a file: run in the background", default=False),
    Field("dry_run", "flag", "with a file: check it, print its tasks, start nothing", default=False),
)
MAX_RESULTS_SHOWN = 10  # results that are printed


def run(words: Words) -> int:
    """Start a run by its name, or from a file."""
    name = words.fields["name"]
    if name.endswith(".toml") or os.path.isfile(name):
        return _from_file(words)
    for field in FIELDS:
        if field.name in words.fields:
            raise Invalid(f"--{field.name.replace('_', '-')} is for a file, FILE.toml", field=field.name)
    session, call, values = read(_operation(), words)
    return finish(_operation(), session.answer(_operation(), call, values), words)


def _operation() -> Operation:
    return catalogue.operation("run start")


def _from_file(words: Words) -> int:
    from dibs.workers import run_file

    for name in ("id", "phase", "spec", "tasks"):
        if name in words.fields:
            raise Invalid(f"--{name} does not go with a file, which says it all", field=name)
    plan = run_file.load(words.fields["name"])
    workers = _workers(words, plan)
    if words.fields.get("dry_run"):
        return _dry_run(plan, workers, as_json=words.json)
    from dibs.workers import run_driver, run_screen

    session = open_session(words)
    given = words.fields.get("within")
    within = read_fields.read(session, FIELDS[3], given) if given else plan.within
    screen = run_screen.choose(as_json=words.json)
    drive = run_driver.RunDriver(
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
        text = (
            f"{error.message} `dibs run start {quoted(os.path.relpath(plan.path))} --resume {quoted(run)}` resumes it."
        )
        raise type(error)(text, **error.fields) from None
    finally:
        screen.close()
    return _tell(session, outcome, plan, drive.log(), as_json=words.json)


def _workers(words: Words, plan: Plan) -> int | None:
    from dibs.workers.run_file import MAX_WORKERS

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
    workers_count = counted(sum(crew.count for crew in crews), "worker")
    head = f"{plan.name}: {plan.pattern}, {counted(len(tasks), 'task')}, {workers_count}, commands in {plan.folder}"
    rows = [(task["id"], task["title"], some(list(task.get("after", ())))) for task in tasks]
    terminal.write([head, terminal.Table(("TASK", "TITLE", "AFTER"), rows)])
    return YES


def _detach(session: Session, words: Words, log: str, run: str) -> int:
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
        sys.stdout.write(f"run {run} continues in the background (process {child.pid}); its log is {log}\n")
    return YES


def _tell(session: Session, outcome: RunOutcome, plan: Plan, log: str, *, as_json: bool) -> int:
    """Print the outcome, for people or as the last line of JSON; returns the exit code."""
    done, why = outcome["complete"], outcome["why"]
    code = YES if done else NO if why in {"over", "failed"} else CANNOT_DECIDE
    if outcome.get("signal"):
        code = 128 + outcome["signal"]
    if as_json:
        line: dict[str, object] = {
            "ok": done,
            "run": {"id": outcome["run"]},
            "why": why,
            "log": log,
            "outlook": outcome["outlook"],
        }
        if "ended" in outcome:
            line.update(run=outcome["ended"], report=outcome["report"], vote=outcome["vote"])
        if not done:
            line["error"] = {"code": "failed", "message": _reason(outcome, plan), "run": outcome["run"]}
        sys.stdout.write(jsontext.encode(line) + "\n")
        return code
    if done:
        decided = f"; decided: {outcome['vote']['option']}" if outcome["vote"] else ""
        terminal.write([f"run {outcome['run']} is complete{decided}", *_results(session, plan, outcome["run"])])
    else:
        sys.stderr.write(f"dibs: {_reason(outcome, plan)}\n")
    if "ended" in outcome:
        archive = outcome["ended"].get("archive")
        files = [("report", outcome["report"])]
        files += [("archive", os.path.join(session.place.local, archive["file"]))] if archive else []
        terminal.write([f"{name}: {os.path.relpath(path)}" for name, path in files])
    else:
        sys.stdout.write(f"log: {log}\n")
    return code


def _results(session: Session, plan: Plan, run: str) -> list[str]:
    """The results of the run: of its last tasks, those that no other task of the file comes after."""
    if plan.pattern == "vote":  # its result is what was decided
        return []
    tasks = plan.tasks(run)
    used = {name for task in tasks for name in task.get("after", ())}
    last = [task["id"] for task in tasks if task["id"] not in used and not task.get("parent")]
    found = []
    for name in last[:MAX_RESULTS_SHOWN]:
        try:
            task = session.run(catalogue.operation("task show"), session.identify(None), {"id": name})["task"]
        except DibsError:  # purged meanwhile, or not for this caller: the report has it
            continue
        if "result" in task:
            found.append((name.removeprefix(f"{run}/"), value_text(task["result"])))
    lines = [f"{name if len(found) > 1 else 'result'}: {text}" for name, text in found]
    more = len(last) - MAX_RESULTS_SHOWN
    return [*lines, f"(and {more} more: the report has them)"] if more > 0 else lines


def _reason(outcome: RunOutcome, plan: Plan) -> str:
    """Why it is not complete, and what to do next."""
    run, outlook = outcome["run"], outcome["outlook"]
    again = f"`dibs run start {quoted(os.path.relpath(plan.path))} --resume {quoted(run)}` resumes it"
    if "ended" not in outcome:
        words = {
            "interrupted": "was interrupted; its running tasks went back to the queue",
            "late": "ran out of time; its running tasks went back to the queue",
            "deserted": "has no worker left: they crashed too often",
        }
        return f"run {run} {words[outcome['why']]}. {again}."
    if outcome["vote"]:
        return f"run {run}: the vote is {outcome['vote']['state']}; no option has a majority."
    failed = ", ".join(f"{task['id']} ({task['why'] or task['state']})" for task in outlook["failed"][:3])
    stuck = f"; {counted(outlook['stuck'], 'task')} blocked by it" if outlook["stuck"] else ""
    return f"run {run} is not complete: {failed or 'tasks were cancelled'}{stuck}."


COMMAND = Command(
    "run start",
    run=run,
    fields=FIELDS,
    notes=(
        (
            "NAME may be a file, FILE.toml (`dibs help patterns`). Then dibs adds its tasks, starts workers, ends and "
            "archives the run when its tasks are finished, and prints the result. Exit code 0: complete; 1: not "
            "complete; 2: stopped, and can be resumed."
        ),
        "With --json a file's run prints one object a line; the last one has `ok`.",
    ),
)
