"""The one way to make a tree of a working copy: the radar merges it, a state of a working tree keeps it.

`marks` says what git calls changed, with what tells one content from another; `tree` makes HEAD's tree with these
changes, by an index of dibs' own, into a folder of objects of dibs' own. The user's index, refs, reflogs and object
database stay as they are. Ignored files, submodules and repositories inside of a tree are not looked into. A file that
a sparse checkout leaves out is as HEAD has it.

Contents are as a commit would have them (a merge compares them), or byte for byte (`exact`: they are to come back).
"""

from __future__ import annotations

import os

from dibs.errors import counted
from dibs.machine import clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dibs.git.merges import Objects
    from dibs.git.queries import Change

    Marks = dict[str, list[int]]  # a changed path → size, time, inode, mode; nothing for a missing file

RACY_NS = 2_000_000_000  # a file that changed this short before the look may change again within its time stamp
WHO = {
    "GIT_AUTHOR_NAME": "dibs", "GIT_AUTHOR_EMAIL": "dibs@localhost", "GIT_AUTHOR_DATE": "2000-01-01T00:00:00Z",
    "GIT_COMMITTER_NAME": "dibs", "GIT_COMMITTER_EMAIL": "dibs@localhost", "GIT_COMMITTER_DATE": "2000-01-01T00:00:00Z",
}  # fmt: skip
# A user's settings that would make an index of another kind than the one that is written here.
PLAIN_INDEX = ("-c", "index.sparse=false", "-c", "core.splitIndex=false", "-c", "core.fsmonitor=false")


def marks(top: str, changes: Sequence[Change], *, most: int, largest: int) -> tuple[Marks, list[str]]:
    """Each changed path with what tells one content of it from another; and what is left out.

    `most` untracked files, of at most `largest` bytes each, are taken.
    """
    notes: list[str] = []
    untracked = [change for change in changes if change.untracked]
    if len(untracked) > most:
        notes.append(f"{counted(len(untracked), 'untracked file')} left out")
        changes = [change for change in changes if not change.untracked]
    found: Marks = {}
    for change in changes:
        if change.path.endswith("/"):  # a repository inside of this one
            continue
        try:
            if _is_beyond_link(top, change.path):
                raise FileNotFoundError
            status = os.lstat(f"{top}/{change.path}")
        except OSError:
            found[change.path] = []
            continue
        if change.untracked and status.st_size > largest:
            notes.append(f"{change.path} is untracked and too large to be looked at")
            continue
        found[change.path] = [
            status.st_size,
            max(status.st_mtime_ns, status.st_ctime_ns),
            status.st_ino,
            status.st_mode,
        ]
    return found, notes


def is_settled(found: Marks) -> bool:
    """Would each further change of these files show in their marks?"""
    return all(one[1] + RACY_NS < clock.wall() * 1_000_000 for one in found.values() if one)


def tree(
    top: str, head: str, found: Marks, objects: Objects, folder: str, exact: Mapping[str, tuple[str, str]] | None = None
) -> str:
    """The id of the tree: HEAD's with these paths as they are now. `folder` is for the index.

    `exact`: mode and blob of each path that is there, kept by the caller. Then the tree is made of objects in dibs'
    folder alone, but for the files that HEAD has: git's clean-up of the repository takes nothing of it.
    """
    os.makedirs(folder, 0o700, exist_ok=True)
    index = clock.temporary(f"{folder}/index")
    try:
        objects.ask(top, *PLAIN_INDEX, "read-tree", head or "--empty", index=index)
        gone = [os.fsencode(path) for path, mark in found.items() if not mark]
        there = [os.fsencode(path) for path, mark in found.items() if mark]
        if gone:  # first: a file may be where a folder was, and the other way round
            zeros = b"0" * (len(head) or 40)
            given = b"".join([b"0 %s\t%s\0" % (zeros, path) for path in gone])
            objects.ask(top, *PLAIN_INDEX, "update-index", "-z", "--index-info", given=given, index=index)
        if there and exact is None:
            given = b"".join([path + b"\0" for path in there])
            taken = ("update-index", "--add", "--remove", "--replace", "-z", "--stdin")
            objects.ask(top, *PLAIN_INDEX, *taken, given=given, index=index)
        elif exact:
            rows = [f"{mode} {blob}\t".encode() + os.fsencode(path) + b"\0" for path, (mode, blob) in exact.items()]
            words = ("update-index", "--add", "--replace", "-z", "--index-info")
            objects.ask(top, *PLAIN_INDEX, *words, given=b"".join(rows), index=index)
        made = ("write-tree",) if exact is None else ("write-tree", "--missing-ok")
        return objects.ask(top, *PLAIN_INDEX, *made, index=index, alone=exact is not None).strip()
    finally:
        for name in (index, f"{index}.lock"):
            try:
                os.unlink(name)
            except OSError:
                pass


def commit(top: str, made: str, head: str, objects: Objects, text: str, *, alone: bool = False) -> str:
    """A commit of a tree, on top of HEAD or (`alone`) of nothing; the same content gives the same commit."""
    on = () if alone else ("-p", head)
    return objects.ask(top, "commit-tree", made, *on, "-m", text, env=WHO, alone=alone).strip()


def _is_beyond_link(top: str, path: str) -> bool:
    """Is a folder of this path a symbolic link now? Then what was below it is gone, whatever the link leads to."""
    folder = os.path.dirname(path)
    while folder:
        if os.path.islink(f"{top}/{folder}"):
            return True
        folder = os.path.dirname(folder)
    return False
