"""Asks and acts for the person at `dibs top`: a story, older events, an action, in a thread of its own."""

from __future__ import annotations

import asyncio
import queue
import threading
from concurrent.futures import Future

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    from dibs.interfaces.top.reader import Asker

    T = TypeVar("T")


class ActionThread(threading.Thread):
    """Does what the person asked for, one after the other. It never keeps `top` from ending."""

    def __init__(self, asker: Asker) -> None:
        super().__init__(name="dibs-top-desk", daemon=True)
        self._asker = asker
        self._jobs: queue.SimpleQueue[tuple[Callable[[Asker], Any], Future[Any]] | None] = queue.SimpleQueue()

    async def ask(self, job: Callable[[Asker], T]) -> T:
        """The answer of this job; raises one of FAULTS where there is none."""
        future: Future[T] = Future()
        self._jobs.put((job, future))
        return await asyncio.wrap_future(future)

    def stop(self) -> None:
        """End it after what is under way."""
        self._jobs.put(None)

    def run(self) -> None:
        """Until `stop`."""
        while (item := self._jobs.get()) is not None:
            job, future = item
            if not future.set_running_or_notify_cancel():
                continue  # the person has left
            try:
                future.set_result(job(self._asker))
            except Exception as error:  # noqa: BLE001 - it is raised again where the answer is awaited
                self._asker.close()
                future.set_exception(error)
        self._asker.close()


def reason_of(error: BaseException) -> str:
    """Why something was refused or not answered, in the words of who refused."""
    return str(getattr(error, "message", "") or error)
