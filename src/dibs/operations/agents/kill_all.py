"""`kill all` stops the fleet in one decision, `revive all` lets it go on.

- success: every agent that is known and has not left is killed, with its subagents; what they hold is voided in steps
  of one job (departures.py), and a waiter that stays gets it.
- not touched: people, and the agent that calls, with its parents.
- race: an agent that registers later is not killed. A second call kills those that came meanwhile; the others stay as
  they are.
- nobody there: nothing happens, and the answer says that none was killed.
- `revive all`: those that a `kill all` stopped. An agent that was killed by its name, for a reason of its own, stays
  killed until it is revived by its name.
"""

from __future__ import annotations

from dibs.operations.agents import departures
from dibs.operations.agents.records import AGENT_KEYS
from dibs.operations.core.paging import KEYS, MAX_PAGE_ROWS, read

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.operations.agents.departures import Voided
    from dibs.operations.agents.records import Agent
    from dibs.operations.core.call import Call
    from dibs.stores.seam import Transaction

MAX_SHOWN = 200  # agents in the answer, which also has the total


def agents_that(tx: Transaction, is_meant: Callable[[Agent], bool]) -> list[Agent]:
    """All agents of which this is true."""

    def meant(rows: list[tuple[str, Agent]]) -> list[tuple[str, Agent]]:
        return [row for row in rows if "same" not in row[1] and is_meant(row[1])]

    agents: list[Agent] = []
    after = ""
    while True:
        page = read(tx, [(KEYS, AGENT_KEYS, meant)], MAX_PAGE_ROWS, after)
        agents += page.records
        if page.cursor is None:
            return agents
        after = page.cursor


def _is_meant(agent: Agent, own: str) -> bool:
    """Whole families, by their parents."""
    if "/" in agent["agent"] or agent["agent"] == own:
        return False
    return agent.get("kind") != "person" and not agent["left"] and not agent["killed"]


def run(tx: Transaction, call: Call, why: str, stop: Callable[[Agent], None]) -> tuple[list[Agent], Voided, list[str]]:
    """Stop them all: who they are, what is void, the jobs that are left. `stop` writes the record of one."""
    own = call.agent.partition("/")[0]
    agents = agents_that(tx, lambda agent: _is_meant(agent, own))
    call.know([agent["process"] for agent in agents[:MAX_SHOWN]])
    for agent in agents:
        agent["killed"] = {"by": call.agent, "why": why, "at": tx.now, "all": True}
        stop(agent)
    job, jobs = departures.begin_all(tx, call.agent, [agent["agent"] for agent in agents])
    return agents, departures.voided(job), jobs


def _is_stopped_with_all(agent: Agent) -> bool:
    return agent["killed"] is not None and agent["killed"].get("all", False)


def revive(tx: Transaction, bring_back: Callable[[Agent], None]) -> list[Agent]:
    """Let those act again that it stopped. `bring_back` writes the record of one."""
    agents = agents_that(tx, _is_stopped_with_all)
    for agent in agents:
        bring_back(agent)
    return agents
