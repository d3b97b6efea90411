"""Queries to git: staged files, changed files, a branch's position, a commit's content.

Each function starts git once or twice (a few milliseconds each), never a pager, a prompt or an editor, and never takes
git's own lock on the index. Paths come NUL-separated, so that no name can be misread; they are relative to the top of
the working tree, no matter which directory the query starts from. If git cannot answer, Unavailable is raised.

workspace/location.py finds repositories without git; git/objects.py has the contents that dibs keeps.
"""

from __future__ import annotations

import os

from dibs.errors import Unavailable
from dibs.machine import caller
from dibs.machine.programs import Outcome, run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

QUERY_TIMEOUT_S = 10.0  # for a local query; a hook has more time than this, but less than twice as much
FETCH_TIMEOUT_S = 30.0  # for a fetch
USAGE_ERROR_CODE = 129  # git's exit code for an unknown option

# Variables that a git hook inherits; each names one repository or one index and would misdirect another git.
ASTRAY = (
    "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR", "GIT_NAMESPACE",
    "GIT_LITERAL_PATHSPECS", "GIT_GLOB_PATHSPECS", "GIT_NOGLOB_PATHSPECS", "GIT_ICASE_PATHSPECS",
)  # fmt: skip

# No prompt for a person, no lock on the index for a read, no translated messages.
FIXED = {
    "LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "GIT_PAGER": "cat", "GIT_EDITOR": "false",
    "GIT_ASKPASS": "", "SSH_ASKPASS": "", "SSH_ASKPASS_REQUIRE": "never", "GIT_TRACE": "0",
}  # fmt: skip

# The user's settings that would change what is listed.
PLAIN = ("-c", "diff.relative=false", "-c", "status.relativePaths=false", "-c", "core.quotePath=false")


class Change:
    """One path that differs: from HEAD in the index (`staged`), from the index in the working tree (`tree`).

    The letters are git's: M modified, A added, D deleted, T another kind of file, U unmerged; ? untracked, ! ignored,
    and a blank for no difference. An ignored directory is one path that ends in `/`.
    """

    __slots__ = ("path", "staged", "tree")

    def __init__(self, path: str, staged: str, tree: str) -> None:
        self.path, self.staged, self.tree = path, staged, tree

    def __repr__(self) -> str:
        return f"Change({self.path!r}, {self.staged!r}, {self.tree!r})"

    @property
    def untracked(self) -> bool:
        """Is it untracked?"""
        return self.tree in "?!"


class Upstream:
    """A branch's upstream: the remote-tracking ref, the remote's name, and the branch's name there."""

    __slots__ = ("branch", "ref", "remote")

    def __init__(self, ref: str, remote: str, branch: str) -> None:
        self.ref, self.remote, self.branch = ref, remote, branch

    @property
    def name(self) -> str:
        """As people write it: `origin/main`."""
        return f"{self.remote}/{self.branch}"


# --- running git


def environment(index: str = "") -> dict[str, str]:
    """Git's environment; `index` names an index file other than the working tree's own."""
    env = {name: value for name, value in caller.environ().items() if name not in ASTRAY}
    env.update(FIXED)
    if index:
        env["GIT_INDEX_FILE"] = index
    return env


def ask(
    cwd: str,
    *words: str,
    given: bytes = b"",
    index: str = "",
    timeout: float = QUERY_TIMEOUT_S,
    fine: Sequence[int] = (0,),
) -> Outcome:
    """Run `git -C cwd WORDS…`. Raises Unavailable for any exit code not in `fine`."""
    done = run(["git", "-C", cwd, *words], env=environment(index), given=given, timeout=timeout)
    if done.code not in fine:
        what = next((word for word in words if not word.startswith("-") and "=" not in word), "")
        raise Unavailable(f"git {what} failed in {cwd}: {done.said or done.code}", program="git", path=cwd)
    return done


def _names(out: bytes) -> list[str]:
    return [os.fsdecode(name) for name in out.split(b"\0") if name]


def _line(done: Outcome) -> str:
    return os.fsdecode(done.out).strip()


# --- the working tree and the index


def staged(cwd: str, index: str = "") -> list[str]:
    """The paths that a commit of the index would change: deleted ones, and both sides of a rename, too."""
    words = ("diff", "--cached", "--name-only", "-z", "--no-renames", "--no-ext-diff", "--ignore-submodules=dirty")
    return _names(ask(cwd, *PLAIN, *words, index=index).out)


