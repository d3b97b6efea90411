"""Answers hook input by the thousand: one process that has loaded the hook's modules and forks a child for each input.

A child is what a hook's process is: it reads its stdin, runs `hook.main` and leaves with its exit code. Only the start
of the interpreter is saved. Input comes in frames on stdin (words as JSON, then the bytes), answers go out as lines of
JSON. The worker detaches itself, so that no client above the test run is among the ancestors.
"""

from __future__ import annotations

import json
import os
import signal
import tempfile
import time
from typing import IO

from dibs.git import effects
from dibs.git import queries as git
from dibs.guards import audit, briefing, hook, lifecycle, shell_call, tool_call
from dibs.operations.guards import audits, edit_guard
from dibs.operations.guards import shell_guard as guards_shell_guard
from dibs.shell import patches
from dibs.stores.sqlite import store

LOADED = (
    audit,
    briefing,
    lifecycle,
    shell_call,
    tool_call,
    git,
    effects,
    patches,
    audits,
    guards_shell_guard,
    edit_guard,
    store,
)
SECONDS = 20  # after which a child that does not answer is ended


def answer(words: list[str], given: bytes, files: list[IO[bytes]]) -> dict[str, object]:
    """One hook: its exit code (minus the signal that ended it), what it printed, the time and the processor's time."""
    for file in files:
        file.seek(0)
        file.truncate()
    files[0].write(given)
    files[0].flush()
    files[0].seek(0)
    began = time.monotonic()
    pid = os.fork()
    if pid == 0:
        signal.alarm(SECONDS)
        for place, file in enumerate(files):
            os.dup2(file.fileno(), place)
        hook.leave(hook.main(words))
    _, status, used = os.wait4(pid, 0)
    took = time.monotonic() - began
    said = []
    for file in files[1:]:
        file.seek(0)
        said.append(file.read().decode("utf-8", "replace"))
    code = os.waitstatus_to_exitcode(status)
    return {"code": code, "out": said[0], "err": said[1], "took": took, "used": used.ru_utime + used.ru_stime}


def main() -> None:
    """Detach, and answer until nobody asks any more."""
    if os.fork():
        os._exit(0)
    os.setsid()
    asked, told = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "w")
    told.write(f"{os.getpid()}\n")
    told.flush()
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        serve(asked, told, [given, out, err])


def serve(asked: IO[bytes], told: IO[str], files: list[IO[bytes]]) -> None:
    """One frame in, one line out."""
    while True:
        head = asked.readline()
        if not head:
            return
        words, length = json.loads(head)
        told.write(json.dumps(answer(words, asked.read(length), files)) + "\n")
        told.flush()


if __name__ == "__main__":
    main()
