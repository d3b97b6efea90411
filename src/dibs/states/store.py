"""Where the states of working trees are kept: records beside each tree's ledger, contents in a store of dibs' own.

A state is a commit without a parent, whose tree is the working copy byte for byte. The objects lie in
`$GIT_COMMON_DIR/dibs/states/objects`, not in the repository, and no ref names them: a commit under a ref shows in `git
log --all`, any ref goes out with `git push --mirror`, and thousands of loose objects would start the user's `git gc`.
So nothing of git's knows them: status, log, clones, pushes, clean-ups and fsck are as they were. Of the repository a
state borrows only the files that HEAD has, and HEAD is kept (`keep_commits`) if it is not on the branch that others
land on: so `git gc --prune=now` takes nothing of a state, also after `git branch -D`.

One line a state in the file `anchors` of the tree's ledger: its time, commit, tree, HEAD and branch. A line that is
torn or senseless is void.

- crash: a state counts from its line on, which is written last. Objects without a line go with the next clean-up.
- two at once: one anchor a tree (`anchor.py`); clean-ups are alone in the store (`locked`), anchors share it.
- disk full: the anchor fails, and says so in `anchors.failed`, which `dibs doctor` shows; the hook never waits for it.
- clock: a state is never older than the one before it, whatever the wall clock does.
"""

from __future__ import annotations

import os
from contextlib import contextmanager

from dibs import jsontext
from dibs.errors import Unavailable
from dibs.git import merges, objects
from dibs.git import queries as git
from dibs.ledger import ledger_files
from dibs.machine import atomic_write
from dibs.machine.programs import run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import TypedDict

    from dibs.workspace.location import Place

    class StateRecord(TypedDict):
        """One state of a working tree."""

        at: int  # ms of the wall clock: when the look at the tree began
        id: str  # the commit
        tree: str
        head: str  # "" before the first commit
        branch: str  # "" where HEAD is on none
        files: int  # that differ from HEAD
        notes: list[str]  # what was left out


FOLDER, LOCK = "states", "lock"  # of all trees together
RECORDS, FAILED = "anchors", "anchors.failed"  # files in a tree's ledger
PACK_TIMEOUT_S = 600.0  # nobody waits for it
MAX_OBJECTS_KEPT = 200_000  # of one HEAD: a longer history is somebody's whole repository, not unfinished work
MAX_READ_BYTES = 64 * 1024 * 1024  # of a file of records


