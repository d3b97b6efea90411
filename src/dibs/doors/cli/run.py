"""One command from its words to its exit code."""

from __future__ import annotations

import gc
import os
import sys

from dibs import jsontext
from dibs.doors.cli import parse
from dibs.errors import NO, YES, Invalid
from dibs.operations.core import index
from dibs.session import catalogue, read_fields

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal as _signal  # the same functions, with types
    from typing import Any

    from dibs.operations.core.declare import Operation
else:
    import _signal  # `signal` itself imports enum

# Commands that are not one operation: module of doors/cli, loaded when asked for.
OTHERS = (
    "check", "completion", "demo", "deploy", "doctor", "git-hook", "help", "hook", "import", "init", "lead",
    "log", "restore", "run report", "store move", "sync-check", "up", "verify", "version", "worker",
)  # fmt: skip

# Operations whose command does more than run them: module of doors/cli, too; its help comes from the declaration.
AROUND = ("sweep", "run end", "run gates", "run start")

PROGRESS = 15.0  # seconds between two lines that say the same: a model pays for each of them

# Kept until the process ends: closing the last connection would fold the WAL and sync twice more, for nobody's good.
_kept: list[Any] = []


def run(arguments: list[str]) -> int:
    """Run a command."""
    if not arguments or arguments[0] in {"-h", "--help"}:
        arguments = ["help"]
    elif arguments[0] in {"-V", "--version"}:
        arguments = ["version"]
    command, rest = arguments[0], arguments[1:]
    if rest and f"{command} {rest[0]}" in AROUND:
        return _other(f"{command} {rest[0]}", rest[1:])
    if rest and f"{command} {rest[0]}" in index.FILES:  # two words: `task next`
        return _operation(catalogue.operation(f"{command} {rest[0]}"), rest[1:])
    if rest and f"{command} {rest[0]}" in OTHERS:
        command, rest = f"{command} {rest[0]}", rest[1:]
    if command in AROUND:
        return _other(command, rest)
    if command in index.FILES:
        return _operation(catalogue.operation(command), rest)
    if command in OTHERS:
        return _other(command, rest)
    return _no_command(command, rest)


def _other(command: str, rest: list[str]) -> int:
    """A command with a module of its own."""
    gc.enable()  # `bin/dibs` switched it off
    module = __import__(module_of(command), fromlist=["run"])
    code: int = module.run(rest)
    return code


def family_of(command: str) -> list[str]:
    """The commands of two words that begin with this one."""
    return sorted(name for name in [*index.FILES, *OTHERS] if name.startswith(f"{command} "))


def _no_command(command: str, rest: list[str]) -> int:
    from difflib import get_close_matches

    known, said = [*index.FILES, *OTHERS], command
    family = family_of(command)
    if family:
        if rest and rest[0] in {"-h", "--help"}:
            from dibs.doors.cli import help

            return help.of_name(command)
        if not rest or rest[0].startswith("-"):
            raise Invalid(f"which one: {', '.join(f'`dibs {name}`' for name in family)}?", command=command)
        known, said = family, f"{command} {rest[0]}"
    close = get_close_matches(said, known, 1)
    hint = f"did you mean `dibs {close[0]}`?" if close else f"`dibs help{f' {command}' * bool(family)}` lists them."
    raise Invalid(f"there is no command {said!r}; {hint}", command=said)


def module_of(command: str) -> str:
    """The module of a command that is not one operation; a word of Python's own has a `_` behind it there."""
    return f"dibs.doors.cli.{command.replace('-', '_').replace(' ', '_')}{'_' if command == 'import' else ''}"


def read(operation: Operation, words: parse.Words) -> tuple[Any, Any, dict[str, Any]]:
    """What the words of an operation say: where, who, and its fields."""
    session = open_session(words)
    values = {
        field.name: read_fields.read(session, field, words.fields[field.name])
        for field in operation.fields
        if field.name in words.fields
    }
    read_fields.add_run(operation, values)
    call = session.identify(words.common.get("as"), request=words.common.get("request-id", ""))
    if operation.name == "boot":
        from dibs.session import env_beliefs, memory_files

        files = memory_files.digests(memory_files.load(session))
        values.update(env_beliefs.fields(own=not words.common.get("as")), files=files)
        env_beliefs.name(call)
    return session, call, values


