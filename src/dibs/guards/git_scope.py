"""What a git command would do to files that it does not name, to HEAD, to the stashes: found by asking git.

Facts only; operations/guards/shared_tree.py decides. Paths are given as claims have them: from the top of the
command's working tree. This file has the commands that take in, discard or delete; arrivals.py has those that bring
commits, heads.py those that move HEAD or a branch.
"""

from __future__ import annotations

import os

from dibs.errors import Invalid, Unavailable
from dibs.git import commits as git_commits
from dibs.git import queries as git
from dibs.git import under_way
from dibs.guards.gitadvice import IN_A_FILE, OWN_TREE, placed, quoted, what, without_paths
from dibs.ledger.state import MISSING
from dibs.machine import links
from dibs.operations.guards.shared_tree import OTHER_WAY
from dibs.workspace import location

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Unpack

    from dibs.canonical import Canonical
    from dibs.client.session import Session
    from dibs.git.effects import GitEffect
    from dibs.operations.guards.shared_tree import EffectFields, SweepFields, TreeEffect

SPELL_OUT = "Write the names out."
UNTRACKED = ("u", "include-untracked", "a", "all")  # options by which a stash takes untracked files, too
MAX_FILES_NAMED = 100  # of those that a git command brings back; every hook reads the names while they matter
TAKE_PATHS = frozenset(
    {"add", "stage", "commit", "stash", "restore", "rm", "clean"}
)  # of the working tree, and no others
LOCAL_FOLDER = ".dibs/local"  # dibs' own record in the main working tree, which git ignores


