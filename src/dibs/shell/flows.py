"""What commands read: where files' content flows, and which of it the agent sees.

The texts they print, as far as known, are in outputs.py.
"""

from __future__ import annotations

import os

from dibs.shell.options import has, options
from dibs.shell.programs import GIT
from dibs.shell.unknown import ANY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.shell.call import ProgramCall
    from dibs.shell.options import Given
    from dibs.shell.streams import Shown
    from dibs.shell.unknown import Field

_SCRIPTED = frozenset(("e", "f", "expression", "file", "regexp", "E", "from-file"))  # the first operand is a file then
_COUNTING = frozenset((
    "c", "count", "q", "quiet", "silent", "l", "files-with-matches", "L", "files-without-match", "files",
))  # fmt: skip


def flow(call: ProgramCall) -> None:
    """Note a simple command's input and output."""
    row = call.program
    if call.foreign:
        call.reading.prints(ANY)
        return
    if "silent" in row:
        if "lists" in row and call.words[1:] in ([], ["-p"]):
            call.reading.prints(ANY)
        return
    shown: list[Shown] = []
    if "reads" in row:
        given, files = file_operands(call)
        if "in_place" in row and any(option[:1] == "i" for option, _ in given):
            return  # the writer handles it
        shown = _read(call, given, files)
    elif row.get("prints") == "copy" and call.stdin:
        shown = call.stdin.files
    elif call.name == GIT:
        shown = _git(call)
    call.reading.prints(call, shown)


def file_operands(call: ProgramCall) -> tuple[Given, list[Field]]:
    """The options of a command that reads files, and the files that it names."""
    short, long, first = call.program["reads"]
    given, operands = options(call.words[1:], short, tuple(long.split()))
    return given, operands[0 if has(given, *_SCRIPTED) else first :]


def _read(call: ProgramCall, given: Given, files: list[Field]) -> list[Shown]:
    """A command that reads the files it names, or its input: which files' content it shows."""
    names = [word for word in files if word not in {"-", ""}]
    known = [name for name in names if isinstance(name, str) and (call.cwd is not None or name.startswith("/"))]
    paths = [call.full(path) for path in known]
    for path in paths:
        call.reading.read(path)
    shows = "shows" in call.program
    shown = [(path, "") for path in paths] if shows else []
    counts = "search" in call.program and any(option in _COUNTING for option, _ in given)
    if call.stdin and not names and (shows or "passes" in call.program) and not counts:
        shown += call.stdin.files
    return shown


# ------------------------------------------------------------------------------------------------------------------
# Git

_DIFF_VALUES = ("U", ("unified", "diff-filter", "output", "word-diff-regex", "color", "relative", "stat"))
_NO_CONTENT = ("stat", "name-only", "name-status", "numstat", "shortstat", "summary", "quiet", "q", "s", "cached",
               "staged", "no-patch", "dirstat", "check", "output")  # fmt: skip


def git_output(call: ProgramCall) -> None:
    """`git diff --output=FILE`, `git archive -o FILE`."""
    for index, word in enumerate(call.words):
        if not isinstance(word, str) or not word.startswith(("--output", "-o")):
            continue
        if word.startswith("--output="):
            call.write(word[9:])
        elif word == "--output" or (word == "-o" and "archive" in call.words[:index]):
            call.write(call.words[index + 1] if index + 1 < len(call.words) else ANY)


def _git(call: ProgramCall) -> list[Shown]:
    """`git diff FILE`, `git show REV:FILE`: only git itself knows what they show of a file."""
    if "diff" not in call.words and "show" not in call.words:
        return []
    from dibs.shell.git_outputs import git_words, top

    cwd, words = git_words(call)
    if not words or words[0] not in {"diff", "show"} or cwd is None:
        return []
    given, operands = options(words[1:], *_DIFF_VALUES)
    shown = []
    for word in () if has(given, *_NO_CONTENT) else operands:
        revision, colon, path = word.partition(":")
        if words[0] == "show" and colon and path:
            start = cwd if path.startswith(("./", "../")) else top(cwd)
            shown += [(os.path.normpath(os.path.join(start, path)), "show")] if start and revision else []
        elif words[0] == "diff" and os.path.isfile(os.path.join(cwd, word)):
            shown.append((os.path.normpath(os.path.join(cwd, word)), "diff"))
    return shown
