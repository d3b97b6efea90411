"""The first writes into a store that lost something: a replacement for a damaged one, or a server without its data.

Claims are not carried over: a damaged store may not have all of them. Tokens continue above every one ever answered, so
every use of an old one is refused. Kills are carried over as far as they could be read.
"""

from __future__ import annotations

from dibs.operations.agents.records import put_agent
from dibs.operations.alerts import suspicions
from dibs.operations.core.declare import NEAR, Field, Operation
from dibs.operations.documents.records import put_counts
from dibs.stores.seam import COMMIT

CLAIMS_PER_TRANSACTION = 256
MAX_CLAIMS_READ = 10_000

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.operations.core.call import Call
    from dibs.operations.upkeep.requests import RecoveredRequest
    from dibs.stores.seam import Transaction


def _recovered(tx: Transaction, call: Call, request: RecoveredRequest) -> dict[str, list[str]]:
    killed = []
    for agent in request["agents"]:
        if agent.get("killed") and agent["agent"] != call.agent:
            put_agent(tx, agent)
            killed.append(agent["agent"])
    # No document has more versions than there were commits: new ones begin above what any stale writer names.
    put_counts(tx, {"documents": 0, "forgotten": tx.tail().commit})
    tx.append("store.recovered", call.agent, request["aside"], {"killed": killed})
    suspicions.put(tx, "store", "recovered", "", event="", commits=[[COMMIT, request["aside"]]])
    return {"killed": killed}


def _void(tx: Transaction, call: Call) -> dict[str, bool]:
    """End the claims from before this epoch: a later grant of the same resource may have been lost."""
    from dibs.operations.claims import endings
    from dibs.operations.claims import records as claim_records

    old = [claim for claim in claim_records.all_claims(tx, MAX_CLAIMS_READ)[0] if claim["token"] < tx.since]
    ended = min(len(old), CLAIMS_PER_TRANSACTION)
    # First: an alert's evidence is looked for among the first events of its commit.
    tx.append("store.epoch", call.agent, "", {"since": tx.since, "claims": ended})
    for claim in old[:CLAIMS_PER_TRANSACTION]:
        endings.end(tx, claim, "epoch")
    waiting, _ = claim_records.all_waiters(tx, CLAIMS_PER_TRANSACTION)
    for waiter in waiting if len(old) <= CLAIMS_PER_TRANSACTION else ():
        endings.drop_waiter(tx, waiter, "epoch")
    suspicions.put(tx, "store", "epoch", "", event="", commits=[[COMMIT, ""]], claims=ended)
    return {"more": len(old) > CLAIMS_PER_TRANSACTION or len(waiting) >= CLAIMS_PER_TRANSACTION}


VOID = Operation("void", _void, "End the claims from before the store lost data.", sent_by=NEAR)
RECOVERED = Operation(
    "recovered", _recovered, "Start a database that replaces a damaged one.", sent_by=NEAR,
    fields=(
        Field("agents", "json", "the records of agents that could be read", default=(), longest=0),
        Field("aside", "raw", "the name of the damaged file", default=""),
    ),
)  # fmt: skip

INTERNAL = (VOID, RECOVERED)
