"""The turn at git's index: a git command waits for those of other agents, and is judged by what is there after that.

While another agent's `git add F && git commit` runs, its files lie in the index for a moment: a look at that moment
would refuse a command that takes nothing of them in.
"""

from __future__ import annotations

from dibs.error_subtypes import Transient
from dibs.machine import clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.canonical import Canonical
    from dibs.client.session import Session
    from dibs.git.effects import GitEffect
    from dibs.guards.payload import Event
    from dibs.ledger.working_tree import Tree
    from dibs.operations.core.call import Call

INDEX_LOCK_TIMEOUT_S = 10.0  # others hold git's index for as long as a commit takes
INDEX_LOCK_POLL_S = 0.15


def is_busy(event: Event, known: dict[str, Tree]) -> bool:
    """Does another agent's command hold git's index at this moment, as far as the ledger knows?"""
    return any(
        one.claims and not one.closed and not one.ended and one.agent != event.agent and one.may_matter(tree.now)
        for tree in known.values()
        for one in tree.state.calls.values()
    )


def take(session: Session, call: Call, effects: list[GitEffect]) -> list[str]:
    """Hold it, as soon as no other agent's command does: the claims."""
    from dibs.operations.guards.shell_guard import COMMAND

    index = _touched(session, effects)
    until = clock.since_boot() + int(INDEX_LOCK_TIMEOUT_S * 1000)
    while index:
        waits = clock.since_boot() < until
        try:
            answer = session.run(COMMAND, call, {"tree": session.place.top, "index": index, "waits": waits})
        except Transient:
            if not waits:
                raise
            call.facts.clear()
            clock.sleep(INDEX_LOCK_POLL_S)
        else:
            claims: list[str] = answer["claims"]
            return claims
    return []


def _touched(session: Session, effects: list[GitEffect]) -> list[Canonical]:
    """Git's index and the like, as far as these commands touch them."""
    from dibs.guards.git_scope import GitFootprint

    found = GitFootprint(session)
    for effect in effects:
        if found.at(effect) and effect.kind == "stash":
            found.hold("git:stash")
    return found.index
