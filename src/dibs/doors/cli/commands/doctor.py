"""`dibs doctor`: looks at a workspace from top to bottom and says what is wrong and what to do; recovers a store.

Each check passes or fails with a reason and a severity: an error is the workspace's, a warning concerns what a client
or a person has yet to do. The checks on the guards are in `doctor_guards.py`. Nothing is changed without `--recover`,
and even then nothing is deleted.
"""

from __future__ import annotations

import os
import sys

from dibs import jsontext
from dibs.doors.cli.command import Command
from dibs.errors import NO, YES, DibsError, Invalid, Unavailable
from dibs.facts import filesystems
from dibs.operations.core.declare import Field
from dibs.session.session import Session
from dibs.storage import store_checks, workspace_store
from dibs.storage.workspace_store import read_pin

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from dibs.doors.cli.parse import Words

FIELDS = (
    Field(
        "recover",
        "flag",
        "start a new database, above the tokens of one that is damaged (it is set aside) or missing",
        default=False,
    ),
    Field("yes", "flag", "with --recover: do not ask", default=False),
)
PROBE_BYTES = 256 * 1024  # more than a commit, its copy in the write-ahead log and a page of each index take


def run(words: Words) -> int:
    """Exit 0 if all is well, 1 with what is wrong if not."""
    given = words.common.get("workspace") or os.environ.get("DIBS_WORKSPACE")
    session = Session(os.getcwd(), given, timeout=3.0, short_lived=True, missing="leave")
    if words.fields.get("recover"):
        return _recover(session, words)
    told = None if words.json else _say
    checks = examine(session, told)
    checks += _guards(session, told)
    failed = [check["check"] for check in checks if not check["ok"] and check["severity"] == "error"]
    from dibs.doors.cli.doctor import todo as ending

    guarded, todo = ending.guarded(checks), ending.todo(checks)
    if words.json:
        answer = {"ok": not failed, "checks": checks, "failed": failed, "guarded": guarded, "todo": todo}
        sys.stdout.write(jsontext.encode(answer) + "\n")
    else:
        sys.stdout.write(ending.ending(checks, failed, todo))
    return NO if failed else YES


def _say(check: dict[str, Any]) -> None:
    word = "ok" if check["ok"] else {"error": "WRONG", "warning": "CARE"}[check["severity"]]
    sys.stdout.write(f"{'note' if check['severity'] == 'advice' else word:<5}  {check['check']}: {check['message']}\n")
    sys.stdout.flush()


def examine(session: Session, told: Callable[[dict[str, Any]], None] | None = None) -> list[dict[str, Any]]:
    """Run every check; a later one runs also when an earlier one failed."""
    found = []

    def note(name: str, ok: bool, message: str, severity: str) -> None:
        check = {"check": name, "ok": ok, "message": message, "severity": severity}
        found.append(check)
        if told is not None:
            told(check)

    for name, look in PLACE:
        note(*_looked(session, name, look), "error")
    for name, ok, message, severity in store_checks.examine(session):
        note(name, ok, message, severity)
    fallback = read_pin(session.place.local).fallback
    if fallback:
        note("fallback", False, _stands_in(fallback), "warning")
    if found[-1]["check"] != "server":  # one that does not answer has no record to look at
        note(*_looked(session, "record", _record), "error")
    return found


def _looked(session: Session, name: str, look: Callable[[Session], tuple[bool, str]]) -> tuple[str, bool, str]:
    try:
        ok, message = look(session)
    except DibsError as error:
        ok, message = False, error.message
    return name, ok, message


def _stands_in(url: str) -> str:
    from dibs.stores.urls import hidden

    return f"SQLite stands in for {hidden(url)}, which did not start; `dibs up` comes back to it when it runs"


def _guards(session: Session, told: Callable[[dict[str, Any]], None] | None) -> list[dict[str, Any]]:
    """The checks on hooks and clients. What only a person can mend in their client is a warning and fails nothing."""
    from dibs.doors.cli.doctor import guards

    found = []
    for check in guards.examine(session):
        found.append(check)
        if told is not None:
            told(check)
    return found


