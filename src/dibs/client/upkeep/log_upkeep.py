"""Old events leave the store: written to an archive first, then dropped, in pieces. Nothing is decided here.

A crash at any point leaves the events in the store or in a recorded archive, or in both; the next call continues. One
process of a machine does it at a time (a file lock); on a store of several machines the transaction decides between
them, and each archive is on the machine that pruned.

Called by `dibs prune`, `dibs sweep`, and by every lasting process (rounds.py). A hook does not do it itself: it starts
`dibs sweep` in the background and continues.
"""

from __future__ import annotations

import os
from fcntl import LOCK_EX, LOCK_NB, flock

from dibs.errors import Conflict, DibsError, Invalid, NotFound
from dibs.machine import clock, processes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.client.session import Session
    from dibs.operations.core.call import Answer, Call, Fields
    from dibs.operations.upkeep.answers import SweepAnswer
    from dibs.operations.upkeep.log_retention import PrunePlan
    from dibs.operations.upkeep.records import Archive

LOCK_FILE = "archive.lock"  # in .dibs/local/
TRIED_FILE = "archive.tried"  # its time: when a hook last started a sweep
TRY_EVERY_MS = 600_000
STEPS_PER_CALL = 64  # archives that one call writes: a backlog is worked off in pieces, so that nobody waits for long


def prune(session: Session, call: Call, values: Fields) -> Answer:
    """`dibs prune`: all that is older than `keep`. A person decides; the retention bounds it."""
    from dibs.operations.upkeep.log_retention import PLAN

    if session.is_far:
        raise Invalid("prune: archives are on the server's machine; call it there, or leave it to [log] keep.")
    operation = session.operation("prune")
    plan = session.run(PLAN, call, values)
    if not plan["through"]:
        session.run(operation, call, values)  # who may not is told that first
        raise NotFound("no seal is that old: `dibs seal` makes one, and events before a seal can be pruned.")
    _refuse(session, call, values)
    lock = _locked(session.place.local)
    if lock is None:
        raise Conflict("another process of this machine archives the log; try again in a moment.")
    through = 0
    files: list[str] = []
    try:
        while plan["through"]:
            through = plan["through"]
            if plan["begun"]:
                _drop_more(session, call)
            else:
                files += session.run(operation, call, {**values, "archive": _written(session, plan)})["archives"]
                call.request = ""  # one request id, one answer: the steps after the first repeat nothing
            plan = session.run(PLAN, call, values)
        _limit(session, call)
    finally:
        os.close(lock)
    return {"through": through, "archives": files}


def _refuse(session: Session, call: Call, values: Fields) -> None:
    """Who may not prune is refused before a file is written: the operation without an archive says so."""
    try:
        session.run(session.operation("prune"), call, values)
    except Invalid as error:
        if error.fields.get("field") != "archive":
            raise


def by_config(session: Session, call: Call) -> int:
    """What the config says; returns how many archives were written. Another process is at it: none."""
    from dibs.operations.upkeep.log_retention import PLAN, PRUNED

    if session.is_far:
        return 0  # the server does it
    lock = _locked(session.place.local)
    if lock is None:
        return 0
    try:
        done = 0
        while done < STEPS_PER_CALL and (plan := session.run(PLAN, call, {}))["through"]:
            if plan["begun"]:
                _drop_more(session, call)
            else:
                session.run(PRUNED, call, {"archive": _written(session, plan)})
                done += 1
        _limit(session, call)
    except Conflict:  # another machine was first
        return 0
    finally:
        os.close(lock)
    return done


def _drop_more(session: Session, call: Call) -> None:
    """Drop the next piece of what the last archive has; first, callers that wait for the store have their turn."""
    from copy import copy

    from dibs.client.job_loop import PAUSE_S
    from dibs.operations.upkeep.log_retention import REST

    clock.sleep(PAUSE_S)
    mine = copy(call)
    mine.request = ""  # it belongs to the archive that the call makes
    session.run(REST, mine, {})


def _written(session: Session, plan: PrunePlan) -> Archive:
    from dibs.client.upkeep import log_archives

    return log_archives.write(session.store, session.place.local, session.config.id, plan, processes.host())


def _limit(session: Session, call: Call) -> None:
    """Drop this machine's oldest archives beyond the limit, and what an interrupted call left."""
    from dibs.client.upkeep import log_archives
    from dibs.operations.upkeep.log_retention import ARCHIVES, DROP

    local, host = session.place.local, processes.host()
    known = session.run(ARCHIVES, call, {})
    log_archives.remove(local, known["dropped"])
    log_archives.remove_leftovers(local)
    limit: int = session.config.policy.work["log"]["archives"]
    room, through = limit, 0
    for one in reversed([one for one in known["archives"] if one["host"] == host]):
        room -= one["size"]
        if room < 0:
            through = max(through, one["last"])
    if through:
        fields = {"through": through, "host": host, "why": f"over the limit of {limit} bytes"}
        log_archives.remove(local, session.run(DROP, call, fields)["files"])


def _locked(local: str) -> int | None:
    """The lock of this machine, as an open file; None if another process has it."""
    fd = os.open(f"{local}/{LOCK_FILE}", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        flock(fd, LOCK_EX | LOCK_NB)
    except OSError:
        os.close(fd)
        return None
    return fd


def complete(session: Session, result: SweepAnswer) -> SweepAnswer:
    """After a sweep that says that old events are due: archive them."""
    if result.pop("prune", False):
        try:
            result["swept"]["pruned"] = by_config(session, session.identify(None))
        except DibsError:
            if not result["more"]:
                raise
    return result


def start(session: Session) -> None:
    """From a hook: start a `dibs sweep` in the background, at most once in TRY_EVERY_MS."""
    tried = f"{session.place.local}/{TRIED_FILE}"
    try:
        if clock.wall() - os.stat(tried).st_mtime_ns // 1_000_000 < TRY_EVERY_MS:
            return
    except OSError:
        pass
    from dibs.machine import background

    try:
        os.close(os.open(tried, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600))
        os.utime(tried)
        background.start("sweep", "--workspace", session.place.root)
    except OSError:
        pass  # a sandbox; another caller does it
