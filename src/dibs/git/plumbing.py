"""The table of git's subcommands that change something, second part: refs, branches, submodules, the index itself.

Each entry fills in a `GitEffect`, or returns None if the words change nothing. See effects.py and subcommands.py.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.git.effects import GitEffect
    from dibs.shell.options import Words

    Kind = tuple[str, tuple[str, ...], Callable[[GitEffect, Words, int], GitEffect | None]]

FETCH_LONG = ("depth", "deepen", "shallow-since", "shallow-exclude", "upload-pack", "refmap", "jobs", "server-option")
REFRESHES = ("refresh", "really-refresh", "q", "again", "g", "fsmonitor", "untracked-cache", "split-index")


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
    elif (
        not operands
        or found.has("l", "list", "contains", "no-contains", "merged", "no-merged", "points-at", "a", "r")
        or found.has("u", "set-upstream-to", "unset-upstream", "edit-description", "show-current")
    ):
        return None
    else:
        found.action = "create"
    return found


def _reference(found: GitEffect, operands: Words, _after: int) -> GitEffect | None:
    """update-ref, symbolic-ref, replace."""
    names = found.take(operands)
    if found.kind == "replace" and (not operands or found.has("l", "list")):
        return None
    if found.kind == "symbolic-ref" and len(operands) < 2 and not found.has("d", "delete"):  # noqa: PLR2004 - it only shows it
        return None
    found.action = "delete" if found.has("d", "delete") else "set"
    found.unknown = found.unknown or found.has("stdin")
    found.refspecs = names
    found.head = "HEAD" in names[:1]
    return found


def _fetch(found: GitEffect, operands: Words, _after: int) -> GitEffect | None:
    """A fetch changes no branch in use, unless it is told to."""
    if not found.has("u", "update-head-ok"):
        return None
    found.refspecs = found.take(operands)
    return found


def _everything(found: GitEffect, operands: Words, _after: int) -> GitEffect:
    """filter-branch, filter-repo: they change history and files."""
    found.index = found.head = found.tree = found.all = found.force = True
    found.refspecs = found.take(operands)
    return found


def _submodule(found: GitEffect, operands: Words, _after: int) -> GitEffect | None:
    first = operands[0] if operands else ""
    found.action = first or ""
    if first is not None and found.action in {"", "status", "summary", "init", "sync", "absorbgitdirs"}:
        return None
    if found.action == "foreach":  # a command follows, see aliases.py
        found.force = False
        return found
    names = found.take(operands)
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


def _read_tree(found: GitEffect, operands: Words, _after: int) -> GitEffect | None:
    found.index = found.all = True
    found.tree = found.has("u")
    found.force = found.has("reset")
    found.dry = found.has("n", "dry-run")
    found.refspecs = found.take(operands)
    return found


def _config(found: GitEffect, operands: Words, _after: int) -> GitEffect | None:
    """A setting that makes a repository bare, or takes its files elsewhere; any other changes nothing of others."""
    names = [word for word in found.take(operands) if word not in {"set", "unset", "get", "list"}]
    asks = found.has("get", "get-all", "list", "l", "unset", "unset-all", "show-origin") or operands[:1] in (
        ["get"],
        ["unset"],
    )
    name = names[0].lower() if names else ""
    if asks or len(names) < 2 or name not in {"core.bare", "core.worktree"}:  # noqa: PLR2004 - a name and a value
        return None
    if name == "core.bare" and names[1].lower() in {"false", "no", "off", "0"}:
        return None
    found.action = name
    return found


def _init(found: GitEffect, operands: Words, _after: int) -> GitEffect | None:
    """In a repository it changes nothing, unless git's directory is to be elsewhere; in a folder it makes one."""
    found.paths = found.take(operands)[:1]
    found.action = ".git"
    return found


def _sparse(found: GitEffect, operands: Words, _after: int) -> GitEffect | None:
    names = found.take(operands)
    found.action = names[0] if names else ""
    if found.action in {"", "list", "check-rules"}:
        return None
    found.unknown = found.unknown or found.has("stdin")
    found.refspecs = names[1:]
    found.tree = found.index = found.all = True
    return found


def _checkout_index(found: GitEffect, operands: Words, _after: int) -> GitEffect | None:
    found.tree = True
    found.all = found.has("a", "all")
    found.paths = found.take(operands)
    return found


def _update_index(found: GitEffect, operands: Words, _after: int) -> GitEffect | None:
    """update-index, merge-index."""
    found.index = True
    found.paths = found.take(operands)
    info = found.has("cacheinfo")
    if info:  # MODE,BLOB,PATH in one word, or three words of which the last is the path
        value = found.value("cacheinfo") or ""
        rest = value.split(",", 2)[2:] or found.paths[1:2]
        found.paths = [*rest, *found.paths[0 if "," in value else 2 :]]
    found.unknown = found.unknown or found.has("stdin", "index-info") or (info and not found.paths)
    if not found.paths and not found.unknown and all(name in REFRESHES for name, _ in found.options):
        return None
    return found


# Subcommand → its options with a separate value, short and long; and the function that reads the rest.
KINDS: dict[str, Kind] = {
    "bisect": ("", (), _bisect),
    "branch": ("u", ("set-upstream-to", "sort", "format", "points-at"), _branch),
    "checkout-index": ("", ("prefix", "stage"), _checkout_index),
    "config": ("f", ("file", "blob", "type", "default", "value", "comment", "url"), _config),
    "fetch": ("jo", FETCH_LONG, _fetch),
    "filter-branch": (
        "d",
        (
            "env-filter", "tree-filter", "index-filter", "parent-filter", "msg-filter", "commit-filter",
            "tag-name-filter", "subdirectory-filter", "setup", "original", "state-branch",
        ),
        _everything,
    ),
    "filter-repo": ("", ("path", "path-rename", "replace-text", "paths-from-file", "subdirectory-filter"), _everything),
    "init": ("b", ("initial-branch", "template", "separate-git-dir", "object-format", "ref-format"), _init),
    "read-tree": ("", ("prefix", "index-output", "exclude-per-directory"), _read_tree),
    "replace": ("", ("format",), _reference),
    "sparse-checkout": ("", (), _sparse),
    "submodule": ("bj", ("branch", "reference", "depth", "name", "jobs"), _submodule),
    "symbolic-ref": ("m", (), _reference),
    "update-index": ("", ("chmod", "index-version", "cacheinfo"), _update_index),
    "update-ref": ("m", (), _reference),
    "worktree": ("bB", ("reason", "expire"), _worktree),
}  # fmt: skip
