"""Which commits were made in a working tree since a moment ago: git's own diary of HEAD, read without starting git.

Git writes there whatever moves HEAD, also where its hooks are switched off (`-c core.hooksPath=`, a client that does so
in its shell).
"""

from __future__ import annotations

import os

MOST = 256 * 1024  # bytes of the diary that are read
FIELDS = 2  # before the tab: the old and the new commit come first


def size(top: str) -> int:
    """How long the diary is now; 0 where there is none."""
    try:
        return os.stat(_path(top)).st_size
    except OSError:
        return 0


def commits_since(top: str, before: int) -> list[str]:
    """The commits that were made here since the diary was that long, in order."""
    try:
        with open(_path(top), "rb") as file:
            if os.fstat(file.fileno()).st_size <= before:
                return []
            file.seek(before)
            text = file.read(MOST).decode("utf-8", "replace")
    except OSError:
        return []
    found = []
    for row in text.split("\n"):
        said, tab, what = row.partition("\t")
        words = said.split(" ")
        if tab and what.startswith("commit") and len(words) > FIELDS:
            found.append(words[1])
    return found


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
