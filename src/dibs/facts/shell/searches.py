"""The names that a search prints (`grep -rl x src`, `git ls-files`, `git diff --name-only`), as the files are now.

Asked only where a command writes the files that are found. A pattern is not evaluated: a file counts as found if it has
the longest plain text that the pattern requires, so no file is missed. With too many files nothing is known.
"""

from __future__ import annotations

import os

from dibs.facts.shell import globs as shell_globs
from dibs.facts.shell.options import has
from dibs.facts.shell.unknown import MAX_BEGINNINGS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.facts.shell.options import Given

MAX_FILES = 1_500  # searched; a tree of sources, without its packages
MAX_FILE_BYTES = 1 << 20  # of a file that is searched; a longer one counts as found
GIT_TIMEOUT_S = 1.0
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
    found: list[str] = []
    left = MAX_FILES
    for name in _files(cwd, roots, given):
        left -= 1
        if left < 0:
            return None
        if _contains(os.path.join(cwd, name), wanted, anycase=anycase):
            found.append(name)
            if len(found) > MAX_BEGINNINGS:
                return None
    return found


def _files(cwd: str, roots: list[str], given: Given) -> list[str]:
    """The files that are searched, by the names that the search prints."""
    only = [shell_globs.of_text(value) for option, value in given if option == "include" and isinstance(value, str)]
    found: list[str] = []
    for root in roots or [""]:
        top = os.path.join(cwd, root)
        if os.path.isfile(top):
            found.append(root)
            continue
        for folder, folders, files in os.walk(top):
            folders[:] = [name for name in folders if name != ".git"]
            below = os.path.join(root, os.path.relpath(folder, top)) if folder != top else root
            below = "" if below == "." and not root else below
            names = [name for name in files if not only or any(shell_globs.matches(one, name) for one in only)]
            found += [os.path.join(below, name) if below else name for name in names]
            if len(found) > MAX_FILES:
                return found
    return found


def _contains(path: str, wanted: bytes, *, anycase: bool) -> bool:
    try:
        if os.path.islink(path):
            return False
        with open(path, "rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
    except OSError:
        return False
    return len(data) > MAX_FILE_BYTES or wanted in (data.lower() if anycase else data)


_GIT: dict[str, tuple[str, ...]] = {
    "ls-files": ("-z", "-c", "--cached", "-m", "--modified", "-d", "--deleted"),
    "diff": ("-z", "--name-only", "--cached", "--staged", "--no-renames", "HEAD"),
}


def by_git(cwd: str, words: list[str]) -> list[str] | None:
    """What git lists; None if it is too much, or if git is asked in a way that is not known here."""
    allowed = _GIT.get(words[0])
    if allowed is None:
        return None
    options = [word for word in words[1:] if word.startswith("-") and word != "--"]
    if any(word not in allowed and not word.startswith("--diff-filter=") for word in options):
        return None
    from dibs.errors import DibsError
    from dibs.facts.git import queries

    plain = ["diff", "-z", "--no-ext-diff", "--no-textconv"] if words[0] == "diff" else ["ls-files", "-z"]
    try:
        out = queries.ask(cwd, *queries.PLAIN, *plain, *words[1:], timeout=GIT_TIMEOUT_S).out
    except (DibsError, OSError):
        return None
    names = [os.fsdecode(name) for name in out.split(b"\0") if name]
    return names if len(names) <= MAX_BEGINNINGS else None
