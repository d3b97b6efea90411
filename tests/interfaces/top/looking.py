"""`dibs top` without a terminal: a real workspace, the real reader and the real app; keys in and lines out."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from textual import events
from textual.geometry import Region

import dibs
from dibs.client.session import Session
from dibs.interfaces.session_doors import ProgramDoor
from dibs.interfaces.top.action_thread import ActionThread
from dibs.interfaces.top.app import Top
from dibs.interfaces.top.draw import text_of
from dibs.interfaces.top.picture import frame
from dibs.interfaces.top.reader import Asker, FeedReader
from dibs.interfaces.top.state import FleetState
from tests.waiting import LIMIT_S


class Look:
    """Somebody who looks at a workspace. Textual's pilot presses the keys, in a loop of its own."""

    def __init__(self, folder: Path, agent: str | None = "root") -> None:
        self.folder = folder
        self.asker, at_desk = [Asker(lambda: Session(str(folder), None, door=ProgramDoor()), agent) for _ in range(2)]
        self.state = FleetState()
        self.reader = FeedReader(self.asker, self.state)
        self.reader.snapshot()
        self.reader.whole()
        self._desk = ActionThread(at_desk)
        self._desk.start()
        self.app = Top(self.state, self._desk, self.reader.want)
        self._loop = asyncio.Runner()
        self._app_runs = self.app.run_test()
        self.pilot = self._run(self._app_runs.__aenter__())

    def _run(self, task: Coroutine[Any, Any, Any]) -> Any:
        return self._loop.run(task)

    def hear(self) -> None:
        """Read the events that came, and nothing else."""
        self.reader._hear()

    def again(self) -> None:
        """Read everything."""
        self.hear()
        for topic in ("status", "agents", "alerts", "tasks", "runs", "worktrees"):
            self.reader.read(topic)

    def press(self, *keys: str) -> None:
        """Press keys, by Textual's names; what they ask for is done before the next one."""

        async def pressed() -> None:
            for key in keys:
                await self.pilot.press(key)
                await self._settled()

        self._run(pressed())

    def burst(self, *keys: str, settle: bool = True) -> None:
        """Press keys as one packet of a slow connection brings them: all at once."""

        async def sent() -> None:
            for key in keys:
                character = key if len(key) == 1 else key[4:] if key.startswith("alt+") else None
                self.app.post_message(events.Key("space" if key == " " else key, character))
            await self.pilot.pause()
            if settle:
                await self._settled()

        self._run(sent())

    @contextmanager
    def busy_desk(self) -> Iterator[None]:
        """What is asked for meanwhile is done afterwards."""
        gate = threading.Event()
        self._desk._jobs.put((lambda _: gate.wait(LIMIT_S), Future()))
        try:
            yield
        finally:
            gate.set()
        self._run(self._settled())

    async def _settled(self) -> None:
        await self.app.workers.wait_for_complete()
        await self.pilot.pause()

    def type(self, text: str) -> None:
        """Give a text to the field that has the focus, as a terminal gives what is pasted."""

        async def pasted() -> None:
            self.app.post_message(events.Paste(text))
            await self.pilot.pause()

        self._run(pasted())

    def do(self, action: str) -> None:
        """An action of the app."""

        async def done() -> None:
            await self.app.run_action(action)
            await self._settled()

        self._run(done())

    def open(self, what: str) -> None:
        """Open a story."""

        async def opened() -> None:
            self.app.open(what)
            await self._settled()

        self._run(opened())

    def click(self, column: int, line: int, *, times: int = 1) -> None:
        """Click at a place of the terminal."""

        async def clicked() -> None:
            await self.pilot.click(offset=(column, line), times=times)
            await self._settled()

        self._run(clicked())

    def scroll(self, by: int) -> None:
        """Turn the mouse's wheel."""

        async def scrolled() -> None:
            kind = events.MouseScrollDown if by > 0 else events.MouseScrollUp
            await self.pilot._post_mouse_events([kind], offset=(3, 6))
            await self._settled()

        self._run(scrolled())

    def drawn(self) -> set[int]:
        """The lines that the next picture has written again."""
        picture = self.app.picture
        lines: set[int] = set()

        def noted(*regions: Region, **_: Any) -> None:
            lines.update(region.y for region in regions)

        picture.refresh, kept = noted, picture.refresh  # type: ignore[method-assign,assignment] # looked at from outside
        self.app.paint()
        picture.refresh = kept  # type: ignore[method-assign]
        return lines

    def lines(self, columns: int = 80, rows: int = 24) -> list[str]:
        """What a terminal of this size shows, with the dialog that is open."""

        async def shown() -> list[str]:
            if self.app.size != (columns, rows):
                await self.pilot.resize_terminal(columns, rows)
            self.app.paint()
            await self.pilot.pause()
            return [strip.text for strip in self.app.screen._compositor.render_strips()]

        found: list[str] = self._run(shown())
        return found

    def shown(self, columns: int = 80, rows: int = 24) -> str:
        """The same as one text."""
        return "".join([line.rstrip() + "\n" for line in self.lines(columns, rows)])

    def picture(self, columns: int = 80, rows: int = 24) -> str:
        """The picture alone, as `--once` prints it."""
        return text_of(frame(self.app.view, columns, rows))

    @property
    def dialog(self) -> Any:
        """The dialog that is open, or None."""
        return self.app.screen if self.app.screen.is_modal else None

    def close(self) -> None:
        """End it."""
        self._run(self._app_runs.__aexit__(None, None, None))
        self._loop.close()
        self._desk.stop()
        self._desk.join()
        self.asker.close()


def opened(folder: Path, agent: str) -> Any:
    return dibs.open(str(folder), agent=agent, timeout=10)
