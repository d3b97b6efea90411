"""Taking back a request that went through a server, when its caller was interrupted or has gone.

Unlike `withdraw` (waiters.py), the caller does not know what was decided: the answer never reached it. The record of
the connection says so (core/exchanges.py); if the request was not decided yet, it never will be.
"""

from __future__ import annotations

from dibs.operations.claims import waiters
from dibs.operations.core import exchanges
from dibs.operations.core.declare import ANYWHERE, Field, Operation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypedDict

    from dibs.operations.claims.requests import RecallRequest
    from dibs.operations.core.call import Call
    from dibs.stores.seam import Transaction

    class RecallAnswer(TypedDict):
        """Of `recall`."""

        recalled: bool  # not if a later request came through the connection already


def _recall(tx: Transaction, call: Call, request: RecallRequest) -> RecallAnswer:
    """Release the place or claim that this request got. A claim that the agent had before it keeps."""
    known, late = exchanges.close(tx, request["connection"], request["number"])
    if late:
        return {"recalled": False}
    place, claims = waiters.left_by(exchanges.answer_in(known) if known is not None else None)
    place, claims = place or request["waiter"], [] if request["kept"] else claims
    if place or claims:
        waiters.withdraw(tx, call, {"waiter": place, "claims": claims})
    return {"recalled": True}


RECALL = Operation(
    "recall", _recall, "Take back a request whose answer nobody reads.", sent_by=ANYWHERE,
    fields=(
        Field("connection", "text", "the connection that it came through", required=True),
        Field("number", "integer", "its number there", required=True),
        Field("waiter", "text", "the place in the queue that it had before", default=""),
        Field("kept", "flag", "a claim that it got stays: a retry will be told of it", default=False),
    ),
)  # fmt: skip

INTERNAL = (RECALL,)
