"""The working tree and the repository of a recorded folder, also of one that is gone.

What is still there says it itself, as git has it. A folder that is gone is a tree of its own; one below a folder that
was recorded before belongs to that, and a client's own worktrees (`REPO/.claude/worktrees/NAME`) to their repository.
"""

from __future__ import annotations

import os

from dibs.errors import DibsError
from dibs.workspace import location

MARKS = ("/.claude/worktrees/", "/.worktrees/", "/.dibs/worktrees/")  # where worktrees lie in their repository
LEAST_DEPTH = 3  # components of a gone folder that others may belong to: not `/home/ann`


class Trees:
    """The trees that were met so far."""

    def __init__(self, home: str) -> None:
        self._home = home
        self._found: dict[str, tuple[str, str]] = {"": ("", "")}
        self._gone: list[str] = []

    def of(self, folder: str) -> tuple[str, str]:
        """The top of the working tree, and of its repository; both "" for a folder that is not known."""
        if folder not in self._found:
            self._found[folder] = self._look(folder)
        return self._found[folder]

    def _look(self, folder: str) -> tuple[str, str]:
        real = os.path.realpath(folder) if os.path.isdir(folder) else os.path.normpath(folder)
        above = real
        while above.strip("/"):
            if os.path.lexists(f"{above}/.git"):
                if above == self._home and real != above:
                    break  # a home folder under git is no repository that agents share
                return above, self._repository(above)
            above = os.path.dirname(above)
        for mark in MARKS:
            repo, found, name = real.partition(mark)
            if found and name:
                return f"{repo}{mark}{name.partition('/')[0]}", repo
        for known in self._gone:
            if f"{real}/".startswith(f"{known}/"):
                return known, known
        if real.count("/") >= LEAST_DEPTH and real != self._home:
            self._gone.append(real)
        return real, real

    @staticmethod
    def _repository(top: str) -> str:
        """The main working tree; the top itself if git's files do not say."""
        if os.path.isdir(f"{top}/.git"):
            return top
        try:
            return location.find(top, None).root
        except (DibsError, OSError):
            return top
