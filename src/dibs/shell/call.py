"""One simple command as it is about to run, and the interpreter that reads it: what the readers of programs work on.

commands.py unwraps and runs a command; the functions that the table of programs names get it as a `Call`.
"""

from __future__ import annotations

import os

from dibs.shell.findings import Reading, TooComplex, unreadable
from dibs.shell.options import options
from dibs.shell.programs import PROGRAMS
from dibs.shell.unknown import ANY, either

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.shell.findings import Env, Target
    from dibs.shell.globs import FileView
    from dibs.shell.options import Fields, Given
    from dibs.shell.rows import Program
    from dibs.shell.streams import Stream
    from dibs.shell.unknown import Field

    Values = dict[str, Field]  # of variables

MAX_NESTED_SCRIPTS = 8  # `bash -c`, `eval` within each other
NO_FILES = ("2>&1", ">&2", "&>/dev/null", ">/dev/null", "> /dev/null")  # redirections that write no file


class Interpreter:
    """Reads commands and scripts as the shell would run them, and notes what they write."""

    __slots__ = ("home", "level", "reading", "view")

    def __init__(self, reading: Reading, home: str, view: FileView, level: int = 0) -> None:
        self.reading = reading
        self.home = home
        self.view = view
        self.level = level

    def command(
        self, words: Fields, env: Env, text: str, assignments: Values | None = None, stdin: Stream | None = None
    ) -> Env | None:
        """Read one simple command, wrappers and all."""
        raise NotImplementedError

    def script(self, source: str, env: Env) -> None:
        """Read a text as a separate script (`bash -c`, `eval`)."""
        if self.level >= MAX_NESTED_SCRIPTS:
            raise TooComplex
        if unreadable(source):
            self.reading.broken = True
        else:
            self.walk(source, env)

    def walk(self, source: str, env: Env) -> None:
        """Walk the statements of a script, one level deeper."""
        raise NotImplementedError

    def trial(self) -> Interpreter:
        """One at the same place that notes everything in a reading of its own."""
        raise NotImplementedError

    def function(self, name: str, env: Env) -> bool:  # noqa: ARG002 - a script knows some
        """Walk through the function of this name, if there is one."""
        return False


class ProgramCall:
    """One simple command: its words, its state, its input; and what its program's reader may say about it."""

    __slots__ = (
        "assignments", "cwd", "env", "foreign", "interpreter", "name", "program", "reading", "stdin", "text", "words",
    )  # fmt: skip

    def __init__(
        self, interpreter: Interpreter, words: Fields, env: Env, text: str, assignments: Values | None = None,
        stdin: Stream | None = None,
    ) -> None:  # fmt: skip
        self.interpreter = interpreter
        self.reading = interpreter.reading
        self.words = words
        self.env = env
        self.cwd = env.cwds[0]
        self.text = text
        self.assignments = assignments if assignments is not None else {}
        self.stdin = stdin
        self.name = ""
        self.program: Program = {}  # its row in the table
        self.foreign = False  # it, or a wrapper, is a program of its own that only has the name of a known one

    def write(self, path: Field, how: str = "write", *, merges: bool = False) -> Target | None:
        """The command writes this path."""
        return self.reading.write(self.cwd, path, how, self.text, merges=merges)

    def doubt(self, *fields: Field) -> None:
        """The command writes an unknown path, of which at most the beginning is known."""
        self.reading.doubt(self.text, either(fields).begun() if fields else ANY, self.cwd)

    def doubt_in(self, folder: Field) -> None:
        """The command writes an unknown path in this folder."""
        self.doubt(folder.rstrip("/") + "/" if isinstance(folder, str) else folder)

    def full(self, path: str) -> str:
        """A path joined with the directory, as far as it is known."""
        return path if path.startswith("/") or self.cwd is None else os.path.join(self.cwd, path)

    def is_directory(self, path: str) -> bool:
        """Is this a directory when the command runs?"""
        return path.endswith("/") or self.env.is_directory(self.full(path))

    def options(self, short: str = "", long: tuple[str, ...] = ()) -> tuple[Given, Fields]:
        """Options and operands; `short` and `long` are the options that take a value."""
        return options(self.words[1:], short, long)

    def run(self, words: Fields, env: Env | None = None, **assignments: Field) -> None:
        """The program runs this command."""
        self.interpreter.command(words, env or self.env, self.text, {**self.assignments, **assignments})

    def output(self) -> Field:
        """What the command prints."""
        raise NotImplementedError

    def judge(self) -> None:
        """Note whether it may write files that it does not name."""
        raise NotImplementedError

    def known_text(self, path: Field) -> str | None:
        """The text of a script, if the command itself contains it: from `<(…)`, or a file that it has just written."""
        if path == "/dev/fd/63" and self.reading.piped:
            return self.reading.piped.text
        if path == "/dev/stdin" and self.stdin:
            return self.stdin.text if self.stdin.raw is None else self.stdin.raw
        if not isinstance(path, str) or (self.cwd is None and not path.startswith("/")):
            return None
        return self.reading.text_of(self.full(path))

    def opaque(self) -> None:
        """An unknown text is run; it is a doubt only if its known part shows that it writes."""
        self.reading.opened = True
        if signs(self.text):
            self.doubt()


def signs(text: str) -> bool:
    """Does a text look like it writes files?"""
    for harmless in NO_FILES:
        text = text.replace(harmless, " ")
    if ">" in text:
        return True
    for mark in "\"'`$(){};&|":
        text = text.replace(mark, " ")
    rows = [PROGRAMS[os.path.basename(word)] for word in text.split()]
    return any("writes" in row and "downloads" not in row for row in rows)  # what downloads print is run, not kept
