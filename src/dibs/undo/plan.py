"""The plan of an undo: for each file what is there, what will be there, and what stands in the way. Changes nothing.

Looks at the files first, so that the ledger knows the latest changes. The rules are in operations/guards/undo.py.
"""

from __future__ import annotations

import os
import tempfile

from dibs.client import local_details
from dibs.errors import Invalid, Unavailable
from dibs.git import queries as git
from dibs.git.commits import checked_out
from dibs.ledger import contents, ledger_files, working_tree
from dibs.ledger.state import MISSING, OUTSIDE, State, changes_of
from dibs.machine.programs import run
from dibs.operations.guards import undo as rules
from dibs.undo import commits as undo_commits
from dibs.undo.scope import UNDO

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dibs.client.session import Session
    from dibs.ledger.state import Change
    from dibs.ledger.working_tree import Tree
    from dibs.operations.guards.undo import Outcome, Run, Version
    from dibs.undo.scope import Scope

MAX_LOOKS = 2_000  # files of claims that are looked at


class FilePlan:
    """What undoing makes of one file."""

    __slots__ = ("blockers", "conflicts", "head", "head_to", "is_likely", "now", "path", "problem", "staged", "to")

    def __init__(self, path: str, now: Version) -> None:
        self.path, self.now, self.to = path, now, now
        self.head: Version | None = None  # what HEAD has, if a commit is to be reverted
        self.head_to: Version | None = None
        self.staged: Version | None = None  # what the index is to have instead of staged work that is undone
        self.blockers: list[Run] = []  # what others built on it
        self.conflicts = False
        self.is_likely = False  # it is not certain that the agent made it
        self.problem = ""  # why it stays as it is

    @property
    def is_done(self) -> bool:
        """Is the file, the index and HEAD as undoing would leave them?"""
        same = self.to == self.now and self.head == self.head_to
        return same and self.staged is None and not self.problem and not self.conflicts

    @property
    def is_nothing(self) -> bool:
        """Is there nothing to do, and nothing to say?"""
        return self.is_done and not self.blockers


class Plan:
    """All of it."""

    def __init__(self, scope: Scope, tree: Tree) -> None:
        self.scope, self.tree = scope, tree
        self.files: list[FilePlan] = []
        self.commits: list[str] = []  # to be reverted
        self.before = ""  # HEAD, if there are any
        self.left: list[str] = []  # sentences about what is not undone here

    @property
    def blocked(self) -> list[FilePlan]:
        """The files that others have built on."""
        return [one for one in self.files if one.blockers]


