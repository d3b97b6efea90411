"""What a git command would do, from its words alone: git is not asked, and nothing is looked up in the repository.

`effect` gives None for what changes nothing that others work on (status, log, fetch, …). Where the words leave it open (is
`git checkout x` a branch or a file?) the greater effect is told. Aliases are not resolved: what git does not know by
itself has the kind `unknown`.
"""

from __future__ import annotations

import os

from dibs.facts.shell_commands import leading, options

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.facts.shell_commands import Options, Words

PATCH_MAX = 1 << 20  # bytes of a patch that are looked at for its names


class GitEffect:
    """What one git command would change."""

    __slots__ = (
        "action", "all", "cwd", "dry", "force", "head", "index", "kind", "options", "paths", "refspecs", "remote",
        "tree", "unknown", "words",
    )  # fmt: skip

    def __init__(self, kind: str, words: Words, cwd: str | None) -> None:
        self.kind = kind
        self.words = words
        self.cwd = cwd  # after -C; None if it cannot be known
        self.action = ""  # of stash, worktree, branch, submodule, …: push, pop, add, delete, …; of merge and its like: abort, …
        self.options: Options = []
        self.paths: list[str] = []  # pathspecs as typed, relative to cwd
        self.unknown = False  # there are paths or names that cannot be known from the words
        self.all = False  # not limited to the paths: all that is tracked, or all there is
        self.force = False
        self.index = False  # the index changes
        self.head = False  # HEAD moves
        self.tree = False  # files of the working tree change
        self.remote = ""
        self.refspecs: list[str] = []
        self.dry = False

    def __repr__(self) -> str:
        shown = [name for name in self.__slots__ if name not in {"words", "options"} and getattr(self, name)]
        return f"GitEffect({', '.join(f'{name}={getattr(self, name)!r}' for name in shown)})"

    def has(self, *names: str) -> bool:
        """Was one of these options given?"""
        return any(option in names for option, _ in self.options)

    def value(self, *names: str) -> str | None:
        """The value of an option; "" if it was not given, None if it cannot be known."""
        found: str | None = ""
        for option, value in self.options:
            if option in names:
                found = value
        return found

    def take(self, operands: Words) -> list[str]:
        """The operands that are known; that others are not is remembered."""
        known = [word for word in operands if word is not None]
        self.unknown = self.unknown or len(known) != len(operands)
        return known


_GLOBAL_SHORT, _GLOBAL_LONG = "Cc", ("git-dir", "work-tree", "namespace", "config-env", "super-prefix", "attr-source")

# Changes nothing that another agent's work stands on.
_HARMLESS = frozenset(
    "annotate archive blame bugreport bundle cat-file check-attr check-ignore check-mailmap check-ref-format cherry clone "
    "column commit-graph commit-tree config count-objects credential daemon describe diagnose diff diff-files diff-index "
    "diff-tree difftool fast-export fetch fmt-merge-msg for-each-ref for-each-repo format-patch fsck gc get-tar-commit-id "
    "gitk grep gui hash-object help hook init instaweb interpret-trailers log ls-files ls-remote ls-tree mailinfo "
    "mailsplit maintenance merge-base merge-tree mktag mktree multi-pack-index name-rev notes pack-objects pack-refs "
    "patch-id prune range-diff reflog remote repack replace request-pull rerere rev-list rev-parse send-email shortlog "
    "show show-branch show-index show-ref status stripspace tag unpack-file unpack-objects var verify-commit verify-pack "
    "verify-tag version whatchanged write-tree".split()
)


def effect(words: Words, cwd: str | None) -> GitEffect | None:
    """What `git …` would do in a directory."""
    end, given = leading(words, _GLOBAL_SHORT, _GLOBAL_LONG)
    for option, value in given:
        if option in {"C", "work-tree"}:
            known = value is not None and (cwd is not None or value.startswith("/"))
            cwd = os.path.join(cwd or "", value) if known and value is not None else None
        elif option in {"help", "version", "h", "v", "exec-path"} and end >= len(words):
            return None
    if end >= len(words):
        return None
    name = words[end]
    if name in _HARMLESS:
        return None
    found = GitEffect(name if name in _KINDS else "unknown", words, cwd)
    if name not in _KINDS:
        found.unknown = name is None
        return found
    short, long, read = _KINDS[name]
    rest = words[end + 1 :]
    if "--help" in rest or rest == ["-h"]:
        return None
    found.options, operands = options(rest, short, (*long, "pathspec-from-file"))
    if found.has("pathspec-from-file"):
        found.unknown = True
    found.force = found.has("f", "force")
    after = len(rest) - rest.index("--") - 1 if "--" in rest else 0
    return read(found, operands, after)


