"""`alerts` and `alerts ack`: what needs attention, and its acknowledgement. lifecycle.py has the story."""

from __future__ import annotations

from dibs.errors import Invalid, NotFound
from dibs.operations.alerts import delivery, kinds, lifecycle, records, views
from dibs.operations.core import paging
from dibs.operations.core.declare import PAGED, Field, Operation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.operations.alerts.answers import AlertAckAnswer, AlertsAnswer
    from dibs.operations.alerts.records import Alert, Facts
    from dibs.operations.alerts.requests import AlertsAckRequest, AlertsRequest
    from dibs.operations.core.call import Call
    from dibs.operations.core.paging import Section
    from dibs.stores.seam import Transaction

EVERY = "all"
STATES = (records.OPEN, records.ACKNOWLEDGED, records.CLEARED, EVERY)


def _alerts(tx: Transaction, call: Call, request: AlertsRequest) -> AlertsAnswer:
    """Alerts that are not cleared (of a state; all of them), the most severe first; cleared ones by their time."""
    wanted = {"": (records.OPEN, records.ACKNOWLEDGED), EVERY: STATES}.get(request["state"], (request["state"],))

    def fits(alert: Alert[Facts]) -> bool:
        return alert["state"] in wanted and (not request["kind"] or alert["kind"] == request["kind"])

    def fitting(rows: list[tuple[str, Alert[Facts]]]) -> list[tuple[str, Alert[Facts]]]:
        return [row for row in rows if fits(row[1])]

    sections: list[Section] = [(paging.KEYS, records.ALERT_KEYS, fitting)]
    if records.CLEARED in wanted:
        sections.append((paging.KEYS, records.CLEARED_KEYS, fitting))
    page = paging.read(tx, sections, paging.check_limit(request["limit"]), request["after"])
    page.records.sort(key=_order)
    return {
        "alerts": [views.shown(tx, alert) for alert in page.records],
        "groups": views.grouped(tx, page.records),
        "not_kept": records.get_counts(tx)["dropped"],
        "deliveries": delivery.waiting(tx),
        "more": page.more,
        "cursor": page.cursor,
    }


def _order(alert: Alert[Facts]) -> tuple[bool, int, bool, int]:
    over = alert["state"] == records.CLEARED
    return over, -views.RANK[alert["severity"]] if not over else 0, alert["state"] != records.OPEN, alert["raised"]


def _ack(tx: Transaction, call: Call, request: AlertsAckRequest) -> AlertAckAnswer:
    """Dismiss an alert, all open ones of a kind, or all open ones. The same once more changes nothing."""
    identifier, kind = request["id"], request["kind"]
    if bool(identifier) == bool(kind):
        raise Invalid("name an alert's id, `all`, or --kind", field="id")
    chosen = [
        alert
        for alert in views.live(tx)
        if alert["alert"] == identifier
        or (alert["state"] == records.OPEN and (identifier == EVERY or alert["kind"] == kind))
    ]
    if not chosen and identifier and identifier != EVERY:
        raise NotFound(f"no alert {identifier} is open; `dibs alerts` lists them", id=identifier)
    for alert in chosen:
        if alert["state"] == records.OPEN:
            lifecycle.acknowledge(tx, alert, call.agent, request["why"])
    return {"alerts": [views.shown(tx, alert) for alert in chosen]}


OPERATIONS = (
    Operation(
        "alerts",
        _alerts,
        "Show what needs attention: open and acknowledged alerts, with evidence and a remedy.",
        group="record",
        fields=(
            Field("state", "choice", "only alerts in this state (default: open and acknowledged)", default="",
                  choices=STATES),
            Field("kind", "choice", "only alerts of this kind", default="", choices=tuple(kinds.TABLE)),
            *PAGED,
        ),
        answer="AlertsAnswer",
        beforehand="look for trouble",
        afterwards="evidence",
        writes=False,
    ),
    Operation(
        "alerts ack",
        _ack,
        "Dismiss an alert, all of a kind, or all: you have taken note.",
        group="record",
        fields=(
            Field("id", "text", "the alert's id, or `all`", positional=True, default="", metavar="ID"),
            Field("kind", "choice", "all open alerts of this kind", default="", choices=tuple(kinds.TABLE)),
            Field("why", "text", "what you do about it", default="", metavar="T"),
        ),
        errors=(NotFound, Invalid),
        rank="agent",
        idempotent=True,
        answer="AlertAckAnswer",
        afterwards="evidence",
    ),
)  # fmt: skip
