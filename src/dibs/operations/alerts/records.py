"""Alerts: what needs attention, once raised and until settled. The records, and what is done to them.

An alert has a kind, a subject and a state. The two together are its key: while an alert is open or acknowledged, the
same cause again raises no second one, it is counted (`repeats`).
- open: raised, with its event; the agents concerned and the coordinators get one message from dibs.
- acknowledged: an agent or a person has taken note (`dibs alerts ack ID`). Its cause may go on.
- cleared: its cause is gone, and the record says why. A cleared alert is kept for `[alerts] keep`, then dropped.

Severities: `warning` (a person should look), `error` (work is blocked, lost or wrong).

Evidence: an operation does not know the number of an event that it writes. An alert names commits, each with the
subject of the event meant: a claim's token, a waiter's ticket, the commit that caused it (the store fills that in). A
reader finds the event numbers from these (client/evidence.py).

Bounds: MAX_OPEN alerts are open or acknowledged at a time. A further one takes the place of an acknowledged one or of
one with a lower severity; where there is none, it is only counted. MAX_CLEARED cleared ones are kept.

Delivery to the command or webhook of the config is a part of the record: delivery.py.
"""

from __future__ import annotations

from dibs.errors import quoted
from dibs.operations.agents import names
from dibs.operations.agents.records import AGENT_KEYS, agent_key
from dibs.operations.claims import records as claim_records
from dibs.operations.core import paging
from dibs.operations.core.call import DIBS_SENDER, due, iso, within
from dibs.operations.messages import mailbox
from dibs.operations.runs import run_records
from dibs.stores.seam import COMMIT, prefix_range

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from dibs.operations.core.call import Call, Record
    from dibs.stores.seam import Transaction

WARNING, ERROR = "warning", "error"
RANK = {WARNING: 0, ERROR: 1}
OPEN, ACKNOWLEDGED, CLEARED = "open", "acknowledged", "cleared"
LIVE, DONE = "al\t", "ac\t"  # the keys of alerts that are not cleared, and of cleared ones
COUNTS_KEY = "an"
MAX_OPEN = 200  # more than a person reads; one look reads them all
MAX_CLEARED = 1_000
MAX_COMMITS = 8  # of the evidence: the first one and the latest
MAX_TOLD = 20  # agents that one alert is told to
PERSON_IS_THERE_MS = 86_400_000  # a person that was not seen for a day does not read its inbox
ROLE_RANGE = ("nrole:", "nrole;")  # the claims of leaders (`dibs lead`)
ORCHESTRATOR, PERSON = "orchestrator", "person"
PENDING, DELIVERED, FAILED = "pending", "delivered", "failed"  # of a delivery


def key_of(kind: str, subject: str) -> str:
    """The key of an alert that is not cleared."""
    return f"{LIVE}{kind}\t{subject}"


def live(tx: Transaction) -> list[Record]:
    """Every alert that is open or acknowledged, the gravest first, then the oldest."""
    found: list[Record] = [alert for _, alert in tx.fetch([prefix_range(LIVE)], MAX_OPEN).rows]
    found.sort(key=lambda alert: (-RANK[alert["severity"]], alert["state"] != OPEN, alert["raised"], alert["alert"]))
    return found


def put(tx: Transaction, alert: Record) -> None:
    """Write an alert; one that waits to be delivered has its place in the queue of deliveries."""
    waits = alert["delivery"] is not None and alert["delivery"]["state"] == PENDING
    entry = f"alertout\t{alert['delivery']['next']:015d}\t{alert['alert']}" if waits else None
    if alert["state"] == CLEARED:
        key = f"{DONE}{alert['cleared']['at']:015d}\t{alert['alert']}"
        tx.put(key, alert, i1=entry, i2=due(alert["until"]))
    else:
        tx.put(key_of(alert["kind"], alert["subject"]), alert, i1=entry)


def _counts(tx: Transaction) -> Record:
    found: Record | None = tx.get(COUNTS_KEY)
    return {"open": 0, "cleared": 0, "dropped": 0} if found is None else found


def dropped(tx: Transaction) -> int:
    """How many alerts were not kept, because too many were open, since one last had a place."""
    return int(_counts(tx)["dropped"])


# --- raised


def repeat(tx: Transaction, known: Record, commits: list[Any]) -> None:
    """The same cause again, while its alert is open or acknowledged."""
    known["repeats"] += 1
    known["last"] = tx.now
    known["commits"] = [*known["commits"][:1], *[*known["commits"][1:], *commits][1 - MAX_COMMITS :]]
    put(tx, known)


