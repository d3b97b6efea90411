"""What commands print, as far as it is known from their words and their input.

The whole text for commands that only use their words (`echo`, `basename`, `seq`); the beginning of each line for
commands that print file names (`find lib`, `grep -l x lib`) or pass on their input (`head`, `sort`).
"""

from __future__ import annotations

import os

from dibs.facts import caller, links
from dibs.facts.shell.options import has, last, options
from dibs.facts.shell.unknown import ANY, MAX_NAMES, PLAIN, Later, Unknown, between, either

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.facts.shell.commands import Call
    from dibs.facts.shell.options import Given
    from dibs.facts.shell.unknown import Field

MAX_SEQ_NUMBERS = 1_000  # printed by `seq`
MAX_LIST_BYTES = 262_144  # of a file with names in it

# These print a number, a date or a name: nothing that leads out of a folder.
_PLAIN = frozenset((
    "arch", "b2sum", "bc", "cal", "cksum", "date", "dc", "df", "du", "expr", "factor", "getconf", "groups", "hostid",
    "hostname", "id", "jobs", "jot", "logname", "ls", "lsof", "md5", "md5sum", "nproc", "numfmt", "openssl", "pgrep",
    "pidof", "ps", "pwgen", "sha1sum", "sha256sum", "sha512sum", "shasum", "stat", "sum", "tty", "uname", "uptime",
    "uuidgen", "wc", "whoami",
))  # fmt: skip
# These print their input, or some of its lines.
_PASS = frozenset(("cat", "head", "less", "more", "shuf", "sort", "sponge", "tac", "tail", "tee", "uniq"))
# These print something made from their input.
_CHANGE = frozenset(("awk", "column", "cut", "fmt", "fold", "gawk", "gsed", "nl", "paste", "perl", "rev", "sed", "tr"))
_GREPS = frozenset(("ack", "ag", "egrep", "fgrep", "grep", "rg"))
_RECURSE = frozenset(("ack", "ag", "rg"))  # search below the directory, without operands


def piece(call: Call) -> Field:
    """What a command prints."""
    name = call.name
    special = _SPECIAL.get(name)
    if special:
        return special(call)
    if name in _GREPS:
        return _grep(call)
    if name in _PASS or name in _CHANGE:
        return _filter(call)
    return PLAIN if name in _PLAIN else ANY


def _filter(call: Call) -> Field:
    """A command between pipes."""
    from dibs.facts.shell.flows import READERS, named

    names = [word for word in named(call) if word != "-"] if call.name in READERS else []
    if call.name == "tr":
        names = []
    if names and call.name in _PASS:
        return _of_files(call, names)
    if names or not call.stdin:
        return ANY
    if call.name in {"cat", "tee"} and call.words[1:2] != ["-A"]:
        return call.stdin.lines if call.stdin.text is None else call.stdin.text
    lines = call.stdin.lines
    if call.name in {"sed", "gsed"} and lines.whole:
        return _substituted(call, lines)
    if call.name in _PASS:
        return lines
    return lines.begun() if call.name in {"cut", "awk", "gawk"} and _first_column(call) else lines.inside()


def _substituted(call: Call, lines: Unknown) -> Unknown:
    """The known lines of `sed 's/a/b/'`; of another program, something made from them."""
    from dibs.facts.shell import regexes

    given, operands = call.options("efl", ("expression", "file", "line-length"))
    programs = [value for option, value in given if option in {"e", "expression"}] or operands[:1]
    kind = regexes.EXTENDED if has(given, "E", "r", "regexp-extended") else regexes.BASIC
    known = [one for one in programs if isinstance(one, str)]
    plain = len(known) == len(programs) and all(option in _SED_OPTIONS for option, _ in given)
    change = regexes.substitution(";".join(known), kind) if plain else None
    return lines.inside() if change is None else Unknown([change(line) for line in lines.below or ()], whole=True)


