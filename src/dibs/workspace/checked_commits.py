"""The memory of commits that git's hook checked, and of those that were reported, in `.dibs/local/commits/`.

A check is remembered under the git process that asked, until that process has reported its commit. The reported commits
are listed in `told`. So a commit that is in neither bypassed the hooks, or they are switched off where it was made.
"""

from __future__ import annotations

import os

from dibs import jsontext
from dibs.machine import clock, processes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypedDict

    from dibs.operations.core.call import Process
    from dibs.workspace.location import Place

    class CheckedCommit(TypedDict):
        """A commit that git's hook checked before it was made."""

        agent: str  # "" if the caller is not known
        tokens: list[list[str | int]]  # paths that its family holds, each with its token
        held: int  # its claims
        paths: list[str]


FOLDER, TOLD = "commits", "told"
MEMORY_LIFE_S = 86_400  # of the memory of a commit that did not happen
MAX_SWEPT = 200  # of them, in one call
REPORT_TIMEOUT_MS = 3_000  # in which a hook that runs at this moment reports its commit
POLL_S = 0.02


def gits() -> list[tuple[Process, str]]:
    """The git processes above this one, nearest first."""
    return [found for found in processes.ancestors() if found[1] == "git" or found[1].startswith("git-")]


def _memory(place: Place) -> str:
    """The file that remembers this git process's check."""
    folder = os.path.join(place.local, FOLDER)
    nearest = gits()
    if nearest:
        process = nearest[0][0]
        return os.path.join(folder, f"{process[3]}-{process[4]}")
    from dibs.git import objects  # started by a program with another name: one commit a tree at a time

    return os.path.join(folder, objects.blob_id(os.fsencode(place.top))[:16])


def remember(place: Place, what: CheckedCommit) -> None:
    """This git process's commit was checked."""
    path = _memory(place)
    folder = os.path.dirname(path)
    os.makedirs(folder, 0o700, exist_ok=True)
    with open(path, "w", encoding="utf-8", errors="surrogateescape") as file:
        file.write(jsontext.encode(what))
    now = clock.wall() / 1000
    with os.scandir(folder) as entries:
        for _, entry in zip(range(MAX_SWEPT), entries, strict=False):
            try:
                if now - entry.stat().st_mtime > MEMORY_LIFE_S:
                    os.unlink(entry.path)
            except FileNotFoundError:  # another commit swept it
                pass


def recall(place: Place) -> CheckedCommit | None:
    """What was checked for this git process; None if nothing was."""
    try:
        with open(_memory(place), encoding="utf-8", errors="surrogateescape") as file:
            found: CheckedCommit = jsontext.decode(file.read())
    except (OSError, ValueError):
        return None
    return found


def forget(place: Place) -> None:
    """This git process's commit was reported."""
    try:
        os.unlink(_memory(place))
    except OSError:
        pass


def told(place: Place) -> list[str]:
    """The commits that were reported last."""
    try:
        with open(os.path.join(place.local, FOLDER, TOLD), encoding="utf-8") as file:
            return file.read().split()
    except OSError:
        return []


def tell(place: Place, commit: str) -> None:
    """This commit is reported."""
    from dibs.machine import atomic_write

    folder = os.path.join(place.local, FOLDER)
    os.makedirs(folder, 0o700, exist_ok=True)
    atomic_write.replace(os.path.join(folder, TOLD), "\n".join([*told(place)[-MAX_SWEPT:], commit]))


def untold(place: Place, commits: list[str]) -> list[str]:
    """Those that nobody has reported. Git moves HEAD before its hook reports: a hook that runs now is waited for."""
    until = clock.since_boot() + REPORT_TIMEOUT_MS
    while True:
        known = told(place)
        left = [commit for commit in commits if commit not in known]
        if not left or not _is_pending(place) or clock.since_boot() > until:
            return left
        clock.sleep(POLL_S)


def _is_pending(place: Place) -> bool:
    """Is a git process alive whose commit was checked and is not reported?"""
    try:
        names = os.listdir(os.path.join(place.local, FOLDER))
    except OSError:
        return False
    for name in names[:MAX_SWEPT]:
        pid, dash, start = name.partition("-")
        if dash and pid.isdigit():
            process = processes.of(int(pid))
            if process is not None and str(process[4]) == start:
                return True
    return False
