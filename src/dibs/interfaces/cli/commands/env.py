"""`dibs env`: what this working tree needs to run next to others: claimed, printed, written, and given to a command."""

from __future__ import annotations

import os
import sys

from dibs import jsontext
from dibs.errors import YES, Invalid, quoted
from dibs.interfaces.cli import parse, terminal
from dibs.interfaces.cli.command import Command
from dibs.interfaces.cli.dispatch import open_session
from dibs.interfaces.cli.render import times
from dibs.operations.core.declare import Field

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from dibs.client.session import Session
    from dibs.client.tree_env import TreeEnv
    from dibs.operations.core.call import Call
    from dibs.operations.environments.tree_claims import EnvListAnswer, VariableUnits

FORMATS = ("shell", "dotenv", "json")
STORE_TIMEOUT_S = 30.0  # fifty trees may start at once, on one busy processor
NOT_FOUND, NOT_RUNNABLE = 127, 126  # exit codes, as shells have them
FIELDS = (
    Field("format", "choice", "shell (export lines, the default), dotenv or json", choices=FORMATS, metavar="F"),
    Field("run", "text", "run the command that follows with these variables", metavar="CMD…"),
    Field("release", "flag", "give back what this working tree has", default=False),
    Field("list", "flag", "show what all working trees have", default=False),
)


def run(arguments: list[str]) -> int:
    """Read the arguments, whose `--run` ends them, and do what they say."""
    place = next((at for at, word in enumerate(arguments) if word in {"--run", "--"}), len(arguments))
    before, command = arguments[:place], arguments[place + 1 :]
    if arguments[place : place + 1] == ["--"]:
        raise Invalid("env: a command comes after --run", usage=f"usage: {parse.usage('env', FIELDS)}")
    words = parse.parse("env", FIELDS, before)
    chosen: list[str] = [name for name in ("format", "release", "list") if name in words.fields]
    if place < len(arguments):
        chosen.append("run")
    if len(chosen) > 1 or (words.json and "run" in chosen):
        both = " and ".join(f"--{name}" for name in [*chosen, *(["json"] if words.json else ())][:2])
        raise Invalid(f"env: either {both.replace(' and ', ' or ')}", usage=f"usage: {parse.usage('env', FIELDS)}")
    session = open_session(words, timeout=STORE_TIMEOUT_S)
    call = session.identify(words.common.get("as"))
    if "run" in chosen:
        return _run(session, call, command[1:] if command[:1] == ["--"] else command)
    from dibs.client import tree_env

    if "list" in chosen:
        return _list(tree_env.listed(session, call), as_json=words.json)
    if "release" in chosen:
        released = tree_env.release(session, call)
        if words.json:
            sys.stdout.write(jsontext.encode({"ok": True, **released}) + "\n")
        else:
            names = ", ".join(released["released"])
            terminal.write([f"given back: {names}" if names else "this working tree had nothing"])
        return YES
    return _show(session, call, words)


def _show(session: Session, call: Call, words: parse.Words) -> int:
    from dibs.client import env_file, tree_env

    found = tree_env.take(session, call)
    path = env_file.write(session.place, found.values)
    form = words.fields.get("format", FORMATS[0])
    if form not in FORMATS:
        raise Invalid(f"format: one of {', '.join(FORMATS)}, not {form!r}", field="format")
    if words.json:
        answer = {key: value for key, value in found.answer.items() if key != "variables"}
        whole = {"ok": True, **answer, "vars": found.values, "file": path, "warnings": found.warnings}
        sys.stdout.write(jsontext.encode(whole) + "\n")
        return YES
    _warn(found)
    texts = {"shell": env_file.as_shell, "dotenv": env_file.as_dotenv, "json": _as_json}
    sys.stdout.write(texts[form](found.values))
    return YES


def _as_json(values: Mapping[str, str]) -> str:
    return jsontext.encode(dict(values)) + "\n"


def _warn(found: TreeEnv) -> None:
    for warning in found.warnings:
        sys.stderr.write(f"dibs: {warning}\n")


def _run(session: Session, call: Call, command: list[str]) -> int:
    """Become the command: signals and the exit code are its own."""
    if not command:
        raise Invalid("env: name the command after --run", usage=f"usage: {parse.usage('env', FIELDS)}")
    from dibs.client import env_file, tree_env

    found = tree_env.take(session, call)
    env_file.write(session.place, found.values)
    _warn(found)
    session.close()
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        os.execvpe(command[0], command, {**os.environ, **found.values})  # noqa: S606 - this is what it is for
    except FileNotFoundError:
        terminal.complain(f"env: there is no program {quoted(command[0])}")
        return NOT_FOUND
    except OSError as error:
        terminal.complain(f"env: {quoted(command[0])} cannot be run: {error.strerror}")
        return NOT_RUNNABLE


def _list(found: EnvListAnswer, *, as_json: bool) -> int:
    if as_json:
        sys.stdout.write(jsontext.encode({"ok": True, **found}) + "\n")
        return YES
    if not found["trees"]:
        terminal.write(["no working tree has anything of its own"])
        return YES
    rows = [
        (terminal.clean(one["tree"]), terminal.clean(_units(one["units"])), times.left(one["expires_at"]))
        for one in found["trees"]
    ]
    terminal.write([terminal.Table(("WORKING TREE", "HAS", "UNUSED FOR"), rows)])
    return YES


def _units(units: list[VariableUnits]) -> str:
    return "; ".join(f"{one['variable']} {', '.join(one['units'])} ({one['pool']})" for one in units)


COMMAND = Command(
    "env",
    "What this working tree needs to run next to others: its ports, its database, its names.",
    run=run,
    group="claims",
    fields=FIELDS,
    raw=True,
    examples=(
        ('eval "$(dibs env)"', "this shell has the variables of [env.vars]; .env.dibs has them, too"),
        ("dibs env --run npm run dev", "a command with them: its signals and its exit code are its own"),
        ("dibs env --list", "which working tree has what"),
        ("dibs env --release", "give them back; the same as removing the tree, or leaving it unused"),
    ),
    notes=(
        (
            "The same working tree gets the same units again, two trees never share one, and a port that something on "
            "this machine listens on is not given out. `[env]` in .dibs/config.toml says what a tree gets; "
            "`dibs help guides/machine` has recipes."
        ),
        "At an agent's session start its tree's environment is taken, and written to .env.dibs and CLAUDE_ENV_FILE.",
    ),
    json="holder, tree, vars, units, new, expires_at, file, warnings; of --list trees, of --release holder, released",
    refusals=("held", "not_found", "invalid", "unavailable"),
)
