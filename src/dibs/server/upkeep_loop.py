"""A server looks for trouble as long as it runs: dead agents, overdue holds and waits, alerts to be delivered.

One step a second, through the operation that everybody uses (session/upkeep.py); a process that looked a moment ago
makes a step cheap. Nothing is decided here.
"""

from __future__ import annotations

from dibs.operations.core.call import Call
from dibs.reports import housekeeping
from dibs.server.loop import Loop
from dibs.session import upkeep
from dibs.session.identity import user_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.session.session import Session


class UpkeepLoop(Loop):
    """The thread that looks."""

    name = "upkeep"

    def take_step(self, session: Session) -> None:
        """Look for trouble; once a day, tidy up."""
        if upkeep.step(session, "server", user_name()):
            housekeeping.daily(session, Call(session.config.policy, agent=user_name()))
