"""`kill all`: stops the fleet in one decision.

- success: every agent that is known and has not left is killed, with its subagents; what they hold is voided in steps
  of one job (departures.py), and who waits for it and stays gets it.
- not touched: persons, and the agent that calls, with its parents.
- race: an agent that registers later is not killed. A second call kills those that came meanwhile; the others stay as
  they are.
- nobody there: nothing happens, and the answer says that none was killed.
"""

from __future__ import annotations

from dibs.operations.agents import departures
from dibs.operations.core.paging import KEYS, MAX_PAGE_ROWS, read

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from dibs.operations.core.call import Call, Record
    from dibs.stores.seam import Transaction

EVERY = "all"  # whom `kill` means by this word
MAX_SHOWN = 200  # agents in the answer, which also has the total


def targets(tx: Transaction, call: Call) -> list[Record]:
    """The agents that it means: whole families, by their parents."""
    own = call.agent.partition("/")[0]

    def meant(rows: list[tuple[str, Record]]) -> list[tuple[str, Record]]:
        return [row for row in rows if _is_meant(row[1], own)]

    found: list[Record] = []
    after = ""
    while True:
        page = read(tx, [(KEYS, "a\t", meant)], MAX_PAGE_ROWS, after)
        found += page.records
        if page.cursor is None:
            return found
        after = page.cursor


def _is_meant(agent: Record, own: str) -> bool:
    if "same" in agent or "/" in agent["agent"] or agent["agent"] == own:
        return False
    return agent.get("kind") != "person" and not agent["left"] and not agent["killed"]


def run(tx: Transaction, call: Call, why: str, stop: Callable[[Record], dict[str, Any]]) -> dict[str, Any]:
    """Stop them all. `stop` marks one as killed, and gives it as people see it."""
    found = targets(tx, call)
    shown: list[dict[str, Any]] = []
    for agent in found:
        agent["killed"] = {"by": call.agent, "why": why, "at": tx.now}
        one = stop(agent)
        if len(shown) < MAX_SHOWN:
            shown.append(one)
    voided = departures.begin_all(tx, call.agent, [agent["agent"] for agent in found])
    return {"agents": shown, "killed": len(found), **voided}
