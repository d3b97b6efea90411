"""`dibs help`: made from the declarations, so that it cannot say anything else than what the commands do."""

from __future__ import annotations

import sys

from dibs.doors.cli import parse
from dibs.doors.cli import run as commands
from dibs.errors import YES, Invalid
from dibs.operations.core import index
from dibs.session import catalogue

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.operations.core.declare import Field, Operation

GROUPS = (
    ("Start", ("init", "up", "import", "demo", "boot", "leave")),
    ("Claims", ("claim", "renew", "release", "confirm", "ask", "status")),
    ("Agents", ("whoami", "agents", "kill", "revive", "rules", "scratch", "worker", "lead")),
    ("Messages", ("send", "inbox", "ack", "emit", "subscribe", "subscriptions")),
    (
        "Work",
        (
            "task add",
            "task list",
            "task show",
            "task next",
            "task claim",
            "task done",
            "task fail",
            "task turn",
            "task release",
            "task split",
            "task progress",
            "task note",
            "task inputs",
            "task move",
            "task cancel",
            "task assign",
            "task bid",
            "state get",
            "state set",
            "state list",
            "state delete",
            "vote open",
            "vote cast",
            "vote show",
            "vote list",
        ),
    ),
    (
        "Runs",
        (
            "run start",
            "run join",
            "run phase",
            "run progress",
            "run warn",
            "run error",
            "run handled",
            "run gates",
            "run report",
            "run end",
            "run list",
            "run show",
            "run purge",
        ),
    ),
    ("Guards", ("hook", "git-hook", "deploy", "sync-check", "restore", "check", "doctor")),
    ("The record", ("log", "verify", "sweep", "seal", "prune", "store move")),
    ("About", ("completion", "help", "version")),
)
FAMILIES: dict[str, str] = {
    "task": "The work to do",
    "state": "Shared documents",
    "run": "One operation of the fleet",
    "vote": "Decide together",
    "store": "Where it is all kept",
}
COMMON = (
    ("--as AGENT", "who is calling (else DIBS_AGENT, else the client's own session)"),
    ("--workspace DIR", "the workspace (else DIBS_WORKSPACE, else found from here)"),
    ("--request-id ID", "makes a repeat return the first answer instead of a second effect"),
    ("--timeout D", "how long to wait for a busy store (default 5s)"),
    ("--json", "print one JSON object, also for refusals"),
    ("--help", "this"),
)
EXITS = (
    "Exit codes: 0 yes · 1 no, the reason is printed · 2 could not decide · 64 the call's words are off · "
    "130, 143 interrupted"
)


def run(arguments: list[str]) -> int:
    """Help on everything, or on one command."""
    words = [word for word in arguments if not word.startswith("-")]
    if words:
        return of_name(" ".join(words[:2]) if commands.family_of(words[0]) else words[0])
    lines = ["dibs: who may change what, when several coding agents share a repository.", "", "usage: dibs COMMAND …"]
    for title, names in GROUPS:
        lines += ["", f"{title}:"]
        lines += [f"  {name:<11} {text}" for name, text in _listed(names)]
    lines += ["", "`dibs help COMMAND` tells more.", EXITS]
    sys.stdout.write("\n".join(lines) + "\n")
    return YES


def _listed(names: tuple[str, ...]) -> list[tuple[str, str]]:
    """A line for each command; those of two words share one with their family."""
    found: dict[str, str] = {}
    for name in names:
        first, _, second = name.partition(" ")
        if not second:
            found[name] = summary(name)
        else:
            found[first] = f"{found[first]}, {second}" if first in found else f"{FAMILIES[first]}: {second}"
    return list(found.items())


def of_name(name: str) -> int:
    """Help on one command, or on a family of them."""
    family = commands.family_of(name)
    if family:
        width = max(len(member) for member in family)
        lines = [FAMILIES[name] + ".", "", *[f"  dibs {member:<{width}}  {summary(member)}" for member in family]]
        sys.stdout.write("\n".join([*lines, "", f"`dibs help {name} COMMAND` tells more.", EXITS]) + "\n")
        return YES
    if name in index.FILES:
        return of_operation(catalogue.operation(name))
    if name in commands.OTHERS:
        more = getattr(__import__(commands.module_of(name), fromlist=["MORE"]), "MORE", ())
        return of_command(name, summary(name), fields_of(name), list(more))
    raise Invalid(f"there is no command {name!r}; `dibs help` lists them", command=name)


def summary(name: str) -> str:
    """One line about a command."""
    if name in index.FILES:
        return catalogue.operation(name).help
    fixed = {
        "completion": "Print completion for your shell: bash, zsh or fish.",
        "help": "Show this, or one command's help.",
        "version": "Show the versions.",
    }
    if name in fixed:
        return fixed[name]
    module = __import__(commands.module_of(name), fromlist=["HELP"])
    text: str = module.HELP
    return text


def fields_of(name: str) -> tuple[Field, ...]:
    """The fields of a command that is not an operation."""
    module = __import__(commands.module_of(name), fromlist=["FIELDS"])
    found: tuple[Field, ...] = getattr(module, "FIELDS", ())
    return found


def of_operation(operation: Operation) -> int:
    """Help on an operation, with what it answers and refuses."""
    from dibs.operations.core import answers

    more = [f"JSON beside `ok`: {answers.keys_of(operation.answer)}"]
    if operation.errors:
        more.append(f"Refusals: {', '.join(error.code for error in operation.errors)}")
    if operation.name in commands.AROUND:
        more += getattr(__import__(commands.module_of(operation.name), fromlist=["MORE"]), "MORE", ())
    return of_command(operation.name, operation.help, (*operation.fields, *extra_of(operation.name)), more)


def extra_of(name: str) -> tuple[Field, ...]:
    """What the command of an operation takes beside the operation's own fields."""
    if name not in commands.AROUND:
        return ()
    found: tuple[Field, ...] = getattr(__import__(commands.module_of(name), fromlist=["EXTRA"]), "EXTRA", ())
    return found


def of_command(name: str, help: str, fields: tuple[Field, ...], more: list[str] | None = None) -> int:
    """The help text of one command."""
    lines = [help, "", f"usage: {parse.usage(name, fields)}", ""]
    rows = []
    for field in fields:
        if field.hidden:
            continue
        text = field.help
        if field.choices and (field.positional or len("|".join(field.choices)) > parse.WIDE):
            text = f"{text}: {', '.join(field.choices)}"
        if field.positional:
            rows.append((field.metavar, text))
        else:
            value = "" if field.kind == "flag" else f" {parse.value_of(field)}"
            rows.append((f"--{field.name.replace('_', '-')}{value}", text))
    rows += COMMON
    width = max(len(left) for left, _ in rows)
    lines += [f"  {left:<{width}}  {text}" for left, text in rows]
    lines += ["", *(more or []), EXITS]
    sys.stdout.write("\n".join(lines) + "\n")
    return YES
