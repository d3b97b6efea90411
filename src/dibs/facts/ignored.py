"""Does git ignore a path? Without starting git where the answer is plainly no, which is what it mostly is.

The ignore files are read and each pattern is held against the path, generously: if none could match, the path is not
ignored. If one could, git itself is asked. Wrongly "not ignored" (a user's global ignore file is not read) only means
that a claim is taken which was not needed.
"""

from __future__ import annotations

import os

LARGEST = 256 * 1024  # bytes of an ignore file that are read; of a longer one, git is asked


def is_ignored(top: str, common: str, relative: str) -> bool:
    """Whether git ignores this path of the working tree at `top`."""
    if relative in {".git", ".dibs/local"} or relative.startswith((".git/", ".dibs/local/")):
        return True
    if not common or not relative:
        return False
    if not _may_be(top, common, relative):
        return False
    from dibs.facts import git

    return bool(git.is_ignored(top, [relative]))


def _may_be(top: str, common: str, relative: str) -> bool:
    """Could any pattern of any ignore file on the way match?"""
    parts = relative.split("/")
    if _file_may_match(f"{common}/info/exclude", parts):
        return True
    directory = top
    for place in range(len(parts)):
        if _file_may_match(f"{directory}/.gitignore", parts[place:]):
            return True
        directory = f"{directory}/{parts[place]}"
    return False


def _file_may_match(path: str, parts: list[str]) -> bool:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        text = os.read(fd, LARGEST)
    except OSError:
        return True
    finally:
        os.close(fd)
    if len(text) == LARGEST:
        return True
    return any(_may_match(row, parts) for row in text.decode("utf-8", "surrogateescape").split("\n"))


def _may_match(row: str, parts: list[str]) -> bool:
    """Could this line of an ignore file match the path, or a directory that it is in?"""
    row = row.rstrip("\r")
    if not row or row[0] in "#!":  # what only takes back makes nothing ignored
        return False
    row = row.rstrip()
    if "\\" in row or "[" in row:
        return True
    row = row.rstrip("/")
    if "/" not in row:
        return any(like(row, part) for part in parts)
    wanted = row.lstrip("/").split("/")
    if "**" in wanted:
        return True
    return len(wanted) <= len(parts) and all(like(one, other) for one, other in zip(wanted, parts, strict=False))


def like(pattern: str, name: str) -> bool:
    """Does a name match a pattern of literal letters, `*` and `?`?"""
    if "*" not in pattern and "?" not in pattern:
        return pattern == name
    place = mark = 0
    star = -1
    at = 0
    while at < len(name):
        if place < len(pattern) and pattern[place] == "*":
            star, mark = place, at
            place += 1
        elif place < len(pattern) and pattern[place] in ("?", name[at]):
            place += 1
            at += 1
        elif star >= 0:
            mark += 1
            place, at = star + 1, mark
        else:
            return False
    return pattern[place:].strip("*") == ""


def ignored_among(top: str, common: str, relatives: list[str]) -> set[str]:
    """Those of these paths that git ignores."""
    return {relative for relative in relatives if is_ignored(top, common, relative)}
