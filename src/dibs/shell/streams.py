"""The output of commands: to the agent, through a pipe, into a word, into a file.

A stream has its text, if that is known from the words, and the files whose content is in it. flows.py knows which
command puts what into it.
"""

from __future__ import annotations

import os

from dibs.shell.unknown import ANY, Later, Unknown, either

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    from dibs.shell.unknown import Field

    class Printer(Protocol):
        """A command that prints something."""

        name: str
        words: list[Field]
        cwd: str | None

        def output(self) -> Field:
            """What it prints."""

    class Written(Protocol):
        """A file that is written."""

        def says(self, text: str | None) -> None:
            """The last write leaves this content."""

    Shown = tuple[str, str]  # an absolute path, and how its content got here: "" as it is, "diff" or "show" by git

MAX_LIST_BYTES = 262_144  # of a file with names in it
MAX_TEXT_LETTERS = 100_000  # a longer text is data; its file is checked afterwards


class Stream:
    """The output of some commands, or the input of one."""

    __slots__ = ("_pieces", "file", "files", "level", "listed", "mixed", "raw", "targets")

    def __init__(self, *pieces: Field, file: str | None = None, raw: str | None = None) -> None:
        self._pieces: list[Field | tuple[Printer, bool]] = list(pieces)  # or a command, and whether it certainly runs
        self.files: list[Shown] = []  # whose content comes along
        self.file = file  # the file that it is read from, as it was named
        self.listed = ""  # the same as an absolute path, if the command has not changed it before
        self.raw = raw  # a here-document as typed, expansions and all
        self.mixed = False  # stderr is included
        self.level = 0  # nesting in branches that may not run, at its start
        self.targets: list[Written] = []  # the files that it ends in

    def add(self, piece: Field | Printer, *, certain: bool) -> None:
        """Add a command's output, which is worked out only when needed."""
        self._pieces.append((piece, certain) if not isinstance(piece, (str, Unknown)) else piece if certain else ANY)

    @property
    def pieces(self) -> list[Field]:
        """The printed texts, one command after the other."""
        fields: list[Field] = []
        for piece in self._pieces:
            if isinstance(piece, tuple):
                field = piece[0].output()
                fields.append(field if piece[1] else either([field]))
            else:
                fields.append(piece)
        self._pieces = [*fields]
        return fields

    @property
    def text(self) -> str | None:
        """The whole text, if it is known."""
        if self.mixed:
            return None
        pieces = self.pieces
        known = [piece for piece in pieces if isinstance(piece, str)]
        return "".join(known) if len(known) == len(pieces) and sum(map(len, known)) <= MAX_TEXT_LETTERS else None

    @property
    def lines(self) -> Unknown:
        """Any one of its lines."""
        if self.listed:
            return lines_of(self.listed)
        pieces = self.pieces
        text = self.text
        if text is not None:
            return Unknown([line for line in text.split("\n") if line], whole=True)
        return Later(lambda: either(pieces)) if any(isinstance(piece, Later) for piece in pieces) else either(pieces)

    def source(self) -> str:
        """The one file, as an absolute path, whose content it is; "" if there is none or several."""
        return self.files[0][0] if len(self.files) == 1 and not self.files[0][1] else ""

    def printer(self) -> Printer | None:
        """The one command that it is the output of; None if there is none, or anything else comes with it."""
        piece = self._pieces[0] if len(self._pieces) == 1 and not self.mixed else None
        return piece[0] if isinstance(piece, tuple) and piece[1] else None

    def settle(self) -> None:
        """End the stream: its destination files have this content."""
        for target in self.targets:
            target.says(self.text)


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
