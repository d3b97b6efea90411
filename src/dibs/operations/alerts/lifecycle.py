"""Alerts: what needs attention, once raised and until settled. What is done to them, from suspicion to end.

An alert has a kind, a subject and a state. The two together are its key: while an alert is open or acknowledged, the
same cause again raises no second one, it is counted (`repeats`).
- open: raised, with its event; the agents concerned and the coordinators get one message from dibs.
- acknowledged: an agent or a person has taken note (`dibs alerts ack ID`). Its cause may go on.
- cleared: its cause is gone, and the record says why. A cleared alert is kept for `[alerts] keep`, then dropped.

Severities: `info` (nobody has to act), `warning` (a person should look), `error` (work is blocked, lost or wrong).

Evidence: an operation does not know the number of an event that it writes. An alert names commits, each with the
subject of the event meant: a claim's token, a waiter's ticket, the commit that caused it (the store fills that in). A
reader finds the event numbers from these (client/evidence.py).

Bounds: MAX_OPEN alerts are open or acknowledged at a time. A further one takes the place of an acknowledged one or of
one with a lower severity; where there is none, it is only counted. MAX_CLEARED cleared ones are kept.

kinds.py says when a suspicion is an alert, and when its cause is gone. Delivery to the command or webhook of the config
is a part of the record: delivery.py.
"""

from __future__ import annotations

from dibs.operations.agents import names
from dibs.operations.agents.records import get_agent
from dibs.operations.alerts import kinds, views
from dibs.operations.alerts.audience import coordinators
from dibs.operations.alerts.records import (
    ACKNOWLEDGED,
    CLEARED,
    OPEN,
    PENDING,
    REMOVED,
    delete_alert,
    delete_oldest_cleared,
    get_alert,
    get_counts,
    is_removal,
    put_alert,
    put_counts,
)
from dibs.operations.alerts.views import RANK
from dibs.operations.core.call import DIBS_SENDER
from dibs.operations.messages import mailbox
from dibs.stores.seam import COMMIT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.operations.alerts.records import Alert, Counts, Evidence, Facts, Finding, Suspicion
    from dibs.operations.core.call import Call
    from dibs.stores.seam import Json, Transaction

MAX_CLEARED = 1_000
MAX_COMMITS = 8  # of the evidence: the first one and the latest
MAX_TOLD = 20  # agents that one alert is told to
SETTLED_MS = 86_400_000  # after it was acknowledged, an alert without an observable cause is cleared


# --- the cause


def look_into(tx: Transaction, call: Call, key: str, suspicion: Suspicion[Facts]) -> bool:
    """Raise an alert for a suspicion, or count it, or drop it; returns whether an alert was raised."""
    tx.delete(key)
    kind = suspicion["suspicion"]
    finding = kinds.TABLE[kind].judge(tx, call, suspicion)
    if finding is None:
        return False
    known = get_alert(tx, kind, suspicion["subject"])
    if known is not None:
        why = gone(tx, call, known)
        if not why:
            if kind in kinds.COLLECTING:
                known = {
                    **known, "text": finding["text"], "remedy": finding["remedy"], "facts": finding["facts"],
                    "resources": finding.get("resources", [])[:MAX_COMMITS],
                }  # fmt: skip
            _repeat(tx, known, suspicion["commits"])
            return False
        clear(tx, call, known, why)
    return bool(raise_alert(tx, call, suspicion, finding))


def gone(tx: Transaction, call: Call, alert: Alert[Facts]) -> str:
    """Why the cause of an alert is gone; "" while it stands."""
    kind = kinds.TABLE[alert["kind"]]
    why = kind.gone(tx, call, alert)
    if why:
        return why
    if alert["acknowledged"] and not kind.is_observed(alert):
        return "it was acknowledged a day ago" if tx.now - alert["acknowledged"]["at"] >= SETTLED_MS else ""
    if not alert["acknowledged"] and tx.now - alert["last"] >= call.policy.work["alerts"]["keep"]:
        return "nobody acknowledged it, and it is old"
    return ""


def recheck(tx: Transaction, call: Call, kind: str, subject: str) -> None:
    """Clear an alert whose cause this very transaction took away: what is read next no longer has it."""
    alert = get_alert(tx, kind, subject)
    why = "" if alert is None else gone(tx, call, alert)
    if alert is not None and why:
        clear(tx, call, alert, why)


def note_restored(tx: Transaction, call: Call, ledger: str) -> None:
    """One more content of a removed working tree was restored; with the last one its alert ends."""
    alert = get_alert(tx, REMOVED, ledger)
    if alert is not None and is_removal(alert) and "left" in alert["facts"]:  # an earlier version did not count
        alert["facts"]["left"] -= 1
        put_alert(tx, alert)
        recheck(tx, call, REMOVED, ledger)


# --- raised


def _repeat(tx: Transaction, known: Alert[Facts], commits: list[Evidence]) -> None:
    """The same cause again, while its alert is open or acknowledged."""
    known["repeats"] += 1
    known["last"] = tx.now
    known["commits"] = [*known["commits"][:1], *[*known["commits"][1:], *commits][1 - MAX_COMMITS :]]
    put_alert(tx, known)


