"""A thread of a server that takes a step every second, for as long as the server runs.

What fails is tried again at the next step, and never ends the thread.
"""

from __future__ import annotations

import logging
import threading

from dibs.errors import DibsError
from dibs.stores.seam import Unsettled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.client.session import Session
    from dibs.server.host import Host

STEP_S = 1.0  # between two steps
STOP_TIMEOUT_S = 1.0  # for a step that is under way when the server ends; the thread does not outlive the process

LOG = logging.getLogger("dibs.serve")


class Loop:
    """The thread; `start` and `stop` it. A subclass says what a step is."""

    name = ""  # what it does, for the thread's name and the log
    about: dict[str, str] = {}  # noqa: RUF012 - nobody connects to it

    def __init__(self, host: Host) -> None:
        self._host = host
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"dibs-{self.name}", daemon=True)

    def take_step(self, session: Session) -> None:
        """One step."""
        raise NotImplementedError

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End."""
        self._over.set()
        self._thread.join(STOP_TIMEOUT_S)

    def _run(self) -> None:
        while not self._over.wait(STEP_S):
            try:
                self.take_step(self._host.session(asked=False))
            except (DibsError, Unsettled) as error:
                self._host.reopen_after(error)
            except Exception:  # a defect must not end the steps
                LOG.exception("a step of %s failed", self.name)
