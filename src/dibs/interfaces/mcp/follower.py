"""One follower of the log for a whole server: which resources changed, told to those that subscribe.

A thread of its own, started with the first subscription. What it tells is only that a resource changed; the client
reads it if it wants to know. Nothing is kept for a client that is away: it reads again when it comes back.
"""

from __future__ import annotations

import threading

from dibs.errors import DibsError
from dibs.interfaces.mcp import resources
from dibs.stores.seam import read_event
from dibs.workspace import rules_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.interfaces.mcp.calls import Asked
    from dibs.stores.seam import LogEvent

FOLLOW_S = 1.0  # for one wait; then the rules, which are no events, are looked at
PAGE = 500  # events read at once
PAUSE_S = 1.0  # after the store did not answer
ABOUT_STATUS = ("claim.", "wait.", "agent.", "task.", "run.")  # kinds of events that change `dibs://status`


def changed(event: LogEvent) -> set[str]:
    """The resources that an event changes, as far as one can subscribe to them."""
    kind = event["kind"]
    found = {resources.LOG}
    if kind.startswith(ABOUT_STATUS):
        found |= {resources.STATUS, resources.MAP}
    if kind.startswith("task."):
        found.add(resources.task_uri(event["subject"]))
    if kind.startswith("message."):
        found.add(resources.INBOX)
    return found


class Follower:
    """Calls `tell` with the changed resources, in its own thread, until it is stopped."""

    def __init__(self, asked: Asked, tell: Callable[[set[str]], None]) -> None:
        self._asked = asked
        self._tell = tell
        self._ending = threading.Event()
        self._thread: threading.Thread | None = None
        self._mutex = threading.Lock()

    def start(self) -> None:
        """Begin to follow, if that was not begun yet: from now on, nothing of before. Raises if nothing can be read."""
        with self._mutex:
            if self._thread is None:
                at, rules = self._asked.host.store.head().seq, rules_file.digest(self._asked.host.place)
                self._thread = threading.Thread(target=self._run, args=(at, rules), name="dibs-mcp-log", daemon=True)
                self._thread.start()

    def stop(self) -> None:
        """Stop; it may take as long as one wait."""
        self._ending.set()

    def _run(self, at: int, rules: str) -> None:
        while not self._ending.is_set():
            try:
                at = self._step(at)
                now = rules_file.digest(self._asked.host.place)
                if now != rules:
                    rules = now
                    self._tell({resources.RULES})
            except DibsError as error:
                self._asked.host.reopen_after(error)
                self._ending.wait(PAUSE_S)
            except Exception:  # noqa: BLE001 - a closed store at the end; a follower never ends its server
                self._ending.wait(PAUSE_S)

    def _step(self, at: int) -> int:
        store = self._asked.host.store
        store.follow(at, FOLLOW_S)
        events = store.events(at, PAGE)
        found: set[str] = set()
        for event in events:
            found |= changed(read_event(event))
        if found:
            self._tell(found)
        if not events:
            return min(at, store.head().seq)  # another database took the place of this one
        return events[-1].seq
