"""Where the environment of a working tree is written: `.env.dibs` in the tree, and Claude Code's file of a session.

- `.env.dibs` is this user's alone (0600), written in one step, and never tracked: a line in git's own `info/exclude`
  hides it. Where git tracks a file of this name, nothing is written.
- CLAUDE_ENV_FILE: Claude Code runs it before each command of its shell. A session start comes again after each resume
  and compaction, so our lines replace those of before.
"""

from __future__ import annotations

import os

from dibs.errors import Unavailable
from dibs.machine import atomic_write

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from dibs.workspace.location import Place

NAME = ".env.dibs"
HEAD = "# Written by `dibs env` for this working tree alone; never commit it."
BEGIN, END = "# dibs env: begin", "# dibs env: end"
SAFE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-")


def quoted(value: str) -> str:
    """A value as a POSIX shell takes it, and as the usual readers of .env files do."""
    if value and SAFE.issuperset(value):
        return value
    if "'" not in value:
        return f"'{value}'"
    for letter in '\\"$`':
        value = value.replace(letter, f"\\{letter}")
    return f'"{value}"'


def as_dotenv(values: Mapping[str, str]) -> str:
    """Lines of an .env file; a shell takes them, too."""
    return "".join([f"{name}={quoted(value)}\n" for name, value in values.items()])


def as_shell(values: Mapping[str, str]) -> str:
    """Lines that a shell evaluates."""
    return "".join([f"export {name}={quoted(value)}\n" for name, value in values.items()])


def write(place: Place, values: Mapping[str, str]) -> str:
    """Write the tree's file, if it says something else; returns its path."""
    path, text = f"{place.top}/{NAME}", f"{HEAD}\n{as_dotenv(values)}"
    if _read(path) == text:
        return path
    if place.common:
        from dibs.git import ignored
        from dibs.git import queries as git

        if git.tracked_matching(place.top, (NAME,)):
            message = f"{NAME} is tracked by git, so nothing is written to it: `git rm --cached {NAME}`, then again"
            raise Unavailable(message, path=path)
        ignored.hide(place.common, f"/{NAME}")
    try:
        atomic_write.replace(path, text, mode=atomic_write.PRIVATE_MODE)
    except OSError as error:
        raise Unavailable(f"{path} cannot be written: {error.strerror}", path=path) from None
    return path


def remove(place: Place) -> None:
    """Remove the tree's file, if it is ours."""
    path = f"{place.top}/{NAME}"
    text = _read(path)
    if text is not None and text.startswith(HEAD):
        try:
            os.unlink(path)
        except OSError:
            pass  # a sandbox: the file says what the tree had


def export(path: str, values: Mapping[str, str]) -> None:
    """Put the variables into a client's file of its session; our lines of before are replaced."""
    lines = (_read(path) or "").splitlines(keepends=True)
    kept: list[str] = []
    ours = False
    for line in lines:
        ours = ours or line.rstrip() == BEGIN
        if not ours:
            kept.append(line if line.endswith("\n") else f"{line}\n")
        ours = ours and line.rstrip() != END
    try:
        with open(path, "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write("".join([*kept, f"{BEGIN}\n", as_shell(values), f"{END}\n"]))
    except OSError:
        pass  # the client's own affair; `.env.dibs` has the same


def _read(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            return file.read()
    except OSError:
        return None
