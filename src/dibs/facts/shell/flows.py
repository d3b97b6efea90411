"""What commands read and print: which files' content flows where, and the text of those that only work on their words.

A command that is not in these tables prints something that nobody knows. Which commands write is in `writers`.
"""

from __future__ import annotations

import os

from dibs.facts.shell.options import has, last, options

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.facts.shell.commands import Call
    from dibs.facts.shell.options import Words

COUNTED = 1_000  # numbers that `seq` may give

# Commands that print nothing when all goes well.
SILENT = frozenset((
    ":", "[", "alias", "bg", "break", "cd", "chdir", "chgrp", "chmod", "chown", "continue", "cp", "declare", "disown",
    "exit", "export", "false", "getopts", "install", "kill", "ln", "local", "mapfile", "mkdir", "mkfifo", "mv", "read",
    "readarray", "readonly", "return", "rm", "rmdir", "set", "shift", "shopt", "sleep", "test", "touch", "trap", "true",
    "truncate", "typeset", "ulimit", "umask", "unalias", "unlink", "unset", "wait",
))  # fmt: skip

# Commands that read the files they name → options with a value, short and long, and how many operands come before.
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

# Of what comes in, enough goes out for whoever looks at it.
PASSES = SHOWS | frozenset((
    "ack", "ag", "column", "egrep", "expand", "fgrep", "fmt", "fold", "grep", "rg", "sort", "tee", "uniq",
))  # fmt: skip

_SCRIPTED = frozenset(("e", "f", "expression", "file", "regexp", "E", "from-file"))  # the first operand is a file then
_COUNTING = frozenset((
    "c", "count", "q", "quiet", "silent", "l", "files-with-matches", "L", "files-without-match", "files",
))  # fmt: skip
_GREPS = frozenset(("ack", "ag", "egrep", "fgrep", "grep", "rg"))


def flow(call: Call) -> None:
    """What a simple command takes in and puts out."""
    name = call.name
    if name in READERS:
        _read(call)
    elif name in TEXTS:
        call.reading.prints(TEXTS[name](call))
    elif name == "tee":
        given = call.stdin
        call.reading.prints(given.text if given else None, given.files if given else ())
    elif name == "git":
        _git(call)
    elif name not in SILENT:
        call.reading.prints(None)


def _read(call: Call) -> None:
    """A command that reads what it names, or its input."""
    short, long, first = READERS[call.name]
    given, operands = options(call.words[1:], short, long)
    if first and has(given, *_SCRIPTED):
        first = 0
    named = [word for word in operands[first:] if word not in {None, "-", ""}]
    files = [call.full(path) for path in named if path and (call.cwd is not None or path.startswith("/"))]
    if call.name in {"sed", "gsed", "perl"} and any(option[:1] == "i" for option, _ in given):
        return  # in place: they say so themselves
    for path in files:
        call.reading.read(path)
    counts = call.name in _GREPS and any(option in _COUNTING for option, _ in given)
    shown = [(path, "") for path in files] if call.name in SHOWS else []
    text = None
    if call.stdin and not named:
        if call.name == "cat":
            text = call.stdin.text
        if call.name in PASSES and not counts:
            shown = [*shown, *call.stdin.files]
    call.reading.prints(text, shown)


# ------------------------------------------------------------------------------------------------------------------
# Git

_DIFF_VALUES = ("U", ("unified", "diff-filter", "output", "word-diff-regex", "color", "relative", "stat"))
_NO_CONTENT = ("stat", "name-only", "name-status", "numstat", "shortstat", "summary", "quiet", "q", "s", "cached",
               "staged", "no-patch", "dirstat", "check", "output")  # fmt: skip


def _git(call: Call) -> None:
    """`git diff FILE`, `git show REV:FILE`: what they show of a file as it is, git itself has to be asked."""
    end, cwd = 1, call.cwd
    while end < len(call.words) and (call.words[end] or "x").startswith("-"):
        if call.words[end] == "-C":
            there = call.words[end + 1] if end + 1 < len(call.words) else None
            cwd = os.path.join(cwd or "", there) if there and (cwd or there.startswith("/")) else None
        end += 2 if call.words[end] in {"-C", "-c"} else 1
    known = [word for word in call.words[end:] if word is not None]
    if not known or len(known) + end != len(call.words):
        call.reading.prints(None)
    elif known == ["rev-parse", "--show-toplevel"]:
        call.reading.prints(_line(top(cwd)))
    elif known[0] in {"diff", "show"} and cwd is not None:
        given, operands = options([*known[1:]], *_DIFF_VALUES)
        shown = [] if has(given, *_NO_CONTENT) else _shown_by_git(known[0], operands, cwd)
        call.reading.prints(None, shown)
    else:
        call.reading.prints(None)


def _shown_by_git(name: str, operands: Words, cwd: str) -> list[tuple[str, str]]:
    found = []
    for word in operands:
        revision, colon, path = (word or "").partition(":")
        if name == "show" and colon and path:
            start = cwd if path.startswith(("./", "../")) else top(cwd)
            found += [(os.path.normpath(os.path.join(start, path)), "show")] if start and revision else []
        elif name == "diff" and word and os.path.isfile(os.path.join(cwd, word)):
            found.append((os.path.normpath(os.path.join(cwd, word)), "diff"))
    return found