_SED_OPTIONS = frozenset(("e", "expression", "E", "r", "regexp-extended"))


def _of_files(call: Call, names: list[Field]) -> Field:
    """Lines of files that the command has not written itself: as they are now."""
    known = [call.full(name) for name in names if isinstance(name, str)]
    if len(known) < len(names) or call.cwd is None or call.reading.opened or any(map(call.reading.is_written, known)):
        return ANY
    return either([lines_of(path) for path in known])


def lines_of(path: str) -> Unknown:
    """The lines of a short file; anything, if it is long or cannot be read."""
    try:
        if os.stat(path).st_size > MAX_LIST_BYTES or not os.path.isfile(path):
            return ANY
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            lines = file.read(MAX_LIST_BYTES).splitlines()
    except (OSError, ValueError):
        return ANY
    return Unknown([line.strip() for line in lines if line.strip()], whole=True)


def _first_column(call: Call) -> bool:
    """Does the command keep the beginning of each line?"""
    words = [word for word in call.words[1:] if isinstance(word, str)]
    text = " ".join(words)
    if call.name == "cut":
        return any(sign in f"{text} " for sign in ("-f1 ", "-f 1 ", "-f1,", "-c1-", "-c 1-"))
    return "{print $1}" in text or "{ print $1 }" in text


# ------------------------------------------------------------------------------------------------------------------
# Names of files


def folder(name: Field) -> Field:
    """The beginning of the names found below a starting point."""
    if isinstance(name, Unknown):
        return name
    return name if name.endswith("/") or os.path.splitext(name)[1] else name + "/"


def _grep(call: Call) -> Field:
    """File names, lines after their file names, or lines alone."""
    from dibs.facts.shell.flows import READERS, named

    given, _ = options(call.words[1:], *READERS[call.name][:2])
    names = named(call)
    if call.name in {"rg", "ag", "ack"} and has(given, "files", "g", "f"):
        _, names = options(call.words[1:], *READERS[call.name][:2])
    if has(given, "h", "no-filename", "I", "o", "only-matching", "c", "count") and not has(given, "l", "L", "r", "R"):
        return PLAIN if has(given, "c", "count") else ANY
    deep = call.name in _RECURSE or has(given, "r", "R", "recursive", "dereference-recursive", "d")
    if has(given, "l", "files-with-matches") and not call.reading.opened and call.cwd is not None:
        around = either([_below(call, name) for name in names]) if names else PLAIN
        if names or (deep and not (call.stdin and call.stdin.pieces)):
            return _searched(call, given, names, around)
    if names:
        several = len(names) > 1 or deep or has(given, "l", "L", "H", "files-with-matches", "with-filename")
        alone = PLAIN if has(given, "n") else _of_files(call, names)
        return either([_below(call, name) for name in names]) if several else alone
    if call.stdin and (call.stdin.pieces or call.stdin.file):
        return PLAIN if has(given, "n", "line-number") else _kept(call, given)
    return PLAIN if deep else ANY


def _kept(call: Call, given: Given) -> Unknown:
    """The lines of the input that match, or with -v those that do not, where they are known."""
    assert call.stdin is not None, "asked for only with an input"
    lines = call.stdin.lines
    if not lines.whole or has(given, "o", "only-matching", "f", "file", "A", "B", "C", "w", "x", "z"):
        return lines if not has(given, "o", "only-matching") else lines.inside()
    from dibs.facts.shell import regexes
    from dibs.facts.shell.flows import READERS

    patterns = [value for option, value in given if option in {"e", "regexp"}]
    patterns = patterns or [*options(call.words[1:], *READERS[call.name][:2])[1][:1]]
    fixed = call.name == "fgrep" or has(given, "F", "fixed-strings")
    perl = has(given, "P", "perl-regexp") or call.name in {"rg", "ag", "ack"}
    extended = call.name == "egrep" or has(given, "E", "extended-regexp")
    kind = regexes.FIXED if fixed else regexes.PERL if perl else regexes.EXTENDED if extended else regexes.BASIC
    found = [
        regexes.compiled(pattern, kind, anycase=has(given, "i", "ignore-case", "y", "S", "smart-case"))
        for pattern in patterns
        if isinstance(pattern, str)
    ]
    known = [pattern for pattern in found if pattern is not None]
    if len(known) != len(patterns):
        return lines
    dropped = has(given, "v", "invert-match")
    kept = [line for line in lines.below or () if any(one.search(line) for one in known) != dropped]
    return Unknown(kept, whole=True)


