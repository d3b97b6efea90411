"""Reports of dead agents, to the agents that depend on them: the run's coordinator, the leaders, the orchestrators.

The caller that finds the process gone (a sweep, or a request for what it held) reports it, once for each process. An
agent that called `leave`, was killed, or was silent for an hour is not reported. A subagent runs in its parent's
process, so only the parent's death is reported.
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

DEATH_NEWS_MS = 3_600_000  # after an hour of silence, no agent depends on it any more
ROLE_RANGE = ("nrole:", "nrole;")  # the claims of leaders (`dibs lead`)
ORCHESTRATOR = "orchestrator"


def tell_of(tx: Transaction, call: Call, claims: Iterable[Record]) -> None:
    """Report the dead holders of these claims."""
    keys = sorted({f"a\t{claim['agent'].partition('/')[0]}" for claim in claims})
    tell(tx, call, [agent for agent in tx.fetch(keys).values.values() if agent is not None])


def tell(tx: Transaction, call: Call, agents: Iterable[Record]) -> int:
    """Report the newly dead agents among these; returns how many."""
    told = 0
    for agent in agents:
        process = agent["process"]
        if process is None or agent["left"] or agent["killed"] or "/" in agent["agent"] or "same" in agent:
            continue
        if agent.get("mourned") == process_name(process) or tx.now - agent["seen"] > DEATH_NEWS_MS:
            continue
        if call.facts.get(process_name(process)) is not False:
            continue
        concerned = _concerned(tx, call, agent["agent"])
        if not concerned:
            continue
        agent["mourned"] = process_name(process)
        put_agent(tx, agent)
        name = names.name_of(tx, agent["agent"], agent)
        text = f"agent {name} (pid {process[3]}) is not responding: its process is gone. Its claims are released."
        for one in concerned:
            mailbox.post(tx, one, "dibs", "dead", text, dead=agent["agent"], pid=process[3])
        told += 1
    return told


def _concerned(tx: Transaction, call: Call, agent: str) -> list[str]:
    """The agents that depend on this one."""
    active = [record for _, _, record in tx.scan(1, f"runs\t{run_records.ACTIVE}\t", run_records.MAX_RUNS_LISTED).rows]
    keys = [f"ua\t{run['run']}\t{agent}" for run in active]
    joined = tx.fetch(keys).values if keys else {}
    found = {run["coordinator"] for run in active if joined[f"ua\t{run['run']}\t{agent}"] is not None}
    found |= {record["agent"] for record in holds.rows(tx, [ROLE_RANGE]) if holds.CLAIM in record}
    assigned = [pattern for pattern, role in call.policy.guards["roles"]["assign"] if role == ORCHESTRATOR]
    known = tx.fetch([f"a\t{pattern}" for pattern in assigned]).values if assigned else {}
    found |= {record["agent"] for record in known.values() if record is not None}
    return sorted(one for one in found if not within(one, agent))
