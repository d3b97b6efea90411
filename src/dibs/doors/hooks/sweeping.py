"""What a git command would do to files that it does not name: found by asking git, decided elsewhere.

For each command: which files it would take in, throw away or write over; which it names one by one; and whether it
touches the index. Paths are given as claims have them: from the top of the working tree that the command is run in.
"""

from __future__ import annotations

import os

from dibs.errors import Invalid
from dibs.facts import git

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dibs.doors.session import Session
    from dibs.facts.gitwords import GitEffect

PATCH_MOST = 8 * 1024 * 1024  # letters of a patch that are read
OWN_TREE = "Work in a working tree of your own: `git worktree add`."
UNTRACKED = ("u", "include-untracked", "a", "all")  # options by which a stash takes what git does not know, too


class Look:
    """What was found, and the place of the command that is looked at."""

    __slots__ = ("_prefix", "_session", "_top", "_where", "index", "named", "sweeps", "unresolved")

    def __init__(self, session: Session) -> None:
        self._session = session
        self._where = self._top = self._prefix = ""
        self.sweeps: list[dict[str, Any]] = []
        self.named: list[str] = []  # absolute
        self.unresolved: list[str] = []
        self.index: list[list[str]] = []  # the index of each working tree that is touched, as a resource

    def at(self, effect: GitEffect) -> bool:
        """Go to where the command is run; False where that is no working tree of this workspace."""
        if effect.cwd is None:
            self.unresolved.append(_what(effect))
            return False
        try:
            self._top = self._session.paths.located(".", effect.cwd, literal=True)[3]
        except Invalid:
            return False
        self._where = effect.cwd
        self._prefix = self._inner(os.path.realpath(effect.cwd))
        if effect.unknown and (effect.tree or effect.index):
            self.unresolved.append(_what(effect))
        if effect.index:
            from dibs.facts.paths import Paths

            paths = Paths(self._top, self._session.paths.fold)
            resource = list(paths.resource("git:index", self._top))
            if resource not in self.index:
                self.index.append(resource)
        return True

    def _inner(self, directory: str) -> str:
        """Where a repository inside this working tree begins, whose paths git gives from there; "" for our own."""
        while directory.startswith(f"{self._top}/"):
            if os.path.exists(f"{directory}/.git"):
                return directory[len(self._top) + 1 :] + "/"
            directory = os.path.dirname(directory)
        return ""

    def sweep(self, effect: GitEffect, paths: list[str] | None, does: str, safe: str = "", other: str = "") -> None:
        """One thing that git would do to many files; None for all of them."""
        texts = None if paths is None else [self._text(path) for path in paths]
        self.sweeps.append(
            {"what": _what(effect), "paths": texts, "does": does, "safe": safe, "else": other, "tree": self._top}
        )

    def _text(self, path: str) -> str:
        """A path of git's as claims write it: letters may be composed, or case folded."""
        path = self._prefix + path
        if path.isascii() and not self._session.paths.fold:
            return path
        try:
            return self._session.paths.located(path, self._top, literal=True)[1]
        except Invalid:  # nobody can claim such a name
            return path

    # --- one command each

    def add(self, effect: GitEffect) -> None:
        """Stage files."""
        self.sweep(effect, _paths(git.dirty(self._where, effect.paths)), "take in", "git add --")

    def commit(self, effect: GitEffect) -> None:
        """Commit what is staged, all that is tracked, or what is named."""
        paths = [] if effect.paths else git.staged(self._where)
        if effect.all or effect.paths:
            paths += _paths(git.dirty(self._where, effect.paths, untracked=False))
        self.sweep(effect, paths, "commit", "git commit --")

    def stash(self, effect: GitEffect) -> None:
        """Take changes away, or bring them back."""
        if effect.action in {"pop", "apply", "branch"}:
            self.sweep(effect, git.stash_paths(self._where), "write over", other=OWN_TREE)
            return
        if not effect.tree:
            return
        untracked = effect.has(*UNTRACKED)
        safe = "git stash push -u --" if untracked else "git stash push --"
        self.sweep(effect, _paths(git.dirty(self._where, effect.paths, untracked=untracked)), "take away", safe)

    def throw_away(self, effect: GitEffect) -> None:
        """checkout, switch, restore, reset: changes that are lost, and what another commit brings."""
        if not effect.tree:
            return
        if effect.paths:
            changes = git.dirty(self._where, effect.paths, untracked=False)
            self.sweep(effect, _paths(changes) + self._brought(effect), "write over", "git restore --", OWN_TREE)
            return
        lost: list[str] = []
        if effect.kind == "reset" or effect.force:
            lost = _paths(git.dirty(self._where, untracked=False))
        self.sweep(effect, [*lost, *self._brought(effect)], "write over", "git restore --", OWN_TREE)

    def _brought(self, effect: GitEffect) -> list[str]:
        """The files that differ between here and the commits that are named."""
        found: list[str] = []
        for word in effect.words[1:]:
            if word is not None and not word.startswith("-"):
                commit = git.commit(self._where, word)
                if commit:
                    found += git.diff_paths(self._where, "HEAD", commit)
        return found

    def bring_in(self, effect: GitEffect) -> None:
        """Files change under everybody's hands; what a pull or an e-mailed patch brings is not known beforehand."""
        if effect.action == "abort" or not effect.tree:
            return
        known = effect.kind in {"merge", "rebase", "cherry-pick", "revert"} and not effect.action
        paths = self._brought(effect) if known else []
        self.sweep(effect, paths or None, "change", other=OWN_TREE)

    def clean(self, effect: GitEffect) -> None:
        """Delete what git does not know."""
        paths = [change.path for change in git.dirty(self._where, effect.paths) if change.untracked]
        self.sweep(effect, paths, "delete", "git clean -f --")

    def names(self, effect: GitEffect) -> None:
        """rm, mv: edits of the files that they name."""
        if effect.tree:
            self.named += [os.path.join(self._where, path) for path in effect.paths]

    def apply(self, effect: GitEffect) -> None:
        """The files that a patch names; one that cannot be read may change anything."""
        from dibs.facts import patches

        if not effect.tree:
            return
        found: list[str] = []
        for path in effect.paths or [""]:
            try:
                with open(os.path.join(self._where, path), encoding="utf-8", errors="surrogateescape") as file:
                    found += patches.diff_paths(file.read(PATCH_MOST))
            except (OSError, ValueError):
                found = []
                break
        if found:
            self.named += [os.path.join(self._top, name) for name in found]
        else:
            self.sweep(effect, None, "change", other=OWN_TREE)

    def worktree(self, effect: GitEffect) -> None:
        """Remove a working tree: whatever is held there goes with it."""
        if effect.action == "remove":
            for path in effect.paths:
                top = os.path.realpath(os.path.join(self._where, path))
                self.sweeps.append(
                    {"what": _what(effect), "paths": None, "does": "delete", "safe": "", "else": "", "tree": top}
                )


LOOKS = {
    "add": Look.add, "commit": Look.commit, "stash": Look.stash, "checkout": Look.throw_away,
    "switch": Look.throw_away, "restore": Look.throw_away, "reset": Look.throw_away, "clean": Look.clean,
    "pull": Look.bring_in, "merge": Look.bring_in, "rebase": Look.bring_in, "cherry-pick": Look.bring_in,
    "revert": Look.bring_in, "am": Look.bring_in, "apply": Look.apply, "rm": Look.names, "mv": Look.names,
    "worktree": Look.worktree,
}  # fmt: skip


def look(session: Session, effects: list[GitEffect]) -> Look:
    """What these commands would do, together."""
    found = Look(session)
    for effect in effects:
        one = LOOKS.get(effect.kind)
        if found.at(effect) and one is not None:
            one(found, effect)
    return found


def _what(effect: GitEffect) -> str:
    return " ".join([word if word is not None else "…" for word in effect.words])[:120]


def _paths(changes: list[git.Change]) -> list[str]:
    return [change.path for change in changes]
