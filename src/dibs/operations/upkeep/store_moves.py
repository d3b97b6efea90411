"""Records of a workspace's move to another store: who moved it, from where, to where.

The copying is in stores/move/carry.py. A URL's password is not in the record.
"""

from __future__ import annotations

from dibs.operations.alerts import suspicions
from dibs.operations.core.declare import NEAR, Field, Operation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.operations.core.call import Call
    from dibs.operations.upkeep.requests import StoreFallbackRequest, StoreMovedRequest, StoreMoveRequest
    from dibs.stores.seam import Transaction


def _moving(tx: Transaction, call: Call, request: StoreMoveRequest) -> dict[str, str]:
    """An allowed caller starts a move: a killed agent does not come this far."""
    tx.append("store.moving", call.agent, request["to"], {"move": request["move"]})
    return {"agent": call.agent}


def _moved(tx: Transaction, call: Call, request: StoreMovedRequest) -> dict[str, str]:
    """The first write to the new store."""
    tx.append(
        "store.moved",
        call.agent,
        request["to"],
        {"from": request["left"], "move": request["move"], "digest": request["digest"], "events": request["events"]},
    )
    return {"agent": call.agent}


def _fallen_back(tx: Transaction, call: Call, request: StoreFallbackRequest) -> dict[str, str]:
    """SQLite replaces a server that does not start; the server's records are not known here."""
    left = request["left"]
    tx.append("store.fallback", call.agent, left, {})
    suspicions.put(tx, "store", "fallback", "", event=left, left=left, lasts="fallback")
    return {"agent": call.agent}


_TO = Field("to", "raw", "the new store, without its password", required=True)
_LEFT = Field("left", "raw", "the store before, without its password", required=True)
_MOVE = Field("move", "text", "the move", required=True)
MOVING = Operation(
    "store move",
    _moving,
    "Record that the workspace is about to be moved.",
    sent_by=NEAR,
    fields=(_TO, _MOVE),
    rank="person",
)
MOVED = Operation(
    "store moved", _moved, "Record that the workspace was moved here.", sent_by=NEAR,
    fields=(
        _TO, _LEFT, _MOVE,
        Field("digest", "text", "the digest of what was moved", required=True),
        Field("events", "integer", "the number of events", required=True),
    ),
)  # fmt: skip
FALLEN_BACK = Operation(
    "store fallback", _fallen_back, "Record that this store replaces another.", sent_by=NEAR, fields=(_LEFT,)
)

INTERNAL = (MOVING, MOVED, FALLEN_BACK)
