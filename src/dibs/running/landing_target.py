"""The target branch: a fence that git itself enforces, the move, and the working trees that have it checked out.

The fence is the ref `refs/dibs/land/TARGET`, a blob with the lander's turn. A new lander writes its turn there before
it looks at anything, and only over a lower one. The move is one ref transaction: the fence is mine, the target is where
it was, now it is there. A lander that slept through the end of its claim finds another turn in the fence, and git
refuses.

A working tree that has the target checked out follows it, as after `git pull --ff-only`. Whether it can is asked first:
git refuses where a file that the landing changes has uncommitted changes, and other changes stay as they are. A lander
that dies between the move and this leaves the tree one commit behind; the next one brings it along. Files that are
neither the old nor the new content are somebody's work and are left alone.
"""

from __future__ import annotations

import os

from dibs.errors import DibsError, Unavailable
from dibs.facts.git import commits
from dibs.facts.git import queries as git
from dibs.facts.git.queries import environment
from dibs.facts.programs import run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.facts.programs import Outcome

MOVE_TIMEOUT_S = 300.0  # of a large working tree that follows
MAX_TRIES = 10  # to write the fence against others who write it


class Target:
    """One branch of one repository."""

    def __init__(self, top: str, name: str, turn: int, token: int) -> None:
        self.top, self.name = top, name
        self._ref, self._fence_ref = f"refs/heads/{name}", f"refs/dibs/land/{name}"
        self._turn, self._token = turn, token
        self._fence = ""  # the blob with my turn

    def commit(self) -> str:
        """Where it is; "" if there is no such branch."""
        return git.commit(self.top, self._ref)

    # --- the fence

    def fence(self, confirm: Callable[[], object]) -> None:
        """Keep earlier landers out from now on. Raises Fenced if a later one did that to this one.

        `confirm` raises Fenced if the store knows a later turn. If it does not, a higher one here is from a store that
        is gone.
        """
        mine = self._git("hash-object", "-w", "--stdin", given=f"{self._turn} {self._token}\n".encode()).strip()
        for _ in range(MAX_TRIES):
            before = git.ask(self.top, "rev-parse", "--verify", "--quiet", self._fence_ref, fine=(0, 1, 128))
            old = os.fsdecode(before.out).strip()
            if old and self._turn_in(old) >= self._turn:
                confirm()
            zeros = "0" * len(mine)
            if git.ask(self.top, "update-ref", self._fence_ref, mine, old or zeros, fine=(0, 1, 128)).ok:
                self._fence = mine
                return
        raise Unavailable(f"{self._fence_ref} cannot be written; try again.", path=self.top)

    def _turn_in(self, blob: str) -> int:
        found = git.ask(self.top, "cat-file", "blob", blob, fine=(0, 128)).out.split()
        return int(found[0]) if found and found[0].isdigit() else 0

    def is_mine(self) -> bool:
        """Is the fence still this lander's?"""
        return git.ask(self.top, "rev-parse", "--verify", "--quiet", self._fence_ref, fine=(0, 1)).out.strip() == (
            self._fence.encode()
        )

    # --- the move

    def move(self, before: str, after: str, text: str) -> bool:
        """Move the branch, if it is where it was and the fence is mine; False if it is not."""
        assert self._fence, "a lander fences first"
        zeros = "0" * len(after)
        orders = [
            "start", f"verify {self._fence_ref} {self._fence}", f"update {self._ref} {after} {before or zeros}",
            "prepare", "commit", "",
        ]  # fmt: skip
        trees = self.trees()
        done = self._run(trees[0] if trees else self.top, "update-ref", "-m", text, "--stdin", given="\n".join(orders))
        if not done.ok and self.commit() == after:  # it was told so by a signal after the deed
            return True
        return done.ok

    # --- the working trees that have it checked out

    def trees(self) -> list[str]:
        """Their tops."""
        return [top for top, branch in commits.checked_out(self.top).items() if branch == self.name]

    def in_the_way(self, before: str, after: str) -> str:
        """Why a working tree could not follow; "" if all can."""
        for top in self.trees():
            self._run(top, "update-index", "-q", "--refresh")
            done = self._run(top, "read-tree", "-n", "-m", "-u", before, after) if before else None
            if done is not None and not done.ok:
                return f"{self.name} is checked out in {top}, which cannot follow: {_reason(done)}"
        return ""

    def bring_along(self, before: str, after: str) -> list[str]:
        """Let the working trees follow; the paths in each tree that changed. Raises nothing: the branch has moved."""
        followed = []
        for top in self.trees():
            if not before or self._same(top, after):
                continue
            self._run(top, "update-index", "-q", "--refresh")
            if self._run(top, "read-tree", "-m", "-u", before, after).ok or self._repair(top, before, after):
                followed.append(top)
        return followed

    def _same(self, top: str, commit: str) -> bool:
        """Is the index that of this commit?"""
        return self._run(top, "diff-index", "--cached", "--quiet", commit).ok

    def _repair(self, top: str, before: str, after: str) -> bool:
        """Bring a tree along that died half way: each file that has the old content gets the new one."""
        if not self._same(top, before):
            return False
        try:
            changed = git.diff_paths(top, before, after)
            theirs = git.differing(top, before, list(changed)) & git.differing(top, after, list(changed))
        except DibsError:
            return False
        if not self._run(top, "read-tree", after).ok:
            return False
        safe = [path for path in changed if path not in theirs]
        there = [path for path in safe if changed[path]]
        given = b"".join([os.fsencode(path) + b"\0" for path in there])
        self._run(top, "checkout-index", "-f", "-z", "--stdin", given=given)
        for path in safe:
            if not changed[path]:
                try:
                    os.unlink(f"{top}/{path}")
                except OSError:
                    pass
        self._run(top, "update-index", "-q", "--refresh")
        return True

    # --- git

    def _git(self, *words: str, given: bytes = b"") -> str:
        return os.fsdecode(git.ask(self.top, *words, given=given).out)

    def _run(self, top: str, *words: str, given: str | bytes = b"") -> Outcome:
        text = given.encode() if isinstance(given, str) else given
        return run(["git", "-C", top, *words], env=environment(), given=text, timeout=MOVE_TIMEOUT_S)


def _reason(done: Outcome) -> str:
    """Git's reason, without its own advice."""
    said = done.err.decode(errors="replace").strip().splitlines()
    lines = [line.removeprefix("error: ").removeprefix("fatal: ").strip() for line in said]
    return " ".join(lines)[:300] or f"git ended with {done.code}."
