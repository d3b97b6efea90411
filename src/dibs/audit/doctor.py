"""`doctor`: does dibs work here? The workspace, its folder, the store and its record.

Each check passes or fails with a reason and a severity: an error is the workspace's, a warning concerns what a client
or a person has yet to do. The command adds the checks on hooks and clients, which need the caller's machine
(`interfaces/cli/doctor/guards.py`), in the same shape. Nothing is changed.
"""

from __future__ import annotations

import os

from dibs import jsontext
from dibs.audit import store_checks
from dibs.audit.check import record_of
from dibs.errors import DibsError, counted, quoted
from dibs.machine import clock, filesystems, relative_times
from dibs.operations.core.query import Query
from dibs.states import store
from dibs.stores.opening import read_pin
from dibs.workspace import serve_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.audit.answers import CheckSeverity, CheckView, DoctorAnswer
    from dibs.client.session import Session
    from dibs.operations.core.call import Call

MEGABYTE = 1_000_000
PROBE_BYTES = 256 * 1024  # more than a commit, its copy in the write-ahead log and a page of each index take


def _doctor(session: Session, call: Call) -> DoctorAnswer:
    """Run every check; a later one runs also when an earlier one failed."""
    checks: list[CheckView] = []

    def note(name: str, ok: bool, message: str, severity: CheckSeverity) -> None:
        checks.append({"check": name, "ok": ok, "message": message, "severity": severity})

    for name, look in PLACE:
        note(*_looked(session, name, look), "error")
    for name, ok, message, severity in store_checks.examine(session):
        note(name, ok, message, severity)
    fallback = read_pin(session.place.local).fallback
    if fallback:
        note("fallback", False, _stands_in(fallback), "warning")
    record = checks[-1]["check"] != "server"  # else it does not answer, or is elsewhere and looks at its record itself
    for message in _unfinished_undos(session):
        note("undo", False, message, "warning")
    if session.place.common:
        note("states", *_states(session), "warning")
    if session.config.policy.env["vars"]:
        note("env", *_env(session, call), "warning")
    if record:
        note(*_looked(session, "record", record_of), "error")
    for message in (serve_file.outdated(session.place.local), serve_file.copied(session.place.local)):
        if message:
            note("serve", False, message, "warning")
    failed = [check["check"] for check in checks if not check["ok"] and check["severity"] == "error"]
    return {"checks": checks, "failed": failed}


def _looked(session: Session, name: str, look: Callable[[Session], tuple[bool, str]]) -> tuple[str, bool, str]:
    try:
        ok, message = look(session)
    except DibsError as error:
        ok, message = False, error.message
    return name, ok, message


def _env(session: Session, call: Call) -> tuple[bool, str]:
    """Has another program taken a port of this working tree?"""
    from dibs.client import tree_env

    try:
        variables, warnings = tree_env.seen(session, call)
    except DibsError as error:
        return False, error.message
    if not variables:
        return True, "this working tree has none yet; `dibs env` does it"
    return not warnings, "; ".join(warnings) or f"this working tree has its own {', '.join(variables)}"


def _unfinished_undos(session: Session) -> list[str]:
    """Undos in this working tree that were killed on the way: undo/apply.py leaves a journal of each."""
    folder = f"{session.place.private}/undo"
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(".json"))
    except OSError:
        return []
    found = []
    for name in names:
        try:
            with open(f"{folder}/{name}", encoding="ascii") as file:
                what = str(jsontext.decode(file.read())["what"])
        except (OSError, ValueError, KeyError, TypeError):
            found.append(f"{folder}/{name} cannot be read: it is the journal of an undo that was interrupted")
            continue
        again = f"`dibs undo {quoted(what.replace(' ', ':', 1))} --yes` finishes it"
        found.append(f"the undo of {what} was interrupted, and some of its files may be as they were: {again}")
    return found


def _states(session: Session) -> tuple[bool, str]:
    """What the states of working trees take, and whether the last one of each could be anchored."""
    most = session.config.policy.guards["states"]
    if not most:
        return True, "no states of working trees are kept: [guards] states is 0"
    kept = store.Store(session.place)
    rows = [store.records(folder) for folder, _ in kept.ledgers()]
    for folder, top in kept.ledgers():
        why = store.failure(folder) if os.path.isdir(top) else ""
        if why:
            return False, f"the state of {top} could not be anchored: {why}"
    first = min([one[0]["at"] for one in rows if one], default=0)
    since = f", the oldest {relative_times.ago(clock.iso(first))} ago" if first else ""
    trees = counted(len([one for one in rows if one]), "working tree")
    size = f"{kept.bytes() / MEGABYTE:.1f} MB of at most {most / MEGABYTE:.0f} MB"
    return True, f"{counted(sum(map(len, rows)), 'state')} of {trees}{since}, {size}"


def _stands_in(url: str) -> str:
    from dibs.stores.urls import hidden

    return f"SQLite replaces {hidden(url)}, which did not start; `dibs up` comes back to it when it runs"


def _workspace(session: Session) -> tuple[bool, str]:
    place = session.place
    if not os.path.exists(place.config):
        return False, f"{place.config} is missing; `dibs init` makes it"
    if session.config.problem:
        return False, session.config.problem
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
    probe = clock.temporary(f"{session.place.local}/probe")
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


# What is looked at whatever the store is.
PLACE = (("workspace", _workspace), ("folder", _folder), ("filesystem", _filesystem), ("space", _space))

DOCTOR = Query(
    "doctor",
    _doctor,
    "Check that dibs works here: the workspace, its folder, the store and its record.",
    answer="DoctorAnswer",
    group="guards",
    refuses="failed",
    here=True,
)

QUERIES = (DOCTOR,)
