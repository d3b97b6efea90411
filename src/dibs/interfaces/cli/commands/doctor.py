"""`dibs doctor`: looks at a workspace from top to bottom and says what is wrong and what to do; recovers a store.

The checks on the workspace and its store are the query `doctor` (audit/doctor.py); those on the guards, which need the
clients of this machine, are in `interfaces/cli/doctor/guards.py`. Nothing is changed without `--fix`, which mends what
can be mended safely (`interfaces/cli/doctor/mends.py`), or `--recover`, and even then nothing of the record is deleted.
"""

from __future__ import annotations

import os
import sys

from dibs import jsontext
from dibs.client import catalogue
from dibs.client.session import Session
from dibs.errors import NO, YES, Invalid, Unavailable
from dibs.interfaces.cli.command import Command
from dibs.interfaces.cli.commands.verify import ReportDoor
from dibs.interfaces.cli.dispatch import answer
from dibs.operations.core.declare import Field
from dibs.stores import opening
from dibs.stores.engines import database_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.audit.answers import CheckView
    from dibs.interfaces.cli.doctor.mends import MendResult
    from dibs.interfaces.cli.parse import Words

STYLES = {"ok": "green", "WARN": "yellow", "FAIL": "bold red", "note": "dim"}
FIELDS = (
    Field(
        "recover",
        "flag",
        "start a new database, above the tokens of one that is damaged (it is set aside) or missing",
        default=False,
    ),
    Field("yes", "flag", "with --recover: do not ask", default=False),
    Field("fix", "flag", "mend what can be mended safely, say what was done, then check", default=False),
    Field("dry_run", "flag", "with --fix: only say what would be mended", default=False),
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
    checks = _examined(session, words)
    for check in checks if not words.json else ():
        _say(check)
    checks += _guards(session, aloud=not words.json)
    failed = [check["check"] for check in checks if not check["ok"] and check["severity"] == "error"]
    from dibs.interfaces.cli.doctor import todo as ending

    todo = ending.todo(checks)
    if words.json:
        found = {"checks": checks, "failed": failed, "guarded": ending.guarded(checks), "todo": todo}
        answer("doctor", found if mended is None else {"mended": mended, **found}, as_json=True, ok=not failed)
    else:
        sys.stdout.write(ending.ending(checks, failed, todo))
    return NO if failed else YES


def _examined(session: Session, words: Words) -> list[CheckView]:
    """The declared part: the workspace and its store."""
    call = session.identify(words.common.get("as"))
    checks: list[CheckView] = session.answer(catalogue.operation("doctor"), call, {})["checks"]
    return checks


def _fix(session: Session, words: Words) -> list[MendResult]:
    """Mend; what was, or would be, mended."""
    from dibs.interfaces.cli.doctor import mends

    dry = bool(words.fields.get("dry_run"))
    results = []
    for result in mends.mend(session, session.identify(words.common.get("as")), dry=dry):
        results.append(result)
        if not words.json:
            word = "would mend" if dry else "mended" if result["ok"] else "NOT mended"
            sys.stdout.write(f"{word}  {result['what']}: {result['message']}\n")
            sys.stdout.flush()
    if not results and not words.json:
        sys.stdout.write("nothing to mend\n")
    return results


def _say(check: CheckView) -> None:
    from dibs.interfaces.cli import terminal

    word = "ok" if check["ok"] else {"error": "FAIL", "warning": "WARN"}[check["severity"]]
    word = "note" if check["severity"] == "advice" else word
    mark = terminal.styled(f"{word:<4}", STYLES[word], sys.stdout)
    sys.stdout.write(f"{mark}  {check['check']}: {terminal.clean(check['message'])}\n")
    sys.stdout.flush()


def _guards(session: Session, *, aloud: bool) -> list[CheckView]:
    """The checks on hooks and clients. What only a person can mend in their client is a warning and fails nothing."""
    from dibs.interfaces.cli.doctor import guards

    checks = []
    for check in guards.examine(session):
        checks.append(check)
        if aloud:
            _say(check)
    return checks


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
    "Check the workspace and its store, and prove that the guards refuse; --fix mends, --recover after damage.",
    run=run,
    fields=FIELDS,
    examples=(
        ("dibs doctor", "every check, then what is left for you to do"),
        ("dibs doctor --fix", "mend what can be mended safely: hooks, launcher, leftovers, the database's empty pages"),
        ("dibs doctor --recover", "set a damaged database aside and start a new one"),
    ),
)
