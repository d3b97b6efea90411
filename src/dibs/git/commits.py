"""Facts about commits that a git command is about to fetch, replay or drop: their files and their authors.

queries.py has the single queries; this module combines them: which files a merge would change, what is left of a paused
rebase or cherry-pick, which agents made the commits that a command would rewrite. Only a fetch changes anything. An
unknown name gives an empty result: the command that uses it fails by itself.
"""

from __future__ import annotations

import os

from dibs.errors import Unavailable
from dibs.git import queries as git
from dibs.machine import clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MAX_COMMITS = 2_000  # of a range; a command that rewrites more does not concern recent work
MAX_PATCH_LETTERS = 8 * 1024 * 1024  # read of a patch
GUARD_FETCH_TIMEOUT_S = 5.0  # while an agent waits for the guard's answer
TRAILER = "%H%x00%(trailers:key=Dibs-Agent,valueonly,separator=%x2C)"
# The first words of a rebase's todo lines that pick a commit.
TAKES_UP = frozenset({"pick", "p", "reword", "r", "edit", "e", "squash", "s", "fixup", "f", "revert", "merge", "m"})


class PausedOperation:
    """A rebase, merge, cherry-pick, revert or am that waits for `--continue`."""

    __slots__ = ("back", "commits", "onto", "paths", "running")

    def __init__(self) -> None:
        self.running = False  # is there one at all?
        self.onto = ""  # the commit that a rebase continues from
        self.commits: list[str] = []  # still to come
        self.paths: list[str] = []  # named by the patches still to come
        self.back = ""  # the commit that `--abort` returns to; "" for the one that is checked out


# --- commits and their files


def chosen(cwd: str, words: Sequence[str]) -> list[str]:
    """The commits that the words mean (`C`, `A..B`, `A...B`, `^A B`), as cherry-pick and revert read them."""
    if not words:
        return []
    done = git.ask(
        cwd, "rev-list", f"--max-count={MAX_COMMITS}", "--no-walk", *words, "--", fine=(0, 128, git.USAGE_ERROR_CODE)
    )
    return os.fsdecode(done.out).split() if done.ok else []


def missing_from(cwd: str, commit: str, *others: str) -> list[str]:
    """The commits up to this one that none of the others has, which are named as `git rev-list --not` takes them."""
    without = [name for name in others if name]
    done = git.ask(cwd, "rev-list", f"--max-count={MAX_COMMITS}", commit, "--not", *without, "--", fine=(0, 128))
    return os.fsdecode(done.out).split() if done.ok else []


def between(cwd: str, before: str, after: str = "HEAD", *also: str) -> list[str]:
    """The commits in `after` that are neither in `before` nor in any of the others."""
    return missing_from(cwd, after, before, *also)


def only_on(cwd: str, branch: str) -> list[str]:
    """The commits that no other branch has, local or remote-tracking."""
    return missing_from(cwd, f"refs/heads/{branch}", f"--exclude={branch}", "--branches", "--remotes")


def branches(cwd: str) -> list[str]:
    """The names of all branches here."""
    return os.fsdecode(git.ask(cwd, "for-each-ref", "--format=%(refname:lstrip=2)", "refs/heads").out).split()


def checked_out(cwd: str) -> dict[str, str]:
    """Which branch each working tree of the repository has: its top → the branch, "" where HEAD is on none."""
    found: dict[str, str] = {}
    top = ""
    for row in git.ask(cwd, "worktree", "list", "--porcelain", "-z", fine=(0, 128, 129)).out.split(b"\0"):
        name, _, value = os.fsdecode(row).partition(" ")
        if name == "worktree":
            top = os.path.realpath(value)
            found[top] = ""
        elif name == "branch":
            found[top] = value.removeprefix("refs/heads/")
    return found


def paths_of(cwd: str, commits: Sequence[str], mainline: str = "") -> list[str]:
    """The files that these commits change, each against its parent; a merge against the parent that is named."""
    if not commits:
        return []
    found: dict[str, None] = {}
    if mainline:
        for commit in commits:
            if git.commit(cwd, f"{commit}^{mainline}"):
                found.update(dict.fromkeys(git.diff_paths(cwd, f"{commit}^{mainline}", commit)))
        return list(found)
    words = ("diff-tree", "--stdin", "-r", "-z", "--root", "--no-renames", "--name-only", "--no-commit-id")
    out = git.ask(cwd, *git.PLAIN, *words, given=("\n".join(commits) + "\n").encode()).out
    return list(dict.fromkeys(os.fsdecode(name) for name in out.split(b"\0") if name))


def makers(cwd: str, commits: Sequence[str]) -> dict[str, str]:
    """The agents named in these commits' messages: agent → one of its commits."""
    if not commits:
        return {}
    given = ("\n".join(commits) + "\n").encode()
    out = git.ask(cwd, "log", "--no-walk", "--stdin", "-z", f"--format={TRAILER}", given=given).out
    parts = [os.fsdecode(part).strip() for part in out.split(b"\0")]
    found: dict[str, str] = {}
    for commit, agents in zip(parts[::2], parts[1::2], strict=False):
        for agent in agents.split(","):
            if agent.strip():
                found.setdefault(agent.strip(), commit)
    return found