class Store:
    """The states of all working trees of one repository."""

    def __init__(self, place: Place) -> None:
        self.common, self.shared, self.root = place.common, place.shared, place.root
        self.folder = f"{place.shared}/{FOLDER}"
        self.objects = merges.Objects(place.common, f"{self.folder}/objects")
        self.path = f"{self.folder}/objects"

    def keep(self, content: bytes) -> str:
        """Keep a file's content; its blob."""
        digits = objects.digits_of(f"{self.common}/objects")
        return objects.keep(self.path, content, sync=False, digits=digits)

    def read(self, blob: str) -> bytes | None:
        """A file's content; None if it is gone."""
        words = ["git", "-C", self.common, f"--git-dir={self.common}", "cat-file", "blob", blob]
        done = run(words, env=self.objects.environment(), timeout=PACK_TIMEOUT_S)
        return done.out if done.ok else None

    def ask(self, *words: str, given: bytes = b"", alone: bool = False) -> bytes:
        """Run git on the store, for as long as it takes; raises Unavailable if it fails."""
        line = ["git", "-C", self.common, f"--git-dir={self.common}", *words]
        done = run(line, env=self.objects.environment(alone=alone), given=given, timeout=PACK_TIMEOUT_S)
        if not done.ok:
            raise Unavailable(
                f"the states cannot be read or written: {done.said or done.code}", program="git", path=self.folder
            )
        return done.out

    @contextmanager
    def locked(self, *, alone: bool = False) -> Iterator[None]:
        """The store, shared with other anchors, or for one clean-up alone."""
        import fcntl

        os.makedirs(self.path, 0o700, exist_ok=True)
        fd = os.open(f"{self.folder}/{LOCK}", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
            yield
        finally:
            os.close(fd)

    def pack(self, names: Sequence[str], *, alone: bool) -> str:
        """Put these objects into one pack of the store; how its files are called, "" without objects."""
        if not names:
            return ""
        os.makedirs(f"{self.path}/pack", 0o700, exist_ok=True)
        given = "".join([f"{name}\n" for name in names]).encode()
        out = self.ask("pack-objects", "-q", f"{self.path}/pack/pack", given=given, alone=alone)
        return f"{self.path}/pack/pack-{out.decode().strip()}."

    def keep_commits(self, head: str, known: Sequence[str]) -> bool:
        """Keep HEAD's own commits, which only its branch and its tree have, unless `known` has them. Did it need to?"""
        landed = self._landed()
        try:
            names = self._objects(["rev-list", "--objects", head, "--not", *landed, *known])
        except Unavailable:  # one of the known ones was landed, and is gone since
            names = self._objects(["rev-list", "--objects", head, "--not", *landed])
        if names and len(names) <= MAX_OBJECTS_KEPT:
            self.pack(names, alone=False)
        return bool(names)

    def needed_of(self, head: str) -> list[str]:
        """The objects of HEAD's own commits that are to be kept."""
        try:
            names = self._objects(["rev-list", "--objects", "--missing=allow-any", head, "--not", *self._landed()])
        except Unavailable:  # it is gone: the tree was removed, and the commit was on the branch that others land on
            return []
        return names if len(names) <= MAX_OBJECTS_KEPT else []

    def live_objects(self, states: Sequence[str]) -> list[str]:
        """All objects of these states that are in the store itself."""
        given = "".join([f"{state}\n" for state in states]).encode()
        words = ("rev-list", "--objects", "--no-walk", "--missing=allow-any", "--stdin")
        return _names(self.ask(*words, given=given, alone=True))

    def _objects(self, words: Sequence[str]) -> list[str]:
        return _names(self.ask(*words))

    def _landed(self) -> list[str]:
        """Commits whose history stays in the repository whatever becomes of a working tree: of its main branches."""
        names = ("refs/heads/main", "refs/heads/master", "refs/remotes/origin/HEAD", "HEAD")
        line = ["git", "-C", self.common, f"--git-dir={self.common}", "rev-parse", "--quiet", "--verify"]
        found = [run([*line, f"{name}^{{commit}}"], env=git.environment()) for name in names]
        return list(dict.fromkeys([one.out.decode().strip() for one in found if one.ok]))

    def bytes(self) -> int:
        """What the store takes on the disk."""
        total = 0
        for folder, _, files in os.walk(self.path):
            for name in files:
                try:
                    total += os.stat(f"{folder}/{name}").st_blocks * 512
                except OSError:
                    pass
        return total

    def ledgers(self) -> list[tuple[str, str]]:
        """The ledgers of all working trees, also of removed ones: the folder, and the top."""
        return [(self.shared, self.root), *ledger_files.of_linked(self.shared)]


def _names(out: bytes) -> list[str]:
    return [row.split(" ", 1)[0] for row in os.fsdecode(out).splitlines() if row]


# --- records


def records(ledger: str) -> list[StateRecord]:
    """The states of one working tree, the oldest first."""
    try:
        with open(f"{ledger}/{RECORDS}", "rb") as file:
            data = file.read(MAX_READ_BYTES)
    except OSError:
        return []
    found: list[StateRecord] = []
    for row in data.split(b"\n"):
        try:
            one = jsontext.decode(row.decode("ascii"))
            if isinstance(one["at"], int) and isinstance(one["id"], str) and isinstance(one["tree"], str):
                found.append(one)
        except (ValueError, KeyError, TypeError):
            continue
    return found


def append(ledger: str, record: StateRecord) -> None:
    """Add a state: from now on it counts."""
    data = _line(record)
    fd = os.open(f"{ledger}/{RECORDS}", os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    try:
        size = os.fstat(fd).st_size
        if size and os.pread(fd, 1, size - 1) != b"\n":  # of a run that was killed
            data = b"\n" + data
        os.write(fd, data)
    finally:
        os.close(fd)


def replace(ledger: str, kept: Sequence[StateRecord]) -> None:
    """Keep only these. The caller is alone in the store."""
    atomic_write.replace(f"{ledger}/{RECORDS}", b"".join(map(_line, kept)), mode=atomic_write.PRIVATE_MODE)


def failure(ledger: str) -> str:
    """Why the last anchor of a tree failed; "" if it did not."""
    try:
        with open(f"{ledger}/{FAILED}", encoding="utf-8", errors="replace") as file:
            return file.read(500)
    except OSError:
        return ""


def _line(record: StateRecord) -> bytes:
    return jsontext.encode(record).encode("ascii") + b"\n"