def top(cwd: str | None) -> str | None:
    """The top of the working tree."""
    if cwd is None:
        return None
    here = os.path.realpath(cwd)
    while not os.path.exists(os.path.join(here, ".git")):
        above = os.path.dirname(here)
        if above == here:
            return None
        here = above
    return here


# ------------------------------------------------------------------------------------------------------------------
# Commands that only work on their words


def _line(text: str | None) -> str | None:
    return None if text is None else text + "\n"


def _known(call: Call) -> list[str] | None:
    """The words behind the command's name, if all are known."""
    known = [word for word in call.words[1:] if word is not None]
    return known if len(known) + 1 == len(call.words) else None


_ESCAPES = {"n": "\n", "t": "\t", "\\": "\\", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "f": "\f", "v": "\v",
            '"': '"', "'": "'"}  # fmt: skip


def _escaped(text: str) -> str | None:
    """A text with its backslashes resolved; None for those that are not in the table."""
    if "\\" not in text:
        return text
    found, i = "", 0
    while i < len(text):
        if text[i] != "\\":
            found += text[i]
            i += 1
        elif text[i + 1 : i + 2] in _ESCAPES:
            found += _ESCAPES[text[i + 1]]
            i += 2
        else:
            return None
    return found


def _echo(call: Call) -> str | None:
    words = _known(call)
    if words is None:
        return None
    newline, escapes = "\n", None
    while words and words[0][:1] == "-" and words[0][1:] and not words[0][1:].strip("neE"):
        option = words.pop(0)
        newline = "" if "n" in option else newline
        escapes = True if "e" in option else False if "E" in option else escapes
    text = " ".join(words)
    if "\\" in text and not escapes:  # some shells resolve them and others do not
        return text + newline if escapes is False else None
    done = _escaped(text) if escapes else text
    return None if done is None else done + newline


def _printf(call: Call) -> str | None:
    words = _known(call)
    if not words or words[0].startswith("-"):
        if words and words[0] == "--":
            words = words[1:]
        else:
            return "" if words and words[0] == "-v" else None
    form = _escaped(words[0]) if words else None
    if form is None:
        return None
    pieces = form.replace("%%", "\0").split("%")
    rest = words[1:]
    if any(piece[:1] not in {"s", "d"} for piece in pieces[1:]):
        return None
    text = pieces[0]
    while True:
        for piece in pieces[1:]:
            value = rest.pop(0) if rest else "" if piece[0] == "s" else "0"
            if piece[0] == "d" and not value.isdigit():
                return None
            text += value + piece[1:]
        if not rest or len(pieces) == 1:
            return text.replace("\0", "%")
        text += pieces[0]


def _pwd(call: Call) -> str | None:
    return _line(call.cwd) if len(call.words) == 1 else None


def _dirname(call: Call) -> str | None:
    words = _known(call)
    if not words or len(words) != 1 or words[0].startswith("-"):
        return None
    return _line(os.path.dirname(words[0].rstrip("/")) or ("/" if words[0].startswith("/") else "."))


def _basename(call: Call) -> str | None:
    words = _known(call)
    if not words or len(words) not in {1, 2} or words[0].startswith("-"):
        return None
    base = os.path.basename(words[0].rstrip("/"))
    return _line(base.removesuffix(words[1]) or base if len(words) > 1 else base)


def _seq(call: Call) -> str | None:
    words = _known(call) or []
    if not 1 <= len(words) <= 3 or not all(word.isascii() and word.isdigit() and len(word) < 10 for word in words):  # noqa: PLR2004
        return None
    numbers = [int(word) for word in words]
    first, final = (1, numbers[0]) if len(numbers) == 1 else (numbers[0], numbers[-1])
    counted = range(first, final + 1, numbers[1] or 1 if len(numbers) > 2 else 1)  # noqa: PLR2004 - from, step, to
    return "".join(f"{number}\n" for number in counted) if len(counted) <= COUNTED else None


def _mktemp(call: Call) -> str | None:
    """A name that nobody has yet, and so nobody holds. Any will do that lies where it will."""
    given, operands = call.options("p", ("tmpdir", "suffix"))
    folder = os.environ.get("TMPDIR", "").rstrip("/") or "/tmp"  # noqa: S108 - where mktemp looks, nothing is made here
    template = operands[0] if operands else "tmp.XXXXXXXXXX"
    place = last(given, "p", "tmpdir")
    suffix = last(given, "suffix")
    if template is None or place is None or suffix is None:
        return None
    if template.startswith("/"):
        return _line(template)
    if (operands and not has(given, "t", "p", "tmpdir")) or (place and not place.startswith("/")):
        return None  # below the directory where it is run: what lies there may be somebody's
    return _line(os.path.join(place or folder, template + suffix))


TEXTS: dict[str, Callable[[Call], str | None]] = {
    "basename": _basename,
    "dirname": _dirname,
    "echo": _echo,
    "mktemp": _mktemp,
    "printf": _printf,
    "pwd": _pwd,
    "seq": _seq,
}