class GitFootprint:
    """The facts found so far, and the place of the present command."""

    __slots__ = (
        "asked", "coming", "index", "named", "prefix", "session", "stashed", "sweeps", "top", "undone", "unresolved",
        "where",
    )  # fmt: skip

    def __init__(self, session: Session) -> None:
        self.session = session
        self.where = self.top = self.prefix = ""
        self.asked: dict[str, str] = {}  # fetched remotes → why that failed, "" if it did not
        self.coming: dict[str, str] = {}  # names that the same line creates earlier → the commits that they will mean
        self.stashed = 0  # stashes that the same line has made by now, and not taken again
        self.sweeps: list[TreeEffect] = []
        self.named: list[str] = []  # absolute
        # What goes back to what git has: the working tree, the path in it ("/" at its end: a folder), the content ("":
        # that of the index)
        self.undone: list[tuple[str, str, str]] = []
        self.unresolved: list[str] = []
        self.index: list[Canonical] = []  # resources: git's index, HEAD and stashes, as far as they are touched

    def at(self, effect: GitEffect) -> bool:
        """Go to the command's directory; False if that is no working tree of this workspace."""
        if effect.cwd is None:
            self.unresolved.append(what(effect))
            return False
        try:
            self.top = self.session.paths.located(".", effect.cwd, literal=True)[3]
        except Invalid:
            return False
        self.where = effect.cwd
        self.prefix = self._inner(os.path.realpath(effect.cwd))
        if not os.path.isdir(self.where):  # the line itself makes it, or git fails there
            self.where = self.top
        if effect.unknown and (effect.tree or effect.index):
            self.sweep(effect, None, _may(effect), other=IN_A_FILE if effect.kind == "apply" else SPELL_OUT, may=True)
        for name, touched in (("git:index", effect.index), ("git:head", effect.head)):
            if touched and not self.prefix:
                self.hold(name)
        return True

    def fails(self, effect: GitEffect) -> bool:
        """Does it name a path outside of the working tree? Then git does nothing at all."""
        if effect.kind not in TAKE_PATHS or self.prefix:
            return False
        paths = [path for path in effect.paths if not path.startswith(":")]
        real = [links.real(os.path.join(self.where, path)) for path in paths if path.startswith("/") or ".." in path]
        return any(f"{path}/" != f"{self.top}/" and not path.startswith(f"{self.top}/") for path in real)

    def hold(self, name: str) -> None:
        """The command holds this while it runs."""
        from dibs.workspace.paths import Paths, of_parts

        resource = of_parts(*Paths(self.top, self.session.paths.fold).resource(name, self.top))
        if resource not in self.index:
            self.index.append(resource)

    def _inner(self, directory: str) -> str:
        """The folder of a repository inside this working tree, from which git counts paths; "" for our own."""
        while directory.startswith(f"{self.top}/"):
            if os.path.exists(f"{directory}/.git"):
                return directory[len(self.top) + 1 :] + "/"
            directory = os.path.dirname(directory)
        return ""

    # --- facts for the decision

    def fact(self, effect: GitEffect, other: str | None = None, **fields: Unpack[EffectFields]) -> TreeEffect:
        """One effect of a git command here; `other`: the advice, if there is no safe command ("": the usual one)."""
        main = self.top == self.session.place.root
        found: TreeEffect = {"what": what(effect), "tree": self.top, "main": main, **fields}
        if other is not None:
            found["else"] = placed(other or OTHER_WAY, self.session, self.where)
        self.sweeps.append(found)
        return found

    def sweep(
        self, effect: GitEffect, paths: list[str] | None, does: str, *, safe: str = "", wide: str = "",
        other: str = "", **more: Unpack[SweepFields],
    ) -> None:  # fmt: skip
        """One effect on many files; `paths` is None if they are not known."""
        texts = None if paths is None else [self.text(path) for path in dict.fromkeys(paths)]
        fields: EffectFields = {"paths": texts, "does": does, **more}  # type: ignore[typeddict-item] # they hide no key
        if safe:
            elsewhere = self.top != self.session.place.top
            if elsewhere and "-C" not in effect.words:
                safe, wide = (f"git -C {quoted(self.top)}{words[3:]}" if words else "" for words in (safe, wide))
            from_top = os.path.realpath(self.where) == self.top + (f"/{self.prefix}" if self.prefix else "").rstrip("/")
            fields |= {"safe": safe, "wide": wide or safe, "inside": self.prefix, "below": not (elsewhere or from_top)}
        self.fact(effect, other, **fields)

    def text(self, path: str) -> str:
        """A path from git as claims write it: letters may be composed, or case folded."""
        path = self.prefix + path
        if path.isascii() and path.isprintable() and not self.session.paths.fold:
            return path
        try:
            return self.session.paths.located(path, self.top, literal=True)[1]
        except Invalid:  # such a name cannot be claimed
            from dibs.workspace.paths import shown

            return shown(path, fold=self.session.paths.fold)

    def commit_of(self, name: str) -> str:
        """The commit that a name means now; "" if git does not know it."""
        known = self.coming.get(name, "")
        return known or (git.commit(self.where, name) if name and not name.startswith("-") else "")

    def doubt(self, effect: GitEffect) -> None:
        """The effect cannot be found out: it may be anything."""
        self.sweep(effect, None, _may(effect), other=OWN_TREE, may=True)

    def undo(self, paths: Iterable[str], commit: str, content: str = "") -> None:
        """These files, from the top of the working tree, get what a commit has of them, others this content.

        Only the first files are named.
        """
        named = [*paths][: MAX_FILES_NAMED - len(self.undone)]
        if named and not self.prefix:  # the files of a repository inside this one are not in the ledger
            blobs = git.blobs(self.top, commit, named) if commit else {}
            self.undone += [(self.top, path, blobs.get(path, content)) for path in named]

    # --- one command each

    def add(self, effect: GitEffect) -> None:
        """Stage files."""
        if effect.index_file:
            return
        changes = [] if not (effect.paths or effect.all) else git.dirty(self.where, effect.paths)
        if effect.has("u", "update"):
            changes = [change for change in changes if not change.untracked]
        kept = ("A", "all", "no-ignore-removal")
        gone = [self.text(change.path) for change in changes if change.staged == "D" and change.tree == " "]
        self.sweep(
            effect, _paths(changes), "take in", skips=gone, safe=without_paths(effect, drop=kept),
            wide=without_paths(effect) if effect.all else without_paths(effect, drop=kept, also=("-A",)),
        )  # fmt: skip

    def commit(self, effect: GitEffect) -> None:
        """Commit what is staged, all tracked files, or the named ones."""
        paths = [] if effect.paths else git.staged(self.where, effect.index_file)
        if effect.all or effect.paths:
            paths += _paths(git.dirty(self.where, effect.paths, untracked=False))
        busy = "" if self.prefix else under_way.refuses_paths(os.path.dirname(location.private_of(self.top)))
        if busy:
            other = f"A {busy} is under way here, and git commits no single files meanwhile. {OWN_TREE}"
            self.sweep(effect, paths, "commit", other=other)
            return
        drop = ("a", "all", "i", "include", "o", "only")
        dropped = [f"-{name}" if len(name) == 1 else f"--{name}" for name, _ in effect.options if name in drop]
        self.sweep(effect, paths, "commit", safe=without_paths(effect, drop=drop), dropped=" and ".join(dropped))
        if effect.has("amend"):
            last = git_commits.chosen(self.where, ["HEAD"])
            self.fact(effect, does="rewrite", makers=git_commits.makers(self.where, last))

    def stash(self, effect: GitEffect) -> None:
        """Stash changes, or bring them back."""
        self.hold("git:stash")
        listed = _stashes(self.where)
        chosen = effect.refspecs[0] if effect.refspecs and effect.action != "branch" else ""
        if effect.action == "branch" and len(effect.refspecs) > 1:
            chosen = effect.refspecs[1]
        number = _place_of(chosen)
        if self.stashed and effect.action not in {"push", "save", "clear"} and number is not None:
            if number < self.stashed:  # the one that this line has made itself
                self.stashed -= effect.action in {"pop", "drop", "branch"}
                return
            number -= self.stashed
        chosen = chosen if number is None else f"stash@{{{number}}}"
        kept = git.commit(self.where, chosen)
        takes = listed if effect.action == "clear" else [kept] if effect.action in {"pop", "drop", "branch"} else []
        self.fact(effect, stashes=listed, takes=[one for one in takes if one], pushes=effect.action in {"push", "save"},
                  named=chosen)  # fmt: skip
        if effect.action == "branch" and kept:
            from dibs.guards import heads

            heads.switched(self, effect, effect.refspecs[0], new=effect.refspecs[0])
        if effect.action in {"pop", "apply", "branch"}:
            self.sweep(effect, git.stash_paths(self.where, chosen), "write over", other=OWN_TREE)
        if effect.action not in {"push", "save"}:
            return
        untracked, whole = effect.has(*UNTRACKED), effect.has("a", "all")
        drop, also = (("a", "all", "u", "include-untracked"), ("-u",)) if whole else ((), ())
        safe = without_paths(effect, verb="stash push", drop=drop, also=also)
        changes = git.dirty(self.where, effect.paths, untracked=untracked)
        self.stashed += bool(changes)  # without any, nothing is stashed
        unknown = {change.path for change in changes} - {change.path for change in changes if change.staged != "D"}
        if not effect.has("p", "patch"):
            tracked = [change.path for change in changes if not change.untracked]
            keeps = effect.has("k", "keep-index")
            self.undo(tracked, "" if keeps else "HEAD", "" if keeps else MISSING)
            self.undo([change.path for change in changes if change.untracked], "", MISSING)
        self.sweep(
            effect, _paths(changes), "take away", drops=True, skips=[self.text(path) for path in unknown],
            safe=safe if effect.action == "push" else "git stash push -u" if untracked else "git stash push",
        )  # fmt: skip
        if whole:
            verb = "stash push" if "push" in effect.words else ""
            self.fact(effect, record=without_paths(effect, verb=verb, drop=drop, also=also))

    def restore(self, effect: GitEffect) -> None:
        """Reset files to the index or a commit."""
        if not effect.tree:
            return
        source = effect.value("s", "source") if effect.kind == "restore" else ""
        if effect.kind == "checkout":
            names = [word for word in effect.words[effect.at + 1 :] if word is not None and word not in effect.paths]
            source = next((word for word in names if not word.startswith("-") and self.commit_of(word)), "")
        if source is None:
            self.sweep(effect, None, "may write over", other=SPELL_OUT, may=True)
            return
        if source:
            paths = git_commits.changed(self.where, source, effect.paths)
        else:
            both = effect.kind == "restore" and effect.has("S", "staged")  # then it is HEAD's content that comes
            changes = git.dirty(self.where, effect.paths, untracked=False)
            paths = [change.path for change in changes if both or change.tree != " "]
            source = "HEAD" if both else ""
        same = ("s", "source", "S", "staged", "W", "worktree") if effect.kind == "restore" else ()
        options: tuple[str, ...] = ()
        if source and effect.kind == "checkout":
            options = (f"--source={quoted(source)}", "--staged", "--worktree")
        safe = without_paths(effect, verb="restore", keep=same, also=options)
        self.sweep(effect, paths, "write over", safe=safe, other=OWN_TREE, drops=True)
        files = dict.fromkeys(() if effect.has("p", "patch") else paths)
        for path in effect.paths:  # others may change it while the command runs
            real = os.path.realpath(os.path.join(self.where, path))
            if real.startswith(f"{self.top}/") and os.path.isfile(real):
                files[real[len(self.top) + 1 :]] = None
        self.undo(files, self.commit_of(source) if source else "", MISSING if source else "")

    def clean(self, effect: GitEffect) -> None:
        """Delete untracked files. Git itself is asked which ones."""
        given = []
        for option, value in effect.options:
            if option in {"d", "x", "X", "f", "force"}:
                given.append(f"-{option}" if len(option) == 1 else f"--{option}")
            elif option in {"e", "exclude"} and value is not None:
                given.append(f"--exclude={value}")
        words = (*git.PLAIN, "-c", "clean.requireForce=false", "clean", "--dry-run", *given, "--", *effect.paths)
        files: list[str] = []
        folders: list[str] = []
        for row in os.fsdecode(git.ask(self.where, *words, fine=(0, 1, 128)).out).splitlines():
            if row.startswith("Would remove "):
                path = os.path.normpath(os.path.join(self.where, _unquoted(row[13:])))
                inner = os.path.relpath(path, os.path.join(self.top, self.prefix))
                (folders if row.endswith(("/", '/"')) else files).append("" if inner == "." else inner)
        named = "".join([f" -- {' '.join([quoted(path) for path in effect.paths])}" if effect.paths else ""])
        only = "!" if effect.has("X") else ""  # then a pattern says what else goes, and with a ! what stays
        safe = without_paths(effect)
        record = ""
        if self.top == self.session.place.root and not self.prefix and any(_holds_record(one) for one in folders):
            safe += f" -e {quoted(only + LOCAL_FOLDER)}"
            if only:  # the record has an ignore file of its own, which applies inside it
                safe += f" -e {quoted(f'{only}{LOCAL_FOLDER}/**')}"
            record = f"{safe}{named}"
        self.undo([*files, *[f"{folder}/" for folder in folders if folder]], "", MISSING)
        self.sweep(effect, files, "delete", safe=safe, without=only, named=named, drops=True,
                   folders=[self.text(folder) for folder in folders])  # fmt: skip
        if record:
            self.fact(effect, record=record)

    def names(self, effect: GitEffect) -> None:
        """rm, mv: edits of the files that they name."""
        if not effect.tree:
            paths = git.tracked_matching(self.where, effect.paths) if effect.paths else []
            self.sweep(effect, paths, "take out of the index", safe=without_paths(effect))
            return
        for place, path in enumerate(effect.paths, 1):
            wild = any(mark in path for mark in "*?[") and not os.path.lexists(os.path.join(self.where, path))
            if wild or path.startswith(":"):
                base = os.path.join(self.top, self.prefix)
                found = [os.path.join(base, name) for name in git.tracked_matching(self.where, [path])]
            else:
                found = [os.path.join(self.where, path)]
            goes = effect.kind == "rm" or place < len(effect.paths)
            # a file whose name has a control character is held by nobody: it may go
            self.named += [one for one in found if one.isprintable() or not goes]

    def apply(self, effect: GitEffect) -> None:
        """The files that a patch names; `at` has reported one that cannot be read."""
        if effect.tree:
            self.named += effect.paths
        elif effect.index and effect.paths:
            base = os.path.join(self.top, self.prefix)
            self.sweep(effect, [os.path.relpath(path, base) for path in effect.paths], "stage changes of")

    def update_index(self, effect: GitEffect) -> None:
        """Change the index by hand."""
        base = os.path.join(self.top, self.prefix)
        paths = [os.path.relpath(os.path.join(self.where, path), base) for path in effect.paths]
        self.sweep(effect, paths, "change in the index", other="Leave them to their holders.")

    def checkout_index(self, effect: GitEffect) -> None:
        """Write files as the index has them; existing ones only if forced."""
        if effect.force and not effect.has("prefix"):
            changes = git.dirty(self.where, effect.paths, untracked=False)
            self.sweep(effect, _paths(changes), "write over", safe="git restore", drops=True)

    def read_tree(self, effect: GitEffect) -> None:
        """Set the index, and with -u the files, to a commit's."""
        commits = [commit for name in effect.refspecs if (commit := self.commit_of(name))]
        paths = git.staged(self.where)
        if effect.has("empty"):
            paths += git.tracked_matching(self.top)
        for commit in commits:
            paths += git.diff_paths(self.where, "HEAD", commit)
        drops = effect.force and effect.tree
        if drops:
            paths += _paths(git.dirty(self.where, untracked=False))
        does = "write over" if effect.tree else "change in the index"
        self.sweep(effect, paths, does, other=OWN_TREE, drops=drops)

    def submodule(self, effect: GitEffect) -> None:
        """Claims in a submodule are affected with its files; an update takes it off its branch, too."""
        if not effect.force and effect.action != "update":
            return
        from dibs.git import aliases

        folders = [os.path.join(self.where, path) for path in effect.paths] or aliases.submodules(self.where)
        inside = [os.path.relpath(folder, self.top) for folder in folders]
        if not effect.force:
            recorded = git.submodules(self.top, inside)
            there = [path for path in recorded if os.path.exists(f"{self.top}/{path}/.git")]
            inside = [path for path in there if git.head(f"{self.top}/{path}") not in {"", recorded[path]}]
        other = f"Name the submodules in which nobody else is at work. {OWN_TREE}"
        self.sweep(effect, [], "write over", folders=[self.text(path) for path in inside], other=other)

    def init(self, effect: GitEffect) -> None:
        """Another repository inside this one: what is in its folder is no longer this one's to commit."""
        folder = os.path.realpath(os.path.join(self.where, *effect.paths))
        if folder.startswith(f"{self.top}/") and not os.path.lexists(f"{folder}/.git"):
            inside = self.text(folder[len(self.top) + 1 :])
            self.sweep(effect, [], "take out of this repository", folders=[inside], other=OWN_TREE)

    def sparse(self, effect: GitEffect) -> None:
        """Only some folders stay; dibs' own must be among them."""
        if effect.action not in {"set", "init"} or self.prefix:
            return
        kept = {word.strip("/").removesuffix("/*") for word in effect.refspecs}
        if effect.unknown or ".dibs" in kept or "*" in kept or not os.path.isdir(f"{self.top}/.dibs"):
            return
        names = " ".join([quoted(word) for word in effect.refspecs])
        self.fact(effect, record=f"git sparse-checkout set {names} .dibs".replace("  ", " "))

    def worktree(self, effect: GitEffect) -> None:
        """Remove or move a working tree: claims there are affected."""
        if effect.tree and effect.paths:
            top = os.path.realpath(os.path.join(self.where, effect.paths[0]))
            from dibs.guards import tree_removal

            if effect.action == "remove":
                self.sweeps.append(tree_removal.fact(self.session, what(effect), top, is_forced=effect.force))
            else:
                self.sweeps.append(tree_removal.claimed(what(effect), top, "move"))
            if effect.action == "remove" and effect.force and os.path.isdir(top):
                lost = [self.text(path) for path in _paths(git.dirty(top))]
                self.sweeps.append({
                    "what": what(effect), "paths": lost, "does": "delete", "tree": top, "own": True, "drops": True
                })  # fmt: skip


