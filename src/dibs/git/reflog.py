"""What moved HEAD in a working tree since an earlier point, and which commits were made: from git's reflog file.

Git logs every move of HEAD there, also when its hooks are switched off (`-c core.hooksPath=`, or by a client's shell).
"""

from __future__ import annotations

import os

MAX_REFLOG_BYTES = 256 * 1024  # read of the reflog
FIELDS = 2  # before the tab: the old and the new commit come first


def size(top: str) -> int:
    """The reflog's size now; 0 if there is none."""
    try:
        return os.stat(_path(top)).st_size
    except OSError:
        return 0


def commits_since(top: str, before: int) -> list[tuple[str, str]]:
    """The commits made here since the reflog had that size, in order, with git's message."""
    found = []
    for row in _rows(top, before):
        said, tab, what = row.partition("\t")
        words = said.split(" ")
        if tab and what.startswith("commit") and len(words) > FIELDS:
            found.append((words[1], what))
    return found


def commits_after(top: str, when: int) -> list[tuple[str, int]]:
    """The commits made here since that time (s), in order, each with its own; of a long reflog only the end is read."""
    found = []
    for row in _rows(top, max(0, size(top) - MAX_REFLOG_BYTES)):
        said, tab, what = row.partition("\t")
        words = said.split(" ")
        if tab and what.startswith("commit") and len(words) > FIELDS and words[-2].isdigit() and int(words[-2]) >= when:
            found.append((words[1], int(words[-2])))
    return found


def moves_since(top: str, before: int) -> list[tuple[int, str, str, str]]:
    """The moves of HEAD here since the reflog had that size, in order.

    Each has the offset of its line's end, the old commit ("" for the first), the new one, and git's message. A
    checked-out branch that is moved by its name (`update-ref`, `branch -f`) is included; its message is then empty, or
    the one that the command gave. A switch to another branch at the same commit is a move, too.
    """
    found = []
    end = before
    for row in _rows(top, before):
        end += len(row.encode("utf-8", "surrogateescape")) + 1
        said, _, what = row.partition("\t")
        words = said.split(" ")
        if len(words) > FIELDS and (words[0] != words[1] or what.startswith("checkout:")):
            found.append((end, words[0] if words[0].strip("0") else "", words[1], what))
    return found


def _rows(top: str, before: int) -> list[str]:
    """The reflog's text after that size; empty if the file is shorter now or missing."""
    try:
        with open(_path(top), "rb") as file:
            if os.fstat(file.fileno()).st_size <= before:
                return []
            file.seek(before)
            return file.read(MAX_REFLOG_BYTES).decode("utf-8", "surrogateescape").split("\n")
    except OSError:
        return []


def _path(top: str) -> str:
    git = f"{top}/.git"
    if not os.path.isdir(git):
        try:
            with open(git, "rb") as file:
                named = os.fsdecode(file.read(4096)).removeprefix("gitdir:").strip()
        except OSError:
            return f"{git}/logs/HEAD"
        git = os.path.join(top, named)
    return f"{git}/logs/HEAD"
