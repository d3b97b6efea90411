"""`dibs doctor`: is everything all right? What is wrong, the worst first, and the command that fixes it.

The checks on the workspace, its store and its log are the query `doctor` (audit/doctor.py); those on the guards, which
need the clients of this machine, are in `interfaces/cli/doctor/guards.py`; the audit and the alerts are those of
`dibs check` and `dibs alerts`. `interfaces/cli/doctor/sections.py` puts them in order. Nothing is changed without
`--fix`, which fixes what can be fixed safely (`interfaces/cli/doctor/mends.py`), or `--recover`, and even then nothing
of the record is deleted.
"""

from __future__ import annotations

import os
import sys

from dibs import jsontext
from dibs.client import catalogue
from dibs.client.session import Session
from dibs.errors import NO, YES, DibsError, Invalid, Unavailable
from dibs.interfaces.cli.command import Command
from dibs.interfaces.cli.commands.verify import ReportDoor
from dibs.interfaces.cli.dispatch import answer
from dibs.operations.core.declare import Field
from dibs.stores import opening
from dibs.stores.engines import database_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.audit.answers import AuditCheckView, CheckView, DoctorAnswer
    from dibs.interfaces.cli.doctor.mends import MendResult
    from dibs.interfaces.cli.parse import Words
    from dibs.operations.alerts.answers import AlertView
    from dibs.operations.core.call import Call

STORE = frozenset({"workspace", "database", "pages", "server"})  # checks without which no record can be read
FIELDS = (
    Field(
        "recover",
        "flag",
        "start a new database, above the tokens of one that is damaged (it is set aside) or missing",
        default=False,
    ),
    Field("yes", "flag", "with --recover: do not ask", default=False),
    Field("fix", "flag", "fix what can be fixed safely, say what was done, then check", default=False),
    Field("all", "flag", "also what passed, what does not apply, and acknowledged alerts", default=False),
    Field("dry_run", "flag", "with --fix: only say what would be fixed", default=False),
)


def run(words: Words) -> int:
    """Exit 0 if all is well, 1 with what is wrong if not."""
    given = words.common.get("workspace") or os.environ.get("DIBS_WORKSPACE")
    door = ReportDoor(quiet=words.json)
    session = Session(os.getcwd(), given, timeout=3.0, short_lived=True, missing="leave", door=door)
    if words.fields.get("recover"):
        return _recover(session, words)
    if words.fields.get("dry_run") and not words.fields.get("fix"):
        raise Invalid("doctor: --dry-run is for --fix", field="dry_run")
    mended = _fix(session, words) if words.fields.get("fix") else None
    if mended is not None and words.fields.get("dry_run"):
        if words.json:
            answer("doctor", {"mended": mended}, as_json=True, ok=True)
        return YES
    found = _diagnosis(session, words)
    if words.json:
        answer("doctor", found if mended is None else {"mended": mended, **found}, as_json=True, ok=not found["failed"])
    else:
        from dibs.interfaces.cli.doctor import picture

        picture.show(found, every=bool(words.fields.get("all")))
    return NO if found["failed"] else YES


def _diagnosis(session: Session, words: Words) -> DoctorAnswer:
    """Everything that is looked at, as sections."""
    from dibs.interfaces.cli.doctor import guards, picture, sections, todo

    say = picture.Progress(quiet=words.json)
    say("the workspace and its store")
    checks = _examined(session, words)
    readable = not any(check["check"] in STORE and not check["ok"] for check in checks)
    for check in guards.examine(session):
        say(check["check"])
        checks.append(check)
    audit: list[AuditCheckView] | None = [] if readable else None
    alerts: list[AlertView] = []
    if readable:
        say("the audit")
        try:
            audit, alerts = _audited(session, session.identify(words.common.get("as")))
        except DibsError as error:
            message = f"the audit could not look: {error.message}"
            checks.append({"check": "audit", "ok": False, "message": message, "severity": "warning"})
    say("")
    made = sections.sections(checks, audit, alerts)
    failed = [check["check"] for check in checks if not check["ok"] and check["severity"] == "error"]
    failed += [
        finding["check"] for section in made if section["section"] in {"audit", "alerts"}
        for finding in section["findings"] if finding["severity"] == "error"
    ]  # fmt: skip
    return {
        "checks": checks, "failed": failed, "sections": made, "guarded": todo.guarded(checks),
        "todo": todo.todo(checks),
    }  # fmt: skip


