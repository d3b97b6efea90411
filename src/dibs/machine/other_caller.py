"""Another process of this machine, for which a thread of a server works; machine/caller.py hands it out.

Not in that file, which every hook loads and which has no use for a class of it.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

DELETED = " (deleted)"  # the kernel's word after the name of a directory that is not there any more


class Declined(BaseException):
    """A server cannot answer for this caller, which has to go to the store itself; nothing was decided."""


class Caller:
    """Another process of this machine, for which a thread of a server works."""

    __slots__ = ("environ", "folder", "host", "ledgers", "pid", "trees")

    def __init__(self, pid: int, environ: dict[str, str], host: Any, ledgers: Any) -> None:
        """`host` and `ledgers` are what the server keeps for all its callers (server/host.py, cache.py).

        This floor does not look at them.
        """
        self.pid, self.environ, self.host, self.ledgers = pid, environ, host, ledgers
        self.folder = ""  # its working directory by its own word, for a system without /proc
        self.trees: list[Any] = []

    def session(self, place: Any) -> Any:
        """A session on what the server has opened, which is one workspace."""
        if place.root != self.host.place.root:
            raise Declined
        return self.host.session(place=place)

    def tree(self, top: str, folder: str) -> Any:
        """A working tree with a ledger that the server has read before."""
        found = self.ledgers.tree(top, folder)
        self.trees.append(found)
        return found

    def done(self) -> None:
        """Its request is answered: give back what was lent."""
        for tree in self.trees:
            tree.give_back()
        self.trees.clear()

    def declines(self, error: BaseException) -> bool:
        """After an error: is it one of this server, which the caller itself would not have met?"""
        return isinstance(error, Declined) or self.host.reopen_after(error)

    def cwd(self) -> str:
        """Its working directory, as the kernel names it."""
        try:
            found = os.readlink(f"/proc/{self.pid}/cwd")
        except OSError:
            found = os.path.realpath(self.folder)
        if found.endswith(DELETED) and not os.path.isdir(found):
            raise FileNotFoundError(2, "No such file or directory")  # as `os.getcwd` does
        return found
