"""Finds the command that the arguments name, runs it, prints its answer. `dibs claim` loads no more than it needs."""

from __future__ import annotations

import gc
import os
import sys

from dibs import jsontext
from dibs.client import catalogue, read_fields
from dibs.errors import NO, YES, Invalid
from dibs.interfaces.cli import parse
from dibs.operations.core import index as operations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal as _signal  # the same functions, with types
    from collections.abc import Mapping

    from dibs.client.session import Session
    from dibs.interfaces.session_doors import CommandDoor
    from dibs.operations.core.call import Call
    from dibs.operations.core.declare import Operation
else:
    import _signal  # `signal` itself imports enum

# A command that does more than run its operation has a file of the operation's name here. To look costs less than to
# load the index.
OWN = f"{__file__.rpartition('/')[0]}/commands/"

# Spellings of earlier versions and what they are now. They work for one more version, say so, and are listed nowhere.
OLD = {"check settle": "check --settle", "landings": "land --status", "landings cancel": "land --cancel"}

# Kept until the process ends: closing the last connection would fold the WAL and sync twice more, for no use.
_open_sessions: list[Session] = []


def run(arguments: list[str]) -> int:
    """Run the command that these arguments name."""
    leading, arguments = _leading(arguments) if arguments[:1] and arguments[0][:1] == "-" else ([], arguments)
    if not arguments:
        return _own("home", leading)
    name, rest = arguments[0], arguments[1:]
    if rest and f"{name} {rest[0]}" in operations.FILES:  # two words: `task next`
        name, rest = f"{name} {rest[0]}", rest[1:]
    if name in operations.FILES and not os.path.exists(f"{OWN}{name.replace(' ', '_')}.py"):
        return _operation(catalogue.operation(name), leading + rest)
    from dibs.interfaces.cli import index

    if rest and f"{name} {rest[0]}" in index.COMMANDS:
        name, rest = f"{name} {rest[0]}", rest[1:]
    if name in index.COMMANDS:
        return _own(name, leading + rest)
    from dibs.interfaces.cli import suggest

    return suggest.no_command(name, [*rest, *[word for word in leading if word == "--json"]])


def _leading(arguments: list[str]) -> tuple[list[str], list[str]]:
    """The common options that stand before the command, and the rest. `-h` and `-V` are commands of their own."""
    place = 0
    while place < len(arguments) and arguments[place].startswith("-"):
        word = arguments[place]
        name, given, _ = word[2:].partition("=") if word.startswith("--") else ("", "", "")
        if word in {"-h", "--help"}:
            return arguments[:place], ["help", *arguments[place + 1 :]]
        if word in {"-V", "--version"}:
            return arguments[:place], ["version", *arguments[place + 1 :]]
        if name in parse.COMMON:
            place += 1 if given else 2
        elif word == "--json":
            place += 1
        else:
            known = f"{', '.join(f'--{one}' for one in parse.COMMON)} and --json"
            raise Invalid(f"unknown option {word} before the command; only {known} may come there", field=word)
    return arguments[:place], arguments[place:]


def _own(name: str, rest: list[str]) -> int:
    """A command with a file of its own below commands/."""
    gc.enable()  # `bin/dibs` switched it off
    from dibs.interfaces.cli import command

    found = command.find(name)
    assert found.run is not None
    if found.raw:
        if rest[:1] in (["-h"], ["--help"]):
            return _help(name)
        return found.run(rest)
    words = parse.parse(name, found.fields, rest, rest=found.rest, short=found.short, old=found.old)
    if words.help:
        return _help(name, as_json=words.json)
    for field, line in found.old.items():
        if field in words.fields:
            _renamed(f"{name} --{field}", line)
    return found.run(words)


def _renamed(old: str, line: str) -> None:
    """Say the new spelling, on stderr: an answer stays as it was."""
    sys.stderr.write(f"dibs: `dibs {old}` is now `dibs {line}`; the old spelling goes with the next version\n")


def _help(name: str, *, as_json: bool = False) -> int:
    from dibs.interfaces.cli import help

    return help.show(name, as_json=as_json)


def read(
    operation: Operation, words: parse.Words, door: type[CommandDoor] | None = None
) -> tuple[Session, Call, dict[str, object]]:
    """The session, the caller and the field values that the arguments of an operation's command name."""
    session = open_session(words, door=door)
    known = operation.by_name
    given = {name: value for name, value in words.fields.items() if name in known}  # not the command's own
    values = read_fields.request(session, operation, given)
    return session, session.identify(words.common.get("as"), request=words.common.get("request-id", "")), values


