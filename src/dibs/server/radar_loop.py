"""A server looks for coming merge conflicts as long as it runs (running/radar.py), in a thread of its own.

How often is the config's, and never more than a tenth of the time. A repository with one working tree and no young
branches costs two short git commands a look. What fails is tried again at the next look.
"""

from __future__ import annotations

import logging
import threading

from dibs.errors import DibsError
from dibs.operations.core.call import Call
from dibs.running import radar
from dibs.session.identity import user_name
from dibs.stores.seam import Unsettled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.server.host import Host

STEP_S = 1.0  # between two questions whether it is time to look
STOP_TIMEOUT_S = 1.0  # for a look that is under way when the server ends; the thread does not outlive the process

LOG = logging.getLogger("dibs.serve")


class RadarLoop:
    """The thread that looks; `start` and `stop` it."""

    about: dict[str, str] = {}  # noqa: RUF012 - nobody connects to it

    def __init__(self, host: Host) -> None:
        self._host = host
        self._over = threading.Event()
        self._step = radar.Step()
        self._thread = threading.Thread(target=self._run, name="dibs-radar", daemon=True)

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
                self._step.take(session, Call(session.config.policy, agent=user_name()))
            except (DibsError, Unsettled) as error:
                self._host.after(error)
            except Exception:  # a defect must not end the looks
                LOG.exception("the look for coming conflicts failed")