def _limited(found: GitEffect, operands: Words) -> None:
    """Paths, or everything if there are none."""
    found.paths = found.take(operands)
    found.all = not found.paths and not found.unknown


def _on_disk(found: GitEffect, word: str | None) -> bool:
    """Is this a path rather than a name of a commit? Something that is there, or that no commit can be called."""
    if word is None:
        return False
    if word in {".", ".."} or word.startswith((":", "./", "../", "/")) or any(mark in word for mark in "*?["):
        return True
    return found.cwd is not None and os.path.lexists(os.path.join(found.cwd, word))


# ------------------------------------------------------------------------------------------------------------------
# The kinds: each gets the operands, and how many of them stand behind `--`.


def _add(found: GitEffect, operands: Words, _after: int) -> GitEffect:
    found.index = True
    found.dry = found.has("n", "dry-run")
    found.paths = found.take(operands)
    found.all = not found.paths and found.has("A", "all", "u", "update", "no-ignore-removal", "p", "patch", "i", "interactive", "e", "edit", "renormalize")
    return found


def _commit(found: GitEffect, operands: Words, _after: int) -> GitEffect:
    found.index = found.head = True
    found.dry = found.has("dry-run", "short", "porcelain", "long")
    found.paths = found.take(operands)
    found.all = found.has("a", "all")
    found.force = False
    return found


def _checkout(found: GitEffect, operands: Words, after: int) -> GitEffect | None:
    if found.has("b", "B", "orphan"):
        return _branched(found, operands)
    split = len(operands) - after
    paths = operands[split:]
    if not after:
        first = 0 if not operands or _on_disk(found, operands[0]) else 1
        paths = operands[first:]
        if first and len(operands) == 1 and not found.has("p", "patch"):
            paths = []
    if paths or found.has("p", "patch", "pathspec-from-file"):
        found.index = found.tree = True
        _limited(found, paths)
        return found
    if not operands and not found.has("d", "detach", "f", "force"):
        return None  # only says how things stand
    found.refspecs = found.take(operands)
    found.head = found.index = found.tree = found.all = True
    return found


def _branched(found: GitEffect, operands: Words) -> GitEffect:
    """A new branch: where it starts from elsewhere, the files follow."""
    found.action = "create"
    found.head = True
    found.refspecs = found.take([found.value("b", "B", "c", "C", "create", "force-create", "orphan"), *operands])
    found.tree = found.index = found.all = bool(operands) or found.force or found.has("orphan")
    return found


def _switch(found: GitEffect, operands: Words, _after: int) -> GitEffect:
    found.force = found.has("f", "force", "discard-changes")
    if found.has("c", "C", "create", "force-create", "orphan"):
        return _branched(found, operands)
    found.head = found.index = found.tree = found.all = True
    found.refspecs = found.take(operands)
    return found


def _restore(found: GitEffect, operands: Words, _after: int) -> GitEffect:
    found.index = found.has("S", "staged")
    found.tree = not found.index or found.has("W", "worktree")
    _limited(found, operands)
    return found


def _stash(found: GitEffect, operands: Words, after: int) -> GitEffect | None:
    first = operands[0] if len(operands) > after else "push"
    rest = operands[1:] if len(operands) > after else operands
    if first is None:
        found.unknown = found.tree = found.index = found.all = True
        return found
    found.action = first
    if first in {"list", "show", "create"}:
        return None
    if first in {"push", "save"}:
        found.index = found.tree = True
        _limited(found, rest if first == "push" else [])
    elif first in {"pop", "apply", "branch"}:
        found.index = found.tree = found.all = True
        found.head = first == "branch"
        found.refspecs = found.take(rest)
    else:
        found.refspecs = found.take(rest)
    return found


def _reset(found: GitEffect, operands: Words, after: int) -> GitEffect:
    hard = found.has("hard", "merge", "keep")
    soft = found.has("soft")
    found.force = found.has("hard")
    split = len(operands) - after
    commits, paths = operands[:split], operands[split:]
    if not after and not hard and not soft:
        first = 0 if not commits or _on_disk(found, commits[0]) else 1
        commits, paths = commits[:first], commits[first:]
    found.refspecs = found.take(commits)
    found.tree = hard
    found.index = not soft
    found.paths = found.take(paths)
    found.all = not found.paths and not soft
    found.head = not paths and bool(commits) and commits != ["HEAD"]
    return found


def _clean(found: GitEffect, operands: Words, _after: int) -> GitEffect:
    found.tree = True
    found.dry = found.has("n", "dry-run")
    _limited(found, operands)
    return found


