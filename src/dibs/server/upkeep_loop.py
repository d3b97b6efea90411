"""A server looks for trouble as long as it runs: dead agents, overdue holds and waits, alerts to be delivered.

One step a second, through the operation that everybody uses (session/upkeep.py); a process that looked a moment ago
makes a step cheap. Nothing is decided here. What fails is looked at again at the next step.
"""

from __future__ import annotations

import logging
import threading

from dibs.errors import DibsError
from dibs.operations.core.call import Call
from dibs.reports import housekeeping
from dibs.session import upkeep
from dibs.session.identity import user_name
from dibs.stores.seam import Unsettled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.server.host import Host

STEP_S = 1.0  # between two looks
STOP_TIMEOUT_S = 1.0  # for a look that is under way when the server ends; the thread does not outlive the process
DELIVERED = 8  # alerts sent in one step

LOG = logging.getLogger("dibs.serve")


class UpkeepLoop:
    """The thread that looks; `start` and `stop` it."""

    about: dict[str, str] = {}  # noqa: RUF012 - nobody connects to it

    def __init__(self, host: Host) -> None:
        self._host = host
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="dibs-upkeep", daemon=True)

    def start(self) -> None:
        """Begin to look."""
        self._thread.start()

    def stop(self) -> None:
        """End."""
        self._over.set()
        self._thread.join(STOP_TIMEOUT_S)

    def _run(self) -> None:
        while not self._over.wait(STEP_S):
            try:
                session = self._host.session(asked=False)
                if upkeep.step(session, "server", user_name(), deliver=DELIVERED):
                    housekeeping.daily(session, Call(session.config.policy, agent=user_name()))
            except (DibsError, Unsettled) as error:
                self._host.after(error)
            except Exception:  # a defect must not end the looks
                LOG.exception("the look for trouble failed")