def _operation(operation: Operation, arguments: list[str]) -> int:
    words = parse.parse(operation.name, operation.fields, arguments)
    if words.help:
        return _help(OLD.get(operation.name, operation.name).partition(" --")[0], as_json=words.json)
    if operation.name in OLD:
        _renamed(operation.name, OLD[operation.name])
    session, call, values = read(operation, words)
    if operation.withdraws:
        return _withdrawing(operation, session, call, values, words)
    if values.get("wait"):
        _exit_on_signals(session)
    return finish(operation, ask(operation, session, call, values, words), words)


def finish(operation: Operation, result: Mapping[str, object], words: parse.Words) -> int:
    """Print an operation's answer; returns the exit code, 1 where the declaration says that the answer refuses."""
    code = NO if operation.refuses and result.get(operation.refuses) else YES
    answer(operation.name, result, as_json=words.json, ok=code == YES)
    return code


def _withdrawing(
    operation: Operation, session: Session, call: Call, values: dict[str, object], words: parse.Words
) -> int:
    """Run an operation that leaves nothing behind unless it is answered: no place in a queue, no unknown claim."""
    _exit_on_signals(session)
    try:
        code = finish(operation, ask(operation, session, call, values, words), words)
        _ignore_signals()  # it is answered: too late to interrupt
    except (KeyboardInterrupt, SystemExit):
        try:
            _ignore_signals()  # a second one must not keep it from leaving the queue
        finally:
            session.withdraw(call)
        raise
    return code


def _ignore_signals() -> None:
    for number in (_signal.SIGINT, _signal.SIGTERM):
        _signal.signal(number, _signal.SIG_IGN)


def ask(
    operation: Operation, session: Session, call: Call, values: dict[str, object], words: parse.Words
) -> Mapping[str, object]:
    """The answer of an operation. While it waits, a person sees the holder."""
    waits = bool(values.get("wait"))
    if waits or operation.around:
        gc.enable()
    answer: Mapping[str, object]
    if not waits or words.json:
        answer = session.answer(operation, call, values)
        return answer
    from dibs.interfaces.cli import waiting

    shown = waiting.choose()
    try:
        answer = session.answer(operation, call, values, shown.update)
    finally:
        shown.close()
    return answer


def _exit_on_signals(session: Session) -> None:
    """Turn SIGTERM into SystemExit: a wait leaves its queue first, then the exit code names the signal.

    The session keeps what the handler of SIGTERM or SIGINT raises: Python drops it where the handler runs within a
    finalizer or the callback of a weak reference, and the import system has such callbacks.
    """

    def leave(number: int, _frame: object) -> None:
        session.interrupt = KeyboardInterrupt() if number == _signal.SIGINT else SystemExit(128 + number)
        raise session.interrupt

    _signal.signal(_signal.SIGTERM, leave)
    if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:  # else it is ignored: a job in the background
        _signal.signal(_signal.SIGINT, leave)


def open_session(words: parse.Words, *, timeout: float | None = None, door: type[CommandDoor] | None = None) -> Session:
    """The workspace that the common options and the environment name. `door` is a command's own."""
    from dibs.client.session import Session
    from dibs.interfaces import session_doors

    given = words.common.get("workspace") or os.environ.get("DIBS_WORKSPACE")
    wanted = words.common.get("timeout") or os.environ.get("DIBS_TIMEOUT")
    if wanted:
        from dibs.machine import durations

        timeout = durations.parse(wanted, "timeout") / 1000
    made = (door or session_doors.CommandDoor)(quiet=words.json)
    session = Session(os.getcwd(), given, timeout=timeout, short_lived=True, door=made)
    if os.path.exists(f"{session.place.local}/serve.json") and not session.is_far:
        from dibs.client.server_link import SocketLink

        session.link = SocketLink(session.place.local)
    if session.config.problem:
        session_doors.tell(session.config.problem)
    _open_sessions.append(session)
    return session


def answer(command: str, result: Mapping[str, object], *, as_json: bool, ok: bool = True) -> None:
    """Print an answer. `ok` says the same as the exit code: yes, or no."""
    if as_json:
        sys.stdout.write(jsontext.encode({"ok": ok, **result}) + "\n")
    else:
        from dibs.interfaces.cli import render

        render.show(command, result)
