"""Agents that are gone for good: a sweep forgets them, so that a workspace does not list everybody who ever called.

- when: an agent that left, or whose process is not known to be alive, was not seen for `[agents] keep` (7 days).
- kept: whoever was killed; whoever still holds, waits for or was told of nothing yet that it lost; has a task assigned,
  an unread message, a subagent that is known, or a part in an active run. Those are looked at again later.
- afterwards: tasks, messages and events name it by its id, as before; its name is free. If it calls again, it is new.
- crash, race: one transaction; a call of the agent in between makes it seen, and it stays.
"""

from __future__ import annotations

from dibs.operations.claims import holds
from dibs.operations.core.call import process_name
from dibs.operations.runs.run_records import ACTIVE, LISTED, agent_key
from dibs.stores.seam import prefix_range

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from dibs.operations.core.call import Call, Record
    from dibs.stores.seam import Transaction

AT_ONCE = 50  # agents that one sweep forgets; the next goes on


def some(tx: Transaction, call: Call, agents: Iterable[Record]) -> int:
    """Forget those of these agents that are gone for good; how many they were."""
    keep: int = call.policy.work["agents"]["keep"]
    old = [agent for agent in agents if not agent["killed"] and agent["seen"] + keep <= tx.now]
    call.know([agent["process"] for agent in old if not agent["left"]])
    gone = [agent for agent in old if agent["left"] or not call.alive(agent["process"])]
    done = 0
    for agent in gone[:AT_ONCE]:
        if not _is_needed(tx, agent["agent"], agent.get("same", "")):
            _forget(tx, agent)
            done += 1
    return done


def _is_needed(tx: Transaction, agent: str, same: str) -> bool:
    """Does anything live still refer to it? `same`: the agent of which this is another id."""
    if same and tx.fetch([f"a\t{same}"]).values[f"a\t{same}"] is not None:
        return True
    if any(holds.of_agent(tx, kind, agent, limit=1) for kind in (holds.CLAIM, holds.WAITER, holds.INTEREST)):
        return True
    if tx.scan(1, f"mine\t{agent}\t", 1).rows:
        return True
    runs = [row[2]["run"] for row in tx.scan(1, f"runs\t{ACTIVE}\t", LISTED).rows]
    keys = [f"mb\t{agent}", *[agent_key(run, agent) for run in runs]]
    found = tx.fetch(keys, [prefix_range(f"l\t{agent}\t"), prefix_range(f"a\t{agent}/")], 1)
    box = found.values[keys[0]]
    return bool(found.rows or (box is not None and box["count"]) or any(found.values[key] for key in keys[1:]))


def _forget(tx: Transaction, agent: Record) -> None:
    from dibs.operations.messages import subscriptions

    identifier, process = agent["agent"], agent["process"]
    subscriptions.drop(tx, identifier)
    keys = [f"a\t{identifier}", f"mb\t{identifier}", f"tl\t{identifier}"]
    if agent.get("name", identifier) != identifier:
        keys.append(f"nm\t{agent['name']}")
    others = [f"nm\t{other}" for other in agent.get("also", ())]
    owners = tx.fetch(others).values if others else {}
    keys += [key for key in others if owners[key] is not None and owners[key]["agent"] == identifier]
    if process is not None:
        runs_in = f"p\t{process_name(process)}"
        known = tx.fetch([runs_in]).values[runs_in]
        if known is not None and known["agent"] == identifier:
            keys.append(runs_in)
    for key in keys:
        tx.delete(key)
    tx.append("agent.forgotten", identifier, identifier, {"seen": agent["seen"]})
