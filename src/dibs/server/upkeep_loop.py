"""A server looks for trouble as long as it runs: dead agents, overdue holds and waits, alerts to be delivered.

One step a second, through the operation that everybody uses (client/upkeep/rounds.py); a process that looked a moment
ago makes a step cheap. Nothing is decided here.
"""

from __future__ import annotations

from dibs.audit import housekeeping
from dibs.client.identity import user_name
from dibs.client.upkeep import rounds
from dibs.operations.core.call import Call
from dibs.server.loop import Loop

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.client.session import Session


class UpkeepLoop(Loop):
    """The thread that looks."""

    name = "upkeep"

    def take_step(self, session: Session) -> None:
        """Look for trouble; once a day, tidy up."""
        if rounds.step(session, "server", user_name()):
            housekeeping.daily(session, Call(session.config.policy, agent=user_name()))