def _searched(call: Call, given: Given, names: list[Field], around: Unknown) -> Field:
    """The files with the text that is searched for; all that are searched, if it is no plain one."""
    from dibs.facts.shell.flows import READERS

    patterns = [value for option, value in given if option in {"e", "regexp"}]
    if not patterns:
        patterns = [*options(call.words[1:], *READERS[call.name][:2])[1][:1]]
    roots = [name for name in names if isinstance(name, str)]
    if len(patterns) != 1 or not isinstance(patterns[0], str) or len(roots) != len(names):
        return around
    pattern, cwd = patterns[0], call.cwd or ""

    def look() -> Unknown:
        from dibs.facts.shell import searches as shell_searches

        literal = call.name == "fgrep" or has(given, "F", "fixed-strings")
        found = shell_searches.matching(cwd, shell_searches.needed(pattern, literal=literal), roots, given)
        return around if found is None else Unknown(found, whole=True)

    return Later(look)


def _below(call: Call, name: Field) -> Field:
    """A file itself, or names that begin with a folder."""
    if isinstance(name, Unknown) or os.path.isfile(call.full(name)):
        return name
    return name if name.endswith("/") else name + "/"


def _find(call: Call) -> Field:
    words = call.words[1:]
    while words and words[0] in {"-H", "-L", "-P"}:
        words = words[1:]
    end = 0
    while end < len(words) and not str(words[end]).startswith(("-", "(", "!", ",")):
        end += 1
    rest = [word for word in words[end:] if isinstance(word, str)]
    if "-printf" in rest:
        form = rest[rest.index("-printf") + 1 :]
        if not form or not form[0].startswith("%p"):
            return PLAIN if form and form[0].startswith(("%f", "%P", "%T", "%s", "%C", "%A", "%h")) and not end else ANY
    if any(word in {"-exec", "-execdir"} for word in rest):
        runs = rest[min(rest.index(word) for word in rest if word in {"-exec", "-execdir"}) + 1 :]
        if runs[:1] not in (["grep"], ["rg"], ["ls"], ["echo"], ["wc"], ["test"]):
            return ANY
    around = either([_below(call, root) for root in words[:end]] or ["./"])
    if call.reading.opened:  # an earlier command may have made files that it finds
        return around

    def look() -> Unknown:
        from dibs.facts.shell import find as shell_find

        names = shell_find.listed(call)
        return around if names is None else Unknown(names, whole=True)

    return Later(look)


def _fd(call: Call) -> Field:
    given, operands = call.options("Edetxjg", ("extension", "type", "exclude", "max-depth", "base-directory"))
    if has(given, "base-directory"):
        return ANY
    places: list[Field] = [_below(call, word) for word in operands[1:]]
    found = either(places) if places else PLAIN
    return _absolute(call, found) if has(given, "a", "absolute-path") else found


