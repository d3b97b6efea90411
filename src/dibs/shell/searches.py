"""The names that a search prints (`grep -rl x src`), as the files are now.

Asked only where a command writes the files that are found. A pattern is not evaluated: a file counts as found if it has
the longest plain text that the pattern requires, so no file is missed. With too many files nothing is known.
"""

from __future__ import annotations

import os

from dibs.shell import globs as shell_globs
from dibs.shell.options import has
from dibs.shell.unknown import MAX_NAMES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.shell.options import Given

MAX_FILES = 10_000  # searched; a tree of sources, without its packages
SEARCH_TIMEOUT_MS = 500  # for all of them
MAX_FILE_BYTES = 1 << 20  # of a file that is searched; a longer one counts as found
_LEAST = 2  # characters of a text worth searching for


def needed(pattern: str, *, literal: bool) -> str:
    """A text that every line that matches has in it; "" if there is none to be told."""
    if literal:
        return pattern
    for sign in ("\\b", "\\<", "\\>", "^", "$"):
        pattern = pattern.replace(sign, "\0")
    pattern = pattern.replace("\\.", "\1").replace("\\/", "/").replace(".", "\0").replace("\1", ".")
    if any(sign in pattern for sign in "\\|*?{}()[]+\n"):
        return ""
    return max(pattern.split("\0"), key=len)


def matching(cwd: str, text: str, roots: list[str], given: Given) -> list[str] | None:
    """The files below these places, or these files, with a text in them; None if they are too many."""
    if len(text) < _LEAST or has(given, "v", "L", "invert-match", "files-without-match", "R", "f", "file"):
        return None
    anycase = has(given, "i", "ignore-case", "y", "S", "smart-case")
    wanted = (text.lower() if anycase else text).encode("utf-8", "surrogateescape")
    from dibs.machine import clock

    matches: list[str] = []
    files = _files(cwd, roots, given)
    until = clock.since_boot() + SEARCH_TIMEOUT_MS
    if len(files) > MAX_FILES:
        return None
    for name in files:
        if clock.since_boot() > until:
            return None
        if _contains(os.path.join(cwd, name), wanted, anycase=anycase):
            matches.append(name)
            if len(matches) > MAX_NAMES:
                return None
    return matches


def _files(cwd: str, roots: list[str], given: Given) -> list[str]:
    """The files that are searched, by the names that the search prints."""
    only = _globs(given, "include")
    without, not_in = _globs(given, "exclude"), [*_globs(given, "exclude-dir"), shell_globs.of_text(".git")]
    for option, value in given:  # `rg -g '!x.py'`
        if option in {"g", "glob"} and isinstance(value, str) and value.startswith("!"):
            without.append(shell_globs.of_text(value[1:].rstrip("/")))
            not_in.append(without[-1])
    paths: list[str] = []
    for root in roots or [""]:
        top = os.path.join(cwd, root)
        if os.path.isfile(top):
            paths.append(root)
            continue
        for folder, folders, files in os.walk(top):
            below = os.path.join(root, os.path.relpath(folder, top)) if folder != top else root
            below = "" if below == "." and not root else below
            folders[:] = [name for name in folders if not _is_one(not_in, name, below)]
            names = [name for name in files if not only or any(shell_globs.matches(pattern, name) for pattern in only)]
            names = [name for name in names if not _is_one(without, name, below)]
            paths += [os.path.join(below, name) if below else name for name in names]
            if len(paths) > MAX_FILES:
                return paths
    return paths


def _globs(given: Given, name: str) -> list[list[shell_globs.Atom]]:
    return [shell_globs.of_text(value) for option, value in given if option == name and isinstance(value, str)]


def _is_one(patterns: list[list[shell_globs.Atom]], name: str, below: str) -> bool:
    """Does a name match, or the path that it has in the search?"""
    path = os.path.normpath(os.path.join(below, name))
    return any(shell_globs.matches(pattern, name) or shell_globs.matches(pattern, path) for pattern in patterns)


def _contains(path: str, wanted: bytes, *, anycase: bool) -> bool:
    try:
        if os.path.islink(path):
            return False
        with open(path, "rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
    except OSError:
        return False
    return len(data) > MAX_FILE_BYTES or wanted in (data.lower() if anycase else data)
