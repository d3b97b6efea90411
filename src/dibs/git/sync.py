"""Facts about staleness: how far a commit is behind the reference branch, and whether it contains another commit.

The reference branch is the remote's default branch, no matter what is checked out: a feature branch, a detached HEAD, a
CI checkout. `refs/remotes/REMOTE/HEAD` names it, else the remote is asked, else it is `main` or `master`. It is always
fetched by its own name, because a single-branch clone would not fetch it otherwise.

What cannot be known is stated (`why`) and never guessed. In a shallow clone history ends early, so a commit that is
missing here may be in the part that was cut off: there only what the visible history proves counts.
Nothing is decided here; operations/guards/deploy_guard.py does.
"""

from __future__ import annotations

import os

from dibs.errors import Invalid, Unavailable
from dibs.git import commits
from dibs.git import queries as git

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypedDict

    class BranchView(TypedDict, total=False):
        """A commit's position, as plain values; what is not known or empty is left out, but for the first five."""

        branch: str
        commit: str
        behind: int | None
        ahead: int | None
        upstream: str
        why: str
        note: str


USUAL_NAMES = ("main", "master")  # tried if the remote does not name its default branch
NO_SUCH_BRANCH = "couldn't find remote ref"  # git's message (C locale) for a branch that the remote does not have
LOST_RACE = "cannot lock ref"  # git's message when another fetch moved the same ref
MAX_COMMITS = 10_000  # searched for the same content; an older commit counts as not contained


class BranchStatus:
    """A commit's position against the reference branch. `behind` is None if unknown; then `why` gives the reason."""

    __slots__ = ("ahead", "behind", "branch", "commit", "note", "upstream", "why")

    def __init__(self, branch: str = "", commit: str = "", *, upstream: str = "", why: str = "") -> None:
        self.branch, self.commit, self.upstream, self.why = branch, commit, upstream, why
        self.behind: int | None = None
        self.ahead: int | None = None
        self.note = ""  # a note, although nothing is wrong

    def as_json(self) -> BranchView:
        """Plain values, for an operation and for an answer."""
        shown: BranchView = {
            "branch": self.branch, "commit": self.commit, "behind": self.behind, "ahead": self.ahead,
            "upstream": self.upstream,
        }  # fmt: skip
        if self.why:
            shown["why"] = self.why
        if self.note:
            shown["note"] = self.note
        return shown


def stand(
    top: str,
    remote: str = "",
    branch: str = "",
    *,
    here: str = "HEAD",
    or_else: str = "",
    timeout: float = git.FETCH_TIMEOUT_S,
) -> BranchStatus:
    """Fetch the reference branch, or the named one, and compare a commit with it.

    `or_else` is the branch that a push is about to make: it is used if the remote has no default branch.
    """
    status = BranchStatus(git.branch(top), git.commit(top, here))
    if not status.commit:
        status.why = "there is no commit yet"
        return status
    known = git.remotes(top)
    if remote and remote not in known:
        raise Invalid(f"there is no remote {remote} here; there is {', '.join(known) or 'none'}", field="remote")
    remote = remote or usual_remote(top, known)
    if not remote:
        several = f"there are several remotes ({', '.join(known)}) and none is called origin"
        status.why = several if known else "there is no remote to compare with"
        return status
    try:
        branch, tip = _tip(top, remote, branch, or_else, timeout)
    except Unavailable as error:
        status.upstream, status.why = f"{remote}/{branch}" if branch else remote, error.message
        return status
    status.upstream = f"{remote}/{branch}" if branch else remote
    if tip:
        compare(top, status, tip)
    elif branch != or_else:
        status.why = f"{remote} has no branch {branch}"
    else:  # the remote answered that there is no such branch: nothing there can be missing here
        status.behind, status.note = 0, f"{remote} has no {f'branch {branch}' if branch else 'branches'} yet"
    return status


