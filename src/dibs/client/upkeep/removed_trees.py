"""The look for working trees that were removed: a ledger in git's common directory whose tree is no longer there.

Its unfinished contents become git objects, so that they last like any kept content, and the report names them. A tree
that git calls locked may be on a disk that is not mounted now, and is left alone. Nothing is decided here.
"""

from __future__ import annotations

import os
import shutil
import time

from dibs.errors import DibsError, Forbidden
from dibs.git import objects
from dibs.ledger import contents, ledger_files
from dibs.ledger.state import MISSING, State
from dibs.workspace import location
from dibs.workspace.paths import of_parts, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dibs.client.session import Session
    from dibs.operations.core.call import Call
    from dibs.workspace.location import Place

REPORTED = "removed"  # the file in a ledger that says so
MAX_FILES = 500  # of one tree's unfinished work


def look(session: Session, call: Call) -> None:
    """Report the trees that were removed since the last look."""
    place = session.place
    known = ledger_files.of_linked(place.shared) if place.common else []
    if not known:
        return
    living = _living(place)
    if any(os.path.basename(folder) not in living and not _is_reported(folder) for folder, _ in known):
        ledger_files.await_settled(place.shared)  # a tree whose ledger is being made has no link to it yet
        living = _living(place)
    for folder, top in known:
        there = living.get(os.path.basename(folder))
        if there is None and not _is_reported(folder):
            _report(session, call, folder, top)
        elif there is not None and there != top:  # `git worktree move`
            ledger_files.note_top(folder, there)


def _is_reported(folder: str) -> bool:
    return os.path.exists(f"{folder}/{REPORTED}")


def _living(place: Place) -> dict[str, str]:
    """The working trees that are there, or locked: the name of the ledger → the top."""
    found = {}
    trees = f"{place.common}/worktrees"
    for name in os.listdir(trees) if os.path.isdir(trees) else ():
        try:
            ledger = os.path.basename(os.readlink(f"{trees}/{name}/{location.DIBS_FOLDER}"))
            with open(f"{trees}/{name}/gitdir", encoding="utf-8", errors="surrogateescape") as file:
                pointer = os.path.join(f"{trees}/{name}", file.read().strip())
        except OSError:
            continue
        if os.path.exists(pointer) or os.path.exists(f"{trees}/{name}/locked"):
            found[ledger] = os.path.realpath(os.path.dirname(pointer))
    return found


def _report(session: Session, call: Call, folder: str, top: str) -> None:
    from dibs.operations.guards.removed_trees import REMOVED

    place = session.place
    name = os.path.basename(folder)
    work: list[list[Any]] = []
    for path, head in State(ledger_files.load(folder)[0]).heads.items():
        content = contents.kept(f"{folder}/objects", head.content) if head.owners and head.content != MISSING else None
        if content is None or len(work) >= MAX_FILES:
            continue
        identifier = contents.blob_id(f"{name}\n{path}".encode("utf-8", "surrogateescape"))[:12]
        try:
            kept = objects.keep(objects.objects_of(place.common, place.local), content)
            objects.pin(place.common, f"kept/v{identifier}", kept)
        except DibsError:
            pass  # it is still in dibs' own folder
        work.append([identifier, of_parts("file", shown(path, fold=session.paths.fold)), head.content, head.owners])
    try:
        session.run(REMOVED, call, {"tree": top, "name": name, "work": work, "age": _age(top)})
    except Forbidden:  # the credential of one agent does not speak for its machine
        return
    with open(f"{folder}/{REPORTED}", "w", encoding="utf-8"):
        pass


def _age(top: str) -> int:
    """For how many ms another working tree is at that place; 0 if there is none."""
    try:
        return max(0, int((time.time() - os.stat(f"{top}/.git").st_mtime) * 1000))
    except OSError:
        return 0


def tidy(place: Place, keep_ms: int) -> None:
    """Delete the ledgers of trees that were removed that long ago; what was unfinished in them is in git's objects."""
    for folder, _ in ledger_files.of_linked(place.shared) if place.common else ():
        try:
            if os.stat(f"{folder}/{REPORTED}").st_mtime < time.time() - keep_ms / 1000:
                shutil.rmtree(folder)
        except OSError:
            pass