def _audited(session: Session, call: Call) -> tuple[list[AuditCheckView], list[AlertView]]:
    """The audit and the alerts, without what `doctor` looks at itself; a server elsewhere looks at its own."""
    if not session.is_far:
        from dibs.audit import check

        return check.for_doctor(session, call)
    audit = session.answer(catalogue.operation("check"), call, {"check": "", "since": 0})["checks"]
    alerts = session.answer(catalogue.operation("alerts"), call, {})["alerts"]
    return [line for line in audit if line["check"] != "guards"], alerts


def _examined(session: Session, words: Words) -> list[CheckView]:
    """The declared part: the workspace and its store."""
    call = session.identify(words.common.get("as"))
    checks: list[CheckView] = session.answer(catalogue.operation("doctor"), call, {})["checks"]
    return checks


def _fix(session: Session, words: Words) -> list[MendResult]:
    """Fix; what was, or would be, fixed."""
    from dibs.interfaces.cli.doctor import mends

    dry = bool(words.fields.get("dry_run"))
    results = []
    for result in mends.mend(session, session.identify(words.common.get("as")), dry=dry):
        results.append(result)
        if not words.json:
            word = "would fix" if dry else "fixed" if result["ok"] else "NOT fixed"
            sys.stdout.write(f"{word}  {result['what']}: {result['message']}\n")
            sys.stdout.flush()
    if not results and not words.json:
        sys.stdout.write("nothing to fix\n")
    return results


# --- recovery


def _recover(session: Session, words: Words) -> int:
    """A new database in place of a damaged one. Asks first; the old one is kept."""
    place = session.place
    url = opening.read_pin(place.local).url or opening.configured_url(session.config.store)
    database = database_of(url)
    if database is None:
        message = (
            "--recover is for an SQLite file. A Redis server that lost commits starts a new epoch by itself; if a part "
            "of the workspace is missing there, restore the server's data."
        )
        raise Invalid(message)
    path = database.path_of(place.local, url)
    checks = [check for check in _examined(session, words) if check["check"] in {"database", "pages", "record"}]
    session.close()
    if all(check["ok"] for check in checks):
        raise Invalid(f"{path} is sound; there is nothing to recover", path=path)
    if not words.fields.get("yes"):
        _ask(path, checks)
    start, aside, agents = database.replace(opening.Opening(place.local, url, shared=place.shared), "a\t")
    fresh = Session(session.cwd, place.root, short_lived=True)
    from dibs.operations.upkeep.recovery import RECOVERED

    call = fresh.identify(words.common.get("as"))
    fresh.run(RECOVERED, call, {"agents": agents, "aside": os.path.basename(aside)})
    was = f"the damaged database is in {aside}; the" if aside else "the old database was gone; a"
    message = f"{was} new one starts above token {start}. All claims are void: agents boot again."
    if words.json:
        sys.stdout.write(jsontext.encode({"ok": True, "aside": aside, "commit": start}) + "\n")
    else:
        sys.stdout.write(message + "\n")
    return YES


def _ask(path: str, checks: list[CheckView]) -> None:
    wrong = "; ".join(check["message"] for check in checks if not check["ok"])
    if not os.isatty(0):
        raise Unavailable(f"{wrong}. Recovery voids all claims; say --yes to do it.", path=path)
    sys.stderr.write(f"{wrong}\nSet {path} aside and start a new one? All claims are void then. [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in {"y", "yes"}:
        raise Unavailable("nothing was changed.", path=path)


COMMAND = Command(
    "doctor",
    "Is everything all right? Set-up, guards (tried), audit, log, alerts: each finding with the command that fixes it.",
    run=run,
    fields=FIELDS,
    examples=(
        ("dibs doctor", "what is wrong, the worst first; exit code 1 if something is broken"),
        ("dibs doctor --all", "also what passed"),
        ("dibs doctor --fix", "fix what can be fixed safely: hooks, launcher, leftovers, the database's empty pages"),
        ("dibs doctor --recover", "set a damaged database aside and start a new one"),
    ),
    notes=(
        (
            "FAIL is what is broken: an error of the set-up, a guard or the log, a HIGH finding of the audit, an alert "
            "of a loss. WARN waits for you, note is advice. Exit code 0: nothing is broken; 1: something is. Of a long "
            "log only the end is checked; `dibs verify` checks all of it."
        ),
    ),
)