def raise_alert(tx: Transaction, call: Call, suspicion: Suspicion[Facts], finding: Finding[Facts]) -> str:
    """Raise an alert: its record, its event, its messages. Returns its id, "" where there is no room for it."""
    counts = get_counts(tx)
    if counts["open"] >= views.MAX_OPEN and not _make_room(tx, call, counts, finding["severity"]):
        put_counts(tx, {**counts, "dropped": counts["dropped"] + 1})
        return ""
    alert = _new(tx, call, suspicion, finding)
    data = {
        "what": alert["kind"], "severity": alert["severity"], "about": alert["subject"],
        "resources": alert["resources"], "expected": alert["expected"], "actual": alert["actual"],
    }  # fmt: skip
    # Not the commits: whether this one's number is known before it is done differs between engines, and events do not.
    data = {name: value for name, value in data.items() if value is not None}
    tx.append("alert.raised", alert["agent"], alert["alert"], data)
    _tell(tx, call, alert, finding.get("tell", ()), suspicion["told"])
    put_alert(tx, alert)
    put_counts(tx, {**counts, "open": counts["open"] + 1, "dropped": 0})
    return alert["alert"]


def _new(tx: Transaction, call: Call, suspicion: Suspicion[Facts], finding: Finding[Facts]) -> Alert[Facts]:
    """The record of a new alert, not written yet."""
    identifier, severity, text = f"a{tx.id()}", finding["severity"], finding["text"]
    facts = finding["facts"]
    reporter = suspicion["facts"].get("reporter", "")
    if reporter:  # known by a far caller's word alone, which is named
        text = f"{names.name_of(tx, reporter)} reports: {text}"
        facts["reporter"] = reporter
    settings = call.policy.work["alerts"]
    is_sent = (settings["command"] or settings["webhook"]) and RANK[severity] >= RANK[settings["min_severity"]]
    return {
        "alert": identifier, "kind": suspicion["suspicion"], "severity": severity, "subject": suspicion["subject"],
        "agent": suspicion["agent"], "text": text, "remedy": finding["remedy"],
        "resources": finding.get("resources", [])[:MAX_COMMITS], "expected": finding.get("expected"),
        "actual": finding.get("actual"), "since": suspicion["since"], "raised": tx.now, "last": tx.now, "repeats": 0,
        "commits": [*suspicion["commits"][: MAX_COMMITS - 1], [COMMIT, identifier]], "facts": facts, "state": OPEN,
        "acknowledged": None, "cleared": None, "told": [],
        "delivery": {"state": PENDING, "next": tx.now, "tries": 0, "lease": "", "why": ""} if is_sent else None,
    }  # fmt: skip


def _make_room(tx: Transaction, call: Call, counts: Counts, severity: str) -> bool:
    """Clear an acknowledged alert, or one with a lower severity, in favour of a new one."""
    for alert in reversed(views.live(tx)):
        if alert["state"] == ACKNOWLEDGED or RANK[alert["severity"]] < RANK[severity]:
            _end(tx, call, alert, "made room for another one", counts)
            return True
    return False


def _tell(tx: Transaction, call: Call, alert: Alert[Facts], agents: Sequence[str], told: list[str]) -> None:
    """One message to each agent concerned, and to the coordinators; not to those that know it already."""
    concerned = list(dict.fromkeys([agent for agent in agents if agent]))
    concerned += [agent for agent in coordinators(tx, call, alert["agent"]) if agent not in concerned]
    concerned = [agent for agent in concerned if agent not in told][:MAX_TOLD]
    known: Json = alert["facts"]
    facts = {name: known[name] for name in ("dead", "pid") if name in known}
    voice = alert["facts"].get("reporter") or DIBS_SENDER
    for agent in concerned:
        todo, own = f"`{alert['remedy']}`", views.own_remedy(alert, agent)
        if own:
            todo = f"`{own}` as soon as you can (for others: {todo})"
        whose = (
            "To do by its holder or a person" if alert["kind"] == "violation" and not _is_person(tx, agent) else "To do"
        )
        text = f"{alert['text']} {whose}: {todo}; `dibs alerts` has alert {alert['alert']}."
        mailbox.post(tx, agent, voice, alert["kind"], text, alert=alert["alert"], resources=alert["resources"], **facts)
    alert["told"] = sorted({*concerned, *told})[:MAX_TOLD]


def _is_person(tx: Transaction, agent: str) -> bool:
    record = get_agent(tx, agent)
    return record is not None and record.get("kind") == "person"


# --- acknowledged, cleared, dropped


def acknowledge(tx: Transaction, alert: Alert[Facts], agent: str, why: str) -> None:
    """Somebody has taken note."""
    alert["state"], alert["acknowledged"] = ACKNOWLEDGED, {"by": agent, "at": tx.now, "why": why}
    tx.append("alert.acknowledged", agent, alert["alert"], {"what": alert["kind"], "why": why})
    put_alert(tx, alert)


def clear(tx: Transaction, call: Call, alert: Alert[Facts], why: str) -> None:
    """The cause is gone."""
    counts = get_counts(tx)
    _end(tx, call, alert, why, counts)
    put_counts(tx, counts)


def _end(tx: Transaction, call: Call, alert: Alert[Facts], why: str, counts: Counts) -> None:
    keep: int = call.policy.work["alerts"]["keep"]
    delete_alert(tx, alert)
    alert["state"], alert["cleared"], alert["until"] = CLEARED, {"at": tx.now, "why": why}, tx.now + keep
    tx.append("alert.cleared", alert["agent"], alert["alert"], {"what": alert["kind"], "why": why})
    put_alert(tx, alert)
    counts["open"], counts["cleared"] = max(0, counts["open"] - 1), counts["cleared"] + 1
    if counts["cleared"] > MAX_CLEARED:
        delete_oldest_cleared(tx)
        counts["cleared"] -= 1


def forget(tx: Transaction, key: str) -> None:
    """A cleared alert was kept for long enough."""
    tx.delete(key)
    counts = get_counts(tx)
    put_counts(tx, {**counts, "cleared": max(0, counts["cleared"] - 1)})
