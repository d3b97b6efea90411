"""Answers about guards and the audit as text for people."""

from __future__ import annotations

from dibs.errors import counted, quoted
from dibs.interfaces.cli import terminal
from dibs.machine import relative_times

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dibs.audit.answers import AuditCheckView, AuditFindingView, CheckAnswer
    from dibs.interfaces.cli.render import Items, Lines
    from dibs.operations.oversight.answers import CheckSettleAnswer

MARKS = {"ok": ("✓", "green"), "fail": ("✗ FAIL:", "red"), "warn": ("! note:", "yellow"), "n/a": ("-", "dim"),
         "unknown": ("? UNKNOWN:", "yellow")}  # fmt: skip
RULE = "─" * 45
MAX_ORDERS_SHOWN = 3  # remedies below one check
COLORS = {"none": "green", "low": "yellow", "medium": "yellow", "high": "bold red"}


def check_within(audit: CheckAnswer, columns: int, rows: int, *, verbose: bool = False) -> Items:
    """The audit on a screen of this size: without what passed if that does not fit; the result is always there."""

    def high(lines: list[Any]) -> int:
        return sum(max(1, -(-len(line) // columns)) for line in lines)

    lines = check(audit, verbose=verbose)
    if high(lines) <= rows:
        return lines
    quiet = [view for view in audit["checks"] if view["status"] in {"ok", "n/a"}]
    loud: CheckAnswer = {**audit, "checks": [view for view in audit["checks"] if view not in quiet]}
    lines = check(loud, verbose=verbose, only=False)
    lines[2:2] = [terminal.Line(f"     {len(quiet)} checks passed or do not apply", "dim")]
    body, end = lines[:-3], lines[-3:]  # an empty line, the result, the severity
    if high(lines) > rows:
        while body and high([*body, *end]) >= rows:
            body.pop()
        body.append(f"     … {counted(len(lines) - len(end) - len(body), 'more line')}")
    return [*body, *end]


def check(audit: CheckAnswer, *, verbose: bool = False, only: bool = True) -> Lines:
    """The audit: heading, one line a check, then what to do and how bad it is. `only`: one check has its own title."""
    single = audit["checks"][0] if only and len(audit["checks"]) == 1 else None
    head = f"CHECK {single['number']} — {single['title']}" if single else "CHECK — Multi-Agent Coordination"
    lines: Lines = [terminal.Line(f"  {head} of {audit['workspace']}", "bold"), f"  {RULE}"]
    for view in audit["checks"]:
        lines += _check(view, verbose=verbose)
    severity, risk = audit["severity"], audit["risk"]
    lines += ["", f"  Result: {audit['result']}"]
    said = f"{severity.upper()} — {risk}" if risk else severity
    lines.append(terminal.Line(f"  Severity: {said}", COLORS[severity]))
    return lines


def _check(view: AuditCheckView, *, verbose: bool) -> Lines:
    mark, style = MARKS[view["status"]]
    lines: Lines = [terminal.Line(f"  {view['number']:>2} {mark} {view['message']}", style if style != "green" else "")]
    if not verbose:
        open_ = [each["remedy"] for each in view["findings"] if "settled" not in each][:MAX_ORDERS_SHOWN]
        orders = dict.fromkeys(open_) if open_ else [view["remedy"]]
        if not view["ok"]:
            lines += [terminal.Line(f"       → {order}", "dim") for order in orders if order]
        return lines
    for finding in view["findings"]:
        lines += _finding(finding)
    if view["remedy"] and not view["findings"]:
        lines.append(terminal.Line(f"       → {view['remedy']}", "dim"))
    if view["figures"]:
        said = ", ".join(f"{name} {_figure(value)}" for name, value in view["figures"].items())
        lines.append(terminal.Line(f"       {said}", "dim"))
    return lines


def _finding(finding: AuditFindingView) -> Lines:
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


def _figure(value: object) -> str:
    return ", ".join(map(str, value)) or "none" if isinstance(value, list) else str(value)


def _settle(result: CheckSettleAnswer) -> Items:
    what = f"event {result['settled']}" if result["settled"].isdigit() else result["settled"]
    if result["undone"]:
        return [f"{what} counts again"]
    return [
        f"settled {what}: {result['why']}. `dibs check --settle {quoted(result['settled'])} --undo` takes that back."
    ]


RENDERERS = {"check": check, "check settle": _settle}