def _operation(operation: Operation, arguments: list[str]) -> int:
    words = parse.parse(operation.name, operation.fields, arguments)
    if words.help:
        from dibs.doors.cli import help

        return help.of_operation(operation)
    session, call, values = read(operation, words)
    if operation.name == "claim":
        return _claim(operation, session, call, values, words)
    if values.get("wait"):
        gc.enable()
        _end_well()
        result = session.run_waiting(operation, call, values, None if words.json else _Waiting())
    else:
        result = session.run(operation, call, values)
    result = session.finish(operation.name, result)
    code = NO if operation.name == "boot" and result["lost"] else YES
    answer(operation.name, result, as_json=words.json, ok=code == YES)
    return code


def _claim(operation: Operation, session: Any, call: Any, values: dict[str, Any], words: parse.Words) -> int:
    """A claim is answered, or it leaves nothing behind: no place in the queue, and no claim that nobody knows of."""
    _end_well()
    try:
        if values.get("wait"):
            gc.enable()
            result = session.run_waiting(operation, call, values, None if words.json else _Waiting())
        else:
            result = session.run(operation, call, values)
        answer(operation.name, session.finish(operation.name, result), as_json=words.json)
        for number in (_signal.SIGINT, _signal.SIGTERM):  # it is answered: now it is too late to interrupt
            _signal.signal(number, _signal.SIG_IGN)
    except (KeyboardInterrupt, SystemExit):
        session.withdraw(call)
        raise
    return YES


def _end_well() -> None:
    """SIGTERM, too, leaves the queue first; then the exit code says that it came."""
    _signal.signal(_signal.SIGTERM, _leave)


def _leave(number: int, _frame: object) -> None:
    raise SystemExit(128 + number)


def open_session(words: parse.Words, *, timeout: float | None = None) -> Any:
    """The workspace that the common options and the environment name."""
    from dibs.session.session import Session

    given = words.common.get("workspace") or os.environ.get("DIBS_WORKSPACE")
    wanted = words.common.get("timeout") or os.environ.get("DIBS_TIMEOUT")
    if wanted:
        from dibs.session import durations

        timeout = durations.parse(wanted, "timeout") / 1000
    session = Session(os.getcwd(), given, timeout=timeout, short_lived=True)
    session.telling = None if words.json else _tell
    session.running = _run_first
    _kept.append(session)
    return session


def answer(command: str, result: dict[str, Any], *, as_json: bool, ok: bool = True) -> None:
    """Print what came of it. `ok` says the same as the exit code: yes, or no."""
    if as_json:
        sys.stdout.write(jsontext.encode({"ok": ok, **result}) + "\n")
    else:
        from dibs.doors.cli import show

        show.show(command, result)


def _tell(text: str) -> None:
    """A line for the person who waits for something long."""
    sys.stderr.write(f"dibs: {text}\n")
    sys.stderr.flush()


def _run_first(*asked: Any) -> dict[str, Any]:
    """Run a command that an operation asks for before it decides."""
    from dibs.running import verification

    return verification.answer(*asked)


class _Waiting:
    """Says once whom one waits for, again when that changes, and now and then that it goes on."""

    def __init__(self) -> None:
        self._said = ""
        self._at = 0.0

    def __call__(self, result: dict[str, Any]) -> None:
        from time import monotonic

        from dibs.errors import say_who

        blockers = result.get("blockers", ())
        whom = "; ".join([f"{one['agent']} {one['resource']} {one.get('waiting', '')}" for one in blockers])
        if whom == self._said and self._at and monotonic() - self._at < PROGRESS:
            return
        self._said, self._at = whom, monotonic()
        text = "; ".join(map(say_who, blockers)) if blockers else result["for"]
        sys.stderr.write(f"dibs: waiting: {text}\n")
        sys.stderr.flush()
