"""Answers about guards and the audit as text for people."""

from __future__ import annotations

from dibs.doors.cli import terminal
from dibs.facts import relative_times

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dibs.doors.cli.render import Items, Lines

MARKS = {"ok": ("✓", "green"), "fail": ("✗ FAIL:", "red"), "warn": ("! note:", "yellow"), "n/a": ("-", "dim"),
         "unknown": ("? UNKNOWN:", "yellow")}  # fmt: skip
RULE = "─" * 45
FEW = 3  # orders below one line
COLORS = {"none": "green", "low": "yellow", "medium": "yellow", "high": "bold red"}


def check(found: dict[str, Any], *, verbose: bool = False) -> Items:
    """The audit: heading, one line a check, then what to do and how bad it is."""
    only = found["checks"][0] if len(found["checks"]) == 1 else None
    head = f"CHECK {only['number']} — {only['title']}" if only else "CHECK — Multi-Agent Coordination"
    lines: Lines = [terminal.Line(f"  {head} of {found['workspace']}", "bold"), f"  {RULE}"]
    for one in found["checks"]:
        lines += _one(one, verbose=verbose)
    severity, risk = found["severity"], found["risk"]
    lines += ["", f"  Result: {found['result']}"]
    said = f"{severity.upper()} — {risk}" if risk else severity
    lines.append(terminal.Line(f"  Severity: {said}", COLORS[severity]))
    return lines


def _one(one: dict[str, Any], *, verbose: bool) -> Lines:
    mark, style = MARKS[one["status"]]
    lines: Lines = [terminal.Line(f"  {one['number']:>2} {mark} {one['message']}", style if style != "green" else "")]
    if not verbose:
        open_ = [each["remedy"] for each in one["findings"] if "settled" not in each][:FEW]
        orders = dict.fromkeys(open_) if open_ else [one["remedy"]]
        if not one["ok"]:
            lines += [terminal.Line(f"       → {order}", "dim") for order in orders if order]
        return lines
    for finding in one["findings"]:
        lines += _finding(finding)
    if one["remedy"] and not one["findings"]:
        lines.append(terminal.Line(f"       → {one['remedy']}", "dim"))
    if one["figures"]:
        said = ", ".join(f"{name} {_figure(value)}" for name, value in one["figures"].items())
        lines.append(terminal.Line(f"       {said}", "dim"))
    return lines


def _finding(finding: dict[str, Any]) -> Lines:
    events = ", ".join(map(str, finding["events"]))
    about = f"event{'s' if ',' in events else ''} {events}" if events else finding["id"]
    if "settled" in finding:
        taken = finding["settled"]
        who = f"{taken.get('name') or taken['agent']}, {relative_times.ago(taken['at'])} ago: {taken['why']}"
        text = f"       settled: {finding['text']} ({about}) by {who}"
        return [
            terminal.Line(text, "dim"),
            terminal.Line(f"         dibs check --settle {finding['id']} --undo", "dim"),
        ]
    lines: Lines = [f"       {finding['severity'].upper()} {finding['text']} ({about})"]
    if finding["remedy"]:
        lines.append(terminal.Line(f"         → {finding['remedy']}", "dim"))
    lines.append(terminal.Line(f"         or accept it: dibs check --settle {finding['id']} --why T", "dim"))
    return lines


def _figure(value: Any) -> str:
    return ", ".join(map(str, value)) or "none" if isinstance(value, list) else str(value)


def _settle(result: dict[str, Any]) -> Items:
    what = f"event {result['settled']}" if result["settled"].isdigit() else result["settled"]
    if result["undone"]:
        return [f"{what} counts again"]
    return [f"settled {what}: {result['why']}. `dibs check --settle {result['settled']} --undo` takes that back."]


RENDERERS = {"check": check, "check settle": _settle}
