"""Starts processes together: each is ready and waits before the clock starts. Their side is in worker.py."""

from __future__ import annotations

import os
import subprocess
import time
from contextlib import ExitStack
from pathlib import Path

TOP = str(Path(__file__).resolve().parent.parent)  # workers are modules of this folder, which is not installed
STARTED_TOGETHER = 4  # at a time
LEAD_S = 0.5  # from the start line to the start: the last of a hundred has read it by then


def let_loose(commands: list[list[str]], folder: str, failed: list[str] | None = None) -> tuple[float, list[str]]:
    """The start time and each process's answer; empty for a process that died.

    A process that never gets ready is an error; with `failed`, the others continue and its message is added there.
    """
    environment = {**os.environ, "PYTHONPATH": TOP}  # not measured: the measurement begins at the start line
    with ExitStack() as stack:
        ready: list[subprocess.Popen[str]] = []
        # A few at a time: what is measured is contention for dibs, not for the processors while interpreters start.
        for first in range(0, len(commands), STARTED_TOGETHER):
            started = []
            for words in commands[first : first + STARTED_TOGETHER]:
                process = subprocess.Popen(
                    words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=folder, env=environment
                )
                stack.callback(_end, process)
                started.append(process)
            for process in started:
                word = _line_of(process)
                if word == "ready":
                    ready.append(process)
                elif failed is not None:
                    failed.append(word)
                else:
                    message = f"a worker did not start: {word or 'it died'}"
                    raise RuntimeError(message)
        start = time.monotonic() + LEAD_S
        for process in ready:
            assert process.stdin is not None
            process.stdin.write(f"{start}\n")
            process.stdin.flush()
        return start, [_line_of(process) for process in ready]


def _line_of(process: subprocess.Popen[str]) -> str:
    """Its next line; empty if it has ended."""
    assert process.stdout is not None
    return process.stdout.readline().strip()


def _end(process: subprocess.Popen[str]) -> None:
    """Whatever happened, no worker outlives the bench."""
    process.kill()
    process.communicate()
