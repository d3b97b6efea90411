"""Commits that were made while an agent's command ran and that git's hooks did not report: whose are they?

The hooks are switched off in such a shell (`-c core.hooksPath=`, by a program, by the client itself), or their report
is still to come. Facts are gathered here; operations/guards/commit_guard.py decides.
"""

from __future__ import annotations

from dibs.git import commits as git_commits
from dibs.guards import git_hooks
from dibs.interfaces.agents import SHELL
from dibs.workspace import checked_commits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dibs.client.session import Session
    from dibs.guards.payload import Event
    from dibs.ledger.working_tree import Tree
    from dibs.operations.core.call import Call

CHECKED_HERE = ("commit:", "commit (initial):", "commit (merge):")  # of the reflog: the message is the commit's own


def tell(session: Session, call: Call, event: Event, known: Iterable[Tree], commits: Sequence[tuple[str, str]]) -> None:
    """Report those that nobody reports. A commit with the hook's own trailer was checked, and its hook reports it."""
    fresh = [commit for commit, what in commits if what.startswith(CHECKED_HERE)]
    checked = {commit for commit in fresh if git_commits.makers(session.place.top, [commit])}
    left = checked_commits.untold(session.place, [commit for commit, _ in commits if commit not in checked])
    if not left:
        return
    if _makes_commits(event):
        how = "past" if event.dialect.RUNS_GIT_HOOKS else "replayed"  # its words were checked, and git asked nobody
        for commit in left:
            git_hooks.tell(session, commit, how, call)
        return
    others, busy = _others(event, known)
    if busy:
        return  # that one's command may have made it, and its own end reports it
    how = "past" if event.dialect.RUNS_GIT_HOOKS else "replayed"
    for commit in left:
        git_hooks.tell(session, commit, how, call, [call.agent, *others])


def _makes_commits(event: Event) -> bool:
    """Does the agent's command make commits by its words?"""
    if event.kind != SHELL:
        return False
    from dibs.guards import shell_call

    return bool(shell_call.effects_of(event) & shell_call.MAKE_COMMITS)


def _others(event: Event, known: Iterable[Tree]) -> tuple[list[str], bool]:
    """The other agents whose commands ran at the same time; and does one of them still run?"""
    found: dict[str, None] = {}
    busy = False
    for tree in known:
        own = tree.state.calls.get(event.key)
        for one in tree.state.calls.values():
            if own is None or one.agent == own.agent or not one.may_matter(own.opened):
                continue
            if one.closed and one.closed < own.opened:
                continue
            found[one.agent] = None
            busy = busy or not (one.closed or one.ended)
    return list(found), busy
