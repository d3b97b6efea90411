"""A server looks for coming merge conflicts as long as it runs (land/radar.py), in a thread of its own.

How often is the config's, and never more than a tenth of the time. A repository with one working tree and no young
branches costs two short git commands a look.
"""

from __future__ import annotations

from dibs.client.identity import user_name
from dibs.land import radar
from dibs.operations.core.call import Call
from dibs.server.loop import Loop

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.client.session import Session
    from dibs.server.host import Host


class RadarLoop(Loop):
    """The thread that looks."""

    name = "radar"

    def __init__(self, host: Host) -> None:
        super().__init__(host)
        self._look = radar.Step()

    def take_step(self, session: Session) -> None:
        """Look, if it is time."""
        self._look.take(session, Call(session.config.policy, agent=user_name()))
