"""Anchors the state of a working tree: what git calls changed, byte for byte, as one state of the store.

A hook only asks for it (request.py: a file's time, and a process if none runs for that tree). The process takes the
state, and stays a moment: the hooks of the next calls find it there. It spends at most a small part of a processor.
Between a hook and its anchor nothing that the hook saw is lost: the ledger has kept each content itself, and whoever
brings a state back adds what the ledger saw after it (at_time.py).

- success: a state, if there is anything new; the same tree, HEAD and branch as before make none.
- crash, two at once, disk full, clock: store.py.
- huge files: up to MAX_FILE_BYTES a file is in a state; what is larger is named in its notes, as are more than
  MAX_FILES untracked files. Of files as they were at the last state only the names and times are looked at.
- submodules and repositories inside of the tree: the state has the commit that HEAD has of them, and nothing inside.
- ignored files: none. Files that a sparse checkout leaves out: as HEAD has them.
- without git there are no states: the ledger alone has the contents.
"""

from __future__ import annotations

import os

from dibs import jsontext
from dibs.errors import DibsError, Unavailable, counted
from dibs.machine import atomic_write, clock
from dibs.states import request

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypedDict

    from dibs.git.snapshots import Marks
    from dibs.states.store import StateRecord, Store
    from dibs.workspace.location import Place

    class Known(TypedDict):
        """What an anchor leaves for the next one of its tree."""

        marks: Marks
        entries: dict[str, list[str]]  # path → mode, blob


KNOWN = "anchor.known"  # in a tree's ledger
GAP_S = 1.0  # at least, between two states of a tree
SHARE = 20  # one part in 20 of a processor for the states of one tree
LINGER_S = 5.0  # until a process that nobody asks anything ends: agents call tools every few seconds
POLL_S = 0.1
STATUS_TIMEOUT_S = 60.0
MAX_FILES = 20_000  # untracked, in one state
MAX_FILE_BYTES = 64 * 1024 * 1024  # as the ledger keeps them
MAX_HEADS = 50  # whose commits are known to be kept


def stay(top: str) -> None:
    """The process in the background: anchor, and again whenever that is wanted, until nobody wants it any more."""
    from dibs.workspace import location

    os.nice(5)
    try:
        place = location.find(top, None)
    except DibsError:
        return
    from dibs.states import retention

    if place.top != top or not place.common or not retention.is_on(place):
        return
    folder = place.private
    while (turn := request.turn(folder)) is not None:
        try:
            done = _serve(place, folder)
        finally:
            os.close(turn)
        if _asked(folder) <= done:
            return


def _serve(place: Place, folder: str) -> int:
    """Anchor as long as that is wanted; returns up to which moment it is done."""
    done, gap, idle = -1, 0.0, 0.0
    while idle < LINGER_S and os.path.isdir(folder):
        asked = _asked(folder)
        if asked <= done:
            clock.sleep(POLL_S)
            idle += POLL_S
            continue
        clock.sleep(max(0.0, gap - idle))
        done, idle = _asked(folder), 0.0
        begun = clock.since_boot()
        take_safely(place)
        gap = max(GAP_S, (clock.since_boot() - begun) / 1000 * SHARE)
    return done


def _asked(folder: str) -> int:
    try:
        return os.stat(f"{folder}/{request.WANTED}").st_mtime_ns
    except OSError:
        return -1


def take_safely(place: Place) -> StateRecord | None:
    """Take the state now; a failure is noted for `dibs doctor`, and is no reason to fail for anybody else."""
    from dibs.states import retention, store

    failed = f"{place.private}/{store.FAILED}"
    try:
        record = take(place)
        retention.tidy_if_due(place)
    except (DibsError, OSError) as error:
        why = error.message if isinstance(error, DibsError) else f"{error.strerror or error}"
        try:
            atomic_write.replace(failed, why)
        except OSError:
            pass
        return None
    if os.path.exists(failed):
        os.unlink(failed)
    return record


