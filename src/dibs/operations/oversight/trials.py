"""The record of a test: ten or more agents at once on shared files, and whether anything was lost (`dibs demo`).

The demo plays in a folder of its own; its result is recorded in the workspace from which it was started. The last
one is kept as a record, so that it outlives the log's retention; each has its event.
"""

from __future__ import annotations

from dibs.operations.core.declare import AGENT, NEAR, Field, Operation
from dibs.operations.oversight.records import get_trial, put_trial

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.operations.core.call import Call
    from dibs.operations.oversight.requests import TestRecordRequest
    from dibs.stores.seam import Json, Transaction

MANY = 10  # agents: as many as show what two or three do not


def _record(tx: Transaction, call: Call, request: TestRecordRequest) -> dict[str, str]:
    """Keep the result of a test. A small test does not replace a large one."""
    last = get_trial(tx)
    if last is None or request["agents"] >= MANY or last["agents"] < MANY:
        trial: Json = {**request, "by": call.agent, "at": tx.now}
        put_trial(tx, trial)
    data = {name: value for name, value in request.items() if name != "what"}
    tx.append("audit.tested", call.agent, request["what"], data)
    return {"recorded": request["what"]}


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
    rank=AGENT,
)

INTERNAL = (RECORD,)
