"""An agent that died is told to those who count on it: the coordinator of its run, who leads, the orchestrators.

Told by whoever finds the process gone (a sweep, or a request for what it held), once for each process. An agent that
said `leave`, was killed, or had not called for an hour is no news. A subagent runs in its parent's process, so the
parent's death is told alone.
"""

from __future__ import annotations

from dibs.operations.agents import names
from dibs.operations.agents.records import put_agent
from dibs.operations.claims import holds
from dibs.operations.core.call import process_name, within
from dibs.operations.messages import mailbox
from dibs.operations.runs import run_records

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from dibs.operations.core.call import Call, Record
    from dibs.stores.seam import Transaction

NEWS_MS = 3_600_000  # an agent that was silent for an hour before somebody found it dead is missed by nobody
ROLES = ("nrole:", "nrole;")  # claims by which somebody leads (`dibs lead`)
ORCHESTRATOR = "orchestrator"


def tell_of(tx: Transaction, call: Call, claims: Iterable[Record]) -> None:
    """The holders of these claims were found dead."""
    keys = sorted({f"a\t{claim['agent'].partition('/')[0]}" for claim in claims})
    tell(tx, call, [agent for agent in tx.fetch(keys).values.values() if agent is not None])


def tell(tx: Transaction, call: Call, agents: Iterable[Record]) -> int:
    """Tell of the agents among these that are newly dead; how many were told."""
    told = 0
    for agent in agents:
        process = agent["process"]
        if process is None or agent["left"] or agent["killed"] or "/" in agent["agent"] or "same" in agent:
            continue
        if agent.get("mourned") == process_name(process) or tx.now - agent["seen"] > NEWS_MS:
            continue
        if call.facts.get(process_name(process)) is not False:
            continue
        concerned = _concerned(tx, call, agent["agent"])
        if not concerned:
            continue
        agent["mourned"] = process_name(process)
        put_agent(tx, agent)
        name = names.name_of(tx, agent["agent"], agent)
        text = f"agent {name} (pid {process[3]}) is not responding: its process is gone. What it held comes back."
        for one in concerned:
            mailbox.post(tx, one, "dibs", "dead", text, dead=agent["agent"], pid=process[3])
        told += 1
    return told


def _concerned(tx: Transaction, call: Call, agent: str) -> list[str]:
    """Who counts on this agent."""
    active = [record for _, _, record in tx.scan(1, f"runs\t{run_records.ACTIVE}\t", run_records.LISTED).rows]
    keys = [f"ua\t{run['run']}\t{agent}" for run in active]
    joined = tx.fetch(keys).values if keys else {}
    found = {run["coordinator"] for run in active if joined[f"ua\t{run['run']}\t{agent}"] is not None}
    found |= {record["agent"] for record in holds.rows(tx, [ROLES]) if holds.CLAIM in record}
    assigned = [pattern for pattern, role in call.policy.guards["roles"]["assign"] if role == ORCHESTRATOR]
    known = tx.fetch([f"a\t{pattern}" for pattern in assigned]).values if assigned else {}
    found |= {record["agent"] for record in known.values() if record is not None}
    return sorted(one for one in found if not within(one, agent))
