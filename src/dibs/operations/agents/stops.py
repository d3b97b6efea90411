"""Killed is killed: what a hook asks before it lets a call pass that needs no other decision.

Most hooks never ask: a kill leaves marks next to the store (workspace/stop_marks.py), under every id and name by which
a client's hook may know the agent. An agent is killed with those above it, so its subagents need no marks.
"""

from __future__ import annotations

from dibs.errors import Killed
from dibs.operations.agents import names
from dibs.operations.agents.marks import stop_mark_of
from dibs.operations.agents.records import get_agent
from dibs.operations.core.call import lineage_of
from dibs.operations.core.declare import ANYWHERE, Operation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.operations.agents.records import Agent
    from dibs.operations.core.answers import NoAnswer
    from dibs.operations.core.call import Call
    from dibs.stores.seam import Transaction


def mark(tx: Transaction, agent: Agent) -> None:
    """Leave the marks of an agent that is killed."""
    for known in {agent["agent"], agent.get("name", ""), *agent.get("also", ())} - {""}:
        tx.wake(stop_mark_of(known))


def _stopped(tx: Transaction, call: Call) -> NoAnswer | Killed:
    """The refusal of a killed agent, or of one below it. It leaves no event: a loop would fill the log."""
    for ancestor in lineage_of(call.agent):
        record = get_agent(tx, names.found(tx, ancestor))
        if record is not None and record["killed"]:
            return Killed(agent=record["agent"], why=record["killed"]["why"])
    return {}


STOPPED = Operation("stopped", _stopped, "Was this agent killed?", sent_by=ANYWHERE, errors=(Killed,), writes=False)

INTERNAL = (STOPPED,)
