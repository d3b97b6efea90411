"""The sides of coming merges: each working tree with its uncommitted work, and the branches that no tree has.

A working tree's content becomes a commit that no ref names (snapshots.py). A tree whose status is as it was at the
last look costs one `git status`.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

from dibs.errors import Unavailable
from dibs.git import queries as git
from dibs.git import snapshots

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
OWN_LOCK = "dibs land"  # how the reason begins for which dibs locks its own working trees


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
        marks, notes = snapshots.marks(side.top, changes, most=MAX_UNTRACKED, largest=MAX_UNTRACKED_BYTES)
        side.note = notes[-1] if notes else ""
        side.dirty = len(marks)
        if not marks:
            continue
        mark: list[str | dict[str, list[int]]] = [side.head, marks]
        before = known.get(side.top)
        known_as = before["commit"] if before is not None and before["mark"] == mark else ""
        if known_as and snapshots.is_settled(marks) and _has(objects, side.top, known_as):
            side.commit = known_as
        else:
            try:
                tree = snapshots.tree(side.top, side.head, marks, objects, folder)
                side.commit = snapshots.commit(side.top, tree, side.head, objects, "uncommitted work")
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


def _has(objects: Objects, top: str, commit: str) -> bool:
    try:
        objects.ask(top, "cat-file", "-e", commit)
    except Unavailable:
        return False
    return True