def submodules(cwd: str, paths: Sequence[str]) -> dict[str, str]:
    """The commits that the index records for these submodules."""
    rows = ask(cwd, "ls-files", "--stage", "-z", "--", *paths).out.split(b"\0") if paths else []
    parts = [os.fsdecode(row).partition("\t") for row in rows if row.startswith(b"160000 ")]
    return {path: facts.split(" ")[1] for facts, _, path in parts}


def unmerged(cwd: str) -> list[str]:
    """The paths in conflict."""
    words = ("diff", "--name-only", "-z", "--no-renames", "--diff-filter=U", "--no-ext-diff")
    return _names(ask(cwd, *PLAIN, *words).out)


def staged_over(cwd: str) -> dict[str, tuple[str, str]]:
    """The paths whose content in the index is not committed: the mode and the blob that HEAD has, "" for none."""
    words = ("diff", "--cached", "--raw", "-z", "--no-abbrev", "--no-renames", "--ignore-submodules=all")
    rows = iter(ask(cwd, *PLAIN, *words).out.split(b"\0"))
    found = {}
    for row in rows:
        if row:
            mode, _, blob, *_ = row[1:].decode().split(" ")
            found[os.fsdecode(next(rows))] = (mode, blob) if blob.strip("0") else ("", "")
    return found


def dirty(
    cwd: str,
    pathspecs: Sequence[str] = (),
    *,
    untracked: bool = True,
    ignored: bool = False,
    timeout: float = QUERY_TIMEOUT_S,
) -> list[Change]:
    """What differs from HEAD or the index, and what is untracked; pathspecs are read as written in `cwd`."""
    words = ["status", "--porcelain=v1", "-z", "--no-renames", f"--untracked-files={'all' if untracked else 'no'}"]
    if ignored:
        words.append("--ignored=matching")
    out = ask(cwd, *PLAIN, *words, "--", *pathspecs, timeout=timeout).out
    return [Change(os.fsdecode(row[3:]), chr(row[0]), chr(row[1])) for row in out.split(b"\0") if row]


def tracked_matching(cwd: str, pathspecs: Sequence[str] = ()) -> list[str]:
    """The tracked paths that match; without a pathspec all those below `cwd`."""
    return sorted(set(_names(ask(cwd, "ls-files", "-z", "--full-name", "--", *pathspecs).out)))


def known(cwd: str, pathspecs: Sequence[str]) -> list[str]:
    """The paths, tracked or not, that match and that git does not ignore; from `cwd`."""
    words = ("ls-files", "-z", "--cached", "--others", "--exclude-standard")
    return sorted(set(_names(ask(cwd, *words, "--", *pathspecs).out)))


def is_ignored(cwd: str, paths: Sequence[str]) -> set[str]:
    """The ignored ones of these paths, which are relative to `cwd`."""
    if not paths:
        return set()
    given = b"\0".join(os.fsencode(path) for path in paths) + b"\0"
    return set(_names(ask(cwd, "check-ignore", "-z", "--stdin", given=given, fine=(0, 1)).out))


def differing(cwd: str, commit: str, paths: Sequence[str]) -> set[str]:
    """The paths (tracked, from the top) whose file differs from the commit's, after git's filters."""
    if not paths:
        return set()
    words = ("diff", "--name-only", "-z", "--no-renames", "--no-ext-diff", commit, "--")
    found: set[str] = set()
    for some in _batches(paths):
        found.update(_names(ask(cwd, *PLAIN, *words, *[f":(top,literal){path}" for path in some]).out))
    return found


def blobs(cwd: str, commit: str, paths: Sequence[str]) -> dict[str, str]:
    """The blobs that a commit has at these paths, which are relative to `cwd`; a path that it has not is left out."""
    found = {}
    for batch in _batches(paths):
        words = ("--literal-pathspecs", "ls-tree", "-z", commit, "--", *batch)
        for row in ask(cwd, *words, fine=(0, 128)).out.split(b"\0"):
            facts, _, path = row.partition(b"\t")
            if path:
                found[os.fsdecode(path)] = facts.split(b" ")[2].decode()
    return found


def _batches(paths: Sequence[str], size: int = 500) -> Iterator[Sequence[str]]:
    """Split into batches that fit on a command line."""
    for start in range(0, len(paths), size):
        yield paths[start : start + size]


# --- commits


def head(cwd: str) -> str:
    """The commit that is checked out; "" before the first."""
    return commit(cwd, "HEAD")


