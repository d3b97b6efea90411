"""A command as a worker's handler: the task on its standard input, its output as the result, its exit code the outcome.

A command's environment: DIBS_WORKSPACE, DIBS_AGENT, DIBS_TASK, DIBS_TOKEN, DIBS_TASK_KEY (the same in every attempt:
for side effects that must happen once), DIBS_ATTEMPT, DIBS_RUN; and one JSON object on standard input: task, payload
and inputs. Its result: its whole output, if that is JSON that the store takes, else `{"output": text}`; output that is
too long for the store, or not text, is kept as a file; no output, no result. A line `dibs: progress 40 where it stands`
on standard error is reported to the store. Exit code 0 is success, 65 is a permanent failure; any other code, or death
by a signal, is a failure that is retried.
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
from dibs.client import json_input
from dibs.errors import DibsError, Failed, Invalid
from dibs.machine import usage
from dibs.operations.core import json_values
from dibs.operations.core.declare import MAX_JSON_CHARS
from dibs.workers import child_process
from dibs.workers.child_environment import with_token
from dibs.workers.held_command import HeldCommand
from dibs.workers.worker import Permanent, Stopped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import IO, Any

    from dibs.client.session import Session
    from dibs.stores.seam import Json
    from dibs.workers.heartbeat import Job
    from dibs.workers.worker import Worker

PERMANENT_FAILURE = 65  # EX_DATAERR of sysexits.h: the input is wrong, and a retry would not help
PROGRESS = re.compile(rb"dibs: progress (\d{1,3})(?:[ \t]+(.*))?")
ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[@-_])")  # colours and similar codes
MAX_LINE_BYTES = 65_536  # on standard error; a longer line is passed on in pieces
# How long standard error may stay open after a command's end: a process may have left the group with it.
STDERR_TIMEOUT_S = 2.0
SUBSTITUTE = "\x1a"  # the one character that the store reserves


class Commands:
    """Runs a command of the shell for each task."""

    def __init__(self, worker: Worker, command_for: Callable[[dict[str, Any]], str | None]) -> None:
        self._worker, self._command_for = worker, command_for
        self._keeper = child_process.Keeper()
        self._asked = False  # was the last command asked to end?

    def __call__(self, job: Job) -> Json:
        """The task's result. Raises the failure if there is none."""
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
            return result_of(self._worker.ws.session, said.read(json_input.MAX_FILE_BYTES + 1))

    def close(self) -> None:
        """No more commands."""
        self._keeper.close()

    def _run(self, job: Job, command: str, given: IO[bytes], said: IO[bytes]) -> tuple[int, str]:
        """Run it to its end; returns its exit code, and the last line on standard error."""
        if self._worker.stop_requested(job):
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
        if self._worker.stop_requested(job) and not child.asked:  # while it was started
            child.end()
        code = held.run_attended()
        if child.used is not None:
            job.used = usage.of_command(child.used)
        self._asked = child.asked
        job.watch = None
        errors.join(STDERR_TIMEOUT_S)
        return code, errors.last

    def _judge(self, code: int, last: str, said: IO[bytes]) -> None:
        """Raise the failure that an exit code means, if any."""
        if os.fstat(said.fileno()).st_size > json_input.MAX_FILE_BYTES:
            raise Permanent(f"it wrote more than {json_input.MAX_FILE_BYTES >> 20} MiB to standard output")
        if code:
            why = f"{child_process.exit_text(code)}: {last}" if last else child_process.exit_text(code)
            raise Permanent(why) if code == PERMANENT_FAILURE else Failed(why)


def environment(job: Job, worker: Worker) -> dict[str, str]:
    """A command's environment."""
    return {
        "DIBS_WORKSPACE": worker.ws.root,
        "DIBS_AGENT": worker.agent,
        "DIBS_TASK": job.id,
        **with_token(job.token),
        "DIBS_TASK_KEY": job.task.get("key") or job.id,
        "DIBS_ATTEMPT": str(job.task["attempt"]),
        "DIBS_RUN": job.task.get("run", ""),
    }


def result_of(session: Session, output: bytes) -> Json:
    """A command's output as a result."""
    try:
        text = output.decode()
    except UnicodeDecodeError:
        return json_input.keep(session, "output", output)
    if not text.strip():
        return None
    try:
        value = json_input.parse(text, "output")
        if isinstance(value, dict) and list(value) == ["tasks"]:
            return value  # subtasks, not a result
        json_values.check(value, "output", 0)
    except Invalid:  # no JSON, or none that the store takes
        if SUBSTITUTE in text:
            return json_input.keep(session, "output", output)
        value = {"output": text.rstrip("\n")}
    return value if len(jsontext.encode(value)) <= MAX_JSON_CHARS else json_input.keep(session, "output", output)


def _bound(child: child_process.Child, said: IO[bytes]) -> None:
    """End a command that writes without limit."""
    if not said.closed and os.fstat(said.fileno()).st_size > json_input.MAX_FILE_BYTES:
        child.end(signal.SIGKILL)


class _Errors(Thread):
    """Passes a command's standard error on, line by line, and extracts its progress reports."""

    def __init__(self, job: Job, stream: IO[bytes]) -> None:
        super().__init__(name="dibs-errors", daemon=True)
        self._job, self._stream = job, stream
        self.last = ""

    def run(self) -> None:
        with self._stream:
            for line in iter(lambda: self._stream.readline(MAX_LINE_BYTES), b""):
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
        except (OSError, ValueError):  # the reader has closed it
            pass
