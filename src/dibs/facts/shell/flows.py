"""What commands read: where files' content flows, and which of it the agent sees.

The texts they print, as far as known, are in outputs.py; the commands that write are in writers.py.
"""

from __future__ import annotations

import os

from dibs.facts.shell.options import has, options
from dibs.facts.shell.unknown import ANY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.facts.shell.commands import Call
    from dibs.facts.shell.options import Given
    from dibs.facts.shell.unknown import Field

# Commands that print nothing on success.
SILENT = frozenset((
    ":", "[", "alias", "bg", "break", "cd", "chdir", "chgrp", "chmod", "chown", "continue", "cp", "declare", "disown",
    "exit", "export", "false", "getopts", "install", "kill", "ln", "local", "mapfile", "mkdir", "mkfifo", "mv", "read",
    "readarray", "readonly", "return", "rm", "rmdir", "set", "shift", "shopt", "sleep", "test", "touch", "trap", "true",
    "truncate", "typeset", "ulimit", "umask", "unalias", "unlink", "unset", "wait",
))  # fmt: skip

# Of these, some print the shell's state if nothing is to be set.
LISTING = frozenset(("alias", "declare", "export", "readonly", "set", "shopt", "trap", "typeset", "ulimit", "umask"))

# Commands that read the files they name → options with a value, short and long, and the number of operands before.
READERS: dict[str, tuple[str, tuple[str, ...], int]] = {
    "ack": ("ABCgm", (), 1),
    "ag": ("ABCGm", (), 1),
    "awk": ("fFv", ("file", "field-separator", "assign"), 1),
    "base64": ("w", ("wrap",), 0),
    "bat": ("lrHm", ("language", "line-range", "highlight-line", "style", "theme", "color", "paging"), 0),
    "batcat": ("lrHm", ("language", "line-range", "highlight-line", "style", "theme", "color", "paging"), 0),
    "cat": ("", (), 0),
    "column": ("cdsoN", ("separator", "output-separator"), 0),
    "comm": ("", (), 0),
    "cut": ("bcdf", ("bytes", "characters", "delimiter", "fields", "output-delimiter"), 0),
    "diff": ("CUIxXL", ("label", "unified", "context"), 0),
    "egrep": ("efmABCdD", ("regexp", "file", "max-count", "include", "exclude", "exclude-dir", "color"), 1),
    "expand": ("t", ("tabs",), 0),
    "fgrep": ("efmABCdD", ("regexp", "file", "max-count", "include", "exclude", "exclude-dir", "color"), 1),
    "fmt": ("wpg", ("width",), 0),
    "fold": ("w", ("width",), 0),
    "gawk": ("fFv", ("file", "field-separator", "assign"), 1),
    "grep": ("efmABCdD", ("regexp", "file", "max-count", "include", "exclude", "exclude-dir", "color"), 1),
    "gsed": ("efl", ("expression", "file", "line-length"), 1),
    "head": ("nc", ("lines", "bytes"), 0),
    "hexdump": ("efns", (), 0),
    "iconv": ("fto", ("from-code", "to-code", "output"), 0),
    "join": ("12taeo", (), 0),
    "jq": ("fL", ("from-file", "indent"), 1),
    "less": ("bhjkoOpPtTxyz", (), 0),
    "more": ("n", (), 0),
    "nl": ("bdfhilnsvw", (), 0),
    "od": ("AjNStw", (), 0),
    "paste": ("d", ("delimiters",), 0),
    "perl": ("eEIMm", (), 1),
    "rev": ("", (), 0),
    "rg": (
        "efgmABCtTrEMdj",
        ("regexp", "file", "glob", "max-count", "type", "type-not", "replace", "max-depth", "context", "sort", "color"),
        1,
    ),
    "sed": ("efl", ("expression", "file", "line-length"), 1),
    "sort": ("ktSTo", ("key", "field-separator", "buffer-size", "temporary-directory", "output", "parallel"), 0),
    "strings": ("ne", (), 0),
    "tac": ("s", ("separator",), 0),
    "tail": ("ncs", ("lines", "bytes", "sleep-interval", "pid"), 0),
    "uniq": ("fsw", (), 0),
    "xmllint": ("o", ("xpath", "output", "encode"), 0),
    "xxd": ("clos", (), 0),
    "yq": ("pos", ("input-format", "output-format", "split-exp", "from-file"), 1),
}  # fmt: skip

