"""A command as a worker's handler: the task on its standard input, its output as the result, its exit code the outcome.

What a command finds: DIBS_WORKSPACE, DIBS_AGENT, DIBS_TASK, DIBS_TOKEN, DIBS_TASK_KEY (the same in every attempt: for
side effects that must happen once), DIBS_ATTEMPT, DIBS_RUN; and one JSON object on standard input: task, payload and
inputs. What it gives: its whole output, if that is JSON, else `{"output": text}`; what is too long for the store, or no
text, is kept as a file; no output, no result. A line `dibs: progress 40 where it stands` on standard error is told to
the store.
Exit code 0 is done, 65 is a failure for good, anything else, death by a signal too, one that is tried again.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from tempfile import TemporaryFile
from threading import Thread

from dibs import jsontext
from dibs.errors import DibsError, Failed, Invalid
from dibs.facts import usage
from dibs.operations.core.declare import LARGEST
from dibs.running import child_process
from dibs.running.held_command import HeldCommand
from dibs.running.worker import Permanent, Stopped
from dibs.session import json_input

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import IO, Any

    from dibs.running.heartbeat import Job
    from dibs.running.worker import Worker
    from dibs.session.session import Session

FOR_GOOD = 65  # EX_DATAERR of sysexits.h: the input is wrong, and will be
PROGRESS = re.compile(rb"dibs: progress (\d{1,3})(?:[ \t]+(.*))?")
ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[@-_])")  # colours and the like
CHUNK = 65_536  # bytes of a line on standard error; a longer one is passed on in pieces
LATE = 2.0  # seconds that standard error may stay open behind a command's end: somebody left the group with it
SUBSTITUTE = "\x1a"  # the one sign that the store keeps for itself


class Commands:
    """Runs a command of the shell for each task."""

    def __init__(self, worker: Worker, command_for: Callable[[dict[str, Any]], str | None]) -> None:
        self._worker, self._command_for = worker, command_for
        self._keeper = child_process.Keeper()
        self._asked = False  # was the last command asked to end?

    def __call__(self, job: Job) -> Any:
        """The task's result. Raises why there is none."""
        command = self._command_for({**job.task, "payload": job.payload})
        if command is None:
            raise Failed("this worker has no command for it")
        with TemporaryFile() as given, TemporaryFile() as said:
            given.write(jsontext.encode({"task": job.task, "payload": job.payload, "inputs": job.inputs}).encode())
            given.seek(0)
            code, last = self._run(job, command, given, said)
            if job.lost is not None:
                raise job.lost
            if self._asked and self._worker.stopped:
                raise Stopped
            self._judge(code, last, said)
            said.seek(0)
            return result_of(self._worker.ws.session, said.read(json_input.LARGEST + 1))

    def close(self) -> None:
        """No more commands."""
        self._keeper.close()

    def _run(self, job: Job, command: str, given: IO[bytes], said: IO[bytes]) -> tuple[int, str]:
        """Run it to its end; its exit code, and the last line on standard error."""
        if self._worker.told_to_end(job):
            raise Stopped
        held = HeldCommand(
            self._keeper,
            job.hold,
            ["/bin/sh", "-c", command],
            stdin=given,
            stdout=said,
            stderr=subprocess.PIPE,
            env={**os.environ, **environment(job, self._worker)},
        )
        child = held.child
        errors = _Errors(job, child.stderr)
        errors.start()
        job.watch = lambda: _bound(child, said)
        if self._worker.told_to_end(job) and not child.asked:  # while it was started
            child.end()
        code = held.run_attended()
        if child.used is not None:
            job.used = usage.of_command(child.used)
        self._asked = child.asked
        job.watch = None
        errors.join(LATE)
        return code, errors.last

    def _judge(self, code: int, last: str, said: IO[bytes]) -> None:
        """Raise what an exit code means, unless all is well."""
        if os.fstat(said.fileno()).st_size > json_input.LARGEST:
            raise Permanent(f"it wrote more than {json_input.LARGEST >> 20} MiB to standard output")
        if code:
            why = f"{child_process.say_end(code)}: {last}" if last else child_process.say_end(code)
            raise Permanent(why) if code == FOR_GOOD else Failed(why)


def environment(job: Job, worker: Worker) -> dict[str, str]:
    """What a command finds in its environment."""
    return {
        "DIBS_WORKSPACE": worker.ws.root,
        "DIBS_AGENT": worker.agent,
        "DIBS_TASK": job.id,
        "DIBS_TOKEN": str(job.token),
        "DIBS_TASK_KEY": job.task.get("key") or job.id,
        "DIBS_ATTEMPT": str(job.task["attempt"]),
        "DIBS_RUN": job.task.get("run", ""),
    }


def result_of(session: Session, output: bytes) -> Any:
    """What a command's output is as a result."""
    try:
        text = output.decode()
    except UnicodeDecodeError:
        return json_input.keep(session, "output", output)
    if not text.strip():
        return None
    try:
        value = json_input.parse(text, "output")
    except Invalid:
        value = {"output": text.rstrip("\n")}
        if SUBSTITUTE in text:
            return json_input.keep(session, "output", output)
    if isinstance(value, dict) and list(value) == ["tasks"]:
        return value  # children: they are tasks of their own, not a result
    return value if len(jsontext.encode(value)) <= LARGEST else json_input.keep(session, "output", output)


def _bound(child: child_process.Child, said: IO[bytes]) -> None:
    """A command that writes without end is ended."""
    if not said.closed and os.fstat(said.fileno()).st_size > json_input.LARGEST:
        child.end(signal.SIGKILL)


class _Errors(Thread):
    """Passes a command's standard error on, line by line, and picks out what it says of its progress."""

    def __init__(self, job: Job, stream: IO[bytes]) -> None:
        super().__init__(name="dibs-errors", daemon=True)
        self._job, self._stream = job, stream
        self.last = ""

    def run(self) -> None:
        with self._stream:
            for line in iter(lambda: self._stream.readline(CHUNK), b""):
                self._line(line)

    def _line(self, line: bytes) -> None:
        found = PROGRESS.fullmatch(line.rstrip())
        if found is not None and int(found[1]) <= 100:  # noqa: PLR2004 - percent
            try:
                self._job.progress(int(found[1]), (found[2] or b"").decode(errors="replace"))
            except DibsError:  # the task is lost; the command is being ended
                pass
            return
        text = ESCAPES.sub("", line.decode(errors="replace")).strip()
        self.last = text or self.last
        try:
            sys.stderr.buffer.write(line)
            sys.stderr.flush()
        except (OSError, ValueError):  # nobody reads it any more
            pass
