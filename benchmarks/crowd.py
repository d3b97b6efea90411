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


class Crowd:
    """Processes that are ready: `go` lets them work for one round."""

    def __init__(self, commands: list[list[str]], folder: str, failed: list[str] | None = None) -> None:
        """Start them. One that never gets ready is an error; with `failed`, its message is added there instead."""
        self._stack = ExitStack()
        self._ready: list[subprocess.Popen[str]] = []
        environment = {**os.environ, "PYTHONPATH": TOP}  # not measured: the measurement begins at the start line
        try:
            # A few at a time: what is measured is contention for dibs, not for the processors while interpreters start.
            for first in range(0, len(commands), STARTED_TOGETHER):
                self._start(commands[first : first + STARTED_TOGETHER], folder, environment, failed)
        except BaseException:
            self.close()
            raise

    def _start(
        self, commands: list[list[str]], folder: str, environment: dict[str, str], failed: list[str] | None
    ) -> None:
        started = []
        for words in commands:
            process = subprocess.Popen(
                words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=folder, env=environment
            )
            self._stack.callback(_end, process)
            started.append(process)
        for process in started:
            word = _line_of(process)
            if word == "ready":
                self._ready.append(process)
            elif failed is not None:
                failed.append(word)
            else:
                message = f"a worker did not start: {word or 'it died'}"
                raise RuntimeError(message)

    def go(self) -> tuple[float, list[str]]:
        """One round: the start time and each process's answer; empty for a process that died."""
        start = time.monotonic() + LEAD_S
        for process in self._ready:
            assert process.stdin is not None
            process.stdin.write(f"{start}\n")
            process.stdin.flush()
        return start, [_line_of(process) for process in self._ready]

    def close(self) -> None:
        """End them."""
        self._stack.close()


def let_loose(commands: list[list[str]], folder: str, failed: list[str] | None = None) -> tuple[float, list[str]]:
    """One round of processes that are started for it and end with it."""
    crowd = Crowd(commands, folder, failed)
    try:
        return crowd.go()
    finally:
        crowd.close()


def _line_of(process: subprocess.Popen[str]) -> str:
    """Its next line; empty if it has ended."""
    assert process.stdout is not None
    return process.stdout.readline().strip()


def _end(process: subprocess.Popen[str]) -> None:
    """Whatever happened, no worker outlives the bench."""
    process.kill()
    process.communicate()