def _ls(call: Call) -> Field:
    given, operands = call.options("IwT", ("ignore", "hide", "color", "sort", "time", "format"))
    long = has(given, "l", "s", "i", "g", "n", "o")
    known = [name for name in operands if isinstance(name, str)]
    folders = [name for name in known if os.path.isdir(call.full(name)) and not has(given, "d", "directory")]
    if known and len(known) == len(operands) and not folders and not long and call.cwd is not None:
        return "".join([f"{name}\n" for name in known])
    plain = len(known) == len(operands) < 2 and call.cwd is not None and not call.reading.opened  # noqa: PLR2004
    if plain and not long and not has(given, *_LS_MARKS):
        names = _entries(call, known[0] if known else ".")
        if names is not None:
            return Unknown(names, whole=True)
    named: list[Field] = [word for word in operands if word not in folders]
    return either([PLAIN, *named, *(folders if len(operands) > 1 else [])]) if operands else PLAIN


_LS_MARKS = ("R", "recursive", "a", "all", "A", "almost-all", "d", "directory", "F", "classify", "p", "m")


def _entries(call: Call, folder: str) -> list[str] | None:
    """The names that `ls` prints of a folder; None if they are too many."""
    from dibs.facts.shell import globs as shell_globs

    try:
        names = call.reader.look.brief(MAX_NAMES).entries(call.full(folder))
    except shell_globs.LimitReached:
        return None
    return [name for name in names if name[0] != "."]


def _absolute(call: Call, found: Field) -> Field:
    """The same from the root."""
    from dibs.facts.shell.unknown import places

    below = places(found if isinstance(found, Unknown) else Unknown((found,)), call.cwd)
    return ANY if below is None else Unknown(below)


def _realpath(call: Call) -> Field:
    given, operands = call.options()
    if call.name == "readlink" and not has(given, "f", "e", "m"):
        return ANY
    if len(operands) != 1 or call.cwd is None:
        return ANY
    name = operands[0]
    return _line(links.real(call.full(name))) if isinstance(name, str) else _absolute(call, name)


# ------------------------------------------------------------------------------------------------------------------
# Git


def git_words(call: Call) -> tuple[str | None, list[str]]:
    """A git command's directory, and its words after git's own options; none if some are unknown."""
    end, cwd = 1, call.cwd
    while end < len(call.words) and str(call.words[end]).startswith("-"):
        if call.words[end] == "-C":
            there = call.words[end + 1] if end + 1 < len(call.words) else ""
            known = isinstance(there, str) and (cwd is not None or there.startswith("/"))
            cwd = os.path.join(cwd or "/", there) if known and isinstance(there, str) else None
        end += 2 if call.words[end] in {"-C", "-c"} else 1
    words = [word for word in call.words[end:] if isinstance(word, str)]
    return cwd, words if len(words) + end == len(call.words) else words[:1]


_GIT_PLAIN = frozenset((
    "branch", "config", "describe", "log", "merge-base", "name-rev", "rev-list", "rev-parse", "shortlog", "stash",
    "symbolic-ref", "tag",
))  # fmt: skip
_PATHS_ONLY = ("--name-only", "--name-status", "-l", "--files-with-matches", "--porcelain", "-s", "--short")


def _git(call: Call) -> Field:
    cwd, words = git_words(call)
    if words == ["rev-parse", "--show-toplevel"]:
        return _line(top(cwd) or ANY)
    if not words:
        return ANY
    name = words[0]
    if name == "rev-parse" and any(word in {"--git-dir", "--git-common-dir"} for word in words):
        inside = cwd is not None and os.path.isdir(os.path.join(cwd, ".git"))
        return ".git\n" if inside and len(words) == 2 else ANY  # noqa: PLR2004 - nothing else is asked
    if name in _GIT_PLAIN and not any(word.startswith(("--show-toplevel", "--absolute")) for word in words):
        return PLAIN
    if name == "ls-files" or any(word in _PATHS_ONLY for word in words):
        around = _listed(cwd, words)
        whole = len([word for word in call.words if isinstance(word, str)]) == len(call.words)
        if call.reading.opened or not whole or cwd is None or not isinstance(around, Unknown):
            return around
        return Later(lambda: _by_git(cwd, words, around))
    return ANY


