"""Finds the workspace by looking at files; git is never started, because that costs more than a whole claim.

All worktrees of a repository share one workspace, which lives in the main worktree (a bare repository: in the
repository itself). The search goes from a directory up to its `.git`, then to git's common directory, then to the main
worktree. From every worktree it must end in the same directory: two agents in different workspaces would not see each
other's claims. Where that cannot be guaranteed, dibs refuses.
"""

from __future__ import annotations

import os

from dibs.errors import Invalid

MAX_GIT_FILE_BYTES = 16384  # a `.git` file holds one path, a repository's config some lines
REGISTRY = ".agent/registry/"  # of a home-made folder of agents (agent_folder/)
DIBS_FOLDER, LEDGER_FOLDER = "dibs", "ledger"  # below git's directory; the private folder without git
_DIRECTORY, _FILE, _KIND = 0o040000, 0o100000, 0o170000  # st_mode, without importing stat


class Place:
    """One workspace as seen from one directory."""

    __slots__ = ("common", "config", "exists", "git_dir", "local", "private", "root", "shared", "top")

    def __init__(self, root: str, top: str, common: str, git_dir: str) -> None:
        """Look for `.dibs/` and its config; all four are real paths, the last two "" without git."""
        self.root = root  # its .dibs/ is the workspace
        self.top = top  # the top of the working tree in use; paths are relative to it
        self.common = common  # git's common directory, or ""
        self.git_dir = git_dir  # the working tree's own: the common one, or worktrees/NAME in it
        home = os.path.join(root, ".dibs")
        self.local = os.path.join(home, "local")
        # `git clean -x`, `git stash -a`, a sparse checkout and `rm -r .dibs` do not reach below git's directory.
        # So a workspace whose `.dibs/` was deleted is still known (stores/opening.py keeps its pin there as
        # well).
        self.shared = f"{common}/{DIBS_FOLDER}" if common else self.local  # of all working trees of this repository
        self.private = (
            f"{git_dir}/{DIBS_FOLDER}" if git_dir else f"{self.local}/{LEDGER_FOLDER}"
        )  # of this working tree alone
        self.exists = _kind(home) == _DIRECTORY or (common != "" and _kind(f"{self.shared}/store") == _FILE)
        own = os.path.join(top, ".dibs", "config.toml")  # each worktree has its own checkout of the committed file
        self.config = own if top != root and _kind(own) == _FILE else os.path.join(home, "config.toml")


def find(cwd: str, given: str | None) -> Place:
    """The workspace that a call from `cwd` belongs to; `given` is the value of DIBS_WORKSPACE or --workspace.

    A given directory in a git repository leads to the same workspace as a call from there. Elsewhere it is taken as it
    is, also if there is no `.dibs/` yet. Raises Invalid if there is no workspace.
    """
    here = os.path.realpath(cwd)
    start = os.path.realpath(os.path.join(here, given)) if given else here
    if _kind(start) != _DIRECTORY:
        message = f"the workspace {given} is not a directory" if given else f"{cwd} is not a directory"
        raise Invalid(message, path=given or cwd)
    top, common, git_dir = _working_tree(start)
    if common:
        root = _main(top, common, git_dir)
        if start != here:
            own, own_common, own_dir = _working_tree(here)
            if own_common == common and own:  # the top is that of the worktree in use, even if another one was given
                top, git_dir = own, own_dir
        return Place(root, top or root, common, git_dir)
    home = start if given else nearest(start)
    if home is None:
        message = f"{cwd} is not in a workspace; run `dibs init` in the project's top directory"
        raise Invalid(message, path=cwd)
    return Place(home, home, "", "")


def common_of(directory: str) -> str:
    """Git's common directory if `directory` is the top of a working tree, else "". A broken `.git` counts as none."""
    try:
        return _common(directory)[0]
    except Invalid:
        return ""


def tree_of(place: Place, real: str) -> str:
    """The top of the working tree that a real path is in, if it is one of this repository; else ""."""
    if real.startswith(f"{place.top}/") and not place.common:
        return place.top
    directory = os.path.dirname(real)
    while directory.strip("/"):  # "//" is its own parent
        if directory in {place.top, place.root} or (place.common and _kind(f"{directory}/.git") == _FILE):
            return directory if directory in {place.top, place.root} or common_of(directory) == place.common else ""
        directory = os.path.dirname(directory)
    return ""


def follows_record(local: str, path: str) -> bool:
    """Is this a file that follows dibs' own record: of a registry that was imported? It is nobody's work."""
    return f"/{REGISTRY}" in f"/{path}" and os.path.isdir(f"{local}/registry")


def private_of(top: str) -> str:
    """`Place.private` of the working tree with this top; "" if its `.git` is broken."""
    try:
        git_dir = _common(top)[1] or (top if _is_repository(top) else "")
    except Invalid:
        return ""
    return f"{git_dir}/{DIBS_FOLDER}" if git_dir else f"{top}/.dibs/local/{LEDGER_FOLDER}"


