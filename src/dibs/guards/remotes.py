"""The remotes that a line of git commands fetches from: asked before it is judged, for some seconds at most."""

from __future__ import annotations

from dibs.errors import Unavailable
from dibs.git import commits
from dibs.git import queries as git

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.git.effects import GitEffect
    from dibs.guards.git_scope import GitFootprint

MAX_REMOTES = 3  # asked for one line


def ask_all(found: GitFootprint, effect: GitEffect) -> None:
    """If the same line fetches first, names mean what they will mean then."""
    for remote, spec in effect.fetched[:MAX_REMOTES]:
        name, _, branch = spec.lstrip("+").partition(":")
        if not name:
            for one in [remote] if remote else git.remotes(found.where)[:MAX_REMOTES]:
                ask(found, one)
            follows = git.upstream(found.where)
            if follows is not None and remote in {"", follows.remote}:
                found.coming["FETCH_HEAD"] = git.commit(found.where, follows.ref)
            continue
        try:
            commit = commits.fetched(found.where, remote, name)
        except Unavailable:
            continue
        found.coming["FETCH_HEAD"] = commit
        if branch:
            found.coming[branch.removeprefix("refs/heads/")] = commit


def ask(found: GitFootprint, remote: str) -> str:
    """Fetch from a remote, once for a line; returns why that failed, "" if it did not."""
    if remote not in found.asked:
        try:
            commits.fetched(found.where, remote)
            found.asked[remote] = ""
        except Unavailable:
            found.asked[remote] = (
                f"({remote} did not answer within {commits.GUARD_FETCH_TIMEOUT_S:g} s; "
                "this is judged by what is known of it.) "
            )
    return found.asked[remote]