def _by_git(cwd: str, words: list[str], around: Unknown) -> Unknown:
    from dibs.facts.shell import searches as shell_searches

    found = shell_searches.by_git(cwd, words)
    return around if found is None else Unknown(found, whole=True)


def _listed(cwd: str | None, words: list[str]) -> Field:
    """File names relative to the directory or to the top: below the named folders, or below the directory."""
    if any(".." in word.split("/") for word in words) or cwd is None:
        return ANY
    behind = words[words.index("--") + 1 :] if "--" in words else words[1:]
    folders = [word for word in behind if not word.startswith("-") and os.path.isdir(os.path.join(cwd, word))]
    plain = not any(mark in word for word in behind for mark in "*?[:")
    whole = "--" in words and plain and len(folders) == len([word for word in behind if not word.startswith("-")])
    if folders and (words[0] == "ls-files" or os.path.exists(os.path.join(cwd, ".git"))) and (
        whole or words[0] in {"ls-files", "grep"}
    ):  # fmt: skip
        return either([folder(word) for word in folders]) if plain else PLAIN
    return PLAIN


def top(cwd: str | None) -> str | None:
    """The top of the working tree."""
    if cwd is None:
        return None
    here = links.real(cwd)
    while not os.path.exists(os.path.join(here, ".git")):
        above = os.path.dirname(here)
        if above == here:
            return None
        here = above
    return here


# ------------------------------------------------------------------------------------------------------------------
# Commands that only work on their words


def _line(text: Field) -> Field:
    return text + "\n" if isinstance(text, str) else text


_ESCAPES = {"n": "\n", "t": "\t", "\\": "\\", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "f": "\f", "v": "\v",
            '"': '"', "'": "'"}  # fmt: skip


def _escaped(text: str) -> str | None:
    """A text with its escapes resolved; None for an escape that is not in the table."""
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
        elif text[i + 1 : i + 2] == "0" and not text[i + 2 : i + 3].isdigit():
            found += "\0"
            i += 2
        else:
            return None
    return found


def _vague(words: list[Field]) -> Unknown:
    """The beginning of a line with some unknown words."""
    before = ""
    for word in words:
        if isinstance(word, Unknown):
            found = between(before, word, "")
            return found if word is words[-1] else Unknown(found.below)
        before += word + " "
    return ANY


def _is_echo_option(word: Field) -> bool:
    return isinstance(word, str) and len(word) > 1 and word[0] == "-" and not word[1:].strip("neE")


def _echo(call: Call) -> Field:
    words = call.words[1:]
    newline, escapes = "\n", None
    while words and _is_echo_option(words[0]):
        option = str(words.pop(0))
        newline = "" if "n" in option else newline
        escapes = True if "e" in option else False if "E" in option else escapes
    known = [word for word in words if isinstance(word, str)]
    if len(known) != len(words):
        return _vague(words)
    text = " ".join(known)
    if "\\" in text and not escapes:  # some shells resolve them and others do not
        return text + newline if escapes is False else ANY
    done = _escaped(text) if escapes else text
    return ANY if done is None else done + newline


def _printf(call: Call) -> Field:
    return "" if call.words[1:2] == ["-v"] else printed(call.words[1:])


def printed(words: list[Field]) -> Field:
    """What `printf` makes of its words."""
    if words[:1] == ["--"]:
        words = words[1:]
    first = words[0] if words else ANY
    form = _escaped(first) if isinstance(first, str) else None
    if form is None:
        return ANY
    pieces = form.replace("%%", "\x01").split("%")
    rest = words[1:]
    known = [word for word in rest if isinstance(word, str)]
    if len(known) != len(rest):
        return either(rest) if form.startswith("%s") else between(pieces[0], ANY, "")
    if any(one[:1] not in {"s", "d"} for one in pieces[1:]):
        return between(pieces[0], ANY, "")
    text = pieces[0]
    while True:
        for one in pieces[1:]:
            value = known.pop(0) if known else "" if one[0] == "s" else "0"
            if one[0] == "d" and not value.isdigit():
                return ANY
            text += value + one[1:]
        if not known or len(pieces) == 1:
            return text.replace("\x01", "%")
        text += pieces[0]


