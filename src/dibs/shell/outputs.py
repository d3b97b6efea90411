"""What commands print, as far as it is known from their words and their input.

The whole text for commands that only use their words (`echo`, `basename`, `seq`); the beginning of each line for
commands that print file names (`find lib`, `grep -l x lib`) or pass on their input (`head`, `sort`).
"""

from __future__ import annotations

import os

from dibs.machine import caller, links
from dibs.shell.flows import file_operands
from dibs.shell.options import has, last, options
from dibs.shell.programs import PROGRAMS, function
from dibs.shell.streams import lines_of
from dibs.shell.unknown import ANY, MAX_NAMES, PLAIN, Later, Unknown, between, either, places, program_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.shell.call import ProgramCall
    from dibs.shell.options import Given
    from dibs.shell.unknown import Field

MAX_SEQ_NUMBERS = 1_000  # printed by `seq`


def piece(call: ProgramCall) -> Field:
    """What a command prints."""
    kind = call.program.get("prints", "")
    if "." in kind:
        output: Field = function(kind)(call)
        return output
    return ANY if not kind else PLAIN if kind == "plain" else _filtered(call, kind)


def _filtered(call: ProgramCall, kind: str) -> Field:
    """A command between pipes."""
    names = [word for word in file_operands(call)[1] if word != "-"] if "reads" in call.program else []
    passes = kind in {"copy", "lines"}
    if names and passes:
        return _of_files(call, names)
    if names or not call.stdin:
        return ANY
    if kind == "copy" and call.words[1:2] != ["-A"]:
        return call.stdin.lines if call.stdin.text is None else call.stdin.text
    lines = call.stdin.lines
    if kind == "edited" and lines.whole:
        return _substituted(call, lines)
    if passes:
        return lines
    return lines.begun() if _first_column(call, kind) else lines.inside()


def _substituted(call: ProgramCall, lines: Unknown) -> Unknown:
    """The known lines of `sed 's/a/b/'`; of another program, something made from them."""
    from dibs.shell import regexes

    given, operands = call.options("efl", ("expression", "file", "line-length"))
    programs = [value for option, value in given if option in {"e", "expression"}] or operands[:1]
    kind = regexes.EXTENDED if has(given, "E", "r", "regexp-extended") else regexes.BASIC
    known = [text for text in programs if isinstance(text, str)]
    plain = len(known) == len(programs) and all(option in _SED_OPTIONS for option, _ in given)
    change = regexes.substitution(";".join(known), kind) if plain else None
    return lines.inside() if change is None else Unknown([change(line) for line in lines.below or ()], whole=True)


_SED_OPTIONS = frozenset(("e", "expression", "E", "r", "regexp-extended"))


def _of_files(call: ProgramCall, names: list[Field]) -> Field:
    """Lines of files that the command has not written itself: as they are now."""
    known = [call.full(name) for name in names if isinstance(name, str)]
    if len(known) < len(names) or call.cwd is None or call.reading.opened or any(map(call.reading.is_written, known)):
        return ANY
    return either([lines_of(path) for path in known])


def _first_column(call: ProgramCall, kind: str) -> bool:
    """Does the command keep the beginning of each line?"""
    text = " ".join([word for word in call.words[1:] if isinstance(word, str)])
    if kind == "columns":
        return any(sign in f"{text} " for sign in ("-f1 ", "-f 1 ", "-f1,", "-c1-", "-c 1-"))
    return kind == "fields" and ("{print $1}" in text or "{ print $1 }" in text)


# ------------------------------------------------------------------------------------------------------------------
# Names of files


def search(call: ProgramCall) -> Field:
    """File names, lines after their file names, or lines alone."""
    given, names = file_operands(call)
    below = call.program["search"] == "perl"  # it searches below the directory, without operands
    if below and has(given, "files", "g", "f"):
        names = _operands(call)
    if has(given, "h", "no-filename", "I", "o", "only-matching", "c", "count") and not has(given, "l", "L", "r", "R"):
        return PLAIN if has(given, "c", "count") else ANY
    deep = below or has(given, "r", "R", "recursive", "dereference-recursive", "d")
    if has(given, "l", "files-with-matches") and not call.reading.opened and call.cwd is not None:
        around = either([_below(call, name) for name in names]) if names else PLAIN
        if names or (deep and not (call.stdin and call.stdin.pieces)):
            return _matching(call, given, names, around)
    if names:
        several = len(names) > 1 or deep or has(given, "l", "L", "H", "files-with-matches", "with-filename")
        alone = PLAIN if has(given, "n") else _of_files(call, names)
        return either([_below(call, name) for name in names]) if several else alone
    if call.stdin and (call.stdin.pieces or call.stdin.file):
        return PLAIN if has(given, "n", "line-number") else _matching_lines(call, given)
    return PLAIN if deep else ANY


