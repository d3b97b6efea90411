"""Alerts as people and programs see them."""

from __future__ import annotations

from dibs.errors import quoted
from dibs.operations.alerts import kinds
from dibs.operations.alerts.records import CLEARED, ERROR, OPEN, WARNING, get_alerts
from dibs.operations.core.call import iso

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.operations.alerts.answers import AlertDelivery, AlertView
    from dibs.operations.alerts.records import Alert, Delivery, Facts
    from dibs.operations.claims.answers import AlertAction, AlertShort
    from dibs.stores.seam import Json, Transaction

RANK = {WARNING: 0, ERROR: 1}
MAX_OPEN = 200  # open or acknowledged at a time: more than a person reads; one look reads them all


def live(tx: Transaction) -> list[Alert[Facts]]:
    """Every alert that is open or acknowledged, the most severe first, then the oldest."""
    alerts = get_alerts(tx, MAX_OPEN)
    alerts.sort(key=lambda alert: (-RANK[alert["severity"]], alert["state"] != OPEN, alert["raised"], alert["alert"]))
    return alerts


def delivery_of(delivery: Delivery) -> AlertDelivery:
    """What became of a delivery."""
    view: Json = {"state": delivery["state"], "tries": delivery["tries"], "why": delivery["why"]}
    typed: AlertDelivery = view
    return typed


def shown(tx: Transaction, alert: Alert[Facts]) -> AlertView:
    """An alert with everything that is known of it."""
    facts: Json = alert["facts"]
    view: Json = {
        "id": alert["alert"],
        "kind": alert["kind"],
        "severity": alert["severity"],
        "state": alert["state"],
        "subject": alert["subject"],
        "agent": alert["agent"],
        "text": _text(tx, alert),
        "remedy": alert["remedy"],
        "resources": alert["resources"],
        "since": iso(tx, alert["since"]),
        "raised_at": iso(tx, alert["raised"]),
        "repeats": alert["repeats"],
        "commits": [{"commit": commit, "subject": subject} for commit, subject in alert["commits"]],
    }
    if alert["expected"] is not None:
        view["expected"] = alert["expected"] / 1000
    if alert["actual"] is not None:
        lasts = alert["state"] != CLEARED
        view["actual"] = (tx.now - alert["since"] if lasts else alert["actual"]) / 1000
    view.update({name: facts[name] for name in ("cycle", "pid") if facts.get(name)})
    if alert["acknowledged"]:
        note = alert["acknowledged"]
        view["acknowledged"] = {"agent": note["by"], "at": iso(tx, note["at"]), "why": note["why"]}
    if alert["cleared"]:
        view["cleared"] = {"at": iso(tx, alert["cleared"]["at"]), "why": alert["cleared"]["why"]}
    if alert["delivery"]:
        view["delivery"] = delivery_of(alert["delivery"])
    view.update(_actions(tx, alert))
    typed: AlertView = view
    return typed


def _text(tx: Transaction, alert: Alert[Facts]) -> str:
    told = kinds.TEXTS.get(alert["kind"]) if alert["state"] != CLEARED else None
    return alert["text"] if told is None else told(tx, alert)


def _actions(tx: Transaction, alert: Alert[Facts]) -> dict[str, list[AlertAction]]:
    actions = kinds.ACTIONS.get(alert["kind"]) if alert["state"] != CLEARED else None
    return {} if actions is None else {"actions": actions(tx, alert)}


def short(tx: Transaction, alert: Alert[Facts]) -> AlertShort:
    """An alert in one line, as `status` and a briefing show it."""
    view: Json = {
        "id": alert["alert"], "kind": alert["kind"], "severity": alert["severity"], "state": alert["state"],
        "subject": alert["subject"], "agent": alert["agent"], "text": _text(tx, alert), "remedy": alert["remedy"],
        "since": iso(tx, alert["since"]), **_actions(tx, alert),
    }  # fmt: skip
    typed: AlertShort = view
    return typed


def concerning(tx: Transaction, agent: str, limit: int) -> list[AlertShort]:
    """The alerts that an agent should know of when it boots."""
    alerts = [alert for alert in live(tx) if alert["state"] == OPEN and _concerns(alert, agent)]
    return [{**short(tx, alert), "remedy": own_remedy(alert, agent) or alert["remedy"]} for alert in alerts[:limit]]


def _concerns(alert: Alert[Facts], agent: str) -> bool:
    return alert["agent"] == agent or agent in alert["told"]


def own_remedy(alert: Alert[Facts], agent: str) -> str:
    """What the holder itself can do about an alert: to ask the holder is for others. "" for an agent that is none."""
    names = kinds.TABLE[alert["kind"]].releasable(alert, agent)
    return f"dibs release {' '.join(map(quoted, dict.fromkeys(names)))}" if names else ""
