"""Programs of sed, awk, perl, ed and vi in a command's words: the files that they write, the commands that they run.

These are scanners, not parsers: they know where a text, a pattern and a comment end, and the few words that open files.
A file that a program names plainly is written; a program that makes up its names leaves the command open.
"""

from __future__ import annotations

import os

from dibs.shell.unknown import matches

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.shell.call import ProgramCall
    from dibs.shell.unknown import Field

_NAME = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_"


def runs(call: ProgramCall, text: str) -> None:
    """The program starts a shell with this text."""
    env = call.env.copy()
    env.cwds = [call.cwd]
    call.interpreter.script(text, env)


# ------------------------------------------------------------------------------------------------------------------
# sed


def sed(call: ProgramCall, programs: list[Field]) -> None:
    """`w FILE`, `s/a/b/w FILE`, `e COMMAND`, in programs that are known."""
    for text in programs:
        if isinstance(text, str):
            _Sed(text).read(call)


class _Sed:
    __slots__ = ("_at", "_text")

    def __init__(self, text: str) -> None:
        self._text, self._at = text, 0

    def read(self, call: ProgramCall) -> None:
        """Scan command by command."""
        text = self._text
        while self._at < len(text):
            self._address()
            letter = text[self._at : self._at + 1]
            self._at += 1
            if letter in {"a", "i", "c", "r", "R", "#"}:
                self._line(continued=letter in {"a", "i", "c"})
            elif letter in {"w", "W"}:
                call.write(self._line().strip())
            elif letter == "e":
                command = self._line().strip()
                if command:
                    runs(call, command)
                else:
                    call.reading.opened = True  # it runs its input
            elif letter == "s":
                self._substitution(call)
            elif letter == "y":
                self._until(self._until(text[self._at : self._at + 1], 1), 0)
            elif letter in {"b", "t", "T", ":", "q", "Q", "l", "L", "v"}:
                while self._at < len(text) and text[self._at] not in ";\n}":
                    self._at += 1

    def _address(self) -> None:
        """Skip blanks, brackets, and the lines that a command is for."""
        text = self._text
        while self._at < len(text) and (text[self._at] in " \t\n;{}!,~+$IM/\\" or text[self._at].isdigit()):
            if text[self._at] == "\\":
                self._at += 1
                self._until(text[self._at : self._at + 1], 1)
            elif text[self._at] == "/":
                self._until("/", 1)
            else:
                self._at += 1

    def _until(self, mark: str, skip: int) -> str:
        """Go behind the next mark; returns it."""
        self._at += skip
        while mark and self._at < len(self._text) and self._text[self._at] != mark:
            self._at += 2 if self._text[self._at] == "\\" else 1
        self._at += 1
        return mark

    def _substitution(self, call: ProgramCall) -> None:
        self._until(self._until(self._text[self._at : self._at + 1], 1), 0)
        while self._at < len(self._text) and self._text[self._at] not in " \t\n;}":
            letter = self._text[self._at]
            self._at += 1
            if letter == "w":
                call.write(self._line().strip())
            elif letter == "e":
                call.reading.opened = True  # what it made of the line is run

    def _line(self, *, continued: bool = False) -> str:
        """The rest of the line."""
        start, text = self._at, self._text
        while self._at < len(text) and text[self._at] != "\n":
            self._at += 2 if continued and text[self._at] == "\\" else 1
        return text[start : self._at]


# ------------------------------------------------------------------------------------------------------------------
# awk


def awk(call: ProgramCall, text: str, values: dict[str, Field]) -> None:
    """`print > "f"`, `print | "command"`, `system("command")`; `values` are the variables of -v."""
    _Awk(text, values).read(call)


