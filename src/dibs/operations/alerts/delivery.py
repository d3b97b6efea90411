"""Delivery of alerts to the command or webhook of the config: which alerts, by whom, how often. client/ sends them.

An alert that is to be delivered is pending from the start. A process takes a few for LEASE_MS: until then no other
process has them. It reports each: delivered, or why not; then the next attempt waits, longer each time, at most
MAX_TRIES attempts. A process that dies in between leaves the alert to the next one: it is delivered at least once, and
once more at most for each such death. The lease's id goes with the alert; a report under an older one changes nothing.
"""

from __future__ import annotations

from dibs.operations.alerts import records
from dibs.operations.alerts.records import DELIVERED, FAILED, PENDING
from dibs.operations.core.declare import NEAR, Field, Operation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dibs.operations.alerts.requests import AlertReportRequest, AlertTakeRequest
    from dibs.operations.core.call import Call, Record
    from dibs.stores.seam import Transaction

LEASE_MS = 60_000  # longer than a process needs for what it takes at once
MAX_TAKEN = 4  # alerts at once
MAX_TRIES = 6
BACKOFF_MS = (5_000, 30_000, 120_000, 600_000, 3_600_000)  # after the first attempt, the second, …
MAX_PENDING_READ = 512
QUEUE = "alertout\t"  # index 1


def _take(tx: Transaction, call: Call, request: AlertTakeRequest) -> dict[str, Any]:
    """Take the alerts whose delivery is due."""
    taken = []
    for _, _, alert in tx.scan(1, QUEUE, min(request["limit"], MAX_TAKEN), before=f"{QUEUE}{tx.now + 1:015d}").rows:
        delivery = alert["delivery"]
        if delivery["tries"] >= MAX_TRIES:  # the last process that took it never reported
            _give_up(tx, alert, delivery["why"] or "no process reported that it was delivered")
            continue
        delivery.update(tries=delivery["tries"] + 1, next=tx.now + LEASE_MS, lease=tx.id())
        records.put(tx, alert)
        taken.append({"alert": records.shown(tx, alert), "lease": delivery["lease"]})
    return {"taken": taken}


def _report(tx: Transaction, call: Call, request: AlertReportRequest) -> dict[str, Any]:
    """What became of an attempt; `why` it failed, "" if it did not."""
    for _, _, record in tx.scan(1, QUEUE, MAX_PENDING_READ).rows:
        if record["alert"] == request["alert"] and record["delivery"]["lease"] == request["lease"]:
            delivery = record["delivery"]
            delivery["why"] = request["why"][:200]
            if request["why"] and delivery["tries"] >= MAX_TRIES:
                _give_up(tx, record, delivery["why"])
            elif request["why"]:
                delivery["next"] = tx.now + BACKOFF_MS[min(delivery["tries"], len(BACKOFF_MS)) - 1]
                records.put(tx, record)
            else:
                delivery["state"] = DELIVERED
                records.put(tx, record)
            return {"known": True}
    return {"known": False}


def _give_up(tx: Transaction, alert: Record, why: str) -> None:
    alert["delivery"].update(state=FAILED, why=why)
    records.put(tx, alert)


def waiting(tx: Transaction) -> dict[str, int]:
    """How many alerts wait to be delivered, and how many could not be; for `status` and `check`."""
    pending = len(tx.scan(1, QUEUE, MAX_PENDING_READ).rows)
    failed = sum(1 for one in records.live(tx) if one["delivery"] and one["delivery"]["state"] == FAILED)
    return {PENDING: pending, FAILED: failed}


def _is_due(tx: Transaction, call: Call) -> dict[str, Any]:
    return {"due": bool(tx.scan(1, QUEUE, 1, before=f"{QUEUE}{tx.now + 1:015d}").rows)}


IS_DUE = Operation("alert-delivery-due", _is_due, "Is an alert to be delivered now?", sent_by=NEAR, writes=False)
TAKE = Operation(
    "alert-take",
    _take,
    "Take alerts that are to be delivered.",
    sent_by=NEAR,
    fields=(Field("limit", "integer", "how many at most", default=MAX_TAKEN),),
    registers=False,
)
REPORT = Operation(
    "alert-report",
    _report,
    "Report what became of a delivery.",
    sent_by=NEAR,
    fields=(
        Field("alert", "text", "the alert", required=True),
        Field("lease", "text", "under which it was taken", required=True),
        Field("why", "text", "it failed", default=""),
    ),
    registers=False,
)

INTERNAL = (IS_DUE, TAKE, REPORT)
