"""A server lands what is queued (running/landing.py), in a thread of its own: what `dibs land --wait 0` leaves to it.

It is one lander like any other: it takes the claim, and a `dibs land` that waits continues when the server ends. What
stops it (main that fails the check, a remote that refuses) is tried again when the target or the queue has changed,
else with a pause: a minute, and ten times what the attempt took. Only where the config has a check, and `[land] server`
is not off.
"""

from __future__ import annotations

import logging
import signal
from time import monotonic

from dibs.errors import DibsError, Held
from dibs.facts.git import queries as git
from dibs.operations.core.call import Call
from dibs.operations.landing import lander as steps
from dibs.running import landing, landing_wait
from dibs.server.loop import Loop
from dibs.session.identity import user_name
from dibs.session.landing_settings import settings_of, target_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dibs.server.host import Host
    from dibs.session.session import Session

PAUSE_S = 60.0  # before the same is tried again
SHARE = 10  # times what the attempt took

LOG = logging.getLogger("dibs.serve")


class LandLoop(Loop):
    """The thread that lands."""

    name = "land"

    def __init__(self, host: Host) -> None:
        super().__init__(host)
        self._lander: landing.Lander | None = None
        self._again = 0.0  # when what failed is tried again
        self._failed: Any = None  # what was queued then, and where the target was

    def take_step(self, session: Session) -> None:
        """Land what is queued, if nobody else does."""
        settings, place = settings_of(session), session.place
        if not (settings["server"] and settings["check"] and place.common):
            return
        call = Call(session.config.policy, agent=user_name())
        onto = target_of(session)
        found = session.run(steps.TURN, call, {"onto": onto})
        if not found["queued"] or not found["free"]:
            return
        if self._failed is not None and monotonic() < self._again and self._state(session, call, onto) == self._failed:
            return
        begun = monotonic()
        self._host.working += 1
        try:
            landing_wait.land_all(session, call, onto=onto, started=self._started, say=LOG.info)
            self._failed = None
        except (Held, landing.Interrupted):
            pass
        except DibsError as error:
            LOG.warning("nothing lands on %s: %s", onto, error.message)
            self._failed = self._state(session, call, onto)
            self._again = monotonic() + max(PAUSE_S, SHARE * (monotonic() - begun))
            raise
        finally:
            self._host.working -= 1

    def stop(self) -> None:
        """End: the check is ended, everything stays queued."""
        self._over.set()
        lander = self._lander
        if lander is not None:
            lander.interrupt(signal.SIGTERM)
        super().stop()

    def _started(self, lander: landing.Lander | None) -> None:
        self._lander = lander
        if lander is not None and self._over.is_set():
            lander.interrupt(signal.SIGTERM)

    def _state(self, session: Session, call: Call, onto: str) -> Any:
        """What has to change before the same attempt can end differently."""
        listed = session.run(session.operation("landings"), call, {"onto": onto, "queue": True})
        queued = [(one["branch"], one["commit"]) for one in listed["landings"]]
        return git.commit(session.place.top, f"refs/heads/{onto}"), queued