def _working_tree(directory: str) -> tuple[str, str, str]:
    """The top of the working tree around a real directory, git's common directory, and the tree's own one.

    The top is "" in a bare repository, also where a `.git` file next to it points to it; both directories are ""
    outside git. They differ in a linked tree.
    """
    while True:
        common, git_dir = _common(directory, is_real=True)
        if common:
            usual = common == os.path.join(directory, ".git")  # no need to read its config
            bare = not usual and git_dir == common and core_settings(common).get("bare") == "true"
            return ("" if bare else directory), common, git_dir
        if _is_repository(directory):
            return "", directory, directory
        parent = os.path.dirname(directory)
        if parent == directory:
            return "", "", ""
        directory = parent


def _common(directory: str, *, is_real: bool = False) -> tuple[str, str]:
    """Git's common directory by the `.git` in this directory, and the tree's own one; "" if there is none."""
    git = os.path.join(directory, ".git")
    kind = _kind(git)
    if kind == _DIRECTORY:
        own = git if is_real and not os.path.islink(git) else os.path.realpath(git)
        return own, own
    if kind != _FILE:
        return "", ""
    own = _git_directory(git)
    try:
        shared = _read(f"{own}/commondir")
    except FileNotFoundError:  # a submodule, or a repository made with --separate-git-dir
        return own, own
    except OSError as error:
        message = f"{own}/commondir cannot be read: {error.strerror}"
        raise Invalid(message, path=own) from None
    common = os.path.realpath(os.path.join(own, shared))
    if not shared or "\0" in shared or _kind(common) != _DIRECTORY:
        message = f"{own}/commondir names {shared or 'nothing'}, which is not a git directory"
        raise Invalid(message, path=own)
    return common, own


def _git_directory(git: str) -> str:
    """The directory that a `.git` file names."""
    try:
        text = _read(git)
    except OSError as error:
        message = f"{git} cannot be read: {error.strerror}"
        raise Invalid(message, path=git) from None
    name = text.removeprefix("gitdir:").strip(" ")
    if not text.startswith("gitdir:") or not name or "\0" in name or "\n" in name:
        message = f"{git} is a file but does not say `gitdir: DIRECTORY`, as git's own do"
        raise Invalid(message, path=git)
    own = os.path.realpath(os.path.join(os.path.dirname(git), name))
    if _kind(own) != _DIRECTORY:
        message = f"{git} names {name}, which does not exist; `git worktree repair` fixes it after a move"
        raise Invalid(message, path=git)
    return own


def _main(top: str, common: str, git_dir: str) -> str:
    """The directory that all worktrees of a repository agree on: its main worktree, or the bare repository itself."""
    if top and git_dir == common:
        return top
    if os.path.basename(common) == ".git":
        return os.path.dirname(common)
    settings = core_settings(common)
    worktree = settings.get(
        "worktree"
    )  # git writes it for submodules, whose linked worktrees must find the main one too
    if settings.get("bare") != "true" and worktree:
        return os.path.realpath(os.path.join(common, worktree))
    if settings.get("bare") == "true" or not top:
        return common
    message = (
        f"the main worktree of {top} cannot be found, because its git directory is kept elsewhere ({common}); "
        "set DIBS_WORKSPACE to the main worktree"
    )
    raise Invalid(message, path=top)


def core_settings(common: str) -> dict[str, str]:
    """`core.bare`, `core.worktree` and the like, as the repository's own config and config.worktree say."""
    found: dict[str, str] = {}
    for name in ("config", "config.worktree"):
        try:
            text = _read(f"{common}/{name}")
        except OSError:
            continue
        section = ""
        for line in text.split("\n"):
            line = line.strip()  # noqa: PLW2901 - the stripped line is the line
            if line.startswith("["):
                section = line.partition("]")[0][1:].strip().lower()
            elif section == "core":
                key, sign, value = line.partition("=")
                value = value.strip().strip('"') if sign else "true"
                found[key.strip().lower()] = value
    if "bare" in found:
        found["bare"] = "true" if found["bare"].lower() in ("true", "yes", "on", "1") else "false"
    return found


def _is_repository(directory: str) -> bool:
    """Whether a directory is itself a git directory, by the three things that git looks for."""
    return (
        _kind(os.path.join(directory, "HEAD")) == _FILE
        and _kind(os.path.join(directory, "objects")) == _DIRECTORY
        and _kind(os.path.join(directory, "refs")) == _DIRECTORY
    )


def nearest(directory: str) -> str | None:
    """The nearest directory upward that has a `.dibs/`."""
    while _kind(os.path.join(directory, ".dibs")) != _DIRECTORY:
        parent = os.path.dirname(directory)
        if parent == directory:
            return None
        directory = parent
    return directory


def _kind(path: str) -> int:
    """The file type bits of a path; 0 if it is missing or not accessible."""
    try:
        return os.stat(path).st_mode & _KIND
    except (OSError, ValueError):
        return 0


def _read(path: str) -> str:
    """A small file of git's, without the newline at its end."""
    with open(path, "rb") as file:
        return os.fsdecode(file.read(MAX_GIT_FILE_BYTES)).rstrip("\r\n")
