"""What a git command would do, from its words alone: git is not asked, and nothing is looked up in the repository.

`effect` gives None for what changes nothing that others work on (status, log, fetch, …). Where the words leave it open
(is `git checkout x` a branch or a file?) the greater effect is told. Aliases are not resolved: what git does not know
by itself has the kind `unknown`.
"""

from __future__ import annotations

import os

from dibs.facts.shell.options import leading, options

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.facts.shell.options import Options, Words


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
        self.action = (
            ""  # of stash, worktree, branch, submodule, …: push, pop, add, delete, …; of merge and its like: abort, …
        )
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
_HARMLESS = frozenset((
    "annotate", "archive", "blame", "bugreport", "bundle", "cat-file", "check-attr", "check-ignore", "check-mailmap",
    "check-ref-format", "cherry", "clone", "column", "commit-graph", "commit-tree", "config", "count-objects",
    "credential", "daemon", "describe", "diagnose", "diff", "diff-files", "diff-index", "diff-tree", "difftool",
    "fast-export", "fetch", "fmt-merge-msg", "for-each-ref", "for-each-repo", "format-patch", "fsck", "gc",
    "get-tar-commit-id", "gitk", "grep", "gui", "hash-object", "help", "hook", "init", "instaweb",
    "interpret-trailers", "log", "ls-files", "ls-remote", "ls-tree", "mailinfo", "mailsplit", "maintenance",
    "merge-base", "merge-tree", "mktag", "mktree", "multi-pack-index", "name-rev", "notes", "pack-objects",
    "pack-refs", "patch-id", "prune", "range-diff", "reflog", "remote", "repack", "replace", "request-pull", "rerere",
    "rev-list", "rev-parse", "send-email", "shortlog", "show", "show-branch", "show-index", "show-ref", "status",
    "stripspace", "tag", "unpack-file", "unpack-objects", "var", "verify-commit", "verify-pack", "verify-tag",
    "version", "whatchanged", "write-tree",
))  # fmt: skip


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
    from dibs.facts import gitkinds

    found = GitEffect(name if name is not None and name in gitkinds.KINDS else "unknown", words, cwd)
    if name is None or name not in gitkinds.KINDS:
        found.unknown = name is None
        return found
    short, long, read = gitkinds.KINDS[name]
    rest = words[end + 1 :]
    if "--help" in rest or rest == ["-h"]:
        return None
    found.options, operands = options(rest, short, (*long, "pathspec-from-file"))
    if found.has("pathspec-from-file"):
        found.unknown = True
    found.force = found.has("f", "force")
    after = len(rest) - rest.index("--") - 1 if "--" in rest else 0
    return read(found, operands, after)
