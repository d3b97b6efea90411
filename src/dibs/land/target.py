"""The target branch: a fence that git itself enforces, the move, and the working trees that have it checked out.

The fence is the ref `refs/dibs/land/TARGET`, a blob with the lander's turn. A new lander writes its turn there before
it looks at anything, and only over a lower one. The move is one ref transaction: the fence is mine, the target is where
it was, now it is there. A lander that slept through the end of its claim finds another turn in the fence, and git
refuses.

A working tree that has the target checked out follows it, as after `git pull --ff-only`. Whether it can is asked first:
git refuses where a file that the landing changes has uncommitted changes, and other changes stay as they are. Where
each tree stood is noted below git's directory before the move, until it has followed: so a tree that was left behind (a
lander that died, a lock file that came in between) follows with the next lander.
Files that are neither the old nor the new content are an agent's work and are left alone.

A lock file of git in the way is waited for, and then named (git/locks.py). None is removed: these are the user's
index, HEAD and refs, and another git may need them.
"""

from __future__ import annotations

import os

from dibs import jsontext
from dibs.errors import DibsError, Unavailable
from dibs.git import commits, locks
from dibs.git import queries as git
from dibs.git.queries import environment
from dibs.machine import atomic_write, clock
from dibs.machine.programs import run
from dibs.stores.seam import digest_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.machine.programs import Outcome

MOVE_TIMEOUT_S = 300.0  # of a large working tree that follows
MAX_TRIES = 10  # to write the fence against others who write it
LOCK_TIMEOUT_S = 5.0  # for another git that is at work; longer than any that waits for nobody
LOCK_POLL_S = 0.05


class Target:
    """One branch of one repository."""

    def __init__(self, top: str, common: str, name: str, turn: int, token: int) -> None:
        self.top, self.name = top, name
        self._notes = f"{common}/dibs/land-{digest_of(name)[:12]}.json"  # working tree → the commit it has to leave
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
            if self._run(self.top, "update-ref", self._fence_ref, mine, old or zeros).ok:
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

    def try_locks(self, before: str) -> None:
        """Could the branch be moved now? Raises Unavailable for a lock file that stays, before a long check."""
        trees = self.trees()
        orders = self._orders(before, before, "abort")
        if before:
            self._run(trees[0] if trees else self.top, "update-ref", "--stdin", given=orders)

    def _orders(self, before: str, after: str, end: str) -> str:
        """One transaction of git: the fence is mine, the branch is where it was, now it is there."""
        zeros = "0" * len(after)
        words = ["start", f"verify {self._fence_ref} {self._fence}", f"update {self._ref} {after} {before or zeros}"]
        return "\n".join([*words, "prepare", end, ""])

    def move(self, before: str, after: str, text: str) -> bool:
        """Move the branch, if it is where it was and the fence is mine; False if it is not."""
        assert self._fence, "a lander fences first"
        orders = self._orders(before, after, "commit")
        trees, earlier = self.trees(), self._read_notes()
        if before:
            left = {top: base for top, base in earlier.items() if top not in trees or not self._same(top, before)}
            self._write_notes(dict.fromkeys(trees, before) | left)
        moved = False
        try:
            done = self._run(trees[0] if trees else self.top, "update-ref", "-m", text, "--stdin", given=orders)
            moved = done.ok or self.commit() == after  # or it was told so by a signal after the move
        finally:
            if not moved and before:
                self._write_notes(earlier)
        return moved

    # --- the working trees that have it checked out

    def trees(self) -> list[str]:
        """Their tops."""
        found = commits.checked_out(self.top).items()
        return [top for top, branch in found if branch == self.name and os.path.isdir(top)]

    def in_the_way(self, before: str, after: str) -> tuple[str, str] | None:
        """A working tree that could not follow, and git's reason; None if all can. Raises for a lasting lock file."""
        for top in self.trees():
            self._run(top, "update-index", "-q", "--refresh")
            done = self._run(top, "read-tree", "-n", "-m", "-u", before, after) if before else None
            if done is not None and not done.ok:
                return top, _reason(done)
        return None

    def bring_along(self) -> tuple[list[tuple[str, str]], str]:
        """Let the working trees follow that are noted: those that did, with where they were; why one could not.

        Raises nothing: the branch has moved. A tree that could not stays noted.
        """
        notes, after = self._read_notes(), self.commit()
        if not notes or not after:
            return [], ""
        followed, why = [], ""
        trees = self.trees()
        for top, before in list(notes.items()):
            try:
                if top in trees and not self._same(top, after):
                    if not self._follows(top, before, after):
                        why = why or f"{top} has {self.name} checked out and could not follow it: files there changed"
                        continue
                    followed.append((top, before))
            except DibsError as error:
                why = why or f"{top} has {self.name} checked out and could not follow it: {error.message}"
                continue
            del notes[top]
        self._write_notes(notes)
        return followed, why

    def _follows(self, top: str, before: str, after: str) -> bool:
        self._run(top, "update-index", "-q", "--refresh")
        return self._run(top, "read-tree", "-m", "-u", before, after).ok or self._repair(top, before, after)

    def _read_notes(self) -> dict[str, str]:
        try:
            with open(self._notes, encoding="utf-8", errors="surrogateescape") as file:
                found = jsontext.decode(file.read())
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    def _write_notes(self, notes: dict[str, str]) -> None:
        """Keep them; none are no file."""
        if not notes:
            try:
                os.unlink(self._notes)
            except OSError:
                pass
            return
        try:
            os.makedirs(os.path.dirname(self._notes), 0o700, exist_ok=True)
            atomic_write.replace(self._notes, jsontext.encode(notes))
        except OSError as error:
            raise Unavailable(f"{self._notes} cannot be written: {error.strerror}", path=self._notes) from None

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
        """Git, again while another git's lock file is in its way; raises Unavailable if that stays."""
        text = given.encode() if isinstance(given, str) else given
        end = clock.since_boot() + int(LOCK_TIMEOUT_S * 1000)
        while True:
            done = run(["git", "-C", top, *words], env=environment(), given=text, timeout=MOVE_TIMEOUT_S)
            lock = "" if done.ok else locks.named(os.fsdecode(done.err), top)
            if not lock:
                return done
            if clock.since_boot() >= end:
                tops = [self.top, *commits.checked_out(self.top)]
                raise Unavailable(
                    f"a lock file of git is in the way: {locks.describe(lock, tops)}", lock=lock, target=self.name
                )
            clock.sleep(LOCK_POLL_S)


def _reason(done: Outcome) -> str:
    """Git's reason, without its own advice."""
    said = done.err.decode(errors="replace").strip().splitlines()
    lines = [line.removeprefix("error: ").removeprefix("fatal: ").strip() for line in said]
    text = " ".join(lines)[:300] or f"git ended with {done.code}"
    return text if text.endswith((".", "!", "?")) else f"{text}."