def raise_(
    tx: Transaction,
    call: Call,
    suspicion: Record,
    *,
    severity: str,
    text: str,
    remedy: str,
    tell: Sequence[str] = (),
    resources: list[str] | None = None,
    expected: int | None = None,
    actual: int | None = None,
    **facts: Any,
) -> str:
    """Raise an alert: its record, its event, its messages. Returns its id, "" where there is no room for it."""
    counts = _counts(tx)
    if counts["open"] >= MAX_OPEN and not _make_room(tx, call, counts, severity):
        counts["dropped"] += 1
        tx.put(COUNTS_KEY, counts)
        return ""
    identifier = f"a{tx.id()}"
    reporter = suspicion["facts"].get("reporter", "")
    if reporter:  # known by a far caller's word alone, which is named
        text, facts = f"{names.name_of(tx, reporter)} reports: {text}", {**facts, "reporter": reporter}
    commits = [*suspicion["commits"][: MAX_COMMITS - 1], [COMMIT, identifier]]
    settings = call.policy.work["alerts"]
    wanted = (settings["command"] or settings["webhook"]) and RANK[severity] >= RANK[settings["min_severity"]]
    alert: Record = {
        "alert": identifier, "kind": suspicion["suspicion"], "severity": severity, "subject": suspicion["subject"],
        "agent": suspicion["agent"], "text": text, "remedy": remedy, "resources": (resources or [])[:MAX_COMMITS],
        "expected": expected, "actual": actual, "since": suspicion["since"], "raised": tx.now, "last": tx.now,
        "repeats": 0, "commits": commits, "facts": facts, "state": OPEN, "acknowledged": None, "cleared": None,
        "told": [], "delivery": {"state": PENDING, "next": tx.now, "tries": 0, "lease": "", "why": ""} if wanted
        else None,
    }  # fmt: skip
    data = {
        "what": alert["kind"], "severity": severity, "about": alert["subject"],
        "resources": alert["resources"], "expected": expected, "actual": actual,
    }  # fmt: skip
    # Not the commits: whether this one's number is known before it is done differs between engines, and events do not.
    tx.append("alert.raised", alert["agent"], identifier, {key: one for key, one in data.items() if one is not None})
    _tell(tx, call, alert, tell, suspicion["told"])
    put(tx, alert)
    tx.put(COUNTS_KEY, {**counts, "open": counts["open"] + 1, "dropped": 0})
    return identifier


def _make_room(tx: Transaction, call: Call, counts: Record, severity: str) -> bool:
    """Clear an acknowledged alert, or one with a lower severity, in favour of a new one."""
    for alert in reversed(live(tx)):
        if alert["state"] == ACKNOWLEDGED or RANK[alert["severity"]] < RANK[severity]:
            _end(tx, call, alert, "made room for another one", counts)
            return True
    return False


def _tell(tx: Transaction, call: Call, alert: Record, tell: Sequence[str], told: list[str]) -> None:
    """One message to each agent concerned, and to the coordinators; not to those that know it already."""
    concerned = list(dict.fromkeys([one for one in tell if one]))
    concerned += [one for one in coordinators(tx, call, alert["agent"]) if one not in concerned]
    concerned = [one for one in concerned if one not in told][:MAX_TOLD]
    facts = {key: alert["facts"][key] for key in ("dead", "pid") if key in alert["facts"]}
    voice = alert["facts"].get("reporter") or DIBS_SENDER
    for one in concerned:
        todo, own = f"`{alert['remedy']}`", _own_remedy(alert, one)
        if own:
            todo = f"`{own}` as soon as you can (for others: {todo})"
        text = f"{alert['text']} To do: {todo}; `dibs alerts` has alert {alert['alert']}."
        mailbox.post(tx, one, voice, alert["kind"], text, alert=alert["alert"], resources=alert["resources"], **facts)
    alert["told"] = sorted({*concerned, *told})[:MAX_TOLD]


def _own_remedy(alert: Record, agent: str) -> str:
    """What the holder itself can do about an alert: to ask the holder is for others. "" for an agent that is none."""
    kind, facts, names = alert["kind"], alert["facts"], alert["resources"]
    if kind == "deadlock":
        names = [step["resource"] for step in facts["cycle"] if step["holder"] == agent]
    elif agent not in ([alert["agent"]] if kind == "hold" else facts["holders"] if kind == "wait" else ()):
        return ""
    return f"dibs release {' '.join(map(quoted, dict.fromkeys(names)))}" if names else ""


def coordinators(tx: Transaction, call: Call, agent: str, *, persons: bool = True) -> list[str]:
    """Who has to know what becomes of an agent: its run's coordinator, leaders, orchestrators, persons at work here.

    Of no agent (the store, a push): the coordinators of all runs.
    """
    active = [record for _, _, record in tx.scan(1, f"runs\t{run_records.ACTIVE}\t", run_records.MAX_RUNS_LISTED).rows]
    keys = [f"ua\t{run['run']}\t{agent}" for run in active] if agent else []
    joined = tx.get_many(keys)
    found = {run["coordinator"] for run in active if not agent or joined[f"ua\t{run['run']}\t{agent}"] is not None}
    found |= {
        record["agent"] for record in claim_records.within_ranges(tx, [ROLE_RANGE]) if claim_records.is_claim(record)
    }
    assigned = [pattern for pattern, role in call.policy.guards["roles"]["assign"] if role == ORCHESTRATOR]
    known = tx.get_many([agent_key(pattern) for pattern in assigned])
    found |= {record["agent"] for record in known.values() if record is not None}
    for _, record in paging.every(tx, AGENT_KEYS) if persons else ():
        if record.get("kind") == PERSON and not record["left"] and tx.now - record["seen"] <= PERSON_IS_THERE_MS:
            found.add(record["agent"])
    return sorted(one for one in found if not within(one, agent))


