"""Does git ignore a path? Git is started only where the answer is not plainly no, which is rare.

The ignore files are read and each pattern is matched loosely against the path: if none could match, the path is not
ignored. If one could, git itself is asked. A wrong "not ignored" (a user's global ignore file is not read) only costs
an unneeded claim.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_IGNORE_FILE_BYTES = 256 * 1024  # git is asked about a longer one


def ignored_among(top: str, common: str, relatives: Iterable[str]) -> set[str]:
    """The ignored ones of these paths; git is asked once for all that could be.

    A missing path with another one below it will be a folder: a pattern for folders (`build/`) matches it.
    """
    found: set[str] = set()
    relatives = list(relatives)
    folders = {relative[:place] for relative in relatives for place in _slashes(relative)}
    doubtful: dict[str, str] = {}  # the form given to git → the path
    files: dict[str, list[str] | None] = {}  # ignore files that were read
    for relative in relatives:
        if relative in {".git", ".dibs/local"} or relative.startswith((".git/", ".dibs/local/")):
            found.add(relative)
        elif common and relative and _may_be(top, common, relative, files):
            doubtful[relative] = relative
            if relative in folders and not os.path.lexists(f"{top}/{relative}"):
                doubtful[f"{relative}/"] = relative
    if doubtful:
        from dibs.git import queries as git

        found |= {doubtful[name] for name in git.is_ignored(top, [*doubtful])}
    return found


def _slashes(path: str) -> list[int]:
    return [place for place, letter in enumerate(path) if letter == "/"]


def _may_be(top: str, common: str, relative: str, files: dict[str, list[str] | None]) -> bool:
    """Could any pattern of any ignore file above the path match?"""
    parts = relative.split("/")
    if _file_may_match(f"{common}/info/exclude", parts, files):
        return True
    directory = top
    for place in range(len(parts)):
        if _file_may_match(f"{directory}/.gitignore", parts[place:], files):
            return True
        directory = f"{directory}/{parts[place]}"
    return False


def _file_may_match(path: str, parts: list[str], files: dict[str, list[str] | None]) -> bool:
    if path not in files:
        files[path] = _rows(path)
    rows = files[path]
    return rows is None or any(_may_match(row, parts) for row in rows)


def _rows(path: str) -> list[str] | None:
    """The lines of an ignore file; None for one that cannot be read."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return []
    try:
        text = os.read(fd, MAX_IGNORE_FILE_BYTES)
    except OSError:
        return None
    finally:
        os.close(fd)
    return None if len(text) == MAX_IGNORE_FILE_BYTES else text.decode("utf-8", "surrogateescape").split("\n")


def _may_match(row: str, parts: list[str]) -> bool:
    """Could this line of an ignore file match the path, or a directory that it is in?"""
    row = row.rstrip("\r")
    if not row or row[0] in "#!":  # a negation makes nothing ignored
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


def hide(common: str, pattern: str) -> None:
    """Let git ignore what matches, in all working trees of this repository and in no commit."""
    path = f"{common}/info/exclude"
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "a+", encoding="utf-8", errors="surrogateescape") as file:
            file.seek(0)
            text = file.read()
            if pattern not in text.split("\n"):
                file.write(f"{pattern}\n" if not text or text.endswith("\n") else f"\n{pattern}\n")
    except OSError:
        pass  # a sandbox; git lists it as untracked then
