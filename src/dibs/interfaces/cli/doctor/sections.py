"""The sections of `dibs doctor`: set-up, guards, audit, log, alerts; the worst first, each finding with one command.

Nothing is looked at here: checks (audit/doctor.py, guards.py), lines of the audit and alerts are put in order. An error
is something broken, or work that was or will be lost; a warning waits for a person; advice may be left. Findings with
the same remedy are one.
"""

from __future__ import annotations

from dibs.audit.checks.findings import GRAVE, HIGH, MEDIUM
from dibs.errors import counted
from dibs.interfaces.cli.doctor.todo import order_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from dibs.audit.answers import (  # fmt: skip
        AuditCheckView,
        CheckSeverity,
        CheckView,
        DoctorFindingView,
        DoctorSection,
        DoctorSectionView,
    )
    from dibs.operations.alerts.answers import AlertView

RANK: dict[str, int] = {"error": 0, "warning": 1, "advice": 2, "ok": 3}
GUARDS = frozenset({"guard", "trust", "permissions"})  # second words of checks: `claude guard`
RECORD = "record"  # the check of the log
STORE = "store"  # alerts of this kind: what is wrong with it now, the set-up says
INTERNAL = frozenset({"gate", "pages", "space"})  # of no interest while they are well; `--json` has them
# What ends the command in a remedy that says more.
ENDS = (", then ", ", or ", "; ", ", in this folder", " makes ", " has the reasons")
FILLED = ("…", " T", " CMD", " AGENT", " NAME", " K")  # what a person has to fill in: no line to copy


def sections(
    checks: list[CheckView], audit: list[AuditCheckView] | None, alerts: list[AlertView]
) -> list[DoctorSectionView]:
    """All five, the worst first; equal ones in the order of the title. `audit` is None where no record can be read."""
    made: dict[DoctorSection, DoctorSectionView] = {
        name: {"section": name, "status": "ok", "findings": [], "passed": [], "absent": []}
        for name in ("set-up", "guards", "audit", "log", "alerts")
    }
    commit = next((check["command"] for check in checks if check["check"] == "committed" and "command" in check), "")
    for check in checks:
        if audit is not None or check["check"] != RECORD:
            _add_check(made[_section_of(check)], check, commit)
    for line in audit or ():
        _add_line(made["log" if line["check"] == "log" else "audit"], line)
    _add_alerts(made["alerts"], alerts)
    for name in ("audit", "log", "alerts") if audit is None else ():
        made[name]["absent"].append("not looked at: the store cannot be read")
    for section in made.values():
        section["findings"] = _merged(section["findings"])
        section["status"] = section["findings"][0]["severity"] if section["findings"] else "ok"
    return sorted(made.values(), key=lambda section: RANK[section["status"]])


def _section_of(check: CheckView) -> DoctorSection:
    name = check["check"]
    if name == RECORD:
        return "log"
    if name == "audit":
        return "audit"
    if name in {"git hooks", "guards", "clients"} or name.partition(" ")[2] in GUARDS or check["severity"] == "advice":
        return "guards"
    return "set-up"


def _finding(check: str, severity: CheckSeverity, message: str, command: str = "", todo: str = "") -> DoctorFindingView:
    return {
        "check": check, "severity": severity, "message": message, "also": [], "command": command, "todo": todo,
    }  # fmt: skip


def _add_check(section: DoctorSectionView, check: CheckView, commit: str) -> None:
    if check["ok"]:
        if check["check"] not in INTERNAL:  # advice is what cannot be seen from here
            known = section["absent" if check["severity"] == "advice" else "passed"]
            known.append(f"{check['check']}: {check['message']}")
        return
    command = check.get("command", "") or _quoted_command(check["message"])
    if commit and command.startswith("git -C "):
        command = f"{commit} && {command}"  # there is nothing to merge before
    section["findings"].append(
        _finding(check["check"], check["severity"], check["message"], command, _todo(check, command))
    )


def _todo(check: CheckView, command: str) -> str:
    order = "" if command or check["severity"] == "advice" else order_of(check)
    return "" if check["message"] in order else order


def _add_line(section: DoctorSectionView, line: AuditCheckView) -> None:
    """One check of the audit, with each finding that a person has not settled."""
    title = f"check {line['number']} {line['check']}"
    if line["status"] == "n/a":
        section["absent"].append(line["message"])
        return
    if line["status"] == "ok":
        section["passed"].append(line["message"])
        return
    more = f"dibs check --check {line['check']} --verbose"
    if line["status"] == "unknown":
        section["findings"].append(_finding(title, "warning", line["message"], more))
        return
    for finding in line["findings"]:
        if "settled" in finding:
            continue
        severity: CheckSeverity = "error" if finding["severity"] == HIGH else "warning"
        if line["status"] == "warn" or finding["severity"] not in {HIGH, MEDIUM}:
            severity = "advice"
        section["findings"].append(
            _finding(title, severity, finding["text"], copyable(finding["remedy"]) or more, finding["remedy"])
        )
    if not line["findings"]:
        section["findings"].append(_finding(title, "advice", line["message"], copyable(line["remedy"]) or more))


def _add_alerts(section: DoctorSectionView, alerts: list[AlertView]) -> None:
    """Open alerts, those of one kind together; what a person acknowledged has passed."""
    kinds: dict[tuple[str, str], list[AlertView]] = {}
    for alert in alerts:
        if "acknowledged" in alert:
            section["passed"].append(f"acknowledged: {alert['text']}")
            continue
        kinds.setdefault((alert["kind"], alert["severity"]), []).append(alert)
    for (kind, how), several in kinds.items():
        severity: CheckSeverity = "error" if how == "error" and kind in GRAVE - {STORE} else "warning"
        first, more = several[0], len(several) - 1
        message = first["text"].rstrip(".") + (f"; and {counted(more, 'more alert')} of this kind" if more else "")
        remedy = copyable(first["remedy"]) if not more else ""
        command = remedy if remedy not in {"", "dibs doctor"} else f"dibs alerts --kind {kind}"
        section["findings"].append(_finding(kind, severity, message, command, first["remedy"] if not more else ""))


def _merged(findings: Iterable[DoctorFindingView]) -> list[DoctorFindingView]:
    """The worst first; those with the same remedy are one."""
    found: dict[tuple[str, str], DoctorFindingView] = {}
    for finding in sorted(findings, key=lambda one: RANK[one["severity"]]):
        remedy = finding["command"] or finding["todo"]
        known = found.setdefault((finding["severity"], remedy or finding["message"]), finding)
        if known is not finding and finding["check"] not in {known["check"], *known["also"]}:
            known["also"].append(finding["check"])
    return list(found.values())


def copyable(remedy: str) -> str:
    """The command at the beginning of a remedy, if it can be run as it stands; "" if not."""
    for end in ENDS:
        remedy = remedy.partition(end)[0]
    words = f"{remedy} "
    if not remedy.startswith(("dibs ", "git ")) or any(f"{blank} " in words for blank in FILLED):
        return ""
    return remedy


def _quoted_command(message: str) -> str:
    """The first command between backticks that can be run as it stands."""
    for word in message.split("`")[1::2]:
        if word.startswith("dibs ") and copyable(word) == word:
            return word
    return ""
