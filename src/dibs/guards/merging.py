"""After a git command: did it stop in the middle of a merge, or end one? Then whose its files are is told to dibs.

The note `merging` in the working tree's ledger names the agent whose operation is under way: other agents' git commands
do not make it theirs. Nothing is decided here.
"""

from __future__ import annotations

import os

from dibs.git import queries as git
from dibs.git import under_way

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.client.session import Session
    from dibs.guards.payload import Event
    from dibs.operations.core.call import Call
    from dibs.workspace.location import Place

NOTE = "merging"  # in the ledger's folder
STARTS = frozenset({"merge", "pull", "rebase", "cherry-pick", "revert", "am"})
# These may leave a conflict with nothing to continue or to abort (`merge --squash`, `cherry-pick -n`).
LEAVE_CONFLICTS = frozenset({"stash", "checkout", "switch", "apply", "merge", "cherry-pick", "revert"})
MAX_PATHS = 200  # of one operation; of more, only those in conflict


def reported(event: Event, place: Place) -> Callable[[Session, Call], None] | None:
    """What is to be told about this command, once the store is open; None for nothing, which is the rule."""
    note = f"{place.private}/{NOTE}"
    owner = _read(note)
    what = under_way.operation(place.git_dir)
    if not what and (owner or any(kind in event.command for kind in LEAVE_CONFLICTS)):
        what = under_way.CONFLICT if git.unmerged(place.top) else ""
    if not what and owner in {"", event.agent}:
        return (lambda session, call: _end(session, call, note)) if owner else None
    if not what or owner not in {"", event.agent}:
        return None
    from dibs.guards import shell_call

    if not owner and not shell_call.effects_of(event) & (LEAVE_CONFLICTS if what == under_way.CONFLICT else STARTS):
        return None  # a person's, or a program's
    return lambda session, call: _claim(session, call, what, note)


def _claim(session: Session, call: Call, what: str, note: str) -> None:
    from dibs.guards.git_paths import resource_of
    from dibs.operations.guards.merges import MERGING

    top = session.place.top
    unmerged = git.unmerged(top)
    # Git begins a merge with an index that is clean; what is staged next to a stash may be others'.
    paths = unmerged if what == under_way.CONFLICT else list(dict.fromkeys([*unmerged, *git.staged(top)]))
    if len(paths) > MAX_PATHS:
        paths = unmerged[:MAX_PATHS]
    found = [resource_of(session, path) for path in paths]
    session.run(MERGING, call, {"tree": top, "what": what, "paths": found})
    with open(note, "w", encoding="utf-8") as file:
        file.write(call.agent)


def _end(session: Session, call: Call, note: str) -> None:
    from dibs.operations.guards.merges import MERGING

    session.run(MERGING, call, {"tree": session.place.top})
    os.unlink(note)


def _read(note: str) -> str:
    try:
        with open(note, encoding="utf-8") as file:
            return file.read()
    except OSError:
        return ""
