"""Answers about the log and its upkeep as text for people."""

from __future__ import annotations

from dibs.audit import check
from dibs.errors import counted, named, quoted
from dibs.interfaces.cli import terminal
from dibs.interfaces.cli.render import continued, times
from dibs.interfaces.cli.render.claims import STYLES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.audit.answers import ExplainAnswer, StepView
    from dibs.interfaces.cli.render import Items, Lines
    from dibs.operations.alerts.answers import AlertAckAnswer, AlertsAnswer, AlertView, CycleStep
    from dibs.operations.upkeep.answers import PruneAnswer, SealAnswer, SweepAnswer


SWEPT = {"answers": "expired request id"}  # what a word of the answer means to people, in the singular


def _sweep(result: SweepAnswer) -> Items:
    done = ", ".join(
        counted(count, SWEPT.get(name, name[:-1])) if name.endswith("s") else f"{count} {name}"
        for name, count in result["swept"].items()
        if isinstance(count, int) and count
    )
    return [f"swept: {done or 'nothing was due'}" + ("; there is more" if result["more"] else "")]


def _seal(result: SealAnswer) -> Items:
    return [f"sealed the log through event {result['seq']}, with {counted(result['claims'], 'live claim')}"]


def _prune(result: PruneAnswer) -> Items:
    where = f"{counted(len(result['archives']), 'archive')} in .dibs/local/archive/"
    return [f"moved the events through {result['through']} to {where}"]


def _alerts(result: AlertsAnswer) -> Items:
    lines: Lines = []
    grouped = {identifier for group in result["groups"] for identifier in group["ids"]}
    for group in result["groups"]:
        if group["count"] > 1:
            head = f"{group['label']} x{group['count']}; dismiss all: {group['dismiss']}"
            lines.append(terminal.Line(head, STYLES[group["severity"]]))
        lines += [line for alert in result["alerts"] if alert["id"] in group["ids"] for line in _alert(alert)]
    lines += [line for alert in result["alerts"] if alert["id"] not in grouped for line in _alert(alert)]
    if not lines:
        lines.append("no alerts")
    if result["not_kept"]:
        lines.append(f"and {result['not_kept']} more, for which there was no room: acknowledge some")
    lines += [terminal.Line(text, "yellow") for text in check.undelivered(result["deliveries"])]
    return [*lines, *continued(result)]


def _alert(alert: AlertView) -> Lines:
    """One alert: what it is, then what shows it and what to do."""
    style = "dim" if alert["state"] != "open" else STYLES[alert["severity"]]
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
        more.append(f"to do: `{alert['remedy']}`")
    ways = _ways(alert["cycle"]) if alert.get("cycle") and alert["state"] != "cleared" else []
    return [terminal.Line(head, style), f"    {'; '.join(part for part in more if part)}", *ways]


def _ways(cycle: list[CycleStep]) -> list[str]:
    """How to resolve a deadlock: any one of its claims that is given up."""
    lines = ["    how to resolve it, by any one of these:"]
    for step in cycle:
        name = quoted(step["resource"])
        lines.append(
            f"    - {named(step)} wants {step['resource']}, held by {named(step, 'holder')}: "
            f"`dibs ask {name} 'please release it: deadlock'`, or `dibs release {name} --force --why deadlock`"
        )
    return lines


def _ack(result: AlertAckAnswer) -> Items:
    return [f"acknowledged {alert['id']}: {alert['text']}" for alert in result["alerts"]] or ["no alert is open"]


def _explain(result: ExplainAnswer) -> Items:
    what = result["what"]
    lines: Lines = [terminal.Line(f"{what['kind']} {what['name']}", "bold")]
    if result["others"]:
        others = " or ".join(f"`dibs explain {quoted(word)}`" for word in result["others"])
        lines.append(f"(taken for the {what['kind']}; for the other: {others})")
    if result["unread"]:
        lines.append(f"({counted(result['unread'], 'earlier event')} in archives: `--archives` reads them, too)")
    for gap in result["missing"]:
        lines.append(f"(events {gap['first']} to {gap['last']} could not be read: {gap['why']})")
    if result["earlier"]:
        lines.append("(earlier steps: `--after 0` starts at the first)")
    rows = [f"{times.ago(step['at'])} ago" for step, _ in _once(result["steps"])]
    width = max(map(len, rows), default=3)
    for age, (step, times_said) in zip(rows, _once(result["steps"]), strict=True):
        number = f"  #{step['seq']}" if step["seq"] else ""
        repeated = f" ({times_said} times)" if times_said > 1 else ""
        text = f"{age:>{width}}  {terminal.clean(step['sentence'])}{repeated}{number}"
        lines.append(terminal.Line(f"{text}  ← this event", "bold") if step.get("asked") else text)
    if not rows:
        lines.append("the log says nothing about it")
    lines += [terminal.Line(f"{'now':>{width}}  {terminal.clean(text)}", "green") for text in result["now"]]
    return [*lines, *([f"(more: `--after {result['cursor']}`)"] if result["more"] else [])]


def _once(steps: list[StepView]) -> list[tuple[StepView, int]]:
    """The steps; those that follow each other and say the same are one, the last, with how many there were."""
    found: list[tuple[StepView, int]] = []
    for step in steps:
        before, said = found[-1] if found else (None, 0)
        if before is not None and before["sentence"] == step["sentence"] and not before.get("asked"):
            found[-1] = step, said + 1
        else:
            found.append((step, 1))
    return found


RENDERERS = {
    "alerts": _alerts,
    "alerts ack": _ack,
    "explain": _explain,
    "sweep": _sweep,
    "seal": _seal,
    "prune": _prune,
}
