"""Delivery of alerts to the command or webhook of the config: which alerts, by whom, how often. client/ sends them.

An alert that is to be delivered is pending from the start. A process takes a few for LEASE_MS: until then no other
process has them. It reports each: delivered, or why not; then the next attempt waits, longer each time, at most
MAX_TRIES attempts. A process that dies in between leaves the alert to the next one: it is delivered at least once, and
once more at most for each such death. The lease's id goes with the alert; a report under an older one changes nothing.
"""

from __future__ import annotations

from dibs.operations.alerts import views
from dibs.operations.alerts.records import (
    DELIVERED,
    FAILED,
    due_deliveries,
    pending_deliveries,
    put_alert,
)
from dibs.operations.core.declare import NEAR, Field, Operation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypedDict

    from dibs.operations.alerts.answers import AlertView, Deliveries
    from dibs.operations.alerts.records import Alert, Facts
    from dibs.operations.alerts.requests import AlertReportRequest, AlertTakeRequest
    from dibs.operations.core.call import Call
    from dibs.stores.seam import Transaction

    class TakenAlert(TypedDict):
        """An alert that the caller is to deliver."""

        alert: AlertView
        lease: str


LEASE_MS = 60_000  # longer than a process needs for what it takes at once
MAX_TAKEN = 4  # alerts at once
MAX_TRIES = 6
BACKOFF_MS = (5_000, 30_000, 120_000, 600_000, 3_600_000)  # after the first attempt, the second, …
MAX_PENDING_READ = 512


def _take(tx: Transaction, call: Call, request: AlertTakeRequest) -> dict[str, list[TakenAlert]]:
    """Take the alerts whose delivery is due."""
    taken: list[TakenAlert] = []
    for alert in due_deliveries(tx, min(request["limit"], MAX_TAKEN)):
        delivery = alert["delivery"]
        assert delivery is not None
        if delivery["tries"] >= MAX_TRIES:  # the last process that took it never reported
            _give_up(tx, alert, delivery["why"] or "no process reported that it was delivered")
            continue
        delivery["tries"] += 1
        delivery["next"], delivery["lease"] = tx.now + LEASE_MS, tx.id()
        put_alert(tx, alert)
        taken.append({"alert": views.shown(tx, alert), "lease": delivery["lease"]})
    return {"taken": taken}


def _report(tx: Transaction, call: Call, request: AlertReportRequest) -> dict[str, bool]:
    """What became of an attempt; `why` it failed, "" if it did not."""
    why = request["why"]
    for record in pending_deliveries(tx, MAX_PENDING_READ):
        delivery = record["delivery"]
        if record["alert"] == request["alert"] and delivery is not None and delivery["lease"] == request["lease"]:
            delivery["why"] = why[:200]
            if why and delivery["tries"] >= MAX_TRIES:
                _give_up(tx, record, delivery["why"])
            elif why:
                delivery["next"] = tx.now + BACKOFF_MS[min(delivery["tries"], len(BACKOFF_MS)) - 1]
                put_alert(tx, record)
            else:
                delivery["state"] = DELIVERED
                put_alert(tx, record)
            return {"known": True}
    return {"known": False}


def _give_up(tx: Transaction, alert: Alert[Facts], why: str) -> None:
    delivery = alert["delivery"]
    assert delivery is not None
    delivery["state"], delivery["why"] = FAILED, why
    put_alert(tx, alert)


def waiting(tx: Transaction) -> Deliveries:
    """How many alerts wait to be delivered, and how many could not be; for `status` and `check`."""
    failed = sum(1 for alert in views.live(tx) if alert["delivery"] and alert["delivery"]["state"] == FAILED)
    return {"pending": len(pending_deliveries(tx, MAX_PENDING_READ)), "failed": failed}


def _is_due(tx: Transaction, call: Call) -> dict[str, bool]:
    return {"due": bool(due_deliveries(tx, 1))}


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
