"""`check`, the audit of a workspace: the ten points of coordination first, then what else must hold.

`doctor` (doctor.py) asks whether dibs works here; `check` asks whether the agents work as the workspace wants them to.
It looks for trouble first, as `dibs alerts` does; then it reads one snapshot of the store and the log once (of archives
only what stays wrong until it is fixed), and each check (checks/) makes one line of that. Nothing is changed.
checks/findings.py has the rule for fail, warn and n/a.
"""

from __future__ import annotations

import os

from dibs.audit.checks import coordination, health, work
from dibs.audit.checks.findings import (  # fmt: skip
    FAIL,
    FEW,
    LOW,
    MAX_FINDINGS,
    NONE,
    OK,
    RANK,
    UNKNOWN,
    WARN,
    Evidence,
    Finding,
    Line,
    at,
)
from dibs.errors import DibsError, Invalid, counted
from dibs.machine import clock, durations
from dibs.operations.core.declare import Field, near
from dibs.operations.core.query import Query

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Literal

    from dibs.audit.answers import AuditCheckView, AuditFindingView, CheckAnswer, FindingSeverity
    from dibs.audit.requests import CheckRequest
    from dibs.client.session import Session
    from dibs.operations.alerts.answers import AlertView, Deliveries
    from dibs.operations.core.call import Call
    from dibs.operations.oversight.snapshot import Snapshot
    from dibs.verify.answers import VerifyAnswer

    Found = tuple[bool, str]

SHOWN = 5
RECENT_EVENTS = 50_000  # of the log that `doctor` checks: about a second
WINDOW = "7d"  # how far back metrics count; what is wrong counts until it is fixed

CORRUPTION = "data corruption risk under concurrent load"
LOSS = "data loss under concurrent load"
SMALL = "time is lost, or a proof is missing"


class Check:
    """One check: its number and name, what it is called, how it is fixed, and what it risks by severity."""

    __slots__ = ("also", "fix", "look", "name", "number", "risk", "title")

    def __init__(
        self,
        number: int,
        name: str,
        title: str,
        look: Callable[[Evidence], Line],
        fix: str,
        risk: str,
        *,
        also: str = "",
    ) -> None:
        self.number, self.name, self.title, self.look, self.fix, self.risk = number, name, title, look, fix, risk
        self.also = also  # a name it had before


CHECKS = (
    Check(1, "resources", "Shared resources", coordination.resources, "find the unknown writers", CORRUPTION),
    Check(2, "orchestrator", "Orchestrator", coordination.orchestrator, "name a coordinator",
          "work without coordination"),
    Check(3, "deadlines", "Deadlines", coordination.deadlines, "end the overdue claims",
          "agents blocked by one that does not finish"),
    Check(4, "ordering", "Order and deadlocks", coordination.ordering, "resolve deadlocks and long waits",
          "agents that wait for each other", also="waiting"),
    Check(5, "events", "Event channels", coordination.events, "subscribe to what is emitted",
          "agents act on old state"),
    Check(6, "alerting", "Alerting", coordination.alerting, "add alerting", "trouble that nobody notices",
          also="alerts"),
    Check(7, "tested", "Test with many agents", coordination.tested, "test with ten agents", "untested under load"),
    Check(8, "idempotency", "Idempotent writes", coordination.idempotency, "add idempotency keys", CORRUPTION),
    Check(9, "contention", "Contention", coordination.contention, "split the bottleneck", "time lost to waiting"),
    Check(10, "kill-switch", "Kill switch", coordination.kill_switch, "repair the kill switch",
          "a rogue agent cannot be stopped"),
    Check(11, "guards", "Guards", health.guards, "repair the guards", LOSS),
    Check(12, "rules", "Rules", health.rules, "tell the agents the rules", "agents that act on other rules"),
    Check(13, "agents", "Agents", health.agents, "clean up after agents that exited", "work left unfinished",
          also="holders"),
    Check(14, "violations", "Violations", health.violations, "settle the violations", LOSS),
    Check(15, "bypasses", "Bypasses", health.bypasses, "review what bypassed the guards", LOSS, also="commits"),
    Check(16, "deploys", "Deploys", health.deploys, "verify the deploys", "what runs is not what was checked"),
    Check(17, "files", "Memory files", health.files, "write the memory files", "agents without memory"),
    Check(18, "store", "Store and persistence", health.store, "repair the store", "answered commits can be lost"),
    Check(19, "tasks", "Quarantine and breakers", health.tasks, "fix the failing tasks", "work that is not done"),
    Check(20, "log", "Log", health.log, "investigate the log", "a record that cannot be trusted",
          also="record"),
    Check(21, "runs", "Active runs", work.runs, "review the active runs", "a run that does not end well", also="gates"),
    Check(22, "registry", "Registry files", work.registry, "reconcile the registry with the queue",
          "files that contradict the queue"),
)  # fmt: skip