class _Awk:
    __slots__ = ("_at", "_depth", "_prints", "_text", "_values")

    def __init__(self, text: str, values: dict[str, Field]) -> None:
        self._text, self._values, self._at = text, values, 0
        self._prints, self._depth = False, 0  # in a statement that prints; brackets open in it

    def read(self, call: ProgramCall) -> None:
        """Scan token by token; a statement that begins with print may end in a file."""
        before, literal = "", ""
        while self._at < len(self._text):
            character = self._text[self._at]
            if character == '"':
                literal, before = self._string(), '"'
            elif character == "/" and before not in {"name", '"', ")", "]"}:
                self._pattern()
                before = '"'
            elif character in _NAME:
                self._named(call, self._word(), literal if before == "|" else None)
                before = "name"
            else:
                self._at += 1
                self._sign(call, character)
                before = character if character not in " \t" else before

    def _named(self, call: ProgramCall, name: str, piped: str | None) -> None:
        """A word; `piped`: the text before a pipe that leads to it."""
        if name in {"print", "printf"}:
            self._prints, self._depth = True, 0
        elif name == "system":
            self._system(call)
        elif name == "getline" and piped is not None:
            runs(call, piped)

    def _sign(self, call: ProgramCall, sign: str) -> None:
        if sign == "#":
            end = self._text.find("\n", self._at)
            self._at = end if end >= 0 else len(self._text)
        elif sign in ";\n{}":
            self._prints = False
        elif sign in "([":
            self._depth += 1
        elif sign in ")]":
            self._depth -= 1
        elif sign == ">" and self._prints and self._depth <= 0:
            self._target(call)
        elif sign == "|" and self._prints and self._depth <= 0 and self._text[self._at : self._at + 1] != "|":
            self._pipe(call)

    def _word(self) -> str:
        start = self._at
        while self._at < len(self._text) and self._text[self._at] in _NAME:
            self._at += 1
        return self._text[start : self._at]

    def _string(self) -> str:
        start = self._at + 1
        self._at = start
        while self._at < len(self._text) and self._text[self._at] != '"':
            self._at += 2 if self._text[self._at] == "\\" else 1
        self._at += 1
        return self._text[start : self._at - 1].replace('\\"', '"')

    def _pattern(self) -> None:
        self._at += 1
        while self._at < len(self._text) and self._text[self._at] not in "/\n":
            self._at += 2 if self._text[self._at] == "\\" else 1
        self._at += 1

    def _blanks(self) -> str:
        while self._text[self._at : self._at + 1] in {" ", "\t"}:
            self._at += 1
        return self._text[self._at : self._at + 1]

    def _value(self) -> Field | None:
        """A literal, or a variable of -v, with nothing added to it; None for any other expression."""
        bracket = self._blanks() == "("
        self._at += bracket
        value: Field | None = None
        if self._blanks() == '"':
            value = self._string()
        elif self._text[self._at : self._at + 1] in set(_NAME):
            value = self._values.get(self._word())
        ends = self._blanks()
        if bracket and ends == ")":
            self._at += 1
            ends = self._blanks()
        return value if ends in {"", ";", "\n", "}", "#", ")"} else None

    def _target(self, call: ProgramCall) -> None:
        appends = self._text[self._at : self._at + 1] == ">"
        self._at += appends
        target = self._value()
        if target is None:
            call.reading.opened = True
        else:
            call.write(target, "append" if appends else "write")

    def _pipe(self, call: ProgramCall) -> None:
        self._at += self._text[self._at : self._at + 1] == "&"
        at = self._at
        self._blanks()
        if self._text.startswith("getline", self._at):
            self._at = at
            return
        command = self._value()
        if isinstance(command, str):
            runs(call, command)
        else:
            call.reading.opened = True

    def _system(self, call: ProgramCall) -> None:
        command = self._value()
        if isinstance(command, str):
            runs(call, command)
        else:
            call.reading.opened = True


# ------------------------------------------------------------------------------------------------------------------
# perl, ed, vi

_PERL = ("open", "unlink", "rename", "copy", "move", "truncate", "write_file")


