"""Deletes old files of the guards: contents of days ago, and the read marks of agents that are long gone.

Done at boot, a little at a time. An overwritten content became a git object when it was found, and unfinished work
stays. The other copies, and the memory of the changes that they belong to, last as long as the config says
(`[guards] keep`): for `dibs undo`. A content is touched when it is seen and when it is replaced.
"""

from __future__ import annotations

import os
import time

from dibs.ledger import ledger_files
from dibs.ledger.state import is_change_since
from dibs.workspace import call_notes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

    from dibs.ledger.working_tree import Tree
    from dibs.workspace.location import Place

DAY_S = 86_400
CONTENT_GRACE_S = DAY_S  # the memory of a change goes before its contents
CALL_LIFE_S = DAY_S  # of a note of a call whose client was killed
SEEN_LIFE_S = 30 * DAY_S  # an agent that comes back within a month is still told what changed
MAX_FILES_PER_BOOT = 500


def tidy(place: Place, tree: Tree, keep_ms: int) -> None:
    """Delete some old files; `keep_ms` is how long contents are kept."""
    life = keep_ms // 1000 + CONTENT_GRACE_S
    if os.path.isdir(f"{place.shared}/{ledger_files.TREES}"):
        from dibs.client.upkeep import removed_trees

        removed_trees.tidy(place, keep_ms)
    since = time.time_ns() - keep_ms * 1_000_000
    ledger_files.trim_past(place.private, lambda line: is_change_since(line, since))
    left = _old_files(f"{place.private}/seen", SEEN_LIFE_S, MAX_FILES_PER_BOOT)
    left = _old_files(f"{place.local}/alive", SEEN_LIFE_S, left)
    left = _old_files(f"{place.local}/{call_notes.FOLDER}", CALL_LIFE_S, left)
    left = _old_files(f"{place.local}/verify", CALL_LIFE_S, left)  # verification.FOLDER
    left = _old_files(
        f"{place.local}/wakes", SEEN_LIFE_S, left
    )  # mail marks of agents that never came; pipes are no files
    try:
        folders = sorted(os.listdir(tree.objects))
    except OSError:
        return
    needed = {head.content for head in tree.state.heads.values() if head.owners}
    first = time.time_ns() // 1_000_000_000 // 60 % len(folders) if folders else 0  # another one each minute
    for folder in folders[first:] + folders[:first]:
        left = _old_files(f"{tree.objects}/{folder}", life, left, {one[2:] for one in needed if one[:2] == folder})
        if left <= 0:
            return


def _old_files(folder: str, age: int, limit: int, needed: Collection[str] = ()) -> int:
    """Delete files of that age but the needed ones; returns how many more may be looked at."""
    before = time.time() - age
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                limit -= 1
                if limit <= 0:
                    break
                if entry.name in needed or not entry.is_file(follow_symlinks=False):
                    continue
                if entry.stat(follow_symlinks=False).st_mtime < before:
                    os.unlink(entry.path)
    except OSError:
        pass
    return limit