# --- acknowledged, cleared, dropped


def acknowledge(tx: Transaction, alert: Record, agent: str, why: str) -> None:
    """Somebody has taken note."""
    alert["state"], alert["acknowledged"] = ACKNOWLEDGED, {"by": agent, "at": tx.now, "why": why}
    tx.append("alert.acknowledged", agent, alert["alert"], {"what": alert["kind"], "why": why})
    put(tx, alert)


def clear(tx: Transaction, call: Call, alert: Record, why: str) -> None:
    """The cause is gone."""
    counts = _counts(tx)
    _end(tx, call, alert, why, counts)
    tx.put(COUNTS_KEY, counts)


def _end(tx: Transaction, call: Call, alert: Record, why: str, counts: Record) -> None:
    keep: int = call.policy.work["alerts"]["keep"]
    tx.delete(key_of(alert["kind"], alert["subject"]))
    alert["state"], alert["cleared"], alert["until"] = CLEARED, {"at": tx.now, "why": why}, tx.now + keep
    tx.append("alert.cleared", alert["agent"], alert["alert"], {"what": alert["kind"], "why": why})
    put(tx, alert)
    counts["open"], counts["cleared"] = max(0, counts["open"] - 1), counts["cleared"] + 1
    if counts["cleared"] > MAX_CLEARED:
        for key, _ in tx.fetch([prefix_range(DONE)], 1).rows:
            tx.delete(key)
        counts["cleared"] -= 1


def forget(tx: Transaction, key: str) -> None:
    """A cleared alert was kept for long enough."""
    tx.delete(key)
    counts = _counts(tx)
    tx.put(COUNTS_KEY, {**counts, "cleared": max(0, counts["cleared"] - 1)})


# --- shown


def delivery_of(alert: Record) -> dict[str, Any]:
    """What became of an alert's delivery, as people see it."""
    return {name: alert["delivery"][name] for name in ("state", "tries", "why")}


def shown(tx: Transaction, alert: Record) -> dict[str, Any]:
    """An alert, as people and programs see it."""
    found: dict[str, Any] = {
        "id": alert["alert"],
        "kind": alert["kind"],
        "severity": alert["severity"],
        "state": alert["state"],
        "subject": alert["subject"],
        "agent": alert["agent"],
        "text": alert["text"],
        "remedy": alert["remedy"],
        "resources": alert["resources"],
        "since": iso(tx, alert["since"]),
        "raised_at": iso(tx, alert["raised"]),
        "repeats": alert["repeats"],
        "commits": [{"commit": commit, "subject": subject} for commit, subject in alert["commits"]],
    }
    for name in ("expected", "actual"):
        if alert[name] is not None:
            found[name] = alert[name] / 1000
    if alert["actual"] is not None and alert["state"] != CLEARED:
        found["actual"] = (tx.now - alert["since"]) / 1000  # it lasts
    found.update({name: alert["facts"][name] for name in ("cycle", "pid") if alert["facts"].get(name)})
    if alert["acknowledged"]:
        taken = alert["acknowledged"]
        found["acknowledged"] = {"agent": taken["by"], "at": iso(tx, taken["at"]), "why": taken["why"]}
    if alert["cleared"]:
        found["cleared"] = {"at": iso(tx, alert["cleared"]["at"]), "why": alert["cleared"]["why"]}
    if alert["delivery"]:
        found["delivery"] = delivery_of(alert)
    return found


def short(tx: Transaction, alert: Record) -> dict[str, Any]:
    """An alert in one line, as `status` and a briefing show it."""
    kept = ("kind", "severity", "state", "subject", "agent", "text", "remedy")
    return {"id": alert["alert"], **{name: alert[name] for name in kept}, "since": iso(tx, alert["since"])}


def concerning(tx: Transaction, agent: str, limit: int) -> list[dict[str, Any]]:
    """The alerts that an agent should know of when it boots."""
    mine = [alert for alert in live(tx) if alert["state"] == OPEN and _concerns(alert, agent)]
    return [{**short(tx, one), "remedy": _own_remedy(one, agent) or one["remedy"]} for one in mine[:limit]]


def _concerns(alert: Record, agent: str) -> bool:
    return alert["agent"] == agent or agent in alert["told"]


def name_of(tx: Transaction, agent: str) -> str:
    """An agent as a text names it."""
    return names.name_of(tx, agent) if agent else "an unknown agent"
