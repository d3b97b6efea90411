"""Prose fits the terminal: what dibs prints there is wrapped at blanks, in one place for all commands.

`install` puts itself between dibs and each output that is a terminal; a pipe, a file and `--json` get every line as it
is. Nothing that is to be copied is broken: a command in backticks goes to the next line whole, and a line that is
a command (`  dibs …`, `$ …`) or part of a diff stays as it is. What moves the cursor is passed on.
"""

from __future__ import annotations

import os
import sys

from dibs.interfaces.cli.terminal import cells

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TextIO

NARROWEST = 30  # columns: below this the terminal itself breaks lines
MAX_HANG = 0.45  # of the width: a label that is longer has its text below it
PROGRAMS = ("$ ", "dibs ", "git ", "uv ", "pip ", "pipx ", "cd ", "export ", "claude ", "codex ")
DIFF = ("+", "-", " ", "@", "\\")  # how lines of a hunk begin


def install() -> None:
    """Wrap what is written to terminals from now on."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream.isatty():
            setattr(sys, name, Wrapping(stream))


class Wrapping:
    """A terminal that gets no line longer than its width, where that can be helped."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._begun = False  # the last line has no end yet: a question, or progress
        self._in_hunk = False

    def __getattr__(self, name: str) -> Any:
        """All but writing is the terminal's own."""
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write lines, the long ones wrapped."""
        columns = self._columns()
        lines = text.split("\n")
        found = []
        for place, line in enumerate(lines):
            whole = not (self._begun and place == 0) and columns >= NARROWEST
            found.append("\n".join(self._lines(line, columns)) if whole else line)
        end = lines[-1]
        self._begun = not end.endswith("\033[K") and (bool(end) or (self._begun and len(lines) == 1))
        self._stream.write("\n".join(found))
        return len(text)

    def writelines(self, lines: Any) -> None:
        """Write some."""
        for line in lines:
            self.write(line)

    def _columns(self) -> int:
        """How wide the terminal is, or is to be taken for; 0 if that is not known."""
        wanted = os.environ.get("COLUMNS", "")
        try:
            return int(wanted) if wanted.isdecimal() else os.get_terminal_size(self._stream.fileno()).columns
        except (OSError, ValueError):  # it was closed
            return 0

    def _lines(self, line: str, columns: int) -> list[str]:
        bare = _bare(line)
        self._in_hunk = bare.lstrip().startswith("@@ ") or (self._in_hunk and bare.startswith(DIFF))
        if len(bare) <= columns and cells(bare) <= columns:
            return [line]
        is_command = bare.startswith(("  ", "$ ")) and bare.lstrip().startswith(PROGRAMS)
        if self._in_hunk or is_command or not bare.isprintable():
            return [line]
        return wrapped(line, columns)


def wrapped(line: str, columns: int) -> list[str]:
    """A line in several, each below the beginning of the first one's text; colours are not counted."""
    pieces = _pieces(line)
    hang = " " * _hang(_bare(line), columns)
    lines: list[str] = []
    now, used = "", 0
    for blanks, word in pieces:
        size = cells(_bare(word))
        if used and used + len(blanks) + size > columns and now.strip():
            lines.append(now)
            now, used = hang + word, len(hang) + size
        else:
            now, used = now + blanks + word, used + len(blanks) + size
    return [*lines, now]


def _hang(bare: str, columns: int) -> int:
    """Where the text of a line begins: after its blanks, its bullet, or the last label before a gap."""
    begin = len(bare) - len(bare.lstrip(" "))
    most = int(columns * MAX_HANG)
    gap = bare.rfind("  ", 0, most)
    if gap > begin:
        begin = gap + 2
    elif bare[begin : begin + 2] in {"- ", "! ", "* "}:
        begin += 2
    return begin if begin <= most else 0


def _pieces(line: str) -> list[tuple[str, str]]:
    """Words, each with the blanks before it. What stands in backticks is one word."""
    found: list[tuple[str, str]] = []
    blanks = word = ""
    codes = line.count("`") // 2 * 2  # the last of an odd number opens nothing
    is_code = False
    for letter in line:
        if letter == "`" and codes:
            is_code, codes = not is_code, codes - 1
        if letter == " " and not is_code:
            if word:
                found.append((blanks, word))
                blanks = word = ""
            blanks += letter
        else:
            word += letter
    return [*found, (blanks, word)]


def _bare(text: str) -> str:
    """The text without its colours."""
    if "\033" not in text:
        return text
    begin, *rest = text.split("\033[")
    return begin + "".join([part.partition("m")[2] if part.partition("m")[1] else f"\033[{part}" for part in rest])