def _moving(found: GitEffect, operands: Words, _after: int) -> GitEffect | None:
    """pull, merge, rebase, cherry-pick, revert, am: HEAD moves and the files follow."""
    for action in ("abort", "continue", "quit", "skip", "edit-todo"):
        if found.has(action):
            found.action = action
    if found.has("show-current-patch"):
        return None
    quiet = found.action in {"quit", "edit-todo"}
    found.index = found.tree = found.all = not quiet
    found.head = not quiet and not (found.kind in {"cherry-pick", "revert"} and found.has("n", "no-commit"))
    if found.kind == "merge" and found.has("squash", "no-commit"):
        found.head = False
    found.dry = found.kind == "pull" and found.has("dry-run")
    names = found.take(operands)
    if found.kind == "pull":
        found.remote, found.refspecs = (names[0] if names else ""), names[1:]
    else:
        found.refspecs = names
    return found


def _apply(found: GitEffect, operands: Words, _after: int) -> GitEffect:
    found.dry = found.has("check", "stat", "numstat", "summary") and not found.has("apply")
    found.index = found.has("cached", "index", "3", "3way")
    found.tree = not found.has("cached")
    folder = found.value("directory")
    count = found.value("p") or "1"
    if not operands or folder is None or found.cwd is None or not (count.isascii() and count.isdigit() and len(count) < 4):  # noqa: PLR2004
        found.unknown = True
        return found
    from dibs.facts import patches  # noqa: PLC0415 - only here

    for name in found.take(operands):
        text = _text(os.path.join(found.cwd, name))
        names = patches.stripped(text, int(count)) if text else []
        found.unknown = found.unknown or not names
        found.paths += [os.path.join(_top(found.cwd), folder, path) for path in names]
    return found


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            text = file.read(PATCH_MAX + 1)
    except (OSError, ValueError):
        return ""
    return text if len(text) <= PATCH_MAX else ""


def _top(cwd: str) -> str:
    """The top of the working tree, to which the names in a patch are relative; outside of one, the directory."""
    here = cwd
    while not os.path.lexists(os.path.join(here, ".git")):
        above = os.path.dirname(here)
        if above == here:
            return cwd
        here = above
    return here


def _rm(found: GitEffect, operands: Words, _after: int) -> GitEffect:
    found.index = True
    found.tree = not found.has("cached")
    found.dry = found.has("n", "dry-run")
    found.paths = found.take(operands)
    return found


def _push(found: GitEffect, operands: Words, _after: int) -> GitEffect:
    names = found.take(operands)
    found.remote = names[0] if names else (found.value("repo") or "")
    found.refspecs = names[1:]
    found.all = found.has("all", "branches", "mirror")
    found.dry = found.has("n", "dry-run")
    found.force = found.force or found.has("mirror", "force-with-lease") or any(ref[:1] == "+" for ref in found.refspecs)
    if found.has("d", "delete") or any(ref[:1] == ":" and ref != ":" for ref in found.refspecs):
        found.action = "delete"
    return found


def _worktree(found: GitEffect, operands: Words, _after: int) -> GitEffect | None:
    names = found.take(operands)
    found.action = names[0] if names else ""
    if found.action in {"list", "lock", "unlock", "prune", "repair", ""}:
        return None
    found.paths = names[1:2] if found.action != "move" else names[1:3]
    found.refspecs = names[2:] if found.action == "add" else []
    found.tree = found.action in {"remove", "move"}
    return found


def _branch(found: GitEffect, operands: Words, _after: int) -> GitEffect | None:
    names = found.take(operands)
    found.refspecs = names
    found.force = found.has("f", "force", "D", "M", "C")
    if found.has("d", "D", "delete"):
        found.action = "delete"
    elif found.has("m", "M", "move"):
        found.action = "move"
        found.head = len(names) < 2  # noqa: PLR2004 - the branch in use gets another name
    elif found.has("c", "C", "copy"):
        found.action = "copy"
    elif not operands or found.has("l", "list", "contains", "no-contains", "merged", "no-merged", "points-at", "a", "r"):
        return None
    elif found.has("u", "set-upstream-to", "unset-upstream", "edit-description", "show-current"):
        return None
    else:
        found.action = "create"
    return found


def _reference(found: GitEffect, operands: Words, _after: int) -> GitEffect | None:
    """update-ref, symbolic-ref."""
    names = found.take(operands)
    if found.kind == "symbolic-ref" and len(operands) < 2 and not found.has("d", "delete"):  # noqa: PLR2004 - it only shows it
        return None
    found.action = "delete" if found.has("d", "delete") else "set"
    found.unknown = found.unknown or found.has("stdin")
    found.refspecs = names
    found.head = "HEAD" in names[:1]
    return found


def _everything(found: GitEffect, operands: Words, _after: int) -> GitEffect:
    """filter-branch, filter-repo: history and files."""
    found.index = found.head = found.tree = found.all = found.force = True
    found.refspecs = found.take(operands)
    return found


