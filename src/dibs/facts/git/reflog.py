"""What moved HEAD in a working tree since a moment ago, and which commits were made: git's own diary, read by itself.

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
    found = []
    for row in _rows(top, before):
        said, tab, what = row.partition("\t")
        words = said.split(" ")
        if tab and what.startswith("commit") and len(words) > FIELDS:
            found.append(words[1])
    return found


def moves_since(top: str, before: int) -> list[tuple[int, str, str, str]]:
    """What moved HEAD here since the diary was that long, in order.

    Of each: where its line ends in the diary, the old commit ("" for the first), the new one, and what git says. A
    branch that is moved by its name (`update-ref`, `branch -f`) is in it while it is checked out; what is said is then
    empty, or what the command gave. Another branch at the same commit is a move, too.
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
    """What was written since the diary was that long; nothing where it is shorter now, or was never there."""
    try:
        with open(_path(top), "rb") as file:
            if os.fstat(file.fileno()).st_size <= before:
                return []
            file.seek(before)
            return file.read(MOST).decode("utf-8", "surrogateescape").split("\n")
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
