"""The record of a test: ten or more agents at once on shared files, and whether anything was lost (`dibs demo`).

The demo plays in a folder of its own; its result is recorded in the workspace from which it was started. The last
one is kept as a record, so that it outlives the log's retention; each has its event.
"""

from __future__ import annotations

from dibs.operations.core.declare import AGENT, NEAR, Field, Operation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dibs.operations.core.call import Call, Record
    from dibs.operations.oversight.requests import TestRecordRequest
    from dibs.stores.seam import Transaction

KEY = "ct"
MANY = 10  # agents: as many as show what two or three do not


def _record(tx: Transaction, call: Call, request: TestRecordRequest) -> dict[str, Any]:
    """Keep the result of a test. A small test does not replace a large one."""
    known = last(tx)
    if known is None or request["agents"] >= MANY or known["agents"] < MANY:
        tx.put(KEY, {**request, "by": call.agent, "at": tx.now})
    tx.append("audit.tested", call.agent, request["what"], {key: one for key, one in request.items() if key != "what"})
    return {"recorded": request["what"]}


def last(tx: Transaction) -> Record | None:
    """The last test, if there was one."""
    found: Record | None = tx.get(KEY)
    return found


RECORD = Operation(
    "test record",
    _record,
    "Record the result of a test with many agents.",
    sent_by=NEAR,
    fields=(
        Field("what", "text", "which test", required=True, longest=100),
        Field("agents", "integer", "how many agents", required=True),
        Field("edits", "integer", "how many edits they made", required=True),
        Field("lost", "integer", "how many of these were lost", required=True),
        Field("clean", "flag", "whether the log of the test holds together", required=True),
        Field("seconds", "amount", "how long it took", required=True),
        Field("version", "text", "of dibs", required=True, longest=100),
        Field("store", "text", "the kind of store it went through", required=True, longest=100),
    ),
    may=AGENT,
)

INTERNAL = (RECORD,)