def _place_of(stash: str) -> int | None:
    """The number of a stash by its name: `2`, `stash@{2}`, and nothing for the newest; None for any other name."""
    number = stash.removeprefix("stash@{").removesuffix("}") or "0"
    return int(number) if number.isascii() and number.isdigit() and len(number) < 6 else None  # noqa: PLR2004 - digits


def _may(effect: GitEffect) -> str:
    takes = {"add": "take in", "stage": "take in", "commit": "commit", "stash": "take away", "clean": "delete"}
    return f"may {takes.get(effect.kind, 'change')}"


def look(session: Session, effects: list[GitEffect]) -> GitFootprint:
    """The effects of these commands together."""
    found = GitFootprint(session)
    for effect in effects:
        if not found.at(effect) or (effect.unknown and (effect.tree or effect.index)) or found.fails(effect):
            continue
        try:
            _look_at(found, effect)
        except Unavailable:  # git did not answer, or not in time
            found.doubt(effect)
    return found


def _look_at(found: GitFootprint, effect: GitEffect) -> None:
    if effect.kind in _HANDLERS:
        _HANDLERS[effect.kind](found, effect)
    elif effect.kind in _ARRIVALS:
        from dibs.guards import arrivals

        arrivals.look(found, effect)
    elif effect.kind not in {"unknown", "config"}:  # git_folder.py has the second
        from dibs.guards import heads

        heads.look(found, effect)


