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

    def drop_others(self) -> None:
        """Remove what dead landers left; before anything else: a half-made tree makes every fetch and gc fail."""
        tree = head = ""
        for row in git.ask(self._place.top, "worktree", "list", "--porcelain", "-z").out.split(b"\0"):
            name, _, value = os.fsdecode(row).partition(" ")
            if name == "worktree":
                tree = value
            elif name == "HEAD":
                head = value
            elif name == "locked" and (value.startswith(self._mark) or _is_half_made(value, head, tree)):
                self._remove(tree)
        self._drop_unborn()
        with os.scandir(tempfile.gettempdir()) as entries:  # of one that died before git knew of it
            for entry in entries:
                own = entry.name.startswith(self._prefix) and entry.is_dir(follow_symlinks=False)
                if own and entry.stat(follow_symlinks=False).st_uid == os.getuid():
                    shutil.rmtree(entry.path, ignore_errors=True)

    def _drop_unborn(self) -> None:
        """Remove what a git left that was killed while it made a working tree: its list does not have it."""
        try:
            with os.scandir(f"{self._place.common}/worktrees") as entries:
                for entry in list(entries):
                    if not os.path.exists(f"{entry.path}/gitdir") and self._is_own(entry.path):
                        shutil.rmtree(entry.path, ignore_errors=True)
        except OSError:  # there is none
            pass

    def _is_own(self, folder: str) -> bool:
        try:
            with open(f"{folder}/locked", encoding="utf-8", errors="replace") as file:
                return file.read(1_000).startswith(self._mark)
        except OSError:
            return False

    def _remove(self, folder: str) -> None:
        top = self._place.top
        git.ask(top, "worktree", "unlock", folder, fine=range(256))
        git.ask(top, "worktree", "remove", "--force", "--force", folder, fine=range(256), timeout=CHECKOUT_TIMEOUT_S)
        outer = os.path.dirname(folder)
        if os.path.basename(outer).startswith(FOLDERS):
            shutil.rmtree(outer, ignore_errors=True)
        git.ask(top, "worktree", "prune", fine=range(256))


def _is_half_made(reason: str, head: str, tree: str) -> bool:
    """Was the git of another target's lander killed while it made this tree? It would have a commit long since."""
    if not reason.startswith(sides.OWN_LOCK) or head.strip("0"):
        return False
    try:
        return clock.wall() / 1000 - os.stat(f"{tree}/.git").st_mtime > CHECKOUT_TIMEOUT_S
    except OSError:
        return True


def plain(data: bytes) -> str:
    """Output as a text that can be shown and kept."""
    text = ESCAPES.sub("", data.decode(errors="replace").replace("\r\n", "\n"))
    return "".join([one if one.isprintable() or one in "\n\t" else REPLACEMENT for one in text]).strip()