def _submodule(found: GitEffect, operands: Words, _after: int) -> GitEffect | None:
    names = found.take(operands)
    found.action = names[0] if names else ""
    if found.action in {"", "status", "summary", "init", "sync", "foreach", "absorbgitdirs"}:
        return None
    found.tree = True
    found.index = found.action == "add"
    found.paths = names[2:3] if found.action == "add" else names[1:]
    found.all = not found.paths
    return found


def _bisect(found: GitEffect, operands: Words, _after: int) -> GitEffect | None:
    names = found.take(operands)
    found.action = names[0] if names else ""
    if found.action in {"", "log", "visualize", "view", "terms", "help"}:
        return None
    found.index = found.head = found.tree = found.all = True
    return found


def _plumbing(found: GitEffect, operands: Words, _after: int) -> GitEffect | None:
    """read-tree, update-index, checkout-index, sparse-checkout, merge-index."""
    names = found.take(operands)
    if found.kind == "read-tree":
        found.index = found.all = True
        found.tree = found.has("u")
        found.dry = found.has("n", "dry-run")
        found.refspecs = names
    elif found.kind == "sparse-checkout":
        found.action = names[0] if names else ""
        if found.action in {"", "list", "check-rules"}:
            return None
        found.tree = found.index = found.all = True
    elif found.kind == "checkout-index":
        found.tree = True
        found.all = found.has("a", "all")
        found.paths = names
    else:
        found.index = True
        found.paths = names
        found.unknown = found.unknown or found.has("stdin", "index-info", "cacheinfo")
    return found


# Subcommand → its options that take a value in a word of their own, short and long; and who reads the rest.
_KINDS: dict[str, tuple[str, tuple[str, ...], Callable[[GitEffect, Words, int], GitEffect | None]]] = {
    "add": ("", ("chmod",), _add),
    "stage": ("", ("chmod",), _add),
    "commit": (
        "mFCct",
        ("message", "file", "reuse-message", "reedit-message", "fixup", "squash", "author", "date", "template", "cleanup", "trailer"),
        _commit,
    ),
    "checkout": ("bB", ("orphan", "conflict"), _checkout),
    "switch": ("cC", ("create", "force-create", "orphan", "conflict"), _switch),
    "restore": ("s", ("source", "conflict"), _restore),
    "stash": ("m", ("message",), _stash),
    "reset": ("", (), _reset),
    "clean": ("e", ("exclude",), _clean),
    "pull": (
        "sXjo",
        ("strategy", "strategy-option", "depth", "deepen", "shallow-since", "shallow-exclude", "upload-pack", "server-option", "negotiation-tip", "jobs", "refmap", "cleanup"),
        _moving,
    ),
    "merge": ("mFsX", ("message", "file", "strategy", "strategy-option", "into-name", "cleanup"), _moving),
    "rebase": ("sXxC", ("onto", "strategy", "strategy-option", "exec", "whitespace", "empty"), _moving),
    "cherry-pick": ("mX", ("mainline", "strategy", "strategy-option", "cleanup", "empty"), _moving),
    "revert": ("mX", ("mainline", "strategy", "strategy-option", "cleanup"), _moving),
    "am": ("Cp", ("directory", "exclude", "include", "whitespace", "patch-format", "resolvemsg", "quoted-cr", "empty"), _moving),
    "apply": ("pC", ("directory", "exclude", "include", "whitespace", "build-fake-ancestor"), _apply),
    "rm": ("", (), _rm),
    "mv": ("", (), _rm),
    "push": ("o", ("repo", "receive-pack", "exec", "push-option"), _push),
    "worktree": ("bB", ("reason", "expire"), _worktree),
    "branch": ("u", ("set-upstream-to", "sort", "format", "points-at"), _branch),
    "update-ref": ("m", (), _reference),
    "symbolic-ref": ("m", (), _reference),
    "filter-branch": ("d", ("env-filter", "tree-filter", "index-filter", "parent-filter", "msg-filter", "commit-filter", "tag-name-filter", "subdirectory-filter", "setup", "original", "state-branch"), _everything),
    "filter-repo": ("", ("path", "path-rename", "replace-text", "paths-from-file", "subdirectory-filter"), _everything),
    "submodule": ("bj", ("branch", "reference", "depth", "name", "jobs"), _submodule),
    "bisect": ("", (), _bisect),
    "read-tree": ("", ("prefix", "index-output", "exclude-per-directory"), _plumbing),
    "sparse-checkout": ("", (), _plumbing),
    "checkout-index": ("", ("prefix", "stage"), _plumbing),
    "update-index": ("", ("chmod", "index-version"), _plumbing),
}  # fmt: skip
