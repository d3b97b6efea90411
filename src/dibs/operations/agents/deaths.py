"""Agents found dead: once for each process, with what they held. alerts/lifecycle.py says who hears of it.

The caller that finds the process gone (a sweep, or a request for what it held) reports it. An agent that called
`leave`, was killed, or was silent for an hour is not reported; nor is one that held nothing and that no agent
coordinates. A subagent runs in its parent's process, so only the parent's death is reported.
"""

from __future__ import annotations

from dibs.operations.agents.records import get_agent, get_agents, put_agent
from dibs.operations.alerts import suspicions
from dibs.operations.claims import records as claim_records
from dibs.operations.claims import resources
from dibs.operations.core.call import FOLLOW_UPS, process_name, within
from dibs.operations.core.declare import ANYWHERE, Operation
from dibs.stores.seam import COMMIT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dibs.operations.agents.records import Agent
    from dibs.operations.claims.records import Claim
    from dibs.operations.core.answers import NoAnswer
    from dibs.operations.core.call import Call
    from dibs.stores.seam import Transaction

DEATH_NEWS_MS = 3_600_000  # after an hour of silence, no agent depends on it any more
MAX_SHOWN = 4  # claims that the alert names as evidence


def tell_of(tx: Transaction, call: Call, claims: Sequence[Claim]) -> None:
    """Report the dead holders of these claims, which were just ended."""
    holders = get_agents(tx, sorted({claim["agent"].partition("/")[0] for claim in claims}))
    tell(tx, call, [agent for agent in holders.values() if agent is not None], claims)


def is_news(call: Call, agent: Agent) -> bool:
    """Is its process gone, and was this not noticed yet?"""
    process = agent["process"]
    if process is None or agent["left"] or agent["killed"] or "/" in agent["agent"] or "same" in agent:
        return False
    if process_name(process) in {agent.get("mourned"), agent.get("ended")}:
        return False
    return call.facts.get(process_name(process)) is False


def tell(tx: Transaction, call: Call, agents: Iterable[Agent], ended: Sequence[Claim]) -> int:
    """Report the newly dead agents among these; `ended`: claims that this transaction ended. Returns how many."""
    told = 0
    for identifier in [agent["agent"] for agent in agents if is_news(call, agent)]:
        agent = get_agent(tx, identifier)  # the end of its claims may have changed it
        process = agent["process"] if agent is not None else None
        if agent is None or process is None or not is_news(call, agent):
            continue
        name = process_name(process)
        agent["mourned"] = name
        put_agent(tx, agent)
        if tx.now - agent["seen"] > DEATH_NEWS_MS:
            continue
        own_claims = [claim for claim in ended if within(claim["agent"], identifier)]
        live = [claim for claim in claim_records.claims_of(tx, identifier, family=True) if claim["until"] > tx.now]
        void = [*own_claims, *[claim for claim in live if claim["tied"]]]  # these block nobody: a sweep ends them
        left = [claim for claim in live if not claim["tied"]]
        shows = [[COMMIT, claim["claim"]] for claim in own_claims] + [
            [claim["token"], claim["claim"]] for claim in live
        ]
        suspicions.put(
            tx, "dead", identifier, identifier, since=agent["seen"], event="", pid=process[3], process=name,
            commits=shows[:MAX_SHOWN], held=[resource for claim in void for resource in claim["resources"]],
            kept=[resource for claim in left for resource in claim["resources"]],
            left=[[claim["token"], resources.shown(claim["resources"])] for claim in left],
        )  # fmt: skip
        told += 1
    if told:
        FOLLOW_UPS.suspicions(tx, call)
    return told


def _ended(tx: Transaction, call: Call) -> NoAnswer:
    """The agent's client closes its connection in order: if its process is gone next, nobody need be alarmed.

    A client that only connects again keeps what it holds; its next calls take the note away (entry.py).
    """
    agent = get_agent(tx, call.agent)
    if agent is not None and agent["process"] is not None:
        agent["ended"] = process_name(agent["process"])
        put_agent(tx, agent)
    return {}


ENDED = Operation("ended", _ended, "The client ends in order.", sent_by=ANYWHERE, registers=False)

INTERNAL = (ENDED,)
