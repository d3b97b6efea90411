"""A server lands what is queued, in a thread of its own: what `dibs land --wait 0` leaves to it.

land/wait.py does. It is one lander like any other: it takes the claim, and a `dibs land` that waits
continues when the server ends. Only where the config has a check, and `[land] server` is not off.
"""

from __future__ import annotations

import logging
import signal

from dibs.client.identity import user_name
from dibs.client.landing_settings import settings_of
from dibs.errors import DibsError
from dibs.land.lander import Interrupted
from dibs.land.wait import QueueLander
from dibs.operations.core.call import Call
from dibs.server.loop import Loop

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.client.session import Session
    from dibs.land.lander import Lander
    from dibs.server.host import Host

LOG = logging.getLogger("dibs.serve")


class LandLoop(Loop):
    """The thread that lands."""

    name = "land"

    def __init__(self, host: Host) -> None:
        super().__init__(host)
        self._lander: Lander | None = None
        self._drain = QueueLander()

    def take_step(self, session: Session) -> None:
        """Land what is queued, if nobody else does."""
        settings = settings_of(session)
        if not (settings["server"] and settings["check"] and session.place.common):
            return
        call = Call(session.config.policy, agent=user_name())
        try:
            self._drain.step(session, call, started=self._started, say=LOG.info)
        except Interrupted:
            pass
        except DibsError as error:
            LOG.warning("nothing lands: %s", error.message)
            raise

    def stop(self) -> None:
        """End: the check is ended, everything stays queued."""
        self._over.set()
        lander = self._lander
        if lander is not None:
            lander.interrupt(signal.SIGTERM)
        super().stop()

    def _started(self, lander: Lander | None) -> None:
        self._lander = lander
        self._host.working += 1 if lander is not None else -1
        if lander is not None and self._over.is_set():
            lander.interrupt(signal.SIGTERM)