_HANDLERS = {
    "add": GitFootprint.add, "stage": GitFootprint.add, "commit": GitFootprint.commit, "stash": GitFootprint.stash,
    "restore": GitFootprint.restore, "clean": GitFootprint.clean, "apply": GitFootprint.apply,
    "rm": GitFootprint.names, "mv": GitFootprint.names, "worktree": GitFootprint.worktree,
    "update-index": GitFootprint.update_index, "checkout-index": GitFootprint.checkout_index,
    "read-tree": GitFootprint.read_tree, "submodule": GitFootprint.submodule, "sparse-checkout": GitFootprint.sparse,
    "init": GitFootprint.init,
}  # fmt: skip
_ARRIVALS = frozenset({"pull", "merge", "rebase", "cherry-pick", "revert", "am"})


def _paths(changes: list[git.Change]) -> list[str]:
    return [change.path for change in changes]


# --- what git says


def _stashes(cwd: str) -> list[str]:
    """The commits of the stashes, the newest first."""
    try:
        done = git.ask(cwd, "rev-list", "--walk-reflogs", "--max-count=200", "refs/stash", "--", fine=(0, 128))
    except Unavailable:
        return []
    return os.fsdecode(done.out).split() if done.ok else []


def _unquoted(name: str) -> str:
    """A name as git prints it: quoted and escaped if it has special characters."""
    if not name.startswith('"'):
        return name
    escaped = os.fsencode(name[1:-1]).decode("unicode_escape")
    return os.fsdecode(escaped.encode("latin-1", "replace"))


def _holds_record(folder: str) -> bool:
    folder = folder.strip("/")
    return folder in {"", ".", ".dibs", LOCAL_FOLDER} or folder.startswith(f"{LOCAL_FOLDER}/")