def merged(cwd: str, name: str) -> list[str]:
    """The files that a merge of this commit would change here.

    What it changed since the merge base, and we have not.
    """
    theirs = git.commit(cwd, name)
    if not theirs:
        return []
    done = git.ask(cwd, "merge-base", "HEAD", theirs, fine=(0, 1, 128))
    base = os.fsdecode(done.out).split()[:1]
    if base == [theirs]:
        return []
    differ = git.diff_paths(cwd, "HEAD", theirs) if git.head(cwd) else {}
    if not base:
        return list(differ)
    return [path for path in git.diff_paths(cwd, base[0], theirs) if path in differ]


def changed(cwd: str, commit: str, pathspecs: Iterable[str] = ()) -> list[str]:
    """The tracked files that differ from a commit, of those that are named relative to here."""
    words = ("diff", "--name-only", "-z", "--no-renames", "--no-ext-diff", commit, "--")
    out = git.ask(cwd, *git.PLAIN, *words, *pathspecs, fine=(0, 128)).out
    return [os.fsdecode(name) for name in out.split(b"\0") if name]


# --- remote commits


def fetched(cwd: str, remote: str, name: str = "", timeout: float = GUARD_FETCH_TIMEOUT_S) -> str:
    """Fetch, and return the commit of a branch there; without a name, only update the remote-tracking branches.

    The commit comes through a temporary ref of dibs: FETCH_HEAD stays unchanged.
    """
    if not name:
        git.fetch(cwd, remote, timeout)
        return ""
    own = clock.temporary("refs/dibs/coming/commit")
    words = ("-c", "gc.auto=0", "-c", "maintenance.auto=false", "fetch", "--quiet", "--no-tags")
    more = ("--no-recurse-submodules", "--no-write-fetch-head", "--", remote, f"+{name}:{own}")
    git.ask(cwd, *words, *more, timeout=timeout)
    commit = git.commit(cwd, own)
    git.ask(cwd, "update-ref", "-d", own, fine=(0, 1, 128))
    return commit


def tracking(cwd: str, name: str) -> str:
    """The commit of the one remote branch of this name, from which `git checkout NAME` would make a branch."""
    done = git.ask(cwd, "for-each-ref", "--format=%(objectname)", f"refs/remotes/*/{name}", fine=(0, 128, 129))
    return (os.fsdecode(done.out).split() or [""])[0]


# --- paused operations


def stopped(cwd: str, kind: str) -> PausedOperation:
    """What is left of a rebase, cherry-pick, revert or am here, and where `--abort` would return to."""
    found = PausedOperation()
    done = git.ask(cwd, "rev-parse", "--absolute-git-dir", fine=(0, 128))
    folder = os.fsdecode(done.out).strip()
    marks = {"merge": "MERGE_HEAD", "cherry-pick": "CHERRY_PICK_HEAD", "revert": "REVERT_HEAD"}
    found.running = kind in marks and os.path.lexists(f"{folder}/{marks[kind]}")
    if kind in {"cherry-pick", "revert"}:
        found.commits = _listed(cwd, f"{folder}/sequencer/todo")[1:]  # the first one is where it paused
        found.back = _word(f"{folder}/sequencer/head")
        found.running = found.running or bool(found.back)
    elif kind == "merge":
        return found
    elif os.path.isdir(f"{folder}/rebase-merge"):
        found.commits = _listed(cwd, f"{folder}/rebase-merge/git-rebase-todo")
        found.back, found.onto = _word(f"{folder}/rebase-merge/orig-head"), _word(f"{folder}/rebase-merge/onto")
        found.running = True
    elif os.path.isdir(f"{folder}/rebase-apply"):
        found.back = _word(f"{folder}/rebase-apply/orig-head") or _word(f"{folder}/rebase-apply/abort-safety")
        found.onto = _word(f"{folder}/rebase-apply/onto")
        found.paths = _patches(f"{folder}/rebase-apply")
        found.running = True
    return found


def _word(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            return file.read(4096).strip()
    except OSError:
        return ""


def _listed(cwd: str, path: str) -> list[str]:
    """The commits that a todo list picks; unknown commits are left out."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            rows = [row.split() for row in file.read(1 << 20).splitlines()]
    except OSError:
        return []
    names = []
    for row in rows:
        if row and row[0] in TAKES_UP:
            words = [word for word in row[1:] if not word.startswith("-")]
            names += words[:1]
    try:
        return [commit for name in names[:MAX_COMMITS] if (commit := git.commit(cwd, name))]
    except Unavailable:
        return []


def _patches(folder: str) -> list[str]:
    """The files that the patches still to come name."""
    first, last = _word(f"{folder}/next"), _word(f"{folder}/last")
    if not (first.isdigit() and last.isdigit()):
        return []
    found: list[str] = []
    for number in range(int(first), min(int(last), int(first) + MAX_COMMITS) + 1):
        found += named_by(f"{folder}/{number:04}") or []
    return found


def named_by(path: str) -> list[str] | None:
    """The files that a patch names, from the top of the working tree; None if it cannot be read."""
    from dibs.shell import patches

    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            text = file.read(MAX_PATCH_LETTERS + 1)
    except (OSError, ValueError):
        return None
    return patches.stripped(text, 1) if len(text) <= MAX_PATCH_LETTERS else None
