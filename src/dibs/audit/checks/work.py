"""What `dibs check` looks at last: the gates of active runs, and a home-made registry's files next to the queue."""

from __future__ import annotations

from dibs.audit.checks.coordination import listed
from dibs.audit.checks.findings import ABSENT, HIGH, LOW, MEDIUM, Evidence, Finding, Line, few, slug
from dibs.errors import counted, quoted
from dibs.operations.oversight.run_gates import GATES

STALE = ".agent/tools/check_stale.sh"  # brings the files and the record together

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.agent_folder.comparison import Compared
    from dibs.audit.answers import FindingSeverity


def runs(look: Evidence) -> Line:
    """Every active run passes the gates of its execution."""
    found = []
    seen = look.session.run(GATES, look.call, {})
    for run in seen["runs"]:
        for gate in run["failed"]:
            text = f"run {run['run']} fails the gate “{gate['name']}”: {gate['why']}"
            code = slug(f"{run['run']}-{gate['name']}")
            found.append(Finding(text, MEDIUM, code=code, remedy=f"dibs run gates --run {quoted(run['run'])}"))
    figures = {"active": len(seen["runs"]) + seen["more"]}
    if not seen["runs"]:
        return Line(ABSENT, "Runs: none is active", figures=figures)
    named = few(f"{run['run']} ({run['phase']}, {run['progress']} %)" for run in seen["runs"])
    more = f"; {seen['more']} more were not looked at" if seen["more"] else ""
    return listed(found, f"Runs: {counted(len(seen['runs']), 'run')} active, all gates passed: {named}{more}", figures)


def registry(look: Evidence) -> Line:
    """The files of an `.agent` folder say what the queue says."""
    from dibs.agent_folder import comparison

    side = comparison.compared(look.session)
    if side is None:
        return Line(ABSENT, "Registry: no .agent/registry in this working tree")
    figures = {"files": side.tasks}
    if not side.taken_over:
        tasks = counted(side.tasks, "task")
        text = f".agent/registry has {tasks} and scripts of its own: dibs and they do not know each other"
        missing = Finding(text, MEDIUM, code="not-taken-over", remedy="dibs import --dry-run, then dibs import")
        return listed([missing], "Registry", figures)
    said = f"Registry: {counted(side.tasks, 'file')} of .agent/registry, the same as in the queue"
    return listed(_differences(side), said, figures)


def _differences(side: Compared) -> list[Finding]:
    from dibs.agent_folder import comparison

    severe: dict[str, tuple[FindingSeverity, str]] = {
        comparison.APART: (HIGH, f"{STALE}; dibs send {{}} 'stop, and look who has the task'"),
        comparison.ALONE: (HIGH, STALE),
        comparison.UNCLEAR: (MEDIUM, "remove the file that is not true"),
        comparison.UNKNOWN: (LOW, "dibs import"),
        comparison.BEHIND: (LOW, STALE),
    }
    found = []
    for one in side.differences:
        severity, remedy = severe[one.kind]
        code = slug(f"{one.kind}-{one.task}")
        found.append(Finding(one.text, severity, code=code, remedy=remedy.format(quoted(one.agent)), agent=one.agent))
    return found