def commit(cwd: str, name: str) -> str:
    """The full id of the commit that a name means; "" if there is none."""
    return _line(ask(cwd, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}", fine=(0, 1, 128)))


def branch(cwd: str) -> str:
    """The branch that is checked out; "" if HEAD is detached."""
    return _line(ask(cwd, "symbolic-ref", "--quiet", "--short", "HEAD", fine=(0, 1)))


def commit_paths(cwd: str, name: str) -> dict[str, str]:
    """What a commit changed of its first parent: path → blob id, "" for a deleted one."""
    line = _line(ask(cwd, "rev-list", "--parents", "-n", "1", name, "--")).split()
    if not line:
        raise Unavailable(f"there is no commit {name} in {cwd}", program="git", path=cwd)
    sides = line[1::-1] if len(line) > 1 else ["--root", line[0]]
    return _raw(ask(cwd, *PLAIN, "diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-commit-id", *sides).out)


def diff_paths(cwd: str, before: str, after: str) -> dict[str, str]:
    """What differs between two commits or trees: path → blob id in the second, "" for what is not in it."""
    return _raw(ask(cwd, *PLAIN, "diff-tree", "-r", "-z", "--raw", "--no-renames", before, after).out)


def _raw(out: bytes) -> dict[str, str]:
    """Each is `:oldmode newmode oldid newid letter NUL path NUL`."""
    parts = out.split(b"\0")
    found = {}
    for meta, path in zip(parts[::2], parts[1::2], strict=False):
        blob = meta.split(b" ")[3].decode()
        found[os.fsdecode(path)] = "" if not blob.strip("0") else blob
    return found


def stash_paths(cwd: str, name: str = "stash@{0}") -> list[str]:
    """What a stash would write back: tracked and, if it has them, untracked paths. Empty if there is no such stash."""
    kept = commit(cwd, name)
    if not kept:
        return []
    found = set(diff_paths(cwd, f"{kept}^1", kept))
    if commit(cwd, f"{kept}^3"):
        found.update(_names(ask(cwd, "ls-tree", "-r", "-z", "--name-only", "--full-tree", f"{kept}^3").out))
    return sorted(found)


# --- remotes


def remotes(cwd: str) -> list[str]:
    """The names of the remotes."""
    return _line(ask(cwd, "remote")).split()


def upstream(cwd: str, name: str = "") -> Upstream | None:
    """The upstream of a branch (by default the one checked out); None if it has none."""
    name = name or branch(cwd)
    if not name:
        return None
    shown = "--format=%(upstream)%00%(upstream:remotename)%00%(upstream:remoteref)"
    found = _line(ask(cwd, "for-each-ref", shown, f"refs/heads/{name}")).split("\0")
    if len(found) < 3 or not found[0]:  # noqa: PLR2004 - the three that were asked for
        return None
    return Upstream(found[0], found[1], found[2].removeprefix("refs/heads/"))


def fetch(cwd: str, remote: str, timeout: float = FETCH_TIMEOUT_S) -> None:
    """Fetch the remote's branches. Raises Unavailable if the remote does not answer."""
    # Only remote-tracking branches change: no tags, no submodules, no FETCH_HEAD that a `git pull` might use.
    words = (
        "-c",
        "gc.auto=0",
        "-c",
        "maintenance.auto=false",
        "fetch",
        "--quiet",
        "--no-tags",
        "--no-recurse-submodules",
    )
    done = ask(cwd, *words, "--no-write-fetch-head", "--", remote, timeout=timeout, fine=(0, USAGE_ERROR_CODE))
    if not done.ok:  # a git from before 2.29 does not know that option
        ask(cwd, *words, "--", remote, timeout=timeout)


def behind_ahead(cwd: str, ref: str, here: str = "HEAD") -> tuple[int, int] | None:
    """How many commits `here` is behind a ref and ahead of it; None if one of them is missing."""
    done = ask(cwd, "rev-list", "--left-right", "--count", f"{here}...{ref}", "--", fine=(0, 128))
    if not done.ok:
        return None
    ahead, behind = _line(done).split()
    return int(behind), int(ahead)


# --- git's own processes


def command_of(pid: int) -> list[str]:
    """The command line of a process; empty if it cannot be read."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return _names(file.read(65_536))
    except OSError:
        pass
    done = run(
        ["ps", "-o", "command=", "-p", str(pid)], env=environment()
    )  # macOS: blanks within words cannot be recognised
    return _line(done).split()
