"""A PowerShell command as an agent typed it: the files that its cmdlets name, and the programs that it starts.

A small reader, for what agents type on Linux and macOS: words, quotes, pipes, blocks and redirections. Programs (git,
npm, rm) are read like any other command. A value that is computed is unknown: where it is written to, that is a doubt.
Nothing is run. Not seen: what .NET methods, modules and scripts do; the command is open then.
"""

from __future__ import annotations

import os

from dibs.machine import caller
from dibs.shell import LineInterpreter
from dibs.shell.findings import Env, Reading, TooComplex, unreadable
from dibs.shell.globs import FileView
from dibs.shell.unknown import ANY, Unknown, matches

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.shell.options import Fields
    from dibs.shell.unknown import Field

MAX_NESTED_BLOCKS = 20
_PAIRS = {"{": "}", "(": ")", "[": "]"}
_PATHS = frozenset(("path", "literalpath", "pspath", "lp", "filepath", "outfile", "name"))
_TO = frozenset(("destination", "destinationpath", "newname"))
_SWITCHES = frozenset((
    "append", "force", "noclobber", "nonewline", "passthru", "recurse", "confirm", "verbose", "whatif",
    "usetransaction", "notypeinformation", "nti", "container", "r", "fo", "asbytestream",
))  # fmt: skip
# Cmdlets and their aliases → what they do to the first path, and to the second.
_CMDLETS: dict[str, tuple[str, str]] = {
    "set-content": ("write", ""), "sc": ("write", ""), "add-content": ("append", ""), "ac": ("append", ""),
    "clear-content": ("write", ""), "clc": ("write", ""), "out-file": ("write", ""), "tee-object": ("write", ""),
    "new-item": ("write", ""), "ni": ("write", ""), "remove-item": ("delete", ""), "ri": ("delete", ""),
    "del": ("delete", ""), "erase": ("delete", ""), "rd": ("delete", ""), "move-item": ("move", "write"),
    "mi": ("move", "write"), "move": ("move", "write"), "copy-item": ("", "write"), "cpi": ("", "write"),
    "copy": ("", "write"), "rename-item": ("move", "same folder"), "rni": ("move", "same folder"), "ren": ("move",
    "same folder"),
    "export-csv": ("write", ""), "epcsv": ("write", ""), "export-clixml": ("write", ""),
    "invoke-webrequest": ("", ""), "iwr": ("", ""), "invoke-restmethod": ("", ""), "irm": ("", ""),
    "expand-archive": ("", "folder"), "compress-archive": ("", "write"),
}  # fmt: skip
_DOWNLOADS = frozenset(("invoke-webrequest", "iwr", "invoke-restmethod", "irm"))
_PLACES = frozenset(("cd", "chdir", "set-location", "sl", "push-location", "pushd"))
_LOOKS = (
    "get-", "test-", "select-", "where-", "sort-", "measure-", "format-", "write-", "out-", "convertto-",
    "convertfrom-", "compare-", "join-", "split-", "resolve-", "foreach-", "group-", "read-", "start-sleep",
    "show-", "find-", "wait-",
)  # fmt: skip
_SHORT_LOOKS = frozenset((
    "%", "?", "gci", "gc", "gl", "gi", "dir", "type", "sls", "select", "where", "measure", "foreach", "ft", "fl", "fw",
    "oh", "gm", "gcm", "gps", "echo", "if", "else", "elseif", "try", "catch", "finally", "while", "do", "until", "for",
    "return", "exit", "param", "begin", "process", "end", "switch", "throw", "break", "continue",
))  # fmt: skip


def read(command: str, cwd: str, *, home: str = "") -> Reading:
    """What a PowerShell command would write if it were run in this directory. Never raises."""
    view = FileView()
    reading = Reading(view)
    home = home or caller.environ().get("HOME", "")
    try:
        if unreadable(command):
            raise TooComplex  # noqa: TRY301 - one place for unread commands
        env = Env([cwd], {"HOME": home} if home else {}, "")
        _PowerShell(command, LineInterpreter(reading, home, view), env, 0).read()
    except Exception:  # noqa: BLE001 - whatever it is, the command is not understood
        reading.broken = True
    if reading.broken:
        reading.doubt(command[:500])
    reading.settle()
    return reading


