"""Reads a shell command as an agent typed it: which files it would write, which git commands it would run.

Nothing of it is run; git is asked for the names that `git ls-files` lists. The words are read with a grammar of bash
(tree-sitter-bash), and followed as the shell would: into subshells, branches, loops, functions, `bash -c`, through `cd`
and variables with a known value. If a command writes something that cannot be known from its words, the result says so,
and the caller decides.

Not seen: what programs do that have no row in the table (programs.py, tools.py: `make`, `python x.py`), aliases, and
the state of an earlier shell.
"""

from __future__ import annotations

import os

from dibs.machine import caller
from dibs.shell.call import signs
from dibs.shell.commands import CommandInterpreter
from dibs.shell.findings import LITERAL_LETTERS, Doubt, Env, Reading, Simple, Target, TooComplex, unreadable
from dibs.shell.globs import FileView
from dibs.shell.programs import PROGRAMS

__all__ = ["Doubt", "Reading", "Simple", "Target", "only_looks", "read"]

# Words that need the parser; any other line of harmless characters is one command.
_KEYWORDS = frozenset((
    "case", "coproc", "do", "done", "elif", "else", "esac", "export", "fi", "for", "function", "if", "in", "select",
    "then", "until", "while",
))  # fmt: skip


def read(command: str, cwd: str, *, home: str = "", strictly: bool = False) -> Reading:
    """What a command would write if it were run in this directory (an absolute path).

    Never raises: what an error of this reader's own leaves open is like a command that cannot be read. `strictly`: for
    tests, which are to find such errors.
    """
    view = FileView()
    reading = Reading(view)
    home = home or caller.environ().get("HOME", "")
    env = Env([cwd], {"HOME": home} if home else {}, command)
    interpreter = LineInterpreter(reading, home, view)
    try:
        if command.strip(LITERAL_LETTERS + " \t") or not _plain(interpreter, command, env):
            interpreter.level = -1
            if not _is_text(command):
                command = command.encode("utf-8", "replace").decode()
                raise TooComplex  # noqa: TRY301 - as below
            if unreadable(command):
                raise TooComplex  # noqa: TRY301 - one place for unread commands
            interpreter.script(command, env)
    except (TooComplex, RecursionError):
        reading.broken = True
    except Exception:
        if strictly:
            raise
        reading.broken = True
    if reading.broken:
        if _is_unclosed(command):
            return Reading(view)  # a line that no shell runs any part of
        if signs(command):
            reading.doubt(command if len(command) <= SHOWN_LETTERS else command[:SHOWN_LETTERS] + "…")
    reading.settle()
    return reading


SHOWN_LETTERS = 500  # of a command that could not be read, in the message


def _is_unclosed(command: str) -> bool:
    """Is this one line with a quote that is not closed? A shell reads it to its end before it runs anything."""
    if any(sign in command for sign in ("\n", "`", "$(", "<(", ">(", "<<", "#")):
        return False
    at = 0
    while at < len(command):
        mark = command[at]
        at += 2 if mark == "\\" else 1
        if mark in "'\"":
            escapes = mark == '"' or command[at - 2 : at - 1] == "$"
            while at < len(command) and command[at] != mark:
                at += 2 if command[at] == "\\" and escapes else 1
            if at >= len(command):
                return True
            at += 1
    return False


def _is_text(command: str) -> bool:
    """Can the system take these characters? Half a surrogate pair, from a client's JSON, it cannot."""
    try:
        os.fsencode(command)
    except UnicodeEncodeError:
        return False
    return True


def _plain(interpreter: LineInterpreter, command: str, env: Env) -> bool:
    """Read a line of literal words without the parser."""
    words = command.split()
    if words and words[0] in _KEYWORDS:
        return False
    if words:
        interpreter.command([*words], env, command.strip())
    return True


class LineInterpreter(CommandInterpreter):
    """One that loads the grammar only for a script."""

    __slots__ = ()

    def walk(self, source: str, env: Env) -> None:
        """Walk a script, one level deeper."""
        from dibs.shell import walk as shell_walk

        shell_walk.Script(source, self.reading, self.home, self.view, self.level + 1).read(env)

    def trial(self) -> LineInterpreter:
        """One that notes everything in a reading of its own."""
        return LineInterpreter(Reading(FileView()), self.home, self.view, self.level)


def only_looks(name: str | None) -> bool:
    """Is this one of the most frequent programs that never write, whatever their arguments?"""
    return name is not None and "look" in PROGRAMS.get(name, ())
