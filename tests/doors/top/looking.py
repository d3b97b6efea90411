"""`dibs top` without a terminal: a real workspace, the real reader, keys in and lines out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import dibs
from dibs.doors.above import attach
from dibs.doors.top.app import App
from dibs.doors.top.draw import text_of
from dibs.doors.top.reader import Asker, Desk, Reader
from dibs.doors.top.state import State
from dibs.session.session import Session


class _AtOnce(Desk):
    """What a person asks for is done before the next key."""

    def give(self, job: Callable[[Asker], Any], done: Callable[[Any, str], None]) -> None:
        self.do(job, done)
        self.deliver()


class Look:
    """Somebody who looks at a workspace."""

    def __init__(self, folder: Path, agent: str | None = "root") -> None:
        self.folder = folder
        self.asker = Asker(lambda: attach(Session(str(folder), None)), agent)
        self.state = State()
        self.reader = Reader(self.asker, self.state, lambda: None)
        self.reader.snapshot()
        self.reader.whole()
        self.app = App(self.state, _AtOnce(self.asker, lambda: None), self.reader.want)

    def hear(self) -> None:
        """Read the events that came, and nothing else."""
        self.reader._hear()

    def again(self) -> None:
        """Read everything."""
        self.hear()
        for topic in ("status", "agents", "alerts", "tasks", "runs", "worktrees"):
            self.reader.read(topic)

    def press(self, *keys: str) -> None:
        for key in keys:
            self.app.press(key)

    def type(self, text: str) -> None:
        self.press(*text)

    def shown(self, columns: int = 80, rows: int = 24) -> str:
        """The picture as text."""
        return text_of(self.app.view.frame(columns, rows))

    def close(self) -> None:
        self.asker.close()


def opened(folder: Path, agent: str) -> Any:
    return dibs.open(str(folder), agent=agent, timeout=10)