def take(place: Place) -> StateRecord | None:
    """Take the state of the working tree in use; None if it is as it was. Raises Unavailable or OSError."""
    from dibs.git import queries as git
    from dibs.git import snapshots
    from dibs.states import store

    kept = store.Store(place)
    with kept.locked():
        begun = clock.wall()
        top, folder = place.top, place.private
        head = git.head(top)
        branch = _branch(place.git_dir)
        changes = git.dirty(top, timeout=STATUS_TIMEOUT_S)
        untracked = [change for change in changes if change.untracked]
        if len(untracked) > MAX_FILES:
            changes = [change for change in changes if not change.untracked] + untracked[:MAX_FILES]
        found, notes = snapshots.marks(top, changes, most=MAX_FILES, largest=MAX_FILE_BYTES)
        if len(untracked) > MAX_FILES:
            notes.append(f"{counted(len(untracked) - MAX_FILES, 'untracked file')} left out")
        known = read_known(folder)
        before = store.records(folder)
        last = before[-1] if before else None
        same = last is not None and (last["head"], last["branch"]) == (head, branch)
        if last is not None and same and found == known["marks"] and snapshots.is_settled(found):
            return None
        entries = _entries(kept, top, found, known, notes)
        exact = {path: (one[0], one[1]) for path, one in entries.items()}
        made = snapshots.tree(top, head, found, kept.objects, kept.folder, exact)
        if last is not None and same and last["tree"] == made:
            remember(folder, {"marks": found, "entries": entries})
            return None
        heads = list(dict.fromkeys(row["head"] for row in before if row["head"]))
        if head and head not in heads:
            kept.keep_commits(head, heads[-MAX_HEADS:])
        commit = snapshots.commit(top, made, head, kept.objects, f"state of {top}\n\nHEAD: {head}", alone=True)
        record: StateRecord = {
            "at": max(begun, last["at"] + 1 if last is not None else 0), "id": commit, "tree": made, "head": head,
            "branch": branch, "files": len(found), "notes": notes,
        }  # fmt: skip
        store.append(folder, record)
        remember(folder, {"marks": found, "entries": entries})  # not before: a clean-up keeps what a state has
        return record


def _entries(kept: Store, top: str, found: Marks, known: Known, notes: list[str]) -> dict[str, list[str]]:
    """Mode and blob of each file that is there. A file that is as it was is not read again."""
    entries: dict[str, list[str]] = {}
    since = clock.wall() * 1_000_000
    for path in [path for path, mark in found.items() if mark]:
        mark = found[path]
        before = known["entries"].get(path)
        if before is not None and known["marks"].get(path) == mark and mark[1] + 2_000_000_000 < since:
            entries[path] = before
            continue
        entry = _entry(kept, f"{top}/{path}", mark)
        if entry is None:
            notes.append(f"{path} is too large, or no file")
            del found[path]  # as HEAD has it
        elif not entry:
            found[path] = []  # it went meanwhile
        else:
            entries[path] = entry
    return entries


def _entry(kept: Store, full: str, mark: list[int]) -> list[str] | None:
    """Mode and blob of one file, whose content is kept; empty if it is gone, None if it is not taken."""
    from stat import S_ISLNK, S_ISREG

    try:
        if S_ISLNK(mark[3]):
            return ["120000", kept.keep(os.fsencode(os.readlink(full)))]
        if not S_ISREG(mark[3]):
            return None
        fd = os.open(full, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise Unavailable(f"{full} cannot be read: {error.strerror}", path=full) from None
    with os.fdopen(fd, "rb") as file:
        content = file.read(MAX_FILE_BYTES + 1)
    if len(content) > MAX_FILE_BYTES:
        return None
    return ["100755" if mark[3] & 0o100 else "100644", kept.keep(content)]


def _branch(git_dir: str) -> str:
    """The branch that HEAD is on, by git's file; "" if it is on none."""
    try:
        with open(f"{git_dir}/HEAD", encoding="utf-8", errors="surrogateescape") as file:
            text = file.read(4096).strip()
    except OSError:
        return ""
    return text.removeprefix("ref: refs/heads/") if text.startswith("ref: refs/heads/") else ""


def read_known(folder: str) -> Known:
    """What the last anchor of this tree left; nothing, if that cannot be read."""
    try:
        with open(f"{folder}/{KNOWN}", encoding="ascii") as file:
            found: Known = jsontext.decode(file.read())
    except (OSError, ValueError):
        return {"marks": {}, "entries": {}}
    return found


def remember(folder: str, known: Known) -> None:
    """Leave it for the next one."""
    atomic_write.replace(f"{folder}/{KNOWN}", jsontext.encode(known), mode=atomic_write.PRIVATE_MODE)
