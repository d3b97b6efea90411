"""A command that deletes whole working trees: `git worktree remove`, `rm -rf TREE`. Which unfinished work goes with it?

Facts only; operations/guards/shared_tree.py decides. The main working tree is git_folder.py's: its `.git` goes with it.
"""

from __future__ import annotations

import os

from dibs.errors import DibsError
from dibs.git import queries as git
from dibs.ledger import ledger_files, working_tree
from dibs.machine import links
from dibs.workspace import location

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.client.session import Session
    from dibs.guards.edit_call import Write
    from dibs.guards.payload import Event
    from dibs.operations.guards.shared_tree import TreeEffect
    from dibs.shell import Reading

MAX_NAMED = 200  # files


def claimed(words: str, top: str, does: str) -> TreeEffect:
    """The claims in a working tree that goes, or moves."""
    return {
        "what": words, "paths": None, "does": does, "tree": top, "own": True,
        "else": "Wait until they have committed there, or ask them.",
    }  # fmt: skip


def fact(session: Session, words: str, top: str, *, is_forced: bool) -> TreeEffect:
    """One working tree. Unless it is forced, git itself keeps a tree with changes in it."""
    found = claimed(words, top, "delete")
    return with_unfinished(session, found) if is_forced and os.path.isdir(top) else found


def with_unfinished(session: Session, found: TreeEffect) -> TreeEffect:
    """The same with the unfinished work that would be deleted."""
    if found["does"] == "delete":
        found["unfinished"] = _unfinished(session, found["tree"])
    return found


def _unfinished(session: Session, top: str) -> list[str]:
    """Uncommitted files that an agent made, as far as the ledger knows; a person's count where the sweep is judged."""
    from dibs.workspace.paths import shown

    try:
        dirty = [change.path for change in git.dirty(top)]
    except DibsError:
        return []  # git cannot read it: there is no working tree
    owned = working_tree.at(top, session.place).state.owned()
    return [shown(path, fold=session.paths.fold) for path in dirty if path in owned][:MAX_NAMED]


def look(
    session: Session, event: Event, reading: Reading, writes: Sequence[Write]
) -> tuple[list[TreeEffect], list[Write]]:
    """The linked working trees that the command deletes or moves as files; and its other writes.

    Where roles say who may write what, they decide on the tree like on any folder.
    """
    place, roles = session.place, session.config.policy.guards["roles"]
    if not place.common or roles["default"] or roles["assign"]:
        return [], [*writes]
    words = {target.path: (target.words, target.how) for target in reading.writes}
    found: dict[str, TreeEffect] = {}
    others = []
    for write in writes:
        tops = _tops(session, links.real(event.real(write.path))) if write.goes else []
        if tops and place.root not in tops:
            said, how = words.get(write.path, (write.path, "delete"))
            found.update({top: claimed(said, top, "move" if how == "move" else "delete") for top in tops})
        else:
            others.append(write)
    return [*found.values()], others


def _tops(session: Session, real: str) -> list[str]:
    """The working trees that go with this folder."""
    place = session.place
    if not os.path.isdir(real):
        return []
    if f"{place.root}/".startswith(f"{real.rstrip('/')}/"):
        return [place.root]
    if os.path.isfile(f"{real}/.git") and location.common_of(real) == place.common:
        return [real]
    known = [top for _, top in ledger_files.of_linked(place.shared)]
    return [top for top in dict.fromkeys(known) if top.startswith(f"{real}/") and os.path.isfile(f"{top}/.git")]
