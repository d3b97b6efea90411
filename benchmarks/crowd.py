"""Letting processes loose together: each is opened and waits before the clock starts. Their side is in worker.py."""

from __future__ import annotations

import os
import subprocess
import time
from contextlib import ExitStack
from pathlib import Path

TOP = str(Path(__file__).resolve().parent.parent)  # workers are modules of this folder, which is not installed
TOGETHER = 4  # processes started at a time
LEAD = 0.5  # seconds from the word to the start: the last of a hundred has read it by then


def let_loose(commands: list[list[str]], folder: str, failed: list[str] | None = None) -> tuple[float, list[str]]:
    """When they started, and what each of them answered; nothing from one that died on its way.

    One that does not come so far as to wait is an error; with `failed` the others go on, and what it said is put there.
    """
    environment = {**os.environ, "PYTHONPATH": TOP}  # of no account to what is measured: that begins at the word
    with ExitStack() as stack:
        ready: list[subprocess.Popen[str]] = []
        # A few at a time: what is measured is contention for dibs, not for the processors while interpreters start.
        for first in range(0, len(commands), TOGETHER):
            started = []
            for words in commands[first : first + TOGETHER]:
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
        start = time.monotonic() + LEAD
        for process in ready:
            assert process.stdin is not None
            process.stdin.write(f"{start}\n")
            process.stdin.flush()
        return start, [_line_of(process) for process in ready]


def _line_of(process: subprocess.Popen[str]) -> str:
    """What it says next; nothing if it has ended."""
    assert process.stdout is not None
    return process.stdout.readline().strip()


def _end(process: subprocess.Popen[str]) -> None:
    """Whatever happened, no worker outlives the bench."""
    process.kill()
    process.communicate()
