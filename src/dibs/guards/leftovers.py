"""At boot: unfinished work of agents that are gone. The new agent is told whose it is.

It stays theirs until another agent takes it over; no sweep takes it away before that. An agent that was told to forget
and continues in the same process continues its own work.
"""

from __future__ import annotations

from dibs.errors import quoted
from dibs.operations.core.call import related

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.client.session import Session
    from dibs.ledger.working_tree import Tree
    from dibs.operations.core.call import Call

MAX_SHOWN = 6  # agents, and files of each
MAX_AGENTS_CHECKED = 50


def told(session: Session, call: Call, tree: Tree) -> list[str]:
    """A line for each agent that left unfinished work."""
    found: dict[str, list[str]] = {}
    for path, owners in tree.state.owned().items():
        if len(owners) == 1 and not related(owners[0], call.agent):
            found.setdefault(owners[0], []).append(path)
    if not found:
        return []
    from dibs.ledger.state import owner_line
    from dibs.operations.guards.audits import PEERS

    peers = session.run(PEERS, call, {"agents": list(found)[:MAX_AGENTS_CHECKED]})
    lines = []
    for agent, paths in list(found.items())[:MAX_AGENTS_CHECKED]:
        if agent in peers["mine"]:
            tree.add(*[owner_line(call.agent, path) for path in paths])
            lines.append(f"Uncommitted work of yours from before: {_listed(paths)}.")
        elif agent not in peers["there"]:
            lines.append(
                f"{peers['names'][agent]} left uncommitted work in {_listed(paths)}. To continue it: "
                f"`dibs claim {quoted(paths[0])}`, then read it."
            )
    tree.write()
    return lines[:MAX_SHOWN]


def _listed(paths: list[str]) -> str:
    more = f" and {len(paths) - MAX_SHOWN} more" if len(paths) > MAX_SHOWN else ""
    return ", ".join(paths[:MAX_SHOWN]) + more
