"""What was pushed from this clone: git's own logs of the branches of remotes. They are written past any hook, too.

`logs/refs/remotes/REMOTE/BRANCH` has one line for each move of that branch as this clone knows it; "update by push" is
what a push from here wrote, whatever switched its hook off.
"""

from __future__ import annotations

import os

MAX_READ_BYTES = 64 * 1024  # of one log: hundreds of pushes
MAX_BRANCHES = 500
PUSHED = "update by push"
FIELDS = 3  # before the tab: the old and the new commit, and who


def sizes(common: str) -> dict[str, int]:
    """`REMOTE/BRANCH` → the size of its log now."""
    top = f"{common}/logs/refs/remotes"
    found: dict[str, int] = {}
    for folder, _, names in os.walk(top):
        for name in names:
            if len(found) >= MAX_BRANCHES:
                return found
            path = f"{folder}/{name}"
            try:
                found[path[len(top) + 1 :]] = os.stat(path).st_size
            except OSError:
                pass  # its branch was deleted
    return found


def since(common: str, branch: str, size: int) -> list[tuple[str, str]]:
    """What was pushed to `REMOTE/BRANCH` since its log had that size, in order: commit, and whom git names."""
    try:
        with open(f"{common}/logs/refs/remotes/{branch}", "rb") as file:
            end = os.fstat(file.fileno()).st_size
            file.seek(max(size if size <= end else 0, end - MAX_READ_BYTES))
            rows = file.read(MAX_READ_BYTES).decode("utf-8", "replace").split("\n")
    except OSError:
        return []
    found = []
    for row in rows:
        said, tab, what = row.partition("\t")
        words = said.split(" ")
        if tab and what.startswith(PUSHED) and len(words) > FIELDS:
            found.append((words[1], " ".join(words[2:-2])))
    return found


def has_guard(common: str) -> bool:
    """Is dibs' own hook there, before a push?"""
    try:
        with open(f"{common}/hooks/pre-push", "rb") as file:
            return b"dibs" in file.read(MAX_READ_BYTES)
    except OSError:
        return False