MILD = frozenset({"tested", "contention", "files", "events", "rules", "alerting"})  # what they risk is low as it is
# Of several checks with one severity, the first of these says what is at risk.
GRAVITY = (
    "log", "violations", "bypasses", "guards", "store", "deploys", "kill-switch", "resources", "idempotency",
    "registry", "ordering", "deadlines", "agents", "tasks", "runs", "alerting", "orchestrator", "rules", "events",
    "tested", "contention", "files",
)  # fmt: skip


def _risk(check: Check, severity: str) -> str:
    """What is at risk, by the severity that was found: a low one is no loss, whatever the check could find."""
    return SMALL if severity == LOW and check.name not in MILD else check.risk


def _check(session: Session, call: Call, request: CheckRequest) -> CheckAnswer:
    """Run every check, or one; a later one runs also when an earlier one failed."""
    chosen = [named(request["check"])] if request["check"] else list(CHECKS)
    look = gathered(session, call, request["since"])
    lines = [(one, _looked(one, look)) for one in chosen]
    shown = [_shown(look, one, line) for one, line in lines]
    failed = [one for one, view in zip(chosen, shown, strict=True) if view["status"] == FAIL]
    order = sorted(failed, key=lambda one: (-RANK[shown[chosen.index(one)]["severity"]], GRAVITY.index(one.name)))
    severity = shown[chosen.index(order[0])]["severity"] if order else NONE
    names = [one.name for one in failed]
    return {
        "workspace": os.path.basename(session.place.root),
        "checks": shown,
        "failed": names,
        "wrong": names,
        "unknown": [view["check"] for view in shown if view["status"] == UNKNOWN],
        "severity": severity,
        "risk": _risk(order[0], severity) if order else "",
        "result": _result(order, shown),
    }


def named(word: str) -> Check:
    """The check of a number or a name."""
    text = word.strip().lower().replace("_", "-")
    for one in CHECKS:
        if text in {str(one.number), one.name, one.also} and text:
            return one
    known = ", ".join(f"{one.number} {one.name}" for one in CHECKS)
    meant = near(text, [one.name for one in CHECKS])
    raise Invalid(f"there is no check {word[:100]!r}{meant or f'; there are {known}'}", field="check")


def gathered(session: Session, call: Call, since: int = 0) -> Evidence:
    """The evidence: trouble is looked for, then one snapshot, then one pass through the log."""
    from dibs.audit import log_walk
    from dibs.audit.checks.history import LASTING, History
    from dibs.audit.fold import Fold
    from dibs.client import evidence
    from dibs.client.log_reader import LogReader
    from dibs.client.upkeep import rounds
    from dibs.operations.oversight.snapshot import READ

    looker = rounds.last(session.place.local)  # before this call looks itself
    rounds.step(session, rounds.CALL, call.agent or call.fallback, every=0, deliver=False)
    call.facts.clear()
    facts: Snapshot = session.run(READ, call, {})
    evidence.number_all(session, facts["alerts"])
    history = History(clock.store_wall() - (since or durations.parse(WINDOW, "since")))
    for event in log_walk.archived(LogReader(session, call), LASTING):
        history.recall(event)
    fold = Fold(history.map, history)
    fold.read_all(log_walk.events(session, fold.kinds, facts["events"]))
    look = Evidence(session, call, facts, history)
    look.looker = looker
    return look


def _looked(check: Check, look: Evidence) -> Line:
    try:
        return check.look(look)
    except DibsError as error:
        return Line(UNKNOWN, f"{check.title}: could not look: {error.message}", remedy="dibs doctor")


def _shown(look: Evidence, check: Check, line: Line) -> AuditCheckView:
    """One check for people and programs: findings that are settled do not count."""
    settled = look.facts["settled"]
    views: list[AuditFindingView] = []
    counting: list[Finding] = []
    for finding in sorted(line.findings, key=lambda one: (one.advice, -RANK[one.severity])):
        names = [*map(str, finding.events), f"{check.name}:{finding.code}"]
        accepted = next((settled[name] for name in names if name in settled), None)
        view: AuditFindingView = {
            "id": names[0], "text": finding.text, "severity": finding.severity, "events": finding.events,
            "remedy": finding.remedy,
        }  # fmt: skip
        if finding.agent:
            view.update({"agent": finding.agent, "name": look.name(finding.agent)})
        if accepted is not None:
            view["settled"] = accepted
        else:
            counting.append(finding)
        if len(views) < MAX_FINDINGS:
            views.append(view)
    status, message, remedy = line.status, line.message, line.remedy
    severity: Literal["none"] | FindingSeverity = NONE
    if counting:
        wrong = [one for one in counting if not one.advice]
        status, remedy = FAIL if wrong else WARN, remedy or counting[0].remedy
        severity = wrong[0].severity if wrong else NONE
        said = "; ".join(f"{one.text}{at(one.events[:FEW])}" for one in counting[:FEW])
        more = len(counting) - FEW
        message = said + (f"; and {more} more" if more > 0 else "")
    elif line.findings:
        status = OK
        message = (
            f"{message.partition(':')[0]}: {counted(len(line.findings), 'finding')} settled{at(_settled_at(views))}"
        )
    return {
        "number": check.number, "check": check.name, "title": check.title, "ok": status not in {FAIL, UNKNOWN},
        "status": status, "severity": severity, "message": message, "remedy": remedy, "figures": dict(line.figures),
        "findings": views,
    }  # fmt: skip


