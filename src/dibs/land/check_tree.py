"""The clean working tree in which a lander runs the project's check: its own, outside of the repository's folders.

It is made once a lander and filled with each commit that is checked. What a dead lander left is removed by the next one
of the same target, lock files of a killed git included: nobody else works there, and there is one lander at a time.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile

from dibs.errors import Unavailable
from dibs.git import queries as git
from dibs.git import sides
from dibs.machine import clock
from dibs.stores.seam import digest_of
from dibs.workers.task_command import ESCAPES
from dibs.workers.verification import REPLACEMENT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.workspace.location import Place

CHECKOUT_TIMEOUT_S = 600.0
FOLDERS = "dibs-land-"  # how the folders begin, in the folder for temporary files


class CleanTree:
    """The clean working tree of one lander."""

    def __init__(self, place: Place, onto: str, turn: int, run: Callable[..., int | None]) -> None:
        """`run(words, timeout, **settings)` runs a command under the lander's claim and returns its exit code."""
        self._place, self._turn, self._run = place, turn, run
        self._prefix = f"{FOLDERS}{digest_of(f'{place.common} {onto}')[:10]}-"  # of this target's landers
        self._mark = f"{sides.OWN_LOCK}: {onto}, "  # how the reason begins for which git keeps these trees
        self._folder = ""

    def at(self, commit: str) -> str:
        """The tree with exactly this commit in it; its folder."""
        if self._folder:
            done = self._git(self._folder, "checkout", "--quiet", "--detach", "--force", commit)
            if not done and not self._git(self._folder, "clean", "-ffdxq"):
                return self._folder
            self.drop()
        outer = tempfile.mkdtemp(prefix=self._prefix)
        self._folder = f"{outer}/{os.path.basename(self._place.root) or 'tree'}"
        reason = f"{self._mark}turn {self._turn}"
        words = ("worktree", "add", "--quiet", "--detach", "--lock", "--reason", reason, self._folder, commit)
        said = self._git(self._place.top, *words)
        if said:
            raise Unavailable(f"a clean working tree cannot be made: {said}", path=self._folder)
        return self._folder

    def drop(self) -> None:
        """Remove it."""
        folder, self._folder = self._folder, ""
        if folder:
            self._remove(folder)

    def _git(self, cwd: str, *words: str) -> str:
        """Git under the claim, for what may take long; what it said if it failed, else ""."""
        with tempfile.TemporaryFile() as said:
            code = self._run(
                ["git", "-C", cwd, *words], CHECKOUT_TIMEOUT_S, env=git.environment(), stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL, stderr=said,
            )  # fmt: skip
            if code == 0:
                return ""
            said.seek(0)
            return plain(said.read(4_000)) or f"git ended with {code}"

    def drop_others(self) -> bool:
        """Remove what dead landers left, however far they and their git came; was there any that git knows of?

        It comes before anything else: a half-made tree makes every fetch and gc fail.
        """
        found = False
        for admin, tree, reason in self._known():
            outer = os.path.basename(os.path.dirname(tree))
            own = reason.startswith(self._mark) or outer.startswith(self._prefix)
            others = reason.startswith(sides.OWN_LOCK) or outer.startswith(FOLDERS)
            if (not tree or tree != self._folder) and (own or (others and _is_half_made(admin, tree))):
                _remove(admin, tree)
                found = True
        with os.scandir(tempfile.gettempdir()) as entries:  # of one that died before git knew of it
            for entry in entries:
                own = entry.name.startswith(self._prefix) and entry.is_dir(follow_symlinks=False)
                own = own and entry.path != os.path.dirname(self._folder)
                if own and entry.stat(follow_symlinks=False).st_uid == os.getuid():
                    shutil.rmtree(entry.path, ignore_errors=True)
        return found

    def _known(self) -> list[tuple[str, str, str]]:
        """What git's directory has of working trees: its folder for each, where the tree is, why it is locked.

        Git's own list leaves out what a killed git began, and a tree that it is about to remove is locked no more.
        """
        try:
            with os.scandir(f"{self._place.common}/worktrees") as entries:
                admins = sorted(entry.path for entry in entries)
        except OSError:  # there is none
            return []
        found = []
        for admin in admins:
            link = _line(f"{admin}/gitdir")
            tree = os.path.dirname(os.path.normpath(os.path.join(admin, link))) if link else ""
            found.append((admin, tree, _line(f"{admin}/locked")))
        return found

    def _remove(self, folder: str) -> None:
        real = os.path.realpath(folder)
        admins = [admin for admin, tree, _ in self._known() if tree and os.path.realpath(tree) == real]
        _remove(admins[0] if admins else "", folder)


def _line(file: str) -> str:
    """The first line of a file of git's; "" if it cannot be read."""
    try:
        with open(file, encoding="utf-8", errors="surrogateescape") as opened:
            return opened.readline(10_000).rstrip("\n")
    except OSError:
        return ""


def _remove(admin: str, tree: str) -> None:
    """Remove a working tree and what git has of it. Killed in between, the next one recognises what is left.

    The tree's folder goes first: its name tells whose it was. Without `gitdir` git passes the rest over.
    """
    outer = os.path.dirname(tree)
    if os.path.basename(outer).startswith(FOLDERS):
        shutil.rmtree(outer, ignore_errors=True)
    if admin:
        try:
            os.unlink(f"{admin}/gitdir")
        except OSError:
            pass
        shutil.rmtree(admin, ignore_errors=True)


def _is_half_made(admin: str, tree: str) -> bool:
    """Was the git of another target's lander killed while it made this tree? It would have a commit long since."""
    if _line(f"{admin}/HEAD").strip("0"):
        return False
    for place in (f"{tree}/.git", admin):
        try:
            return clock.wall() / 1000 - os.stat(place).st_mtime > CHECKOUT_TIMEOUT_S
        except OSError:
            pass
    return True


def plain(data: bytes) -> str:
    """Output as a text that can be shown and kept."""
    text = ESCAPES.sub("", data.decode(errors="replace").replace("\r\n", "\n"))
    return "".join([one if one.isprintable() or one in "\n\t" else REPLACEMENT for one in text]).strip()