def _pwd(call: Call) -> Field:
    if call.cwd is None:
        return ANY
    return _line(links.real(call.cwd) if "-P" in call.words else call.cwd)


def _dirname(call: Call) -> Field:
    if len(call.words) != 2:  # noqa: PLR2004 - one name
        return ANY
    name = call.words[1]
    if isinstance(name, str):
        return _line(os.path.dirname(name.rstrip("/")) or ("/" if name.startswith("/") else "."))
    if name.below is None:
        return ANY
    return Unknown([way[: way.rfind("/") + 1] for way in name.below])


def _basename(call: Call) -> Field:
    known = [word for word in call.words[1:] if isinstance(word, str)]
    if len(known) + 1 != len(call.words) or len(known) not in {1, 2} or known[0].startswith("-"):
        return PLAIN
    base = os.path.basename(known[0].rstrip("/"))
    return _line(base.removesuffix(known[1]) or base if len(known) > 1 else base)


def _which(call: Call) -> Field:
    from dibs.facts.shell.commands import located

    given, names = call.options()
    return located(names) if call.name == "which" or has(given, "P") else ANY


def _seq(call: Call) -> Field:
    words = [word for word in call.words[1:] if isinstance(word, str)]
    right = 1 <= len(words) <= 3 and len(words) + 1 == len(call.words)  # noqa: PLR2004 - from, step, to
    if not right or not all(word.isascii() and word.isdigit() and len(word) < 10 for word in words):  # noqa: PLR2004
        return PLAIN
    numbers = [int(word) for word in words]
    first, final = (1, numbers[0]) if len(numbers) == 1 else (numbers[0], numbers[-1])
    counted = range(first, final + 1, numbers[1] or 1 if len(numbers) > 2 else 1)  # noqa: PLR2004 - from, step, to
    return "".join([f"{number}\n" for number in counted]) if len(counted) <= MAX_SEQ_NUMBERS else PLAIN


def _mktemp(call: Call) -> Field:
    """A new name, which no agent can hold. In another folder, any name there will do."""
    given, operands = call.options("p", ("suffix",))
    place = _temporary(given)
    template = operands[0] if operands else "tmp.XXXXXXXXXX"
    suffix = last(given, "suffix")
    if isinstance(template, Unknown) or isinstance(place, Unknown):
        return place if isinstance(place, Unknown) and not place.below else between("", ANY, "")
    if not template.startswith("/") and (place or not operands or has(given, "t")):
        template = os.path.join(place or caller.environ().get("TMPDIR", "").rstrip("/") or "/tmp", template)  # noqa: S108
    if template.startswith("/") and isinstance(suffix, str):
        return _line(template + suffix)
    return Unknown((template.partition("XXX")[0],))  # in the current directory, next to files that agents may hold


def _temporary(given: Given) -> Field:
    """The folder that is named for it; "" if none."""
    for option, value in given:
        if option == "p" or (option == "tmpdir" and value is not None):
            return ANY if value is None else value
        if option == "tmpdir":
            return caller.environ().get("TMPDIR", "").rstrip("/") or "/tmp"  # noqa: S108 - where mktemp looks
    return ""


_SPECIAL: dict[str, Callable[[Call], Field]] = {
    "basename": _basename,
    "dirname": _dirname,
    "echo": _echo,
    "fd": _fd,
    "fdfind": _fd,
    "find": _find,
    "git": _git,
    "ls": _ls,
    "mktemp": _mktemp,
    "printf": _printf,
    "pwd": _pwd,
    "readlink": _realpath,
    "realpath": _realpath,
    "seq": _seq,
    "type": _which,
    "which": _which,
}
