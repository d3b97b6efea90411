"""A sweep forgets agents that are gone for good, so that a workspace does not list every agent that ever called.

- when: an agent that left, or whose process is not known to be alive, was not seen for `[agents] keep` (7 days).
- kept: a killed agent, for a year; an agent that holds or waits for something, has an untold loss, an assigned task,
  an unread message, a known subagent, or a part in an active run. A later sweep looks at it again.
- afterwards: tasks, messages and events keep its id; its name is free. If it calls again, it is a new agent.
- crash, race: one transaction; if the agent calls in between, it counts as seen and stays.
"""

from __future__ import annotations

from dibs.operations.agents.records import agent_key, get_agent, name_key, process_key, subagents_range
from dibs.operations.claims import records as claim_records
from dibs.operations.core.call import process_name
from dibs.operations.messages.records import mailbox_key
from dibs.operations.runs.records import active_runs, member_key
from dibs.operations.tasks.records import assigned_to, history_key
from dibs.stores.seam import prefix_range

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from dibs.operations.agents.records import Agent
    from dibs.operations.core.call import Call
    from dibs.stores.seam import Transaction

KILLED_LIFE_MS = 366 * 86_400_000  # no client resumes a session of a year ago
AGENTS_PER_SWEEP = 50  # the next sweep continues


def some(tx: Transaction, call: Call, agents: Iterable[Agent]) -> int:
    """Forget the agents among these that are gone for good; returns how many."""
    keep: int = call.policy.work["agents"]["keep"]
    old = [a for a in agents if a["seen"] + (max(keep, KILLED_LIFE_MS) if a["killed"] else keep) <= tx.now]
    call.know([agent["process"] for agent in old if not agent["left"]])
    gone = [agent for agent in old if agent["left"] or not call.alive(agent["process"])]
    done = 0
    for agent in gone[:AGENTS_PER_SWEEP]:
        if not _is_needed(tx, agent["agent"], agent.get("same", "")):
            _forget(tx, agent)
            done += 1
    return done


def _is_needed(tx: Transaction, agent: str, same: str) -> bool:
    """Does a live record still refer to it? `same`: the agent that this id is an alias of."""
    if same and get_agent(tx, same) is not None:
        return True
    if (
        claim_records.claims_of(tx, agent, limit=1)
        or claim_records.waiters_of(tx, agent, limit=1)
        or claim_records.interests_of(tx, agent, limit=1)
    ):
        return True
    if tx.scan(1, assigned_to(agent), 1).rows:
        return True
    keys = [mailbox_key(agent), *[member_key(run["run"], agent) for run in active_runs(tx)]]
    ranges = [subagents_range(agent), prefix_range(claim_records.losses_prefix(agent))]
    tx.prefetch(keys, ranges, 1)
    box, *memberships = tx.get_many(keys).values()
    return bool(tx.fetch(ranges, 1).rows or (box is not None and box["count"]) or any(memberships))


def _forget(tx: Transaction, agent: Agent) -> None:
    from dibs.operations.messages import subscriptions

    identifier, process = agent["agent"], agent["process"]
    subscriptions.drop(tx, identifier)
    keys = [agent_key(identifier), mailbox_key(identifier), history_key(identifier)]
    if agent["name"] != identifier:
        keys.append(name_key(agent["name"]))
    others = [name_key(other) for other in agent.get("also", ())]
    owners = tx.get_many(others)
    keys += [key for key in others if owners[key] is not None and owners[key]["agent"] == identifier]
    if process is not None:
        runs_in = process_key(process_name(process))
        known = tx.get(runs_in)
        if known is not None and known["agent"] == identifier:
            keys.append(runs_in)
    for key in keys:
        tx.delete(key)
    tx.append("agent.forgotten", identifier, identifier, {"seen": agent["seen"]})
