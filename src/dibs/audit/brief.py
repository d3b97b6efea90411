"""`brief AGENT`: what an agent works on, from facts, for whoever continues it (client/baton.py)."""

from __future__ import annotations

from dibs.client import baton
from dibs.errors import Forbidden, NotFound
from dibs.operations.core.declare import Field, Operation
from dibs.operations.core.query import HERE
from dibs.operations.handovers.facts import WORK_OF

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.audit.answers import BriefAnswer
    from dibs.audit.requests import BriefRequest
    from dibs.client.session import Session
    from dibs.operations.core.call import Call


def _brief(session: Session, call: Call, request: BriefRequest) -> BriefAnswer:
    """The briefing."""
    known = session.run(WORK_OF, call, {"agent": request["agent"]})
    return {"agent": known["agent"], "name": known["name"], "text": baton.text(session, call, known["agent"])}


BRIEF = Operation(
    "brief",
    _brief,
    "Show an agent's work to the agent that continues it: task, changes, what it read, what was refused.",
    fields=(Field("agent", "agent", "the agent's id or name", positional=True, required=True, metavar="AGENT"),),
    errors=(NotFound, Forbidden),
    answer="BriefAnswer",
    group="agents",
    rank="worker",  # it tells of files, also to a caller from afar
    idempotent=True,
    wants=(HERE,),
    is_query=True,
)

QUERIES = (BRIEF,)