def perl(call: ProgramCall, text: str) -> None:
    """Files that a short program of perl names plainly; the command stays open besides."""
    for word in _PERL:
        at = text.find(word)
        while at >= 0:
            before, after = text[at - 1 : at], text[at + len(word) : at + len(word) + 1]
            if (not before or before not in _NAME + "$@%>-") and after in {"(", " "}:
                end = text.find(";", at)
                _opened(call, word, _literals(text[at : end if end >= 0 else len(text)]))
            at = text.find(word, at + 1)


def _literals(text: str) -> list[str]:
    """The texts in quotes."""
    texts, at = [], 0
    while at < len(text):
        mark = text[at]
        at += 1
        if mark in "'\"":
            end = text.find(mark, at)
            if end < 0:
                break
            texts.append(text[at:end])
            at = end + 1
    return texts


def _opened(call: ProgramCall, word: str, names: list[str]) -> None:
    names = [name for name in names if name and not any(sign in name for sign in "$@\\\n")]
    if word == "open":
        for index, name in enumerate(names[:2]):
            mode, file = name, names[index + 1] if index + 1 < len(names) else ""
            if mode[:1] in {">", "+"} and not mode.partition(":")[0].strip("+<> ") and file:
                call.write(file, "append" if mode.startswith(">>") else "write", merges=mode == "+<")
                return
            if mode.startswith(">") and mode.strip("> "):
                call.write(mode.strip("> "), "append" if mode.startswith(">>") else "write")
                return
    elif word == "unlink":
        for name in names:
            # `unlink glob("*.o")`
            pattern = any(mark in name for mark in "*?[") and not os.path.lexists(call.full(name))
            call.write(matches(name) if pattern else name, "delete")
    elif word in {"truncate", "write_file"} and names:
        call.write(names[0])
    elif len(names) > 1:
        if word != "copy":
            call.write(names[0], "move")
        call.write(names[1])


def editor(call: ProgramCall, commands: list[Field]) -> None:
    """`w FILE`, `saveas FILE` among the commands of ed, ex and vi; `e FILE`, if something is written after it."""
    lines = [
        line.strip(" :%,$").split()
        for text in commands
        if isinstance(text, str)
        for line in text.replace("|", "\n").split("\n")
    ]
    lines = [_plain_command(words) for words in lines]
    keeps = any(words and words[0].rstrip("!") in _ONLY_LOOKS for words in lines)
    saves = any(words and words[0].startswith(_SAVES) for words in lines) or not keeps
    for words in lines:
        name = words[0].rstrip("!") if words else ""
        if len(words) == 2 and name in {"w", "W", "write", "sav", "saveas"}:  # noqa: PLR2004
            call.write(words[1].lstrip("!>"))
        elif name in _OPENS and saves:
            for path in words[1:]:
                pattern = any(mark in path for mark in "*?[") and not os.path.lexists(call.full(path))
                call.write(matches(path) if pattern else path, merges=True)


def _plain_command(words: list[str]) -> list[str]:
    """Without what only says how a command runs: `silent! e f`."""
    while words and words[0].rstrip("!") in _MODIFIERS:
        words = words[1:]
    return words


_MODIFIERS = frozenset(("sil", "silent", "noa", "noautocmd", "keepa", "keepalt", "keepj", "keepjumps", "tab", "vert"))
# They open a file, which a later `w` without a name writes.
_OPENS = frozenset((
    "E", "ar", "arga", "argadd", "args", "argedit", "arge", "badd", "e", "ed", "edit", "ex", "f", "file", "find", "n",
    "new", "next", "open", "sp", "split", "sv", "sview", "tabe", "tabedit", "tabnew", "vi", "visual", "vne", "vnew",
    "vs", "vsplit",
))  # fmt: skip
_SAVES = ("w", "x", "up", "argdo", "bufdo", "windo", "tabdo", "exe", "norm", "ZZ", "sav", "do", "g", "v", "!")
_ONLY_LOOKS = frozenset(("q", "qa", "qall", "quit", "p", "print", "nu", "number", "="))
