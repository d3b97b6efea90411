"""Answers about the log and its upkeep as text for people."""

from __future__ import annotations

from dibs.doors.cli import terminal
from dibs.doors.cli.render import continued, times
from dibs.errors import counted, named
from dibs.reports import audit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dibs.doors.cli.render import Items, Lines


def _sweep(result: dict[str, Any]) -> Items:
    done = ", ".join(f"{count} {name}" for name, count in result["swept"].items() if count)
    return [f"swept: {done or 'nothing was due'}" + ("; there is more" if result["more"] else "")]


def _seal(result: dict[str, Any]) -> Items:
    return [f"sealed the log through event {result['seq']}, with {counted(result['claims'], 'live claim')}"]


def _prune(result: dict[str, Any]) -> Items:
    where = f"{counted(len(result['archives']), 'archive')} in .dibs/local/archive/"
    return [f"moved the events through {result['through']} to {where}"]


def _alerts(result: dict[str, Any]) -> Items:
    lines: Lines = []
    for alert in result["alerts"]:
        lines += _alert(alert)
    if not lines:
        lines.append("no alerts")
    if result["not_kept"]:
        lines.append(f"and {result['not_kept']} more, for which there was no room: acknowledge some")
    lines += [terminal.Line(text, "yellow") for text in audit.undelivered(result["deliveries"])]
    return [*lines, *continued(result)]


def _alert(alert: dict[str, Any]) -> Lines:
    """One alert: what it is, then what shows it and what to do."""
    style = "dim" if alert["state"] != "open" else "red" if alert["severity"] == "error" else "yellow"
    head = f"{alert['id']}  {alert['severity']}  {alert['kind']}  {times.ago(alert['since'])}  {alert['text']}"
    shown = ", ".join(f"#{seq}" for seq in alert.get("evidence", ()))
    more = [f"events {shown}" if shown else ""]
    more.append(f"{counted(alert['repeats'], 'repeat')}" if alert["repeats"] else "")
    if alert["state"] == "cleared":
        more.append(f"cleared {times.ago(alert['cleared']['at'])} ago: {alert['cleared']['why']}")
    elif alert["state"] == "acknowledged":
        note = alert["acknowledged"]
        more.append(f"acknowledged by {named(note)}{': ' + note['why'] if note['why'] else ''}")
    if alert["state"] != "cleared":
        more.append(f"to do: {alert['remedy']}")
    return [terminal.Line(head, style), f"    {'; '.join(one for one in more if one)}"]


def _ack(result: dict[str, Any]) -> Items:
    return [f"acknowledged {alert['id']}: {alert['text']}" for alert in result["alerts"]] or ["no alert is open"]


RENDERERS = {"alerts": _alerts, "alerts ack": _ack, "sweep": _sweep, "seal": _seal, "prune": _prune}