class Planner:
    """Makes a plan."""

    def __init__(
        self, session: Session, scope: Scope, only: Sequence[Sequence[str]], *, merge: bool, top: str = ""
    ) -> None:
        self.session, self.scope, self.only = session, scope, only
        self.place = session.place
        self.tree = working_tree.at(top or self.place.top, self.place)  # the one in use, unless another is meant
        self.merges = merge
        self.plan = Plan(scope, self.tree)

    def made(self) -> Plan:
        """Look, and think."""
        if self.scope.trees and not self.scope.trees & {"", self.tree.top}:
            self._note_trees(sorted(self.scope.trees))
            return self.plan
        self._look()
        chains = self._chains()
        files: dict[str, FilePlan] = {}
        wants_commits = bool(self.scope.reverts and self.place.common and git.head(self.tree.top))
        reverted = self._reverted() if wants_commits else {}
        for path in sorted({*chains, *reverted}):
            chain = chains.get(path, [])
            if path not in reverted and (not any(meant for _, meant in chain) or self._is_undone(chain[-1][0])):
                continue
            one = files[path] = FilePlan(path, self.present(path))
            self._think(one, rules.runs_of(chain), reverted.get(path))
        if self.place.common:
            self._unstage([one for one in files.values() if one.head is None], chains)
        if self.merges:
            for one in files.values():
                if one.is_done:  # taken out before: what others built is all that is left, and stays
                    one.blockers = []
        self.plan.files = [one for one in files.values() if not one.is_nothing]
        self._note_unseen()
        if not self.plan.files:
            self._note_other_trees()
        return self.plan

    def unfinished(self) -> list[FilePlan]:
        """The files with work of it that no commit has: each as it is, and as it would be without that work."""
        self._look()
        chains = self._chains()
        dirty = {change.path for change in git.dirty(self.tree.top)} if self.place.common else {*chains}
        is_committed = bool(self.place.common and git.head(self.tree.top))
        heads = undo_commits.tree_entries(self.tree.top, chains) if is_committed else {}
        found = []
        for path in sorted(dirty.intersection(chains)):
            later = self._after_commit(path, chains[path], heads.get(path, rules.GONE))
            if any(meant for _, meant in later) and not self._is_undone(later[-1][0]):
                one = FilePlan(path, self.present(path))
                self._think(one, rules.runs_of(later), None)
                if not one.is_nothing:
                    found.append(one)
        return found

    def _after_commit(self, path: str, chain: list[tuple[Change, bool]], head: Version) -> list[tuple[Change, bool]]:
        """The changes after the last one that HEAD has."""
        if head[0] == MISSING:
            return chain
        committed = contents.blob_id(undo_commits.smudged(self.tree.top, path, head))
        places = [place for place, (change, _) in enumerate(chain) if change.after == committed]
        return chain[places[-1] + 1 :] if places else chain

    # --- facts

    def _look(self) -> None:
        if self.place.common:
            self.tree.look_at_all()
        named = [one[1] for span in self.scope.spans for one in span.held or () if one[0] in {"file", "tree"}]
        if not self.place.common:  # nobody else lists what is new in a folder
            named += [path for name in named for path in local_details.below(self.tree.top, name)]
        known = [path for path, head in self.tree.state.heads.items() if head.change is not None]
        self.tree.look([path for path in dict.fromkeys([*named, *known]) if path][:MAX_LOOKS])
        self.tree.write()

    def present(self, path: str) -> Version:
        """What is there now."""
        full = f"{self.tree.top}/{path}"
        return contents.read(full)[0], contents.kind_of(contents.signature(full))

    def builder(self, path: str, run: Run) -> str:
        """Who built on it: the agent of its call; without one, the agent that held the file then and runs no hooks."""
        if run.by != OUTSIDE:
            return run.by
        return rules.holder_at(path, run.since, self.scope.holds, self.tree.state.began) or run.by

    def _is_undone(self, last: Change) -> bool:
        """Is the last change of a file an earlier undo of the same thing? Then nothing of it is left there."""
        when = rules.changed_at(last)
        return any(last.actor == span.agent and span.gap("", when) is not None for span in self.scope.undone)

    def _note_unseen(self) -> None:
        """What dibs does not look into is said: a submodule is another repository, a large file is only sampled."""
        held = [one for span in self.scope.spans for one in span.held or ()]
        if not self.place.common or not held:
            return
        planned = {one.path for one in self.plan.files}
        for change in git.dirty(self.tree.top):
            path = change.path.rstrip("/")
            if path in planned or not self.wanted(path) or not rules.covered(path, held):
                continue
            head = self.tree.state.heads.get(path)
            if os.path.exists(f"{self.tree.top}/{path}/.git"):
                self.plan.left.append(f"{path} is a submodule or another repository: what changed in it is not undone.")
            elif head is not None and head.content.startswith(contents.SAMPLED):
                self.plan.left.append(f"{path} is large and compared by a sample, which shows no change: look at it.")

    def _note_other_trees(self) -> None:
        """Nothing of it is here: was it done in another working tree?"""
        found = []
        removed = [one for one in ledger_files.of_linked(self.place.shared) if not os.path.isdir(one[1])]
        living = [
            (working_tree.at(top, self.place).folder, top)
            for top in (checked_out(self.tree.top) if self.place.common else ())
            if top != self.tree.top and os.path.isdir(top)
        ]
        for folder, top in [*living, *removed]:
            state = State(ledger_files.load(folder)[0])
            spans = (self.scope.spans, self.scope.holds, list(state.began))
            if any(rules.is_meant(one, *spans) and rules.changed_at(one) >= self.scope.since for one in state.changes):
                found.append(top)
        self._note_trees(list(dict.fromkeys(found)))

    def _note_trees(self, tops: list[str]) -> None:
        there, gone = [top for top in tops if os.path.isdir(top)], [top for top in tops if not os.path.isdir(top)]
        if there:
            self.plan.left.append(f"It was done in another working tree: run `dibs undo` in {', '.join(there)}.")
        if gone:
            kept = "`dibs restore` has what was not committed there."
            self.plan.left.append(f"It was done in a working tree that was removed ({', '.join(gone)}): {kept}")

    def wanted(self, path: str) -> bool:
        """Is this path asked for?"""
        return not self.only or rules.covered(path, self.only)

    def _is_committed(self, path: str) -> bool:
        """Is this path of a commit part of it?"""
        if not self.wanted(path):
            return False
        return any(span.held is None or rules.covered(path, span.held) for span in self.scope.spans)

    def _chains(self) -> dict[str, list[tuple[Change, bool]]]:
        """Every path's changes in their order, each with whether it is to be undone."""
        found: dict[str, list[tuple[Change, bool]]] = {}
        ids = set()
        heard = list(self.tree.state.began)
        for change in [*changes_of(ledger_files.past(self.tree.folder)), *self.tree.state.changes]:
            if change.id in ids:
                continue
            ids.add(change.id)
            late = rules.changed_at(change) >= self.scope.since
            meant = late and self.wanted(change.path)
            if meant and not self.scope.is_whole:
                meant = rules.is_meant(change, self.scope.spans, self.scope.holds, heard)
            found.setdefault(change.path, []).append((change, meant))
        for chain in found.values():
            chain.sort(key=lambda one: one[0].looked)  # a compacted ledger has modes before contents
        return found

    def _reverted(self) -> dict[str, tuple[Version, Outcome]]:
        top = self.tree.top
        commits = undo_commits.history(top)
        gone = undo_commits.follow_rewrites(top, commits, self.scope.commits)
        chosen = undo_commits.meant(commits, self.scope)
        for one in [one for one in chosen if one.merge]:
            self.plan.left.append(f"Commit {one.id[:8]} is a merge: `git revert -m 1 {one.id[:8]}` reverts it.")
        chosen = [one for one in chosen if not one.merge]
        self.plan.left += [f"Commit {name[:8]} is not in HEAD: it is not reverted." for name in sorted(gone)]
        if not chosen:
            return {}
        ids = {one.id for one in chosen}
        recent = undo_commits.since(top, commits, chosen[-1])
        found = undo_commits.outcomes(top, recent, self._is_committed, ids, self._merge_blobs if self.merges else None)
        self.plan.commits = [one.id for one in chosen if any(path in found for path in one.changes)]
        self.plan.before = git.head(top)
        self.dirty = {change.path for change in git.dirty(top)}
        return found

    # --- one file

    def _think(self, one: FilePlan, runs: list[Run], reverted: tuple[Version, Outcome] | None) -> None:
        if reverted is not None:
            one.head, outcome = reverted
            one.head_to = outcome.version
            one.blockers, one.conflicts = outcome.blockers, outcome.conflicts
            if one.path not in self.dirty:
                if one.head_to != one.head:
                    one.to = self._uncommitted(one, runs) or self._kept(undo_commits.smudged, one)
                return
        if not any(run.meant for run in runs):
            # an undo that changed only HEAD in this file, because the agent's work was no longer in it, is undone there
            if reverted is not None and one.head_to != one.head and self.scope.kind != UNDO:
                one.problem = "it has changes that were not committed, and what was before them is not known"
            return
        outcome = rules.undone(one.now, runs, self._merge if self.merges else None)
        one.to = outcome.version
        one.blockers = one.blockers or outcome.blockers
        one.conflicts = one.conflicts or outcome.conflicts
        meant = [run for run in runs if run.meant]
        one.is_likely = any(run.is_likely for run in meant)
        if one.to == rules.GONE and one.now != rules.GONE and any(run.is_unsure for run in meant):
            one.to, one.problem = one.now, "dibs had not seen the file before: it is not known what was there"
        elif one.to[0] not in {MISSING, one.now[0]} and self.content(one.to[0]) is None:
            one.to, one.problem = one.now, "what was there before is not kept any more"

    def _uncommitted(self, one: FilePlan, runs: list[Run]) -> Version | None:
        """Work of others that the reverted commits had taken in: the file has it again, and no commit has it."""
        outcome = rules.undone(one.now, runs, None)
        version = outcome.version
        if outcome.blockers or not any(run.after == version for run in runs if not run.meant):
            return None
        return version if version[0] == MISSING or self.content(version[0]) is not None else None

    def _kept(self, smudged: Callable[[str, str, Version], bytes], one: FilePlan) -> Version:
        """What HEAD will have, as git writes it to the working tree; kept, so that it can be written."""
        assert one.head_to is not None
        if one.head_to[0] == MISSING:
            return rules.GONE
        content = smudged(self.tree.top, one.path, one.head_to)
        return self._keep(content, one.head_to[1]), one.head_to[1]

    def _keep(self, content: bytes, kind: str) -> str:
        blob = (contents.LINK if kind == contents.LINKED else "") + contents.blob_id(content)
        contents.keep(self.tree.objects, blob, content)
        return blob

    def _unstage(self, files: list[FilePlan], chains: dict[str, list[tuple[Change, bool]]]) -> None:
        """Staged work that is undone leaves git's index, too."""
        paths = [one.path for one in files]
        index = undo_commits.staged(self.tree.top, paths)
        head = undo_commits.tree_entries(self.tree.top, paths) if git.head(self.tree.top) else {}
        for one in files:
            made = {change.after.removeprefix(contents.LINK) for change, meant in chains[one.path] if meant}
            entry, before = index.get(one.path), head.get(one.path, rules.GONE)
            if entry is not None and entry != before and entry[0] in made:
                one.staged = before

    # --- contents

    def content(self, blob: str) -> bytes | None:
        """A content by its id."""
        return contents.of_tree(self.place, blob, self.tree.top)

    def _merge(self, current: Version, base: Version, other: Version) -> tuple[Version, bool] | None:
        return _merged(current, base, other, self.content, lambda data: self._keep(data, ""), self.scope.id)

    def _merge_blobs(self, current: Version, base: Version, other: Version) -> tuple[Version, bool] | None:
        top = self.tree.top
        return _merged(
            current, base, other, lambda blob: undo_commits.read(top, blob), lambda data: undo_commits.keep(top, data),
            self.scope.id,
        )  # fmt: skip