def _workspace(session: Session) -> tuple[bool, str]:
    place = session.place
    if not os.path.exists(place.config):
        return False, f"{place.config} is missing; `dibs init` makes it"
    if not session.config.id:
        return False, f"{place.config} has no id; clones on several hosts would not meet"
    return True, f"{place.root}" + (f" (working tree {place.top})" if place.top != place.root else "")


def _folder(session: Session) -> tuple[bool, str]:
    local = session.place.local
    status = os.stat(local)
    if status.st_mode & 0o077:
        return False, f"{local} can be read by others ({status.st_mode & 0o777:o}); chmod 700 it"
    if not os.access(local, os.W_OK | os.X_OK):
        return False, f"{local} cannot be written by this user"
    ignored = f"{session.place.root}/.dibs/.gitignore"
    if not os.path.exists(ignored):
        return False, f"{ignored} is missing, so .dibs/local/ may be committed; `dibs init` makes it"
    return True, f"{local} is this user's own"


def _space(session: Session) -> tuple[bool, str]:
    """Can a commit be written? By writing as much beside the database: what cannot be kept is refused to everybody."""
    probe = f"{session.place.local}/probe.{os.getpid()}"
    try:
        try:
            fd = os.open(probe, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            try:
                written = os.write(fd, bytes(PROBE_BYTES))
                os.fsync(fd)
            finally:
                os.close(fd)
        finally:
            if os.path.exists(probe):
                os.unlink(probe)
    except OSError as error:
        return (
            False,
            f"{session.place.local} takes no more writes: {error.strerror}. No claim is granted",
        )
    if written < PROBE_BYTES:
        return (
            False,
            f"{session.place.local} is full: {written} of {PROBE_BYTES} bytes could be written. Make room",
        )
    return True, f"{session.place.local} takes writes"


def _filesystem(session: Session) -> tuple[bool, str]:
    filesystems.refuse_network(session.place.local)
    return True, filesystems.kind_of(session.place.local) or "unknown kind"


def _record(session: Session) -> tuple[bool, str]:
    from dibs.doors.cli.commands import verify
    from dibs.lookout.verify import verify_store

    report = verify_store(session.store, None, verify.progress())
    return report.ok, "; ".join(verify.lines(report.as_json(), ok=report.ok)[:5])


# What is looked at whatever the store is.
PLACE = (("workspace", _workspace), ("folder", _folder), ("filesystem", _filesystem), ("space", _space))

# --- recovery


def _recover(session: Session, words: Words) -> int:
    """A new database in place of a damaged one. Asks first; the old one is kept."""
    path = workspace_store.database_path(session.place.local, session.config.store)
    if not path:
        message = (
            "--recover is for an SQLite file. A server that lost something begins a new epoch by itself; where a part "
            "of the workspace is missing there, put its data back."
        )
        raise Invalid(message)
    checks = [check for check in examine(session) if check["check"] in {"database", "pages", "record"}]
    session.close()
    if all(check["ok"] for check in checks):
        raise Invalid(f"{path} is sound; there is nothing to recover", path=path)
    if not words.fields.get("yes"):
        _ask(path, checks)
    start, aside, agents = workspace_store.begin_anew(session.place.local, session.place.shared, path, "a\t")
    fresh = Session(session.cwd, session.place.root, short_lived=True)
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


def _ask(path: str, checks: list[dict[str, Any]]) -> None:
    wrong = "; ".join(check["message"] for check in checks if not check["ok"])
    if not os.isatty(0):
        raise Unavailable(f"{wrong}. Recovery voids all claims; say --yes to do it.", path=path)
    sys.stderr.write(f"{wrong}\nSet {path} aside and start a new one? All claims are void then. [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in {"y", "yes"}:
        raise Unavailable("nothing was changed.", path=path)


COMMAND = Command(
    "doctor",
    "Check the workspace and its store, and prove that the guards refuse; --recover after damage.",
    run=run,
    group="guards",
    fields=FIELDS,
    examples=(
        ("dibs doctor", "every check, then what is left for you to do"),
        ("dibs doctor --recover", "set a damaged database aside and start a new one"),
    ),
    json="checks[], failed[], guarded[], todo[]",
)