def _operands(call: ProgramCall) -> list[Field]:
    """All operands of a search, the pattern among them."""
    short, long, _ = call.program["reads"]
    return options(call.words[1:], short, tuple(long.split()))[1]


def _patterns(call: ProgramCall, given: Given) -> list[Field | None]:
    """What a search looks for."""
    return [value for option, value in given if option in {"e", "regexp"}] or [*_operands(call)[:1]]


def _matching_lines(call: ProgramCall, given: Given) -> Unknown:
    """The lines of the input that match, or with -v those that do not, where they are known."""
    assert call.stdin is not None, "asked for only with an input"
    lines = call.stdin.lines
    if not lines.whole or has(given, "o", "only-matching", "f", "file", "A", "B", "C", "w", "x", "z"):
        return lines if not has(given, "o", "only-matching") else lines.inside()
    from dibs.shell import regexes

    kind = call.program["search"]
    fixed = kind == regexes.FIXED or has(given, "F", "fixed-strings")
    perl = kind == regexes.PERL or has(given, "P", "perl-regexp")
    extended = kind == regexes.EXTENDED or has(given, "E", "extended-regexp")
    kind = regexes.FIXED if fixed else regexes.PERL if perl else regexes.EXTENDED if extended else regexes.BASIC
    patterns = _patterns(call, given)
    anycase = has(given, "i", "ignore-case", "y", "S", "smart-case")
    compiled = [regexes.compiled(text, kind, anycase=anycase) for text in patterns if isinstance(text, str)]
    known = [pattern for pattern in compiled if pattern is not None]
    if len(known) != len(patterns):
        return lines
    inverted = has(given, "v", "invert-match")
    matching = [line for line in lines.below or () if any(pattern.search(line) for pattern in known) != inverted]
    return Unknown(matching, whole=True)


def _matching(call: ProgramCall, given: Given, names: list[Field], around: Unknown) -> Field:
    """The files with the text that is searched for; all that are searched, if it is no plain one."""
    patterns = _patterns(call, given)
    roots = [name for name in names if isinstance(name, str)]
    if len(patterns) != 1 or not isinstance(patterns[0], str) or len(roots) != len(names):
        return around
    pattern, cwd = patterns[0], call.cwd or ""

    def look() -> Unknown:
        from dibs.shell import regexes
        from dibs.shell import searches as shell_searches

        literal = call.program["search"] == regexes.FIXED or has(given, "F", "fixed-strings")
        files = shell_searches.matching(cwd, shell_searches.needed(pattern, literal=literal), roots, given)
        return around if files is None else Unknown(files, whole=True)

    return Later(look)


def _below(call: ProgramCall, name: Field) -> Field:
    """A file itself, or names that begin with a folder."""
    if isinstance(name, Unknown) or os.path.isfile(call.full(name)):
        return name
    return name if name.endswith("/") else name + "/"


def find(call: ProgramCall) -> Field:
    """The names below its starting points."""
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
        if not runs or "exec_names" not in PROGRAMS[runs[0]]:
            return ANY
    around = either([_below(call, root) for root in words[:end]] or ["./"])
    if call.reading.opened:  # an earlier command may have made files that it finds
        return around

    def look() -> Unknown:
        from dibs.shell import find as shell_find

        names = shell_find.listed(call)
        return around if names is None else Unknown(names, whole=True)

    return Later(look)


def fd(call: ProgramCall) -> Field:
    """The names below the folders that it searches."""
    given, operands = call.options("Edetxjg", ("extension", "type", "exclude", "max-depth", "base-directory"))
    if has(given, "base-directory"):
        return ANY
    folders: list[Field] = [_below(call, word) for word in operands[1:]]
    names = either(folders) if folders else PLAIN
    return _absolute(call, names) if has(given, "a", "absolute-path") else names


def ls(call: ProgramCall) -> Field:
    """The names in a folder, or those that it is given."""
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


def _entries(call: ProgramCall, folder: str) -> list[str] | None:
    """The names that `ls` prints of a folder; None if they are too many."""
    from dibs.shell import globs as shell_globs

    try:
        names = call.interpreter.view.brief(MAX_NAMES).entries(call.full(folder))
    except shell_globs.LimitReached:
        return None
    return [name for name in names if name[0] != "."]


