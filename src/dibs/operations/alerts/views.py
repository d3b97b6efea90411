"""Alerts as people and programs see them."""

from __future__ import annotations

from dibs.errors import quoted
from dibs.operations.agents import names
from dibs.operations.agents.records import get_agents
from dibs.operations.alerts import kinds
from dibs.operations.alerts.records import CLEARED, ERROR, INFO, OPEN, WARNING, get_alerts
from dibs.operations.core.call import iso

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from dibs.operations.alerts.answers import AlertDelivery, AlertGroup, AlertView
    from dibs.operations.alerts.records import Alert, Delivery, Facts
    from dibs.operations.claims.answers import AlertAction, AlertShort
    from dibs.stores.seam import Json, Transaction

RANK = {INFO: 0, WARNING: 1, ERROR: 2}
MAX_GROUP_AGENTS = 20  # that a group of alerts names
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
        "remedy": _remedy(tx, alert),
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
        "subject": alert["subject"], "agent": alert["agent"], "text": _text(tx, alert), "remedy": _remedy(tx, alert),
        "since": iso(tx, alert["since"]), **_actions(tx, alert),
    }  # fmt: skip
    typed: AlertShort = view
    return typed


def grouped(tx: Transaction, alerts: Iterable[Alert[Facts]]) -> list[AlertGroup]:
    """The open alerts by kind, the most severe first: what people read. A person has to act on all but `info`."""
    by_kind: dict[str, list[Alert[Facts]]] = {}
    for alert in alerts:
        if alert["state"] == OPEN:
            by_kind.setdefault(alert["kind"], []).append(alert)
    groups: list[AlertGroup] = []
    for kind, same in by_kind.items():
        same.sort(key=lambda alert: (-RANK[alert["severity"]], -alert["raised"]))
        worst, count = same[0], len(same)
        more = f" And {count - 1} more of this kind." if count > 1 else ""
        group: Json = {
            "kind": kind, "label": kinds.TABLE[kind].label, "severity": worst["severity"], "count": count,
            "needs_you": RANK[worst["severity"]] > RANK[INFO], "text": f"{worst['text']}{more}",
            "remedy": _remedy(tx, worst) if count == 1 else f"dibs alerts --kind {quoted(kind)}",
            "dismiss": f"dibs alerts ack {quoted(worst['alert']) if count == 1 else f'--kind {quoted(kind)}'}",
            "agents": _names(tx, same),
            "ids": [alert["alert"] for alert in same], "since": iso(tx, min(alert["since"] for alert in same)),
        }  # fmt: skip
        typed: AlertGroup = group
        groups.append(typed)
    groups.sort(key=lambda group: -RANK[group["severity"]])
    return groups


def _remedy(tx: Transaction, alert: Alert[Facts]) -> str:
    """The command, with the names of agents: people cannot read the ids that it was made with."""
    words = alert["remedy"].split(" ")
    ids = {word for word in words if not names.is_readable(word)}
    known = get_agents(tx, sorted(ids)) if ids else {}
    return " ".join([quoted(record["name"]) if (record := known.get(word)) else word for word in words])


def _names(tx: Transaction, alerts: list[Alert[Facts]]) -> list[str]:
    agents = list(dict.fromkeys(alert["agent"] for alert in alerts if alert["agent"]))[:MAX_GROUP_AGENTS]
    known = names.names_of(tx, agents)
    return [known.get(agent, agent) for agent in agents]


def concerning(tx: Transaction, agent: str, limit: int) -> list[AlertShort]:
    """The alerts that an agent should know of when it boots."""
    alerts = [alert for alert in live(tx) if alert["state"] == OPEN and _concerns(alert, agent)]
    return [
        {**view, "remedy": own_remedy(alert, agent) or view["remedy"]}
        for alert in alerts[:limit]
        for view in (short(tx, alert),)
    ]


def _concerns(alert: Alert[Facts], agent: str) -> bool:
    return alert["agent"] == agent or agent in alert["told"]


def own_remedy(alert: Alert[Facts], agent: str) -> str:
    """What the holder itself can do about an alert: to ask the holder is for others. "" for an agent that is none."""
    held = kinds.TABLE[alert["kind"]].releasable(alert, agent)
    return f"dibs release {' '.join(map(quoted, dict.fromkeys(held)))}" if held else ""
