"""What a git command would do, from its words alone: git is not asked, and nothing is looked up in the repository.

`effect` gives None for what changes nothing that others work on (status, log, fetch, …). Where the words are
ambiguous (is `git checkout x` a branch or a file?) the greater effect is returned. Aliases are not resolved: a
subcommand that is not built in has the kind `unknown`, and aliases.py resolves it.
"""

from __future__ import annotations

import os

from dibs.shell.options import leading, options

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.shell.options import Options, Words


NOT_SHOWN = ("words", "options", "at", "text")  # fields that repr leaves out


class GitEffect:
    """What one git command would change."""

    __slots__ = (
        "action", "all", "at", "cwd", "dry", "fetched", "force", "head", "index", "index_file", "kind", "later",
        "options", "past", "paths", "refspecs", "remote", "text", "tree", "unknown", "words",
    )  # fmt: skip

    def __init__(self, kind: str, words: Words, cwd: str | None, at: int = 1) -> None:
        self.kind = kind
        self.words = words
        self.at = at  # index of the subcommand among the words
        self.text = ""  # the command as typed, if that is known
        self.cwd = cwd  # after -C; None if it cannot be known
        self.action = (
            ""  # of stash, worktree, branch, submodule, …: push, pop, add, delete, …; of merge and its like: abort, …
        )
        self.options: Options = []
        self.paths: list[str] = []  # pathspecs as typed, relative to cwd
        self.unknown = False  # there are paths or names that cannot be known from the words
        self.all = False  # not limited to the paths: all tracked files, or all files
        self.force = False
        self.index = False  # the index changes
        self.head = False  # HEAD moves
        self.tree = False  # files of the working tree change
        self.past = ""  # the words that bypass git's hooks
        self.index_file = ""  # another index than the working tree's own
        self.fetched: list[tuple[str, str]] = []  # what the same line fetches earlier: remote and refspec, "" for all
        self.later = False  # other git commands come before it in the line, which may make what this one names
        self.remote = ""
        self.refspecs: list[str] = []
        self.dry = False

    def __repr__(self) -> str:
        shown = [name for name in self.__slots__ if name not in NOT_SHOWN and getattr(self, name)]
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
        """The known operands; also notes whether some are unknown."""
        known = [word for word in operands if word is not None]
        self.unknown = self.unknown or len(known) != len(operands)
        return known


_GLOBAL_SHORT, _GLOBAL_LONG = "Cc", ("git-dir", "work-tree", "namespace", "config-env", "super-prefix", "attr-source")

# Changes nothing that another agent works on.
_HARMLESS = frozenset((
    "annotate", "archive", "blame", "bugreport", "bundle", "cat-file", "check-attr", "check-ignore", "check-mailmap",
    "check-ref-format", "cherry", "clone", "column", "commit-graph", "commit-tree", "count-objects",
    "credential", "daemon", "describe", "diagnose", "diff", "diff-files", "diff-index", "diff-tree", "difftool",
    "fast-export", "fmt-merge-msg", "for-each-ref", "for-each-repo", "format-patch", "fsck", "gc",
    "get-tar-commit-id", "gitk", "grep", "gui", "hash-object", "help", "hook", "instaweb",
    "interpret-trailers", "log", "ls-files", "ls-remote", "ls-tree", "mailinfo", "mailsplit", "maintenance",
    "merge-base", "merge-tree", "mktag", "mktree", "multi-pack-index", "name-rev", "notes", "pack-objects",
    "pack-refs", "patch-id", "prune", "range-diff", "reflog", "remote", "repack", "request-pull", "rerere",
    "rev-list", "rev-parse", "send-email", "shortlog", "show", "show-branch", "show-index", "show-ref", "status",
    "stripspace", "tag", "unpack-file", "unpack-objects", "var", "verify-commit", "verify-pack", "verify-tag",
    "version", "whatchanged", "write-tree",
))  # fmt: skip


def effect(words: Words, cwd: str | None, assignments: dict[str, str | None] | None = None) -> GitEffect | None:
    """What `git …` would do in a directory, with these variables set before it."""
    end, given = leading(words, _GLOBAL_SHORT, _GLOBAL_LONG)
    set_here = assignments or {}
    place = _place(cwd, given, set_here)
    if end >= len(words):
        return None  # `git --version`, `git --help`, and git alone
    name = words[end]
    if name in _HARMLESS:
        return None
    from dibs.git import subcommands

    found = GitEffect(name if name is not None and name in subcommands.KINDS else "unknown", words, place, end)
    if name is None or name not in subcommands.KINDS:
        found.unknown = name is None
        return found
    short, long, read = subcommands.KINDS[name]
    rest = words[end + 1 :]
    if "--help" in rest or rest == ["-h"]:
        return None
    found.options, operands = options(rest, short, (*long, "pathspec-from-file"))
    if found.has("pathspec-from-file"):
        found.unknown = True
    found.force = found.has("f", "force")
    found.past = _past(found, given, set_here)
    if set_here.get("GIT_INDEX_FILE", "") != "":
        found.index_file = os.path.join(cwd or "/", set_here["GIT_INDEX_FILE"] or "unknown")
    after = len(rest) - rest.index("--") - 1 if "--" in rest else 0
    told = read(found, operands, after)
    if told is not None and told.index_file:
        told.index = False  # the shared one stays unchanged
    return told


def _place(cwd: str | None, given: Options, set_here: dict[str, str | None]) -> str | None:
    """The directory that the command works in; None if it cannot be known."""
    tree: str | None = set_here.get("GIT_WORK_TREE", "")
    kept: str | None = set_here.get("GIT_DIR", "")
    for option, value in given:
        if option == "C":
            cwd = _joined(cwd, value)
        elif option == "work-tree":
            tree = value
        elif option == "git-dir":
            kept = value
    if tree != "":
        return _joined(cwd, tree)
    if kept == "":
        return cwd
    kept = _joined(cwd, kept)
    if kept is None or os.path.basename(os.path.normpath(kept)) != ".git":
        return cwd
    home = os.path.dirname(os.path.normpath(kept))  # its HEAD and index change, no matter where the files are
    return cwd if cwd is not None and f"{os.path.normpath(cwd)}/".startswith(f"{home}/") else home


def _joined(cwd: str | None, path: str | None) -> str | None:
    if path is None or (cwd is None and not path.startswith("/")):
        return None
    return os.path.join(cwd or "", path)


def _past(found: GitEffect, given: Options, set_here: dict[str, str | None]) -> str:
    """The words that keep git's hooks from running."""
    for option, value in given:
        if option in {"c", "config-env"} and (value is None or value.lower().startswith("core.hookspath")):
            return f"{'-' if option == 'c' else '--'}{option} core.hooksPath"
    for name in set_here:
        if name.startswith(("GIT_CONFIG_COUNT", "GIT_CONFIG_KEY", "GIT_CONFIG_PARAMETERS")) or name == "HUSKY":
            return name
    if any(option.startswith("no-veri") for option, _ in found.options):
        return "--no-verify"
    return "-n" if found.kind == "commit" and found.has("n") else ""