def compare(top: str, status: BranchStatus, tip: str) -> None:
    """How far the commit is behind and ahead of a tip. In a shallow clone only what is certain counts."""
    counts = git.behind_ahead(top, tip, status.commit) if git.commit(top, tip) else None
    if counts is not None and (not counts[0] or not counts[1] or not is_shallow(top)):
        status.behind, status.ahead = counts
    elif is_shallow(top):
        status.why = "the history here is cut off (a shallow clone); `git fetch --unshallow` brings the rest"
    else:
        status.why = f"the commit {tip[:12]} is not here; `git fetch` brings it"


def contains(top: str, commit: str, other: str) -> bool | None:
    """Is another commit, or exactly its content, part of this one's history? None if unknown."""
    if not git.commit(top, other):
        return None if is_shallow(top) else False
    if git.ask(top, "merge-base", "--is-ancestor", other, commit, fine=(0, 1)).ok:
        return True
    # A squash or a rebase makes a new commit with the same content: then nothing of the other commit is missing.
    tree = _text(git.ask(top, "rev-parse", f"{other}^{{tree}}").out)
    since = git.ask(top, "log", f"--max-count={MAX_COMMITS}", "--format=%T", f"{other}..{commit}", "--").out
    if tree in _text(since).split():
        return True
    earlier = git.ask(top, "merge-base", "--is-ancestor", commit, other, fine=(0, 1)).ok
    return None if not earlier and is_shallow(top) else False


def is_shallow(top: str) -> bool:
    """Is the history here cut off?"""
    return _text(git.ask(top, "rev-parse", "--is-shallow-repository").out) == "true"


def _tip(top: str, remote: str, branch: str, or_else: str, timeout: float) -> tuple[str, str]:
    """The reference branch and its commit; no commit if the remote has no such branch, no name if it has none."""
    name = branch or known_default(top, remote)
    tip = fetched(top, remote, name, timeout) if name else ""
    if tip or branch:
        return name, tip
    name = _asked_default(top, remote, or_else, timeout)  # not known here, or renamed there
    return name, fetched(top, remote, name, timeout) if name else ""


def known_default(top: str, remote: str) -> str:
    """The remote's default branch as recorded by the clone; "" if it was not."""
    there = f"refs/remotes/{remote}/"
    found = _text(git.ask(top, "symbolic-ref", "--quiet", f"{there}HEAD", fine=(0, 1, 128)).out)
    return found.removeprefix(there) if found.startswith(there) else ""


def _asked_default(top: str, remote: str, or_else: str, timeout: float) -> str:
    """The same, asked of the remote; "" if it has no branches. Raises Unavailable if it does not say."""
    out = _text(git.ask(top, "ls-remote", "--symref", "--", remote, "HEAD", "refs/heads/*", timeout=timeout).out)
    heads = []
    for line in out.splitlines():
        what, _, name = line.partition("\t")
        if what.startswith("ref: refs/heads/") and name == "HEAD":
            return what.removeprefix("ref: refs/heads/")
        if name.startswith("refs/heads/"):
            heads.append(name.removeprefix("refs/heads/"))
    for name in USUAL_NAMES:
        if name in heads:
            return name
    if heads and not or_else:
        raise Unavailable(f"{remote} does not say which of its branches is the default one", remote=remote)
    return or_else


def fetched(top: str, remote: str, branch: str, timeout: float) -> str:
    """Fetch a branch of the remote and return its commit; "" if there is no such branch."""
    for tries in (2, 1):
        try:
            return commits.fetched(top, remote, f"refs/heads/{branch}", timeout)
        except Unavailable as error:
            if NO_SUCH_BRANCH in error.message:
                return ""
            if LOST_RACE not in error.message or tries == 1:
                raise
    return ""


def usual_remote(top: str, known: list[str]) -> str:
    """The default remote."""
    if "origin" in known or len(known) == 1:
        return "origin" if "origin" in known else known[0]
    follows = git.upstream(top)
    return follows.remote if follows is not None and follows.remote in known else ""


def _text(out: bytes) -> str:
    return os.fsdecode(out).strip()
