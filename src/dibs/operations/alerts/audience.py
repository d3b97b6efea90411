"""The agents and people that have to know what becomes of an agent, and what a text calls an agent."""

from __future__ import annotations

from dibs.operations.agents import names
from dibs.operations.agents.records import AGENT_KEYS, get_agents
from dibs.operations.claims import records as claim_records
from dibs.operations.core import paging
from dibs.operations.core.call import within
from dibs.operations.runs.records import active_runs, runs_joined

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.operations.core.call import Call
    from dibs.stores.seam import Transaction

PERSON_IS_THERE_MS = 86_400_000  # a person that was not seen for a day does not read its inbox
ROLE_RANGE = ("nrole:", "nrole;")  # the claims of leaders (`dibs lead`)
ORCHESTRATOR, PERSON = "orchestrator", "person"
FEW = 3  # names in a sentence


def coordinators(tx: Transaction, call: Call, agent: str, *, persons: bool = True) -> list[str]:
    """Who has to know what becomes of an agent: its run's coordinator, leaders, orchestrators, people at work here.

    Of no agent (the store, a push): the coordinators of all runs.
    """
    runs = active_runs(tx)
    audience = {run["coordinator"] for run in (runs_joined(tx, runs, agent) if agent else runs)}
    audience |= {
        record["agent"] for record in claim_records.within_ranges(tx, [ROLE_RANGE]) if claim_records.is_claim(record)
    }
    assigned = [pattern for pattern, role in call.policy.guards["roles"]["assign"] if role == ORCHESTRATOR]
    audience |= {name for name, record in get_agents(tx, assigned).items() if record is not None}
    for _, record in paging.every(tx, AGENT_KEYS) if persons else ():
        if record.get("kind") == PERSON and not record["left"] and tx.now - record["seen"] <= PERSON_IS_THERE_MS:
            audience.add(record["agent"])
    return sorted(name for name in audience if not within(name, agent))


def name_of(tx: Transaction, agent: str) -> str:
    """An agent as a text names it."""
    return names.name_of(tx, agent) if agent else "an unknown agent"


def few(words: list[str]) -> str:
    """The first names of a list, and how many more there are."""
    more = f" and {len(words) - FEW} more" if len(words) > FEW else ""
    return ", ".join(words[:FEW]) + more
