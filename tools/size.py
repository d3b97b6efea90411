"""How long the code is: `python -m tools.size [FOLDER …]` prints files and lines of code of each room.

A line of code is a line with a token that is neither comment nor docstring; blank lines are none. It is a figure for
notes and reviews, and no test: a test would reward longer lines. Rooms are the folders right below a folder of the
arguments, `src/dibs` unless some are named; operations, doors and others that hold folders are shown with these.
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

TOP = Path(__file__).resolve().parent.parent
NO_CODE = frozenset((
    tokenize.COMMENT, tokenize.DEDENT, tokenize.ENCODING, tokenize.ENDMARKER, tokenize.INDENT, tokenize.NEWLINE,
    tokenize.NL,
))  # fmt: skip
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


class Size(NamedTuple):
    """The size of a file, or of several."""

    files: int = 0
    code: int = 0
    lines: int = 0

    def plus(self, other: Size) -> Size:
        """The size of both."""
        return Size(self.files + other.files, self.code + other.code, self.lines + other.lines)


def size_of(source: str) -> Size:
    """The size of one source."""
    code: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in NO_CODE:
            code.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            docstring = node.body[0]
            code.difference_update(range(docstring.lineno, (docstring.end_lineno or docstring.lineno) + 1))
    return Size(1, len(code), len(source.splitlines()))


def rooms(folder: Path) -> dict[str, Size]:
    """The size of each folder below this one, with its own files alone."""
    sizes: defaultdict[str, Size] = defaultdict(Size)
    for file in sorted(folder.rglob("*.py")):
        room = file.parent.relative_to(folder).as_posix()
        sizes[room] = sizes[room].plus(size_of(file.read_text(encoding="utf-8")))
    return dict(sizes)


def main(folders: list[str]) -> None:
    """Print a table of each folder."""
    for folder in folders or ["src/dibs"]:
        sizes = rooms(TOP / folder)
        total = Size()
        print(f"{'files':>6} {'code':>7} {'lines':>7}  {folder}")
        for room, size in sorted(sizes.items()):
            total = total.plus(size)
            print(f"{size.files:6} {size.code:7,} {size.lines:7,}  {room}")
        print(f"{total.files:6} {total.code:7,} {total.lines:7,}  total")


if __name__ == "__main__":
    main(sys.argv[1:])