def _settled_at(views: list[AuditFindingView]) -> list[int]:
    return [int(view["id"]) for view in views if view["id"].isdigit()]


def _result(failed: list[Check], shown: list[AuditCheckView]) -> str:
    """What to do, in one line."""
    count = {status: sum(1 for view in shown if view["status"] == status) for status in ("ok", "warn", "n/a", UNKNOWN)}
    if not failed:
        said = [f"{count['ok']} passed"]
        said += [f"{count['warn']} to know"] if count["warn"] else []
        said += [f"{count['n/a']} not applicable"] if count["n/a"] else []
        said += [f"{count[UNKNOWN]} could not look"] if count[UNKNOWN] else []
        return f"no issues: {', '.join(said)}"
    fixes = list(dict.fromkeys(one.fix for one in failed))
    last = fixes[:FEW].pop() if len(fixes) <= FEW else f"{len(fixes) - FEW} more"
    first = fixes[: min(len(fixes) - 1, FEW)] if len(fixes) <= FEW else fixes[:FEW]
    joined = f"{', '.join(first)} and {last}" if first else last
    return f"{counted(len(failed), 'issue')} — {joined}"


# --- what other reports share

ELSEWHERE = frozenset({"guards", "log"})  # checks that `doctor` makes itself


def for_doctor(session: Session, call: Call) -> tuple[list[AuditCheckView], list[AlertView]]:
    """The checks that `doctor` does not make itself, without what is an alert; and the alerts that are not cleared."""
    look = gathered(session, call)
    alerts = [alert for alert in look.facts["alerts"] if "cleared" not in alert]
    shown = {event for alert in alerts for event in alert.get("evidence", ())}
    views = []
    for one in CHECKS:
        if one.name in ELSEWHERE:
            continue
        line = _looked(one, look)
        line.findings = [
            each for each in line.findings if not (each.code.startswith("alert-") or shown.intersection(each.events))
        ]
        if line.status == FAIL and not line.findings:
            line.status = OK
        views.append(_shown(look, one, line))
    return views, alerts


def record_of(session: Session) -> Found:
    """Is the end of the log whole, with nothing in it that cannot have happened? `dibs verify` reads all of it."""
    from dibs.audit import expected_archives
    from dibs.operations.core.call import Call
    from dibs.verify.checker import verify_recent

    report = verify_recent(session.store, RECENT_EVENTS, session.door.show_progress)
    for one, why in expected_archives.lost(session, Call(session.config.policy)):
        if not one.is_settled:
            how = f"put it back, or `dibs check --settle log:archive-{one.last} --why T`"
            report.add(one.first, "archive", f"{one.path}: {why}; {how}")
    part = ""
    if report.first > 1:
        part = f"; the {report.first - 1} events before were not looked at, which `dibs verify` checks"
    return report.ok, "; ".join(record_lines(report.as_json())[:SHOWN]) + part


def record_lines(answer: VerifyAnswer) -> list[str]:
    """What `verify` found, for people."""
    said = [f"event {finding['seq']}: {finding['code']}: {finding['message']}" for finding in answer["findings"]]
    head = f"head {answer['last']}:{answer['link']}"
    if not answer["found"]:
        granted = counted(answer["granted"], "claim")
        what = f"{counted(answer['events'], 'event')}, {granted} granted, {answer['live']} live"
        if answer.get("archives"):
            what += f", {counted(answer['archives'], 'archive')} read"
        if answer.get("settled"):
            what += f", {counted(answer['settled'], 'archive')} lost and settled"
        if answer.get("elsewhere"):
            what += f", {counted(answer['elsewhere'], 'archive')} on other machines not read"
        return [f"clean: {what}, highest token {answer['token']}, {head}"]
    return [*said, f"NOT clean: {counted(answer['found'], 'finding')}, {head}"]


def undelivered(found: Deliveries) -> list[str]:
    """Which alerts are not delivered, in words."""
    lines = []
    if found["failed"]:
        words = "could not be delivered: `dibs alerts --json` has the reasons"
        lines.append(f"{counted(found['failed'], 'alert')} {words}")
    if found["pending"]:
        lines.append(f"{counted(found['pending'], 'alert')} to be delivered: a worker, a waiter or `dibs sweep` does")
    return lines


CHECK = Query(
    "check",
    _check,
    "Audit the workspace in 22 checks: ten points of coordination, guards, rules, violations, deploys, the log.",
    fields=(
        Field("check", "text", "only this one, by its number or its name", default="", metavar="N|NAME"),
        Field("since", "duration", f"how far back metrics such as contention count (default {WINDOW})", default=0,
              metavar="D"),
    ),
    answer="CheckAnswer",
    group="guards",
    refuses="failed",
)  # fmt: skip

QUERIES = (CHECK,)