def _absolute(call: ProgramCall, name: Field) -> Field:
    """The same from the root."""
    below = places(name if isinstance(name, Unknown) else Unknown((name,)), call.cwd)
    return ANY if below is None else Unknown(below)


def readlink(call: ProgramCall) -> Field:
    """The place of a link; without an option for the whole path, whatever the link says."""
    return realpath(call) if has(call.options()[0], "f", "e", "m") else ANY


def realpath(call: ProgramCall) -> Field:
    """A path without links."""
    _, operands = call.options()
    if len(operands) != 1 or call.cwd is None:
        return ANY
    name = operands[0]
    return _line(links.real(call.full(name))) if isinstance(name, str) else _absolute(call, name)


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
    resolved, i = "", 0
    while i < len(text):
        if text[i] != "\\":
            resolved += text[i]
            i += 1
        elif text[i + 1 : i + 2] in _ESCAPES:
            resolved += _ESCAPES[text[i + 1]]
            i += 2
        elif text[i + 1 : i + 2] == "0" and not text[i + 2 : i + 3].isdigit():
            resolved += "\0"
            i += 2
        else:
            return None
    return resolved


def _vague(words: list[Field]) -> Unknown:
    """The beginning of a line with some unknown words."""
    before = ""
    for word in words:
        if isinstance(word, Unknown):
            beginning = between(before, word, "")
            return beginning if word is words[-1] else Unknown(beginning.below)
        before += word + " "
    return ANY


def _is_echo_option(word: Field) -> bool:
    return isinstance(word, str) and len(word) > 1 and word[0] == "-" and not word[1:].strip("neE")


def echo(call: ProgramCall) -> Field:
    """Its words."""
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


def printf(call: ProgramCall) -> Field:
    """Its words in their form; nothing with -v."""
    return "" if call.words[1:2] == ["-v"] else printf_text(call.words[1:])


def printf_text(words: list[Field]) -> Field:
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
    if any(piece[:1] not in {"s", "d"} for piece in pieces[1:]):
        return between(pieces[0], ANY, "")
    text = pieces[0]
    while True:
        for piece in pieces[1:]:
            value = known.pop(0) if known else "" if piece[0] == "s" else "0"
            if piece[0] == "d" and not value.isdigit():
                return ANY
            text += value + piece[1:]
        if not known or len(pieces) == 1:
            return text.replace("\x01", "%")
        text += pieces[0]


def pwd(call: ProgramCall) -> Field:
    """The directory."""
    if call.cwd is None:
        return ANY
    return _line(links.real(call.cwd) if "-P" in call.words else call.cwd)


def dirname(call: ProgramCall) -> Field:
    """The folder of a name."""
    if len(call.words) != 2:  # noqa: PLR2004 - one name
        return ANY
    name = call.words[1]
    if isinstance(name, str):
        return _line(os.path.dirname(name.rstrip("/")) or ("/" if name.startswith("/") else "."))
    if name.below is None:
        return ANY
    return Unknown([way[: way.rfind("/") + 1] for way in name.below])


def basename(call: ProgramCall) -> Field:
    """The last part of a name."""
    known = [word for word in call.words[1:] if isinstance(word, str)]
    if len(known) + 1 != len(call.words) or len(known) not in {1, 2} or known[0].startswith("-"):
        return PLAIN
    base = os.path.basename(known[0].rstrip("/"))
    return _line(base.removesuffix(known[1]) or base if len(known) > 1 else base)


def which(call: ProgramCall) -> Field:
    """The place of a program."""
    return program_path(call.options()[1])


def type_path(call: ProgramCall) -> Field:
    """With -P, the place of a program."""
    given, names = call.options()
    return program_path(names) if has(given, "P") else ANY


def seq(call: ProgramCall) -> Field:
    """Numbers."""
    words = [word for word in call.words[1:] if isinstance(word, str)]
    right = 1 <= len(words) <= 3 and len(words) + 1 == len(call.words)  # noqa: PLR2004 - from, step, to
    if not right or not all(word.isascii() and word.isdigit() and len(word) < 10 for word in words):  # noqa: PLR2004
        return PLAIN
    numbers = [int(word) for word in words]
    first, final = (1, numbers[0]) if len(numbers) == 1 else (numbers[0], numbers[-1])
    counted = range(first, final + 1, numbers[1] or 1 if len(numbers) > 2 else 1)  # noqa: PLR2004 - from, step, to
    return "".join([f"{number}\n" for number in counted]) if len(counted) <= MAX_SEQ_NUMBERS else PLAIN


def mktemp(call: ProgramCall) -> Field:
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