def resources_of(session: Session, words: Sequence[str]) -> list[Sequence[str]]:
    """The paths that the caller names; a link is meant itself, and what it leads to.

    A word is also meant as it is written: a link itself, a name that nobody can claim (with a newline), a file that is
    gone and whose name looks like a glob.
    """
    found: list[Sequence[str]] = []
    for word in words:
        itself = literal(session, word)
        try:
            found.append(session.paths.resource(word, session.cwd))
        except Invalid:
            if itself is None:
                raise
        if itself is not None:
            found.append(("tree", itself))
    return found


def literal(session: Session, word: str) -> str | None:
    """The place of this word in the working tree; None if it is not in it, or is all of it."""
    full = os.path.normpath(os.path.join(session.cwd, word))
    full = os.path.join(os.path.realpath(os.path.dirname(full)), os.path.basename(full))
    start = f"{session.place.top}/"
    return full[len(start) :] if full.startswith(start) and len(full) > len(start) else None


def _merged(
    current: Version,
    base: Version,
    other: Version,
    read: Callable[[str], bytes | None],
    keep: Callable[[bytes], str],
    what: str,
) -> tuple[Version, bool] | None:
    """Three versions as one: what `base` changed of `other` is taken out of `current`. None: they cannot be merged."""
    kind = other[1] if current[1] == base[1] else current[1]
    if current[0] in {base[0], other[0]}:
        return (other[0] if current[0] == base[0] else current[0], kind), False
    if base[0] == other[0]:
        return (current[0], kind), False
    if MISSING in {current[0], base[0], other[0]} or contents.LINKED in {current[1], base[1], other[1]}:
        return None
    texts = [read(blob) for blob in (current[0], base[0], other[0])]
    if any(text is None or b"\0" in text for text in texts):
        return None
    with tempfile.TemporaryDirectory() as folder:
        for name, text in zip(("current", "base", "other"), texts, strict=True):
            with open(f"{folder}/{name}", "wb") as file:
                file.write(text or b"")
        labels = ("-L", "now", "-L", what, "-L", f"before {what}")
        names = [f"{folder}/{name}" for name in ("current", "base", "other")]
        done = run(["git", "merge-file", "-p", "--diff3", *labels, *names], env=git.environment(), timeout=30.0)
    if done.code < 0 or done.code > 127:  # noqa: PLR2004 - up to 127 it is the number of conflicts
        if done.code == 255:  # noqa: PLR2004 - a binary file
            return None
        raise Unavailable(f"git merge-file failed: {done.said}", program="git")
    return (keep(done.out), kind), done.code > 0
