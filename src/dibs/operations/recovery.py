"""What is written first into a database that takes a damaged one's place.

Claims are not carried over: what cannot be read cannot be trusted to be all. Tokens go on above every one ever
answered, so whatever is still done with an old one is refused. The kill switch is carried over as far as it could be
read.
"""

from __future__ import annotations

from dibs.operations.call import put_agent
from dibs.operations.declare import Operation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from dibs.operations.call import Call, Record
    from dibs.stores.seam import Fetched, Transaction


def _recovered(
    tx: Transaction, call: Call, got: Fetched, agents: Sequence[Record] = (), aside: str = ""
) -> dict[str, Any]:
    kept = []
    for agent in agents:
        if agent.get("killed") and agent["agent"] != call.agent:
            put_agent(tx, agent)
            kept.append(agent["agent"])
    # No document was written more often than there were commits: new ones begin above what any stale writer names.
    tx.put("ec", {"documents": 0, "forgotten": tx.tail().commit})
    tx.append("store.recovered", call.agent, aside, {"killed": kept})
    return {"killed": kept}


RECOVERED = Operation("recovered", _recovered, "Begin a database that takes a damaged one's place.")
