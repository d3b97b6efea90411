"""Merges that happen nowhere: git's own three-way merge of two commits, without a working tree, an index or a ref.

`git merge-tree --write-tree` (git 2.38) computes what `git merge` would make of two commits: the tree, and each
conflict. One process does many pairs (`--stdin`, git 2.39). Two histories without a common commit are `unrelated`: git
would refuse to merge them, so that is no conflict. The objects that a merge makes go where `Objects` says.

Nothing is decided here; land/radar.py and land/lander.py use it.
"""

from __future__ import annotations

import os

from dibs.errors import Unavailable
from dibs.git import queries as git
from dibs.machine import caller
from dibs.machine.programs import run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypedDict

    Edit = tuple[int, int, int, int]  # first line before, lines before, first line after, lines after

    class UnmergedFile(TypedDict):
        """A file that git could not merge."""

        path: str
        kind: str  # content, add/add, modify/delete, rename/rename …
        base: str  # these are blobs; "" for none
        ours: str
        theirs: str

    class Overlap(TypedDict):
        """Lines that both sides changed: [first line, number of lines] in the version of each."""

        ours: list[int]
        theirs: list[int]


OLDEST = (2, 38)  # the first git with `merge-tree --write-tree`
STDIN = (2, 39)  # the first one that merges many pairs in one process
MERGE_TIMEOUT_S = 120.0  # for one process, whatever the number of its pairs
MAX_HUNKS = 20  # of one file
SUBMODULE = "160000"  # the mode of a path that is a commit of another repository: there is no blob to look into
CLEAN, CONFLICT, UNRELATED = "clean", "conflict", "unrelated"

_versions: dict[str, tuple[int, ...]] = {}  # PATH → the version of the git found there


class Merge:
    """What a merge of two commits would be."""

    __slots__ = ("files", "outcome", "tree")

    def __init__(self, outcome: str, tree: str = "", files: list[UnmergedFile] | None = None) -> None:
        self.outcome = outcome  # CLEAN, CONFLICT or UNRELATED
        self.tree = tree
        self.files = files or []  # of a conflict


class Objects:
    """Where git keeps the objects that are made: in the repository, or in a folder of dibs' own in front of it."""

    __slots__ = ("_folder", "common")

    def __init__(self, common: str, folder: str = "") -> None:
        self.common, self._folder = common, folder

    def environment(self, index: str = "", *, alone: bool = False) -> dict[str, str]:
        """Git's environment; `alone`: the repository's objects are not seen, so what is made borrows none of them."""
        env = git.environment(index)
        if self._folder:
            env["GIT_OBJECT_DIRECTORY"] = self._folder
        if self._folder and not alone:
            theirs = f"{self.common}/objects"
            more = env.get("GIT_ALTERNATE_OBJECT_DIRECTORIES", "")
            env["GIT_ALTERNATE_OBJECT_DIRECTORIES"] = f"{theirs}:{more}" if more else theirs
        return env

    def ask(
        self, cwd: str, *words: str, given: bytes = b"", index: str = "", env: dict[str, str] | None = None,
        alone: bool = False,
    ) -> str:  # fmt: skip
        """Run git with these objects and return its output; raises Unavailable if it fails."""
        words = ("git", "-C", cwd, *words)
        whole = {**self.environment(index, alone=alone), **(env or {})}
        done = run(words, env=whole, given=given, timeout=MERGE_TIMEOUT_S)
        if not done.ok:
            raise Unavailable(f"`{' '.join(words[:5])}` failed: {done.said or done.code}", program="git", path=cwd)
        return os.fsdecode(done.out)


def require() -> None:
    """Raise Unavailable if git is too old to merge without a working tree."""
    found = version()
    if found < OLDEST:
        text = ".".join(map(str, found))
        raise Unavailable(
            f"git {text} cannot merge without a working tree; install git 2.38 or later (`git --version`).",
            program="git",
        )


def version() -> tuple[int, ...]:
    """The version of git, such as (2, 39)."""
    path = caller.environ().get("PATH", "")
    if path not in _versions:
        words = os.fsdecode(run(["git", "--version"], env=git.environment()).out).split()
        number = words[2] if len(words) > 2 else "0"  # noqa: PLR2004 - `git version N`
        parts = [part for part in number.split(".")[:2] if part.isdigit()]
        _versions[path] = tuple(int(part) for part in parts)
    return _versions[path]


def merge(cwd: str, objects: Objects, ours: str, theirs: str) -> Merge:
    """The merge of two commits."""
    return merge_all(cwd, objects, [(ours, theirs)])[0]


def merge_all(cwd: str, objects: Objects, pairs: Sequence[tuple[str, str]]) -> list[Merge]:
    """The merges of these pairs of commits, in their order."""
    require()
    if version() < STDIN:
        return [_single(cwd, objects, *pair) for pair in pairs]
    found: list[Merge] = []
    while len(found) < len(pairs):
        rest = pairs[len(found) :]
        given = "".join([f"{ours} {theirs}\n" for ours, theirs in rest]).encode()
        words = ("git", "-C", cwd, "merge-tree", "--write-tree", "-z", "--stdin")
        done = run(words, env=objects.environment(), given=given, timeout=MERGE_TIMEOUT_S)
        merges = _read_all(done.out)
        found += merges
        if done.code < 0 or (len(merges) < len(rest) and not _is_unrelated(done.said)):
            raise Unavailable(f"git merge-tree failed in {cwd}: {done.said or done.code}", program="git", path=cwd)
        if len(merges) < len(rest):  # git ends at the first pair without a common commit
            found.append(Merge(UNRELATED))
    return found


