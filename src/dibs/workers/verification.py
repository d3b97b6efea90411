"""Runs the command that an operation asks for before it decides (`task done --verify CMD`), under the task's claim.

The command runs in the caller's directory, through held_command.py: the claim is renewed meanwhile, and the command
ends when the claim is lost or this process dies. An interrupt ends the command and changes nothing else: the task stays
with its holder. The operation decides what the exit code means.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from time import monotonic

from dibs.operations.tasks.outcomes import KEEP, MAX_OUTPUT_CHARS
from dibs.workers import child_process
from dibs.workers.held_command import HeldCommand, Hold
from dibs.workers.task_command import ESCAPES
from dibs.workspace.paths import of_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypedDict

    from dibs.client.session import Session
    from dibs.operations.core.call import Call, Command
    from dibs.operations.core.declare import Operation
    from dibs.stores.seam import Json

    class CommandResult(TypedDict):
        """What came of a command."""

        token: int  # of the claim that it ran under
        exit: int | None  # None: it was ended at a timeout
        seconds: float
        output: str  # the end of it


REPLACEMENT = "\ufffd"  # for a character that cannot be shown


def answer(session: Session, call: Call, fields: dict[str, Any], asked: Command) -> dict[str, Any]:
    """The request again, with the command's outcome. Raises if the task is no longer the caller's."""
    session.door.announce(f"running {asked['command']}")
    request, call.request = call.request, ""  # it belongs to the operation that asks
    try:
        return {**fields, asked["into"]: _run(session, call, asked)}
    finally:
        call.request = request
        call.facts.clear()  # processes may have died in the meantime


def _run(session: Session, call: Call, asked: Command) -> CommandResult:
    hold = _hold(session, call, asked)
    keeper = child_process.Keeper()
    begun = monotonic()
    try:
        with tempfile.TemporaryFile() as said:
            command = HeldCommand(
                keeper, hold, ["/bin/sh", "-c", asked["command"]],
                cwd=session.cwd, stdin=subprocess.DEVNULL, stdout=said, stderr=said,
            )  # fmt: skip
            try:
                code = command.run()
            except BaseException:  # Ctrl-C: the command must not outlive it
                _end(command.child)
                raise
            if hold.lost is not None:
                raise hold.lost
            return {
                "token": asked["token"], "exit": code, "seconds": round(monotonic() - begun, 3),
                "output": _tail(said.fileno()),
            }  # fmt: skip
    finally:
        keeper.close()


def _hold(session: Session, call: Call, asked: Command) -> Hold:
    """The task's claim, kept while the command runs."""
    confirm, token = session.operation("confirm"), asked["token"]

    def ask(operation: Operation, **fields: object) -> Json:
        call.facts.clear()
        return session.run(operation, call, {"token": token, **fields})

    return Hold(
        asked["resource"][1], token, asked["expires_at"], deadline=session.deadline,
        confirm=lambda: ask(confirm, resource=of_name(asked["resource"][1])), renew=lambda: ask(KEEP, id=asked["task"]),
    )  # fmt: skip


def _end(child: child_process.Child) -> None:
    """Ask the command to end, and kill it if it does not."""
    child.end()
    if child.wait(child_process.KILL_GRACE_MS / 1000) is None:
        child.end()
        child.wait()


def _tail(file: int) -> str:
    """The end of a command's output, as plain text."""
    size = os.fstat(file).st_size
    text = os.pread(file, 4 * MAX_OUTPUT_CHARS, max(0, size - 4 * MAX_OUTPUT_CHARS)).decode(errors="replace")
    plain = ESCAPES.sub("", text.replace("\r\n", "\n"))
    shown = [letter if letter.isprintable() or letter in "\n\t" else REPLACEMENT for letter in plain]
    return "".join(shown).strip()[-MAX_OUTPUT_CHARS:]
