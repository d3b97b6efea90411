"""The sides of coming merges: each working tree with its uncommitted work, and the branches that no tree has.

A working tree's content becomes a commit that no ref names: through an index of dibs' own, into a folder of objects of
dibs' own. The user's index, refs, reflogs and object database stay as they are. A tree whose status is as it was at the
last look costs one `git status`. Submodules and repositories inside of a tree are not looked into.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

from dibs.errors import Unavailable, counted
from dibs.git import queries as git
from dibs.machine import clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypedDict

    from dibs.git.merges import Objects

    class Snapshot(TypedDict):
        """The uncommitted work of a working tree, as a commit."""

        mark: list[str | dict[str, list[int]]]  # HEAD, and the signatures of the changed files
        commit: str


STATUS_TIMEOUT_S = 60.0  # a cold look at a large working tree on a busy machine
MAX_CONCURRENT = 4  # statuses at the same time; they wait for the disk, not for the processor
MAX_UNTRACKED = 2_000  # a tree with more untracked files is looked at without them
MAX_UNTRACKED_BYTES = 8 * 1024 * 1024  # a larger untracked file is no source text
RACY_NS = 2_000_000_000  # a file that changed this short before the look may change again within its time stamp
OWN_LOCK = "dibs land"  # how the reason begins for which dibs locks its own working trees
WHO = {
    "GIT_AUTHOR_NAME": "dibs", "GIT_AUTHOR_EMAIL": "dibs@localhost", "GIT_AUTHOR_DATE": "2000-01-01T00:00:00Z",
    "GIT_COMMITTER_NAME": "dibs", "GIT_COMMITTER_EMAIL": "dibs@localhost", "GIT_COMMITTER_DATE": "2000-01-01T00:00:00Z",
}  # fmt: skip


class Side:
    """One side of a coming merge."""

    __slots__ = ("branch", "commit", "dirty", "head", "note", "top")

    def __init__(self, branch: str, head: str, top: str = "") -> None:
        self.branch = branch  # "" where HEAD is on none
        self.head = head
        self.top = top  # of the working tree; "" for a branch without one
        self.commit = head  # with the uncommitted work
        self.dirty = 0  # files that differ from HEAD
        self.note = ""  # what was left out

    @property
    def name(self) -> str:
        """As people call it."""
        return self.branch or os.path.basename(self.top)

    @property
    def id(self) -> str:
        """What stays the same from look to look."""
        return self.top or self.branch


def worktrees(cwd: str) -> list[Side]:
    """The working trees of the repository that have a commit; not those in which dibs itself checks landings."""
    found: list[Side] = []
    fields: dict[str, str] = {}
    out = git.ask(cwd, "worktree", "list", "--porcelain", "-z").out
    for row in [*out.split(b"\0"), b""]:
        name, _, value = os.fsdecode(row).partition(" ")
        if name:
            fields[name] = value
            continue
        top, head = os.path.realpath(fields.get("worktree", "")), fields.get("HEAD", "")
        usable = head.strip("0") and "bare" not in fields and "prunable" not in fields and os.path.isdir(top)
        if fields and usable and not fields.get("locked", "").startswith(OWN_LOCK):
            found.append(Side(fields.get("branch", "").removeprefix("refs/heads/"), head, top))
        fields = {}
    return found


def branches(cwd: str, without: str, since: int, limit: int) -> list[Side]:
    """The branches with a commit younger than `since` (s) that are not part of the commit `without`; newest first."""
    if not limit:
        return []
    words = ["for-each-ref", "--sort=-committerdate", "--format=%(committerdate:unix) %(objectname) %(refname)"]
    if without:
        words.append(f"--no-merged={without}")
    found: list[Side] = []
    for line in os.fsdecode(git.ask(cwd, *words, "refs/heads").out).splitlines():
        when, head, ref = line.split(" ", 2)
        if int(when or 0) >= since and len(found) < limit:
            found.append(Side(ref.removeprefix("refs/heads/"), head))
    return found


def look(sides: Sequence[Side], objects: Objects, folder: str, known: dict[str, Snapshot]) -> dict[str, Snapshot]:
    """Fill in the commits with the uncommitted work; returns what to know at the next look.

    `known` is what the last look returned; `folder` is for the indexes.
    """
    trees = [side for side in sides if side.top]
    with ThreadPoolExecutor(max_workers=MAX_CONCURRENT) as pool:
        seen = list(pool.map(_status, trees))
    learned: dict[str, Snapshot] = {}
    for side, changes in zip(trees, seen, strict=True):
        if changes is None:  # it was removed meanwhile, or git cannot read it
            side.note = "git cannot read it"
            continue
        marks = _marks(side, changes)
        side.dirty = len(marks)
        if not marks:
            continue
        mark: list[str | dict[str, list[int]]] = [side.head, marks]
        before = known.get(side.top)
        settled = all(one[1] + RACY_NS < clock.wall() * 1_000_000 for one in marks.values() if one)
        if settled and before is not None and before["mark"] == mark and _has(objects, side.top, before["commit"]):
            side.commit = before["commit"]
        else:
            try:
                side.commit = _snapshot(side, marks, objects, folder)
            except Unavailable as error:  # this tree counts as committed; the others are still read
                side.note = f"its uncommitted work was left out: {error.message}"
                continue
        learned[side.top] = {"mark": mark, "commit": side.commit}
    return learned


def _status(side: Side) -> list[git.Change] | None:
    try:
        return git.dirty(side.top, timeout=STATUS_TIMEOUT_S)
    except Unavailable:
        return None


def _marks(side: Side, changes: Sequence[git.Change]) -> dict[str, list[int]]:
    """Each changed path with what tells one content of it from another; an empty list for a missing file."""
    untracked = [change for change in changes if change.untracked]
    if len(untracked) > MAX_UNTRACKED:
        side.note = f"{counted(len(untracked), 'untracked file')} left out"
        changes = [change for change in changes if not change.untracked]
    found: dict[str, list[int]] = {}
    for change in changes:
        if change.path.endswith("/"):  # a repository inside of this one
            continue
        try:
            if _is_beyond_link(side.top, change.path):
                raise FileNotFoundError
            status = os.lstat(f"{side.top}/{change.path}")
        except OSError:
            found[change.path] = []
            continue
        if change.untracked and status.st_size > MAX_UNTRACKED_BYTES:
            side.note = f"{change.path} is untracked and too large to be looked at"
            continue
        found[change.path] = [
            status.st_size,
            max(status.st_mtime_ns, status.st_ctime_ns),
            status.st_ino,
            status.st_mode,
        ]
    return found


def _is_beyond_link(top: str, path: str) -> bool:
    """Is a folder of this path a symbolic link now? Then what was below it is gone, whatever the link leads to."""
    folder = os.path.dirname(path)
    while folder:
        if os.path.islink(f"{top}/{folder}"):
            return True
        folder = os.path.dirname(folder)
    return False


def _has(objects: Objects, top: str, commit: str) -> bool:
    try:
        objects.ask(top, "cat-file", "-e", commit)
    except Unavailable:
        return False
    return True


def _snapshot(side: Side, marks: dict[str, list[int]], objects: Objects, folder: str) -> str:
    """A commit on top of HEAD with the present content of these paths; the same content gives the same commit."""
    os.makedirs(folder, 0o700, exist_ok=True)
    index = clock.temporary(f"{folder}/index")
    try:
        objects.ask(side.top, "read-tree", side.head, index=index)
        gone = [os.fsencode(path) for path, mark in marks.items() if not mark]
        there = [os.fsencode(path) for path, mark in marks.items() if mark]
        if gone:  # first: a file may be where a folder was, and the other way round
            given = b"".join([b"0 %s\t%s\0" % (b"0" * len(side.head), path) for path in gone])
            objects.ask(side.top, "update-index", "-z", "--index-info", given=given, index=index)
        if there:
            given = b"".join([path + b"\0" for path in there])
            words = ("update-index", "--add", "--remove", "--replace", "-z", "--stdin")
            objects.ask(side.top, *words, given=given, index=index)
        tree = objects.ask(side.top, "write-tree", index=index).strip()
    finally:
        for name in (index, f"{index}.lock"):
            try:
                os.unlink(name)
            except OSError:
                pass
    return objects.ask(side.top, "commit-tree", tree, "-p", side.head, "-m", "uncommitted work", env=WHO).strip()