def _single(cwd: str, objects: Objects, ours: str, theirs: str) -> Merge:
    """One merge by one process."""
    words = ("git", "-C", cwd, "merge-tree", "--write-tree", "-z", ours, theirs)
    done = run(words, env=objects.environment(), timeout=MERGE_TIMEOUT_S)
    if done.code not in {0, 1}:
        if _is_unrelated(done.said):
            return Merge(UNRELATED)
        raise Unavailable(f"git merge-tree failed in {cwd}: {done.said or done.code}", program="git", path=cwd)
    (found,) = _read_all((b"0" if done.code else b"1") + b"\0" + done.out + b"\0")
    return found


def _is_unrelated(said: str) -> bool:
    return "unrelated histories" in said


# --- git's answer


def _read_all(out: bytes) -> list[Merge]:
    """Each merge: `1 NUL tree NUL NUL` if it is clean; else `0 NUL tree`, the stages, NUL, the messages, NUL.

    Of submodules git writes its advice to people after the messages, before that last NUL.
    """
    parts = out.split(b"\0")
    found: list[Merge] = []
    place = 0
    while place + 1 < len(parts) and parts[place] in {b"0", b"1"}:
        clean, tree = parts[place] == b"1", parts[place + 1].decode()
        place += 2
        stages: dict[str, dict[str, str]] = {}
        while place < len(parts) and parts[place]:
            meta, _, path = parts[place].partition(b"\t")
            mode, blob, stage = meta.decode().split(" ")
            stages.setdefault(os.fsdecode(path), {})[stage] = blob if mode != SUBMODULE else ""
            place += 1
        place += 1
        kinds: dict[str, str] = {}
        if not clean:
            while place < len(parts) and parts[place].isdigit():
                count = int(parts[place])
                paths, kind = parts[place + 1 : place + 1 + count], parts[place + 1 + count].decode()
                if kind.startswith("CONFLICT"):
                    for path in paths:
                        kinds.setdefault(os.fsdecode(path), _kind(kind))
                place += count + 3
            place += 1
        if place > len(parts):  # cut off
            break
        found.append(Merge(CLEAN, tree) if clean else Merge(CONFLICT, tree, _files(stages, kinds)))
    return found


def _kind(text: str) -> str:
    """`CONFLICT (modify/delete)` → `modify/delete`."""
    inner = text.partition("(")[2].rpartition(")")[0] or "contents"
    return "content" if inner == "contents" else inner


def _files(stages: dict[str, dict[str, str]], kinds: dict[str, str]) -> list[UnmergedFile]:
    paths = list(dict.fromkeys([*stages, *kinds]))
    found: list[UnmergedFile] = []
    for path in sorted(paths):
        blobs = stages.get(path, {})
        base, ours, theirs = blobs.get("1", ""), blobs.get("2", ""), blobs.get("3", "")
        kind = kinds.get(path) or ("add/add" if not base else "content")
        if path not in stages and len(stages):  # named in a message about another path, such as the source of a rename
            continue
        found.append({"path": path, "kind": kind, "base": base, "ours": ours, "theirs": theirs})
    return found


# --- where in a file


class Hunks:
    """Where both sides changed the same lines. The changes of a blob are looked up once."""

    def __init__(self, cwd: str, objects: Objects) -> None:
        self._cwd, self._objects = cwd, objects
        self._known: dict[tuple[str, str], list[Edit]] = {}

    def of(self, file: UnmergedFile) -> list[Overlap]:
        """For each place, the lines in the one's and in the other's version: [first line, number of lines].

        None for a binary file, or if a side has no such file.
        """
        base = file["base"]
        if not (base and file["ours"] and file["theirs"]):
            return []
        found: list[Overlap] = []
        for ours, theirs in _clusters(self._edits(base, file["ours"]), self._edits(base, file["theirs"])):
            if ours and theirs:
                found.append({"ours": _span(ours), "theirs": _span(theirs)})
            if len(found) == MAX_HUNKS:
                break
        return found

    def _edits(self, base: str, blob: str) -> list[Edit]:
        if (base, blob) not in self._known:
            self._known[base, blob] = _edits(self._cwd, self._objects, base, blob)
        return self._known[base, blob]


def _edits(cwd: str, objects: Objects, base: str, blob: str) -> list[Edit]:
    """What changed between two blobs."""
    words = ("diff", "--no-color", "--no-ext-diff", "--no-textconv", "--unified=0", base, blob)
    found = []
    for row in objects.ask(cwd, *words).splitlines():
        if row.startswith("@@ -"):
            before, after = row[4:].split(" @@", 1)[0].split(" +")
            found.append((*_range(before), *_range(after)))
    return found


def _range(text: str) -> tuple[int, int]:
    first, _, count = text.partition(",")
    return int(first), int(count or 1)


def _clusters(ours: list[Edit], theirs: list[Edit]) -> list[tuple[list[Edit], list[Edit]]]:
    """Edits of both sides that touch or overlap each other in the common version."""
    marked = sorted([(edit[0], edit[0] + max(edit[1], 1), 0, edit) for edit in ours]
                    + [(edit[0], edit[0] + max(edit[1], 1), 1, edit) for edit in theirs])  # fmt: skip
    found: list[tuple[list[Edit], list[Edit]]] = []
    end = -1
    for first, last, side, edit in marked:
        if not found or first > end:
            found.append(([], []))
            end = last
        found[-1][side].append(edit)
        end = max(end, last)
    return found


def _span(edits: list[Edit]) -> list[int]:
    """The lines that these edits made, in the version that has them."""
    first = min(edit[2] for edit in edits)
    last = max(edit[2] + edit[3] for edit in edits)
    return [first, max(0, last - first)]
