"""Commits in a repository inside a working tree (a submodule, a clone in a folder), which runs no git hooks of dibs.

After a command that may have made one, the agent's unfinished files that such a repository has committed are reported,
as the post-commit hook does for the tree around it. operations/guards/commit_guard.py decides what that means.
"""

from __future__ import annotations

import os

from dibs.git import queries as git
from dibs.operations.core.call import related

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.client.session import Session
    from dibs.ledger.working_tree import Tree
    from dibs.operations.core.call import Call


def find(tree: Tree, agent: str, inside: dict[str, list[str]]) -> dict[str, list[str]]:
    """Of this unfinished work in inner repositories, by folder, what the agent or its family made and committed."""
    tree.look([path for paths in inside.values() for path in paths])
    tree.write()
    owned = tree.state.owned()
    found = {}
    for folder, paths in inside.items():
        top = f"{tree.top}/{folder}"
        commit = git.head(top)
        names = [path[len(folder) + 1 :] for path in paths if any(related(one, agent) for one in owned.get(path, ()))]
        has = git.blobs(top, commit, names) if commit else {}
        differs = git.differing(top, commit, list(has)) if has else set()
        done = [
            f"{folder}/{name}"
            for name in names
            if commit and name not in differs and (name in has or not os.path.lexists(f"{top}/{name}"))
        ]
        if done:
            found[folder] = done
    return found


def tell(session: Session, call: Call, tree: Tree, committed: dict[str, list[str]]) -> None:
    """Report them."""
    from dibs.guards.git_paths import resource_of
    from dibs.operations.guards.commit_guard import COMMITTED

    for folder, paths in committed.items():
        items = [[resource_of(session, path, tree.top), True] for path in paths]
        commit = git.head(f"{tree.top}/{folder}")
        session.run(COMMITTED, call, {"commit": commit, "tree": tree.top, "items": items, "how": "checked"})
        tree.finish(paths)
