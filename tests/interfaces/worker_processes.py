"""Real `dibs worker`, `dibs lead` and `dibs sweep --watch` processes for tests, and waiting for what they do."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dibs.machine import processes
from tests.scratch import DIBS, Shell
from tests.waiting import until

PATIENCE = 90.0  # seconds after which what has not come will not come


def alive(pid: int) -> bool:
    """Does a process with this pid run?"""
    found = processes.of(pid)
    return found is not None and processes.alive(found) is True


def number_in(path: Path) -> int:
    """The number in a file, 0 while it is not there."""
    try:
        return int(path.read_text() or 0)
    except (FileNotFoundError, ValueError):
        return 0


class Running:
    """A command that goes on: its lines as they come."""

    def __init__(self, folder: Path, words: tuple[str, ...], environment: dict[str, str]) -> None:
        self.process = subprocess.Popen(
            [DIBS, *words],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.out: list[str] = []
        self.errors: list[str] = []
        self._threads = [
            threading.Thread(target=_collect, args=(stream, into), daemon=True)
            for stream, into in ((self.process.stdout, self.out), (self.process.stderr, self.errors))
        ]
        for thread in self._threads:
            thread.start()

    @property
    def pid(self) -> int:
        return self.process.pid

    def events(self, kind: str = "") -> list[dict[str, Any]]:
        """What it said with `--json`."""
        found = [json.loads(line) for line in list(self.out)]
        return [event for event in found if not kind or event.get("event") == kind]

    def await_event(self, kind: str, **facts: Any) -> dict[str, Any]:
        """Wait for it to say that."""

        def said() -> dict[str, Any] | None:
            return next((e for e in self.events(kind) if all(e.get(k) == v for k, v in facts.items())), None)

        found: dict[str, Any] = until(said, f"{kind} {facts} from {self.out} {self.errors}")
        return found

    def signal(self, number: int) -> None:
        self.process.send_signal(number)

    def end(self) -> int:
        """Wait for its end; the exit code."""
        code = self.process.wait(PATIENCE)
        self._over()
        assert "Traceback" not in "".join(self.errors), self.errors
        return code

    def _over(self) -> bool:
        for thread in self._threads:
            thread.join(PATIENCE)
        return True


def _collect(stream: Any, into: list[str]) -> None:
    with stream:
        for line in stream:
            into.append(line)  # noqa: PERF402 - as they come, not at the end


class Place(Shell):
    """A workspace in which commands go on."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._running: list[Running] = []

    def configure(self, text: str) -> None:
        """Add to the workspace's settings."""
        path = self.folder / ".dibs" / "config.toml"
        path.write_text(f"{path.read_text()}\n{text}\n")

    def start(self, *words: str, **environment: str) -> Running:
        """A command that goes on beside the test."""
        made = Running(self.folder, words, {**self.environment, **environment})
        self._running.append(made)
        return made

    def worker(self, command: str, *words: str, **environment: str) -> Running:
        """A worker that tells what it does as JSON."""
        return self.start("worker", "--exec", command, "--json", *words, **environment)

    def drain(self, command: str, *words: str, **environment: str) -> Running:
        """A worker that has done all there is to do."""
        made = self.worker(command, "--drain", *words, **environment)
        assert made.end() == 0, (made.out, made.errors)
        return made

    def add(self, identifier: str, *words: str) -> None:
        """A task."""
        self.json("task", "add", f"do {identifier}", "--id", identifier, "--as", "boss", *words, exit=0)

    def task(self, identifier: str) -> dict[str, Any]:
        """A task as `task show` has it."""
        found: dict[str, Any] = self.json("task", "show", identifier, exit=0)["task"]
        return found

    def state(self, identifier: str) -> str:
        """A task's state."""
        return str(self.task(identifier)["state"])

    def clean(self) -> None:
        """The log holds nothing that cannot have happened."""
        assert self.json("verify", exit=0)["ok"]

    def close(self) -> None:
        """End what still runs."""
        for running in self._running:
            with contextlib.suppress(ProcessLookupError):
                os.kill(running.pid, signal.SIGCONT)
                running.process.kill()
            running.process.wait(PATIENCE)


@pytest.fixture
def place(shell: Shell) -> Iterator[Place]:
    made = Place(shell.folder)
    yield made
    made.close()