class _PowerShell:
    """One text, statement by statement."""

    __slots__ = ("_at", "_env", "_interpreter", "_level", "_text")

    def __init__(self, text: str, interpreter: LineInterpreter, env: Env, level: int) -> None:
        self._text, self._interpreter, self._env, self._level, self._at = text, interpreter, env, level, 0
        if level > MAX_NESTED_BLOCKS:
            raise TooComplex

    def read(self) -> None:
        """Read all statements; a pipe begins another one."""
        words: Fields = []
        start = 0
        while self._at < len(self._text):
            character = self._text[self._at]
            if character in ";\n|&" and not (character == "&" and not words):
                self._statement(words, self._text[start : self._at].strip())
                words, self._at = [], self._at + 1
                start = self._at
            elif character in " \t\r&":
                self._at += 1
            elif character == "#" or self._text.startswith("<#", self._at):
                self._comment()
            elif character == ">" or (character in "123456*" and self._text[self._at + 1 : self._at + 2] == ">"):
                self._redirection(start)
            else:
                words += self._word()
        self._statement(words, self._text[start:].strip())

    def _comment(self) -> None:
        block = self._text.startswith("<#", self._at)
        end = self._text.find("#>" if block else "\n", self._at)
        self._at = len(self._text) if end < 0 else end + 2 * block

    def _redirection(self, start: int) -> None:
        self._at = self._text.index(">", self._at) + 1
        appends = self._text.startswith(">", self._at)
        self._at += appends
        if self._text.startswith("&", self._at):
            self._at += 2
            return
        while self._text[self._at : self._at + 1] in {" ", "\t"}:
            self._at += 1
        for path in self._word():
            if path != "$null":
                self._write(path, "append" if appends else "write", self._text[start : self._at].strip())

    def _word(self) -> Fields:
        """The next word; several, if commas join them."""
        fields: Fields = []
        text: str | None = ""
        while self._at < len(self._text) and self._text[self._at] not in " \t\r\n;|&>":
            character = self._text[self._at]
            if character == ",":
                fields.append(ANY if text is None else text)
                text = ""
                self._at += 1
                while self._text[self._at : self._at + 1] in {" ", "\t", "\n"}:
                    self._at += 1
            elif character in "'\"":
                piece = self._quoted(character)
                text = None if text is None or piece is None else text + piece
            elif character == "`":
                text = None if text is None else text + self._text[self._at + 1 : self._at + 2].strip("\n")
                self._at += 2
            elif character in _PAIRS:
                _PowerShell(self._inside(character), self._interpreter, self._env, self._level + 1).read()
                text = None
            elif character == "$" and self._text.startswith("$null", self._at):
                self._at, text = self._at + 5, "$null"
            else:
                text = None if character in "$@}])" or text is None else text + character
                self._at += 1
        return [*fields, ANY if text is None else text]

    def _quoted(self, mark: str) -> str | None:
        """A text in quotes; None if a part of it is computed."""
        content, at = "", self._at + 1
        while at < len(self._text):
            character = self._text[at]
            if character == mark and self._text[at + 1 : at + 2] == mark:
                content, at = content + mark, at + 2
            elif character == mark:
                break
            elif character == "`" and mark == '"':
                content, at = content + self._text[at + 1 : at + 2], at + 2
            else:
                content, at = content + character, at + 1
        self._at = at + 1
        return None if mark == '"' and "$" in content else content

    def _inside(self, opening: str) -> str:
        """The text up to the bracket that closes."""
        depth, start = 0, self._at + 1
        while self._at < len(self._text):
            character = self._text[self._at]
            if character in "'\"":
                self._quoted(character)
                continue
            depth += (character == opening) - (character == _PAIRS[opening])
            self._at += 1
            if not depth:
                break
        return self._text[start : self._at - 1]

    def _write(self, path: Field, how: str, words: str) -> None:
        wild = isinstance(path, str) and any(mark in path for mark in "*?[")
        target = matches(path) if wild and isinstance(path, str) else path
        self._interpreter.reading.write(self._env.cwds[0], target, how, words)

    def _statement(self, words: Fields, text: str) -> None:
        """One command: a cmdlet of the table, a look, or a program."""
        while words and (
            words[0] in {".", "=", "+="} or (isinstance(words[0], Unknown) and words[1:2] in (["="], ["+="]))
        ):
            words = words[1:]
        name = words[0].lower() if words and isinstance(words[0], str) else ""
        if not words or (name.startswith(_LOOKS) and name not in _CMDLETS) or name in _SHORT_LOOKS:
            return
        if name in _PLACES:
            place = _given(words[1:])[0]
            to = place[0] if place else ANY
            here = self._env.cwds[0]
            self._env.cwds = [os.path.join(here, to) if isinstance(to, str) and here is not None else None]
        elif name in _CMDLETS:
            self._cmdlet(name, words[1:], text)
        elif name in {"iex", "invoke-expression"}:
            known = [word for word in words[1:] if isinstance(word, str)]
            if len(known) + 1 < len(words):
                self._interpreter.reading.doubt(text)
            else:
                _PowerShell(" ".join(known), self._interpreter, self._env, self._level + 1).read()
        elif not name or "-" in name.strip("-") or "::" in text:
            self._interpreter.reading.opened = True  # a method, a module's cmdlet, a computed name
            if any(sign in text for sign in ("Write", "Delete", "Move", "Copy", "Create", "iex", "Invoke-Expression")):
                self._interpreter.reading.doubt(text)
        else:
            self._interpreter.command([*words], self._env.copy(), text)

    def _cmdlet(self, name: str, words: Fields, text: str) -> None:
        paths, to, options = _given(words)
        if "whatif" in options or options.get("itemtype", options.get("type", "")) in {"directory", "Directory"}:
            return
        first, second = _CMDLETS[name]
        if name in _DOWNLOADS:
            for path in [options["outfile"]] if "outfile" in options else []:
                self._write(path, "write", text)
            return
        if second and not to:
            paths, to = paths[:1], paths[1:]
        elif first != "delete":
            paths = paths[:1]  # the next one is what is written
        for path in paths if first else []:
            how = "append" if first == "write" and "append" in options else first
            self._write(path, how, text)
        for path in to:
            near = paths[0] if paths and isinstance(paths[0], str) else ""
            if second == "folder" or (
                isinstance(path, str) and os.path.isdir(os.path.join(self._env.cwds[0] or "/", path))
            ):
                self._interpreter.reading.doubt(
                    text, Unknown([f"{path}/"]) if isinstance(path, str) else ANY, self._env.cwds[0]
                )
            elif second == "same folder" and isinstance(path, str):
                self._write(os.path.join(os.path.dirname(near), path), "write", text)
            else:
                self._write(path, "write", text)
        if not paths and not to:
            self._interpreter.reading.doubt(text)  # from the pipe


def _given(words: Fields) -> tuple[Fields, Fields, dict[str, Field]]:
    """The paths that a cmdlet gets, its destination, and all parameters by their names."""
    paths: Fields = []
    to: Fields = []
    options: dict[str, Field] = {}
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        if not isinstance(word, str) or not word.startswith("-") or word == "-":
            paths.append(word)
            continue
        name, colon, value = word[1:].partition(":")
        name = name.lower()
        options[name] = value
        if name in _SWITCHES or colon:
            continue
        following = words[at : at + 1]
        at += 1
        options[name] = following[0] if following else ""
        if name in _PATHS and name != "outfile":
            paths = [*following, *paths]
        elif name in _TO:
            to += following
    return paths, to, options
