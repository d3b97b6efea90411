"""The table of git's subcommands that change something: their options, and what their words mean; see also plumbing.py.

Each entry fills in a `GitEffect`, or returns None if the words change nothing. See effects.py.
"""

from __future__ import annotations

import os

from dibs.git import plumbing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.git.effects import GitEffect
    from dibs.git.plumbing import Kind
    from dibs.shell.options import Words

MAX_PATCH_BYTES = 1 << 20  # read of a patch for its file names


def _limited(found: GitEffect, operands: Words) -> None:
    """Paths, or everything if there are none."""
    found.paths = found.take(operands)
    found.all = not found.paths and not found.unknown


def _on_disk(found: GitEffect, word: str | None) -> bool:
    """Is this a path rather than a name of a commit? An existing file, or a text that cannot name a commit."""
    if word is None:
        return False
    if word in {".", ".."} or word.startswith((":", "./", "../", "/")) or any(mark in word for mark in "*?["):
        return True
    return found.cwd is not None and os.path.lexists(os.path.join(found.cwd, word))


# ------------------------------------------------------------------------------------------------------------------
# The kinds: each gets the operands, and how many of them come after `--`.


def _add(found: GitEffect, operands: Words, _after: int) -> GitEffect:
    found.index = True
    found.dry = found.has("n", "dry-run")
    found.paths = found.take(operands)
    found.all = not found.paths and found.has(
        "A", "all", "u", "update", "no-ignore-removal", "p", "patch", "i", "interactive", "e", "edit", "renormalize"
    )
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
        return None  # only shows the state
    found.refspecs = found.take(operands)
    found.head = found.index = found.tree = found.all = True
    return found


def _branched(found: GitEffect, operands: Words) -> GitEffect:
    """A new branch; if it starts at another commit, the files change."""
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
    """pull, merge, rebase, cherry-pick, revert, am: HEAD moves and the files change."""
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
    if not operands or operands == ["-"]:
        found.action, found.unknown = "input", True
        return found
    for name in found.take(operands) if found.cwd is not None else ():
        patched(found, text_of(os.path.join(found.cwd or "", name)), more=True)
    found.unknown = found.unknown or found.cwd is None
    return found


def patched(found: GitEffect, text: str, *, more: bool = False) -> None:
    """Name the files of a patch; `more`: in addition to others."""
    from dibs.shell import patches

    folder = found.value("directory")
    count = found.value("p") or "1"
    clear = count.isascii() and count.isdigit() and len(count) < 4  # noqa: PLR2004 - no path has a thousand components
    names = (
        patches.stripped(text, int(count)) if text and clear and folder is not None and found.cwd is not None else []
    )
    found.unknown = (not names and (not text or is_patch(text))) or (more and found.unknown)
    found.paths += [os.path.join(top_of(found.cwd or ""), folder or "", path) for path in names]


def is_patch(text: str) -> bool:
    """May git find a patch in this text? Without any of these lines it ends with an error, and changes nothing."""
    return any(f"\n{begin}" in f"\n{text}" for begin in ("diff --git ", "--- ", "+++ ", "rename ", "GIT binary patch"))


def text_of(path: str) -> str:
    """The text of a patch file; "" if it cannot be read or is too long."""
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            text = file.read(MAX_PATCH_BYTES + 1)
    except (OSError, ValueError):
        return ""
    return text if len(text) <= MAX_PATCH_BYTES else ""


def top_of(cwd: str) -> str:
    """The top of the working tree around a directory, found without git; outside of one, the directory itself."""
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
    found.force = (
        found.force or found.has("mirror", "force-with-lease") or any(ref[:1] == "+" for ref in found.refspecs)
    )
    if found.has("d", "delete") or any(ref[:1] == ":" and ref != ":" for ref in found.refspecs):
        found.action = "delete"
    return found


# Subcommand → its options with a separate value, short and long; and the function that reads the rest.
KINDS: dict[str, Kind] = {
    **plumbing.KINDS,
    "add": ("", ("chmod",), _add),
    "am": (
        "Cp",
        ("directory", "exclude", "include", "whitespace", "patch-format", "resolvemsg", "quoted-cr", "empty"),
        _moving,
    ),
    "apply": ("pC", ("directory", "exclude", "include", "whitespace", "build-fake-ancestor"), _apply),
    "checkout": ("bB", ("orphan", "conflict"), _checkout),
    "cherry-pick": ("mX", ("mainline", "strategy", "strategy-option", "cleanup", "empty"), _moving),
    "clean": ("e", ("exclude",), _clean),
    "commit": (
        "mFCct",
        (
            "message", "file", "reuse-message", "reedit-message", "fixup", "squash", "author", "date", "template",
            "cleanup", "trailer",
        ),
        _commit,
    ),
    "merge": ("mFsX", ("message", "file", "strategy", "strategy-option", "into-name", "cleanup"), _moving),
    "mv": ("", (), _rm),
    "pull": (
        "sXjo",
        (
            "strategy", "strategy-option", "depth", "deepen", "shallow-since", "shallow-exclude", "upload-pack",
            "server-option", "negotiation-tip", "jobs", "refmap", "cleanup",
        ),
        _moving,
    ),
    "push": ("o", ("repo", "receive-pack", "exec", "push-option"), _push),
    "rebase": ("sXxC", ("onto", "strategy", "strategy-option", "exec", "whitespace", "empty"), _moving),
    "reset": ("", (), _reset),
    "restore": ("s", ("source", "conflict"), _restore),
    "revert": ("mX", ("mainline", "strategy", "strategy-option", "cleanup"), _moving),
    "rm": ("", (), _rm),
    "stage": ("", ("chmod",), _add),
    "stash": ("m", ("message",), _stash),
    "switch": ("cC", ("create", "force-create", "orphan", "conflict"), _switch),
}  # fmt: skip