# Of these, the output shows the agent what is in the files.
SHOWS = frozenset((
    "bat", "batcat", "cat", "gsed", "head", "hexdump", "less", "more", "nl", "od", "sed", "strings", "tac", "tail",
    "xxd",
))  # fmt: skip

# Filters whose output shows enough of their input.
PASSES = SHOWS | frozenset((
    "ack", "ag", "column", "egrep", "expand", "fgrep", "fmt", "fold", "grep", "rg", "sort", "tee", "uniq",
))  # fmt: skip

_SCRIPTED = frozenset(("e", "f", "expression", "file", "regexp", "E", "from-file"))  # the first operand is a file then
_COUNTING = frozenset((
    "c", "count", "q", "quiet", "silent", "l", "files-with-matches", "L", "files-without-match", "files",
))  # fmt: skip
_GREPS = frozenset(("ack", "ag", "egrep", "fgrep", "grep", "rg"))


def flow(call: Call) -> None:
    """Note a simple command's input and output."""
    name = call.name
    if call.foreign:
        call.reading.prints(ANY)
        return
    if name in SILENT:
        if name in LISTING and call.words[1:] in ([], ["-p"]):
            call.reading.prints(ANY)
        return
    shown: list[tuple[str, str]] = []
    if name in READERS:
        short, long, _ = READERS[name]
        given, operands = options(call.words[1:], short, long)
        if name in {"sed", "gsed", "perl"} and any(option[:1] == "i" for option, _ in given):
            return  # in place: the table of writers handles it
        shown = _read(call, given, operands)
    elif name == "tee" and call.stdin:
        shown = call.stdin.files
    elif name == "git":
        shown = _git(call)
    call.reading.prints(call, shown)


def named(call: Call) -> list[Field]:
    """The files that a command of the table names."""
    short, long, first = READERS[call.name]
    given, operands = options(call.words[1:], short, long)
    return operands[0 if first and has(given, *_SCRIPTED) else first :]


def _read(call: Call, given: Given, operands: list[Field]) -> list[tuple[str, str]]:
    """A command that reads the files it names, or its input: which files' content it shows."""
    first = 0 if has(given, *_SCRIPTED) else READERS[call.name][2]
    names = [word for word in operands[first:] if word not in {"-", ""}]
    known = [name for name in names if isinstance(name, str) and (call.cwd is not None or name.startswith("/"))]
    files = [call.full(path) for path in known]
    for path in files:
        call.reading.read(path)
    shown = [(path, "") for path in files] if call.name in SHOWS else []
    counts = call.name in _GREPS and any(option in _COUNTING for option, _ in given)
    if call.stdin and not names and call.name in PASSES and not counts:
        shown += call.stdin.files
    return shown


# ------------------------------------------------------------------------------------------------------------------
# Git

_DIFF_VALUES = ("U", ("unified", "diff-filter", "output", "word-diff-regex", "color", "relative", "stat"))
_NO_CONTENT = ("stat", "name-only", "name-status", "numstat", "shortstat", "summary", "quiet", "q", "s", "cached",
               "staged", "no-patch", "dirstat", "check", "output")  # fmt: skip


def _git(call: Call) -> list[tuple[str, str]]:
    """`git diff FILE`, `git show REV:FILE`: only git itself knows what they show of a file."""
    if "diff" not in call.words and "show" not in call.words:
        return []
    from dibs.facts.shell.outputs import git_words, top

    cwd, words = git_words(call)
    if not words or words[0] not in {"diff", "show"} or cwd is None:
        return []
    given, operands = options(words[1:], *_DIFF_VALUES)
    found = []
    for word in () if has(given, *_NO_CONTENT) else operands:
        revision, colon, path = word.partition(":")
        if words[0] == "show" and colon and path:
            start = cwd if path.startswith(("./", "../")) else top(cwd)
            found += [(os.path.normpath(os.path.join(start, path)), "show")] if start and revision else []
        elif words[0] == "diff" and os.path.isfile(os.path.join(cwd, word)):
            found.append((os.path.normpath(os.path.join(cwd, word)), "diff"))
    return found
