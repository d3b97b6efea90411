"""Housekeeping: what was left behind is removed, what grew too large is cut, and what is due is done.

`dibs doctor --fix` does all of it and says what it did; `--dry-run` only says it. `daily` is the same without what
makes other callers wait, once a day, by a lasting process or by the `dibs sweep` that a hook starts. Each mend is safe
at any time: it touches only files that dibs names and records that nobody needs.
"""

from __future__ import annotations

import os

from dibs.client.upkeep import log_archives, log_upkeep, rounds
from dibs.errors import DibsError, counted
from dibs.workspace import local_files, location

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dibs.client.session import Session
    from dibs.operations.core.call import Call

    Mend = tuple[str, str, Callable[[], object]]  # what, what is found, how it is mended

SPARE_BYTES = 1024 * 1024  # a smaller file is not worth a wait
SPARE_SHARE = 4  # of the store: less than a quarter is used again soon
KEPT_REFS = "refs/dibs/kept/"
SHOWN = 3
SWEEPS = 1_000  # in a row
MEGABYTE = 1_000_000


def mends(session: Session, call: Call) -> Iterator[Mend]:
    """What can be mended now. Looking changes nothing; each is looked for when the one before is done."""
    local = session.place.local
    yield from _files(session)
    if session.is_far:
        return
    yield from _store(session, call)
    left = log_archives.leftovers(local)
    if left:
        yield "archives", f"{counted(len(left), 'archive')} that a killed process was writing", _limiter(session, call)
    yield from _refs(session, call)


def _files(session: Session) -> Iterator[Mend]:
    local = session.place.local
    if os.path.isdir(local) and os.stat(local).st_mode & 0o077:
        yield "folder", f"{local} can be read by others", lambda: os.chmod(local, 0o700)
    configs = [session.place.config, f"{session.place.shared}/config.toml", *_configs(session)]
    looks = (
        ("temporary files", "of processes that ended", local_files.temporary_files(local)),
        ("waiters' pipes", "of waiters that were killed", local_files.dead_pipes(local)),
        ("config caches", "of configs that are gone", local_files.config_caches(local, configs)),
        ("commit notes", "of git processes that ended", local_files.commit_memories(local)),
    )
    for what, why, paths in looks:
        if paths:
            yield what, f"{counted(len(paths), 'file')} {why}: {_some(paths)}", _remover(paths)
    limit: int = session.config.policy.work["runs"]["archives"]
    old = local_files.oldest_beyond(f"{local}/runs", limit, (".tar.gz", ".html"))
    if old:
        yield "runs", f"reports and archives of runs are over {limit} bytes: {_some(old)}", _remover(old)
    if not os.path.exists(f"{local}/serve.lock") or not _is_served(local):
        stale = [path for path in (f"{local}/serve.json", f"{local}/serve.sock") if os.path.lexists(path)]
        stale += [p for p in (f"{local}/serve.bash", f"{session.place.shared}/serve.bash") if os.path.lexists(p)]
        stale = list(dict.fromkeys(stale))
        if stale:
            yield "server", f"files of a server that does not run: {_some(stale)}", _remover(stale)


def _is_served(local: str) -> bool:
    from dibs.workspace import auto_serve

    return auto_serve.is_served(local)


def _configs(session: Session) -> list[str]:
    """The configs of all working trees of this repository."""
    if not session.place.common:
        return []
    from dibs.git import queries

    try:
        done = queries.ask(session.place.common, "worktree", "list", "--porcelain")
    except DibsError:
        return []
    tops = [line[9:] for line in done.out.decode(errors="surrogateescape").splitlines() if line.startswith("worktree ")]
    return [location.find(top, None).config for top in tops if os.path.isdir(top)]


def _store(session: Session, call: Call) -> Iterator[Mend]:
    from dibs.audit import stray_files
    from dibs.operations.upkeep.sweeps import UPKEEP_DUE

    found = session.run(UPKEEP_DUE, call, {"store": None})
    if found["due"] or found.get("prune"):
        yield "due records", "claims, messages, tasks or events that expired", lambda: _sweep(session, call)
    strays = stray_files.stray_files(session)
    if strays:
        what = f"{counted(len(strays), 'result file')} that no record names"
        yield "results", what, lambda: stray_files.remove_stray_files(session)
    spare = session.store.spare()
    size = sum(os.path.getsize(path) for path in _database(session))
    if spare > SPARE_BYTES and spare * SPARE_SHARE > size:
        what = f"{spare / MEGABYTE:.1f} MB of the database's {size / MEGABYTE:.1f} MB are empty"
        yield "database", what, session.store.compact


def _database(session: Session) -> list[str]:
    path = session.store.address
    return [path] if os.path.isfile(path) else []


def _sweep(session: Session, call: Call) -> None:
    operation = session.operation("sweep")
    for _ in range(SWEEPS):
        if not session.answer(operation, call, {})["more"]:
            return


def _limiter(session: Session, call: Call) -> Callable[[], object]:
    return lambda: log_upkeep.by_config(session, call)


def _refs(session: Session, call: Call) -> Iterator[Mend]:
    """Contents that were kept for `dibs restore`, and whose record is gone: git may have them."""
    common = session.place.common
    if not common:
        return
    from dibs.git import objects, queries
    from dibs.operations.upkeep.store_reads import KNOWN_CHANGES

    try:
        done = queries.ask(common, f"--git-dir={common}", "for-each-ref", "--format=%(refname)", KEPT_REFS)
    except DibsError:
        return
    names = [line[len(KEPT_REFS) :] for line in done.out.decode(errors="replace").splitlines()]
    gone = []
    for start in range(0, len(names), 200):
        page = names[start : start + 200]
        known = set(session.run(KNOWN_CHANGES, call, {"ids": page})["known"])
        gone += [name for name in page if name not in known]
    if gone:
        what = f"{counted(len(gone), 'content')} that no change can be restored to"
        yield "kept contents", what, lambda: objects.unpin(common, [f"kept/{name}" for name in gone])


def _remover(paths: list[str]) -> Callable[[], object]:
    return lambda: local_files.remove(paths)


def _some(paths: list[str]) -> str:
    names = ", ".join(os.path.basename(path) for path in paths[:SHOWN])
    return f"{names} and {len(paths) - SHOWN} more" if len(paths) > SHOWN else names


# --- once a day

WAITING = frozenset({"database"})  # mends that make other callers wait: for a person to choose


def daily(session: Session, call: Call) -> bool:
    """Mend what can be mended without a wait, if that was not done today; returns whether it was done now."""
    stamp = f"{session.place.local}/{rounds.HOUSEKEPT}"
    if not rounds.is_housekeeping_due(session.place.local):
        return False
    try:
        with open(stamp, "w", encoding="utf-8"):
            pass
        os.utime(stamp)
        for what, _, mend in mends(session, call):
            if what not in WAITING:
                mend()
    except (DibsError, OSError):
        pass  # tomorrow again
    return True
